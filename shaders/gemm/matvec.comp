//! variant f32
//! variant f32.narrow -DNARROW -DNO_BYTES
//! variant f32.subgroup -DSUBGROUP
//! variant f32.subgroup.narrow -DSUBGROUP -DNARROW -DNO_BYTES
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER -DNARROW
//! variant i8.subgroup -DINTEGER -DSUBGROUP
//! variant i8.subgroup.narrow -DINTEGER -DSUBGROUP -DNARROW
// Multiplies a skinny operand (up to 16 rows of A, or columns of B) by a thick one. The thick operand takes the time:
// it is loaded once, in the widest runs, directly into registers. The skinny operand is staged in workgroup memory, a
// step of K at a time ("piece").
// Where the thick operand is contiguous along K, the lanes of a group divide each of its rows along K, and their
// accumulators are added at the end, by subgroup operations (SUBGROUP: full subgroups of the required size) or through
// workgroup memory. Where it is contiguous across K, kLanes consecutive lanes have columns of their own, and the sets
// of kLanes lanes divide K.
#version 460
#extension GL_GOOGLE_include_directive : require
#ifdef SUBGROUP
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif
#include "gemm/gemm.glsl"
#include "gemm/matvec.abi.h"
#include "gemm/epilogue.glsl"

layout(constant_id = MATVEC_SPEC_SIDE) const uint kSide = 0u;
layout(constant_id = MATVEC_SPEC_ROWS) const uint kRows = 1u;
layout(constant_id = MATVEC_SPEC_LANES) const uint kLanes = 32u;
layout(constant_id = MATVEC_SPEC_ROUNDS) const uint kRounds = 1u;

const uint kSkinny = kSide == 0u ? kTileM : kTileN;                       // rows (columns) of the skinny operand
const bool kAlongK = kSide == 0u ? kTransB == 1u : kTransA == 0u;       // of the thick operand
const bool kSkinnyAlongK = kSide == 0u ? kTransA == 0u : kTransB == 1u;
const uint kRun = kSide == 0u ? kWidthB : kWidthA;                      // elements in a run of the thick operand
const uint kSkinnyRun = kSide == 0u ? kWidthA : kWidthB;

// Slice-K: a group of kSliceK invocations divides K for the same rows of the thick operand ("across"); each invocation
// keeps accumulators of its slice. kGroups groups cover the tile.
const uint kSliceK = kAlongK ? kLanes : kWorkgroup / kLanes;
const uint kGroups = kWorkgroup / kSliceK;
const uint kAcross = kAlongK ? kRows : kRun;
const uint kAccumulators = kAcross * kSkinny;

#ifdef INTEGER
#define staged4 ivec4
#else
#define staged4 vec4
#endif
// The skinny operand's piece: [row][k] where the thick operand is contiguous along K, else [k][row]; either way loads
// are vectors. GLSL cannot load a vector from an array of words.
shared staged4 thin4[(kSkinny * kTileK + 3u) / 4u];
// accumulators that go through workgroup memory at a time
const uint kBatch = kAccumulators < 16u ? kAccumulators : 16u;
shared acc_t partial[kBatch * kWorkgroup];
shared acc_t result[kTileM * kTileN];

uint size_across() { return kSide == 0u ? size_n() : size_m(); }
uint size_skinny() { return kSide == 0u ? size_m() : size_n(); }

// Loads a run of A, or (of_b) of B.
uvec4 load_run(const bool of_b, uvec2 base, uint at) {
  return of_b ? load_raw(base, run_at(kBType, at), run_bytes(kBType, kWidthB))
              : load_raw(base, run_at(kAType, at), run_bytes(kAType, kWidthA));
}
// Converts such a run at k, row or column `across`.
void convert(const bool of_b, uvec4 raw, uint k, uint across, bool inside, out acc_t v[MAX_RUN]) {
#ifdef INTEGER
  unpack_bytes(of_b ? kWidthB : kWidthA, raw, v);
  [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i)
    if (!inside) v[i] = 0;
#else
  if (of_b) convert_b(raw, k, across, inside, v);
  else convert_a(raw, k, inside, v);
#endif
}

void stage_thin_element(uint row, uint k, acc_t v) {
  uint at = kAlongK ? row * kTileK + k : k * kSkinny + row;
  thin4[at / 4u][at % 4u] = v;
}

// Runs of the skinny operand's piece, and how many of them an invocation loads.
const uint kSkinnyRuns = kSkinnyAlongK ? kTileK / kSkinnyRun : (kSkinny + kSkinnyRun - 1u) / kSkinnyRun;
const uint kSkinnyItems = (kSkinnyAlongK ? kSkinny : kTileK) * kSkinnyRuns;
const uint kSkinnyLoads = (kSkinnyItems + kWorkgroup - 1u) / kWorkgroup;
uvec4 prefetched_skinny[kSkinnyLoads];

struct SkinnyItem {
  uint row, step;
};
SkinnyItem skinny_item(uint load) {
  uint item = min(gl_LocalInvocationID.x + load * kWorkgroup, kSkinnyItems - 1u);
  uint outer = item / kSkinnyRuns, inner = item % kSkinnyRuns * kSkinnyRun;
  return SkinnyItem(kSkinnyAlongK ? outer : inner, kSkinnyAlongK ? inner : outer);
}

// `row0`: the tile's first row. `left`: how much of K remains from the piece's start on; only where `tail` is set may
// it be less than TILE_K.
uint skinny_row(uint row, uint row0) { return min(row, size_skinny() - row0 - (kSkinnyAlongK ? 1u : kSkinnyRun)); }
void fetch_skinny(uvec2 base, uint row0, uint ld, uint left, const bool tail) {
  [[unroll]] for (uint i = 0u; i < kSkinnyLoads; ++i) {
    SkinnyItem item = skinny_item(i);
    uint from = skinny_row(item.row, row0);
    uint at = kSkinnyAlongK ? from * ld + item.step : item.step * ld + from;
    prefetched_skinny[i] = load_run(kSide != 0u, base, !tail || item.step < left ? at : 0u);
  }
}
void stage_skinny(uint k, uint row0, uint left, const bool tail) {
  [[unroll]] for (uint load = 0u; load < kSkinnyLoads; ++load) {
    if (kSkinnyItems % kWorkgroup != 0u && gl_LocalInvocationID.x + load * kWorkgroup >= kSkinnyItems) continue;
    SkinnyItem item = skinny_item(load);
    acc_t v[MAX_RUN];
    convert(kSide != 0u, prefetched_skinny[load], k + item.step, row0 + skinny_row(item.row, row0),
            !tail || item.step < left, v);
    [[unroll]] for (uint i = 0u; i < kSkinnyRun; ++i) {
      if (kSkinnyAlongK) stage_thin_element(item.row, item.step + i, v[i]);
      else if (item.row + i < kSkinny) stage_thin_element(item.row + i, item.step, v[i]);
    }
  }
}

acc_t acc[kAccumulators];              // [across][skinny]

// Products of a run of row r that lies along K.
void multiply_along(const uint r, acc_t x[MAX_RUN], uint step) {
  [[unroll]] for (uint s = 0u; s < kSkinny; ++s) {
    uint at = s * kTileK + step;
    [[unroll]] for (uint i = 0u; i < kRun; ++i) {
      if (kRun >= 4u) {
        if (i % 4u == 0u) {
          staged4 y = thin4[at / 4u + i / 4u];
          acc[r * kSkinny + s] += x[i] * y.x + x[i + 1u] * y.y + x[i + 2u] * y.z + x[i + 3u] * y.w;
        }
      } else {
        acc[r * kSkinny + s] += x[i] * thin4[(at + i) / 4u][(at + i) % 4u];
      }
    }
  }
}
// Products of a run that lies across K, at one k.
void multiply_across(acc_t x[MAX_RUN], uint step) {
  [[unroll]] for (uint s = 0u; s < kSkinny; s += min(kSkinny, 4u)) {
    uint at = step * kSkinny + s;
    if (kSkinny >= 4u) {
      staged4 y = thin4[at / 4u];
      [[unroll]] for (uint i = 0u; i < kRun; ++i)
        [[unroll]] for (uint j = 0u; j < 4u; ++j) acc[i * kSkinny + s + j] += x[i] * y[j];
    } else {
      acc_t y = thin4[at / 4u][at % 4u];
      [[unroll]] for (uint i = 0u; i < kRun; ++i) acc[i * kSkinny + s] += x[i] * y;
    }
  }
}

// Position in the tile's result of accumulator v of a group.
uint result_at(uint group, uint v) {
  uint across = group * kAcross + v / kSkinny, skinny = v % kSkinny;
  return kSide == 0u ? skinny * kTileN + across : across * kTileN + skinny;
}

// Adds the accumulators of a group's slices of K, into `result`.
void add_slices(uint lane, uint slice, uint group) {
#ifdef SUBGROUP
  if (kAlongK) {
    const uint parts = kWorkgroup / gl_SubgroupSize;
    [[unroll]] for (uint v = 0u; v < kAccumulators; ++v) {
      acc_t sum = subgroupAdd(acc[v]);
      if (gl_SubgroupInvocationID == 0u) partial[v * parts + gl_SubgroupID] = sum;
    }
    barrier();   // orders every subgroup's stores of sums before their loads
    uint subgroups_per_group = kLanes / gl_SubgroupSize;
    for (uint e = lane; e < kGroups * kAccumulators; e += kWorkgroup) {
      uint v = e / kGroups, sum_group = e % kGroups;
      acc_t sum = acc_t(0);
      for (uint i = 0u; i < subgroups_per_group; ++i) sum += partial[v * parts + sum_group * subgroups_per_group + i];
      result[result_at(sum_group, v)] = sum;
    }
    return;
  }
#endif
  uint at = slice * kGroups + group;
  [[unroll]] for (uint first = 0u; first < kAccumulators; first += kBatch) {
    if (first != 0u) barrier();   // orders all loads of the previous batch before these stores
    [[unroll]] for (uint v = 0u; v < kBatch; ++v)
      if (first + v < kAccumulators) partial[v * kWorkgroup + at] = acc[first + v];
    for (uint upper = kSliceK / 2u; upper > 0u; upper /= 2u) {
      barrier();   // orders the stores of the upper half before the lower half adds them
      if (slice < upper) {
        [[unroll]] for (uint v = 0u; v < kBatch; ++v)
          partial[v * kWorkgroup + at] += partial[v * kWorkgroup + at + upper * kGroups];
      }
    }
    if (slice == 0u) {
      [[unroll]] for (uint v = 0u; v < kBatch; ++v)
        if (first + v < kAccumulators) result[result_at(group, first + v)] = partial[v * kWorkgroup + at];
    }
  }
}

// ---- the loop along K

const uint kRunsPerRound = kAlongK ? kRows : 1u;
// runs of the thick operand: in flight, and loaded
uvec4 prefetched[kRounds][kRunsPerRound], raw[kRounds][kRunsPerRound];
uint row[kRunsPerRound];                 // this invocation's rows in the tile

// Position along K, within the step, of this invocation's run in round u.
uint step_of(const uint u, uint slice) { return kAlongK ? (u * kLanes + slice) * kRun : u * kSliceK + slice; }

// `left`: how much of K remains from the operands' position on; only where `tail` is set may it be less than TILE_K.
void fetch(uvec2 a, uvec2 b, uint thin0, uint slice, uint left, const bool tail) {
  const uint ld = kSide == 0u ? ldb() : lda(), ld_skinny = kSide == 0u ? lda() : ldb();
  [[unroll]] for (uint u = 0u; u < kRounds; ++u) {
    uint step = step_of(u, slice);
    [[unroll]] for (uint r = 0u; r < kRunsPerRound; ++r)
      prefetched[u][r] = load_run(kSide == 0u, kSide == 0u ? b : a,
                                  !tail || step < left ? (kAlongK ? row[r] * ld + step : step * ld + row[r]) : 0u);
  }
  fetch_skinny(kSide == 0u ? a : b, thin0, ld_skinny, left, tail);
}

void take_prefetched() {
  [[unroll]] for (uint u = 0u; u < kRounds; ++u)
    [[unroll]] for (uint r = 0u; r < kRunsPerRound; ++r) raw[u][r] = prefetched[u][r];
}

void multiply(uint k, uint across0, uint slice, uint left, const bool tail) {
  [[unroll]] for (uint u = 0u; u < kRounds; ++u) {
    uint step = step_of(u, slice);
    [[unroll]] for (uint r = 0u; r < kRunsPerRound; ++r) {
      acc_t x[MAX_RUN];
      convert(kSide == 0u, raw[u][r], k + step, across0 + row[r], !tail || step < left, x);
      if (kAlongK) multiply_along(r, x, step);
      else multiply_across(x, step);
    }
  }
}

void sum_products(Tile t, uint slice, uint group) {
  uint across0 = kSide == 0u ? t.n : t.m, thin0 = kSide == 0u ? t.m : t.n;
  uint last = size_across() - across0 - (kAlongK ? 1u : kRun);
  [[unroll]] for (uint r = 0u; r < kRunsPerRound; ++r)
    row[r] = kAlongK ? min(group * kRows + r, last) : min(group * kRun, last);
  uvec2 a = a_address(t, t.m, t.k), b = b_address(t, t.k, t.n);
  const uvec2 step_a = bytes_of(kAType, product64(kTileK, kTransA == 0u ? 1u : lda()));
  const uvec2 step_b = bytes_of(kBType, product64(kTileK, kTransB == 1u ? 1u : ldb()));
  uint length = t.k_end - t.k, full = length / kTileK, left = length - full * kTileK, k = t.k;
  if (full != 0u) {
    fetch(a, b, thin0, slice, kTileK, false);
    uint step = 0u;
    do {
      take_prefetched();
      uint current_k = k;
      stage_skinny(current_k, thin0, kTileK, false);
      barrier();   // orders the staging of the skinny operand's piece before its loads
      ++step;
      // After the last full step its operands are loaded once more, and not used: a branch would keep the compiler from
      // moving loads.
      bool more = step < full;
      a = add64(a, more ? step_a : uvec2(0u));
      b = add64(b, more ? step_b : uvec2(0u));
      k += more ? kTileK : 0u;
      fetch(a, b, thin0, slice, kTileK, false);
      multiply(current_k, across0, slice, kTileK, false);
      barrier();   // orders all loads of the piece before the next is staged
    } while (step < full);
    a = add64(a, step_a);
    b = add64(b, step_b);
    k += kTileK;
  }
  if (left != 0u) {
    fetch(a, b, thin0, slice, left, true);
    take_prefetched();
    stage_skinny(k, thin0, left, true);
    barrier();   // as above
    multiply(k, across0, slice, left, true);
  }
}

void main() {
  Tile t;
  if (!locate_tile(t)) return;
  uint lane = gl_LocalInvocationID.x;
#ifdef SUBGROUP
  // so that the lanes of a whole subgroup share a row
  lane = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
#endif
  uint slice = kAlongK ? lane % kLanes : lane / kLanes, group = kAlongK ? lane / kLanes : lane % kLanes;
  [[unroll]] for (uint v = 0u; v < kAccumulators; ++v) acc[v] = acc_t(0);
  // Splits that start after the end of K have nothing to sum.
  if (t.k < t.k_end) sum_products(t, slice, group);

  add_slices(lane, slice, group);
  barrier();   // orders the stores to `result` before runs of it are loaded
  Target target = target_of(t);
  const uint runs_n = kTileN / kWidthD;
  for (uint e = gl_LocalInvocationID.x; e < kTileM * runs_n; e += kWorkgroup) {
    uint m = e / runs_n, n = e % runs_n * kWidthD;
    acc_t run[MAX_RUN];
    [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i) run[i] = result[m * kTileN + min(n + i, kTileN - 1u)];
    if (t.m + m < size_m() && t.n + n < size_n()) store_run(target, t.m + m, t.n + n, run);
  }
}
