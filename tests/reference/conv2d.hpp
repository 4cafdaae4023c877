// What a convolution means, in double precision, by direct loops over the words of Conv2dProblem, with its own address
// arithmetic. It shares no code with the planner, and knows of no matrix: the image is padded with zeros, and each
// filter is moved over it.
#pragma once

#include "products.hpp"
#include "random.hpp"

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::reference {

// An operand as the problem's words place it. Images have images, channels, rows and columns; weights have output
// channels in place of images; vectors have channels alone.
struct Conv2dOperand {
  DType type = DType::f32;
  std::uint32_t align = 1;
  std::int64_t outer = 1, channels = 1, height = 1, width = 1;
  std::int64_t block = 1;  // channels that lie side by side, the last block's surplus with them
  std::int64_t outer_step = 0, block_step = 1, row_step = 0, column_step = 0;  // elements

  bool empty() const noexcept { return outer == 0 || channels == 0 || height == 0 || width == 0; }
  std::int64_t index(std::int64_t o, std::int64_t c, std::int64_t y, std::int64_t x) const noexcept {
    return o * outer_step + c / block * block_step + c % block + y * row_step + x * column_step;
  }
  std::uint64_t bytes() const noexcept;  // from its address to the end of its last element, a surplus one or not
  double at(std::span<const std::byte> data, std::int64_t index) const noexcept;
  // Ranges [first, last) of elements, surplus ones too, as long as they can be.
  std::vector<std::pair<std::int64_t, std::int64_t>> runs() const;
};

using Conv2dData = ProductData;

// The problem spelled out. Throws std::invalid_argument where it makes no sense.
class Conv2dDefinition {
 public:
  static constexpr std::string_view kDestination = "y";

  explicit Conv2dDefinition(const Conv2dProblem& problem);

  const Conv2dProblem& problem() const noexcept { return p_; }
  bool empty() const noexcept { return p_.n == 0 || p_.k == 0; }
  std::int64_t height() const noexcept { return height_; }  // of the result, P and Q
  std::int64_t width() const noexcept { return width_; }
  std::size_t size() const noexcept;  // elements of the result
  // In the order of operands_of.
  const std::vector<std::pair<std::string, Conv2dOperand>>& operands() const noexcept { return operands_; }
  const Conv2dOperand& operand(std::string_view name) const;  // throws std::out_of_range
  bool has(std::string_view name) const noexcept;

  // Numbers in place of what the elements of an operand hold; bytes between elements stay as they are (see make_nans).
  // What is filled in is a function of seed and index, wherever the operand lies; see Product::number. A source's
  // surplus channels, and Y where the problem does not read it, hold NaNs.
  void fill(std::string_view operand, std::span<std::byte> bytes, std::uint64_t seed) const;
  // NaNs in all of an operand, before fill: then in what lies between its elements.
  void poison(std::string_view operand, std::span<std::byte> bytes) const;

  // The whole result, [n][k][p][q] in any layout. `y_before` is what Y held, which a problem whose C is Y reads.
  std::vector<ProductElement> result(const Conv2dData& data, std::span<const std::byte> y_before) const;
  // One element of it, by nothing but the words: the second opinion.
  ProductElement element(const Conv2dData& data, std::span<const std::byte> y_before, std::int64_t n, std::int64_t k,
                         std::int64_t p, std::int64_t q) const;
  ProductElement element(const Conv2dData& data, std::span<const std::byte> y_before, std::size_t i) const;
  std::vector<std::size_t> corners() const;  // elements at the ends of its axes
  // Where the result's elements lie in Y. It refers to the definition.
  ProductPlaces places() const;

 private:
  struct Place {
    std::int64_t n = 0, k = 0, y = 0, x = 0;
  };
  struct Factors;
  struct Planes;
  struct Filters;
  struct Row;
  Place place(std::size_t i) const noexcept;
  Planes planes_of(const Conv2dData& data, std::int64_t n) const;
  Filters filters_of(const Conv2dData& data) const;
  void add_channel(const Planes& planes, const Filters& filters, std::int64_t k, std::int64_t c, Row& sums) const;
  void add_terms(const Planes& planes, const Filters& filters, std::int64_t k, std::vector<ProductSums>& sums) const;
  bool in_image(std::int64_t y, std::int64_t x) const noexcept { return y >= 0 && y < p_.h && x >= 0 && x < p_.w; }
  std::int64_t group_channels() const noexcept { return p_.c / p_.groups; }
  std::int64_t first_channel(std::int64_t k) const noexcept { return k / (p_.k / p_.groups) * group_channels(); }
  ProductFactor x_value(const Conv2dData& data, std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) const;
  ProductFactor w_value(const Conv2dData& data, std::int64_t k, std::int64_t c, std::int64_t r, std::int64_t s) const;
  ProductElement finish(const Conv2dData& data, std::span<const std::byte> y_before, const Place& at,
                        const ProductSums& sums) const;

  Conv2dProblem p_;
  std::int64_t height_ = 0, width_ = 0;
  Product product_;
  std::vector<std::pair<std::string, Conv2dOperand>> operands_;
};

// As of a matmul, see ProductPlaces.
std::optional<ProductMismatch> compare(const Conv2dDefinition& definition, std::span<const ProductElement> want,
                                       std::span<const std::byte> before, std::span<const std::byte> got);

}  // namespace sectile::reference
