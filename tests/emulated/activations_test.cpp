// Activations at their ends, by the CUDA kernels on the host.
#include "memory.hpp"

#include "reference/activation.hpp"
#include "reference/numbers.hpp"

#include <algorithm>
#include <cstring>
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

}  // namespace

TEST_CASE("activations of products are right at their ends") {
  const DeviceProfile profile = emulated::target("cuda:sm_90a");
  const auto arguments = reference::activation_arguments();
  const std::vector<float> values(arguments.begin(), arguments.end());
  std::set<std::string> stems;
  for (const Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
    for (const DType out : {DType::f32, DType::bf16, DType::f16}) {
      MatmulProblem problem;
      problem.m = problem.k = 1;
      problem.n = static_cast<std::int64_t>(values.size());
      problem.out = out;
      problem.activation = activation;
      std::set<std::string> seen;
      for (const std::string& candidate : emulated::admissible(problem, profile)) {
        if (!seen.insert(candidate.substr(0, candidate.find(' '))).second) continue;
        CAPTURE(print(Problem(problem)));
        CAPTURE(candidate);
        const auto got = result_of(emulated::plan_by(problem, profile, candidate), {{"a", {1.0f}}, {"b", values}});
        CHECK(reference::wrong_activation(activation, out, arguments, got) == "");
      }
      stems.merge(seen);
    }
  CHECK(stems.size() == 3);  // matmul_simt, matvec, matmul_direct
}
