// Stores sums as NVIDIA's matrix units leave them. Of 16 rows lane l of a warp has rows l / 4 and l / 4 + 8; of each 8
// columns it has the two from 2 * (l % 4) on (PTX ISA, "Matrix Fragments for mma.m16n8k16"; wgmma's are the same).
// Include after gemm/epilogue.cuh.

// Trades the columns among the four lanes that have a row. Before, v[2 * g + e] is column 2 * (l % 4) + e of the group
// g of 8 columns; after, the lane has all 8 of group l % 4. Two rounds, as a 4 x 4 matrix is transposed by halves.
__device__ __forceinline__ void gather_columns(acc_t (&v)[8]) {
#pragma unroll
  for (uint bit = 1u; bit <= 2u; bit *= 2u) {
    const bool upper = (threadIdx.x & bit) != 0u;
#pragma unroll
    for (uint g = 0u; g < 4u; ++g) {
      if ((g & bit) != 0u) continue;
#pragma unroll
      for (uint e = 0u; e < 2u; ++e) {
        acc_t &low = v[2u * g + e], &high = v[2u * (g ^ bit) + e];
        const acc_t got = subgroup_xor(upper ? low : high, bit);
        if (upper) low = got;
        else high = got;
      }
    }
  }
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

// The same as gather_columns() for words of two columns: before, w[g] is the lane's pair of group g; after, the lane
// has the four pairs of its group.
__device__ __forceinline__ void gather_pairs(uint (&w)[4]) {
#pragma unroll
  for (uint bit = 1u; bit <= 2u; bit *= 2u) {
    const bool upper = (threadIdx.x & bit) != 0u;
#pragma unroll
    for (uint g = 0u; g < 4u; ++g) {
      if ((g & bit) != 0u) continue;
      uint &low = w[g], &high = w[g ^ bit];
      const uint got = subgroup_xor(upper ? low : high, bit);
      if (upper) low = got;
      else high = got;
    }
  }
}
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
  gather_pairs(w);
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
// of those rows. Three rounds, as an 8 x 8 matrix is transposed by halves.
__device__ __forceinline__ void gather_rows(acc_t (&v)[8]) {
  const uint place = threadIdx.x % 32u / 4u;
#pragma unroll
  for (uint bit = 1u; bit <= 4u; bit *= 2u) {
    const bool upper = (place & bit) != 0u;
#pragma unroll
    for (uint i = 0u; i < 8u; ++i) {
      if ((i & bit) != 0u) continue;
      acc_t &low = v[i], &high = v[i ^ bit];
      const acc_t got = subgroup_xor(upper ? low : high, 4u * bit);
      if (upper) low = got;
      else high = got;
    }
  }
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
