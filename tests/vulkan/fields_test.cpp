// Each field of what the driver is asked for, with a value that no other field has: an exchange of two is seen.
#include "counting.hpp"
#include "helpers.hpp"
#include "support/marked_step.hpp"

#include <algorithm>
#include <array>
#include <set>

using namespace sectile;
using namespace sectile::test;
using vulkan::OperandAddress;

namespace {

constexpr std::array<OperandAddress, 2> kOperands = {{{0x10000, 0}, {0x20000, 0}}};

Step own_step(std::uint32_t number) {
  Step step = copy_plan(4096, number + 1).steps[0];
  mark_step(step, number);
  return step;
}

}  // namespace

TEST_CASE("each field of a dispatch and of its pipeline is the step's own") {
  on_every_device([](vulkan::Runtime& runtime) {
    vulkan::Adoption adoption = adoption_of(runtime);
    adoption.get_instance_proc_addr = counting_proc_addr(runtime.get_instance_proc_addr());
    auto device = must(vulkan::Device::adopt(adoption));
    Plan plan = copy_plan(4096);
    for (PlanOperand& operand : plan.operands) operand.bytes = 3 * 4096;
    plan.steps = {own_step(0), own_step(1), own_step(2)};
    // The size that the device has anyway, said of one step.
    const auto& profile = runtime.profile();
    const std::uint32_t subgroup = profile.min_subgroup_size.value_or(0);
    const bool required = profile.required_subgroup_size.value_or(false) && subgroup != 0;
    if (required) plan.steps[1].required_subgroup_size = subgroup;
    clear_calls();
    const auto executable = must(device.prepare(plan));
    const auto made = made_pipelines();
    must(runtime.submit_and_wait([&](VkCommandBuffer commands) -> Result<void> {
      swallow_commands(true);  // the addresses are nobody's
      auto recorded = vulkan::record(commands, executable, kOperands);
      swallow_commands(false);
      return recorded;
    }));
    const auto got = dispatches();
    REQUIRE(got.size() == 3);
    std::set<VkPipeline> pipelines;
    for (std::size_t i = 0; i < 3; ++i) {
      CAPTURE(i);
      const Step& step = plan.steps[i];
      CHECK(got[i].grid == step.grid);
      CHECK(got[i].stages == VK_SHADER_STAGE_COMPUTE_BIT);
      CHECK(got[i].push_offset == 0);
      REQUIRE(got[i].push_bytes == step.push.size());
      const auto push = push_with_addresses(step, kOperands);
      CHECK(std::equal(push.begin(), push.end(), got[i].push.begin()));
      const auto pipeline = std::ranges::find(made, got[i].pipeline, &MadePipeline::handle);
      REQUIRE(pipeline != made.end());
      CHECK(pipeline->layout == got[i].layout);
      CHECK(layout_bytes().at(got[i].layout) == step.push.size());
      CHECK(pipeline->entry == "main");
      CHECK(pipeline->required_subgroup_size == step.required_subgroup_size);
      CHECK(pipeline->full_subgroups == (step.required_subgroup_size != 0));
      std::map<std::uint32_t, std::uint32_t> constants;
      for (const Constant& constant : step.constants) constants[constant.id] = constant.value;
      CHECK(pipeline->constants == constants);
      pipelines.insert(got[i].pipeline);
    }
    CHECK(pipelines.size() == 3);
  });
}
