#include "executable.hpp"

namespace sectile::vulkan {
namespace {

// Later steps see earlier writes, and may overwrite what earlier steps have read.
void record_barrier(VkCommandBuffer commands, const ReadyPlan& executable) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  executable.pipeline_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0,
                              1, &barrier, 0, nullptr, 0, nullptr);
}

}  // namespace

std::span<const PlanOperand> Executable::operands() const noexcept {
  return ready_ ? std::span<const PlanOperand>(ready_->operands) : std::span<const PlanOperand>();
}
std::size_t Executable::step_count() const noexcept { return ready_ ? ready_->steps.size() : 0; }
std::string_view Executable::plan_id() const noexcept { return ready_ ? ready_->plan_id : std::string_view(); }
const PrepareInfo& Executable::info() const noexcept {
  static constexpr PrepareInfo kNothing;
  return ready_ ? ready_->info : kNothing;
}

Result<void> record(VkCommandBuffer commands, const Executable& handle, std::span<const OperandAddress> operands) {
  const ReadyPlan* executable = ExecutableAccess::get(handle);
  if (executable == nullptr) return {};
  if (auto fine = backend::check_operands(executable->operands, executable->accessed, operands); !fine) return fine;
  alignas(8) std::array<std::uint8_t, kMostPushBytes> push;
  for (const ReadyStep& step : executable->steps) {
    if (step.barrier_before) record_barrier(commands, *executable);
    executable->bind_pipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, step.pipeline->handle);
    if (!step.push.empty()) {
      backend::fill_push(step.push, step.addresses, operands, push.data());
      executable->push_constants(commands, step.pipeline->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                 static_cast<std::uint32_t>(step.push.size()), push.data());
    }
    executable->dispatch(commands, step.grid[0], step.grid[1], step.grid[2]);
  }
  return {};
}

}  // namespace sectile::vulkan
