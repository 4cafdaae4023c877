// What multiplies: the unit that a kernel's products run on.
#pragma once

#include <cstdint>

namespace sectile::detail {

enum class Unit : std::uint8_t {
  scalar,    // multiply-adds of an invocation; int8 by integer dot products where the device has them
  coopmat,   // VK_KHR_cooperative_matrix, a subgroup's
  coopmat2,  // VK_NV_cooperative_matrix2, a workgroup's; the driver's compiler stages the operands
  mma,       // CUDA, a warp's: mma.sync
  wgmma      // CUDA, a warpgroup's; operands in workgroup memory
};

inline bool is_matrix_unit(Unit unit) noexcept { return unit != Unit::scalar; }

// CUDA's kernels have as much workgroup memory as a launch says, beyond what one may declare.
inline bool has_dynamic_memory(Unit unit) noexcept { return unit == Unit::mma || unit == Unit::wgmma; }

}  // namespace sectile::detail
