// Numbers at the ends of their types: those that data has, and what f32 arithmetic makes of them in any order.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace sectile::reference {

// One of the numbers at which a conversion between float types bends: both sides of f16's and bf16's largest and least
// numbers, ties, subnormals, zeros, infinities, NaN; of either sign.
double end_number(std::uint64_t word) noexcept;
// The same without infinities and NaN.
double finite_end_number(std::uint64_t word) noexcept;

// The largest number of f32 and of f16, and their least normal ones.
inline constexpr double kMostF32 = 0x1.fffffep127, kMostF16 = 65504;
inline constexpr double kLeastF32 = 0x1p-126, kLeastF16 = 0x1p-14;

// A product's or a sum's outcome where a device may form it in any order, fused or not.
struct InAnyOrder {
  double value = 0;    // in double precision; infinite where every order overflows, or NaN
  double flushed = 0;  // the result may be smaller by so much, where subnormals on the way are flushed to zero
  bool open = false;   // the orders differ by more than roundings: whatever comes out is right
};

// Of factors in f32. A finite product beyond f32 is left as it is: a sum that it is a term of decides.
InAnyOrder product_in_any_order(std::initializer_list<double> factors) noexcept;

// A sum of terms, one after the other.
class SumInAnyOrder {
 public:
  void add(double term) noexcept;
  void add(const InAnyOrder& term) noexcept;
  // In a type whose largest number is `most` (that of f32 or of f16).
  InAnyOrder result(double most = kMostF32) const noexcept;
  // No more than one term is other than zero.
  bool single() const noexcept { return terms_ <= 1; }

 private:
  double sum_ = 0, above_ = 0, below_ = 0, flushed_ = 0;  // of finite terms; above: of the positive ones
  bool up_ = false, down_ = false, none_ = false, open_ = false;
  int terms_ = 0;
};

}  // namespace sectile::reference
