#include "cover_products.hpp"

namespace sectile::reference {

DType other_float(DType type, Random& random) {
  constexpr std::array kFloats = {DType::f32, DType::f16, DType::bf16};
  DType other = type;
  while (other == type) other = kFloats[random.below(3)];
  return other;
}

std::uint8_t activation_of_level(std::uint8_t level, bool integer, Random& random) {
  using enum Activation;
  constexpr std::array kLike = {std::array{none, none, none, none}, std::array{relu, relu, clamp, leaky_relu},
                                std::array{gelu, gelu, hard_swish, hard_sigmoid},
                                std::array{gelu_tanh, gelu_tanh, tanh, tanh}, std::array{silu, silu, sigmoid, sigmoid}};
  return static_cast<std::uint8_t>(kLike.at(level).at(random.below(integer ? 3 : 4)));
}

std::uint32_t element_align(DType type, bool aligned) noexcept {
  const std::uint32_t bytes = type == DType::i8 ? 1 : type == DType::f16 || type == DType::bf16 ? 2 : 4;
  return aligned ? 16 : bytes;
}

std::uint64_t seed_of(const LevelRow& row) noexcept {
  std::uint64_t seed = 0;
  for (const std::uint8_t level : row) seed = mix(seed ^ level);
  return seed;
}

std::string level_text(const char* factor, std::uint8_t level, const char* says) {
  const std::string text = std::string(factor) + " " + std::to_string(level);
  return says == nullptr ? text : text + " (" + says + ")";
}

}  // namespace sectile::reference
