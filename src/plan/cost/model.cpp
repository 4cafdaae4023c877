// Which numbers a device has.
#include "model.hpp"

#include <fmt/format.h>

namespace sectile::detail {

namespace {

constexpr std::string_view kUnmeasured = "gpu";

// A GPU without measurements has the numbers of the class that stands for all (base_class), each multiprocessor with
// the same share of the bandwidth of the device as there. The vendors' figures for other GPUs (GeForce RTX 4090, Radeon
// RX 7900 XTX, Arc B580: 8 to 23 GB/s and 256 to 1090 f16 multiply-adds a clock for each multiprocessor) were tried in
// place of its rates, 2026-11-23. They gave bad choices: a row's rate is a fraction of what the matrix unit reaches
// there, and with the lower rates a device with small matrix shapes (Xe2) got a kernel without the matrix unit for f16
// 4096x4096x4096. Other rates need rows measured on that class.
CostModel derived(const DeviceProfile& profile) {
  const DeviceClass& base = base_class(profile.api, false);
  CostModel model{base.numbers, &base.rows, kUnmeasured, base.id, {}, 0, base.measured};
  const auto scaled = [&](std::uint32_t whole) {
    return bandwidth_share(whole, profile.multiprocessors.value_or(model.multiprocessors),
                           model.measured_multiprocessors);
  };
  model.gemm.dram_bytes = scaled(model.gemm.dram_bytes);
  model.gemm.split_bytes = scaled(model.gemm.split_bytes);
  return model;
}

}  // namespace

CostModel cost_model_of(const DeviceProfile& profile) noexcept {
  const DeviceClass* const c = device_class_of(profile);
  if (c == nullptr) return derived(profile);
  return {c->numbers, &c->rows, c->name, c->id, c->measured, c->derived.size()};
}

std::string cost_model_id(const DeviceProfile& profile) {
  const DeviceClass* const c = device_class_of(profile);
  if (c == nullptr) return fmt::format("{} {}", kUnmeasured, base_class(profile.api, false).id);
  return fmt::format("{} {}", c->name, c->id);
}

std::string describe(const CostModel& model) {
  if (model.measured.empty())
    return fmt::format(
        "model {}: nothing was measured on this class of devices (sectile calibrate), its numbers are those "
        "of {}",
        model.name, model.base);
  return fmt::format("model {}, measured on {}{}", model.name, model.measured,
                     model.derived == 0 ? "" : fmt::format(", {} numbers derived", model.derived));
}

}  // namespace sectile::detail
