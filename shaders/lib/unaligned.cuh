// Reads and writes runs of elements that begin at any address, by aligned accesses. lib/memory.cuh comes before it.
// Offsets count elements from the operand's address rounded down to an access (16 bytes in the source). A word of 16
// bytes that lies only partly inside the source is read in elements, so that no other byte is touched.
constexpr uint kPer16 = 16u / ELEMENT_BYTES;   // elements of 16 bytes

__device__ __forceinline__ SectileAddress rounded_down(SectileAddress address, const uint bytes) {
  return {address.lo & ~(bytes - 1u), address.hi};
}
__device__ __forceinline__ offset_t lead_of(SectileAddress address, const uint bytes) {
  return offset_t((address.lo & (bytes - 1u)) / ELEMENT_BYTES);
}

// The source's elements, from `begin` to `end`, and its first and last word that is wholly inside. It has at least 32
// bytes, so that there is one.
struct Source {
  SectileAddress base;
  offset_t begin, end, first, last;
};

__device__ __forceinline__ Source source_of(SectileAddress address, offset_t elements) {
  Source s;
  s.base = rounded_down(address, 16u);
  s.begin = lead_of(address, 16u);
  s.end = s.begin + elements;
  s.first = (s.begin + offset_t(kPer16 - 1u)) & ~offset_t(kPer16 - 1u);
  s.last = (s.end & ~offset_t(kPer16 - 1u)) - offset_t(kPer16);
  return s;
}

// The aligned 16 bytes that hold element `at`, and those after them: both at an address that is computed once.
__device__ __forceinline__ uvec4 load_word_at(const Source& s, offset_t at) {
  return load_bytes(s.base, at & ~offset_t(kPer16 - 1u), 16u);
}
__device__ __forceinline__ uvec4 load_word_after(const Source& s, offset_t at) {
  return words_of(__ldg(element_at<const uint4>(s.base, at & ~offset_t(kPer16 - 1u)) + 1));
}

// The 16 bytes at `at`, element by element; those outside are 0. No lane branches: compilers keep what a branch needs
// in registers that they then spill.
__device__ __forceinline__ uvec4 assemble_word(const Source& s, offset_t at) {
  uvec4 word = {};
  // Few words are mended, so the code is kept short.
#pragma unroll 1
  for (uint i = 0u; i < kPer16; ++i) {
    // Every lane loads, so that the loop has no branch.
    const offset_t e = at + offset_t(i), below = e < s.end ? e : s.end - 1;
    const uvec4 v = load_bytes(s.base, below > s.begin ? below : s.begin, ELEMENT_BYTES);
    const bool inside = e >= s.begin && e < s.end;
    // Constant indices from the start: in a loop over the words the compiler would move them to local memory.
#if ELEMENT_BYTES == 8
    const uint x = inside ? v[0] : 0u, y = inside ? v[1] : 0u;
    word = {{i == 0u ? x : word[0], i == 0u ? y : word[1], i == 1u ? x : word[2], i == 1u ? y : word[3]}};
#else
    constexpr uint per = 4u / ELEMENT_BYTES;
    const uint bits = (inside ? v[0] : 0u) << (8u * ELEMENT_BYTES * (i % per)), place = i / per;
    word = {{word[0] | (place == 0u ? bits : 0u), word[1] | (place == 1u ? bits : 0u),
             word[2] | (place == 2u ? bits : 0u), word[3] | (place == 3u ? bits : 0u)}};
#endif
  }
  return word;
}

// 32 bits from bit `bits` (0 to 31) of the pair on.
__device__ __forceinline__ uint funnel(uint low, uint high, uint bits) { return __funnelshift_r(low, high, bits); }

// 16 bytes from byte `byte` (0 to 15) of the pair on.
__device__ __forceinline__ uvec4 join_words(const uvec4& a, const uvec4& b, uint byte) {
  const bool two = (byte & 8u) != 0u, one = (byte & 4u) != 0u;
  const uint x0 = two ? a[2] : a[0], x1 = two ? a[3] : a[1], x2 = two ? b[0] : a[2], x3 = two ? b[1] : a[3],
             x4 = two ? b[2] : b[0];
  const uvec4 w = {{one ? x1 : x0, one ? x2 : x1, one ? x3 : x2, one ? x4 : x3}};
#if ELEMENT_BYTES < 4
  const uint x5 = two ? b[3] : b[1], w4 = one ? x5 : x4, bits = 8u * (byte & 3u);
  return {{funnel(w[0], w[1], bits), funnel(w[1], w[2], bits), funnel(w[2], w[3], bits), funnel(w[3], w4, bits)}};
#else
  return w;
#endif
}

// `bytes` bytes, at most 8, from byte `byte` on, a multiple of that, of an access of `all` bytes.
__device__ __forceinline__ uvec4 piece_of(const uvec4& v, uint byte, const uint bytes, const uint all) {
  const bool high = all > 8u && (byte & 8u) != 0u;
  const uint low = high ? v[2] : v[0], upper = high ? v[3] : v[1];
  if (bytes == 8u) return {{low, upper, 0u, 0u}};
  return words_of(((byte & 4u) != 0u ? upper : low) >> (8u * (byte & 3u)));
}

// Stores a piece of an access from byte `next` on if it ends by `stop` and, for `aligned`, if nothing wider begins
// there.
__device__ __forceinline__ void store_piece(SectileAddress base, offset_t at, const uvec4& v, uint& next, uint stop,
                                            const uint bytes, const uint piece, const bool aligned) {
  if ((aligned && (next & piece) == 0u) || next + piece > stop) return;
  store_bytes(base, at + offset_t(next / ELEMENT_BYTES), piece, piece_of(v, next, piece, bytes));
  next += piece;
}

// Stores an access of `bytes` bytes (8 or 16) at `at`, a multiple of that, as far as it lies in [begin, end): elements,
// counted from the access's first. Parts go out in pieces: wider ones until the widest, then narrower ones. No loop: a
// compiler that does not unroll it would have arrays of the caller in local memory.
__device__ __forceinline__ void store_part(SectileAddress base, offset_t at, const uint bytes, const uvec4& v,
                                           int begin, int end) {
  const int count = int(bytes / ELEMENT_BYTES);
  if (begin <= 0 && end >= count) {
    store_bytes(base, at, bytes, v);
    return;
  }
  uint next = uint(begin > 0 ? begin : 0) * ELEMENT_BYTES;
  const uint stop = uint(end < 0 ? 0 : end < count ? end : count) * ELEMENT_BYTES;
  if (ELEMENT_BYTES == 1) store_piece(base, at, v, next, stop, bytes, 1u, true);
  if (ELEMENT_BYTES <= 2) store_piece(base, at, v, next, stop, bytes, 2u, true);
  if (ELEMENT_BYTES <= 4) store_piece(base, at, v, next, stop, bytes, 4u, true);
  if (bytes > 8u) store_piece(base, at, v, next, stop, bytes, 8u, true);
  if (bytes > 8u) store_piece(base, at, v, next, stop, bytes, 8u, false);
  if (ELEMENT_BYTES <= 4) store_piece(base, at, v, next, stop, bytes, 4u, false);
  if (ELEMENT_BYTES <= 2) store_piece(base, at, v, next, stop, bytes, 2u, false);
  if (ELEMENT_BYTES == 1) store_piece(base, at, v, next, stop, bytes, 1u, false);
}
