// Element types as numbers, by their definition (IEEE 754 binary16; bfloat16 as the upper half of binary32).
#pragma once

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>

namespace sectile::reference {

std::size_t element_bytes(DType type) noexcept;

// The number that the bytes of one element stand for: f32, f16, bf16, i8, u8 or i32.
double decode(DType type, const std::byte* at) noexcept;
// The nearest number of the type, ties to even, infinite beyond its largest. Integers are cut off, saturated, and 0 for
// a NaN.
void encode(DType type, double value, std::byte* at) noexcept;
double rounded(DType type, double value) noexcept;

}  // namespace sectile::reference
