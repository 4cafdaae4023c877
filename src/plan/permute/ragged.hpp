// Tiles of ragged transposes: which axes D and S are, and a step's words for them.
#pragma once

#include "strategy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sectile::detail {

// Axes that follow each other in an operand without a gap, innermost first.
struct AxisRun {
  static constexpr int kMostAxes = 3;
  std::array<int, kMostAxes> axis{};
  int axes = 0;
  std::int64_t extent = 1;  // of all

  void add(const Nest& nest, int a) {
    axis[static_cast<std::size_t>(axes++)] = a;
    extent *= nest.axis[static_cast<std::size_t>(a)].extent;
  }
  bool has(int a) const { return std::find(axis.begin(), axis.begin() + axes, a) != axis.begin() + axes; }
  int outer() const { return axis[static_cast<std::size_t>(axes - 1)]; }
};

// A row's name. `kind`: how it stores its tile.
std::string ragged_row_name(std::uint32_t element_bytes, std::uint32_t run_bytes, std::uint32_t tile_d,
                            std::uint32_t workgroup, std::string_view kind);

// The axis that follows a run in its operand; -1 if none does.
int next_of(const Nest& nest, Side side, const AxisRun& run);

// D and S of a problem with two innermost axes.
struct RaggedRuns {
  AxisRun d, s;

  std::uint32_t inner_axes() const { return static_cast<std::uint32_t>(std::max(d.axes, s.axes) - 1); }
};
// The shorter run gets another axis until both are long.
RaggedRuns ragged_runs(const Nest& nest);

// What is smaller is not worth pipelines of its own.
inline constexpr std::int64_t kLeastRaggedMib = 8;

// The problem fills so much of its tiles that the kernel is worth its time. A tile that is not packed takes the same
// time however little of it the problem fills, and estimates of large problems are too low then.
bool fills_ragged_tiles(const RaggedRuns& runs, std::int64_t tile_d, std::int64_t tile_s, std::uint32_t element_bytes);

// A tile, as its step is made for it.
struct RaggedTile {
  std::uint32_t tile_d = 0, columns = 0;  // indices of D and S
  std::uint32_t inner = 0;                // inner axes that the kernel is specialized for
  bool packed = false;
};
// Adds a step's axes, the kernel's own words and the number of workgroups. `offset64` is set before.
void add_ragged_tiles(PermuteConfig& config, const Nest& nest, const RaggedRuns& runs, const RaggedTile& tile);
constexpr int ragged_own_words(bool packed, std::uint32_t inner) {
  return static_cast<int>(4 + (packed ? 2 : 0) + 5 * inner);
}

// Indices of the destination's innermost axis that have a source: those below the bound, where it lies along that axis.
std::int64_t limit_of_d(const Nest& nest);
// Elements of the source up to the last one that is read. What is past the limit may not exist.
std::int64_t ragged_source(const Nest& nest);

// What the kernels refuse.
bool is_ragged_transpose(const Nest& nest, Refusal& refusal);
bool has_extents(const RaggedRuns& runs, Refusal& refusal);

}  // namespace sectile::detail
