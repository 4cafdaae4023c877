// What the operands of products are filled with.
#include "products.hpp"

#include "numbers.hpp"
#include "random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace sectile::reference {
namespace {

// In [-1, 1). Coarse: eighths, which every type holds, and whose products and sums f32 holds, so that no rounding is
// there to hide an error behind. No f16 of these is subnormal: devices may flush those.
double unit(std::uint64_t word, bool coarse) noexcept {
  if (coarse) return (static_cast<double>(word % 17) - 8) / 8;
  const double value = static_cast<double>(word >> 40) * std::ldexp(1, -23) - 1;
  return std::fabs(value) < std::ldexp(1, -6) ? std::copysign(std::ldexp(1, -6), value) : value;
}

// Between 1/2 and 3/2, of either sign; coarse: powers of two.
double factor(std::uint64_t word, bool coarse) noexcept {
  const double sign = (word & 1) != 0 ? -1 : 1;
  if (coarse) return sign * std::ldexp(1, static_cast<int>((word >> 1) % 3) - 1);
  return sign * (0.5 + static_cast<double>(word >> 40) * std::ldexp(1, -24));
}

}  // namespace

ProductDataSet::ProductDataSet(std::uint64_t seed) noexcept {
  const std::uint64_t word = data_word(seed, ~std::uint64_t{0});
  kind = static_cast<DataKind>(word % 3);
  ends_right = word / 3 % 2 != 0;
}

std::uint64_t seed_with(std::uint64_t seed, DataKind kind) noexcept {
  while (ProductDataSet(seed).kind != kind) seed = mix(seed);
  return seed;
}

std::uint64_t seed_without(std::uint64_t seed, DataKind kind) noexcept {
  while (ProductDataSet(seed).kind == kind) seed = mix(seed);
  return seed;
}

std::uint64_t stream_of(std::uint64_t seed, std::string_view operand) noexcept {
  for (const char letter : operand) seed = mix(seed ^ static_cast<std::uint64_t>(letter));
  return seed;
}

void make_nans(DType type, std::span<std::byte> bytes) noexcept {
  const auto each = [&](auto word, auto quiet, auto low) {
    for (std::size_t at = 0; at + sizeof word <= bytes.size(); at += sizeof word) {
      std::memcpy(&word, bytes.data() + at, sizeof word);
      word = static_cast<decltype(word)>(word | quiet);
      // Neither the NaN that conversions make nor the one with all bits: a destination that still holds it was not
      // written.
      if ((word & low) == 0 || (word & low) == low) word = static_cast<decltype(word)>(word ^ 1);
      std::memcpy(bytes.data() + at, &word, sizeof word);
    }
  };
  if (type == DType::f32) each(std::uint32_t{0}, std::uint32_t{0x7fc00000}, std::uint32_t{0x3fffff});
  if (type == DType::f16) each(std::uint16_t{0}, std::uint16_t{0x7e00}, std::uint16_t{0x1ff});
  if (type == DType::bf16) each(std::uint16_t{0}, std::uint16_t{0x7fc0}, std::uint16_t{0x3f});
}

void put_poison(DType type, std::uint64_t word, std::byte* at) noexcept {
  const std::size_t size = element_bytes(type);
  std::memcpy(at, &word, size);
  make_nans(type, {at, size});
}

bool is_poison(DType type, const std::byte* at) noexcept {
  const std::size_t size = element_bytes(type);
  std::array<std::byte, 4> bytes{};
  std::memcpy(bytes.data(), at, size);
  make_nans(type, std::span(bytes).first(size));
  return std::memcmp(bytes.data(), at, size) == 0 && std::isnan(decode(type, at));
}

// Sums of K terms are then near 1, where activations bend and f16 is far from its ends: a power of two near 2 /
// sqrt(K).
double Product::magnitude_of_left() const noexcept {
  int exponent = 1;
  for (std::int64_t k = length; k >= 4; k /= 4) --exponent;
  return std::ldexp(1, std::min(exponent, 0));
}

// At the ends of the types' ranges. A sum has about one such term, and the others are zeros, or 0 times one of them: no
// order of adding changes it. Small numbers that are multiplied with it or added to it stand beside, so that both an
// element that should be none and one whose neighbour is one show.
double Product::end_of_range(ProductPart part, std::uint64_t word, bool right, std::uint64_t one_in) const noexcept {
  const std::uint64_t bits = mix(word);
  const auto terms = static_cast<std::uint64_t>(std::max<std::int64_t>(length, 1));
  const auto once_in = [&](std::uint64_t n) { return bits >> 8 < ~std::uint64_t{0} / 256 / n; };
  const double zero = (bits & 1) != 0 ? -0.0 : 0.0;
  switch (part) {
    case ProductPart::left:
    case ProductPart::right: {
      const bool ours = (part == ProductPart::right) == right;
      // All of int8, whatever the result's type holds.
      if (type == DType::i8) return static_cast<double>(word % 256) - 128;
      if (part == ProductPart::right && weights != WeightFormat::plain) break;
      if (ours) return once_in(std::min(terms, one_in == 0 ? terms * 3 / 2 : one_in)) ? end_number(word) : zero;
      // One row, or column, in sixteen has one.
      if (once_in(16 * terms)) return end_number(word);
      constexpr std::array kSmall = {1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 1.5, 0.0, 1.0, 0.0};
      return kSmall.at(bits % kSmall.size());
    }
    case ProductPart::factor:
      if (once_in(24)) return end_number(word);
      break;
    case ProductPart::left_scale:
    case ProductPart::weight_scale:
      // An infinity here would be times a zero in every sum of its column.
      if (once_in(24)) return std::copysign(bits % 2 == 0 ? 65504.0 : 0x1p120, unit(word, false));
      break;
    case ProductPart::left_bias:
      if (!once_in(3)) return 0;
      break;
    default:
      if (out == DType::i32) {
        // Each addition saturates.
        constexpr std::array kWhole = {0x1p31 - 1, -0x1p31, 0x1p31 - 1000, 1000 - 0x1p31};
        if (once_in(6)) return kWhole.at(bits % kWhole.size());
        break;
      }
      if (once_in(12)) return end_number(word);
      if (once_in(5)) return std::array{16.0, 15.9921875, -16.0, 0.0078125}.at(bits % 4);
      if (once_in(2)) return zero;
      break;
  }
  return ordinary(part, word, true);
}

double Product::number(ProductPart part, std::uint64_t word, const ProductDataSet& data,
                       std::uint64_t one_in) const noexcept {
  if (data.kind != DataKind::ends) return ordinary(part, word, data.kind == DataKind::coarse);
  return end_of_range(part, word, data.ends_right && weights == WeightFormat::plain, one_in);
}

double Product::ordinary(ProductPart part, std::uint64_t word, bool coarse) const noexcept {
  if (part == ProductPart::factor || part == ProductPart::left_scale) return factor(word, coarse);
  if (part == ProductPart::weight_scale) return std::ldexp(factor(word, coarse), weights == WeightFormat::q8 ? -7 : -3);
  if (part == ProductPart::left_bias) return magnitude_of_left() * unit(word, coarse);
  if (part == ProductPart::left || part == ProductPart::right) {
    const bool left = part == ProductPart::left;
    if (!left && weights != WeightFormat::plain) return static_cast<double>(word % 256) - 128;
    if (type != DType::i8) return left ? magnitude_of_left() * unit(word, coarse) : unit(word, coarse);
    // All of int8, but where the result is an f16 that such sums could pass.
    std::int64_t most = 128;
    const double reach = 8 * std::sqrt(static_cast<double>(std::max<std::int64_t>(length, 1))) * std::fabs(alpha) * 1.5;
    while (out == DType::f16 && most > 1 && reach * static_cast<double>(most * most) > 30000) most /= 2;
    const auto value = static_cast<std::int64_t>(word % static_cast<std::uint64_t>(2 * most + 1)) - most;
    return static_cast<double>(std::min<std::int64_t>(value, 127));
  }
  if (out == DType::i32) return static_cast<double>(word % 2000001) - 1000000;
  // Some go where activations no longer bend, and where a clamp of their argument would show.
  if (part == ProductPart::addend && word % 7 == 0)
    return std::copysign(word % 5 == 0 ? 90.0 : 8 + static_cast<double>(word / 7 % 64) / 4, unit(word, true) - 0.01);
  return 2 * unit(word, coarse);
}

}  // namespace sectile::reference
