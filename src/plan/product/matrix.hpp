// A matrix in memory as a problem's words place it: its steps, what it takes, and what is refused.
#pragma once

#include <sectile/problem.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace sectile::detail {

// Rows lie `ld` elements apart, the batches' matrices `batch`: as the problem says, so 0 and MatmulProblem::kPacked
// stand for packed ones. The names are those of errors.
struct PlacedMatrix {
  std::string_view name;     // "a"
  std::string_view ld_name;  // "lda"
  std::int64_t rows = 0, columns = 0;
  std::int64_t ld = 0, batch = 0;
};

// In elements. What does not fit 63 bits saturates; extent() refuses it wherever it matters.
inline std::int64_t ld_of(const PlacedMatrix& m) noexcept { return m.ld == 0 ? m.columns : m.ld; }
std::int64_t batch_of(const PlacedMatrix& m) noexcept;

std::string batch_name(const PlacedMatrix& m);  // "a.batch"

Result<void> check_strides(const PlacedMatrix& m);

// Bytes from the operand's address to the end of its last element; `bits` is an element's size.
Result<std::uint64_t> extent(const PlacedMatrix& m, std::int64_t batches, std::int64_t bits);

// Refuses two elements of a destination at one address: the result would depend on the order of writes. extent() has
// accepted it before, so no product here overflows.
Result<void> check_batches_distinct(const PlacedMatrix& d, std::int64_t batches);

}  // namespace sectile::detail
