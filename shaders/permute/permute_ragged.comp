//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e8 -DELEMENT_BYTES=8
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
//! variant e8.wide -DELEMENT_BYTES=8 -DWIDE -DLONG
// Transposes ragged matrices. Rows of the source come in by aligned 16-byte words, two of which are joined by shifts,
// so that every row begins at a word of workgroup memory. Elements are collected from it and go out by aligned accesses
// of 8 bytes, wherever the destination's rows begin. All loads of a tile are in flight at once.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/memory.glsl"
#include "lib/unaligned.glsl"
#include "permute/permute_ragged.abi.h"
#define OWN_WORDS PERMUTE_RAGGED_WORDS
#include "permute/permute.glsl"

layout(constant_id = PERMUTE_RAGGED_SPEC_TILE_D) const uint kTileD = 128u;
layout(constant_id = PERMUTE_RAGGED_SPEC_RUN_BYTES) const uint kRunBytes = 128u;

const uint kColumns = kRunBytes / ELEMENT_BYTES;
const uint kSector = PERMUTE_SECTOR / ELEMENT_BYTES;   // elements
const uint kPositions = 8u / ELEMENT_BYTES;                   // elements of a store
const uint kLanesD = PERMUTE_RAGGED_LANES_D, kLanesS = kWorkgroup / kLanesD;
const uint kRows = kTileD + kSector;
const uint kRowLoads = kRunBytes / 16u;
const uint kLoads = (kRows * kRowLoads + kWorkgroup - 1u) / kWorkgroup;   // of an invocation
const uint kPitch = kRunBytes / 4u + 1u;   // odd: the rows of a column are in different banks
shared uint staged[kRows * kPitch];

// The invocation's words of the tile, row by row, and where one begins in the source.
uint word_of(uint u) { return gl_LocalInvocationID.x + u * kWorkgroup; }
offset_t row_word(offset_t from, uint size_d, uint word) {
  const uint x = min(word, kRows * kRowLoads - 1u);
  return from + offset_t(min(x / kRowLoads, size_d - 1u)) * src_stride(0u) + offset_t(x % kRowLoads * kPer16);
}
void stage(uint word, uvec4 v) {
  const uint place = word / kRowLoads * kPitch + word % kRowLoads * 4u;
  if (kRows * kRowLoads % kWorkgroup == 0u || word < kRows * kRowLoads)
    [[unroll]] for (uint w = 0u; w < 4u; ++w) staged[place + w] = v[w];
}

// Element `c` of a row.
uint element_at(uint row, uint c) {
#if ELEMENT_BYTES == 4
  return staged[row * kPitch + c];
#elif ELEMENT_BYTES == 2
  return (staged[row * kPitch + (c >> 1u)] >> (16u * (c & 1u))) & 0xffffu;
#else
  return (staged[row * kPitch + (c >> 2u)] >> (8u * (c & 3u))) & 0xffu;
#endif
}

// The positions of column `c` from `row` on that fill an access.
uvec4 access_at(uint row, uint c) {
#if ELEMENT_BYTES == 8
  return uvec4(staged[row * kPitch + 2u * c], staged[row * kPitch + 2u * c + 1u], 0u, 0u);
#elif ELEMENT_BYTES == 4
  return uvec4(element_at(row, c), element_at(row + 1u, c), 0u, 0u);
#elif ELEMENT_BYTES == 2
  return uvec4(element_at(row, c) | element_at(row + 1u, c) << 16,
               element_at(row + 2u, c) | element_at(row + 3u, c) << 16, 0u, 0u);
#else
  return uvec4(element_at(row, c) | element_at(row + 1u, c) << 8 | element_at(row + 2u, c) << 16 |
                   element_at(row + 3u, c) << 24,
               element_at(row + 4u, c) | element_at(row + 5u, c) << 8 | element_at(row + 6u, c) << 16 |
                   element_at(row + 7u, c) << 24, 0u, 0u);
#endif
}

void main() {
  uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count()) return;
  const Source source = source_of(push.src, source_elements());
  const uvec2 base = rounded_down(push.dst, PERMUTE_SECTOR);
  offset_t from = source.begin, to = lead_of(push.dst, PERMUTE_SECTOR);
  uint size_d = 0u, size_s = 0u;   // indices from the tile's first to the problem's last
  bool first = false;              // part of the destination's rows
  [[unroll]] for (uint a = 0u; a < kAxes; ++a) {
    const uint digit = take_digit(id, a), start = a == 0u ? digit * kTileD : a == 1u ? digit * kColumns : digit;
    if (a == 0u) size_d = extent_d() - start;
    if (a == 0u) first = digit == 0u;
    if (a == 1u) size_s = extent_s() - start;
    from += offset_t(start) * src_stride(a);
    to += offset_t(start) * dst_stride(a);
  }

  const offset_t reach = from + offset_t(min(kRows, size_d) - 1u) * src_stride(0u) + offset_t(kColumns + 2u * kPer16);
  if (from >= source.first + offset_t(kPer16) && reach < source.last) {
    uvec4 low[kLoads], high[kLoads];
    [[unroll]] for (uint u = 0u; u < kLoads; ++u) {
      const offset_t word = row_word(from, size_d, word_of(u)) & ~offset_t(kPer16 - 1u);
      low[u] = load_bytes(source.base, word, 16u);
      high[u] = load_bytes(source.base, word + offset_t(kPer16), 16u);
    }
    [[unroll]] for (uint u = 0u; u < kLoads; ++u)
      stage(word_of(u), join_words(low[u], high[u], uint(row_word(from, size_d, word_of(u))) % kPer16 * ELEMENT_BYTES));
  } else {
    // Some words are not wholly inside the source. No array: a loop with a loop inside is not unrolled, and would move
    // it to memory.
    [[dont_unroll]] for (uint u = 0u; u < kLoads; ++u) {
      const offset_t at = row_word(from, size_d, word_of(u)), word = at & ~offset_t(kPer16 - 1u);
      const uvec4 low = assemble_word(source, word), high = assemble_word(source, word + offset_t(kPer16));
      stage(word_of(u), join_words(low, high, uint(at) % kPer16 * ELEMENT_BYTES));
    }
  }
  barrier();   // the whole tile is staged before loads by other invocations

  const uint lane = gl_LocalInvocationID.x % kLanesD;
  const bool middle = !first && size_d >= kRows;   // every access is whole
  [[unroll]] for (uint g = 0u; g < (kColumns + kLanesS - 1u) / kLanesS; ++g) {
    const uint c = g * kLanesS + gl_LocalInvocationID.x / kLanesD;
    if (c < min(size_s, kColumns)) {
      const offset_t row = to + offset_t(c) * dst_stride(1u);
      const uint skip = (0u - uint(row)) & (kSector - 1u);   // positions before the first sector
      [[unroll]] for (uint u = 0u; u < kTileD / kPositions / kLanesD; ++u) {
        const uint position = skip + (lane + u * kLanesD) * kPositions;
        const uvec4 v = access_at(position, c);
        if (middle) store_bytes(base, row + offset_t(position), 8u, v);
        else if (position < size_d) store_part(base, row + offset_t(position), 8u, v, 0, int(size_d - position));
      }
      if (first) {
        for (uint position = lane; position < min(skip, size_d); position += kLanesD)
          store_bytes(base, row + offset_t(position), ELEMENT_BYTES,
#if ELEMENT_BYTES == 8
                      access_at(position, c));
#else
                      uvec4(element_at(position, c), 0u, 0u, 0u));
#endif
      }
    }
  }
}
