#include "ends.hpp"

#include "random.hpp"

#include <array>
#include <cmath>
#include <iterator>
#include <limits>

namespace sectile::reference {
namespace {

constexpr double kFiniteEnds[] = {
    // f16's largest number, what still rounds to it, and what no longer does.
    65504,
    65519.99,
    65520,
    65536,
    100000,
    0x1p100,
    // bf16's largest number, what still rounds to it, the tie above it, and f32's largest.
    0x1.fep127,
    0x1.fefffep127,
    0x1.ffp127,
    kMostF32,
    // f16's least normal number, its largest subnormal one, and the tie between them.
    kLeastF16,
    0x1.ff8p-15,
    0x1.ffcp-15,
    // f16's least number, one and a half of it, the half that rounds to zero, and what rounds up.
    0x1p-24,
    0x1.8p-24,
    0x1p-25,
    0x1.000002p-25,
    // Ties: of f16 above an even and an odd number and below a power of two, then of bf16.
    1 + 0x1p-11,
    1 + 0x3p-11,
    2 - 0x1p-11,
    1 + 0x1p-8,
    1 + 0x3p-8,
    2 - 0x1p-8,
    // f32's least normal number, and subnormal ones of f32 and of bf16.
    kLeastF32,
    0x1.fffffcp-127,
    0x1p-133,
    0x1.8p-133,
    0x1p-149,
    0,
};

double signed_by(std::uint64_t bits, double v) noexcept { return (bits & 1) != 0 ? -v : v; }

}  // namespace

double finite_end_number(std::uint64_t word) noexcept {
  const std::uint64_t bits = mix(word);
  return signed_by(bits, kFiniteEnds[bits / 2 % std::size(kFiniteEnds)]);
}

double end_number(std::uint64_t word) noexcept {
  const std::uint64_t bits = mix(~word);
  if (bits / 2 % 6 == 0) return signed_by(bits, std::numeric_limits<double>::infinity());
  if (bits / 2 % 12 == 1) return std::nan("");
  return finite_end_number(word);
}

InAnyOrder product_in_any_order(std::initializer_list<double> factors) noexcept {
  double product = 1;
  std::array<double, 4> finite{};  // and not zero
  std::size_t count = 0;
  bool zero = false, infinite = false;
  for (const double factor : factors) {
    product *= factor;
    if (std::isnan(factor)) return {std::nan(""), 0, false};
    zero = zero || factor == 0;
    infinite = infinite || std::isinf(factor);
    if (factor != 0 && std::isfinite(factor) && count < finite.size()) finite.at(count++) = factor;
  }
  if (zero && infinite) return {std::nan(""), 0, false};
  // What some of the factors make, which a device may form first.
  bool small = false, large = false;
  const unsigned most = (1u << count) - (zero ? 0 : 1);  // the whole product is no part of it
  for (unsigned some = 1; some < 1u << count; ++some) {
    double part = 1;
    for (std::size_t i = 0; i < count; ++i)
      if ((some >> i & 1) != 0) part *= finite.at(i);
    small = small || std::fabs(part) < kLeastF32;
    large = large || (std::fabs(part) > kMostF32 && some < most);
  }
  if (infinite) return {product, 0, small};  // of a flushed factor it is a NaN
  if (zero) return {product, 0, large};
  // A whole product beyond f32 is one in every order, unless a part of it is flushed.
  if (std::fabs(product) > kMostF32) return {product, 0, small};
  return {product, small ? std::fabs(product) : 0, large};
}

void SumInAnyOrder::add(double term) noexcept {
  if (term == 0) return;
  ++terms_;
  none_ = none_ || std::isnan(term);
  if (std::isinf(term)) {
    (term > 0 ? up_ : down_) = true;
  } else if (!std::isnan(term)) {
    sum_ += term;
    (term > 0 ? above_ : below_) += std::fabs(term);
    if (std::fabs(term) < kLeastF32) flushed_ += std::fabs(term);
  }
}

void SumInAnyOrder::add(const InAnyOrder& term) noexcept {
  // An open term may be anything, but a NaN in another one remains.
  open_ = open_ || (term.open && !std::isnan(term.value));
  flushed_ += term.flushed;
  add(term.value);
}

InAnyOrder SumInAnyOrder::result(double most) const noexcept {
  const double none = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  if (none_ || (up_ && down_)) return {none, 0, false};
  if (open_) return {sum_, flushed_, true};
  // What rounds beyond the largest number becomes infinite, or does not where a device truncates. Roundings of many
  // terms move that end a little.
  const double margin = terms_ > 1 ? 0x1p-10 : 0;
  const double safe = most * (1 - margin), beyond = std::exp2(std::ilogb(most) + 1) * (1 + margin);
  if (up_) return {infinity, 0, below_ > safe};
  if (down_) return {-infinity, 0, above_ > safe};
  if (above_ <= safe && below_ <= safe) return {sum_, flushed_, false};
  // In every order a partial sum overflows, or the last one does; and none overflows on the other side.
  if (sum_ >= beyond && below_ <= safe) return {infinity, 0, false};
  if (sum_ <= -beyond && above_ <= safe) return {-infinity, 0, false};
  return {sum_, flushed_, true};
}

}  // namespace sectile::reference
