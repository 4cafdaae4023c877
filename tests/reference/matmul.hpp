// What a matmul means, in double precision, with its own address arithmetic straight from the words of MatmulProblem.
// It shares no code with the planner: the two were written apart, so that one error cannot hide in both.
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
#include <vector>

namespace sectile::reference {

// An operand as the problem's words place it: batches of rows of elements.
struct MatmulOperand {
  DType type = DType::f32;
  bool nibbles = false;  // two elements to a byte; `type` says nothing then
  std::int64_t batches = 1, rows = 0, columns = 0;
  std::int64_t batch_step = 0, row_step = 0;  // elements
  std::uint32_t align = 1;

  bool empty() const noexcept { return batches == 0 || rows == 0 || columns == 0; }
  std::int64_t index(std::int64_t batch, std::int64_t row, std::int64_t column) const noexcept {
    return batch * batch_step + row * row_step + column;
  }
  std::uint64_t bytes() const noexcept;  // from its address to the end of its last element
  double at(std::span<const std::byte> data, std::int64_t index) const noexcept;
  // Ranges [first, last) of elements: rows, or all where those are packed.
  std::vector<std::pair<std::int64_t, std::int64_t>> runs() const;
};

using MatmulData = ProductData;
using MatmulElement = ProductElement;
using MatmulMismatch = ProductMismatch;

// The problem spelled out. Throws std::invalid_argument where it makes no sense.
class MatmulDefinition {
 public:
  static constexpr std::string_view kDestination = "d";

  explicit MatmulDefinition(const MatmulProblem& problem);

  const MatmulProblem& problem() const noexcept { return p_; }
  bool empty() const noexcept { return p_.m == 0 || p_.n == 0 || p_.batch == 0; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(p_.batch * p_.m * p_.n); }
  // In the order of operands_of.
  const std::vector<std::pair<std::string, MatmulOperand>>& operands() const noexcept { return operands_; }
  const MatmulOperand& operand(std::string_view name) const;  // throws std::out_of_range
  bool has(std::string_view name) const noexcept;

  // Numbers in place of what the elements of an operand hold; bytes between elements stay as they are (see make_nans).
  // What is filled in is a function of seed and index, wherever the operand lies; see Product::number. Where the
  // problem does not read C it is NaNs in D.
  void fill(std::string_view operand, std::span<std::byte> bytes, std::uint64_t seed) const;
  // NaNs in all of an operand, before fill: then in what lies between its elements.
  void poison(std::string_view operand, std::span<std::byte> bytes) const;

  // The whole result, [batch][m][n]. `d_before` is what D held, which a problem whose C is D reads.
  std::vector<MatmulElement> result(const MatmulData& data, std::span<const std::byte> d_before) const;
  // One element, by nothing but the words: the second opinion.
  MatmulElement element(const MatmulData& data, std::span<const std::byte> d_before, std::int64_t batch, std::int64_t m,
                        std::int64_t n) const;
  MatmulElement element(const MatmulData& data, std::span<const std::byte> d_before, std::size_t i) const;
  std::vector<std::size_t> corners() const;  // elements at the ends of rows, columns and batches
  // Where the result's elements lie in D. It refers to the definition.
  ProductPlaces places() const;

 private:
  struct Factors;
  void add_row(const Factors& a, const Factors& b, std::int64_t m, std::vector<ProductSums>& sums) const;
  ProductFactor a_value(const MatmulData& data, std::int64_t batch, std::int64_t m, std::int64_t k) const;
  ProductFactor b_value(const MatmulData& data, std::int64_t batch, std::int64_t k, std::int64_t n) const;
  MatmulElement finish(const MatmulData& data, std::span<const std::byte> d_before, std::int64_t batch, std::int64_t m,
                       std::int64_t n, const ProductSums& sums) const;

  MatmulProblem p_;
  Product product_;
  std::vector<std::pair<std::string, MatmulOperand>> operands_;
};

// `before` and `got`: D before and after the run; both begin at D's address, and have its bytes.
std::optional<MatmulMismatch> compare(const MatmulDefinition& definition, std::span<const MatmulElement> want,
                                      std::span<const std::byte> before, std::span<const std::byte> got);
// What two devices wrote, which may differ by what each of them may.
std::optional<MatmulMismatch> compare_devices(const MatmulDefinition& definition, std::span<const MatmulElement> want,
                                              std::span<const std::byte> one, std::span<const std::byte> other);

}  // namespace sectile::reference
