// Transposes blocks of elements in registers.
// A row of elements of ELEMENT_BYTES each is packed in 32-bit words, lowest element first.

// Element c of a packed row.
uint element_of(uvec4 row, const uint c) {
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
uint pair_of(uvec4 a, uvec4 b, const uint c) {
  uint x = a[c / 2u], y = b[c / 2u];
  return c % 2u == 0u ? (x & 0xffffu) | (y << 16) : (x >> 16) | (y & 0xffff0000u);
}
#endif

#if ELEMENT_BYTES == 1
// The word {a[c], b[c], e[c], f[c]} of four packed rows.
uint quad_of(uvec4 a, uvec4 b, uvec4 e, uvec4 f, const uint c) {
  uint x = a[c / 4u], y = b[c / 4u], z = e[c / 4u], w = f[c / 4u];
  // Interleaves bytes 0 and 2, or 1 and 3, of two rows. Columns c and c + 2 need the same intermediate values, so
  // common subexpressions are shared.
  uint even = c % 2u == 0u ? (x & 0x00ff00ffu) | ((y & 0x00ff00ffu) << 8)
                           : ((x >> 8) & 0x00ff00ffu) | (y & 0xff00ff00u);
  uint odd = c % 2u == 0u ? (z & 0x00ff00ffu) | ((w & 0x00ff00ffu) << 8)
                          : ((z >> 8) & 0x00ff00ffu) | (w & 0xff00ff00u);
  return c % 4u < 2u ? (even & 0xffffu) | (odd << 16) : (even >> 16) | (odd & 0xffff0000u);
}
#endif

// Maximum number of elements in one access.
#define MAX_VECTOR (16 / ELEMENT_BYTES)

// Column c of a block of `count` rows, packed: element r of the result is element c of rows[r].
uvec4 column_of(uvec4 rows[MAX_VECTOR], const uint count, const uint c) {
  uvec4 result = uvec4(0u);
#if ELEMENT_BYTES == 16
  result = rows[0];
#elif ELEMENT_BYTES == 8
  result.xy = c == 0u ? rows[0].xy : rows[0].zw;
  if (count > 1u) result.zw = c == 0u ? rows[1].xy : rows[1].zw;
#elif ELEMENT_BYTES == 4
  [[unroll]] for (uint r = 0u; r < count; ++r) result[r] = rows[r][c];
#elif ELEMENT_BYTES == 2
  if (count == 1u) result.x = element_of(rows[0], c);
  // Loop indices run from 0 with a plain end test: Mesa's unroller gives up on an end test of r + 1, and on every loop
  // around it.
  [[unroll]] for (uint w = 0u; w < count / 2u; ++w) result[w] = pair_of(rows[2u * w], rows[2u * w + 1u], c);
#else
  if (count < 4u)
    [[unroll]] for (uint r = 0u; r < count; ++r) result.x |= element_of(rows[r], c) << (8u * r);
  [[unroll]] for (uint w = 0u; w < count / 4u; ++w)
    result[w] = quad_of(rows[4u * w], rows[4u * w + 1u], rows[4u * w + 2u], rows[4u * w + 3u], c);
#endif
  return result;
}
