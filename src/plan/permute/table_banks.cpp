// Walks the loads of some subgroups of permute_table as the kernel lists them: two layouts of workgroup memory are
// compared, and the better one is the plan's.
#include "table_banks.hpp"

#include "permute/permute_table.abi.h"

#include <algorithm>
#include <array>

namespace sectile::detail {

namespace {

constexpr std::uint32_t kBanks = 32, kLanes = 32, kAccess = 8, kWord = 16;

// The most words of a bank that a load meets.
class Load {
 public:
  void add(std::uint32_t word) {
    const std::size_t bank = word % kBanks;
    const auto begin = words_.begin() + static_cast<std::ptrdiff_t>(bank * kLanes);
    if (std::find(begin, begin + count_[bank], word) != begin + count_[bank]) return;  // lanes share the word
    begin[count_[bank]] = word;
    turns_ = std::max<std::uint32_t>(turns_, ++count_[bank]);
  }
  std::uint32_t turns() const { return turns_; }

 private:
  std::array<std::uint32_t, std::size_t{kBanks} * kLanes> words_;  // of which the first count_ of each bank are set
  std::array<std::uint8_t, kBanks> count_{};
  std::uint32_t turns_ = 0;
};

// The box as the kernel counts it: the last position axis is the third one.
struct Steps {
  std::array<std::int64_t, 3> size{1, 1, 1}, rows{}, step{}, lead{};
  std::int64_t inner = 1, loaded = 1;
};
Steps steps_of(const PermuteContext& c, const RunBox& b) {
  Steps s;
  s.inner = b.inner();
  s.loaded = b.loaded();
  std::int64_t rows = 1;
  for (std::size_t i = 0; i <= b.last(); ++i) {
    const std::size_t to = i == b.last() ? 2 : i;
    const std::int64_t stride = axis_of(c, b.position[i]).src_stride;
    s.size[to] = b.size[i];
    if (b.shared[i]) {
      s.step[to] = stride;
    } else {
      s.rows[to] = rows;
      s.lead[to] = stride;
      rows *= b.size[i];
    }
  }
  return s;
}

// A position's row of workgroup memory and its element there.
struct Place {
  std::uint32_t row, at;
};
Place place_of(const Steps& s, std::int64_t position, std::int64_t along, std::int64_t per_word) {
  const std::int64_t q = std::min(position, s.loaded - 1), inside = q % s.inner;
  const std::array<std::int64_t, 3> index{inside % s.size[0], inside / s.size[0], q / s.inner};
  std::int64_t row = 0, step = along, lead = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    row += index[i] * s.rows[i];
    step += index[i] * s.step[i];
    lead += index[i] * s.lead[i];
  }
  return {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(step + lead % per_word)};
}

// The column's first element in a row.
std::int64_t along_of(const PermuteContext& c, const RunBox& b, std::int64_t column) {
  std::int64_t along = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(b.columns); ++i) {
    along += column % b.column_size[i] * axis_of(c, b.column[i]).src_stride;
    column /= b.column_size[i];
  }
  return along;
}

// The 32-bit word of workgroup memory that holds it.
std::uint32_t word_of(const Place& p, std::uint32_t element, std::uint32_t row_words, bool scattered) {
  const std::uint32_t positions = kAccess / element, per = kWord / element;
  const std::uint32_t unit = PERMUTE_TABLE_UNIT(p.row, p.at / per, row_words, positions), mask = scattered ? 7 : 0;
  const std::uint32_t turn = element < kAccess ? PERMUTE_TABLE_TURN(unit, mask) : 0;
  return 4 * PERMUTE_TABLE_SCATTER(unit, mask) + ((p.at % per * element / 4 + turn) & 3u);
}

}  // namespace

TableBanks table_banks(const PermuteContext& c, const RunBox& b, std::int64_t run_accesses) {
  const std::uint32_t e = c.nest.element_bytes, row_words = row_loads(b, e);
  const std::int64_t positions = kAccess / e, per_word = kWord / e;
  // CUDA takes the accesses inside the runs first (permute_table.cu).
  const bool inside_first = c.profile.api == Api::cuda;
  const std::int64_t ends = inside_first ? std::min<std::int64_t>(run_accesses - 1, 3) : 0,
                     inside = run_accesses - ends;
  const std::int64_t accesses = inside * b.column_count();
  const Steps steps = steps_of(c, b);
  TableBanks sum{0, 0};
  std::uint64_t loads = 0;
  for (const std::int64_t first : {std::int64_t{0}, accesses / 2})
    for (std::int64_t j = 0; j < positions; j += std::max<std::int64_t>(1, positions * 3 / 8)) {
      Load plain, scattered;
      for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
        const std::int64_t item = std::min(first + lane, accesses - 1), column = item / inside,
                           access = item - column * inside + (ends > 0 ? 1 : 0);
        const Place p = place_of(steps, access * positions + j, along_of(c, b, column), per_word);
        plain.add(word_of(p, e, row_words, false));
        scattered.add(word_of(p, e, row_words, true));
      }
      sum.plain += plain.turns();
      sum.scattered += scattered.turns();
      ++loads;
    }
  return {100 * sum.plain / loads, 100 * sum.scattered / loads};
}

}  // namespace sectile::detail
