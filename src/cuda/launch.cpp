#include "executable.hpp"

#include <algorithm>
#include <array>

namespace sectile::cuda {
namespace {

// The plan's tensor map at the operand's address of this launch.
Result<void> encode(const api::Driver& driver, const TensorMap& map, std::uint64_t base, api::TensorMap* out) {
  const auto element = map.element_bytes == 8   ? api::kTensorUint64
                       : map.element_bytes == 4 ? api::kTensorUint32
                       : map.element_bytes == 2 ? api::kTensorUint16
                                                : api::kTensorUint8;
  const auto swizzle = map.swizzle_bytes == 128  ? api::kSwizzle128
                       : map.swizzle_bytes == 64 ? api::kSwizzle64
                       : map.swizzle_bytes == 32 ? api::kSwizzle32
                                                 : api::kSwizzleNone;
  constexpr std::array<std::uint32_t, 5> every{1, 1, 1, 1, 1};
  void* const address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(base + map.byte_offset));
  return SECTILE_CUDA_CALL(driver, cuTensorMapEncodeTiled, out, element, static_cast<std::uint32_t>(map.dims.size()),
                           address, map.dims.data(), map.strides.data(), map.box.data(), every.data(),
                           api::kInterleaveNone, swizzle, api::kPromotionL2Of256, api::kFillZeros);
}

// The kernel takes its arguments as one block of bytes: the same bytes that Vulkan pushes, then the tensor maps.
Result<void> launch_step(const api::Driver& driver, Stream stream, const ReadyStep& step,
                         std::span<const OperandAddress> operands) {
  alignas(128) std::array<std::uint8_t, kMostPushBytes> push;
  std::size_t bytes = step.push.size();
  backend::fill_push(step.push, step.addresses, operands, push.data());
  if (!step.tensor_maps.empty()) {
    const std::size_t from = maps_offset(bytes);
    std::fill(push.begin() + static_cast<std::ptrdiff_t>(bytes), push.begin() + static_cast<std::ptrdiff_t>(from), std::uint8_t{0});
    auto* maps = reinterpret_cast<api::TensorMap*>(push.data() + from);
    for (const TensorMap& map : step.tensor_maps)
      if (auto made = encode(driver, map, operands[map.operand].address, maps++); !made) return made;
    bytes = from + step.tensor_maps.size() * sizeof(api::TensorMap);
  }
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
