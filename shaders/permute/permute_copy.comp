//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
// Copies contiguous bytes: WIDTH per access, UNROLL accesses per invocation. Offsets inside a workgroup's part are
// 32-bit; the part's start is computed in 64 bits from words, so large operands need no variant.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/memory.glsl"
#include "lib/words.abi.h"
#include "permute/permute_copy.abi.h"

layout(local_size_x_id = SECTILE_SPEC_WORKGROUP, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = SECTILE_SPEC_WORKGROUP) const uint kWorkgroup = 64u;
layout(constant_id = PERMUTE_COPY_SPEC_WIDTH) const uint kWidth = 16u;
layout(constant_id = PERMUTE_COPY_SPEC_UNROLL) const uint kUnroll = 4u;
layout(push_constant, std430) uniform Push { PermuteCopyPush push; };

uint word(const uint k) { return push.words[k]; }
const uint stream_end = 0u;
SECTILE_READ(PERMUTE_COPY_WORDS)

uvec2 advance(uvec2 address, uvec2 bytes) {
  uint carry;
  uint lo = uaddCarry(address.x, bytes.x, carry);
  return uvec2(lo, address.y + bytes.y + carry);
}

void main() {
  uint group = gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z);
  if (group >= groups()) return;
  const uint part = kWorkgroup * kUnroll * kWidth;
  uvec2 start;
  umulExtended(group, part, start.y, start.x);
  const uvec2 bytes = copied_bytes();
  uint borrow;
  uint left_lo = usubBorrow(bytes.x, start.x, borrow);
  uint left_hi = bytes.y - start.y - borrow;
  uint left = left_hi != 0u ? part : min(left_lo, part);
  uvec2 src = advance(push.src, start);
  uvec2 dst = advance(push.dst, start);

  uint at[kUnroll];
  uvec4 value[kUnroll];
  [[unroll]] for (uint u = 0u; u < kUnroll; ++u) {
    at[u] = (u * kWorkgroup + gl_LocalInvocationID.x) * kWidth;
    if (at[u] + kWidth <= left) value[u] = load_bytes(src, offset_t(at[u] / ELEMENT_BYTES), kWidth);
  }
  [[unroll]] for (uint u = 0u; u < kUnroll; ++u) {
    if (at[u] + kWidth <= left) store_bytes(dst, offset_t(at[u] / ELEMENT_BYTES), kWidth, value[u]);
  }
  // Tail: the last workgroup copies the bytes after its last whole access one element per invocation.
  uint tail_bytes = left % kWidth;
  if (gl_LocalInvocationID.x * ELEMENT_BYTES < tail_bytes) {
    offset_t e = offset_t((left - tail_bytes) / ELEMENT_BYTES + gl_LocalInvocationID.x);
    store_bytes(dst, e, ELEMENT_BYTES, load_bytes(src, e, ELEMENT_BYTES));
  }
}
