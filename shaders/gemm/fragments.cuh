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

// Applies the epilogue to 8 adjacent columns of row m from column n on, and stores them. What lies outside the result is
// left out.
__device__ __forceinline__ void store_eight(const GemmPush& push, const Target& target, uint m, uint n,
                                            const acc_t (&v)[8]) {
#pragma unroll
  for (uint j = 0u; j < 8u; j += kWidthD) {
    acc_t run[MAX_RUN];
#pragma unroll
    for (uint e = 0u; e < MAX_RUN; ++e) run[e] = v[min(j + e, 7u)];
    if (m < size_m(push) && n + j < columns(push)) store_run(push, target, m, n + j, run);
  }
}

// The same of sums of which the lanes' rows are the result's columns, and their columns its rows. Lanes with the same
// place among the four of a row have 8 adjacent columns n of the rows m + 8 * g + 2 * (l % 4) + e; each takes one of
// those rows of all 8. Three rounds, as an 8 x 8 matrix is transposed by halves.
__device__ __forceinline__ void store_rows(const GemmPush& push, const Target& target, uint m, uint n, acc_t (&v)[8],
                                           const uint count = 32u) {
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
  const uint row = place / 2u * 8u + threadIdx.x % 4u * 2u + place % 2u;
  if (row < count) store_eight(push, target, m + row, n, v);
}

// Applies the epilogue to `count` columns, at most 32, of row m from column n on, and stores them. Each lane's v: its
// columns of the four groups of 8. All lanes of a warp call it together. What lies outside the result is left out.
__device__ __forceinline__ void store_columns(const GemmPush& push, const Target& target, uint m, uint n,
                                              acc_t (&v)[8], const uint count = 32u) {
  gather_columns(v);
  const uint first = threadIdx.x % 4u * 8u;
  if (first < count) store_eight(push, target, m, n + first, v);
}
