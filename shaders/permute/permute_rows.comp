//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e8 -DELEMENT_BYTES=8
//! variant e16 -DELEMENT_BYTES=16
//! variant e1.long -DELEMENT_BYTES=1 -DLONG
//! variant e2.long -DELEMENT_BYTES=2 -DLONG
//! variant e4.long -DELEMENT_BYTES=4 -DLONG
//! variant e8.long -DELEMENT_BYTES=8 -DLONG
//! variant e16.long -DELEMENT_BYTES=16 -DLONG
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
//! variant e8.wide -DELEMENT_BYTES=8 -DWIDE -DLONG
//! variant e16.wide -DELEMENT_BYTES=16 -DWIDE -DLONG
// Each invocation moves UNROLL elements; ids follow the destination's order. Where the innermost axis stays innermost,
// the planner has already widened the elements as far as alignment allows.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/memory.glsl"
#include "permute/permute_rows.abi.h"
#include "permute/permute.glsl"
#include "permute/gaps.glsl"

layout(constant_id = PERMUTE_ROWS_SPEC_UNROLL) const uint kUnroll = 1u;

void main() {
  const uint total = id_count();
  uint first = group_id() * (kWorkgroup * kUnroll) + gl_LocalInvocationID.x;
  uvec4 value[kUnroll];
  offset_t to[kUnroll];
  bool writes[kUnroll], end[kUnroll];   // at an end of a destination row
  const bool gaps = has_gaps() && dst_stride(min(1u, kAxes - 1u)) != offset_t(axis_count(0u));
  [[unroll]] for (uint u = 0u; u < kUnroll; ++u) {
    uint id = first + u * kWorkgroup;
    // In a folded grid past 2^32 ids, `first` would wrap. The planner prevents this by splitting the problem.
    writes[u] = id < total;
    id = min(id, total - 1u);
    offset_t from = 0;
    to[u] = 0;
    int at[PERMUTE_MAX_BOUNDS];
    [[unroll]] for (uint b = 0u; b < PERMUTE_MAX_BOUNDS; ++b) at[b] = 0;
    [[unroll]] for (uint a = 0u; a < kAxes; ++a) {
      uint digit = take_digit(id, a);
      if (a == 0u) end[u] = digit == 0u || digit + 1u == axis_count(0u);
      from += offset_t(digit) * src_stride(a);
      to[u] += offset_t(digit) * dst_stride(a);
      [[unroll]] for (uint b = 0u; b < max(kReadBounds, kWriteBounds); ++b)
        at[b] += int(digit) * bound_coefficient(b, a);
    }
    bool reads = writes[u];
    [[unroll]] for (uint b = 0u; b < kReadBounds; ++b) reads = reads && at[b] < read_limit(b);
    [[unroll]] for (uint b = 0u; b < kWriteBounds; ++b) writes[u] = writes[u] && at[b] < write_limit(b);
    value[u] = uvec4(0u);
    if (reads) value[u] = load_bytes(push.src, from, ELEMENT_BYTES);
    if (gaps && end[u] && writes[u]) value[u].x |= ask_for_sector(push.dst, to[u]);
  }
  [[unroll]] for (uint u = 0u; u < kUnroll; ++u)
    if (writes[u]) store_bytes(push.dst, to[u], ELEMENT_BYTES, value[u]);
}
