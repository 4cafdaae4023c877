// What kernels of ragged transposes share: the tile that is staged column by column, and how it comes there.
// permute_ragged.abi.h describes the tile. Before it come lib/unaligned.glsl, permute/permute.glsl, and the constants
// kTileD, kRunBytes, kLanesD, kPacked, kInner and kPositions, the elements of a store. OUT_BYTES: bytes of an element
// of the destination.
#include "permute/register_transpose.glsl"

const uint kColumns = kRunBytes / ELEMENT_BYTES;
const uint kSector = PERMUTE_SECTOR / OUT_BYTES;   // elements
const uint kRows = PERMUTE_RAGGED_ROWS(kTileD, OUT_BYTES, kPacked != 0u);
const uint kBlock = ELEMENT_BYTES < 4 ? 4u / ELEMENT_BYTES : 1u;   // rows of a block
const uint kBlockShift = ELEMENT_BYTES == 1 ? 2u : ELEMENT_BYTES == 2 ? 1u : 0u;
const uint kRowLoads = kRunBytes / 16u;
const uint kLanesS = kWorkgroup / kLanesD;
const uint kAccesses = kTileD / kPositions / kLanesD;   // of a column, by an invocation
const uint kBlocks = kRows / kBlock * kRowLoads;
const uint kLoads = (kBlocks + kWorkgroup - 1u) / kWorkgroup;   // blocks of an invocation
const uint kPitch = PERMUTE_RAGGED_PITCH(kRows, ELEMENT_BYTES, kPacked != 0u), kSkew = PERMUTE_RAGGED_SKEW(kRunBytes);
shared uint staged[PERMUTE_RAGGED_SHARED_WORDS(kRows, kRunBytes, ELEMENT_BYTES, kPacked != 0u)];

#include "permute/axis_runs.glsl"

// Where a column begins.
uint place_of(uint c) { return PERMUTE_RAGGED_LEAD + c * kPitch + c / kPer16 * kSkew; }

// Stages a tile. `from`: its first element of S, with all digits of D 0. It has `size_d` indices of D from `begin_d`
// on, of which kRows are loaded, and `columns` of S.
void stage_tile(Source source, offset_t from, Digits begin_d, uint size_d, uint columns) {
  const uint rows = kPacked != 0u ? min(size_d, limit_d()) : size_d;   // what is after them is zeros
  const uint last_load = (columns - 1u) & ~(kPer16 - 1u);   // a packed tile may have fewer columns than kColumns
  // The least and greatest element that a row of the tile can begin with.
  offset_t least = offset_t(begin_d.outer) * src_stride(0u);
  offset_t most = offset_t(advance(begin_d, min(kRows, rows) - 1u, true).outer) * src_stride(0u);
  [[unroll]] for (uint i = 0u; i < 2u; ++i)
    if (i < kInner) most += offset_t((inner_sizes(i) & 0xffffu) - 1u) * inner_src(i);
  if (from + least >= source.first + offset_t(kPer16) &&
      from + most + offset_t(kColumns + 2u * kPer16) < source.last) {
    uvec4 low[kLoads * kBlock], high[kLoads * kBlock];
    uint byte[kLoads * kBlock];
    [[unroll]] for (uint u = 0u; u < kLoads; ++u) {
      const uint block = gl_LocalInvocationID.x + u * kWorkgroup;
      [[unroll]] for (uint b = 0u; b < kBlock; ++b) {
        const uint row = min(block / kRowLoads * kBlock + b, min(rows, kRows) - 1u);
        const uint load = kPacked != 0u ? min(block % kRowLoads * kPer16, last_load) : block % kRowLoads * kPer16;
        const offset_t at = from + after(begin_d, row, true) + offset_t(load);
        byte[u * kBlock + b] = uint(at) % kPer16 * ELEMENT_BYTES;
        low[u * kBlock + b] = load_word_at(source, at);
        high[u * kBlock + b] = load_word_after(source, at);
      }
    }
    [[unroll]] for (uint u = 0u; u < kLoads; ++u) {
      const uint block = gl_LocalInvocationID.x + u * kWorkgroup;
      uvec4 lines[MAX_VECTOR];
      [[unroll]] for (uint b = 0u; b < kBlock; ++b) {
        lines[b] = join_words(low[u * kBlock + b], high[u * kBlock + b], byte[u * kBlock + b]);
        if (kPacked != 0u) lines[b] = block / kRowLoads * kBlock + b < rows ? lines[b] : uvec4(0u);
      }
      const uint place = place_of(block % kRowLoads * kPer16) + block / kRowLoads;
      if (kBlocks % kWorkgroup == 0u || block < kBlocks)
        [[unroll]] for (uint c = 0u; c < kPer16; ++c) {
          const uvec4 v = column_of(lines, kBlock, c);
          staged[place + c * kPitch] = v.x;
        }
    }
  } else {   // some words are not wholly inside the source
    [[dont_unroll]] for (uint x = gl_LocalInvocationID.x; x < kRows / kBlock * kColumns; x += kWorkgroup) {
      const uint c = x % kColumns, block = x / kColumns;
      uvec4 v = uvec4(0u);
      [[unroll]] for (uint b = 0u; b < kBlock; ++b) {
        const uint row = block * kBlock + b;
        const offset_t at = from + after(begin_d, min(row, rows - 1u), true) + offset_t(c);
        const uvec4 x = load_bytes(source.base, clamp(at, source.begin, source.end - 1), ELEMENT_BYTES)
                        << (8u * ELEMENT_BYTES % 32u * b);
        v |= kPacked != 0u && row >= rows ? uvec4(0u) : x;
      }
      staged[place_of(c) + block] = v.x;
    }
  }
}
