#include "matrix.hpp"
#include "base/arithmetic.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace sectile::detail {

namespace {

constexpr std::int64_t kMostElements = std::numeric_limits<std::int64_t>::max();

std::int64_t saturating_product(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t result = 0;
  return mul_overflow(a, b, &result) ? kMostElements : result;
}

}  // namespace

std::int64_t batch_of(const PlacedMatrix& m) noexcept {
  return m.batch == MatmulProblem::kPacked ? saturating_product(m.rows, ld_of(m)) : m.batch;
}

std::string batch_name(const PlacedMatrix& m) { return std::string(1, m.name[0]) + ".batch"; }

Result<void> check_strides(const PlacedMatrix& m) {
  if (m.ld < 0 || (m.ld != 0 && m.ld < m.columns))
    return fail(ErrorKind::invalid_problem, std::string(m.ld_name), std::to_string(m.ld),
                "0 (packed) or at least " + std::to_string(m.columns) + ", a row's elements");
  if (m.batch < MatmulProblem::kPacked)
    return fail(ErrorKind::invalid_problem, batch_name(m), std::to_string(m.batch), "at least 0");
  return {};
}

Result<std::uint64_t> extent(const PlacedMatrix& m, std::int64_t batches, std::int64_t bits) {
  if (m.rows == 0 || m.columns == 0 || batches == 0) return 0;
  // The size in bits may take up to 66 bits.
  const Wide elements = Wide{batches - 1} * (batches > 1 ? batch_of(m) : 0) + Wide{m.rows - 1} * ld_of(m) + m.columns;
  const Wide bytes = (elements * bits + 7) / 8;
  const bool cut = batches > 1 && m.batch == MatmulProblem::kPacked && batch_of(m) == kMostElements;
  if (cut || bytes > kMostElements)
    return fail(ErrorKind::overflow, std::string(m.name) + " size",
                std::to_string(batches) + " of " + std::to_string(m.rows) + "x" + std::to_string(m.columns) +
                    ", rows " + std::to_string(ld_of(m)) + " apart",
                "less than 2^63 bytes");
  return static_cast<std::uint64_t>(bytes);
}

Result<void> check_batches_distinct(const PlacedMatrix& d, std::int64_t batches) {
  if (batches <= 1 || d.rows == 0 || d.columns == 0) return {};  // rows are at least as far apart as they are long
  const std::int64_t ld = ld_of(d), step = batch_of(d);
  const std::int64_t matrix = (d.rows - 1) * ld + d.columns;
  if (step >= matrix) return {};                                               // batches one after the other
  if (step >= d.columns && ld >= (batches - 1) * step + d.columns) return {};  // rows of all batches side by side
  // Rows begin at b * step + r * ld. Two rows overlap if their beginnings are less than a row apart. The loop tries
  // every difference along the shorter of the two axes, and for each the two nearest differences along the longer one.
  constexpr std::int64_t kMostDifferences = 1 << 14;
  const bool by_batch = batches <= d.rows;
  const std::int64_t shorter = by_batch ? batches : d.rows, longer = by_batch ? d.rows : batches;
  const std::int64_t shorter_step = by_batch ? step : ld, longer_step = by_batch ? ld : step;
  bool distinct = step >= d.columns && shorter <= kMostDifferences;
  for (std::int64_t i = 1; distinct && i < shorter; ++i) {
    const std::int64_t at = i * shorter_step;
    const std::int64_t low = std::min(at / longer_step, longer - 1), high = std::min(low + 1, longer - 1);
    distinct = std::abs(at - low * longer_step) >= d.columns && std::abs(at - high * longer_step) >= d.columns;
  }
  if (distinct) return {};
  return fail(ErrorKind::overlap, batch_name(d), std::to_string(step),
              "a step at which no two of " + std::to_string(batches) + " batches of " + std::to_string(d.rows) +
                  " rows, " + std::to_string(ld) + " apart, share an element");
}

}  // namespace sectile::detail
