// The numbers of the cost model for a device: its class's, or what is derived for a device of no class. The formulas
// that use them are in permute/cost.cpp, gemm/cost.cpp and conv2d/cost.cpp. docs/design/cost-model.md explains both.
#pragma once

#include "correction.hpp"
#include "device_class.hpp"

#include <sectile/profile.hpp>

#include <string>
#include <string_view>

namespace sectile::detail {

// The numbers of a device's class, and what `explain` says of them.
struct CostModel : ClassNumbers {
  const ClassRows* rows;       // of a class that is built in, or that the profile holds
  std::string_view name;       // the class of devices
  std::string_view id;         // of the class whose numbers these are
  std::string_view measured;   // device, driver and dates; empty: nothing was measured on this class
  std::size_t derived = 0;     // numbers that the class lacks
  std::string_view base = {};  // with nothing measured: what the numbers were measured on

  const RowNumbers& row(CostTable table, std::uint32_t row) const { return rows->of(table, row); }
};

// A candidate's cost with its correction. `table`: whose correction; the row's own numbers are `row`'s. features: makes
// them, which takes longer than the rest.
template <class MakeFeatures>
std::int64_t corrected_cost(const CostModel& model, CostTable table, const RowNumbers& row, std::int64_t cost,
                            MakeFeatures&& features) {
  const Correction& correction = model.rows->correction(table);
  if (correction == Correction{} && row.offset == 0) return cost;
  return times_exp2(cost, correction_of(correction, row, features()));
}

// What a candidate's cost with its correction is not below, where without one it is not below `cost`.
inline std::int64_t least_corrected_cost(const CostModel& model, CostTable table, const RowNumbers& row,
                                         std::int64_t cost) noexcept {
  constexpr std::int64_t kMost = 5;  // times less: four and the rounding of logarithms
  return model.rows->correction(table) == Correction{} && row.offset == 0 ? cost : cost / kMost;
}

// The class of a profile's device: its own, CPU, Hopper, or a GPU without measurements.
CostModel cost_model_of(const DeviceProfile& profile) noexcept;

// The class's part of a plan's id.
std::string cost_model_id(const DeviceProfile& profile);

// A few words for `explain`: the class, and what was measured on it.
std::string describe(const CostModel& model);

}  // namespace sectile::detail
