//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e8 -DELEMENT_BYTES=8
//! variant e16 -DELEMENT_BYTES=16
// Blocks are transposed in registers and stored directly, without workgroup memory: for devices that run shaders on a
// CPU, whose caches take the role of workgroup memory.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/memory.glsl"
#include "permute/tile.glsl"

layout(constant_id = PERMUTE_BLOCK_SPEC_LANES_D) const uint kLanesD = 0u;

void main() {
  uint id = group_id();
  if (id >= id_count()) return;
  Tile t = locate_tile(id);
  [[unroll]] for (uint k = 0u; k < kBlocks; ++k) {
    uint b = gl_LocalInvocationID.x + k * kWorkgroup;
    uint s = kLanesD == 0u ? b % kBlocksS : b / kBlocksD, d = kLanesD == 0u ? b / kBlocksS : b % kBlocksD;
    // The planner makes every block lie wholly inside or wholly outside the problem.
    if (s * kVectorS < t.size_s && d * kVectorD < t.size_d) {
      uvec4 rows[MAX_VECTOR];
      load_block(t, s, d, rows);
      [[unroll]] for (uint c = 0u; c < kVectorS; ++c)
        store_bytes(push.dst, t.to + offset_t(s * kVectorS + c) * t.dst_s + offset_t(d * kVectorD) * t.dst_d,
                    kVectorD * ELEMENT_BYTES, column_of(rows, kVectorD, c));
    }
  }
}
