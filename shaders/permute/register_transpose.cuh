// Transposes blocks of elements in registers.
// A row of elements of ELEMENT_BYTES each is packed in 32-bit words, lowest element first.

// Element c of a packed row.
__device__ __forceinline__ uint element_of(const uvec4& row, const uint c) {
#if ELEMENT_BYTES == 1
  return (row[c / 4u] >> (8u * (c % 4u))) & 0xffu;
#elif ELEMENT_BYTES == 2
  return (row[c / 2u] >> (16u * (c % 2u))) & 0xffffu;
#else
  return row[c];
#endif
}

#if ELEMENT_BYTES == 2
// The word {a[c], b[c]} of two packed rows.
__device__ __forceinline__ uint pair_of(const uvec4& a, const uvec4& b, const uint c) {
  return __byte_perm(a[c / 2u], b[c / 2u], c % 2u == 0u ? 0x5410u : 0x7632u);
}
#endif

#if ELEMENT_BYTES == 1
// The word {a[c], b[c], e[c], f[c]} of four packed rows.
__device__ __forceinline__ uint quad_of(const uvec4& a, const uvec4& b, const uvec4& e, const uvec4& f, const uint c) {
  // Interleaves bytes 0 and 2, or 1 and 3, of two rows. Columns c and c + 2 need the same intermediate values, so
  // common subexpressions are shared.
  const uint select = c % 2u == 0u ? 0x6240u : 0x7351u;
  const uint upper = __byte_perm(a[c / 4u], b[c / 4u], select);
  const uint lower = __byte_perm(e[c / 4u], f[c / 4u], select);
  return __byte_perm(upper, lower, c % 4u < 2u ? 0x5410u : 0x7632u);
}
#endif

// Maximum number of elements in one access.
#define MAX_VECTOR (16u / ELEMENT_BYTES)

// Column c of a block of `count` rows, packed: element r of the result is element c of rows[r].
__device__ __forceinline__ uvec4 column_of(const uvec4 (&rows)[MAX_VECTOR], const uint count, const uint c) {
  uvec4 result = {};
#if ELEMENT_BYTES >= 4
  constexpr uint words = ELEMENT_BYTES / 4u;
#pragma unroll
  for (uint r = 0u; r < count; ++r)
#pragma unroll
    for (uint w = 0u; w < words; ++w) result[r * words + w] = rows[r][c * words + w];
#elif ELEMENT_BYTES == 2
  if (count == 1u) result[0] = element_of(rows[0], c);
#pragma unroll
  for (uint w = 0u; w < count / 2u; ++w) result[w] = pair_of(rows[2u * w], rows[2u * w + 1u], c);
#else
  if (count < 4u)
#pragma unroll
    for (uint r = 0u; r < count; ++r) result[0] |= element_of(rows[r], c) << (8u * r);
#pragma unroll
  for (uint w = 0u; w < count / 4u; ++w)
    result[w] = quad_of(rows[4u * w], rows[4u * w + 1u], rows[4u * w + 2u], rows[4u * w + 3u], c);
#endif
  return result;
}
