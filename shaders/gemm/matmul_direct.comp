//! variant f32
//! variant f32.narrow -DNARROW -DNO_BYTES
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER -DNARROW
// Each invocation computes ROWS x COLUMNS of the result, with operands loaded from global memory one element at a time:
// suited to CPU devices, whose caches take the role of workgroup memory. With 1 x 1 it is the last resort that takes
// every problem.
// Rows and columns beyond the result are clamped to its last ones: they are computed and never stored.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gemm/gemm.glsl"
#include "gemm/matmul_direct.abi.h"
#include "gemm/epilogue.glsl"

layout(constant_id = MATMUL_DIRECT_SPEC_ROWS) const uint kRows = 1u;
layout(constant_id = MATMUL_DIRECT_SPEC_COLUMNS) const uint kColumns = 1u;
layout(constant_id = MATMUL_DIRECT_SPEC_OFFSET64) const uint kOffset64 = 0u;

const uint kLanes = kTileN / kColumns;     // invocations along N

// An element of A, or (of_b) of B, at `at` from base.
acc_t element(const bool of_b, uvec2 base, uint at, uint k, uint n) {
  const uint type = of_b ? kBType : kAType;
  uvec4 raw = load_raw(base, run_at(type, at), bytes_of_type(type));
#ifdef INTEGER
  return bitfieldExtract(int(raw.x), 0, 8);
#else
  if (type == SECTILE_TYPE_Q4) raw.x >>= 4u * (at % 2u);
  float v[MAX_RUN];
  if (of_b) convert_b(raw, k, n, true, v);
  else convert_a(raw, k, true, v);
  return v[0];
#endif
}

void main() {
  Tile t;
  if (!locate_tile(t)) return;
  // The lanes of a subgroup along N load the same element of A, once. The compiler recognizes this only where no
  // division hides it.
  uint lane = gl_LocalInvocationID.x, group = 0u;
  if (kLanes < kWorkgroup) {
    group = lane / kLanes;
    lane -= group * kLanes;
  }
  uint last_m = size_m() - 1u, last_n = size_n() - 1u;
  uint m = t.m + group * kRows, n = t.n + lane;
  // Base addresses are uniform in the workgroup, and what differs between lanes is a 32-bit offset: lavapipe 26.1.6
  // corrupts its stack with 64-bit addresses that differ within a subgroup of 16 (LP_NATIVE_VECTOR_WIDTH=512).
  // kOffset64 uses addresses per invocation.
  uint base_m = kOffset64 != 0u ? min(m, last_m) : t.m, base_n = kOffset64 != 0u ? min(n, last_n) : t.n;
  uint at_a[kRows], at_b[kColumns], column[kColumns];
  [[unroll]] for (uint r = 0u; r < kRows; ++r) at_a[r] = (min(m + r, last_m) - base_m) * (kTransA == 0u ? lda() : 1u);
  [[unroll]] for (uint c = 0u; c < kColumns; ++c) {
    column[c] = min(n + c * kLanes, last_n);
    at_b[c] = (column[c] - base_n) * (kTransB == 0u ? 1u : ldb());
  }

  acc_t acc[kRows][kColumns];
  [[unroll]] for (uint r = 0u; r < kRows; ++r)
    [[unroll]] for (uint c = 0u; c < kColumns; ++c) acc[r][c] = acc_t(0);
  // Splits that start after the end of K have nothing to sum.
  if (t.k < t.k_end) {
    const uint ld_a = kTransA == 0u ? 1u : lda(), ld_b = kTransB == 0u ? ldb() : 1u;
    uvec2 a = a_address(t, base_m, t.k), b = b_address(t, t.k, base_n);
    uvec2 step_a = bytes_of(kAType, product64(kTileK, ld_a)), step_b = bytes_of(kBType, product64(kTileK, ld_b));
    uint k = t.k;
    // Both loops are tested at the bottom: lavapipe executes loads at uniform addresses once more after a top-tested
    // loop.
    do {
      uint left = min(kTileK, t.k_end - k), from_a = 0u, from_b = 0u;
      do {
        // The next k of A may be too far away for a 32-bit offset.
        uvec2 far_a = kOffset64 != 0u ? add64(a, bytes_of(kAType, uvec2(from_a, 0u))) : a;
        uint near_a = kOffset64 != 0u ? 0u : from_a;
        acc_t x[kRows], y[kColumns];
        [[unroll]] for (uint c = 0u; c < kColumns; ++c) y[c] = element(true, b, at_b[c] + from_b, k, column[c]);
        [[unroll]] for (uint r = 0u; r < kRows; ++r) {
          x[r] = element(false, far_a, at_a[r] + near_a, k, 0u);
          [[unroll]] for (uint c = 0u; c < kColumns; ++c) acc[r][c] += x[r] * y[c];
        }
        from_a += ld_a;
        from_b += ld_b;
        ++k;
      } while (--left != 0u);
      a = add64(a, step_a);
      b = add64(b, step_b);
    } while (k < t.k_end);
  }

  t.m = base_m;
  t.n = base_n;
  Target target = target_of(t);
  [[unroll]] for (uint r = 0u; r < kRows; ++r)
    [[unroll]] for (uint c = 0u; c < kColumns; ++c) {
      acc_t run[MAX_RUN];
      [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i) run[i] = acc[r][c];
      if (m + r <= last_m && n + c * kLanes <= last_n) store_run(target, m + r, n + c * kLanes, run);
    }
}
