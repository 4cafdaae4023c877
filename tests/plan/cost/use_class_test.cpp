// A class of devices that the app gives to a profile: which devices it is refused for, and what plans have of it.
#include "class_text.hpp"
#include "plan/helpers.hpp"

#include "plan/cost/model.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

using namespace sectile;
using nlohmann::json;
using test::class_of;
using test::empty_class;
using test::planned;

namespace {

DeviceProfile h200() {
  DeviceProfile profile = test::profile_of_target("nvidia-hopper");
  profile.name = "NVIDIA H200";
  profile.device_id = 0x2335;
  profile.driver = "NVIDIA 580.159.04";
  return profile;
}

DeviceProfile h200_cuda() {
  DeviceProfile profile = test::profile_of_target("cuda:sm_90a");
  profile.name = "NVIDIA H200";
  return profile;
}

// Hopper's numbers but for one.
json slower(std::string_view like = "nvidia-hopper") {
  json value = empty_class(like);
  value["gemm_gpu"] = {{"latency", 4000}};
  return value;
}

std::string use_refusal(const json& value, DeviceProfile profile) {
  const auto used = use_device_class(profile, class_of(value));
  CHECK(used.has_value() == (profile.device_class != nullptr));
  return used ? "" : used.error().message();
}

std::vector<std::string> warnings(const json& value, DeviceProfile profile) {
  return use_device_class(profile, class_of(value)).value();
}

}  // namespace

TEST_CASE("a class is refused for another API, kind, vendor, device, architecture or subgroup size, by what differs") {
  const json vulkan = slower(), cuda = slower("nvidia-hopper-cuda");
  CHECK(use_refusal(vulkan, h200()) == "");
  CHECK(use_refusal(cuda, h200_cuda()) == "");
  CHECK(use_refusal(vulkan, h200_cuda()) ==
        "unsupported: device class mine on NVIDIA H200: api cuda (want a device like NVIDIA H200)");
  CHECK(use_refusal(cuda, h200()).contains(": api vulkan (want"));
  const DeviceProfile lavapipe = test::profile_of_target("lavapipe");
  CHECK(use_refusal(vulkan, lavapipe).contains(": kind cpu (want"));
  CHECK(use_refusal(empty_class("cpu"), h200()).contains(": kind gpu (want"));
  CHECK(use_refusal(empty_class("cpu"), lavapipe) == "");

  DeviceProfile other = h200();
  other.vendor = "amd";
  CHECK(use_refusal(vulkan, other).contains(": vendor amd (want"));
  other = h200();
  other.device_id = 0x2684;  // GeForce RTX 4090
  CHECK(use_refusal(vulkan, other).contains(": device_id 9860 (want"));
  other = h200_cuda();
  other.cuda_architecture = 100;
  CHECK(use_refusal(cuda, other).contains(": cuda_architecture 100 (want"));
  other.cuda_architecture.reset();
  CHECK(use_refusal(cuda, other).contains(": cuda_architecture unknown (want"));

  json lanes = empty_class("cpu-4-lanes");
  other = lavapipe;
  other.subgroup_size = 4;
  CHECK(use_refusal(lanes, other) == "");
  other.subgroup_size = 8;
  CHECK(use_refusal(lanes, other).contains(": subgroup_size 8 (want"));

  json named = empty_class("cpu");
  named["devices"]["names"] = {"one", "two"};
  other = lavapipe;
  CHECK(use_refusal(named, other).contains(": name " + other.name + " (want"));
  other.name = "two";
  CHECK(use_refusal(named, other) == "");
  json one_id = slower();
  one_id["devices"].erase("last_device_id");
  one_id["devices"]["first_device_id"] = 0x2335;
  CHECK(use_refusal(one_id, h200()) == "");
  other = h200();
  other.device_id = 0x2336;
  CHECK(use_refusal(one_id, other).contains(": device_id 9014 (want"));
}

TEST_CASE("a class that is refused leaves the profile as it is, and none takes it away") {
  DeviceProfile profile = h200();
  const DeviceClassPtr mine = class_of(slower());
  REQUIRE(use_device_class(profile, mine).has_value());
  CHECK(device_class_of(profile) == mine.get());
  CHECK_FALSE(use_device_class(profile, class_of(empty_class("cpu"))).has_value());
  CHECK(profile.device_class == mine);
  CHECK(use_device_class(profile, nullptr).value().empty());
  CHECK(profile.device_class == nullptr);
  CHECK(device_class_of(profile) == detail::builtin_class("nvidia-hopper"));
  profile.device_id = 0x2684;
  CHECK(device_class_of(profile) == nullptr);
}

TEST_CASE("another driver, another planner and candidates that are no more are warned about") {
  json value = slower();
  CHECK(warnings(value, h200()).empty());
  DeviceProfile newer = h200();
  newer.driver = "590.1";
  CHECK(warnings(value, newer) ==
        std::vector<std::string>{"device class mine: measured with driver NVIDIA 580.159.04, this is 590.1"});
  newer.driver = "";  // a target's
  CHECK(warnings(value, newer).empty());
  value["provenance"]["planner"] = "1999-01-01";
  CHECK(warnings(value, h200()) ==
        std::vector<std::string>{
            fmt::format("device class mine: measured by planner version 1999-01-01, this is {}", planner_version())});
  value["provenance"]["planner"] = std::string(planner_version());
  value["rows"]["matmul_magic 3"] = {{"rate", 1}};
  CHECK(warnings(value, h200()) ==
        std::vector<std::string>{"device class mine: there is no candidate matmul_magic 3 any more"});
}

TEST_CASE("a class is in the plan and its id, and not in the profile's hash and JSON") {
  const DeviceProfile without = h200();
  DeviceProfile with = without;
  REQUIRE(use_device_class(with, class_of(slower())).has_value());
  CHECK(profile_hash_of(with) == profile_hash_of(without));
  CHECK(to_json(with) == to_json(without));
  const std::string problem = "matmul f16 nt 2496x2496x2496";
  const Plan before = planned(problem, without), after = planned(problem, with);
  CHECK(before.device_class == "nvidia-hopper " + detail::builtin_class("nvidia-hopper")->id);
  CHECK(after.device_class == "mine " + with.device_class->id);
  CHECK(before.profile_hash == after.profile_hash);
  CHECK(before.id != after.id);
  json renamed = slower();
  renamed["name"] = "other";
  REQUIRE(use_device_class(with, class_of(renamed)).has_value());
  CHECK(planned(problem, with).id != after.id);
}

TEST_CASE("the plan of another class is refused by the names of both, and can be trusted") {
  DeviceProfile with = h200();
  REQUIRE(use_device_class(with, class_of(slower())).has_value());
  const Plan plan = planned("permute f32 512x512 axes=1,0", with);
  CHECK(plan_from_json(to_json(plan), with).has_value());
  const auto refused = plan_from_json(to_json(plan), h200());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message() ==
        fmt::format("invalid_plan: plan JSON: device class: mine {} (want nvidia-hopper {})", with.device_class->id,
                    detail::builtin_class("nvidia-hopper")->id));
  CHECK(plan_from_json(to_json(plan), h200(), {.trusted = true}).has_value());
  CHECK(check_plan(plan, h200()).has_value());
}
