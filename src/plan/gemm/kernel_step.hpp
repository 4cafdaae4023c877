// What a step has whose kernel has the interface of shaders/gemm/gemm.abi.h, whether it computes a GEMM or not: types,
// widths of accesses, and the epilogue's bits. step_words.hpp has its words.
#pragma once

#include "gemm.hpp"
#include "plan/refusal.hpp"
#include "plan/type_code.hpp"

#include "gemm/gemm.abi.h"

#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace sectile::detail {

// SECTILE_TYPEs: what a kernel computes with, and what is stored.
struct KernelTypes {
  std::uint32_t type = SECTILE_TYPE_F32, a = SECTILE_TYPE_F32, b = SECTILE_TYPE_F32, out = SECTILE_TYPE_F32;
  bool integer() const noexcept { return type == SECTILE_TYPE_I8; }
};
// Of stored weights.
std::uint32_t type_code(DType type, WeightFormat format) noexcept;

// Elements of an access.
struct KernelWidths {
  std::uint32_t a = 1, b = 1, d = 1;
};

// GEMM_EPILOGUE bits.
std::uint32_t epilogue_bits(const GemmEpilogue& epilogue) noexcept;

// Whether a step needs the variant of its kernel that has accesses of 1 and 2 bytes. `loads`: it loads A and B.
bool needs_narrow(const KernelTypes& types, const KernelWidths& widths, std::uint32_t epilogue, bool loads) noexcept;
// Bytes of an access that the kernel's variant makes and the device lacks; 0 if it lacks none.
std::uint32_t absent_access(const DeviceProfile& profile, std::string_view variant, bool integer) noexcept;
// Whether it lacks none.
bool narrow_accesses_fit(const DeviceProfile& profile, std::string_view variant, bool integer, Refusal& refusal);

// The grid for so many workgroups.
Result<std::array<std::uint32_t, 3>> kernel_grid(const DeviceProfile& profile, std::uint64_t groups);
// The constants that every such kernel has.
void add_constants(Step& step, const DeviceProfile& profile, std::uint32_t workgroup, const KernelTypes& types,
                   const KernelWidths& widths, std::uint32_t epilogue);

}  // namespace sectile::detail
