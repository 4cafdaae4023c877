#include "footprint.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

namespace sectile::detail {

MergedLoads merged_loads(const PermuteContext& c, std::uint64_t elements) {
  const Nest& nest = c.nest;
  const std::uint32_t transaction = c.profile.transaction_bytes.value_or(32);
  constexpr std::int64_t kBurst = 64;
  std::int64_t before = 1, between = 0;  // elements before an axis, and between two parts of a burst
  struct Stride {
    std::int64_t bytes, count;
  };
  std::array<Stride, kMaxRank> strides;  // of the box that the elements are, the shortest first
  std::size_t n = 0;
  std::uint32_t along = 0;
  auto left = static_cast<std::int64_t>(elements);
  for (int a = 0; a < nest.rank; ++a) {
    const NestAxis& axis = nest.axis[static_cast<std::size_t>(a)];
    const Stride stride{std::abs(axis.src_stride) * nest.element_bytes, std::min(axis.extent, left)};
    if (stride.bytes != 0 && stride.bytes < kBurst && stride.count < axis.extent) between = before;
    before *= axis.extent;
    left = (left + axis.extent - 1) / axis.extent;
    if (stride.bytes < transaction) along |= 1u << a;
    if (stride.bytes == 0 || stride.count == 1) continue;
    std::size_t at = n++;
    for (; at > 0 && strides[at - 1].bytes > stride.bytes; --at) strides[at] = strides[at - 1];
    strides[at] = stride;
  }
  // Strides of less than a transaction beyond a run make it longer; others repeat it.
  std::int64_t run = nest.element_bytes;
  std::uint64_t runs = 1;
  for (const Stride& stride : std::span(strides).first(n)) {
    if (stride.bytes < run + transaction)
      run += (stride.count - 1) * stride.bytes;
    else
      runs *= static_cast<std::uint64_t>(stride.count);
  }
  const std::int64_t aligned = std::min<std::int64_t>(nest.alignment(Side::src, along), transaction);
  MergedLoads loads;
  loads.transactions = runs * static_cast<std::uint64_t>(run - aligned + transaction) / transaction;
  loads.gap = static_cast<std::uint64_t>(between) / elements * loads.transactions * transaction;
  return loads;
}

}  // namespace sectile::detail
