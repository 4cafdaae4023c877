// Permutes with an elementwise stage: problem strings, refusals and plans.
#include "plan/helpers.hpp"
#include "plan/permute/nest.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>

#include "permute/permute_fused.abi.h"

#include <algorithm>
#include <cstring>
#include <string>

using namespace sectile;
using test::planned;

namespace {

std::string reread(const char* text) {
  const auto problem = parse_problem(text);
  REQUIRE_MESSAGE(problem.has_value(), problem.error().message());
  CHECK(problem_from_json(to_json(*problem)) == *problem);
  return print(*problem);
}

std::string refused(const char* text) {
  const auto problem = parse_problem(text);
  if (!problem) return problem.error().message();
  const auto valid = validate(*problem);
  return valid ? "" : valid.error().message();
}

}  // namespace

TEST_CASE("stages read back as printed") {
  for (const char* text :
       {"permute f32 4x6 axes=1,0 out=f16", "permute i8 4x6 axes=1,0 alpha=-0.1 scale=1 bias=0 add=packed",
        "permute u8 1x4x4x3 layout=NHWC:NCHW4c out=bf16 scale=C bias=C add=64x64x16x0x1 align=4"})
    CHECK(reread(text) == text);
  CHECK(reread("permute f32 4x6 axes=1,0 alpha=1") == "permute f32 4x6 axes=1,0");
  CHECK(to_json(*parse_problem("permute f32 4x6 axes=1,0 add=packed bias=1 scale=0 alpha=0.5 out=i8")) ==
        R"({"add":true,"alpha":"0.5","axes":[1,0],"bias":"1","operation":"permute","out":"i8","scale":"0",)"
        R"("shape":[4,6],"type":"f32"})");
}

TEST_CASE("stages are refused by name") {
  CHECK(refused("permute f64 4x6 axes=1,0 alpha=2").starts_with("invalid_problem: type: f64"));
  CHECK(refused("permute f32 4x6 axes=1,0 out=f64").starts_with("invalid_problem: out: f64"));
  CHECK(refused("permute f32 4x6 axes=1,0 scale=2").starts_with("invalid_problem: scale: 2"));
  CHECK(refused("permute f32 4x6 axes=1,0 bias=C").starts_with("invalid_problem: bias: C"));
  CHECK(refused("permute f32 1x3x2 layout=NCW:NWC bias=1").starts_with("invalid_problem: bias: 1"));
  CHECK(refused("permute f32 1x3x2 layout=NCW:NWC scale=H").starts_with("invalid_problem: scale: H"));
  CHECK(refused("permute f32 4x6 axes=1,0 add=1").starts_with("invalid_problem: add: 1"));
  CHECK(refused("permute f32 4x6 axes=1,0 add=-1x4").starts_with("invalid_problem: add: -1x4"));
  CHECK(refused("permute i8 4x6 axes=1,0 out=f32 align=2").starts_with("invalid_problem: dst.align: 2"));
  CHECK(refused("permute f32 4x6 axes=1,0 scale=01").starts_with("parse: scale"));
  CHECK(refused("permute f32 4x6 axes=1,0 alpha=inf").starts_with("invalid_problem: alpha"));
  CHECK(refused("permute f64 4x6 axes=1,0 out=f64").empty());  // nothing is computed
}

TEST_CASE("operands of a stage follow the others") {
  const auto operands =
      operands_of(*parse_problem("permute f16 1x2x5x4 layout=NCW4c:NWC extent=C:7 out=f32 scale=C bias=W add=0x7x1"));
  REQUIRE(operands.has_value());
  const std::vector<std::pair<std::string, std::uint64_t>> want = {
      {"src", 80}, {"dst", 140}, {"scale", 28}, {"bias", 20}, {"add", 140}};
  REQUIRE(operands->size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    CHECK((*operands)[i].name == want[i].first);
    CHECK((*operands)[i].bytes == want[i].second);
  }
}

TEST_CASE("permutes without a stage have no stage fields and operands") {
  CHECK(to_json(*parse_problem("permute f32 64x64 axes=1,0")) ==
        R"({"axes":[1,0],"operation":"permute","shape":[64,64],"type":"f32"})");
  const auto plan = planned("permute f32 64x64 axes=1,0", test::gpu(), {.explain = true});
  CHECK(plan.operands.size() == 2);
  for (const auto& c : plan.candidates)
    if (c.name.starts_with("permute_fused")) CHECK(c.refusal == "the problem has no elementwise stage");
}

TEST_CASE("kernels that only move refuse a stage by name") {
  const auto plan = planned("permute f32 64x64 axes=1,0 out=f16", test::gpu(), {.explain = true});
  CHECK(plan.steps.at(0).kernel.stem.starts_with("permute_fused"));
  bool seen = false;
  for (const auto& c : plan.candidates) {
    if (c.name.starts_with("permute_fused")) continue;
    seen = seen || c.refusal == "the problem has an elementwise stage, this kernel only moves elements";
    CHECK_FALSE(c.refusal.empty());
  }
  CHECK(seen);
  const auto forced =
      make_plan(*parse_problem("permute f32 64x64 axes=1,0 out=f16"), test::gpu(), {.force = "permute_tile"});
  REQUIRE_FALSE(forced.has_value());
  CHECK(forced.error().message().find("permute_tile: the problem has an elementwise stage") != std::string::npos);
}

TEST_CASE("stages are axes of the nest") {
  const auto problem = std::get<PermuteProblem>(*parse_problem("permute u8 2x8x8x3 layout=NHWC:NCHW out=f32 scale=C"));
  const auto nest = detail::canonical(*detail::loop_nest(problem), problem);
  REQUIRE(nest.rank == 3);  // HW, C, N: the scale along C prevents no merge
  CHECK(nest.axis[0].scale_step == 0);
  CHECK(nest.axis[1].scale_step == 1);
  CHECK(nest.element_bytes == 1);  // never widened
  CHECK(nest.dst_element_bytes == 4);
}

TEST_CASE("addresses of a stage are pushed") {
  const auto plan = planned("permute f32 128x64 axes=1,0 scale=0 bias=1 add=packed alpha=2 dst.align=4");
  REQUIRE(plan.steps.size() == 1);
  const Step& step = plan.steps[0];
  REQUIRE(step.addresses.size() == 5);
  for (std::uint32_t i = 2; i < 5; ++i) {
    CHECK(step.addresses[i].operand == i);
    CHECK(step.addresses[i].push_offset == 16 + 8 * (i - 2));
  }
  float alpha = 0;
  std::memcpy(&alpha, step.push.data() + 16 + 24, sizeof alpha);
  CHECK(alpha == 2);
  CHECK((test::constant_of(step, PERMUTE_FUSED_SPEC_STAGE) & 31u) ==
        (PERMUTE_FUSED_ALPHA | PERMUTE_FUSED_SCALE | PERMUTE_FUSED_BIAS | PERMUTE_FUSED_ADD));
  // Another shape gives another plan with the same pipeline.
  const auto other = planned("permute f32 256x512 axes=1,0 scale=0 bias=0"),
             same = planned("permute f32 512x256 axes=1,0 scale=0 bias=0");
  CHECK(other.steps[0].constants == same.steps[0].constants);
  CHECK((test::constant_of(other.steps[0], PERMUTE_FUSED_SPEC_STAGE) & PERMUTE_FUSED_ONE_AXIS) != 0);
}

TEST_CASE("accesses of a stage are as wide as types and alignment allow") {
  const auto widths = [](const char* text) {
    const auto plan = planned(text);
    const Step& step = plan.steps.at(0);
    return std::array{test::constant_of(step, PERMUTE_FUSED_SPEC_LOAD),
                      test::constant_of(step, PERMUTE_FUSED_SPEC_STORE)};
  };
  CHECK(widths("permute f32 1024x1024 axes=1,0 out=f16") == std::array{4u, 8u});
  CHECK(widths("permute f32 1024x1024 axes=0,1 out=f16") ==
        std::array{4u, 4u});  // a contiguous run: load and store have the same width
  CHECK(widths("permute f32 1022x1026 axes=1,0 out=f16") == std::array{2u, 2u});
  CHECK(widths("permute f32 1024x1024 axes=1,0 out=f16 src.align=4") == std::array{1u, 8u});
  CHECK(planned("permute f32 1024x1024 axes=1,0 out=f16").steps[0].kernel.variant == "word");
  CHECK(planned("permute f32 1023x1023 axes=0,1 out=f16").steps[0].kernel.variant == "narrow");
  CHECK(planned("permute f32 1023x1023 axes=0,1 out=f16", test::words_only()).steps[0].kernel.variant == "split");
}

TEST_CASE("stages beyond2 to31 and many axes have plans") {
  CHECK(planned("permute f32 65536x65536 axes=1,0 out=f16 scale=0").steps[0].kernel.variant.ends_with(".wide"));
  CHECK(planned("permute f32 2x3x4x5x6x7x3x2 axes=7,5,3,1,0,2,4,6 scale=3 bias=1 add=packed")
            .steps[0]
            .kernel.variant.ends_with(".long"));
  auto profile = test::gpu();
  profile.int64 = false;
  const auto cut = planned("permute i8 5x500000000 axes=1,0 bias=1", profile);
  CHECK(cut.steps.size() >= 2);
  std::uint64_t offset = 0;
  for (const auto& step : cut.steps) offset = std::max(offset, step.addresses.at(2).byte_offset);
  CHECK(offset > 0);  // the later parts start inside the bias vector
}
