//! variant f32
//! variant f32.narrow
//! variant f32.subgroup -DSUBGROUP
//! variant f32.subgroup.narrow -DSUBGROUP
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER
//! variant i8.subgroup -DINTEGER -DSUBGROUP
//! variant i8.subgroup.narrow -DINTEGER -DSUBGROUP
// A thin operand (up to 16 rows of A, or columns of B) times a thick one. The thick one is what takes time: it is read
// once, in the widest runs, straight into registers; a step's piece of the thin one stands in workgroup memory.
// Where the thick operand is contiguous along K, lanes share its rows and sum at the end, by shuffles (SUBGROUP: full
// warps) or through workgroup memory; where it is contiguous across, each lane has columns of its own and groups of
// lanes share K.
#include "lib/cuda.cuh"
#include "lib/matmul.cuh"
#include "matvec.abi.h"
#include "lib/matmul_epilogue.cuh"

constexpr uint kSide = sectile_constant(MATVEC_SPEC_SIDE, 0u);
constexpr uint kRows = sectile_constant(MATVEC_SPEC_ROWS, 1u);
constexpr uint kLanes = sectile_constant(MATVEC_SPEC_LANES, 32u);
constexpr uint kRounds = sectile_constant(MATVEC_SPEC_ROUNDS, 1u);

constexpr uint kThin = kSide == 0u ? kTileM : kTileN;                       // rows of the thin operand
constexpr bool kAlongK = kSide == 0u ? kTransB == 1u : kTransA == 0u;       // the thick one
constexpr bool kThinAlongK = kSide == 0u ? kTransA == 0u : kTransB == 1u;
constexpr uint kRun = kSide == 0u ? kWidthB : kWidthA;                      // of the thick one
constexpr uint kThinRun = kSide == 0u ? kWidthA : kWidthB;

// Sharers of K, and how many such parties there are; sums of an invocation.
constexpr uint kSharers = kAlongK ? kLanes : kWorkgroup / kLanes;
constexpr uint kParties = kWorkgroup / kSharers;
constexpr uint kHeld = kAlongK ? kRows : 1u;                                // runs of a round
constexpr uint kAcross = kAlongK ? kRows : kRun;
constexpr uint kAccumulators = kAcross * kThin;

// The thin operand's step: [row][k] where lanes lie along K, else [k][row], so that either way they read vectors. Words.
constexpr uint kBatch = kAccumulators < 16u ? kAccumulators : 16u;                  // sums that are shared out at a time
SECTILE_SHARED(uint, thin, (kThin * kTileK + 3u) / 4u * 4u);
SECTILE_SHARED(uint, partial, kBatch * kWorkgroup);
SECTILE_SHARED(uint, result, kTileM * kTileN);

__device__ __forceinline__ uint size_across(const MatmulPush& push) { return kSide == 0u ? size_n(push) : size_m(push); }
__device__ __forceinline__ uint size_thin(const MatmulPush& push) { return kSide == 0u ? size_m(push) : size_n(push); }

// A run of A (`a`) or B.
__device__ __forceinline__ uvec4 load_run(const bool a, uint64 base, uint at) {
  return a ? load_raw(base, run_at(kAType, at), run_bytes(kAType, kWidthA)) : load_raw(base, run_at(kBType, at), run_bytes(kBType, kWidthB));
}
// What it holds, at step k and row or column `across`.
__device__ __forceinline__ void convert(const MatmulPush& push, const bool a, const uvec4& raw, uint k, uint across, bool inside,
                                        acc_t (&v)[MAX_RUN]) {
#ifdef INTEGER
  unpack_bytes(a ? kWidthA : kWidthB, raw, v);
#pragma unroll
  for (uint i = 0u; i < MAX_RUN; ++i)
    if (!inside) v[i] = 0;
#else
  if (a) convert_a(push, raw, k, inside, v);
  else convert_b(push, raw, k, across, inside, v);
#endif
}

__device__ __forceinline__ void put_thin(uint row, uint k, acc_t v) { thin[kAlongK ? row * kTileK + k : k * kThin + row] = word_of(v); }

// The piece's runs: an invocation has one a turn.
constexpr uint kThinRuns = kThinAlongK ? kTileK / kThinRun : (kThin + kThinRun - 1u) / kThinRun;
constexpr uint kThinItems = (kThinAlongK ? kThin : kTileK) * kThinRuns;
constexpr uint kThinTurns = (kThinItems + kWorkgroup - 1u) / kWorkgroup;

struct ThinItem {
  uint row, step;
};
__device__ __forceinline__ ThinItem thin_item(uint turn) {
  const uint item = min(threadIdx.x + turn * kWorkgroup, kThinItems - 1u);
  const uint outer = item / kThinRuns, inner = item % kThinRuns * kThinRun;
  return kThinAlongK ? ThinItem{outer, inner} : ThinItem{inner, outer};
}

// `row0`: the tile's first row; `left`: steps from the piece's first on, where `tail` says that they may be less than all.
__device__ __forceinline__ uint thin_row(const MatmulPush& push, uint row, uint row0) {
  return min(row, size_thin(push) - row0 - (kThinAlongK ? 1u : kThinRun));
}
__device__ __forceinline__ void fetch_thin(const MatmulPush& push, uint64 base, uint row0, uint ld, uint left, const bool tail, uvec4* coming) {
#pragma unroll
  for (uint i = 0u; i < kThinTurns; ++i) {
    const ThinItem item = thin_item(i);
    const uint from = thin_row(push, item.row, row0), at = kThinAlongK ? from * ld + item.step : item.step * ld + from;
    coming[i] = load_run(kSide == 0u, base, !tail || item.step < left ? at : 0u);
  }
}
__device__ __forceinline__ void stage_thin(const MatmulPush& push, uint k, uint row0, uint left, const bool tail, const uvec4* coming) {
#pragma unroll
  for (uint turn = 0u; turn < kThinTurns; ++turn) {
    if (kThinItems % kWorkgroup != 0u && threadIdx.x + turn * kWorkgroup >= kThinItems) continue;
    const ThinItem item = thin_item(turn);
    acc_t v[MAX_RUN];
    convert(push, kSide == 0u, coming[turn], k + item.step, row0 + thin_row(push, item.row, row0), !tail || item.step < left, v);
#pragma unroll
    for (uint i = 0u; i < kThinRun; ++i) {
      if (kThinAlongK) put_thin(item.row, item.step + i, v[i]);
      else if (item.row + i < kThin) put_thin(item.row + i, item.step, v[i]);
    }
  }
}

// acc: [across][thin]. Products of a run of row r: lanes along K.
__device__ __forceinline__ void multiply_along(const uint r, const acc_t (&x)[MAX_RUN], uint step, acc_t* acc) {
  constexpr uint vector = kRun < 4u ? kRun : 4u;
#pragma unroll
  for (uint s = 0u; s < kThin; ++s)
#pragma unroll
    for (uint i = 0u; i < kRun; i += vector) {
      const uvec4 y = load_shared(&thin[s * kTileK + step + i], vector);
#pragma unroll
      for (uint j = 0u; j < vector; ++j) acc[r * kThin + s] = plus_product(x[i + j], acc_of(y[j]), acc[r * kThin + s]);
    }
}
// Products of a run across at one step.
__device__ __forceinline__ void multiply_across(const acc_t (&x)[MAX_RUN], uint step, acc_t* acc) {
  constexpr uint vector = kThin % 4u == 0u ? 4u : kThin % 2u == 0u ? 2u : 1u;
#pragma unroll
  for (uint s = 0u; s < kThin; s += vector) {
    const uvec4 y = load_shared(&thin[step * kThin + s], vector);
#pragma unroll
    for (uint i = 0u; i < kRun; ++i)
#pragma unroll
      for (uint j = 0u; j < vector; ++j) acc[i * kThin + s + j] = plus_product(x[i], acc_of(y[j]), acc[i * kThin + s + j]);
  }
}

// Where sum v of a party lies in the tile's result.
__device__ __forceinline__ uint result_at(uint party, uint v) {
  const uint across = party * kAcross + v / kThin, row = v % kThin;
  return kSide == 0u ? row * kTileN + across : across * kTileN + row;
}

#ifdef SUBGROUP
constexpr uint kSubgroup = 32u;
// Sums over the warps that share a row, into `result`.
__device__ __forceinline__ void sum_up_warps(const acc_t* acc) {
  constexpr uint parts = kWorkgroup / kSubgroup, each = kLanes / kSubgroup;
#pragma unroll
  for (uint v = 0u; v < kAccumulators; ++v) {
    const acc_t sum = subgroup_add(acc[v]);
    if (threadIdx.x % kSubgroup == 0u) partial[v * parts + threadIdx.x / kSubgroup] = word_of(sum);
  }
  __syncthreads();   // every warp's sums are there before they are summed
  for (uint e = threadIdx.x; e < kParties * kAccumulators; e += kWorkgroup) {
    const uint v = e / kParties, of = e % kParties;
    acc_t sum = 0;
    for (uint i = 0u; i < each; ++i) sum = plus(sum, acc_of(partial[v * parts + of * each + i]));
    result[result_at(of, v)] = word_of(sum);
  }
}
#endif

// Sums over a party's sharers, into `result`.
__device__ __forceinline__ void sum_up(uint sharer, uint party, const acc_t* acc) {
  const uint at = sharer * kParties + party;
#pragma unroll
  for (uint first = 0u; first < kAccumulators; first += kBatch) {
    if (first != 0u) __syncthreads();   // the batch before has been read
#pragma unroll
    for (uint v = 0u; v < kBatch; ++v)
      if (first + v < kAccumulators) partial[v * kWorkgroup + at] = word_of(acc[first + v]);
#pragma unroll 1
    for (uint upper = kSharers / 2u; upper > 0u; upper /= 2u) {
      __syncthreads();   // what the upper part holds is there before the lower part adds it
      if (sharer < upper) {
#pragma unroll
        for (uint v = 0u; v < kBatch; ++v)
          if (first + v < kAccumulators)
            partial[v * kWorkgroup + at] =
                word_of(plus(acc_of(partial[v * kWorkgroup + at]), acc_of(partial[v * kWorkgroup + at + upper * kParties])));
      }
    }
    if (sharer == 0u) {
#pragma unroll
      for (uint v = 0u; v < kBatch; ++v)
        if (first + v < kAccumulators) result[result_at(party, first + v)] = partial[v * kWorkgroup + at];
    }
  }
}

// A step of the thick operand from round u on, counted from the step's first.
__device__ __forceinline__ uint step_of(const uint u, uint sharer) { return kAlongK ? (u * kLanes + sharer) * kRun : u * kSharers + sharer; }

__device__ __forceinline__ void sum_products(const MatmulPush& push, const Tile& t, uint sharer, uint party, acc_t* acc) {
  const uint across0 = kSide == 0u ? t.n : t.m, thin0 = kSide == 0u ? t.m : t.n;
  const uint last = size_across(push) - across0 - (kAlongK ? 1u : kRun);
  const uint ld = kSide == 0u ? ldb(push) : lda(push), ld_thin = kSide == 0u ? lda(push) : ldb(push);
  uint row[kHeld];
#pragma unroll
  for (uint r = 0u; r < kHeld; ++r) row[r] = kAlongK ? min(party * kRows + r, last) : min(party * kRun, last);
  uint64 a = a_address(push, t, t.m, t.k), b = b_address(push, t, t.k, t.n);
  const uint64 step_a = bytes_of(kAType, uint64(kTileK) * (kTransA == 0u ? 1u : lda(push)));
  const uint64 step_b = bytes_of(kBType, uint64(kTileK) * (kTransB == 1u ? 1u : ldb(push)));
  uvec4 coming[kRounds * kHeld], raw[kRounds * kHeld], coming_thin[kThinTurns];   // on their way, and there
  const auto fetch = [&](uint left, const bool tail) {
#pragma unroll
    for (uint u = 0u; u < kRounds; ++u)
#pragma unroll
      for (uint r = 0u; r < kHeld; ++r) {
        const uint step = step_of(u, sharer), at = kAlongK ? row[r] * ld + step : step * ld + row[r];
        coming[u * kHeld + r] = load_run(kSide != 0u, kSide == 0u ? b : a, !tail || step < left ? at : 0u);
      }
    fetch_thin(push, kSide == 0u ? a : b, thin0, ld_thin, left, tail, coming_thin);
  };
  const auto take = [&] {
#pragma unroll
    for (uint i = 0u; i < kRounds * kHeld; ++i) raw[i] = coming[i];
  };
  const auto multiply = [&](uint k, uint left, const bool tail) {
#pragma unroll
    for (uint u = 0u; u < kRounds; ++u) {
      const uint step = step_of(u, sharer);
#pragma unroll
      for (uint r = 0u; r < kHeld; ++r) {
        acc_t x[MAX_RUN];
        convert(push, kSide != 0u, raw[u * kHeld + r], k + step, across0 + row[r], !tail || step < left, x);
        if (kAlongK) multiply_along(r, x, step, acc);
        else multiply_across(x, step, acc);
      }
    }
  };
  const uint length = t.k_end - t.k, full = length / kTileK, left = length - full * kTileK;
  uint k = t.k;
  if (full != 0u) {
    fetch(kTileK, false);
    uint step = 0u;
#pragma unroll 1
    do {
      const uint now = k;
      take();
      stage_thin(push, now, thin0, kTileK, false, coming_thin);
      __syncthreads();   // the thin operand's piece is there before it is read
      // Behind the last full step the same operands are fetched once more, for nobody: a branch would keep the compiler
      // from moving loads.
      const bool more = ++step < full;
      a += more ? step_a : 0u;
      b += more ? step_b : 0u;
      k += more ? kTileK : 0u;
      fetch(kTileK, false);
      multiply(now, kTileK, false);
      __syncthreads();   // every lane has read the piece before the next takes its place
    } while (step < full);
    a += step_a;
    b += step_b;
    k += kTileK;
  }
  if (left != 0u) {
    fetch(left, true);
    take();
    stage_thin(push, k, thin0, left, true, coming_thin);
    __syncthreads();   // as above
    multiply(k, left, true);
  }
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ MatmulPush push) {
  Tile t;
  if (!locate_tile(push, t)) return;
  const uint lane = threadIdx.x;
  const uint sharer = kAlongK ? lane % kLanes : lane / kLanes, party = kAlongK ? lane / kLanes : lane % kLanes;
  acc_t acc[kAccumulators];
#pragma unroll
  for (uint v = 0u; v < kAccumulators; ++v) acc[v] = 0;
  // The splits behind the last whole step of K have nothing to sum.
  if (t.k < t.k_end) sum_products(push, t, sharer, party, acc);

#ifdef SUBGROUP
  if (kAlongK) sum_up_warps(acc);
  else
#endif
    sum_up(sharer, party, acc);
  __syncthreads();   // every sum is there before runs of them are stored
  const Target target = target_of(push, t);
  constexpr uint runs_n = kTileN / kWidthD;
  for (uint e = threadIdx.x; e < kTileM * runs_n; e += kWorkgroup) {
    const uint m = e / runs_n, n = e % runs_n * kWidthD;
    acc_t run[MAX_RUN];
#pragma unroll
    for (uint i = 0u; i < MAX_RUN; ++i) run[i] = acc_of(result[m * kTileN + min(n + i, kTileN - 1u)]);
    if (t.m + m < size_m(push) && t.n + n < size_n(push)) store_run(push, target, t.m + m, t.n + n, run);
  }
}
