// Integer arithmetic that C++23 lacks: sums and products that say whether they fit, and 128 bits. All of src/ that
// depends on the compiler stands here (SECTILE_STANDARD_ONLY: as for one without extensions); what depends on the
// operating system stands in backend/platform.hpp.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sectile::detail {

// 128 bits in two words, for compilers without a type of that size: as much as the planner needs. Two's complement, and
// it wraps as unsigned integers do. Not for a number that a division by zero or a shift beyond 127 would give.
template <bool Signed>
class TwoWords {
 public:
  constexpr TwoWords() noexcept = default;
  template <std::integral T>
  constexpr TwoWords(T value) noexcept  // NOLINT(google-explicit-constructor): as integers convert
      : high_(std::is_signed_v<T> && value < T{} ? ~std::uint64_t{} : 0), low_(static_cast<std::uint64_t>(value)) {}
  constexpr TwoWords(std::uint64_t high, std::uint64_t low, int) noexcept : high_(high), low_(low) {}
  template <std::integral T>
  explicit constexpr operator T() const noexcept {
    return static_cast<T>(low_);
  }

  friend constexpr TwoWords operator-(TwoWords a) noexcept {
    return {~a.high_ + (a.low_ == 0 ? 1u : 0u), ~a.low_ + 1, 0};
  }
  friend constexpr TwoWords operator+(TwoWords a, TwoWords b) noexcept {
    const std::uint64_t low = a.low_ + b.low_;
    return {a.high_ + b.high_ + (low < a.low_ ? 1u : 0u), low, 0};
  }
  friend constexpr TwoWords operator-(TwoWords a, TwoWords b) noexcept { return a + -b; }
  friend constexpr TwoWords operator*(TwoWords a, TwoWords b) noexcept {
    constexpr std::uint64_t kHalf = 0xffffffffu;
    const std::uint64_t a0 = a.low_ & kHalf, a1 = a.low_ >> 32, b0 = b.low_ & kHalf, b1 = b.low_ >> 32;
    const std::uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & kHalf);
    return {a1 * b1 + (middle >> 32) + (other >> 32) + a.high_ * b.low_ + a.low_ * b.high_, a.low_ * b.low_, 0};
  }
  // Rounds towards zero.
  friend constexpr TwoWords operator/(TwoWords a, TwoWords b) noexcept {
    const bool negative = is_negative(a) != is_negative(b);
    TwoWords<false> left = magnitude(a), rest, quotient;
    const TwoWords<false> by = magnitude(b);
    for (int bit = 127; bit >= 0; --bit) {
      rest = rest << 1 | (left >> bit & 1);
      quotient = quotient << 1;
      if (rest < by) continue;
      rest = rest - by;
      quotient = quotient | 1;
    }
    const TwoWords result(quotient.high(), quotient.low(), 0);
    return negative ? -result : result;
  }
  friend constexpr TwoWords operator<<(TwoWords a, int bits) noexcept {
    if (bits == 0) return a;
    if (bits >= 64) return {a.low_ << (bits - 64), 0, 0};
    return {a.high_ << bits | a.low_ >> (64 - bits), a.low_ << bits, 0};
  }
  friend constexpr TwoWords operator>>(TwoWords a, int bits) noexcept
    requires(!Signed)
  {
    if (bits == 0) return a;
    if (bits >= 64) return {0, a.high_ >> (bits - 64), 0};
    return {a.high_ >> bits, a.low_ >> bits | a.high_ << (64 - bits), 0};
  }
  friend constexpr TwoWords operator&(TwoWords a, TwoWords b) noexcept {
    return {a.high_ & b.high_, a.low_ & b.low_, 0};
  }
  friend constexpr TwoWords operator|(TwoWords a, TwoWords b) noexcept {
    return {a.high_ | b.high_, a.low_ | b.low_, 0};
  }
  friend constexpr bool operator==(TwoWords a, TwoWords b) noexcept = default;
  friend constexpr bool operator<(TwoWords a, TwoWords b) noexcept {
    if (is_negative(a) != is_negative(b)) return is_negative(a);
    return a.high_ != b.high_ ? a.high_ < b.high_ : a.low_ < b.low_;
  }
  friend constexpr bool operator>(TwoWords a, TwoWords b) noexcept { return b < a; }
  friend constexpr bool operator<=(TwoWords a, TwoWords b) noexcept { return !(b < a); }
  friend constexpr bool operator>=(TwoWords a, TwoWords b) noexcept { return !(a < b); }

  constexpr std::uint64_t high() const noexcept { return high_; }
  constexpr std::uint64_t low() const noexcept { return low_; }

 private:
  static constexpr bool is_negative(TwoWords a) noexcept { return Signed && a.high_ >> 63 != 0; }
  static constexpr TwoWords<false> magnitude(TwoWords a) noexcept {
    const TwoWords positive = is_negative(a) ? -a : a;
    return {positive.high_, positive.low_, 0};
  }
  std::uint64_t high_ = 0, low_ = 0;
};

#if defined(__SIZEOF_INT128__) && !defined(_MSC_VER) && !defined(SECTILE_STANDARD_ONLY)
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;
#else
using Wide = TwoWords<true>;
using UnsignedWide = TwoWords<false>;
#endif

// In standard C++ alone, for compilers without functions of their own.
template <std::integral T>
constexpr bool standard_add_overflow(T a, T b, T* result) noexcept {
  using Limits = std::numeric_limits<T>;
  if (b > 0 ? a > Limits::max() - b : a < Limits::min() - b) return true;
  *result = static_cast<T>(a + b);
  return false;
}

template <std::integral T>
constexpr bool standard_mul_overflow(T a, T b, T* result) noexcept {
  using Limits = std::numeric_limits<T>;
  bool over = false;
  if (a > 0)
    over = b > 0 ? a > Limits::max() / b : b < Limits::min() / a;
  else if (a < 0 && b != 0)
    over = b > 0 ? a < Limits::min() / b : a < Limits::max() / b;
  if (!over) *result = static_cast<T>(a * b);
  return over;
}

// The sum or the product in `result`, and whether it does not fit. One that does not fit leaves `result` unspecified.
template <std::integral T>
constexpr bool add_overflow(std::type_identity_t<T> a, std::type_identity_t<T> b, T* result) noexcept {
#if defined(__GNUC__) && !defined(SECTILE_STANDARD_ONLY)
  return __builtin_add_overflow(a, b, result);
#else
  return standard_add_overflow<T>(a, b, result);
#endif
}

template <std::integral T>
constexpr bool mul_overflow(std::type_identity_t<T> a, std::type_identity_t<T> b, T* result) noexcept {
#if defined(__GNUC__) && !defined(SECTILE_STANDARD_ONLY)
  return __builtin_mul_overflow(a, b, result);
#else
  return standard_mul_overflow<T>(a, b, result);
#endif
}

// The product, or this where it is more: sums of thousands of them fit 64 bits.
inline constexpr std::uint64_t kMostProduct = std::uint64_t{1} << 50;
constexpr std::uint64_t saturated_product(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  return mul_overflow<std::uint64_t>(a, b, &product) || product > kMostProduct ? kMostProduct : product;
}

}  // namespace sectile::detail
