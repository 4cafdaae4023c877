// The planner's plans, carried out: a taste of what `sectile check` does by the thousand.
#include "helpers.hpp"

#include "reference/generate.hpp"
#include "reference/permute.hpp"

#include <sectile/planner.hpp>

using namespace sectile;
using namespace sectile::test;

TEST_CASE("generated permutes come out right on every device") {
  on_every_compiler([](vulkan::Runtime& runtime) {
    const Planner planner(runtime.profile());
    for (std::uint64_t index = 0; index < 40; ++index) {
      const PermuteProblem problem = reference::generate_permute(3, index);
      CAPTURE(print(Problem(problem)));
      const auto plan = make_plan(problem, runtime.profile());
      REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
      const auto executable = must(runtime.device().prepare(*plan));
      const reference::PermuteDefinition definition(problem);
      const auto src = pattern((definition.src_bytes() + 3) / 4 * 4, static_cast<std::uint32_t>(index));
      std::vector<std::byte> expected((definition.dst_bytes() + 3) / 4 * 4, std::byte{0xCD});
      reference::permute(definition, src, expected);
      const auto a = must(runtime.make_buffer(src.size())), b = must(runtime.make_buffer(expected.size()));
      must(runtime.upload(a, 0, src));
      must(runtime.fill(b, 0, expected.size(), 0xCDCDCDCD));
      const std::vector<vulkan::OperandAddress> operands = {{a.address(), definition.src_bytes()},
                                                            {b.address(), definition.dst_bytes()}};
      must(runtime.submit_and_wait(
          [&](VkCommandBuffer commands) { return vulkan::record(commands, executable, operands); }));
      CHECK(same(read_back(runtime, b), expected));
    }
  });
}
