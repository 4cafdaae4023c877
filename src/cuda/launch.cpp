#include "executable.hpp"

#include <array>

namespace sectile::cuda {
namespace {

// The kernel takes its argument as one block of bytes: the same bytes that Vulkan pushes.
Result<void> launch_step(const api::Driver& driver, Stream stream, const ReadyStep& step,
                         std::span<const OperandAddress> operands) {
  alignas(16) std::array<std::uint8_t, kMostPushBytes> push;
  std::size_t bytes = step.push.size();
  backend::fill_push(step.push, step.addresses, operands, push.data());
  std::array<void*, 5> extra = {api::kLaunchParamBufferPointer, push.data(), api::kLaunchParamBufferSize, &bytes,
                                api::kLaunchParamEnd};
  return SECTILE_CUDA_CALL(driver, cuLaunchKernel, step.kernel->function, step.grid[0], step.grid[1], step.grid[2],
                           step.workgroup[0], step.workgroup[1], step.workgroup[2], step.dynamic_shared_bytes, stream,
                           nullptr, bytes == 0 ? nullptr : extra.data());
}

}  // namespace

Result<void> launch(Stream stream, const Executable& executable, std::span<const OperandAddress> operands) {
  const Executable::Impl* ready = executable.impl_.get();
  if (ready == nullptr) return {};
  if (auto fine = backend::check_operands(ready->operands, ready->touched, operands); !fine) return fine;
  if (ready->steps.empty()) return {};
  const ContextScope scope(*ready->driver, ready->context);
  if (scope.status() != api::kSuccess)
    return std::unexpected(driver_error(*ready->driver, "cuCtxPushCurrent", scope.status()));
  // Steps that the plan orders stand in one stream, which orders them: no barrier is needed.
  for (const ReadyStep& step : ready->steps)
    if (auto launched = launch_step(*ready->driver, stream, step, operands); !launched) return launched;
  return {};
}

Executable::Executable() noexcept = default;
Executable::~Executable() = default;
Executable::Executable(const Executable&) noexcept = default;
Executable& Executable::operator=(const Executable&) noexcept = default;
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;

std::span<const PlanOperand> Executable::operands() const noexcept {
  return impl_ ? std::span<const PlanOperand>(impl_->operands) : std::span<const PlanOperand>();
}
std::string_view Executable::plan_id() const noexcept {
  return impl_ ? std::string_view(impl_->plan_id) : std::string_view();
}
std::size_t Executable::step_count() const noexcept {
  return impl_ ? impl_->steps.size() : 0;
}

}  // namespace sectile::cuda
