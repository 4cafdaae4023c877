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

namespace {

// Labels nest: a plan's, and in it one for each dispatch.
void begin_label(VkCommandBuffer commands, const ReadyPlan& plan, const std::string& text) {
  if (plan.begin_label == nullptr) return;
  VkDebugUtilsLabelEXT label{};
  label.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
  label.pLabelName = text.c_str();
  plan.begin_label(commands, &label);
}
void end_label(VkCommandBuffer commands, const ReadyPlan& plan) {
  if (plan.end_label != nullptr) plan.end_label(commands);
}

// The operands have passed check_operands.
void record_checked(VkCommandBuffer commands, const ReadyPlan& plan, std::span<const OperandAddress> operands) {
  alignas(8) std::array<std::uint8_t, kMostPushBytes> push;
  if (!plan.steps.empty()) begin_label(commands, plan, plan.label);
  for (const ReadyStep& step : plan.steps) {
    if (step.barrier_before) record_barrier(commands, plan);
    begin_label(commands, plan, step.label);
    plan.bind_pipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, step.pipeline->handle);
    if (!step.push.empty()) {
      backend::fill_push(step.push, step.addresses, operands, push.data());
      plan.push_constants(commands, step.pipeline->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          static_cast<std::uint32_t>(step.push.size()), push.data());
    }
    plan.dispatch(commands, step.grid[0], step.grid[1], step.grid[2]);
    end_label(commands, plan);
  }
  if (!plan.steps.empty()) end_label(commands, plan);
}

}  // namespace

Result<void> check_operands(const Executable& handle, std::span<const OperandAddress> operands) {
  const ReadyPlan* plan = ExecutableAccess::get(handle);
  if (plan == nullptr) return {};
  return backend::check_operands(plan->operands, plan->accessed, operands);
}

Result<void> record(VkCommandBuffer commands, const Executable& handle, std::span<const OperandAddress> operands) {
  if (auto fine = check_operands(handle, operands); !fine) return fine;
  if (const ReadyPlan* plan = ExecutableAccess::get(handle)) record_checked(commands, *plan, operands);
  return {};
}

// ---- several plans

bool Recorder::conflicts(const ReadyPlan& plan, std::span<const OperandAddress> operands) const noexcept {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const backend::Accessed& own = plan.accessed_first[i];
    if (own.begin == own.end) continue;
    const std::uint64_t begin = operands[i].address + own.begin, end = operands[i].address + own.end;
    for (const Range& earlier : std::span(ranges_).first(count_))
      if ((own.written || earlier.written) && begin < earlier.end && earlier.begin < end) return true;
  }
  return false;
}

// What later plans have to be ordered with: of a plan with a barrier, only what follows its last one.
void Recorder::add(const ReadyPlan& plan, std::span<const OperandAddress> operands) {
  if (plan.orders) count_ = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const backend::Accessed& own = plan.accessed_last[i];
    if (own.begin == own.end) continue;
    ranges_[count_++] = {operands[i].address + own.begin, operands[i].address + own.end, own.written};
  }
}

Result<void> Recorder::record(const Executable& handle, std::span<const OperandAddress> operands) {
  if (auto fine = check_operands(handle, operands); !fine) return fine;
  const ReadyPlan* plan = ExecutableAccess::get(handle);
  if (plan == nullptr || plan->steps.empty()) return {};
  const bool full = count_ + operands.size() > kMostRanges;
  if (count_ != 0 && (full || conflicts(*plan, operands))) {
    record_barrier(commands_, *plan);
    ++barriers_;
    count_ = 0;
  }
  record_checked(commands_, *plan, operands);
  // A plan of more operands than there is room for: what follows it waits for all of it.
  if (operands.size() <= kMostRanges)
    add(*plan, operands);
  else
    ranges_[count_++] = {0, ~std::uint64_t{0}, true};
  return {};
}

Result<std::size_t> record_all(VkCommandBuffer commands, std::span<const Recording> plans) {
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto at = [i](Error error) {
      error.what = "plan " + std::to_string(i) + ": " + error.what;
      return std::unexpected(std::move(error));
    };
    if (plans[i].executable == nullptr) return at({ErrorKind::missing, "executable", "null", {}});
    if (auto fine = check_operands(*plans[i].executable, plans[i].operands); !fine) return at(fine.error());
  }
  Recorder recorder(commands);
  for (const Recording& plan : plans)
    if (auto done = recorder.record(*plan.executable, plan.operands); !done) return std::unexpected(done.error());
  return recorder.barriers();
}

}  // namespace sectile::vulkan
