// DeviceProfile's JSON, and what fills one in.
#include "data.hpp"
#include "device/fields.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace sectile;

namespace {

std::string error_of(const Result<DeviceProfile>& profile) { return profile ? "" : profile.error().message(); }

DeviceProfile h200() { return profile_from_vulkaninfo(data_file("nvidia-h200-vulkaninfo.json")).value(); }

}  // namespace

TEST_CASE("profile JSON reads back and is canonical") {
  for (const auto target : builtin_target_names()) {
    CAPTURE(target);
    const DeviceProfile profile = builtin_target(target).value();
    const std::string text = to_json(profile);
    CHECK(profile_from_json(text) == profile);
    CHECK(nlohmann::json::parse(text).dump() == text);  // dump() sorts
  }
}

TEST_CASE("unknown fields are left out") {
  DeviceProfile profile;
  profile.name = "x";
  CHECK(to_json(profile) == R"({"name":"x"})");
  profile.float16 = false;  // known to be missing is not unknown
  CHECK(to_json(profile) == R"({"float16":false,"name":"x"})");
  CHECK(profile_from_json(to_json(profile)) == profile);
}

TEST_CASE("names that are not UTF-8 are made readable") {
  DeviceProfile profile;
  profile.name = "GPU \xff \"x\"";
  const auto again = profile_from_json(to_json(profile));
  REQUIRE(again.has_value());
  CHECK(again->name == "GPU \xef\xbf\xbd \"x\"");
  CHECK(profile_from_json(to_json(*again)) == *again);
}

TEST_CASE("garbage is refused by field") {
  CHECK(error_of(profile_from_json("")) == "parse: profile: not JSON");
  CHECK(error_of(profile_from_json("\x7f"
                                   "ELF")) == "parse: profile: not JSON");
  CHECK(error_of(profile_from_json("[]")) == "parse: profile: an array of 0 (want an object)");
  CHECK(error_of(profile_from_json("{}")) == "parse: profile.name: not there");
  CHECK(error_of(profile_from_json(R"({"name":"x","bank":32})")) == "parse: profile.bank: unknown key");
  CHECK(error_of(profile_from_json(R"({"name":"x","banks":0})")) ==
        "parse: profile.banks: 0 (want a power of two up to 65536)");
  CHECK(error_of(profile_from_json(R"({"name":"x","banks":"32"})"))
            .starts_with("parse: profile.banks: \"32\" (want an integer"));
  CHECK(error_of(profile_from_json(R"({"name":"x","transaction_bytes":48})"))
            .starts_with("parse: profile.transaction_bytes: 48"));
  CHECK(error_of(profile_from_json(R"({"name":"x","max_grid":[1,0,1]})")).starts_with("parse: profile.max_grid: 0"));
  CHECK(error_of(profile_from_json(R"({"name":"x","max_grid":[1,1]})")) ==
        "parse: profile.max_grid: an array of 2 (want an array of 3)");
  CHECK(error_of(profile_from_json(R"({"name":"x","int64":1})")) == "parse: profile.int64: 1 (want true or false)");
  CHECK(error_of(profile_from_json(R"({"name":"x","kind":"gpu"})")).starts_with("parse: profile.kind: gpu"));
  CHECK(error_of(profile_from_json(R"({"name":"x","uuid":"12"})")).starts_with("parse: profile.uuid: 12"));
  CHECK(error_of(profile_from_json(R"({"name":"x","sources":{"a":1}})")).starts_with("parse: profile.sources.a"));
  CHECK(error_of(profile_from_json(R"({"name":"x","min_subgroup_size":64,"max_subgroup_size":32})"))
            .starts_with("parse: profile.min_subgroup_size"));
  CHECK(error_of(profile_from_json(R"({"name":"x","matrix_shapes":[{"m":16}]})")) ==
        "parse: profile.matrix_shapes.n: not there");
  CHECK(error_of(profile_from_json(R"({"name":"x","matrix_shapes":{}})"))
            .starts_with("parse: profile.matrix_shapes: an object"));
}

TEST_CASE("prints on one line") {
  CHECK(
      print(h200()) ==
      "NVIDIA H200 (nvidia, NVIDIA 580.159.04) discrete vulkan=1.4 subgroup=32 invocations=1024 shared=49152 push=256");
}

TEST_CASE("a CUDA profile says so") {
  const DeviceProfile profile = profile_from_json(R"({"api":"cuda","api_version":13000,"async_copy":true,
      "cuda_architecture":90,"cuda_architecture_features":true,"matrix_units":["mma.sync","wgmma"],
      "max_dynamic_workgroup_memory_bytes":232448,"max_invocations_per_multiprocessor":2048,"name":"x",
      "registers_per_multiprocessor":65536,"tensor_maps":false,"workgroup_memory_bytes":49152,
      "workgroup_memory_per_multiprocessor_bytes":233472})")
                                    .value();
  CHECK(profile.api == Api::cuda);
  CHECK(profile.matrix_units == std::vector<std::string>{"mma.sync", "wgmma"});
  CHECK(profile.tensor_maps == false);
  CHECK(cuda_architecture_name(profile) == "sm_90a");
  CHECK(print(profile) == "x cuda=13.0 sm_90a shared=49152 dynamic=232448");
  CHECK(profile_from_json(to_json(profile)) == profile);
  DeviceProfile plain = profile;
  plain.cuda_architecture_features = {};
  CHECK(cuda_architecture_name(plain) == "sm_90");
  plain.cuda_architecture = {};
  CHECK(cuda_architecture_name(plain).empty());
}

TEST_CASE("a profile without an api is for Vulkan") {
  const DeviceProfile profile = profile_from_json(R"({"name":"x","api_version":1003})").value();
  CHECK(profile.api == Api::vulkan);
  CHECK(profile_from_json(R"({"api":"vulkan","name":"x","api_version":1003})") == profile);
  CHECK(to_json(profile) == R"({"api_version":1003,"name":"x"})");
  CHECK(print(profile) == "x vulkan=1.3");
  CHECK(error_of(profile_from_json(R"({"name":"x","api":"metal"})")) ==
        "parse: profile.api: metal (want vulkan or cuda)");
}

TEST_CASE("CUDA fields are checked") {
  CHECK(error_of(profile_from_json(R"({"name":"x","cuda_architecture":9})")).starts_with("parse: profile.cuda_archit"));
  CHECK(error_of(profile_from_json(R"({"name":"x","registers_per_multiprocessor":0})")) ==
        "parse: profile.registers_per_multiprocessor: 0 (want at least 1)");
  CHECK(error_of(profile_from_json(R"({"name":"x","matrix_units":"wgmma"})")) ==
        "parse: profile.matrix_units: \"wgmma\" (want an array)");
  CHECK(error_of(profile_from_json(
            R"({"name":"x","max_dynamic_workgroup_memory_bytes":1024,"workgroup_memory_bytes":49152})")) ==
        "parse: profile.max_dynamic_workgroup_memory_bytes: 1024 (want at least workgroup_memory_bytes)");
}

TEST_CASE("supplement mixes no apis") {
  CHECK(error_of(supplement(h200(), R"({"api":"cuda"})")) ==
        "parse: profile.api: \"cuda\" (want \"vulkan\", as is known already)");
  const DeviceProfile cuda = profile_from_json(R"({"api":"cuda","name":"x"})").value();
  const auto more = supplement(cuda, R"({"async_copy":true,"matrix_units":["mma.sync"]})");
  REQUIRE(more.has_value());
  CHECK(more->api == Api::cuda);
  CHECK(more->async_copy == true);
  CHECK(error_of(supplement(*more, R"({"async_copy":false})")).starts_with("parse: profile.async_copy: false"));
  CHECK(error_of(supplement(*more, R"({"matrix_units":["wgmma"]})")).starts_with("parse: profile.matrix_units"));
}

TEST_CASE("supplement fills what is unknown") {
  const DeviceProfile profile = supplement(h200(), data_file("nvidia-h100-coopmat.txt")).value();
  CHECK(profile.matrix_shapes.size() == 36);
  CHECK(profile.cooperative_matrix == true);
  CHECK(profile.cooperative_matrix2 == true);
  CHECK(profile.bfloat16 == true);
  CHECK(profile.cooperative_matrix_workgroup_scope == true);
  CHECK_FALSE(profile.cooperative_matrix_tensor_addressing.has_value());
  CHECK(profile.name == "NVIDIA H200");
  // The listing is the built-in target's source for the same rows.
  CHECK(profile.matrix_shapes == builtin_target("nvidia-hopper")->matrix_shapes);
  // Once known, the same facts are no contradiction.
  CHECK(supplement(profile, data_file("nvidia-h100-coopmat.txt")) == profile);
}

TEST_CASE("supplement takes any subset of fields") {
  const DeviceProfile profile =
      supplement(h200(), R"( {"banks":32,"bank_bytes":4,"sources":{"banks":"a manual"}} )").value();
  CHECK(profile.banks == 32);
  CHECK(profile.bank_bytes == 4);
  CHECK(profile.sources.at("banks") == "a manual");
  CHECK(supplement(h200(), "{}") == h200());
}

TEST_CASE("supplement refuses contradictions by field") {
  CHECK(error_of(supplement(h200(), R"({"subgroup_size":64})")) ==
        "parse: profile.subgroup_size: 64 (want 32, as is known already)");
  CHECK(error_of(supplement(h200(), R"({"name":"H100"})")) ==
        "parse: profile.name: \"H100\" (want \"NVIDIA H200\", as is known already)");
  CHECK(supplement(h200(), R"({"subgroup_size":32})") == h200());
  DeviceProfile none = h200();
  none.cooperative_matrix = false;
  CHECK(error_of(supplement(none, data_file("nvidia-h100-coopmat.txt")))
            .starts_with("parse: profile.cooperative_matrix: true (want false"));
}

TEST_CASE("supplement refuses other texts") {
  CHECK(error_of(supplement(h200(), "")).starts_with("parse: supplement: neither JSON nor a matrix listing"));
  CHECK(error_of(supplement(h200(), "hello")).starts_with("parse: supplement"));
  CHECK(error_of(supplement(h200(), "{\"banks\":")) == "parse: profile: not JSON");
  std::string listing = data_file("nvidia-h100-coopmat.txt");
  listing.replace(listing.find("M=16"), 4, "M=1x");
  CHECK(error_of(supplement(h200(), listing)).starts_with("parse: matrix listing: line 10 "));
  CHECK(error_of(supplement(h200(), "VK_KHR_cooperative_matrix properties: 1\n  [0] M=16\n"))
            .starts_with("parse: matrix listing: line 2"));
}

TEST_CASE("listing without an extension says so") {
  const auto facts =
      supplement({}, "VK_NV_cooperative_matrix2 not supported\r\nVK_KHR_cooperative_matrix properties: 0\r\n");
  REQUIRE(facts.has_value());
  CHECK(facts->cooperative_matrix2 == false);
  CHECK(facts->matrix_shapes.empty());
}
