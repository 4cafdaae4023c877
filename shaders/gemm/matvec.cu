//! variant f32
//! variant f32.narrow
//! variant f32.subgroup -DSUBGROUP
//! variant f32.subgroup.narrow -DSUBGROUP
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER
//! variant i8.subgroup -DINTEGER -DSUBGROUP
//! variant i8.subgroup.narrow -DINTEGER -DSUBGROUP
// Multiplies a skinny operand (up to 16 rows of A, or columns of B) by a thick one. The thick operand takes the time:
// it is loaded once, in the widest runs, directly into registers. The skinny operand is staged in workgroup memory, a
// step of K at a time ("piece").
// Where the thick operand is contiguous along K, the lanes of a group divide each of its rows along K, and their
// accumulators are added at the end, by shuffles (SUBGROUP: full warps) or through workgroup memory. Where it is
// contiguous across K, kLanes consecutive lanes have columns of their own, and the sets of kLanes lanes divide K.
#include "lib/cuda.cuh"
#include "gemm/gemm.cuh"
#include "gemm/matvec.abi.h"
#include "gemm/epilogue.cuh"

constexpr uint kSide = sectile_constant(MATVEC_SPEC_SIDE, 0u);
constexpr uint kRows = sectile_constant(MATVEC_SPEC_ROWS, 1u);
constexpr uint kLanes = sectile_constant(MATVEC_SPEC_LANES, 32u);
constexpr uint kRounds = sectile_constant(MATVEC_SPEC_ROUNDS, 1u);
constexpr bool kBlocks = sectile_constant(MATVEC_SPEC_BLOCKS, 0u) != 0u;

constexpr uint kSkinny = kSide == 0u ? kTileM : kTileN;                       // rows (columns) of the skinny operand
constexpr bool kAlongK = kSide == 0u ? kTransB == 1u : kTransA == 0u;       // of the thick operand
constexpr bool kSkinnyAlongK = kSide == 0u ? kTransA == 0u : kTransB == 1u;
constexpr uint kRun = kSide == 0u ? kWidthB : kWidthA;                      // elements in a run of the thick operand
constexpr uint kSkinnyRun = kSide == 0u ? kWidthA : kWidthB;

// Slice-K: a group of kSliceK invocations divides K for the same rows of the thick operand ("across"); each invocation
// keeps accumulators of its slice. kGroups groups cover the tile.
constexpr uint kSliceK = kAlongK ? kLanes : kWorkgroup / kLanes;
constexpr uint kGroups = kWorkgroup / kSliceK;
constexpr uint kRunsPerRound = kAlongK ? kRows : 1u;                                // runs per round
constexpr uint kAcross = kAlongK ? kRows : kRun;
constexpr uint kAccumulators = kAcross * kSkinny;

// The skinny operand's piece, in words: [row][k] where the thick operand is contiguous along K, else [k][row]; either
// way loads are vectors.
constexpr uint kPiece = kBlocks ? kTileK / 32u * MATVEC_BLOCK_WORDS : kTileK;   // of a row
__device__ __forceinline__ constexpr uint piece_at(uint k) {
  return kBlocks ? k / 32u * MATVEC_BLOCK_WORDS + k % 32u : k;
}
constexpr uint kBatch = kAccumulators < 16u ? kAccumulators : 16u;
SECTILE_SHARED(uint, skinny, (kSkinny * kPiece + 3u) / 4u * 4u);
SECTILE_SHARED(uint, partial, kBatch * kWorkgroup);
SECTILE_SHARED(uint, result, kTileM * kTileN);

__device__ __forceinline__ uint size_across(const GemmPush& push) {
  return kSide == 0u ? size_n(push) : size_m(push);
}
__device__ __forceinline__ uint size_skinny(const GemmPush& push) { return kSide == 0u ? size_m(push) : size_n(push); }

// Loads a run of A, or (of_b) of B, at k, row or column `across`.
__device__ __forceinline__ uvec4 load_run(const GemmPush& push, const bool of_b, uint64 base, uint at, uint k,
                                          uint across) {
  uvec4 raw = of_b ? load_raw(base, run_at(kBType, at), run_bytes(kBType, kWidthB))
                   : load_raw(base, run_at(kAType, at), run_bytes(kAType, kWidthA));
  if (of_b) hold_scale(push, raw, across, k);
  return raw;
}
// Converts such a run at k, row or column `across`. `whole`: K does not end inside it.
__device__ __forceinline__ void convert(const GemmPush& push, const bool of_b, const uvec4& raw, uint k,
                                        uint across, bool inside, acc_t (&v)[MAX_RUN], const bool whole) {
#ifdef INTEGER
  unpack_bytes(of_b ? kWidthB : kWidthA, raw, v);
#pragma unroll
  for (uint i = 0u; i < MAX_RUN; ++i)
    if (!inside) v[i] = 0;
#else
  if (of_b) convert_b(push, raw, k, across, inside, v, MAX_RUN, whole, true);
  else convert_a(push, raw, k, inside, v);
#endif
}

__device__ __forceinline__ void stage_thin_element(uint row, uint k, acc_t v) {
  skinny[kAlongK ? row * kPiece + piece_at(k) : k * kSkinny + row] = word_of(v);
}

// Runs of the skinny operand's piece, and how many of them an invocation loads.
constexpr uint kSkinnyRuns = kSkinnyAlongK ? kTileK / kSkinnyRun : (kSkinny + kSkinnyRun - 1u) / kSkinnyRun;
constexpr uint kSkinnyItems = (kSkinnyAlongK ? kSkinny : kTileK) * kSkinnyRuns;
constexpr uint kSkinnyLoads = (kSkinnyItems + kWorkgroup - 1u) / kWorkgroup;

struct SkinnyItem {
  uint row, step;
};
__device__ __forceinline__ SkinnyItem skinny_item(uint load) {
  const uint item = min(threadIdx.x + load * kWorkgroup, kSkinnyItems - 1u);
  const uint outer = item / kSkinnyRuns, inner = item % kSkinnyRuns * kSkinnyRun;
  return kSkinnyAlongK ? SkinnyItem{outer, inner} : SkinnyItem{inner, outer};
}

// `row0`: the tile's first row. `left`: how much of K remains from the piece's start on; only where `tail` is set may
// it be less than TILE_K.
__device__ __forceinline__ uint skinny_row(const GemmPush& push, uint row, uint row0) {
  return min(row, size_skinny(push) - row0 - (kSkinnyAlongK ? 1u : kSkinnyRun));
}
__device__ __forceinline__ void fetch_skinny(const GemmPush& push, uint64 base, uint k, uint row0, uint ld, uint left,
                                             const bool tail, uvec4* prefetched_skinny) {
#pragma unroll
  for (uint i = 0u; i < kSkinnyLoads; ++i) {
    const SkinnyItem item = skinny_item(i);
    const uint from = skinny_row(push, item.row, row0);
    const uint at = kSkinnyAlongK ? from * ld + item.step : item.step * ld + from;
    const bool inside = !tail || item.step < left;
    prefetched_skinny[i] =
        load_run(push, kSide != 0u, base, inside ? at : 0u, inside ? k + item.step : k, row0 + (inside ? from : 0u));
  }
}
__device__ __forceinline__ void stage_skinny(const GemmPush& push, uint k, uint row0, uint left, const bool tail,
                                           const uvec4* prefetched_skinny) {
#pragma unroll
  for (uint load = 0u; load < kSkinnyLoads; ++load) {
    if (kSkinnyItems % kWorkgroup != 0u && threadIdx.x + load * kWorkgroup >= kSkinnyItems) continue;
    const SkinnyItem item = skinny_item(load);
    acc_t v[MAX_RUN];
    convert(push, kSide != 0u, prefetched_skinny[load], k + item.step, row0 + skinny_row(push, item.row, row0),
            !tail || item.step < left, v, !tail);
#pragma unroll
    for (uint i = 0u; i < kSkinnyRun; ++i) {
      if (kSkinnyAlongK) stage_thin_element(item.row, item.step + i, v[i]);
      else if (item.row + i < kSkinny) stage_thin_element(item.row + i, item.step, v[i]);
    }
  }
}

// Products of a run of row r that lies along K. acc: [across][skinny].
__device__ __forceinline__ void multiply_along(const uint r, const acc_t (&x)[MAX_RUN], uint step, acc_t* acc) {
  constexpr uint vector = kRun < 4u ? kRun : 4u;
#pragma unroll
  for (uint s = 0u; s < kSkinny; ++s)
#pragma unroll
    for (uint i = 0u; i < kRun; i += vector) {
      const uvec4 y = load_shared(&skinny[s * kPiece + piece_at(step) + i], vector);
#pragma unroll
      for (uint j = 0u; j < vector; ++j)
        acc[r * kSkinny + s] = plus_product(x[i + j], acc_of(y[j]), acc[r * kSkinny + s]);
    }
}
// Products of a run that lies across K, at one k.
__device__ __forceinline__ void multiply_across(const acc_t (&x)[MAX_RUN], uint step, acc_t* acc) {
  constexpr uint vector = kSkinny % 4u == 0u ? 4u : kSkinny % 2u == 0u ? 2u : 1u;
#pragma unroll
  for (uint s = 0u; s < kSkinny; s += vector) {
    const uvec4 y = load_shared(&skinny[step * kSkinny + s], vector);
#pragma unroll
    for (uint i = 0u; i < kRun; ++i)
#pragma unroll
      for (uint j = 0u; j < vector; ++j)
        acc[i * kSkinny + s + j] = plus_product(x[i], acc_of(y[j]), acc[i * kSkinny + s + j]);
  }
}

// Position in the tile's result of accumulator v of a group.
__device__ __forceinline__ uint result_at(uint group, uint v) {
  const uint across = group * kAcross + v / kSkinny, row = v % kSkinny;
  return kSide == 0u ? row * kTileN + across : across * kTileN + row;
}

#ifdef SUBGROUP
constexpr uint kSubgroup = 32u;
// Adds the accumulators of the warps that share a row, into `result`.
__device__ __forceinline__ void add_warps(const acc_t* acc) {
  constexpr uint parts = kWorkgroup / kSubgroup, subgroups_per_group = kLanes / kSubgroup;
#pragma unroll
  for (uint v = 0u; v < kAccumulators; ++v) {
    const acc_t sum = subgroup_add(acc[v]);
    if (threadIdx.x % kSubgroup == 0u) partial[v * parts + threadIdx.x / kSubgroup] = word_of(sum);
  }
  __syncthreads();   // orders every warp's stores of sums before their loads
  for (uint e = threadIdx.x; e < kGroups * kAccumulators; e += kWorkgroup) {
    const uint v = e / kGroups, sum_group = e % kGroups;
    acc_t sum = 0;
    for (uint i = 0u; i < subgroups_per_group; ++i)
      sum = plus(sum, acc_of(partial[v * parts + sum_group * subgroups_per_group + i]));
    result[result_at(sum_group, v)] = word_of(sum);
  }
}
#endif

// Adds the accumulators of a group's slices of K, into `result`.
__device__ __forceinline__ void add_slices(uint slice, uint group, const acc_t* acc) {
  const uint at = slice * kGroups + group;
#pragma unroll
  for (uint first = 0u; first < kAccumulators; first += kBatch) {
    if (first != 0u) __syncthreads();   // orders all loads of the previous batch before these stores
#pragma unroll
    for (uint v = 0u; v < kBatch; ++v)
      if (first + v < kAccumulators) partial[v * kWorkgroup + at] = word_of(acc[first + v]);
#pragma unroll 1
    for (uint upper = kSliceK / 2u; upper > 0u; upper /= 2u) {
      __syncthreads();   // orders the stores of the upper half before the lower half adds them
      if (slice < upper) {
#pragma unroll
        for (uint v = 0u; v < kBatch; ++v)
          if (first + v < kAccumulators)
            partial[v * kWorkgroup + at] = word_of(
                plus(acc_of(partial[v * kWorkgroup + at]), acc_of(partial[v * kWorkgroup + at + upper * kGroups])));
      }
    }
    if (slice == 0u) {
#pragma unroll
      for (uint v = 0u; v < kBatch; ++v)
        if (first + v < kAccumulators) result[result_at(group, first + v)] = partial[v * kWorkgroup + at];
    }
  }
}

// Position along K, within the step, of this invocation's run in round u.
__device__ __forceinline__ uint step_of(const uint u, uint slice) {
  return kBlocks ? slice * 32u + u * kRun : kAlongK ? (u * kLanes + slice) * kRun : u * kSliceK + slice;
}

__device__ __forceinline__ void sum_products(const GemmPush& push, const Tile& t, uint slice, uint group,
                                             acc_t* acc) {
  const uint across0 = kSide == 0u ? t.n : t.m, thin0 = kSide == 0u ? t.m : t.n;
  const uint last = size_across(push) - across0 - (kAlongK ? 1u : kRun);
  const uint ld = kSide == 0u ? ldb(push) : lda(push), ld_skinny = kSide == 0u ? lda(push) : ldb(push);
  uint row[kRunsPerRound];
#pragma unroll
  for (uint r = 0u; r < kRunsPerRound; ++r) row[r] = kAlongK ? min(group * kRows + r, last) : min(group * kRun, last);
  uint64 a = a_address(push, t, t.m, t.k), b = b_address(push, t, t.k, t.n);
  const uint64 step_a = bytes_of(kAType, uint64(kTileK) * (kTransA == 0u ? 1u : lda(push)));
  const uint64 step_b = bytes_of(kBType, uint64(kTileK) * (kTransB == 1u ? 1u : ldb(push)));
  // in flight, and loaded
  uvec4 prefetched[kRounds * kRunsPerRound], raw[kRounds * kRunsPerRound], prefetched_skinny[kSkinnyLoads];
  const auto fetch = [&](uint k, uint left, const bool tail) {
#pragma unroll
    for (uint r = 0u; kBlocks && r < kRunsPerRound; ++r) {
      const uint step = step_of(0u, slice);
      const bool inside = !tail || step < left;
      uvec4 block = load_raw(b, run_at(kBType, inside ? row[r] * ld + step : 0u), 16u), run = {};
      hold_scale(push, run, across0 + (inside ? row[r] : 0u), inside ? k + step : k);
#pragma unroll
      for (uint u = 0u; u < kRounds; ++u) {
        run[0] = block[u % 4u];
        prefetched[u * kRunsPerRound + r] = run;
      }
    }
#pragma unroll
    for (uint u = 0u; !kBlocks && u < kRounds; ++u)
#pragma unroll
      for (uint r = 0u; r < kRunsPerRound; ++r) {
        const uint step = step_of(u, slice), at = kAlongK ? row[r] * ld + step : step * ld + row[r];
        const bool inside = !tail || step < left;
        prefetched[u * kRunsPerRound + r] = load_run(push, kSide == 0u, kSide == 0u ? b : a, inside ? at : 0u,
                                                     inside ? k + step : k, across0 + (inside ? row[r] : 0u));
      }
    fetch_skinny(push, kSide == 0u ? a : b, k, thin0, ld_skinny, left, tail, prefetched_skinny);
  };
  const auto take_prefetched = [&] {
#pragma unroll
    for (uint i = 0u; i < kRounds * kRunsPerRound; ++i) raw[i] = prefetched[i];
  };
  const auto multiply = [&](uint k, uint left, const bool tail) {
#pragma unroll
    for (uint u = 0u; u < kRounds; ++u) {
      const uint step = step_of(u, slice);
#pragma unroll
      for (uint r = 0u; r < kRunsPerRound; ++r) {
        acc_t x[MAX_RUN];
        convert(push, kSide == 0u, raw[u * kRunsPerRound + r], k + step, across0 + row[r], !tail || step < left, x,
                !tail);
        if (kAlongK) multiply_along(r, x, step, acc);
        else multiply_across(x, step, acc);
      }
    }
  };
  const uint length = t.k_end - t.k, full = length / kTileK, left = length - full * kTileK;
  uint k = t.k;
  if (full != 0u) {
    fetch(k, kTileK, false);
    uint step = 0u;
#pragma unroll 1
    do {
      const uint current_k = k;
      take_prefetched();
      stage_skinny(push, current_k, thin0, kTileK, false, prefetched_skinny);
      __syncthreads();   // orders the staging of the skinny operand's piece before its loads
      // After the last full step its operands are loaded once more, and not used: a branch would keep the compiler from
      // moving loads.
      const bool more = ++step < full;
      a += more ? step_a : 0u;
      b += more ? step_b : 0u;
      k += more ? kTileK : 0u;
      fetch(k, kTileK, false);
      multiply(current_k, kTileK, false);
      __syncthreads();   // orders all loads of the piece before the next is staged
    } while (step < full);
    a += step_a;
    b += step_b;
    k += kTileK;
  }
  if (left != 0u) {
    fetch(k, left, true);
    take_prefetched();
    stage_skinny(push, k, thin0, left, true, prefetched_skinny);
    __syncthreads();   // as above
    multiply(k, left, true);
  }
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ GemmPush push) {
  Tile t;
  if (!locate_tile(push, t)) return;
  const uint lane = threadIdx.x;
  const uint slice = kAlongK ? lane % kLanes : lane / kLanes, group = kAlongK ? lane / kLanes : lane % kLanes;
  acc_t acc[kAccumulators];
#pragma unroll
  for (uint v = 0u; v < kAccumulators; ++v) acc[v] = 0;
  // Splits that start after the end of K have nothing to sum.
  if (t.k < t.k_end) sum_products(push, t, slice, group, acc);

#ifdef SUBGROUP
  if (kAlongK) add_warps(acc);
  else
#endif
    add_slices(slice, group, acc);
  __syncthreads();   // orders the stores to `result` before runs of it are loaded
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
