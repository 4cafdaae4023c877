// The canonical form of a permute: few axes, wide elements, offsets in bytes. Private to src/plan.
#pragma once

#include "layout.hpp"

#include <sectile/problem.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace sectile::detail {

struct NestAxis {
  std::int64_t extent = 1;                       // >= 2 once canonical
  std::int64_t src_stride = 0, dst_stride = 0;   // elements
  std::array<std::int64_t, kMaxBounds> coef{};   // of each bound
  std::int64_t add_stride = 0;                   // elements of a stage's second operand
  std::int64_t scale_step = 0, bias_step = 0;    // of the index into a stage's vectors
};

// What is done to elements on their way; offsets are those of the nest's first element.
struct NestStage {
  bool present = false;
  DType out = DType::f32, type = DType::f32;
  float alpha = 1;
  bool scale = false, bias = false, add = false;
  std::int64_t scale_byte_offset = 0, bias_byte_offset = 0, add_byte_offset = 0;
};

struct NestBound {
  std::int64_t read_limit = 0, write_limit = 0;
  bool reads = false, writes = false;            // whether the limit can be reached
};

// Axes stand in the destination's order: axis 0 is walked fastest there.
struct Nest {
  int rank = 0;
  std::array<NestAxis, kMaxRank> axis{};
  int bounds = 0;
  std::array<NestBound, kMaxBounds> bound{};
  std::uint32_t element_bytes = 4;               // after widening: 1 to 16; of the source where there is a stage
  std::uint32_t dst_element_bytes = 4;           // as above but where a stage casts
  NestStage stage;
  std::int64_t src_byte_offset = 0, dst_byte_offset = 0;
  std::uint32_t src_align = 16, dst_align = 16;  // promised for the operands' addresses, bytes

  std::int64_t elements() const;
  // The alignment in bytes that an access at the nest's first element may count on.
  std::uint32_t src_access_align() const;
  std::uint32_t dst_access_align() const;
  std::uint32_t add_access_align() const;        // of a stage's second operand
  // One past the greatest element offset, from the nest's first element.
  std::int64_t src_span() const;
  std::int64_t dst_span() const;
  std::int64_t add_span() const;
  std::int64_t scale_span() const;               // of a stage's vectors: where blocks pad, beyond their ends
  std::int64_t bias_span() const;
  // Number of the axis with the least nonzero source stride; -1 where every stride is 0 or rank is 0.
  int src_innermost() const;
  // Axes that a bound's read (write) limit is checked for, as counts that kernels take.
  std::uint32_t read_bounds() const;
  std::uint32_t write_bounds() const;
  bool reads_nothing() const;                    // it lies in the destination's padding: zeros are written
  bool writes_nothing() const;                   // it lies in the source's padding
  bool contiguous_copy() const;                  // both operands one and the same run
};

// Drops axes of extent 1, merges axes that stay neighbours in both operands (OneFlow's two rules),
// and widens the element where source and destination have the same innermost axis and alignment allows.
Nest canonical(const LoopNest& loops, std::uint32_t element_bytes, std::uint32_t src_align,
               std::uint32_t dst_align);
// The same of the problem that `loops` were made from, with its stage.
Nest canonical(const LoopNest& loops, const PermuteProblem& problem);

// The part of the nest with `extent` indices of `axis` from `first` on.
Nest part_of(const Nest& nest, int axis, std::int64_t first, std::int64_t extent);

// "32x64(8:1>1:32) e4": extents with their strides, for explain.
std::string print(const Nest& nest);

}  // namespace sectile::detail
