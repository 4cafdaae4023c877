// The cost model's classes of devices, and its estimates compared with measured times.
#include "class_text.hpp"
#include "plan/helpers.hpp"

#include "plan/cost/model.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

using namespace sectile;
using test::planned;

namespace {

DeviceProfile target(const char* name) { return builtin_target(name).value(); }

double estimate(const char* problem, const char* name) {
  const Plan plan = planned(problem, target(name), {.explain = true});
  const auto chosen = std::ranges::find_if(plan.candidates, &Candidate::chosen);
  REQUIRE(chosen != plan.candidates.end());
  return static_cast<double>(chosen->cost) * 1e-6;
}

}  // namespace

TEST_CASE("a device's class is Hopper by its API, a CPU by its lanes, or a GPU without measurements") {
  const auto name = [](const DeviceProfile& profile) { return std::string(detail::cost_model_of(profile).name); };
  CHECK(name(target("nvidia-hopper")) == "nvidia-hopper");
  CHECK(name(target("cuda:sm_90a")) == "nvidia-hopper-cuda");
  CHECK(name(target("lavapipe")) == "cpu");
  CHECK(name(target("swiftshader")) == "cpu-4-lanes");
  for (const char* other : {"nvidia-ada", "nvidia-blackwell", "cuda:sm_80", "cuda:sm_100", "cuda:sm_120", "amd-rdna3",
                            "intel-xe2", "apple-m"})
    CHECK_MESSAGE(name(target(other)) == "gpu", other);
  DeviceProfile live = target("nvidia-hopper");
  live.name = "NVIDIA H200";
  live.device_id = 0x2335;
  CHECK(name(live) == "nvidia-hopper");
  live.device_id = 0x2684;  // GeForce RTX 4090
  CHECK(name(live) == "gpu");
}

TEST_CASE("a device without measurements says so, and shares the memory among its multiprocessors") {
  const Plan plan = planned("permute f32 512x512 axes=1,0", target("amd-rdna3"), {.explain = true});
  CHECK(explain(plan).contains("estimates by model gpu: nothing was measured on this class of devices"));
  DeviceProfile ada = target("nvidia-ada");
  ada.multiprocessors = 132;
  CHECK(detail::cost_model_of(ada).gemm.dram_bytes == detail::cost_model_of(target("nvidia-hopper")).gemm.dram_bytes);
  ada.multiprocessors = 66;
  CHECK(detail::cost_model_of(ada).gemm.dram_bytes ==
        detail::cost_model_of(target("nvidia-hopper")).gemm.dram_bytes / 2);
}

TEST_CASE("explain says how many numbers of a class are derived") {
  nlohmann::json mine = test::empty_class("nvidia-hopper");
  DeviceProfile profile = target("nvidia-hopper");
  REQUIRE(use_device_class(profile, test::class_of(mine)).has_value());
  const auto count = test::class_of(mine)->derived.size();
  const std::string text = detail::describe(detail::cost_model_of(profile));
  CHECK(text.contains("model mine, measured on NVIDIA H200"));
  CHECK(text.contains(fmt::format(", {} numbers derived", count)));
  const Plan plan = planned("permute f32 512x512 axes=1,0", profile, {.explain = true});
  CHECK(explain(plan).contains(text));
  CHECK_FALSE(detail::describe(detail::cost_model_of(target("nvidia-hopper"))).contains("derived"));
}

// NVIDIA H200, driver 580.159.04, 2026-11-23: docs/lab/2026-11-figures.md; the matmuls from the regret of seed
// 20261124.
TEST_CASE("estimates on Hopper are within a half of what was measured") {
  const struct {
    const char* problem;
    double us;
  } rows[] = {{"permute f32 8192x8192 axes=1,0", 135.8}, {"matmul f16 nt 2496x2496x2496", 102.8},
              {"matmul f16 tt 738x4032x3520", 80.4},     {"matmul bf16 nn 3584x3584x3584", 274},
              {"matmul f32 nt 133x16064x16768", 2397},   {"matmul f32 nt 4x22912x12224", 296}};
  for (const auto& row : rows) {
    CAPTURE(row.problem);
    const double us = estimate(row.problem, "nvidia-hopper");
    CAPTURE(us);
    CHECK(us > row.us / 1.5);
    CHECK(us < row.us * 1.5);
  }
}
