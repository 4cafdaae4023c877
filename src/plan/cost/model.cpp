// Which numbers a device has.
#include "model.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sectile::detail {

namespace {

constexpr std::string_view kUnmeasured = "gpu", kPattern = "nvidia-hopper";

// A GPU without measurements has Hopper's multiprocessors, as many as the profile states, each with the same share of
// the bandwidth. The vendors' figures for other GPUs (GeForce RTX 4090, Radeon RX 7900 XTX, Arc B580: 8 to 23 GB/s and
// 256 to 1090 f16 multiply-adds a clock for each multiprocessor) were tried in place of Hopper's rates, 2026-11-23.
// They gave bad choices: a row's rate is a fraction of what Hopper's matrix unit reaches, and with the lower rates a
// device with small matrix shapes (Xe2) got a kernel without the matrix unit for f16 4096x4096x4096. Other rates need
// rows measured on that class.
CostModel derived(const DeviceProfile& profile) {
  constexpr std::uint32_t kMultiprocessors = 132;  // of the H200 that the pattern was measured on
  CostModel model{builtin_class(kPattern)->numbers, kUnmeasured, {}};
  const auto scaled = [&](std::uint32_t whole) {
    const std::uint64_t all = std::uint64_t{whole} * profile.multiprocessors.value_or(model.multiprocessors);
    return std::max(1u, static_cast<std::uint32_t>(all / kMultiprocessors));
  };
  model.gemm.dram_bytes = scaled(model.gemm.dram_bytes);
  model.gemm.split_bytes = scaled(model.gemm.split_bytes);
  return model;
}

}  // namespace

CostModel cost_model_of(const DeviceProfile& profile) noexcept {
  const DeviceClass* const measured = measured_class_of(profile);
  return measured != nullptr ? CostModel{measured->numbers, measured->name, measured->measured} : derived(profile);
}

std::string describe(const CostModel& model) {
  if (!model.measured.empty()) return fmt::format("model {}, measured on {}", model.name, model.measured);
  return fmt::format("model {}: nothing was measured on this class of devices, rows are taken as measured on {}",
                     model.name, kPattern);
}

}  // namespace sectile::detail
