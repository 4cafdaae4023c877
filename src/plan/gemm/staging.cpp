#include "staging.hpp"

#include <algorithm>

namespace sectile::detail {

std::uint64_t occupancy_of(const Staging& s, std::uint32_t workgroup, const Multiprocessor& m) noexcept {
  constexpr std::uint64_t kGranule = 8;  // registers are allotted to an invocation in eights
  const std::uint64_t registers = (s.registers.total() + kGranule - 1) / kGranule * kGranule;
  std::uint64_t occupancy = std::min(m.most_workgroups, m.invocations / workgroup);
  occupancy = std::min(occupancy, m.registers / (registers * workgroup));
  if (const std::uint64_t own = s.resident_bytes(); own != 0)
    occupancy = std::min(occupancy, m.memory_bytes / (own + m.reserved_bytes));
  return std::max<std::uint64_t>(occupancy, 1);
}

}  // namespace sectile::detail
