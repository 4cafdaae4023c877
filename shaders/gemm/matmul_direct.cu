//! variant f32
//! variant f32.narrow
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER
// Each invocation computes ROWS x COLUMNS of the result, with operands loaded from global memory one element at a time.
// With 1 x 1 it is the last resort that takes every problem.
// Rows and columns beyond the result are clamped to its last ones: they are computed and never stored.
#include "lib/cuda.cuh"
#include "gemm/gemm.cuh"
#include "gemm/matmul_direct.abi.h"
#include "gemm/epilogue.cuh"

constexpr uint kRows = sectile_constant(MATMUL_DIRECT_SPEC_ROWS, 1u);
constexpr uint kColumns = sectile_constant(MATMUL_DIRECT_SPEC_COLUMNS, 1u);
constexpr uint kOffset64 = sectile_constant(MATMUL_DIRECT_SPEC_OFFSET64, 0u);

constexpr uint kLanes = kTileN / kColumns;     // invocations along N

// An element of A, or (of_b) of B, at `at` from base.
__device__ __forceinline__ acc_t element(const GemmPush& push, const bool of_b, uint64 base, uint at, uint k, uint n) {
  const uint type = of_b ? kBType : kAType;
  uvec4 raw = load_raw(base, run_at(type, at), bytes_of_type(type));
#ifdef INTEGER
  return byte_of(raw[0], 0u);
#else
  if (type == SECTILE_TYPE_Q4) raw[0] >>= 4u * (at % 2u);
  float v[MAX_RUN];
  if (of_b) convert_b(push, raw, k, n, true, v);
  else convert_a(push, raw, k, true, v);
  return v[0];
#endif
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ GemmPush push) {
  Tile t;
  if (!locate_tile(push, t)) return;
  const uint lane = threadIdx.x % kLanes, group = threadIdx.x / kLanes;
  const uint last_m = size_m(push) - 1u, last_n = size_n(push) - 1u;
  const uint m = t.m + group * kRows, n = t.n + lane;
  // What differs inside a workgroup is a 32-bit offset, unless rows are too far apart for that (kOffset64).
  const uint base_m = kOffset64 != 0u ? min(m, last_m) : t.m, base_n = kOffset64 != 0u ? min(n, last_n) : t.n;
  uint at_a[kRows], at_b[kColumns], column[kColumns];
#pragma unroll
  for (uint r = 0u; r < kRows; ++r) at_a[r] = (min(m + r, last_m) - base_m) * (kTransA == 0u ? lda(push) : 1u);
#pragma unroll
  for (uint c = 0u; c < kColumns; ++c) {
    column[c] = min(n + c * kLanes, last_n);
    at_b[c] = (column[c] - base_n) * (kTransB == 0u ? 1u : ldb(push));
  }

  acc_t acc[kRows * kColumns];
#pragma unroll
  for (uint i = 0u; i < kRows * kColumns; ++i) acc[i] = 0;
  // Splits that start after the end of K have nothing to sum.
  if (t.k < t.k_end) {
    const uint ld_a = kTransA == 0u ? 1u : lda(push), ld_b = kTransB == 0u ? ldb(push) : 1u;
    uint64 a = a_address(push, t, base_m, t.k), b = b_address(push, t, t.k, base_n);
    const uint64 step_a = bytes_of(kAType, uint64(kTileK) * ld_a), step_b = bytes_of(kBType, uint64(kTileK) * ld_b);
    uint k = t.k;
    do {
      uint left = min(kTileK, t.k_end - k), from_a = 0u, from_b = 0u;
      do {
        // The next k of A may be too far away for a 32-bit offset.
        const uint64 far_a = kOffset64 != 0u ? a + bytes_of(kAType, from_a) : a;
        const uint near_a = kOffset64 != 0u ? 0u : from_a;
        acc_t y[kColumns];
#pragma unroll
        for (uint c = 0u; c < kColumns; ++c) y[c] = element(push, true, b, at_b[c] + from_b, k, column[c]);
#pragma unroll
        for (uint r = 0u; r < kRows; ++r) {
          const acc_t x = element(push, false, far_a, at_a[r] + near_a, k, 0u);
#pragma unroll
          for (uint c = 0u; c < kColumns; ++c) acc[r * kColumns + c] = plus_product(x, y[c], acc[r * kColumns + c]);
        }
        from_a += ld_a;
        from_b += ld_b;
        ++k;
      } while (--left != 0u);
      a += step_a;
      b += step_b;
    } while (k < t.k_end);
  }

  t.m = base_m;
  t.n = base_n;
  const Target target = target_of(push, t);
#pragma unroll
  for (uint r = 0u; r < kRows; ++r)
#pragma unroll
    for (uint c = 0u; c < kColumns; ++c) {
      acc_t run[MAX_RUN];
#pragma unroll
      for (uint i = 0u; i < MAX_RUN; ++i) run[i] = acc[r * kColumns + c];
      if (m + r <= last_m && n + c * kLanes <= last_n) store_run(push, target, m + r, n + c * kLanes, run);
    }
}
