#include "cover_products.hpp"

#include <array>

namespace sectile::reference {

DType type_of(CoverType level) noexcept {
  return std::array{DType::f32, DType::f16, DType::f16, DType::bf16, DType::i8}[level];
}

DType sums_of(CoverType level) noexcept {
  return level == kI8 ? DType::i32 : level == kF16Sums ? DType::f16 : DType::f32;
}

DType out_of(CoverOut level) noexcept { return std::array{DType::i32, DType::f32, DType::f16, DType::bf16}[level]; }

DType other_float(DType type, Random& random) {
  constexpr std::array kFloats = {DType::f32, DType::f16, DType::bf16};
  DType other = type;
  while (other == type) other = kFloats[random.below(3)];
  return other;
}

CoverEpilogue epilogue_of(DType type, DType out, std::uint8_t alpha, std::uint8_t c, Random& random) {
  constexpr std::array kAlphas = {0.5f, -1.25f, 2.0f, 0.3333f}, kBetas = {1.0f, -0.5f, 0.3f, 2.0f};
  CoverEpilogue e;
  if (alpha != 0) e.alpha = kAlphas[random.below(4)];
  // Sums of int8 products are in the thousands, where activations no longer bend.
  if (type == DType::i8 && out != DType::i32) e.alpha = alpha != 0 ? 0.0003f : 1.0f / 4096;
  if (c == 0) return e;
  e.beta = kBetas[random.below(4)];
  e.c_is_result = c == 2;
  return e;
}

std::uint32_t element_align(DType type, bool aligned) noexcept {
  const std::uint32_t bytes = type == DType::i8 ? 1 : type == DType::f16 || type == DType::bf16 ? 2 : 4;
  return aligned ? 16 : bytes;
}

std::uint64_t seed_of(const LevelRow& row, std::uint64_t seed) noexcept {
  for (const std::uint8_t level : row) seed = mix(seed ^ level);
  return seed;
}

}  // namespace sectile::reference
