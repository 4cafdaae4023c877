//! variant f32
//! variant f32.narrow -DNARROW -DNO_BYTES
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER -DNARROW
// Second step of split-K. a is scratch, [batch][split][M][ldd] of 4-byte partial sums. Each run of kWidthD elements of
// the result is the sum of its splits, added in order, so that the result is deterministic, followed by the epilogue.
// With no splits (K = 0) nothing is loaded.
// TILE_M 1: the runs of a workgroup fit 32-bit offsets from its first row, so base addresses are uniform in the
// workgroup. TILE_M 2: each invocation has its own base addresses.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gemm/matmul_reduce.abi.h"
#define OWN_WORDS MATMUL_REDUCE_WORDS
#include "gemm/base.glsl"
#include "gemm/epilogue.glsl"

void main() {
  // The invocation computes run group * kWorkgroup + lane of a batch. That index may exceed 32 bits where M * N does,
  // so it is never formed.
  const uint shift = findMSB(kWorkgroup);   // a power of two
  uint runs_n = size_n() / kWidthD;
  uvec2 rounded = add64(product64(size_m(), runs_n), uvec2(kWorkgroup - 1u, 0u));
  uint groups = (rounded.y >> shift) != 0u ? ~0u : (rounded.x >> shift) | (rounded.y << (32u - shift));
  uint id = group_id();
  Tile t;
  t.batch = id / groups;
  id -= t.batch * groups;
  // Long division (id << shift | lane) / runs_n, one bit of the lane at a time: the remainder stays below 2^31.
  uint row = id / runs_n, run = id - row * runs_n, first_row = row, first_run = run;
  [[unroll]] for (uint bit = 0u; bit < shift; ++bit) {
    run = run * 2u + ((gl_LocalInvocationID.x >> (shift - 1u - bit)) & 1u);
    uint more = run >= runs_n ? 1u : 0u;
    row = row * 2u + more;
    run -= more * runs_n;
    first_run *= 2u;   // the same for lane 0
    more = first_run >= runs_n ? 1u : 0u;
    first_row = first_row * 2u + more;
    first_run -= more * runs_n;
  }
  if (t.batch >= batches() || row >= size_m()) return;
  // TILE_M 1 is for lavapipe: its compiler overruns its stack in subgroups of 16 with addresses that differ between
  // lanes.
  uint column = run * kWidthD;
  t.m = kTileM == 1u ? first_row : row;
  t.n = kTileM == 1u ? 0u : column;
  t.k = t.k_end = t.split = 0u;

  acc_t acc[MAX_RUN];
  [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i) acc[i] = acc_t(0);
  uint left = splits();
  if (left != 0u) {
    uvec2 from = batch_address(push.a, SECTILE_TYPE_F32, t.batch, sums_batch());
    from = element_address(from, SECTILE_TYPE_F32, t.m, sums_ld(), t.n);
    uint inside = ((row - t.m) * sums_ld() + column - t.n) * 4u;
    uvec2 step = bytes_of(SECTILE_TYPE_F32, product64(size_m(), sums_ld()));
    // Tested at the bottom: lavapipe executes loads of a top-tested loop once more after its end.
    do {
      uvec4 raw = load_raw(from, inside, 4u * kWidthD);
      [[unroll]] for (uint i = 0u; i < min(kWidthD, 4u); ++i) {
#ifdef INTEGER
        acc[i] += int(raw[i]);
#else
        acc[i] += uintBitsToFloat(raw[i]);
#endif
      }
      from = add64(from, step);
    } while (--left != 0u);
  }
  store_run(target_of(t), row, column, acc);
}
