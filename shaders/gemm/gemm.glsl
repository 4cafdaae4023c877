// Locates a workgroup's tile; loads and converts runs of A and B.
#include "gemm/base.glsl"

uint columns() { return kFlattenedBatch != 0u ? size_n() * batches() : size_n(); }      // that tiles divide among them

// False for surplus workgroups of a folded grid. Whole workgroups return together, so every barrier is reached by all.
bool locate_tile(out Tile t) {
  uint id = group_id();
  uint tiles_m = (size_m() + kTileM - 1u) / kTileM, tiles_n = (columns() + kTileN - 1u) / kTileN;
  uint tiles = tiles_m * tiles_n;
  uint outer = 0u;
  if (id >= tiles) {   // a branch, because a division takes some 150 clocks and most grids have one batch and no split
    outer = id / tiles;
    id -= outer * tiles;
  }
  t.split = 0u;
  t.batch = outer;
  if (kSplit != 0u) {
    t.batch = outer / splits();
    t.split = outer - t.batch * splits();
  }
  if (kGroupM <= 1u) {
    t.m = id / tiles_n;
    t.n = id - t.m * tiles_n;
  } else {
    uint group = id / (kGroupM * tiles_n);
    uint rows = min(tiles_m - group * kGroupM, kGroupM);
    id -= group * kGroupM * tiles_n;
    t.n = id / rows;
    t.m = group * kGroupM + id - t.n * rows;
  }
  t.m *= kTileM;
  t.n *= kTileN;
  t.k = 0u;
  t.k_end = size_k();
  if (kSplit != 0u) {
    t.k = t.split * split_k();
    t.k_end = min(t.k_end, t.k + split_k());
  }
  return t.batch < (kFlattenedBatch != 0u ? 1u : batches());
}

// Address of A[m, k]; B[k, n] below.
uvec2 a_address(Tile t, uint m, uint k) {
  uvec2 base = batch_address(push.a, kAType, t.batch, a_batch());
  return kTransA == 0u ? element_address(base, kAType, m, lda(), k) : element_address(base, kAType, k, lda(), m);
}
uvec2 b_address(Tile t, uint k, uint n) {
  uvec2 base = batch_address(push.b, kBType, t.batch, b_batch());
  return kTransB == 0u ? element_address(base, kBType, k, ldb(), n) : element_address(base, kBType, n, ldb(), k);
}

// Converts a raw run of kWidthA elements of A. `k` is the first element's, for a.scale: a run lies along K, or along M
// where A is transposed. Yields zeros where `inside` is false.
void convert_a(uvec4 raw, uint k, bool inside, out float v[MAX_RUN]) {
  unpack_run(kAType, kWidthA, raw, v);
  [[unroll]] for (uint i = 0u; i < kWidthA; ++i) {
    if (kHasAScale != 0u) v[i] *= load_float(a_scale_address(), inside ? k + (kTransA == 0u ? i : 0u) : 0u);
    if (kHasAScale != 0u || kAType != kType) v[i] = operand_of(v[i]);
    if (!inside) v[i] = 0.0;
  }
}

// b.scale[n][k / 32] of a 4-bit B.
float block_scale(uint n, uint k) {
  return load_half(add64(b_scale_address(), bytes_of(SECTILE_TYPE_F16, product64(n, ldb() / 32u))), k / 32u);
}

// The same for B[k, n]; a run lies along N, or along K where B is transposed. A quantized B is shared by all batches.
void convert_b(uvec4 raw, uint k, uint n, bool inside, out float v[MAX_RUN]) {
  unpack_run(kBType, kWidthB, raw, v);
  if (kBType == SECTILE_TYPE_Q8) {
    [[unroll]] for (uint i = 0u; i < kWidthB; ++i)
      v[i] *= load_float(b_scale_address(), inside ? n + (kTransB == 0u ? i : 0u) : 0u);
  } else if (kBType == SECTILE_TYPE_Q4) {
    // Runs lie along K and never cross a block of 32. The last run may extend beyond K; its surplus nibbles are set to
    // zero.
    float scale = block_scale(inside ? n : 0u, inside ? k : 0u);
    [[unroll]] for (uint i = 0u; i < kWidthB; ++i) v[i] = k + i < size_k() ? v[i] * scale : 0.0;
  }
  // Two at once: the instructions take two.
  [[unroll]] for (uint i = 0u; i < kWidthB; i += 2u) {
    if (kBType == kType) continue;
    vec2 pair = operands_of(vec2(v[i], v[i + 1u]));
    v[i] = pair.x;
    v[i + 1u] = pair.y;
  }
  [[unroll]] for (uint i = 0u; i < kWidthB; ++i)
    if (!inside) v[i] = 0.0;
}
