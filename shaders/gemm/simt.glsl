// The loop of matmul_simt over steps of K: loads, products, store. Include after gemm/simt_fetch.glsl, and
// (GATHERED_WORDS) the kernel's own fetch.

#define SIDE(a, b) a
#include "gemm/simt_stage.glsl"
#undef SIDE
#define SIDE(a, b) b
#include "gemm/simt_stage.glsl"
#undef SIDE

// ---- products

const uint kSubgroupM = kLanesM * kRows, kSubgroupN = kLanesN * kColumns;
acc_t acc[kRows][kColumns];
uint own_m, own_n;             // first row and column of this invocation in the tile

// Distance of the i-th row (column) from the first; constant after unrolling.
uint row_offset(uint i) { return i / kVector * (kStrided != 0u ? kLanesM * kVector : kVector) + i % kVector; }
uint column_offset(uint i) { return i / kVector * (kStrided != 0u ? kLanesN * kVector : kVector) + i % kVector; }

void locate_invocation() {
  const uint lanes = kLanesM * kLanesN;
  const uint across = kTileN / kSubgroupN;
  uint subgroup = gl_LocalInvocationID.x / lanes, lane = gl_LocalInvocationID.x % lanes;
  own_m = subgroup / across * kSubgroupM + lane / kLanesN * (kStrided != 0u ? kVector : kRows);
  own_n = subgroup % across * kSubgroupN + lane % kLanesN * (kStrided != 0u ? kVector : kColumns);
}

void multiply_row(Tile t, uint stage, uint row, uint k) {
  acc_t x[kRows], y[kColumns];
  // Indices in vectors of four. The invocation's own part is a separate term, so that the rest is constant.
  uint from_a = stage * (kStageA / 4u) + row * (kPitchA / 4u) + own_m / 4u;
  uint from_b = stage * (kStageB / 4u) + row * (kPitchB / 4u) + own_n / 4u;
  [[unroll]] for (uint i = 0u; i < kRows; i += kVector) {
    if (kVector == 4u) {
      staged4 v = staged_a[from_a + row_offset(i) / 4u];
      [[unroll]] for (uint j = 0u; j < 4u; ++j) x[i + j] = v[j];
    } else {
      uint at = own_m % 4u + row_offset(i);
      x[i] = staged_a[from_a + at / 4u][at % 4u];
    }
  }
  [[unroll]] for (uint i = 0u; i < kColumns; i += kVector) {
    if (kVector == 4u) {
      staged4 v = staged_b[from_b + column_offset(i) / 4u];
      [[unroll]] for (uint j = 0u; j < 4u; ++j) y[i + j] = v[j];
    } else {
      uint at = own_n % 4u + column_offset(i);
      y[i] = staged_b[from_b + at / 4u][at % 4u];
    }
  }
  [[unroll]] for (uint i = 0u; i < kRows; ++i) {
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
      if (kChecked != 0u && !(t.m + own_m + row_offset(i) < size_m() && t.n + own_n + column_offset(j) < columns() &&
                              k + row * kPacked < t.k_end))
        continue;
#if defined(DOT)
      acc[i][j] += dotPacked4x8EXT(x[i], y[j]);
#elif defined(INTEGER)
      [[unroll]] for (int b = 0; b < 32; b += 8) acc[i][j] += bitfieldExtract(x[i], b, 8) * bitfieldExtract(y[j], b, 8);
#else
      acc[i][j] = fma(x[i], y[j], acc[i][j]);
#endif
    }
  }
}

void multiply(Tile t, uint stage, uint k) {
  const uint unrolled = min(kDepth, 8u);
  uint row = 0u;
  do {
    [[unroll]] for (uint i = 0u; i < unrolled; ++i) multiply_row(t, stage, row + i, k);
    row += unrolled;
  } while (row < kDepth);
}

// ---- the loop along K. Loops over the items of both sides are written out: with a function for each
// side NVIDIA's compiler made a slow kernel (gemm/coopmat.glsl), and int8 modules reach it as glslang leaves them.

struct Fetch {
  uvec2 a, b, step_a, step_b;    // operands of the step loaded last, and the distance to the next step
  uint k, remaining;             // that step's first k, and the full steps after it
};

void prefetch(uvec2 a, uvec2 b, uint k, uint left, const bool tail) {
  [[unroll]] for (uint i = 0u; i < kLoadsA; ++i)
    prefetched_a[i] = fetch_item_a(a, item_of_a(i), places_a[i], k, left, tail);
  [[unroll]] for (uint i = 0u; i < kLoadsB; ++i)
    prefetched_b[i] = fetch_item_b(b, item_of_b(i), places_b[i], k, left, tail);
}
void stage_prefetched(Tile t, uint stage, uint k, uint left, const bool tail) {
  [[unroll]] for (uint i = 0u; i < kLoadsA; ++i)
    if (has_item_a(i)) stage_item_a(t, stage, item_of_a(i), places_a[i], prefetched_a[i], k, left, tail);
  [[unroll]] for (uint i = 0u; i < kLoadsB; ++i)
    if (has_item_b(i)) stage_item_b(t, stage, item_of_b(i), places_b[i], prefetched_b[i], k, left, tail);
}
// Without a prefetch: loads and stages one item at a time; only kFetchers invocations take part. Loops are tested at
// their bottom, for lavapipe (matmul_direct.comp).
void stage_fetched(Tile t, uvec2 a, uvec2 b, uint k, uint left) {
  if (gl_LocalInvocationID.x >= kFetchers) return;
  uint i = 0u;
  do {
    Item item = item_of_a(i);
    if (has_item_a(i)) {
      Place place = place_of_a(t, item);
      stage_item_a(t, 0u, item, place, fetch_item_a(a, item, place, k, left, true), k, left, true);
    }
  } while (++i < kLoadsA);
  i = 0u;
  do {
    Item item = item_of_b(i);
    if (has_item_b(i)) {
      Place place = place_of_b(t, item);
      stage_item_b(t, 0u, item, place, fetch_item_b(b, item, place, k, left, true), k, left, true);
    }
  } while (++i < kLoadsB);
}

// After the last full step its operands are loaded and staged once more, and not used: a branch would keep the compiler
// from interleaving loads and products.
void advance(inout Fetch fetch) {
  bool more = fetch.remaining != 0u;
  fetch.a = add64(fetch.a, more ? fetch.step_a : uvec2(0u));
  fetch.b = add64(fetch.b, more ? fetch.step_b : uvec2(0u));
  fetch.k += more ? kTileK : 0u;
  fetch.remaining -= more ? 1u : 0u;
}

// The buffer after this one.
uint next_stage(uint stage) { return kStages == 1u ? 0u : stage ^ 1u; }

// Multiplies the step in `stage`, while the next step is loaded. Then the next step is staged in the other buffer, or
// in the one there is.
void multiply_step(Tile t, uint stage, inout Fetch fetch) {
  uint k = fetch.k;
  advance(fetch);
  prefetch(fetch.a, fetch.b, fetch.k, kTileK, false);
  multiply(t, stage, k);
  if (kStages == 1u) barrier();   // orders all loads of this step before the next step is staged in its buffer
  stage_prefetched(t, next_stage(stage), fetch.k, kTileK, false);
  // orders the staging of the next step before its products, and all loads of this step before its buffer is reused
  barrier();
}

// Multiplies the full steps of K, and advances the operands past them.
void multiply_full(Tile t, inout uvec2 a, inout uvec2 b, uvec2 step_a, uvec2 step_b, uint full) {
  Fetch fetch = Fetch(a, b, step_a, step_b, t.k, full - 1u);
  prefetch(a, b, fetch.k, kTileK, false);
  stage_prefetched(t, 0u, fetch.k, kTileK, false);
  barrier();   // orders the staging of the first step before its products
  uint step = 0u, stage = 0u;
  do {
    multiply_step(t, kPaired != 0u ? 0u : stage, fetch);
    ++step;
    if (kPaired != 0u) {
      if (step < full) {
        multiply_step(t, 1u, fetch);
        ++step;
      }
    } else {
      stage = next_stage(stage);
    }
  } while (step < full);
  a = add64(fetch.a, step_a);
  b = add64(fetch.b, step_b);
}

void main() {
  Tile t;
  if (!locate_tile(t)) return;
  locate_invocation();
  [[unroll]] for (uint i = 0u; i < kRows; ++i)
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) acc[i][j] = acc_t(0);

  // Splits that start after the end of K have nothing to sum.
  uint length = t.k_end - min(t.k, t.k_end), full = length / kTileK, left = length - full * kTileK;
  uvec2 a = start_of_a(t), b = start_of_b(t);
  const uvec2 step_a = step_of_a(), step_b = step_of_b();
  if (kPrefetch != 0u) {
    [[unroll]] for (uint i = 0u; i < kLoadsA; ++i) places_a[i] = place_of_a(t, item_of_a(i));
    [[unroll]] for (uint i = 0u; i < kLoadsB; ++i) places_b[i] = place_of_b(t, item_of_b(i));
    uint k = t.k + full * kTileK;
    if (full != 0u) multiply_full(t, a, b, step_a, step_b, full);
    if (left != 0u) {
      prefetch(a, b, k, left, true);
      stage_prefetched(t, 0u, k, left, true);
      barrier();   // as in multiply_full()
      multiply(t, 0u, k);
    }
  } else if (length != 0u) {
    uint k = t.k;
    do {
      stage_fetched(t, a, b, k, t.k_end - k);
      barrier();   // orders the staging of the step before its products
      multiply(t, 0u, k);
      barrier();   // orders all loads of this step before the next step is staged
      a = add64(a, step_a);
      b = add64(b, step_b);
      k += kTileK;
    } while (k < t.k_end);
  }

  Target target = target_of(t);
  [[unroll]] for (uint i = 0u; i < kRows; ++i) {
    uint m = t.m + own_m + row_offset(i);
    [[unroll]] for (uint j = 0u; j < kColumns; j += kWidthD) {
      uint n = t.n + own_n + column_offset(j);
      acc_t run[MAX_RUN];
      [[unroll]] for (uint e = 0u; e < MAX_RUN; ++e) run[e] = acc[i][min(j + e, kColumns - 1u)];
      if (m < size_m() && n < columns()) store_run(target, m, n, run);
    }
  }
}
