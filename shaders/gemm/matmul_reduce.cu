//! variant f32
//! variant f32.narrow
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER
// Second step of split-K. a is scratch, [batch][split][M][ldd] of 4-byte partial sums. Each run of kWidthD elements of
// the result is the sum of its splits, added in order, so that the result is deterministic, followed by the epilogue.
// With no splits (K = 0) nothing is loaded.
#include "lib/cuda.cuh"
#include "gemm/matmul_reduce.abi.h"
#define OWN_WORDS MATMUL_REDUCE_WORDS
#include "gemm/base.cuh"
#include "gemm/epilogue.cuh"

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ GemmPush push) {
  // The invocation computes run group * kWorkgroup + lane of the batch.
  const uint runs_n = size_n(push) / kWidthD;
  const uint64 runs = uint64(size_m(push)) * runs_n;
  const uint64 groups = (runs + kWorkgroup - 1u) / kWorkgroup;
  const uint id = group_id();
  Tile t;
  t.batch = uint(id / groups);
  const uint64 run = (id - t.batch * groups) * kWorkgroup + threadIdx.x;
  if (t.batch >= batches(push) || run >= runs) return;
  t.m = uint(run / runs_n);
  t.n = uint(run - uint64(t.m) * runs_n) * kWidthD;
  t.k = t.k_end = t.split = 0u;

  acc_t acc[MAX_RUN] = {};
  uint64 from = batch_address(address_of(push.a), SECTILE_TYPE_F32, t.batch, sums_batch(push));
  from = element_address(from, SECTILE_TYPE_F32, t.m, sums_ld(push), t.n);
  const uint64 step = bytes_of(SECTILE_TYPE_F32, uint64(size_m(push)) * sums_ld(push));
  for (uint left = splits(push); left != 0u; --left) {
    const uvec4 raw = load_raw(from, 0u, 4u * kWidthD);
#pragma unroll
    for (uint i = 0u; i < 4u; ++i)
      if (i < kWidthD) acc[i] = plus(acc[i], acc_of(raw[i]));
    from += step;
  }
  store_run(push, target_of(push, t), t.m, t.n, acc);
}
