// The number by which kernels know a type (shaders/lib/abi.h).
#pragma once

#include "lib/abi.h"

#include <sectile/problem.hpp>

#include <cstdint>

namespace sectile::detail {

// A SECTILE_TYPE.
constexpr std::uint32_t type_code(DType type) noexcept {
  switch (type) {
    case DType::f16:
      return SECTILE_TYPE_F16;
    case DType::bf16:
      return SECTILE_TYPE_BF16;
    case DType::i8:
      return SECTILE_TYPE_I8;
    case DType::u8:
      return SECTILE_TYPE_U8;
    case DType::i32:
      return SECTILE_TYPE_I32;
    default:
      return SECTILE_TYPE_F32;
  }
}

}  // namespace sectile::detail
