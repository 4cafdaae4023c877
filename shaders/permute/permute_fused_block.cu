//! variant word
//! variant word.long -DLONG
//! variant word.wide -DWIDE -DLONG
//! variant narrow -DNARROW
//! variant narrow.long -DNARROW -DLONG
//! variant narrow.wide -DNARROW -DWIDE -DLONG
// Permute with an elementwise stage where the innermost axis moves: blocks are transposed in registers, loaded as rows
// of the source and stored as columns of the destination.
// Variants: word: 32-bit accesses and wider; narrow: 1-byte and 2-byte accesses as well.
#include "lib/cuda.cuh"
#define OWN_WORDS PERMUTE_FUSED_BLOCK_WORDS
#include "lib/fused.cuh"

constexpr uint kVectorS = sectile_constant(PERMUTE_FUSED_SPEC_VECTOR_S, 4u);
constexpr uint kVectorD = sectile_constant(PERMUTE_FUSED_SPEC_VECTOR_D, 4u);
constexpr uint kTileS = sectile_constant(PERMUTE_FUSED_SPEC_TILE_S, 32u);
constexpr uint kTileD = sectile_constant(PERMUTE_FUSED_SPEC_TILE_D, 32u);
constexpr uint kSwap = sectile_constant(PERMUTE_FUSED_SPEC_SWAP, 0u);
constexpr uint kLanesD = sectile_constant(PERMUTE_FUSED_SPEC_LANES_D, 0u);
constexpr uint kJoinedS = sectile_constant(PERMUTE_FUSED_SPEC_JOINED_S, 0u);
constexpr uint kJoinedD = sectile_constant(PERMUTE_FUSED_SPEC_JOINED_D, 0u);

constexpr uint kBlocksS = kTileS / kVectorS;
constexpr uint kBlocksD = kTileD / kVectorD;
constexpr uint kBlocks = (kBlocksS * kBlocksD + kWorkgroup - 1u) / kWorkgroup;   // blocks per invocation
constexpr uint kAxisS = kSwap == 0u ? 0u : 1u;
constexpr uint kAxisD = 1u - kAxisS;

struct Tile {
  offset_t from, to, add;      // offsets of the tile's first element
  uint scale, bias;
  uint size_s, size_d;         // elements inside the problem
};

__device__ __forceinline__ Tile locate_tile(const PermutePush& push, uint id) {
  Tile t;
  t.from = 0; t.to = 0; t.add = 0;
  t.scale = 0u; t.bias = 0u;
  t.size_s = kTileS; t.size_d = kTileD;
#pragma unroll
  for (uint a = 0u; a < kAxes; ++a) {
    uint digit = take_digit(push, id, a);
    if (a < 2u) {
      if (digit + 1u == axis_count(push, a)) {
        if (a == kAxisS) t.size_s = last_s(push); else t.size_d = last_d(push);
      }
      digit *= a == kAxisS ? kTileS : kTileD;
    }
    t.from += offset_t(digit) * src_stride(push, a);
    t.to += offset_t(digit) * dst_stride(push, a);
    t.add += offset_t(digit) * add_stride(push, a);
    t.scale += digit * scale_step(push, a);
    t.bias += digit * bias_step(push, a);
  }
  return t;
}

// The elements of a vector (scale or bias) that a block needs: one for all, one per row, or one per column. Where the
// vector's index varies along both S and D (both belong to one axis), none are held, and each is loaded where it is
// used.
struct BlockVector {
  uint64 address;
  uint at, step_s, step_d;
  float value[MAX_RUN];
};
__device__ __forceinline__ void load_block_vector(BlockVector& v, const bool along_s, const bool along_d, uint s,
                                                  uint d, const Tile& t) {
  if (along_s && along_d) return;
  const uint count = along_s ? kVectorS : along_d ? kVectorD : 1u;
#pragma unroll
  for (uint i = 0u; i < count; ++i) {
    uint at = v.at;
    if (along_s) at += min(s + i, t.size_s - 1u) * v.step_s;
    if (along_d) at += min(d + i, t.size_d - 1u) * v.step_d;
    v.value[i] = vector_element(v.address, at);
  }
}
__device__ __forceinline__ float block_vector_element(const BlockVector& v, const bool along_s, const bool along_d,
                                                      uint s, uint d, const uint column, const uint row,
                                                      const Tile& t) {
  if (along_s && along_d)
    return vector_element(v.address,
                          v.at + min(s + column, t.size_s - 1u) * v.step_s + min(d + row, t.size_d - 1u) * v.step_d);
  return v.value[along_s ? column : along_d ? row : 0u];
}

constexpr bool kScaleS = (kStage & PERMUTE_FUSED_SCALE_S) != 0u, kScaleD = (kStage & PERMUTE_FUSED_SCALE_D) != 0u;
constexpr bool kBiasS = (kStage & PERMUTE_FUSED_BIAS_S) != 0u, kBiasD = (kStage & PERMUTE_FUSED_BIAS_D) != 0u;

constexpr uint kElements = kVectorS * kVectorD;   // elements of a block

// Rows and columns outside the problem are clamped to the last one inside: the clamped values are never stored.
__device__ __forceinline__ void read_rows(const PermutePush& push, const Tile& t, uint s, uint d,
                                          uint (&rows)[MAX_RUN][MAX_RUN]) {
  if (kJoinedS != 0u) {
    const offset_t block = t.from + offset_t(d) * src_stride(push, kAxisD);
#pragma unroll
    for (uint e = 0u; e < kElements; e += kLoad) {
      uint run[MAX_RUN];
      unpack_elements(kType, kLoad, load_elements(kType, address_of(push.src), block + offset_t(e), kLoad), 0u, run);
#pragma unroll
      for (uint i = 0u; i < kLoad; ++i) rows[(e + i) / kVectorS % kVectorD][(e + i) % kVectorS] = run[i % MAX_RUN];
    }
    return;
  }
#pragma unroll
  for (uint r = 0u; r < kVectorD; ++r) {
    offset_t row = t.from + offset_t(min(d + r, t.size_d - 1u)) * src_stride(push, kAxisD);
#pragma unroll
    for (uint c = 0u; c < kVectorS; c += kLoad)
      unpack_elements(kType, kLoad,
                      load_elements(kType, address_of(push.src),
                                    row + offset_t(min(s + c, t.size_s - kLoad)) * src_stride(push, kAxisS), kLoad),
                      c, rows[r]);
  }
}

__device__ __forceinline__ void write_column(const PermutePush& push, const Tile& t, uint s, uint d, const uint c,
                                             const uint (&v)[MAX_RUN]) {
  if (s + c >= t.size_s) return;
#pragma unroll
  for (uint r = 0u; r < kVectorD; r += kStore)
    if (d + r < t.size_d)
      store_elements(push,
                     t.to + offset_t(s + c) * dst_stride(push, kAxisS) + offset_t(d + r) * dst_stride(push, kAxisD),
                     kStore, pack_elements(kStore, r, v));
}

__device__ __forceinline__ void write_joined(const PermutePush& push, const Tile& t, uint s,
                                             const uint (&columns)[MAX_RUN][MAX_RUN]) {
  const offset_t block = t.to + offset_t(s) * dst_stride(push, kAxisS);
#pragma unroll
  for (uint e = 0u; e < kElements; e += kStore) {
    uint run[MAX_RUN] = {};
#pragma unroll
    for (uint i = 0u; i < kStore; ++i) run[i % MAX_RUN] = columns[(e + i) / kVectorD % kVectorS][(e + i) % kVectorD];
    store_elements(push, block + offset_t(e), kStore, pack_elements(kStore, 0u, run));
  }
}

__device__ __forceinline__ void transpose_block(const PermutePush& push, const Tile& t, uint s, uint d) {
  uint rows[MAX_RUN][MAX_RUN];
  read_rows(push, t, s, d, rows);
  BlockVector scale, bias;
  if (kHasScale != 0u) {
    scale.address = scale_address(push);
    scale.at = t.scale; scale.step_s = scale_step(push, kAxisS); scale.step_d = scale_step(push, kAxisD);
    load_block_vector(scale, kScaleS, kScaleD, s, d, t);
  }
  if (kHasBias != 0u) {
    bias.address = bias_address(push);
    bias.at = t.bias; bias.step_s = bias_step(push, kAxisS); bias.step_d = bias_step(push, kAxisD);
    load_block_vector(bias, kBiasS, kBiasD, s, d, t);
  }
  uint columns[MAX_RUN][MAX_RUN];
#pragma unroll
  for (uint c = 0u; c < kVectorS; ++c) {
    uint column = min(s + c, t.size_s - 1u);
    uint add[MAX_RUN];
#pragma unroll
    for (uint r = 0u; r < MAX_RUN; ++r) add[r] = 0u;
    if (kHasAdd != 0u)
#pragma unroll
      for (uint r = 0u; r < kVectorD; r += kAddLoad)
        unpack_elements(kOut, kAddLoad,
                        load_elements(kOut, add_address(push),
                                      t.add + offset_t(column) * add_stride(push, kAxisS) +
                                          offset_t(min(d + r, t.size_d - kAddLoad)) * add_stride(push, kAxisD),
                                      kAddLoad),
                        r, add);
#pragma unroll
    for (uint r = 0u; r < kVectorD; ++r) {
      float factor = alpha(push), shift = 0.0;
      if (kHasScale != 0u) factor *= block_vector_element(scale, kScaleS, kScaleD, s, d, c, r, t);
      if (kHasBias != 0u) shift = block_vector_element(bias, kBiasS, kBiasD, s, d, c, r, t);
      columns[c][r] = computed(push, rows[r][c], factor, shift, add[r]);
    }
    if (kJoinedD == 0u) write_column(push, t, s, d, c, columns[c]);
  }
  if (kJoinedD != 0u) write_joined(push, t, s, columns);
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ PermutePush push) {
  uint id = group_id();
  if (id >= id_count(push)) return;     // surplus of a folded grid
  Tile t = locate_tile(push, id);
#pragma unroll 1
  for (uint k = 0u; k < kBlocks; ++k) {
    uint b = threadIdx.x + k * kWorkgroup;
    uint s = (kLanesD != 0u ? b / kBlocksD : b % kBlocksS) * kVectorS;
    uint d = (kLanesD != 0u ? b % kBlocksD : b / kBlocksS) * kVectorD;
    if (s < t.size_s && d < t.size_d) transpose_block(push, t, s, d);
  }
}
