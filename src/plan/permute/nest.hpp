// The canonical form of a permute: few axes, wide elements, offsets in bytes. Private to src/plan.
#pragma once

#include "layout.hpp"
#include "plan/activation.hpp"

#include <sectile/problem.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace sectile::detail {

struct NestAxis {
  std::int64_t extent = 1;                      // >= 2 once canonical
  std::int64_t src_stride = 0, dst_stride = 0;  // elements
  std::array<std::int64_t, kMaxBounds> coef{};  // coefficient in each bound
  std::int64_t add_stride = 0;                  // elements of the stage's second operand
  std::int64_t scale_step = 0, bias_step = 0;   // index step in the stage's vectors
};

// The elementwise stage. Offsets are those of the nest's first element.
struct NestStage {
  bool present = false;
  DType out = DType::f32, type = DType::f32;
  float alpha = 1;
  bool scale = false, bias = false, add = false;
  ActivationWords activation = {};
  std::int64_t scale_byte_offset = 0, bias_byte_offset = 0, add_byte_offset = 0;
};

struct NestBound {
  std::int64_t read_limit = 0, write_limit = 0;
  bool reads = false, writes = false;  // whether the limit can be reached
};

// Axes are in the destination's order: axis 0 is the innermost there.
// An operand: the stage's second one is `add`.
enum class Side : std::uint8_t { src, dst, add };

struct Nest {
  int rank = 0;
  std::array<NestAxis, kMaxRank> axis{};
  int bounds = 0;
  std::array<NestBound, kMaxBounds> bound{};
  std::uint32_t element_bytes = 4;      // after widening: 1 to 16; with a stage, the source's
  std::uint32_t dst_element_bytes = 4;  // differs from element_bytes only if a stage casts
  NestStage stage;
  std::int64_t src_byte_offset = 0, dst_byte_offset = 0;
  std::uint32_t src_align = 16, dst_align = 16;  // guaranteed alignment of the operands' addresses, bytes

  std::int64_t elements() const;
  // The guaranteed alignment, in bytes, of an access at the nest's first element.
  std::uint32_t src_access_align() const;
  std::uint32_t dst_access_align() const;
  std::uint32_t add_access_align() const;       // of the stage's second operand
  std::int64_t stride(Side side, int a) const;  // of an operand along axis `a`
  // How an operand is aligned where accesses begin, in bytes: a power of two, at most 128, that divides the address of
  // the nest's first element and the strides of all axes but those along which accesses run (bit a for axis a).
  std::uint32_t alignment(Side side, std::uint32_t along) const;
  // One past the greatest element offset from the nest's first element.
  std::int64_t src_span() const;
  std::int64_t dst_span() const;
  std::int64_t add_span() const;
  std::int64_t scale_span() const;  // of the stage's vectors; with padded blocks this exceeds their length
  std::int64_t bias_span() const;
  // The axis with the smallest nonzero source stride; -1 if there is none.
  int src_innermost() const;
  // The number of bounds whose read (write) limit a kernel has to check, and of those that a step has words of.
  std::uint32_t read_bounds() const;
  std::uint32_t write_bounds() const;
  std::uint32_t checked_bounds() const;

  bool reads_nothing() const;    // lies in the destination's padding: only zeros are written
  bool writes_nothing() const;   // lies in the source's padding
  bool contiguous_copy() const;  // source and destination are one contiguous run
};

// Drops axes of extent 1, merges axes that are adjacent in both operands (OneFlow's two rules), and widens the element
// if source and destination have the same innermost axis and alignment allows.
Nest canonical(const LoopNest& loops, std::uint32_t element_bytes, std::uint32_t src_align, std::uint32_t dst_align);
// The same for the problem that `loops` were made from, with its stage.
Nest canonical(const LoopNest& loops, const PermuteProblem& problem);

// What follows each other in the destination, from the nest's first element on.
struct DestinationRow {
  int axes = 0;             // the first ones
  std::uint32_t along = 0;  // the same as Nest::alignment() takes them
  std::int64_t elements = 1;
};
DestinationRow destination_row(const Nest& nest);

// Runs along axis 0 that are `pitch` elements apart in the destination, as far as the next axes go on so and with gaps
// have less than `most` elements.
struct RunSegment {
  std::int64_t runs = 1, count = 1;  // of a segment; segments
};
RunSegment run_segment(const Nest& nest, std::int64_t pitch, std::int64_t most);

// The part of the nest with `extent` indices of `axis` from `first` on.
Nest part_of(const Nest& nest, int axis, std::int64_t first, std::int64_t extent);

// Where a nest that reaches a limit is cut: after `extent` indices of `axis`, less than there are. These do not reach
// the limit, or they are a single index and the others lie past it. 0: the nest reaches none.
struct Cut {
  int axis = 0;
  std::int64_t extent = 0;
};
Cut cut_of(const Nest& nest);

// A part without what it does not need: bounds that it cannot reach, and the source if it reads nothing. Axes merge and
// elements widen that could not with them.
Nest simplified(Nest nest);

// Extents with their source and destination strides, outermost first: "32(1>64)x64(32>1) of 4 bytes".
std::string print(const Nest& nest);

}  // namespace sectile::detail
