//! variant word
//! variant word.long -DLONG
//! variant word.wide -DWIDE -DLONG
//! variant narrow -DNARROW
//! variant narrow.long -DNARROW -DLONG
//! variant narrow.wide -DNARROW -DWIDE -DLONG
// Permute with an elementwise stage where the innermost axis moves: blocks are transposed in registers, loaded as rows
// of the source and stored as columns of the destination.
// Variants: word: 32-bit accesses and wider; narrow: 1-byte and 2-byte accesses as well.
#version 460
#extension GL_GOOGLE_include_directive : require
#define OWN_WORDS PERMUTE_FUSED_BLOCK_WORDS
#include "lib/fused.glsl"

layout(constant_id = PERMUTE_FUSED_SPEC_VECTOR_S) const uint kVectorS = 4u;
layout(constant_id = PERMUTE_FUSED_SPEC_VECTOR_D) const uint kVectorD = 4u;
layout(constant_id = PERMUTE_FUSED_SPEC_TILE_S) const uint kTileS = 32u;
layout(constant_id = PERMUTE_FUSED_SPEC_TILE_D) const uint kTileD = 32u;
layout(constant_id = PERMUTE_FUSED_SPEC_SWAP) const uint kSwap = 0u;
layout(constant_id = PERMUTE_FUSED_SPEC_LANES_D) const uint kLanesD = 0u;
layout(constant_id = PERMUTE_FUSED_SPEC_JOINED_S) const uint kJoinedS = 0u;
layout(constant_id = PERMUTE_FUSED_SPEC_JOINED_D) const uint kJoinedD = 0u;

const uint kBlocksS = kTileS / kVectorS;
const uint kBlocksD = kTileD / kVectorD;
const uint kBlocks = (kBlocksS * kBlocksD + kWorkgroup - 1u) / kWorkgroup;   // blocks per invocation
const uint kAxisS = kSwap == 0u ? 0u : 1u;
const uint kAxisD = 1u - kAxisS;

struct Tile {
  offset_t from, to, add;      // offsets of the tile's first element
  uint scale, bias;
  uint size_s, size_d;         // elements inside the problem
};

Tile locate_tile(uint id) {
  Tile t;
  t.from = 0; t.to = 0; t.add = 0;
  t.scale = 0u; t.bias = 0u;
  t.size_s = kTileS; t.size_d = kTileD;
  [[unroll]] for (uint a = 0u; a < kAxes; ++a) {
    uint digit = take_digit(id, a);
    if (a < 2u) {
      if (digit + 1u == axis_count(a)) {
        if (a == kAxisS) t.size_s = last_s(); else t.size_d = last_d();
      }
      digit *= a == kAxisS ? kTileS : kTileD;
    }
    t.from += offset_t(digit) * src_stride(a);
    t.to += offset_t(digit) * dst_stride(a);
    t.add += offset_t(digit) * add_stride(a);
    t.scale += digit * scale_step(a);
    t.bias += digit * bias_step(a);
  }
  return t;
}

// The elements of a vector (scale or bias) that a block needs: one for all, one per row, or one per column. Where the
// vector's index varies along both S and D (both belong to one axis), none are held, and each is loaded where it is
// used.
struct BlockVector {
  uvec2 address;
  uint at, step_s, step_d;
  float value[MAX_RUN];
};
void load_block_vector(inout BlockVector v, const bool along_s, const bool along_d, uint s, uint d, Tile t) {
  if (along_s && along_d) return;
  const uint count = along_s ? kVectorS : along_d ? kVectorD : 1u;
  [[unroll]] for (uint i = 0u; i < count; ++i) {
    uint at = v.at;
    if (along_s) at += min(s + i, t.size_s - 1u) * v.step_s;
    if (along_d) at += min(d + i, t.size_d - 1u) * v.step_d;
    v.value[i] = vector_element(v.address, at);
  }
}
float block_vector_element(BlockVector v, const bool along_s, const bool along_d, uint s, uint d, const uint column,
                           const uint row, Tile t) {
  if (along_s && along_d)
    return vector_element(v.address,
                          v.at + min(s + column, t.size_s - 1u) * v.step_s + min(d + row, t.size_d - 1u) * v.step_d);
  return v.value[along_s ? column : along_d ? row : 0u];
}

const bool kScaleS = (kStage & PERMUTE_FUSED_SCALE_S) != 0u, kScaleD = (kStage & PERMUTE_FUSED_SCALE_D) != 0u;
const bool kBiasS = (kStage & PERMUTE_FUSED_BIAS_S) != 0u, kBiasD = (kStage & PERMUTE_FUSED_BIAS_D) != 0u;

const uint kElements = kVectorS * kVectorD;   // elements of a block

// Rows and columns outside the problem are clamped to the last one inside: the clamped values are never stored.
void read_rows(Tile t, uint s, uint d, out uint rows[kVectorD][MAX_RUN]) {
  if (kJoinedS != 0u) {
    const offset_t block = t.from + offset_t(d) * src_stride(kAxisD);
    [[unroll]] for (uint e = 0u; e < kElements; e += kLoad) {
      uint run[MAX_RUN];
      unpack_elements(kType, kLoad, load_elements(kType, push.src, block + offset_t(e), kLoad), 0u, run);
      [[unroll]] for (uint i = 0u; i < kLoad; ++i)
        rows[(e + i) / kVectorS % kVectorD][(e + i) % kVectorS] = run[i % MAX_RUN];
    }
    return;
  }
  [[unroll]] for (uint r = 0u; r < kVectorD; ++r) {
    offset_t row = t.from + offset_t(min(d + r, t.size_d - 1u)) * src_stride(kAxisD);
    [[unroll]] for (uint c = 0u; c < kVectorS; c += kLoad)
      unpack_elements(
          kType, kLoad,
          load_elements(kType, push.src, row + offset_t(min(s + c, t.size_s - kLoad)) * src_stride(kAxisS), kLoad), c,
          rows[r]);
  }
}

void write_column(Tile t, uint s, uint d, const uint c, uint v[MAX_RUN]) {
  if (s + c >= t.size_s) return;
  [[unroll]] for (uint r = 0u; r < kVectorD; r += kStore)
    if (d + r < t.size_d)
      store_elements(t.to + offset_t(s + c) * dst_stride(kAxisS) + offset_t(d + r) * dst_stride(kAxisD), kStore,
                     pack_elements(kStore, r, v));
}

void write_joined(Tile t, uint s, uint columns[kVectorS][MAX_RUN]) {
  const offset_t block = t.to + offset_t(s) * dst_stride(kAxisS);
  [[unroll]] for (uint e = 0u; e < kElements; e += kStore) {
    uint run[MAX_RUN];
    [[unroll]] for (uint i = 0u; i < kStore; ++i)
      run[i % MAX_RUN] = columns[(e + i) / kVectorD % kVectorS][(e + i) % kVectorD];
    store_elements(block + offset_t(e), kStore, pack_elements(kStore, 0u, run));
  }
}

void transpose_block(Tile t, uint s, uint d) {
  uint rows[kVectorD][MAX_RUN];
  read_rows(t, s, d, rows);
  BlockVector scale, bias;
  if (kHasScale != 0u) {
    scale.address = scale_address();
    scale.at = t.scale; scale.step_s = scale_step(kAxisS); scale.step_d = scale_step(kAxisD);
    load_block_vector(scale, kScaleS, kScaleD, s, d, t);
  }
  if (kHasBias != 0u) {
    bias.address = bias_address();
    bias.at = t.bias; bias.step_s = bias_step(kAxisS); bias.step_d = bias_step(kAxisD);
    load_block_vector(bias, kBiasS, kBiasD, s, d, t);
  }
  uint columns[kVectorS][MAX_RUN];
  [[unroll]] for (uint c = 0u; c < kVectorS; ++c) {
    uint column = min(s + c, t.size_s - 1u);
    uint add[MAX_RUN];
    [[unroll]] for (uint r = 0u; r < MAX_RUN; ++r) add[r] = 0u;
    if (kHasAdd != 0u)
      [[unroll]] for (uint r = 0u; r < kVectorD; r += kAddLoad)
        unpack_elements(kOut, kAddLoad,
                        load_elements(kOut, add_address(),
                                      t.add + offset_t(column) * add_stride(kAxisS) +
                                          offset_t(min(d + r, t.size_d - kAddLoad)) * add_stride(kAxisD),
                                      kAddLoad),
                        r, add);
    [[unroll]] for (uint r = 0u; r < kVectorD; ++r) {
      float factor = alpha(), shift = 0.0;
      if (kHasScale != 0u) factor *= block_vector_element(scale, kScaleS, kScaleD, s, d, c, r, t);
      if (kHasBias != 0u) shift = block_vector_element(bias, kBiasS, kBiasD, s, d, c, r, t);
      columns[c][r] = computed(rows[r][c], factor, shift, add[r]);
    }
    if (kJoinedD == 0u) write_column(t, s, d, c, columns[c]);
  }
  if (kJoinedD != 0u) write_joined(t, s, columns);
}

void main() {
  uint id = group_id();
  if (id >= id_count()) return;     // surplus of a folded grid
  Tile t = locate_tile(id);
  // Tested at the bottom: lavapipe 26.1 executes a load of a top-tested loop once more after its end. Not unrolled: the
  // code of one block is long enough.
  uint k = 0u;
  [[dont_unroll]] do {
    uint b = gl_LocalInvocationID.x + k * kWorkgroup;
    uint s = (kLanesD != 0u ? b / kBlocksD : b % kBlocksS) * kVectorS;
    uint d = (kLanesD != 0u ? b % kBlocksD : b / kBlocksS) * kVectorD;
    if (s < t.size_s && d < t.size_d) transpose_block(t, s, d);
  } while (++k < kBlocks);
}
