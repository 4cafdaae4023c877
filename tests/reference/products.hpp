// What the reference's matmul and convolution have in common: the numbers that operands are filled with, what becomes
// of a sum of products, how far from it a device may be, and how results are compared.
#pragma once

#include "activation.hpp"

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
  // No number on the way is rounded, in whatever order a device adds, and kernels round the result by themselves: to
  // nearest, ties to even.
  bool nearest = false;
};

// A factor of a product, as the problem's `type` holds it.
struct ProductFactor {
  double value = 0;
  // A device's factor differs by at most a last place of this; 0: nothing was rounded on the way to it.
  double rough = 0;
};

struct ProductSums {
  double sum = 0;      // of the terms
  double squares = 0;  // of their squares
  double rough = 0;    // of the squares of what each rough factor makes of its term, once a factor
  bool exact = false;  // every sum of some of the terms is a float, or an f16 where sums are

  void add(const ProductFactor& left, const ProductFactor& right) noexcept;
};

// What the epilogue reads for one element.
struct EpilogueNumbers {
  double scale = 1, c = 0, bias = 0, residual = 0;
};

// What an operand's elements are in the product.
enum class ProductPart : std::uint8_t {
  left,          // of the first factor: A, or the image
  right,         // of the second one
  left_bias,     // added to the first factor
  factor,        // of a product
  weight_scale,  // of quantized weights
  addend,        // bias, C, residual
  held,          // what the destination held before
};

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

  // The number that `word` of a stream stands for: no zeros alone, and no overflow.
  double number(ProductPart part, std::uint64_t word, bool coarse) const noexcept;

 private:
  double magnitude_of_left() const noexcept;
  ProductElement exact_element(double result) const noexcept;
  bool exact_epilogue(double acc, const EpilogueNumbers& numbers) const noexcept;
};

// The largest power of two of which all are multiples; 0 where that is too small to matter, or one is no number.
double unit_of(std::span<const double> values) noexcept;

// Data of a seed: coarse for every other one, see Product::number. An operand's stream is its own.
bool is_coarse(std::uint64_t seed) noexcept;
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
