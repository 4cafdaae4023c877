// Sums and products that may not fit, and 128 bits: the standard C++ of base/arithmetic.hpp against the compiler's own.
#include "base/arithmetic.hpp"
#include "reference/random.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>

using namespace sectile::detail;

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                       kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::array<std::int64_t, 13> kHard = {
    0,         1, -1, 2, -2, 10, kMost, kLeast, kMost - 1, kLeast + 1, std::int64_t{1} << 31, std::int64_t{1} << 32,
    3037000500};

#if defined(__SIZEOF_INT128__) && !defined(SECTILE_STANDARD_ONLY)
// Of all magnitudes alike.
std::int64_t number(sectile::reference::Random& random) {
  return static_cast<std::int64_t>(random.next()) >> random.below(63);
}

template <bool Signed, class Native>
bool same(TwoWords<Signed> ours, Native native) {
  return ours.low() == static_cast<std::uint64_t>(native) &&
         ours.high() == static_cast<std::uint64_t>(static_cast<UnsignedWide>(native) >> 64);
}

void compare(std::int64_t a, std::int64_t b, std::int64_t c) {
  INFO(a << " " << b << " " << c);
  using Two = TwoWords<true>;
  const Wide product = Wide{a} * b;
  const Two ours = Two(a) * b;
  CHECK(same(ours, product));
  CHECK(same(Two(a) - b, Wide{a} - b));
  CHECK(same(ours + c, product + c));  // at most 2^126 and 2^63
  CHECK((ours < Two(c)) == (product < c));
  CHECK((ours > Two(c)) == (product > c));
  CHECK((ours == Two(c)) == (product == c));
  if (c != 0) CHECK(same(ours / c, product / c));
  if (product != 0) CHECK(same(Two(c) / ours, Wide{c} / product));
  using UnsignedTwo = TwoWords<false>;
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b), z = static_cast<std::uint64_t>(c);
  const UnsignedWide whole = UnsignedWide{x} * y;
  CHECK(same(UnsignedTwo(x) * y, whole));
  if (z != 0) CHECK(same(UnsignedTwo(x) * y / z, whole / z));
  for (const int bits : {0, 1, 20, 63, 64, 65, 127}) {
    CHECK(same(UnsignedTwo(x) * y >> bits, whole >> bits));
    CHECK(same(UnsignedTwo(x) * y << bits, whole << bits));
  }
  CHECK(static_cast<std::int64_t>(Two(a)) == a);
}
#endif

}  // namespace

#if defined(__SIZEOF_INT128__) && !defined(SECTILE_STANDARD_ONLY)
TEST_CASE("two words are what the compiler's 128 bits are") {
  for (const std::int64_t a : kHard)
    for (const std::int64_t b : kHard)
      for (const std::int64_t c : kHard) compare(a, b, c);
  sectile::reference::Random random(20261129);
  for (int i = 0; i < 2000; ++i) compare(number(random), number(random), number(random));
}
#endif

TEST_CASE("sums and products that do not fit are told from those that do") {
  const auto fits = [](Wide exact) { return exact >= Wide{kLeast} && exact <= Wide{kMost}; };
  for (const std::int64_t a : kHard) {
    for (const std::int64_t b : kHard) {
      INFO(a << " " << b);
      const bool sum = fits(Wide{a} + b), product = fits(Wide{a} * b);
      std::int64_t result = 7;
      CHECK(add_overflow(a, b, &result) == !sum);
      if (sum) CHECK(result == a + b);
      CHECK(standard_add_overflow(a, b, &result) == !sum);
      if (sum) CHECK(result == a + b);
      CHECK(mul_overflow(a, b, &result) == !product);
      if (product) CHECK(result == a * b);
      CHECK(standard_mul_overflow(a, b, &result) == !product);
      if (product) CHECK(result == a * b);
    }
  }
  using Unsigned = std::uint64_t;
  constexpr Unsigned kHalf = Unsigned{1} << 32;
  Unsigned result = 0;
  CHECK(mul_overflow(kHalf, kHalf, &result));
  CHECK(standard_mul_overflow(kHalf, kHalf, &result));
  CHECK_FALSE(standard_mul_overflow(kHalf, kHalf - 1, &result));
  CHECK(result == (kHalf - 1) << 32);
  CHECK(add_overflow(~Unsigned{}, 1, &result));
  CHECK(standard_add_overflow(~Unsigned{}, Unsigned{1}, &result));
  CHECK_FALSE(standard_add_overflow(~Unsigned{} - 1, Unsigned{1}, &result));
}
