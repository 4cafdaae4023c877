// A permute as a loop nest, made from axes or from layouts. Private to src/plan.
#pragma once

#include <sectile/problem.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sectile::detail {

// One loop; strides are in elements. Loops are in the destination's order and include axes of extent 1.
struct LoopAxis {
  std::int64_t extent = 1;  // >= 1
  std::int64_t src_stride = 0, dst_stride = 0;
  std::int64_t add_stride = 0;                 // stride of the elementwise stage's second operand
  std::int64_t scale_step = 0, bias_step = 0;  // index step in the stage's scale and bias vectors
  bool operator==(const LoopAxis&) const = default;
};

// One per split axis whose blocks do not divide it. With v = sum(coef[i] * index[i]):
// If v >= read_limit, the source has no such element and zero bits are written;
// if v >= write_limit, the destination has no such element and nothing is written.
struct Bound {
  std::vector<std::int64_t> coef;  // one entry per loop axis
  std::int64_t read_limit = 0, write_limit = 0;
  bool operator==(const Bound&) const = default;
};

inline constexpr int kMaxBounds = 2;

struct LoopNest {
  std::vector<LoopAxis> axes;  // at most kMaxRank; none if the problem is empty
  std::vector<Bound> bounds;   // at most kMaxBounds; only those that can be reached
  std::int64_t src_offset = 0, dst_offset = 0;
  bool empty = false;  // the problem writes nothing
  bool operator==(const LoopNest&) const = default;
};

// Errors: those of validate().
Result<LoopNest> loop_nest(const PermuteProblem& problem);

// One axis of a layout: 'C' has block 0; "4c" has letter 'C' and block 4.
struct LayoutAxis {
  char letter = 0;
  std::int64_t block = 0;
};

struct Layout {
  int rank = 0;
  std::array<LayoutAxis, kMaxRank> axes{};
};

// `what` names the layout in errors ("src layout").
Result<Layout> parse_layout(std::string_view text, std::string_view what);

// A validated problem's shapes, strides and loops. Fixed-size: planning computes it for every new problem and has a
// budget of 50 us.
struct Geometry {
  struct Digit {  // a loop; a step of it advances its letter's index by `weight`
    LoopAxis loop;
    std::int64_t weight = 1;
    int letter = -1;  // -1: an axis without a letter, which has no bound
  };
  struct Letter {
    char name = 0;
    std::int64_t extent = 0;   // true size
    std::int64_t written = 0;  // size in the destination, including the padding of the last block
    std::int64_t covered = 0;  // one past the greatest index that the loops reach
  };
  template <class T>
  using PerAxis = std::array<T, kMaxRank>;

  int src_rank = 0, dst_rank = 0, digits = 0, letters = 0;
  PerAxis<std::int64_t> src_strides{}, dst_shape{}, dst_strides{}, add_strides{};
  PerAxis<Digit> digit{};
  PerAxis<Letter> letter{};
  bool empty = false;
  std::uint64_t src_bytes = 0, dst_bytes = 0, add_bytes = 0;
  std::int64_t scale_length = 0, bias_length = 0;  // elements; 0 without a vector
};

Result<Geometry> geometry(const PermuteProblem& problem);

}  // namespace sectile::detail
