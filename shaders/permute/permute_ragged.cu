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
#include "lib/cuda.cuh"
#include "lib/memory.cuh"
#include "lib/unaligned.cuh"
#include "permute/permute_ragged.abi.h"
#define OWN_WORDS PERMUTE_RAGGED_WORDS
#include "permute/permute.cuh"

constexpr uint kTileD = sectile_constant(PERMUTE_RAGGED_SPEC_TILE_D, 128u);
constexpr uint kRunBytes = sectile_constant(PERMUTE_RAGGED_SPEC_RUN_BYTES, 128u);

constexpr uint kColumns = kRunBytes / ELEMENT_BYTES;
constexpr uint kSector = PERMUTE_SECTOR / ELEMENT_BYTES;   // elements
constexpr uint kPositions = 8u / ELEMENT_BYTES;                   // elements of a store
constexpr uint kLanesD = PERMUTE_RAGGED_LANES_D, kLanesS = kWorkgroup / kLanesD;
constexpr uint kRows = kTileD + kSector;
constexpr uint kRowLoads = kRunBytes / 16u;
constexpr uint kLoads = (kRows * kRowLoads + kWorkgroup - 1u) / kWorkgroup;   // of an invocation
constexpr uint kPitch = kRunBytes / 4u + 1u;   // odd: the rows of a column are in different banks
SECTILE_SHARED(uint, staged, kRows * kPitch);

// The invocation's words of the tile, row by row, and where one begins in the source.
__device__ __forceinline__ uint word_of(uint u) { return threadIdx.x + u * kWorkgroup; }
__device__ __forceinline__ offset_t row_word(const PermutePush& push, offset_t from, uint size_d, uint word) {
  const uint x = min(word, kRows * kRowLoads - 1u);
  return from + offset_t(min(x / kRowLoads, size_d - 1u)) * src_stride(push, 0u) + offset_t(x % kRowLoads * kPer16);
}
__device__ __forceinline__ void stage(uint word, const uvec4& v) {
  const uint place = word / kRowLoads * kPitch + word % kRowLoads * 4u;
  if (kRows * kRowLoads % kWorkgroup == 0u || word < kRows * kRowLoads)
#pragma unroll
    for (uint w = 0u; w < 4u; ++w) staged[place + w] = v[w];
}

// Element `c` of a row.
__device__ __forceinline__ uint element_at(uint row, uint c) {
#if ELEMENT_BYTES == 4
  return staged[row * kPitch + c];
#elif ELEMENT_BYTES == 2
  return (staged[row * kPitch + (c >> 1u)] >> (16u * (c & 1u))) & 0xffffu;
#else
  return (staged[row * kPitch + (c >> 2u)] >> (8u * (c & 3u))) & 0xffu;
#endif
}

// The positions of column `c` from `row` on that fill an access.
__device__ __forceinline__ uvec4 access_at(uint row, uint c) {
#if ELEMENT_BYTES == 8
  return {{staged[row * kPitch + 2u * c], staged[row * kPitch + 2u * c + 1u]}};
#elif ELEMENT_BYTES == 4
  return {{element_at(row, c), element_at(row + 1u, c)}};
#elif ELEMENT_BYTES == 2
  return {{element_at(row, c) | element_at(row + 1u, c) << 16,
               element_at(row + 2u, c) | element_at(row + 3u, c) << 16}};
#else
  return {{element_at(row, c) | element_at(row + 1u, c) << 8 | element_at(row + 2u, c) << 16 |
                   element_at(row + 3u, c) << 24,
               element_at(row + 4u, c) | element_at(row + 5u, c) << 8 | element_at(row + 6u, c) << 16 |
                   element_at(row + 7u, c) << 24}};
#endif
}

// With one workgroup a multiprocessor stated, ptxas spills nothing to fit more of them.
SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ PermutePush push) {
  uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count(push)) return;
  const Source source = source_of(push.src, source_elements(push));
  const SectileAddress base = rounded_down(push.dst, PERMUTE_SECTOR);
  offset_t from = source.begin, to = lead_of(push.dst, PERMUTE_SECTOR);
  uint size_d = 0u, size_s = 0u;   // indices from the tile's first to the problem's last
  bool first = false;              // part of the destination's rows
#pragma unroll
  for (uint a = 0u; a < kAxes; ++a) {
    const uint digit = take_digit(push, id, a), start = a == 0u ? digit * kTileD : a == 1u ? digit * kColumns : digit;
    if (a == 0u) size_d = extent_d(push) - start;
    if (a == 0u) first = digit == 0u;
    if (a == 1u) size_s = extent_s(push) - start;
    from += offset_t(start) * src_stride(push, a);
    to += offset_t(start) * dst_stride(push, a);
  }

  const offset_t reach =
      from + offset_t(min(kRows, size_d) - 1u) * src_stride(push, 0u) + offset_t(kColumns + 2u * kPer16);
  if (from >= source.first + offset_t(kPer16) && reach < source.last) {
    uvec4 low[kLoads], high[kLoads];
#pragma unroll
    for (uint u = 0u; u < kLoads; ++u) {
      const offset_t word = row_word(push, from, size_d, word_of(u)) & ~offset_t(kPer16 - 1u);
      low[u] = load_bytes(source.base, word, 16u);
      high[u] = load_bytes(source.base, word + offset_t(kPer16), 16u);
    }
#pragma unroll
    for (uint u = 0u; u < kLoads; ++u)
      stage(word_of(u),
            join_words(low[u], high[u], uint(row_word(push, from, size_d, word_of(u))) % kPer16 * ELEMENT_BYTES));
  } else {
    // Some words are not wholly inside the source. No array: a loop with a loop inside is not unrolled, and would move
    // it to memory.
#pragma unroll 1
    for (uint u = 0u; u < kLoads; ++u) {
      const offset_t at = row_word(push, from, size_d, word_of(u)), word = at & ~offset_t(kPer16 - 1u);
      const uvec4 low = assemble_word(source, word), high = assemble_word(source, word + offset_t(kPer16));
      stage(word_of(u), join_words(low, high, uint(at) % kPer16 * ELEMENT_BYTES));
    }
  }
  __syncthreads();   // the whole tile is staged before loads by other invocations

  const uint lane = threadIdx.x % kLanesD;
  const bool middle = !first && size_d >= kRows;   // every access is whole
#pragma unroll
  for (uint g = 0u; g < (kColumns + kLanesS - 1u) / kLanesS; ++g) {
    const uint c = g * kLanesS + threadIdx.x / kLanesD;
    if (c < min(size_s, kColumns)) {
      const offset_t row = to + offset_t(c) * dst_stride(push, 1u);
      const uint skip = (0u - uint(row)) & (kSector - 1u);   // positions before the first sector
#pragma unroll
      for (uint u = 0u; u < kTileD / kPositions / kLanesD; ++u) {
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
                      words_of(element_at(position, c)));
#endif
      }
    }
  }
}
