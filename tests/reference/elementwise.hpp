// What a permute with an elementwise stage means, in double precision, by the words of PermuteProblem. It shares no
// code with the planner.
#pragma once

#include "permute.hpp"

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::reference {

// Operands' bytes from each one's address on, by name.
using ElementwiseData = std::map<std::string, std::span<const std::byte>, std::less<>>;

// What an element of the destination may be: anything from low to high. The nearest number, ties to even, where nothing
// is computed; otherwise what the stage's roundings in f32 leave, and of a float the neighbour of what is nearest.
struct ElementwiseElement {
  std::int64_t at = 0;       // elements from the destination's address
  double low = 0, high = 0;  // NaN: a NaN
  bool zero = false;         // surplus: zero bits
  bool signed_zero = false;  // a zero has the sign that `low` has
  bool open = false;         // anything: overflow that another order of computing has not
};
bool is_right(const ElementwiseElement& want, double got) noexcept;

class ElementwiseDefinition {
 public:
  explicit ElementwiseDefinition(const PermuteProblem& problem);  // throws std::invalid_argument

  const PermuteProblem& problem() const noexcept { return p_; }
  const PermuteDefinition& permute() const noexcept { return permute_; }
  bool empty() const noexcept { return permute_.empty(); }
  DType out() const noexcept { return out_; }
  // Name and bytes of every operand, in the order of operands_of.
  std::vector<std::pair<std::string, std::uint64_t>> operands() const;

  // Numbers in place of what an operand's elements hold, a function of seed and index, some at the ends of the types'
  // ranges; bytes between stay as they are (see make_nans), and the surplus of a source's blocks becomes NaNs.
  void fill(std::string_view operand, std::span<std::byte> bytes, std::uint64_t seed) const;
  // NaNs in all of an operand, before fill: then in what lies between its elements.
  void poison(std::string_view operand, std::span<std::byte> bytes) const;
  std::vector<ElementwiseElement> result(const ElementwiseData& data) const;

 private:
  std::int64_t along(const std::string& axis, std::span<const std::int64_t> coordinate) const;
  std::int64_t length(const std::string& axis) const;
  std::size_t logical(const std::string& axis) const;
  double number(std::string_view operand, std::uint64_t word) const;
  bool in_surplus(std::span<const std::int64_t> src_coordinate) const;
  double float_number(DType type, std::uint64_t word) const;
  ElementwiseElement element(std::int64_t at, double x, double scale, double bias, double add) const;

  PermuteProblem p_;
  PermuteDefinition permute_;
  DType out_;
  std::vector<std::int64_t> add_strides_;
};

// The first element of a destination that is not what it should be, or a byte of none that was written; empty: none.
std::string compare(const ElementwiseDefinition& definition, std::span<const ElementwiseElement> want,
                    std::span<const std::byte> before, std::span<const std::byte> got);

}  // namespace sectile::reference
