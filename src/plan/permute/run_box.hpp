// A box of the problem that has long runs in both operands, which permute_table moves.
#pragma once

#include "strategy.hpp"

#include <array>
#include <cstdint>

namespace sectile::detail {

// The axes of a run in the destination are its positions, those of a run in the source that are not among them its
// columns. Both are innermost first, and the last of each may be cut.
struct RunBox {
  static constexpr int kMostAxes = 3;  // of a run's
  int positions = 0, columns = 0;
  std::array<int, kMostAxes> position{}, column{};            // nest axes
  std::array<std::int64_t, kMostAxes> size{}, column_size{};  // indices that a tile loads, columns of a tile
  std::array<bool, kMostAxes> shared{};                       // a position axis that belongs to a run of the source
  std::int64_t part = 1;                                      // indices of the last position axis of a part
  std::int64_t rows = 1, span = 1;                            // of workgroup memory; elements of each
  // Position axes before `limited` are a layout's blocks that do not divide their axis: they have only so many
  // positions in the destination.
  int limited = 0;
  std::int64_t limit = 0;

  std::size_t last() const { return static_cast<std::size_t>(positions - 1); }
  bool limits_inner() const { return limited != 0 && limited < positions; }
  bool limits_last() const { return limited != 0 && limited == positions; }
  std::int64_t inner() const {  // positions of an index of the last position axis
    if (limits_inner()) return limit;
    std::int64_t n = 1;
    for (std::size_t i = 0; i < last(); ++i) n *= size[i];
    return n;
  }
  std::int64_t own() const { return limits_last() ? limit : part * inner(); }  // positions of a part
  std::int64_t loaded() const { return limits_last() ? limit : size[last()] * inner(); }
  std::int64_t column_count() const {
    std::int64_t n = 1;
    for (int i = 0; i < columns; ++i) n *= column_size[static_cast<std::size_t>(i)];
    return n;
  }
  bool fits_words() const;  // all sizes have 16 bits
};

inline const NestAxis& axis_of(const PermuteContext& c, int a) { return c.nest.axis[static_cast<std::size_t>(a)]; }

// Parts of `part` indices of the last position axis. A tile loads as many more as a sector can begin after a part.
void cut_positions(const PermuteContext& c, RunBox& b, std::int64_t part);
bool is_cut(const PermuteContext& c, const RunBox& b);

// The position axes: the destination's inner axes as far as they are contiguous and have at most `room` bytes, with
// what a tile loads more of the last one if that is cut. Axes of a limit are among them wholly or not at all.
void choose_positions(const PermuteContext& c, std::int64_t room, RunBox& b);
// Without its last position axis; the one before it is whole.
void leave_last(const PermuteContext& c, RunBox& b);
// The column axes: the source's inner axes until its run has `run_bytes`.
void choose_columns(const PermuteContext& c, std::int64_t run_bytes, RunBox& b);
// Sets rows and span, which follow from the sizes.
void measure(const PermuteContext& c, RunBox& b);
// Takes a quarter from a size, at least 1; false if it is 1.
bool reduce(std::int64_t& size);

// 16-byte words that hold a row, at any address.
std::uint32_t row_loads(const RunBox& b, std::uint32_t element_bytes);

// Position axes, and column axes, that are not the last. The only column axis stands among them too.
std::uint32_t inner_axes(const RunBox& b);
// The axes that a step has.
int step_axes(const PermuteContext& c, const RunBox& b);

// What an admissible problem is, but for what workgroups need.
bool has_run_boxes(const PermuteContext& c, Refusal& refusal);

// Adds the step's axes: the parts of the last position axis, those of the last column axis, then all that are not the
// box's. Sets groups.
void add_axes(const PermuteContext& c, const RunBox& b, PermuteConfig& d);

// The extent of the last column axis, and how many of its indices a tile has; 1 where there is none.
std::uint32_t column_extent(const PermuteContext& c, const RunBox& b);
std::uint32_t column_part(const RunBox& b);

// The inner axes' numbers in a kernel's words.
struct InnerAxes {
  std::array<std::uint32_t, 2> sizes{1, 1}, column_sizes{1, 1};
  std::array<std::int64_t, 2> strides{}, column_src{}, column_dst{};
};
InnerAxes inner_axes_of(const PermuteContext& c, const RunBox& b);

// A tile's transactions of global memory and requests but for stores.
void estimate_tile(const PermuteContext& c, const RunBox& b, AccessCount& n);

}  // namespace sectile::detail
