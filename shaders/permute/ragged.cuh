// What kernels of ragged transposes share: the tile that is staged column by column, and how it comes there.
// permute_ragged.abi.h describes the tile. Before it come lib/unaligned.cuh, permute/permute.cuh, and the constants
// kTileD, kRunBytes, kLanesD, kPacked, kInner and kPositions, the elements of a store. OUT_BYTES: bytes of an element
// of the destination.
#include "permute/register_transpose.cuh"

constexpr uint kColumns = kRunBytes / ELEMENT_BYTES;
constexpr uint kSector = PERMUTE_SECTOR / OUT_BYTES;   // elements
constexpr uint kRows = PERMUTE_RAGGED_ROWS(kTileD, OUT_BYTES, kPacked);
constexpr uint kBlock = ELEMENT_BYTES < 4 ? 4u / ELEMENT_BYTES : 1u;   // rows of a block
constexpr uint kBlockShift = ELEMENT_BYTES == 1 ? 2u : ELEMENT_BYTES == 2 ? 1u : 0u;
constexpr uint kWordsOf = ELEMENT_BYTES < 4 ? 1u : ELEMENT_BYTES / 4u;    // words of a column of a block
constexpr uint kRowLoads = kRunBytes / 16u;
constexpr uint kLanesS = kWorkgroup / kLanesD;
constexpr uint kAccesses = kTileD / kPositions / kLanesD;   // of a column, by an invocation
constexpr uint kBlocks = kRows / kBlock * kRowLoads;
constexpr uint kLoads = (kBlocks + kWorkgroup - 1u) / kWorkgroup;   // blocks of an invocation
constexpr uint kPitch = PERMUTE_RAGGED_PITCH(kRows, ELEMENT_BYTES, kPacked), kSkew = PERMUTE_RAGGED_SKEW(kRunBytes);
SECTILE_SHARED(uint, staged, PERMUTE_RAGGED_SHARED_WORDS(kRows, kRunBytes, ELEMENT_BYTES, kPacked));

#include "permute/axis_runs.cuh"

// Where a column begins.
__device__ __forceinline__ uint place_of(uint c) { return PERMUTE_RAGGED_LEAD + c * kPitch + c / kPer16 * kSkew; }

// Stages a tile. `from`: its first element of S, with all digits of D 0. It has `size_d` indices of D from `begin_d`
// on, of which kRows are loaded, and `columns` of S.
__device__ __forceinline__ void stage_tile(const PermutePush& push, const Source& source, offset_t from, Digits begin_d,
                                           uint size_d, uint columns) {
  const uint rows = kPacked != 0u ? min(size_d, limit_d(push)) : size_d;   // what is after them is zeros
  const uint last_load = (columns - 1u) & ~(kPer16 - 1u);   // a packed tile may have fewer columns than kColumns
  // The least and greatest element that a row of the tile can begin with.
  offset_t least = offset_t(begin_d.outer) * src_stride(push, 0u);
  offset_t most = offset_t(advance(push, begin_d, min(kRows, rows) - 1u, true).outer) * src_stride(push, 0u);
#pragma unroll
  for (uint i = 0u; i < 2u; ++i)
    if (i < kInner) most += offset_t((inner_sizes(push, i) & 0xffffu) - 1u) * inner_src(push, i);
  if (from + least >= source.first + offset_t(kPer16) &&
      from + most + offset_t(kColumns + 2u * kPer16) < source.last) {
    uvec4 low[kLoads * kBlock], high[kLoads * kBlock];
    uint byte[kLoads * kBlock];
#pragma unroll
    for (uint u = 0u; u < kLoads; ++u) {
      const uint block = threadIdx.x + u * kWorkgroup;
#pragma unroll
      for (uint b = 0u; b < kBlock; ++b) {
        const uint row = min(block / kRowLoads * kBlock + b, min(rows, kRows) - 1u);
        const uint load = kPacked != 0u ? min(block % kRowLoads * kPer16, last_load) : block % kRowLoads * kPer16;
        const offset_t at = from + after(push, begin_d, row, true) + offset_t(load);
        byte[u * kBlock + b] = uint(at) % kPer16 * ELEMENT_BYTES;
        low[u * kBlock + b] = load_word_at(source, at);
        high[u * kBlock + b] = load_word_after(source, at);
      }
    }
#pragma unroll
    for (uint u = 0u; u < kLoads; ++u) {
      const uint block = threadIdx.x + u * kWorkgroup;
      uvec4 lines[MAX_VECTOR];
#pragma unroll
      for (uint b = 0u; b < kBlock; ++b) {
        lines[b] = join_words(low[u * kBlock + b], high[u * kBlock + b], byte[u * kBlock + b]);
        if (kPacked != 0u && block / kRowLoads * kBlock + b >= rows) lines[b] = {};
      }
      const uint place = place_of(block % kRowLoads * kPer16) + block / kRowLoads * kWordsOf;
      if (kBlocks % kWorkgroup == 0u || block < kBlocks)
#pragma unroll
        for (uint c = 0u; c < kPer16; ++c) {
          const uvec4 v = column_of(lines, kBlock, c);
#pragma unroll
          for (uint w = 0u; w < kWordsOf; ++w) staged[place + c * kPitch + w] = v[w];
        }
    }
  } else {   // some words are not wholly inside the source
#pragma unroll 1
    for (uint x = threadIdx.x; x < kRows / kBlock * kColumns; x += kWorkgroup) {
      const uint c = x % kColumns, block = x / kColumns;
      uvec4 v = {};
#pragma unroll
      for (uint b = 0u; b < kBlock; ++b) {
        const uint row = block * kBlock + b;
        const offset_t at = from + after(push, begin_d, min(row, rows - 1u), true) + offset_t(c);
        const offset_t below = at < source.end ? at : source.end - 1;
        const uvec4 x = load_bytes(source.base, below > source.begin ? below : source.begin, ELEMENT_BYTES);
        const bool zero = kPacked != 0u && row >= rows;
        v = {{v[0] | (zero ? 0u : x[0]) << (8u * ELEMENT_BYTES % 32u * b), zero ? 0u : x[1]}};
      }
#pragma unroll
      for (uint w = 0u; w < kWordsOf; ++w) staged[place_of(c) + block * kWordsOf + w] = v[w];
    }
  }
}
