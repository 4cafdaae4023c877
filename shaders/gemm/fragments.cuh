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
__device__ __forceinline__ void gather_columns(T (&v)[count]) {
  trade_groups<4u, 1u>(v);
}

// 8 adjacent columns of row m from column n on, which a lane stores; `stored`: there are such.
struct Eight {
  uint m, n;
  bool stored;
};
constexpr uint kEightRuns = 8u / kWidthD;
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
    if (kHasAddends && at.stored && at.m < size_m(push) && at.n + j * kWidthD < columns(push))
      a.run[j] = load_run_addends(push, target, at.m, at.n + j * kWidthD);
  return a;
}
// Applies the epilogue, and stores what lies inside the result.
__device__ __forceinline__ void store_eight(const GemmPush& push, const Target& target, const Eight& at,
                                            const acc_t (&v)[8], const EightAddends& addends) {
#pragma unroll
  for (uint j = 0u; j < 8u; j += kWidthD) {
    acc_t run[MAX_RUN];
#pragma unroll
    for (uint e = 0u; e < MAX_RUN; ++e) run[e] = v[min(j + e, 7u)];
    const uint n = at.n + j;
    if (at.stored && at.m < size_m(push) && n < columns(push))
      store_run_with(push, target, at.m, n, run, offset_of(push, target, at.m, n, ldd(push), d_batch(push)),
                     addends.run[j / kWidthD]);
  }
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
  gather_columns(w);
}
__device__ __forceinline__ void store_pairs(const GemmPush& push, const Target& target, const Eight& at,
                                            const uint (&w)[4]) {
  if (!at.stored || at.m >= size_m(push) || at.n >= columns(push)) return;
  store_raw(target.d, offset_of(push, target, at.m, at.n, ldd(push), d_batch(push)) * 2u, 16u,
            {{w[0], w[1], w[2], w[3]}});
}

// Of `count` columns, at most 32, of row m from column n on: where a lane's eight are after gather_columns().
__device__ __forceinline__ Eight eight_columns(uint m, uint n, const uint count) {
  const uint first = threadIdx.x % 4u * 8u;
  return {m, n + first, first < count};
}
// The same of sums of which the lanes' rows are the result's columns, 8 from n on, and their columns its rows.
__device__ __forceinline__ Eight eight_rows(uint m, uint n, const uint count) {
  const uint place = threadIdx.x % 32u / 4u, row = place / 2u * 8u + threadIdx.x % 4u * 2u + place % 2u;
  return {m + row, n, row < count};
}
// For eight_rows(): lanes with the same place among the four of a row have 8 adjacent columns of 8 rows; each takes one
// of those rows.
__device__ __forceinline__ void gather_rows(acc_t (&v)[8]) { trade_groups<8u, 4u>(v); }

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
