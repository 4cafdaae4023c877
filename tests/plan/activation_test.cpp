// Activations in every operation: their text, what is refused, where a plan has their parameters; and plans of alpha =
// 0, which read no product.
#include "plan/helpers.hpp"

#include "gemm/gemm.abi.h"
#include "permute/permute_fused.abi.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::test;

namespace {

constexpr const char* kActivations[] = {"relu",           "gelu",      "gelu_tanh",         "silu",
                                        "leaky_relu:0.1", "clamp:0:6", "sigmoid",           "hard_swish",
                                        "hard_sigmoid",   "tanh",      "clamp:-1e20:1e-05", "leaky_relu:-2"};

// The problem strings of an activation before and after what is added.
std::vector<std::string> texts_of(const std::string& activation) {
  return {"matmul f16 nn 3x4x5 epi=bias+" + activation + "+residual",
          "matmul f16 nn 3x4x5 epi=bias+residual+" + activation,
          "matmul f16 nn 3x4x5 epi=" + activation,
          "conv2d f16 nhwc 1x3x4x5 k=6 r=3x3 p=1 epi=scale+" + activation + "+residual",
          "conv2d f16 nhwc 1x3x4x5 k=6 r=3x3 p=1 epi=residual+" + activation,
          "permute f16 3x4 axes=1,0 out=f32 act=" + activation + " add=packed",
          "permute f16 3x4 axes=1,0 out=f32 add=packed act.last=" + activation,
          "permute f32 3x4 axes=1,0 act=" + activation};
}

std::string why(const std::string& text) {
  const auto problem = parse_problem(text);
  if (!problem) return problem.error().message();
  const auto valid = validate(*problem);
  return valid ? "" : valid.error().message();
}

std::uint32_t push_word(const Step& step, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, step.push.data() + at, 4);
  return word;
}

// Names of the operands that a plan's steps read or write.
std::string accessed(const Plan& plan) {
  std::string names;
  for (const PlanOperand& operand : plan.operands)
    for (const Step& step : plan.steps)
      for (const AccessRange& range : step.accesses)
        if (plan.operands[range.operand].name == operand.name) names += (names.empty() ? "" : " ") + operand.name;
  return names;
}

}  // namespace

TEST_CASE("activations read back as printed, from text and from JSON") {
  for (const char* activation : kActivations)
    for (const std::string& text : texts_of(activation)) {
      CAPTURE(text);
      const auto problem = parse_problem(text);
      REQUIRE_MESSAGE(problem.has_value(), problem.error().message());
      CHECK(print(*problem) == text);
      CHECK(why(text) == "");
      const auto again = problem_from_json(to_json(*problem));
      REQUIRE_MESSAGE(again.has_value(), again.error().message());
      CHECK(*again == *problem);
    }
  CHECK(reprinted("matmul f32 nn 1x2x3 epi=relu6") == "matmul f32 nn 1x2x3 epi=clamp:0:6");
  CHECK(reprinted("permute f32 3x4 axes=1,0 act=relu6") == "permute f32 3x4 axes=1,0 act=clamp:0:6");
  CHECK(reprinted("matmul f32 nn 1x2x3 epi=clamp:-0:6") == "matmul f32 nn 1x2x3 epi=clamp:0:6");
  CHECK(to_json(*parse_problem("matmul f32 nn 1x2x3 epi=residual+clamp:-0.5:6")) ==
        R"({"activation":"clamp","activation_last":true,"high":"6","k":3,"low":"-0.5","m":1,"n":2,)"
        R"("operation":"matmul","residual":true,"type":"f32"})");
  CHECK(to_json(*parse_problem("conv2d f32 nchw 1x1x3x3 k=1 r=1 epi=leaky_relu:0.25")) ==
        R"({"activation":"leaky_relu","c":1,"h":3,"k":1,"n":1,"operation":"conv2d","r":1,"s":1,"slope":"0.25",)"
        R"("type":"f32","w":3})");
  CHECK(to_json(*parse_problem("permute f32 3x4 axes=1,0 add=packed act.last=tanh")) ==
        R"({"activation":"tanh","activation_last":true,"add":true,"axes":[1,0],"operation":"permute","shape":[3,4],)"
        R"("type":"f32"})");
}

TEST_CASE("activations are refused by name") {
  const std::string epi = "matmul f32 nn 1x2x3 epi=";
  CHECK(why(epi + "leaky_relu") == "parse: epi: \"leaky_relu\" at column 25 (want leaky_relu:SLOPE)");
  CHECK(why(epi + "clamp:0") == "parse: epi: \"clamp:0\" at column 25 (want clamp:LOW:HIGH)");
  CHECK(why(epi + "clamp:0:1:2") == "parse: epi: \"clamp:0:1:2\" at column 25 (want clamp:LOW:HIGH)");
  CHECK(why(epi + "relu:1") == "parse: epi: \"relu:1\" at column 25 (want relu)");
  CHECK(why(epi + "relu6:1") == "parse: epi: \"relu6:1\" at column 25 (want relu6)");
  CHECK(why(epi + "leaky_relu:x") == "parse: epi: \"x\" at column 36 (want a decimal number)");
  CHECK(why(epi + "clamp:0:inf") == "invalid_problem: epi: \"inf\" at column 33 (want a finite number)");
  CHECK(
      why(epi + "relu+gelu").starts_with("parse: epi: \"gelu\" at column 30 (want scale or scale.m, bias or bias.m, "));
  CHECK(why(epi + "relu+residual+gelu").starts_with("parse: epi: \"gelu\" at column 39"));
  CHECK(why(epi + "residual+relu+bias").starts_with("parse: epi: \"bias\" at column 39"));
  CHECK(why(epi + "leaky_relu:0") ==
        "invalid_problem: slope: 0 (want a finite normal number other than 0; relu has a slope of 0)");
  CHECK(why(epi + "leaky_relu:1e-44").starts_with("invalid_problem: slope"));
  CHECK(why(epi + "clamp:2:1") == "invalid_problem: low: 2 (want at most high, 1)");
  CHECK(why(epi + "clamp:1:1") == "");
  CHECK(why("permute f32 3x4 axes=1,0 act=relu act.last=relu") ==
        "parse: act.last: \"relu\" at column 44 (want one activation: act or act.last)");
  CHECK(why("permute f32 3x4 axes=1,0 act.last=relu") ==
        "invalid_problem: act.last: relu last (want an operand add that it follows)");
  CHECK(why("permute f64 3x4 axes=1,0 act=relu").starts_with("invalid_problem: type: f64"));
  CHECK(why("permute f32 3x4 axes=1,0 act=elu").starts_with("parse: act: \"elu\" at column 30 (want relu, gelu"));
  // By members or JSON alone.
  MatmulProblem p = std::get<MatmulProblem>(*parse_problem("matmul f32 nn 1x2x3 epi=relu"));
  const auto message = [&] {
    const auto ok = validate(p);
    return ok ? "" : ok.error().message();
  };
  p.activation_last = true;
  CHECK(message() == "invalid_problem: epi: relu last (want a residual that it follows)");
  p.activation = Activation::none;
  p.residual = true;
  CHECK(message() == "invalid_problem: activation_last: true (want an activation)");
  p.activation_last = false;
  p.slope = 1;
  CHECK(message() == "invalid_problem: slope: 1 (want none but leaky_relu's)");
  p.slope = 0;
  p.high = 1;
  CHECK(message() == "invalid_problem: high: 1 (want none but clamp's)");
  p.activation = Activation::clamp;
  p.low = -std::numeric_limits<float>::infinity();
  CHECK(message() == "invalid_problem: low: -inf (want a finite number)");
}

TEST_CASE("integers take relu and a clamp to integers") {
  for (const std::string start : {"matmul i8 nn 4x4x4 epi=", "conv2d i8 nhwc 1x4x5x5 k=4 r=3x3 epi="}) {
    CHECK(why(start + "bias+residual+relu") == "");
    CHECK(why(start + "clamp:-128:127") == "");
    CHECK(why(start + "clamp:-2147483648:2147483520") == "");
    CHECK(why(start + "clamp:0:2147483648") ==
          "invalid_problem: high: 2147483648 (want an integer from -2^31 to 2^31 - 128 where the result is i32)");
    CHECK(why(start + "clamp:-0.5:3") ==
          "invalid_problem: low: -0.5 (want an integer from -2^31 to 2^31 - 128 where the result is i32)");
    CHECK(why(start + "leaky_relu:0.5") ==
          "invalid_problem: epi: leaky_relu:0.5 (want relu, clamp or none where the result is i32)");
    CHECK(why(start + "tanh").starts_with("invalid_problem: epi: tanh"));
  }
  const Plan plan = planned("matmul i8 nn 64x64x64 epi=clamp:-7:9");
  CHECK(static_cast<std::int32_t>(push_word(plan.steps.back(), offsetof(GemmPush, words))) == -7);
  CHECK(static_cast<std::int32_t>(push_word(plan.steps.back(), offsetof(GemmPush, words) + 4)) == 9);
}

// Another slope or another bound is no other pipeline, and a row more needs no new one.
TEST_CASE("an activation's parameters are pushed") {
  std::set<Pipeline> slopes, bounds, orders, rows;
  for (const char* slope : {"0.1", "0.2", "-3"}) {
    add_pipelines(planned(fmt::format("matmul f16 nt 960x2304x770 batch=3 epi=scale+bias+leaky_relu:{}", slope)),
                  slopes);
    add_pipelines(
        planned(fmt::format("conv2d f16 nhwc 2x320x64x64 k=320 r=3x3 p=1 weights=krsc epi=bias+clamp:{0}:{0}", slope)),
        bounds);
  }
  CHECK(slopes.size() == 1);
  CHECK(bounds.size() == 1);
  for (const char* epilogue : {"relu+residual", "residual+relu"})
    add_pipelines(planned(fmt::format("matmul f16 nt 960x2304x770 epi={}", epilogue)), orders);
  CHECK(orders.size() == 2);
  for (int m = 1; m <= 512; ++m)
    add_pipelines(planned(fmt::format("matmul f16 nt {0}x768x2304 epi=bias+clamp:-{0}:6", m),
                          profile_of_target("nvidia-hopper"), {.few_pipelines = true}),
                  rows);
  CHECK_MESSAGE(rows.size() <= 8, rows.size());
  const Plan permute = planned("permute f32 512x256 axes=1,0 scale=0 bias=1 alpha=2 act=clamp:-1.5:6 add=packed");
  const Plan other = planned("permute f32 512x256 axes=1,0 scale=0 bias=1 alpha=2 act=clamp:0:2 add=packed");
  CHECK(permute.steps[0].constants == other.steps[0].constants);
  CHECK(push_word(permute.steps[0], 16 + 24) == std::bit_cast<std::uint32_t>(2.0f));
  CHECK(push_word(permute.steps[0], 16 + 28) == std::bit_cast<std::uint32_t>(-1.5f));
  CHECK(push_word(permute.steps[0], 16 + 32) == std::bit_cast<std::uint32_t>(6.0f));
  // Of the longest stream all words fit.
  CHECK(planned("permute f32 2x3x4x5x6x7x3x2 axes=7,5,3,1,0,2,4,6 alpha=2 scale=3 bias=1 act=relu6 add=packed")
            .steps[0]
            .kernel.variant.ends_with(".long"));
}

TEST_CASE("alpha = 0 reads no product, and beta = 0 no C") {
  const DeviceProfile hopper = profile_of_target("nvidia-hopper");
  const Plan matmul = planned("matmul f16 nt 960x2304x770 alpha=0 beta=1 b=q8 pro=scale epi=scale+bias+relu", hopper);
  REQUIRE(matmul.steps.size() == 1);
  CHECK(matmul.steps[0].kernel.stem == "matmul_reduce");
  CHECK(accessed(matmul) == "d c bias");
  CHECK(matmul.operands.size() == 8);  // a, b, d, c, bias, scale, b.scale, a.scale: the caller's list is as before
  CHECK(accessed(planned("matmul f16 nt 960x2304x770 alpha=0", hopper)) == "d");
  CHECK(accessed(planned("matmul f16 nt 960x2304x770 alpha=0 c=d", hopper)) == "d");
  CHECK(accessed(planned("matmul i8 nt 960x2304x770 alpha=0 out=f32 epi=bias.m", hopper)) == "d bias");
  for (const char* layout : {"nhwc", "nchw", "nchw:nhwc"}) {
    const Plan conv2d = planned(fmt::format("conv2d f16 {} 2x32x9x9 k=30 r=3x3 p=1 s=2 alpha=0 w=q8 "
                                            "pro=scale+bias+relu epi=scale+bias+residual",
                                            layout),
                                hopper);
    CHECK(conv2d.steps.at(0).kernel.stem == "matmul_reduce");
    CHECK(accessed(conv2d) == "y bias residual");
  }
  // The surplus of a blocked result is written too.
  const Plan blocked = planned(
      "conv2d f32 nchw4c 2x32x9x9 k=30 r=3x3 p=1 g=2 alpha=0 beta=1 w=q8 pro=scale+bias epi=scale+bias", hopper);
  REQUIRE(blocked.steps.size() == 1);
  CHECK(blocked.steps[0].kernel.stem.starts_with("conv2d_"));
  CHECK(accessed(blocked) == "y c bias");
  CHECK(accessed(planned("conv2d f32 nchw4c 1x8x9x9 k=8 r=1x1 alpha=0", hopper)) == "y");
  const Plan permute = planned("permute f32 64x32 axes=1,0 alpha=0 bias=0", hopper);
  CHECK((constant_of(permute.steps.at(0), PERMUTE_FUSED_SPEC_STAGE) & PERMUTE_FUSED_ZERO) != 0);
}
