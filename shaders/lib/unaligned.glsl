// Reads and writes runs of elements that begin at any address, by aligned accesses. lib/memory.glsl comes before it.
// Offsets count elements from the operand's address rounded down to an access (16 bytes in the source). A word of 16
// bytes that lies only partly inside the source is read in elements, so that no other byte is touched.
const uint kPer16 = 16u / ELEMENT_BYTES;   // elements of 16 bytes

uvec2 rounded_down(uvec2 address, const uint bytes) { return uvec2(address.x & ~(bytes - 1u), address.y); }
offset_t lead_of(uvec2 address, const uint bytes) { return offset_t((address.x & (bytes - 1u)) / ELEMENT_BYTES); }

// The source's elements, from `begin` to `end`, and its first and last word that is wholly inside. It has at least 32
// bytes, so that there is one.
struct Source {
  uvec2 base;
  offset_t begin, end, first, last;
};

Source source_of(uvec2 address, offset_t elements) {
  Source s;
  s.base = rounded_down(address, 16u);
  s.begin = lead_of(address, 16u);
  s.end = s.begin + elements;
  s.first = (s.begin + offset_t(kPer16 - 1u)) & ~offset_t(kPer16 - 1u);
  s.last = (s.end & ~offset_t(kPer16 - 1u)) - offset_t(kPer16);
  return s;
}

// The aligned 16 bytes that hold element `at`, and those after them: both at an address that is computed once.
#ifdef WIDE
uvec4 load_word_at(Source s, offset_t at) { return load_bytes(s.base, at & ~offset_t(kPer16 - 1u), 16u); }
uvec4 load_word_after(Source s, offset_t at) { return load_word_at(s, at + offset_t(kPer16)); }
#else
layout(buffer_reference, std430, buffer_reference_align = 16) buffer RefAfter { layout(offset = 16) uvec4 x[]; };
uvec4 load_word_at(Source s, offset_t at) { return load_bytes(s.base, at, 16u); }
uvec4 load_word_after(Source s, offset_t at) { return RefAfter(s.base).x[at >> SHIFT_OF(16)]; }
#endif

// The 16 bytes at `at`, element by element; those outside are 0. No lane branches: compilers keep what a branch needs
// in registers that they then spill.
uvec4 assemble_word(Source s, offset_t at) {
  uvec4 word = uvec4(0u);
  // Few words are mended, so the code is kept short.
  [[dont_unroll]] for (uint i = 0u; i < kPer16; ++i) {
    // Every lane loads, so that the loop has no branch.
    const offset_t e = at + offset_t(i);
    const uvec4 v = load_bytes(s.base, clamp(e, s.begin, s.end - 1), ELEMENT_BYTES);
    const bool inside = e >= s.begin && e < s.end;
#if ELEMENT_BYTES == 8
    const uvec2 own = inside ? v.xy : uvec2(0u);
    word = i == 0u ? uvec4(own, word.zw) : uvec4(word.xy, own);
#else
    const uint per = 4u / ELEMENT_BYTES, place = i / per;
    const uint bits = (inside ? v.x : 0u) << (8u * ELEMENT_BYTES * (i % per));
    word |= uvec4(place == 0u ? bits : 0u, place == 1u ? bits : 0u, place == 2u ? bits : 0u, place == 3u ? bits : 0u);
#endif
  }
  return word;
}

// 32 bits from bit `bits` (0 to 31) of the pair on. The shift by 32 minus `bits` is split in two: a single shift by 32
// is undefined.
uint funnel(uint low, uint high, uint bits) { return (low >> bits) + ((high << (31u - bits)) << 1u); }

// 16 bytes from byte `byte` (0 to 15) of the pair on.
uvec4 join_words(uvec4 a, uvec4 b, uint byte) {
  const bool two = (byte & 8u) != 0u, one = (byte & 4u) != 0u;
  const uint x0 = two ? a.z : a.x, x1 = two ? a.w : a.y, x2 = two ? b.x : a.z, x3 = two ? b.y : a.w,
             x4 = two ? b.z : b.x;
  const uvec4 w = uvec4(one ? x1 : x0, one ? x2 : x1, one ? x3 : x2, one ? x4 : x3);
#if ELEMENT_BYTES < 4
  const uint x5 = two ? b.w : b.y, w4 = one ? x5 : x4, bits = 8u * (byte & 3u);
  return uvec4(funnel(w.x, w.y, bits), funnel(w.y, w.z, bits), funnel(w.z, w.w, bits), funnel(w.w, w4, bits));
#else
  return w;
#endif
}

// `bytes` bytes, at most 8, from byte `byte` on, a multiple of that, of an access of `all` bytes.
uvec4 piece_of(uvec4 v, uint byte, const uint bytes, const uint all) {
  const bool high = all > 8u && (byte & 8u) != 0u;
  const uvec2 two = high ? v.zw : v.xy;
  if (bytes == 8u) return uvec4(two, 0u, 0u);
  return uvec4(((byte & 4u) != 0u ? two.y : two.x) >> (8u * (byte & 3u)), 0u, 0u, 0u);
}

// Stores a piece of an access from byte `next` on if it ends by `stop` and, for `aligned`, if nothing wider begins
// there.
void store_piece(uvec2 base, offset_t at, uvec4 v, inout uint next, uint stop, const uint bytes, const uint piece,
                 const bool aligned) {
  if ((aligned && (next & piece) == 0u) || next + piece > stop) return;
  store_bytes(base, at + offset_t(next / ELEMENT_BYTES), piece, piece_of(v, next, piece, bytes));
  next += piece;
}

// Stores an access of `bytes` bytes (8 or 16) at `at`, a multiple of that, as far as it lies in [begin, end): elements,
// counted from the access's first. Parts go out in pieces: wider ones until the widest, then narrower ones. No loop: a
// compiler that does not unroll it would have arrays of the caller in memory.
void store_part(uvec2 base, offset_t at, const uint bytes, uvec4 v, int begin, int end) {
  const int count = int(bytes / ELEMENT_BYTES);
  if (begin <= 0 && end >= count) {
    store_bytes(base, at, bytes, v);
    return;
  }
  uint next = uint(max(begin, 0)) * ELEMENT_BYTES;
  const uint stop = uint(clamp(end, 0, count)) * ELEMENT_BYTES;
  if (ELEMENT_BYTES == 1) store_piece(base, at, v, next, stop, bytes, 1u, true);
  if (ELEMENT_BYTES <= 2) store_piece(base, at, v, next, stop, bytes, 2u, true);
  if (ELEMENT_BYTES <= 4) store_piece(base, at, v, next, stop, bytes, 4u, true);
  if (bytes > 8u) store_piece(base, at, v, next, stop, bytes, 8u, true);
  if (bytes > 8u) store_piece(base, at, v, next, stop, bytes, 8u, false);
  if (ELEMENT_BYTES <= 4) store_piece(base, at, v, next, stop, bytes, 4u, false);
  if (ELEMENT_BYTES <= 2) store_piece(base, at, v, next, stop, bytes, 2u, false);
  if (ELEMENT_BYTES == 1) store_piece(base, at, v, next, stop, bytes, 1u, false);
}
