#include "numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace sectile::reference {
namespace {

template <class T>
T read(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

double half_value(std::uint16_t bits) noexcept {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double magnitude = 0;
  if (exponent == 31)
    magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
  else if (exponent == 0)
    magnitude = std::ldexp(fraction, -24);
  else
    magnitude = std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// nearbyint rounds to nearest, ties to even, in the mode that programs start in.
std::uint16_t half_bits(double value) noexcept {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (magnitude == 0) return sign;
  if (magnitude >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00);
  int exponent = 0;
  std::frexp(magnitude, &exponent);               // magnitude in [2^(exponent - 1), 2^exponent)
  const int unit = std::max(exponent - 11, -24);  // of the last place
  const auto places = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, -unit)));
  // Subnormals are counted in units of 2^-24; above, 1024 of them are the hidden bit, and a carry is the next exponent.
  const std::uint32_t bits = unit == -24 ? places : static_cast<std::uint32_t>(unit + 24) * 1024 + places;
  return static_cast<std::uint16_t>(sign | bits);
}

// Straight from double: an f32 between would round twice.
std::uint16_t bfloat_bits(double value) noexcept {
  if (std::isnan(value)) return 0x7fc0;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - 8, -133);
  const auto nearest = static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit));
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(nearest) >> 16);
}

}  // namespace

std::size_t element_bytes(DType type) noexcept {
  return type == DType::i8 || type == DType::u8 ? 1 : type == DType::f16 || type == DType::bf16 ? 2 : 4;
}

double decode(DType type, const std::byte* at) noexcept {
  switch (type) {
    case DType::f32:
      return read<float>(at);
    case DType::f16:
      return half_value(read<std::uint16_t>(at));
    case DType::bf16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(read<std::uint16_t>(at)) << 16);
    case DType::i8:
      return read<std::int8_t>(at);
    case DType::u8:
      return read<std::uint8_t>(at);
    case DType::i32:
      return read<std::int32_t>(at);
    default:
      return std::nan("");
  }
}

void encode(DType type, double value, std::byte* at) noexcept {
  const auto write = [at](auto bits) { std::memcpy(at, &bits, sizeof bits); };
  const auto integer = [value](double low, double high) {
    return std::isnan(value) ? 0 : std::clamp(value, low, high);
  };
  switch (type) {
    case DType::f32:
      return write(static_cast<float>(value));
    case DType::f16:
      return write(half_bits(value));
    case DType::bf16:
      return write(bfloat_bits(value));
    case DType::i8:
      return write(static_cast<std::int8_t>(integer(-128, 127)));
    case DType::u8:
      return write(static_cast<std::uint8_t>(integer(0, 255)));
    case DType::i32:
      return write(static_cast<std::int32_t>(integer(-0x1p31, 0x1p31 - 1)));
    default:
      return;
  }
}

double rounded(DType type, double value) noexcept {
  std::byte bytes[8] = {};
  encode(type, value, bytes);
  return decode(type, bytes);
}

}  // namespace sectile::reference
