// Activations at their ends, by the CUDA kernels on the host.
#include "memory.hpp"

#include "reference/activation.hpp"
#include "reference/numbers.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

using namespace sectile;
using emulated::Memory;

namespace {

// D of a plan, whose operands but D hold these bytes.
std::vector<std::byte> result_of(const Plan& plan, const std::map<std::string, std::vector<float>>& data) {
  std::vector<std::unique_ptr<Memory>> memories;
  std::vector<emulated::Operand> operands;
  const Memory* d = nullptr;
  for (const PlanOperand& operand : plan.operands) {
    const Memory& memory = *memories.emplace_back(std::make_unique<Memory>(operand.bytes, operand.align));
    memory.poison();
    if (const auto found = data.find(operand.name); found != data.end())
      std::memcpy(memory.address(), found->second.data(), operand.bytes);
    if (operand.role == OperandRole::destination) d = &memory;
    operands.push_back({memory.address()});
  }
  for (const Step& step : plan.steps) REQUIRE(emulated::run(step, operands) == "");
  const auto bytes = d->bytes();
  return {bytes.begin(), bytes.end()};
}

// A problem whose result is what the activation makes of the arguments, by the first candidate of each stem.
template <class P>
void check_ends(const P& problem, const reference::Activated& activation, DType out,
                const std::map<std::string, std::vector<float>>& data, std::set<std::string>& stems) {
  CAPTURE(print(Problem(problem)));
  std::set<std::string> seen;
  for (const std::string& candidate : emulated::admissible(problem, emulated::target("cuda:sm_90a"))) {
    if (!seen.insert(candidate.substr(0, candidate.find(' '))).second) continue;
    CAPTURE(candidate);
    const auto got = result_of(emulated::plan_by(problem, emulated::target("cuda:sm_90a"), candidate), data);
    CHECK(reference::wrong_activation(activation, out, reference::activation_arguments(), got) == "");
  }
  stems.merge(seen);
}

std::vector<float> arguments() {
  const auto values = reference::activation_arguments();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("activations of products are right at their ends") {
  const std::vector<float> values = arguments(), zeros(values.size(), 0.0f);
  std::set<std::string> stems;
  for (std::uint8_t which = 1; which < reference::kActivations; ++which)
    for (const DType out : {DType::f32, DType::bf16, DType::f16})
      for (const bool last : {false, true}) {
        if (last && out != DType::f32) continue;
        MatmulProblem problem;
        problem.m = problem.k = 1;
        problem.n = static_cast<std::int64_t>(values.size());
        problem.out = out;
        problem.residual = last;
        reference::set_activation(problem, which, last);
        // The argument is the product, or, after a product of 0, the residual.
        check_ends(problem, reference::Activated(problem), out,
                   {{"a", {last ? 0.0f : 1.0f}}, {"b", last ? zeros : values}, {"residual", values}}, stems);
      }
  CHECK(stems.size() == 3);  // matmul_simt, matvec, matmul_direct
}

TEST_CASE("activations of permutes are right at their ends") {
  const std::vector<float> values = arguments(), zeros(values.size(), 0.0f);
  std::set<std::string> stems;
  for (std::uint8_t which = 1; which < reference::kActivations; ++which)
    for (const bool last : {false, true}) {
      PermuteProblem problem;
      problem.shape = {static_cast<std::int64_t>(values.size())};
      problem.axes = {0};
      problem.stage.add = last;
      reference::set_activation(problem.stage, which, last);
      check_ends(problem, reference::Activated(problem.stage), DType::f32,
                 {{"src", last ? zeros : values}, {"add", values}}, stems);
    }
  CHECK(stems.size() == 1);  // permute_fused: an axis has no block
}

// Of poison: operands that hold NaNs.
TEST_CASE("with alpha = 0 what a product's operands hold is no matter") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const DeviceProfile profile = emulated::target("cuda:sm_90a");
  const std::vector<float> nans(64, nan), bias = {1, 2, 3, 4};
  const auto result = [&](const char* text) {
    const auto problem = parse_problem(text);
    REQUIRE_MESSAGE(problem.has_value(), problem.error().message());
    std::map<std::string, std::vector<float>> data = {{"bias", bias}, {"c", {4, 3, 2, 1}}};
    for (const char* name : {"a", "b", "x", "w", "src", "scale", "a.scale", "x.scale", "x.bias"}) data[name] = nans;
    const auto plan = make_plan(*problem, profile);
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    const auto bytes = result_of(*plan, data);
    std::vector<float> values(bytes.size() / 4);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  using Values = std::vector<float>;
  CHECK(result("matmul f32 nn 1x4x2 alpha=0 pro=scale epi=scale+bias") == bias);
  CHECK(result("matmul f32 nn 1x4x2 alpha=0 beta=2") == Values{8, 6, 4, 2});
  CHECK(result("conv2d f32 nhwc 1x2x1x1 k=4 r=1 alpha=0 pro=scale+bias epi=scale+bias") == bias);
  CHECK(result("conv2d f32 nchw 1x2x3x3 k=4 r=3 alpha=0 beta=1") == Values{4, 3, 2, 1});
  CHECK(result("conv2d f32 nchw4c 1x2x3x3 k=3 r=3 alpha=0 epi=scale+bias") == Values{1, 2, 3, 0});
  CHECK(result("permute f32 4 axes=0 alpha=0 scale=0 bias=0") == bias);
  // And with beta = 0 what the result held.
  CHECK(result("matmul f32 nn 1x4x2 alpha=0 beta=0 c=d epi=bias") == bias);
}
