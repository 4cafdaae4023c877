#include "executable.hpp"

#include <algorithm>
#include <array>

namespace sectile::cuda {
namespace {

// Copies move bits: a number's size is enough, but where NaNs are filled in.
api::TensorElement element_of(const TensorMap& map) {
  switch (map.fill) {
    case TensorFill::nan_f16:
      return api::kTensorFloat16;
    case TensorFill::nan_bf16:
      return api::kTensorBfloat16;
    case TensorFill::nan_f32:
      return api::kTensorFloat32;
    case TensorFill::zeros:
      break;
  }
  return map.element_bytes == 8   ? api::kTensorUint64
         : map.element_bytes == 4 ? api::kTensorUint32
         : map.element_bytes == 2 ? api::kTensorUint16
                                  : api::kTensorUint8;
}

// Encodes the plan's tensor map for the operand's address in this launch.
Result<void> encode(const api::Driver& driver, const TensorMap& map, std::uint64_t base, api::TensorMap* out) {
  const auto swizzle = map.swizzle_bytes == 128  ? api::kSwizzle128
                       : map.swizzle_bytes == 64 ? api::kSwizzle64
                       : map.swizzle_bytes == 32 ? api::kSwizzle32
                                                 : api::kSwizzleNone;
  const auto fill = map.fill == TensorFill::zeros ? api::kFillZeros : api::kFillNan;
  constexpr std::array<std::uint32_t, 5> every{1, 1, 1, 1, 1};
  const std::uint32_t* const steps = map.element_strides.empty() ? every.data() : map.element_strides.data();
  const auto rank = static_cast<std::uint32_t>(map.dims.size());
  // NOLINTNEXTLINE(performance-no-int-to-ptr): CUDA's function takes a device's address as a pointer
  void* const address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(base + map.byte_offset));
  if (map.im2col)
    return SECTILE_CUDA_CALL(driver, cuTensorMapEncodeIm2col, out, element_of(map), rank, address, map.dims.data(),
                             map.strides.data(), map.im2col->lower.data(), map.im2col->upper.data(),
                             map.im2col->channels_per_pixel, map.im2col->pixels_per_column, steps, api::kInterleaveNone,
                             swizzle, api::kPromotionL2Of256, fill);
  return SECTILE_CUDA_CALL(driver, cuTensorMapEncodeTiled, out, element_of(map), rank, address, map.dims.data(),
                           map.strides.data(), map.box.data(), steps, api::kInterleaveNone, swizzle,
                           api::kPromotionL2Of256, fill);
}

// Only cuLaunchKernelEx takes a cluster.
Result<void> launch_clusters(const api::Driver& driver, Stream stream, const ReadyStep& step, void** arguments) {
  api::LaunchAttribute cluster;
  std::ranges::copy(step.cluster, cluster.cluster);
  api::LaunchConfig config;
  std::ranges::copy(step.grid, config.grid);
  std::ranges::copy(step.workgroup, config.block);
  config.dynamic_shared = step.dynamic_shared_bytes;
  config.stream = stream;
  config.attributes = &cluster;
  config.attribute_count = 1;
  return SECTILE_CUDA_CALL(driver, cuLaunchKernelEx, &config, step.kernel->function, arguments, nullptr);
}

// A kernel's arguments are the push struct, the same bytes that Vulkan pushes, and then the tensor maps. They are
// passed one by one: in one block of bytes, a map's offset would depend on where the driver's constant bank puts
// arguments (at 240 after 128 bytes of push struct, on CUDA 13.0).
Result<void> launch_step(const api::Driver& driver, Stream stream, const ReadyStep& step,
                         std::span<const OperandAddress> operands) {
  alignas(16) std::array<std::uint8_t, kMostPushBytes> push;
  std::array<api::TensorMap, kMostTensorMaps> maps;
  std::array<void*, 1 + kMostTensorMaps> arguments{};
  std::size_t count = 0;
  if (!step.push.empty()) arguments[count++] = push.data();
  backend::fill_push(step.push, step.addresses, operands, push.data());
  for (std::size_t i = 0; i < step.tensor_maps.size(); ++i) {
    const TensorMap& map = step.tensor_maps[i];
    if (auto made = encode(driver, map, operands[map.operand].address, &maps[i]); !made) return made;
    arguments[count++] = &maps[i];
  }
  void** const given = count == 0 ? nullptr : arguments.data();
  if (step.cluster != kNoCluster) return launch_clusters(driver, stream, step, given);
  return SECTILE_CUDA_CALL(driver, cuLaunchKernel, step.kernel->function, step.grid[0], step.grid[1], step.grid[2],
                           step.workgroup[0], step.workgroup[1], step.workgroup[2], step.dynamic_shared_bytes, stream,
                           given, nullptr);
}

}  // namespace

Result<void> launch(Stream stream, const Executable& executable, std::span<const OperandAddress> operands) {
  const Executable::Impl* ready = executable.impl_.get();
  if (ready == nullptr) return {};
  if (auto fine = backend::check_operands(ready->operands, ready->accessed, operands); !fine) return fine;
  if (ready->steps.empty()) return {};
  const ContextScope scope(*ready->driver, ready->context);
  if (scope.status() != api::kSuccess)
    return std::unexpected(driver_error(*ready->driver, "cuCtxPushCurrent", scope.status()));
  // All steps run in one stream, which orders them: no barrier is needed.
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
std::size_t Executable::step_count() const noexcept { return impl_ ? impl_->steps.size() : 0; }

}  // namespace sectile::cuda
