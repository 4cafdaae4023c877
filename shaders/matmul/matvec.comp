//! variant f32
//! variant f32.narrow -DNARROW -DNO_BYTES
//! variant f32.subgroup -DSUBGROUP
//! variant f32.subgroup.narrow -DSUBGROUP -DNARROW -DNO_BYTES
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER -DNARROW
//! variant i8.subgroup -DINTEGER -DSUBGROUP
//! variant i8.subgroup.narrow -DINTEGER -DSUBGROUP -DNARROW
// A thin operand (up to 16 rows of A, or columns of B) times a thick one. The thick one is what takes time: it is read
// once, in the widest runs, straight into registers; a step's piece of the thin one stands in workgroup memory.
// Where the thick operand is contiguous along K, lanes share its rows and sum at the end, by subgroup operations
// (SUBGROUP: full subgroups of the required size) or through workgroup memory; where it is contiguous across, each lane
// has columns of its own and groups of lanes share K.
#version 460
#extension GL_GOOGLE_include_directive : require
#ifdef SUBGROUP
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif
#include "lib/matmul.glsl"
#include "matvec.abi.h"
#include "lib/matmul_epilogue.glsl"

layout(constant_id = MATVEC_SPEC_SIDE) const uint kSide = 0u;
layout(constant_id = MATVEC_SPEC_ROWS) const uint kRows = 1u;
layout(constant_id = MATVEC_SPEC_LANES) const uint kLanes = 32u;
layout(constant_id = MATVEC_SPEC_ROUNDS) const uint kRounds = 1u;

const uint kThin = kSide == 0u ? kTileM : kTileN;                       // rows of the thin operand
const bool kAlongK = kSide == 0u ? kTransB == 1u : kTransA == 0u;       // the thick one
const bool kThinAlongK = kSide == 0u ? kTransA == 0u : kTransB == 1u;
const uint kRun = kSide == 0u ? kWidthB : kWidthA;                      // of the thick one
const uint kThinRun = kSide == 0u ? kWidthA : kWidthB;

// Sharers of K, and how many such parties there are; sums of an invocation.
const uint kSharers = kAlongK ? kLanes : kWorkgroup / kLanes;
const uint kParties = kWorkgroup / kSharers;
const uint kAcross = kAlongK ? kRows : kRun;
const uint kAccumulators = kAcross * kThin;

#ifdef INTEGER
#define staged4 ivec4
#else
#define staged4 vec4
#endif
// The thin operand's step: [row][k] where lanes lie along K, else [k][row], so that either way they read vectors.
shared staged4 thin4[(kThin * kTileK + 3u) / 4u];
const uint kBatch = kAccumulators < 16u ? kAccumulators : 16u;                  // sums that are shared out at a time
shared acc_t partial[kBatch * kWorkgroup];
shared acc_t result[kTileM * kTileN];

uint size_across() { return kSide == 0u ? size_n() : size_m(); }
uint size_thin() { return kSide == 0u ? size_m() : size_n(); }

uvec4 load_thick(uvec2 base, uint at) {
  return kSide == 0u ? load_raw(base, run_at(kBType, at), run_bytes(kBType, kWidthB))
                     : load_raw(base, run_at(kAType, at), run_bytes(kAType, kWidthA));
}
uvec4 load_thin(uvec2 base, uint at) {
  return kSide == 0u ? load_raw(base, run_at(kAType, at), run_bytes(kAType, kWidthA))
                     : load_raw(base, run_at(kBType, at), run_bytes(kBType, kWidthB));
}
// A raw run of A (`a`) or B at step k, row or column `across`.
void convert(const bool a, uvec4 raw, uint k, uint across, bool inside, out acc_t v[MAX_RUN]) {
#ifdef INTEGER
  unpack_bytes(a ? kWidthA : kWidthB, raw, v);
  [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i)
    if (!inside) v[i] = 0;
#else
  if (a) convert_a(raw, k, inside, v);
  else convert_b(raw, k, across, inside, v);
#endif
}

void put_thin(uint row, uint k, acc_t v) {
  uint at = kAlongK ? row * kTileK + k : k * kThin + row;
  thin4[at / 4u][at % 4u] = v;
}

// The piece's runs: an invocation has one a turn.
const uint kThinRuns = kThinAlongK ? kTileK / kThinRun : (kThin + kThinRun - 1u) / kThinRun;
const uint kThinItems = (kThinAlongK ? kThin : kTileK) * kThinRuns;
const uint kThinTurns = (kThinItems + kWorkgroup - 1u) / kWorkgroup;
uvec4 coming_thin[kThinTurns];

// Row and step of a turn's run.
uvec2 thin_item(uint turn) {
  uint item = min(gl_LocalInvocationID.x + turn * kWorkgroup, kThinItems - 1u);
  uint outer = item / kThinRuns, inner = item % kThinRuns * kThinRun;
  return kThinAlongK ? uvec2(outer, inner) : uvec2(inner, outer);
}

// `row0`: the tile's first row; `left`: steps from the piece's first on, where `tail` says that they may be less than all.
uint thin_row(uint row, uint row0) { return min(row, size_thin() - row0 - (kThinAlongK ? 1u : kThinRun)); }
void fetch_thin(uvec2 base, uint row0, uint ld, uint left, const bool tail) {
  [[unroll]] for (uint i = 0u; i < kThinTurns; ++i) {
    uvec2 item = thin_item(i);
    uint from = thin_row(item.x, row0);
    uint at = kThinAlongK ? from * ld + item.y : item.y * ld + from;
    coming_thin[i] = load_thin(base, !tail || item.y < left ? at : 0u);
  }
}
void stage_thin(uint k, uint row0, uint left, const bool tail) {
  [[unroll]] for (uint t = 0u; t < kThinTurns; ++t) {
    if (kThinItems % kWorkgroup != 0u && gl_LocalInvocationID.x + t * kWorkgroup >= kThinItems) continue;
    uvec2 item = thin_item(t);
    acc_t v[MAX_RUN];
    convert(kSide == 0u, coming_thin[t], k + item.y, row0 + thin_row(item.x, row0), !tail || item.y < left, v);
    [[unroll]] for (uint i = 0u; i < kThinRun; ++i) {
      if (kThinAlongK) put_thin(item.x, item.y + i, v[i]);
      else if (item.x + i < kThin) put_thin(item.x + i, item.y, v[i]);
    }
  }
}

acc_t acc[kAccumulators];              // [across][thin]

// Products of a run of one row: lanes along K.
void multiply_along(const uint r, acc_t x[MAX_RUN], uint step) {
  [[unroll]] for (uint s = 0u; s < kThin; ++s) {
    uint at = s * kTileK + step;
    [[unroll]] for (uint i = 0u; i < kRun; ++i) {
      if (kRun >= 4u) {
        if (i % 4u == 0u) {
          staged4 y = thin4[at / 4u + i / 4u];
          acc[r * kThin + s] += x[i] * y.x + x[i + 1u] * y.y + x[i + 2u] * y.z + x[i + 3u] * y.w;
        }
      } else {
        acc[r * kThin + s] += x[i] * thin4[(at + i) / 4u][(at + i) % 4u];
      }
    }
  }
}
// Products of a run across at one step.
void multiply_across(acc_t x[MAX_RUN], uint step) {
  [[unroll]] for (uint s = 0u; s < kThin; s += min(kThin, 4u)) {
    uint at = step * kThin + s;
    if (kThin >= 4u) {
      staged4 y = thin4[at / 4u];
      [[unroll]] for (uint i = 0u; i < kRun; ++i)
        [[unroll]] for (uint j = 0u; j < 4u; ++j) acc[i * kThin + s + j] += x[i] * y[j];
    } else {
      acc_t y = thin4[at / 4u][at % 4u];
      [[unroll]] for (uint i = 0u; i < kRun; ++i) acc[i * kThin + s] += x[i] * y;
    }
  }
}

// Where sum v of a party lies in the tile's result.
uint result_at(uint party, uint v) {
  uint across = party * kAcross + v / kThin, thin = v % kThin;
  return kSide == 0u ? thin * kTileN + across : across * kTileN + thin;
}

// Sums over a party's sharers, into `result`.
void sum_up(uint lane, uint sharer, uint party) {
#ifdef SUBGROUP
  if (kAlongK) {
    const uint parts = kWorkgroup / gl_SubgroupSize;
    [[unroll]] for (uint v = 0u; v < kAccumulators; ++v) {
      acc_t sum = subgroupAdd(acc[v]);
      if (gl_SubgroupInvocationID == 0u) partial[v * parts + gl_SubgroupID] = sum;
    }
    barrier();   // every subgroup's sums are there before they are summed
    uint each = kLanes / gl_SubgroupSize;
    for (uint e = lane; e < kParties * kAccumulators; e += kWorkgroup) {
      uint v = e / kParties, of = e % kParties;
      acc_t sum = acc_t(0);
      for (uint i = 0u; i < each; ++i) sum += partial[v * parts + of * each + i];
      result[result_at(of, v)] = sum;
    }
    return;
  }
#endif
  uint at = sharer * kParties + party;
  [[unroll]] for (uint first = 0u; first < kAccumulators; first += kBatch) {
    if (first != 0u) barrier();   // the batch before has been read
    [[unroll]] for (uint v = 0u; v < kBatch; ++v)
      if (first + v < kAccumulators) partial[v * kWorkgroup + at] = acc[first + v];
    for (uint upper = kSharers / 2u; upper > 0u; upper /= 2u) {
      barrier();   // what the upper part holds is there before the lower part adds it
      if (sharer < upper) {
        [[unroll]] for (uint v = 0u; v < kBatch; ++v)
          partial[v * kWorkgroup + at] += partial[v * kWorkgroup + at + upper * kParties];
      }
    }
    if (sharer == 0u) {
      [[unroll]] for (uint v = 0u; v < kBatch; ++v)
        if (first + v < kAccumulators) result[result_at(party, first + v)] = partial[v * kWorkgroup + at];
    }
  }
}

// ---- the way along K

const uint kHeld = kAlongK ? kRows : 1u;
uvec4 coming[kRounds][kHeld], raw[kRounds][kHeld];   // of the thick operand: on their way, and there
uint row[kHeld];                 // of this invocation, in the tile

uint step_of(uint round, uint sharer) { return kAlongK ? (round * kLanes + sharer) * kRun : round * kSharers + sharer; }

// `left`: steps from the operands' first on, where `tail` says that they may be less than TILE_K.
void fetch(uvec2 a, uvec2 b, uint thin0, uint sharer, uint left, const bool tail) {
  const uint ld = kSide == 0u ? ldb() : lda(), ld_thin = kSide == 0u ? lda() : ldb();
  [[unroll]] for (uint u = 0u; u < kRounds; ++u) {
    uint step = step_of(u, sharer);
    [[unroll]] for (uint r = 0u; r < kHeld; ++r)
      coming[u][r] = load_thick(kSide == 0u ? b : a, !tail || step < left ? (kAlongK ? row[r] * ld + step : step * ld + row[r]) : 0u);
  }
  fetch_thin(kSide == 0u ? a : b, thin0, ld_thin, left, tail);
}

void take() {
  [[unroll]] for (uint u = 0u; u < kRounds; ++u)
    [[unroll]] for (uint r = 0u; r < kHeld; ++r) raw[u][r] = coming[u][r];
}

void multiply(uint k, uint across0, uint sharer, uint left, const bool tail) {
  [[unroll]] for (uint u = 0u; u < kRounds; ++u) {
    uint step = step_of(u, sharer);
    [[unroll]] for (uint r = 0u; r < kHeld; ++r) {
      acc_t x[MAX_RUN];
      convert(kSide != 0u, raw[u][r], k + step, across0 + row[r], !tail || step < left, x);
      if (kAlongK) multiply_along(r, x, step);
      else multiply_across(x, step);
    }
  }
}

void sum_products(Tile t, uint sharer, uint party) {
  uint across0 = kSide == 0u ? t.n : t.m, thin0 = kSide == 0u ? t.m : t.n;
  uint last = size_across() - across0 - (kAlongK ? 1u : kRun);
  [[unroll]] for (uint r = 0u; r < kHeld; ++r) row[r] = kAlongK ? min(party * kRows + r, last) : min(party * kRun, last);
  uvec2 a = a_address(t, t.m, t.k), b = b_address(t, t.k, t.n);
  const uvec2 step_a = bytes_of(kAType, product64(kTileK, kTransA == 0u ? 1u : lda()));
  const uvec2 step_b = bytes_of(kBType, product64(kTileK, kTransB == 1u ? 1u : ldb()));
  uint length = t.k_end - t.k, full = length / kTileK, left = length - full * kTileK, k = t.k;
  if (full != 0u) {
    fetch(a, b, thin0, sharer, kTileK, false);
    uint step = 0u;
    do {
      take();
      uint now = k;
      stage_thin(now, thin0, kTileK, false);
      barrier();   // the thin operand's piece is there before it is read
      ++step;
      // Behind the last full step the same operands are fetched once more, for nobody: a branch would keep the compiler
      // from moving loads.
      bool more = step < full;
      a = add64(a, more ? step_a : uvec2(0u));
      b = add64(b, more ? step_b : uvec2(0u));
      k += more ? kTileK : 0u;
      fetch(a, b, thin0, sharer, kTileK, false);
      multiply(now, across0, sharer, kTileK, false);
      barrier();   // every lane has read the piece before the next takes its place
    } while (step < full);
    a = add64(a, step_a);
    b = add64(b, step_b);
    k += kTileK;
  }
  if (left != 0u) {
    fetch(a, b, thin0, sharer, left, true);
    take();
    stage_thin(k, thin0, left, true);
    barrier();   // as above
    multiply(k, across0, sharer, left, true);
  }
}

void main() {
  Tile t;
  if (!locate_tile(t)) return;
  uint lane = gl_LocalInvocationID.x;
#ifdef SUBGROUP
  lane = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;   // whole subgroups share a row
#endif
  uint sharer = kAlongK ? lane % kLanes : lane / kLanes, party = kAlongK ? lane / kLanes : lane % kLanes;
  [[unroll]] for (uint v = 0u; v < kAccumulators; ++v) acc[v] = acc_t(0);
  // The splits behind the last whole step of K have nothing to sum.
  if (t.k < t.k_end) sum_products(t, sharer, party);

  sum_up(lane, sharer, party);
  barrier();   // every sum is there before runs of them are stored
  Target target = target_of(t);
  const uint runs_n = kTileN / kWidthD;
  for (uint e = gl_LocalInvocationID.x; e < kTileM * runs_n; e += kWorkgroup) {
    uint m = e / runs_n, n = e % runs_n * kWidthD;
    acc_t run[MAX_RUN];
    [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i) run[i] = result[m * kTileN + min(n + i, kTileN - 1u)];
    if (t.m + m < size_m() && t.n + n < size_n()) store_run(target, t.m + m, t.n + n, run);
  }
}
