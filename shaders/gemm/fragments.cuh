// Stores sums as NVIDIA's matrix units leave them. Of 16 rows lane l of a warp has rows l / 4 and l / 4 + 8; of each 8
// columns it has the two from 2 * (l % 4) on (PTX ISA, "Matrix Fragments for mma.m16n8k16"; wgmma's are the same).
// Include after gemm/epilogue.cuh.

// Trades among as many lanes as v has groups, their numbers `apart` apart: before, a lane has its own part of every
// group; after, all parts of one group, that of its number among them. A matrix of groups and lanes is transposed by
// halves.
template <uint groups, uint apart, class T, uint count>
__device__ __forceinline__ void trade_groups(T (&v)[count]) {
  const uint each = count / groups;   // elements of a part
#pragma unroll
  for (uint bit = 1u; bit < groups; bit *= 2u) {
    const bool upper = (threadIdx.x & (apart * bit)) != 0u;
#pragma unroll
    for (uint g = 0u; g < groups; ++g) {
      if ((g & bit) != 0u) continue;
#pragma unroll
      for (uint e = 0u; e < each; ++e) {
        T &low = v[each * g + e], &high = v[each * (g ^ bit) + e];
        const T got = subgroup_xor(upper ? low : high, apart * bit);
        if (upper) low = got;
        else high = got;
      }
    }
  }
}
// Trades columns among the four lanes that have a row: before, a lane has the two from 2 * (l % 4) on of each of four
// groups of 8, as two elements or as a word; after, it has all 8 of group l % 4.
template <class T, uint count>
__device__ __forceinline__ void trade_columns(T (&v)[count]) {
  trade_groups<4u, 1u>(v);
}

// 8 elements that a lane stores in runs of kWidthD adjacent columns: run j is of row m + run_row(j), from column n on.
// Swapped: where eight_rows() says.
struct Eight {
  uint m, n;
  bool stored, swapped;
};
constexpr uint kEightRuns = 8u / kWidthD;
__device__ __forceinline__ uint run_row(const Eight& at, const uint j) {
  return at.swapped ? j / 4u * 2u + j / 2u % 2u * 8u + j % 2u : j;
}
__device__ __forceinline__ bool run_stored(const GemmPush& push, const Eight& at, const uint j) {
  return at.stored && at.m + run_row(at, j) < size_m(push) && at.n < columns(push);
}
constexpr bool kHasAddends = (kHasC | kHasCIsD | kHasResidual) != 0u;

// The epilogue's addends of all runs: loaded before the stores of others, they are in flight together.
struct EightAddends {
  Addends run[8];   // kEightRuns of them
};
__device__ __forceinline__ EightAddends load_eight_addends(const GemmPush& push, const Target& target,
                                                           const Eight& at) {
  EightAddends a = {};
#pragma unroll
  for (uint j = 0u; j < kEightRuns; ++j)
    if (kHasAddends && run_stored(push, at, j))
      a.run[j] = load_run_addends(push, target, at.m + run_row(at, j), at.n);
  return a;
}
// Applies the epilogue to all runs, and stores those that lie inside the result. For a run outside the epilogue reads
// the bias and scales of the last row and column inside, so that it needs no branch.
__device__ __forceinline__ void store_eight(const GemmPush& push, const Target& target, const Eight& at,
                                            const acc_t (&v)[8], const EightAddends& addends) {
  const uint n = min(at.n, columns(push) - kWidthD);
  uvec4 words[8];   // kEightRuns of them
#pragma unroll
  for (uint j = 0u; j < kEightRuns; ++j) {
    acc_t run[MAX_RUN];
#pragma unroll
    for (uint e = 0u; e < MAX_RUN; ++e) run[e] = v[min(j * kWidthD + e, 7u)];
    words[j] = finished_run(push, target, min(at.m + run_row(at, j), size_m(push) - 1u), n, run, addends.run[j]);
  }
#pragma unroll
  for (uint j = 0u; j < kEightRuns; ++j)
    if (run_stored(push, at, j))
      store_raw(target.d,
                offset_of(push, target, at.m + run_row(at, j), at.n, ldd(push), d_batch(push)) *
                    bytes_of_type(kOutType),
                kWidthD * bytes_of_type(kOutType), words[j]);
}

// Whether the epilogue is applied to the pairs of columns that a lane has: results of 2 bytes then change lanes as
// words, half as many as the sums.
constexpr bool kOutPairs = (kOutType == SECTILE_TYPE_F16 || kOutType == SECTILE_TYPE_BF16) && kWidthD == 8u &&
                           !kHasAddends && kFlattenedBatch == 0u;

// Applies the epilogue to a lane's columns of `count`, at most 32, of row m from column n on, and trades them.
__device__ __forceinline__ void finish_pairs(const GemmPush& push, const Target& target, uint m, uint n,
                                             const acc_t (&v)[8], const uint count, uint (&w)[4]) {
  // Vectors are read inside the result alone. Its number of columns is a multiple of 8.
  const uint row = min(m, size_m(push) - 1u), last = columns(push) - 2u;
#pragma unroll
  for (uint g = 0u; g < 4u; ++g) {
    w[g] = 0u;
    if (8u * g >= count) continue;
    const uint column = min(n + 8u * g + threadIdx.x % 4u * 2u, last);
    w[g] = pack_pair(kOutType, finished(push, target, v[2u * g], row, column, 0.0f, 0.0f),
                     finished(push, target, v[2u * g + 1u], row, column + 1u, 0.0f, 0.0f));
  }
  trade_columns(w);
}
__device__ __forceinline__ void store_pairs(const GemmPush& push, const Target& target, const Eight& at,
                                            const uint (&w)[4]) {
  if (!at.stored || at.m >= size_m(push) || at.n >= columns(push)) return;
  store_raw(target.d, offset_of(push, target, at.m, at.n, ldd(push), d_batch(push)) * 2u, 16u,
            {{w[0], w[1], w[2], w[3]}});
}

// Stores of a warp cost by the lines and sectors that they touch. Before them elements are traded so that an access of
// all lanes has the 32 columns of as few rows as it can: of one row for runs of one element, of 8 for runs of 8.
__device__ __forceinline__ void gather_columns(acc_t (&v)[8]) {
  if (kWidthD == 8u) trade_columns(v);
  if (kWidthD == 4u) {
    acc_t low[4] = {v[0], v[1], v[2], v[3]}, high[4] = {v[4], v[5], v[6], v[7]};
    trade_groups<2u, 1u>(low);    // 4 adjacent columns of a group of 8
    trade_groups<2u, 1u>(high);
#pragma unroll
    for (uint e = 0u; e < 4u; ++e) {
      v[e] = low[e];
      v[4u + e] = high[e];
    }
  }
  // Among rows.
  if (kWidthD == 4u) trade_groups<2u, 4u>(v);
  if (kWidthD == 2u) trade_groups<4u, 4u>(v);
  if (kWidthD == 1u) trade_groups<8u, 4u>(v);
}
// Where a lane's eight are then, of `count` columns, at most 32, of row m from column n on.
__device__ __forceinline__ Eight eight_columns(uint m, uint n, const uint count) {
  const uint row = threadIdx.x % 32u / 4u, place = threadIdx.x % 4u;
  const uint first = kWidthD == 8u   ? 8u * place
                     : kWidthD == 4u ? 16u * (row % 2u) + 8u * (place % 2u) + 4u * (place / 2u)
                     : kWidthD == 2u ? 8u * (row % 4u) + 2u * place
                                     : 8u * (row / 2u) + 2u * place + row % 2u;
  return {m - row % kEightRuns, n + first, first < count, false};
}

// The same of sums whose rows are the result's columns: of 16 rows of the result and 16 columns. Runs are of 8
// elements, or of one. Before, v[j] is the lane's sum number swapped_sum(j) of its 8, whose bits are, from the lowest:
// one of two adjacent rows, one of two columns 8 apart, one of two rows 8 apart.
__device__ __forceinline__ constexpr uint swapped_sum(const uint j) {
  return kWidthD == 8u ? j % 2u * 2u + j / 2u % 2u + j / 4u * 4u : j / 4u * 2u + j / 2u % 2u * 4u + j % 2u;
}
__device__ __forceinline__ void gather_rows(acc_t (&v)[8]) {
  if (kWidthD == 8u) trade_groups<8u, 4u>(v);   // lanes 4 apart then have both halves of a row's columns
  else trade_groups<2u, 1u>(v);                 // columns 8 apart are then of neighbouring lanes
}
// Where a lane's eight are then, from row m and column n on.
__device__ __forceinline__ Eight eight_rows(uint m, uint n) {
  const uint column = threadIdx.x % 32u / 4u, row = threadIdx.x % 4u;   // of its sums
  if (kWidthD != 8u) return {m + row / 2u * 4u, n + column + row % 2u * 8u, true, true};
  return {m + row * 2u + column / 2u % 2u + column / 4u * 8u, n + column % 2u * 8u, true, true};
}

// Applies the epilogue to `count` columns, at most 32, of row m from column n on, and stores them. Each lane's v: its
// columns of the four groups of 8. All lanes of a warp call it together. What lies outside the result is left out.
__device__ __forceinline__ void store_columns(const GemmPush& push, const Target& target, uint m, uint n,
                                              acc_t (&v)[8], const uint count = 32u) {
  const Eight at = eight_columns(m, n, count);
  SECTILE_IF_CONSTEXPR (kOutPairs) {
    uint w[4];
    finish_pairs(push, target, m, n, v, count, w);
    store_pairs(push, target, at, w);
    return;
  }
  const EightAddends addends = load_eight_addends(push, target, at);
  gather_columns(v);
  store_eight(push, target, at, v, addends);
}
