// What multiplies: the unit that a kernel's products run on.
#pragma once

#include <cstdint>

namespace sectile::detail {

enum class Unit : std::uint8_t {
  scalar,   // multiply-adds of an invocation; int8 by integer dot products where the device has them
  coopmat,  // VK_KHR_cooperative_matrix, a subgroup's
  mma,      // mma.sync, a warp's of CUDA
  coopmat2  // VK_NV_cooperative_matrix2, a workgroup's; the driver's compiler stages the operands
};

inline bool is_matrix_unit(Unit unit) noexcept { return unit != Unit::scalar; }

}  // namespace sectile::detail
