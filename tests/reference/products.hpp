// What the reference's matmul and convolution have in common: the numbers that operands are filled with, what becomes
// of a sum of products, how far from it a device may be, and how results are compared.
#pragma once

#include "activation.hpp"
#include "ends.hpp"

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::reference {

// Each operand's bytes from its address on, by name.
using ProductData = std::map<std::string, std::span<const std::byte>, std::less<>>;

// One element of the result, and how far from it a device may be.
struct ProductElement {
  double value = 0, tolerance = 0;
  // No number on the way is rounded, in whatever order a device adds: the result is the nearest one, ties to even.
  bool nearest = false;
  // Anything is right: the order in which a device adds decides what comes out (overflow that another order has not).
  bool open = false;
};
// Whether a device may leave this: a number that some value within the tolerance is rounded to, or a NaN for a NaN.
bool is_right(const ProductElement& want, DType type, double got) noexcept;
// Whether two orders of adding in double precision may make these of the same numbers.
bool agree(const ProductElement& one, const ProductElement& other) noexcept;

// A factor of a product, as the problem's `type` holds it.
struct ProductFactor {
  double value = 0;
  // A device's factor differs by at most a last place of this; 0: nothing was rounded on the way to it.
  double rough = 0;
  // Arithmetic in f32 may flush so much of it to zero.
  double flushed = 0;

  // Whether sums that have it need ProductTerms.
  bool wild(DType acc) const noexcept;
};

struct ProductSums {
  double sum = 0;      // of the terms; infinite where it overflows in every order, or NaN
  double squares = 0;  // of their squares
  double rough = 0;    // of the squares of what each rough factor makes of its term, once a factor
  bool exact = false;  // every sum of some of the terms is a float, or an f16 where sums are
  double flushed = 0;  // subnormals that may be flushed make so much
  bool open = false;   // the sum depends on the order
  // Sums in f16, which are allowed and not required, overflow.
  bool or_infinite = false;
};

// Adds terms one after the other, whatever their factors are: ordinary ones are faster added by hand.
class ProductTerms {
 public:
  explicit ProductTerms(DType acc) noexcept : acc_(acc) {}
  void add(const ProductFactor& left, const ProductFactor& right) noexcept;
  // A term of the second factor and a zero that a device may leave out (of an image's padding).
  void add_padding(const ProductFactor& right) noexcept;
  ProductSums sums() const noexcept;

 private:
  DType acc_;
  SumInAnyOrder sum_;
  double squares_ = 0, rough_ = 0;
  bool exact_ = true;  // but for sums of two terms
};

// What the epilogue reads for one element.
struct EpilogueNumbers {
  double scale = 1, c = 0, bias = 0, residual = 0;
};

// What an operand's elements are in the product.
enum class ProductPart : std::uint8_t {
  left,          // of the first factor: A, or the image
  right,         // of the second one
  left_scale,    // of the first factor
  left_bias,     // added to the first factor
  factor,        // of a product
  weight_scale,  // of quantized weights
  addend,        // bias, C, residual
  held,          // what the destination held before
};

// What the operands of a product hold. By the seed; see is_right.
enum class DataKind : std::uint8_t {
  coarse,  // few bits, so that no sum is rounded
  fine,    // all bits of a float
  ends,    // numbers at the ends of their types, between zeros: see ends.hpp
};
struct ProductDataSet {
  DataKind kind = DataKind::fine;
  bool ends_right = false;  // the second factor has them, and not the first one

  explicit ProductDataSet(std::uint64_t seed) noexcept;
};
// A seed near this one whose data is of a kind, or is not.
std::uint64_t seed_with(std::uint64_t seed, DataKind kind) noexcept;
std::uint64_t seed_without(std::uint64_t seed, DataKind kind) noexcept;

// A problem's words that decide its numbers, whatever its operands' shapes are.
struct Product {
  DType type = DType::f32, acc = DType::f32, out = DType::f32;
  std::int64_t length = 0;  // terms of a sum
  float alpha = 1, beta = 0;
  Activated activation;
  WeightFormat weights = WeightFormat::plain;

  ProductFactor converted(double value) const noexcept;
  ProductFactor scaled(double value, double scale) const noexcept;  // multiplied as floats first
  // value * scale + bias as floats, in one rounding or in two, and relu.
  ProductFactor shifted(double value, double scale, double bias, bool relu) const noexcept;

  // All terms are multiples of `unit`; the sum of their magnitudes is `reach`.
  bool exact_sums(double unit, double reach) const noexcept;
  ProductElement finish(const ProductSums& products, const EpilogueNumbers& operands) const noexcept;

  // The number that `word` of a stream stands for. Coarse and fine ones are no zeros alone, and overflow nowhere.
  // `one_in`: of a factor's elements at such a place one in so many is at the end of a range; 0: as few as the length
  // of the sums asks for. The last of a row, or those at an image's border, are the likeliest to be dropped.
  double number(ProductPart part, std::uint64_t word, const ProductDataSet& data,
                std::uint64_t one_in = 0) const noexcept;

 private:
  struct Finished;
  double magnitude_of_left() const noexcept;
  double ordinary(ProductPart part, std::uint64_t word, bool coarse) const noexcept;
  double end_of_range(ProductPart part, std::uint64_t word, bool right, std::uint64_t one_in) const noexcept;
  Finished any_order(const ProductSums& sums, const EpilogueNumbers& numbers) const noexcept;
  ProductElement finish_float(const ProductSums& sums, const EpilogueNumbers& numbers) const noexcept;
  ProductElement exact_element(double result, double flushed) const noexcept;
  bool exact_epilogue(double acc, const EpilogueNumbers& numbers) const noexcept;
};

// The largest power of two of which all are multiples; 0 where that is too small to matter, or one is no number.
double unit_of(std::span<const double> values) noexcept;

// Turns elements into NaNs with any bits, a quiet one's aside: what lies between an operand's elements, and must not
// reach a result. Integers stay as they are.
void make_nans(DType type, std::span<std::byte> bytes) noexcept;

// Such a NaN in place of an element; an integer becomes whatever the word says.
void put_poison(DType type, std::uint64_t word, std::byte* at) noexcept;
bool is_poison(DType type, const std::byte* at) noexcept;  // a float that no kernel makes

// An operand's stream is its own.
std::uint64_t stream_of(std::uint64_t seed, std::string_view operand) noexcept;

// The first element of a destination that is not what it should be, or a byte between elements that was written.
struct ProductMismatch {
  std::uint64_t byte = 0;  // from the destination's address
  std::string message;
};
// Where a result's elements lie.
struct ProductPlaces {
  DType type = DType::f32;
  std::function<std::int64_t(std::size_t)> index;  // of the result's element i, from the destination's address
  std::function<std::string(std::size_t)> name;    // "d[3,4]"
  std::vector<std::int64_t> zeros;                 // elements that are none of the result's, and written as zero bits
};
// Elements at the ends of all axes of a row-major result of this shape; none where it is empty.
std::vector<std::size_t> corners_of(std::span<const std::int64_t> shape);

// `before` and `got`: the destination before and after the run; both begin at its address, and have its bytes.
std::optional<ProductMismatch> compare(const ProductPlaces& places, std::span<const ProductElement> want,
                                       std::span<const std::byte> before, std::span<const std::byte> got);
// What two devices wrote, which may differ by what each of them may.
std::optional<ProductMismatch> compare_devices(const ProductPlaces& places, std::span<const ProductElement> want,
                                               std::span<const std::byte> one, std::span<const std::byte> other);

}  // namespace sectile::reference
