// Activations at their ends, on drivers: by the smallest kernel that has them, the epilogue of an empty product.
#include "helpers.hpp"

#include "reference/activation.hpp"

#include <sectile/planner.hpp>

#include <algorithm>
#include <span>

using namespace sectile;
using namespace sectile::test;

TEST_CASE("activations are right at their ends on every device") {
  on_every_compiler([](vulkan::Runtime& runtime) {
    const auto arguments = reference::activation_arguments();
    // SwiftShader compiles a kernel for a second: there those with an exponential at both ends.
    const bool slow = runtime.entry().name.starts_with("SwiftShader");
    for (std::uint8_t which = 1; which < reference::kActivations; ++which) {
      const auto activation = static_cast<Activation>(which);
      if (slow && activation != Activation::silu && activation != Activation::tanh) continue;
      MatmulProblem problem;
      problem.m = 1;
      problem.n = static_cast<std::int64_t>(arguments.size());
      problem.bias = PerAxis::column;
      reference::set_activation(problem, which, false);
      CAPTURE(print(Problem(problem)));
      const auto plan = must(make_plan(problem, runtime.profile()));
      const auto executable = must(runtime.device().prepare(plan));
      const auto bias = must(runtime.make_buffer(arguments.size_bytes())), d = must(runtime.make_buffer(bias.size()));
      must(runtime.upload(bias, 0, std::as_bytes(arguments)));
      const std::vector<vulkan::OperandAddress> operands = {
          {d.address(), 0}, {d.address(), 0}, {d.address(), d.size()}, {bias.address(), bias.size()}};
      must(runtime.submit_and_wait(
          [&](VkCommandBuffer commands) { return vulkan::record(commands, executable, operands); }));
      CHECK(reference::wrong_activation(reference::Activated(problem), DType::f32, arguments, read_back(runtime, d)) ==
            "");
    }
  });
}
