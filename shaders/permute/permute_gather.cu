//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
// Transposes ragged matrices. Rows of the source are copied to workgroup memory as they lie, by asynchronous copies of
// aligned 16-byte words, which need no registers: so many workgroups are resident, with large tiles. Stores of 8 bytes
// gather their elements there. permute_gather.abi.h says how rows lie there.
#include "lib/cuda.cuh"
#include "lib/divisor.cuh"
#include "lib/memory.cuh"
#include "lib/unaligned.cuh"
#include "permute/permute_gather.abi.h"
constexpr uint kPacked = 1u;   // a tile's columns are among the words
constexpr uint kInner = sectile_constant(PERMUTE_GATHER_SPEC_INNER, 0u);
#define OWN_WORDS PERMUTE_RAGGED_WORDS
#include "permute/permute.cuh"
#include "permute/gaps.cuh"

constexpr uint kTileD = sectile_constant(PERMUTE_GATHER_SPEC_TILE_D, 128u);
constexpr uint kWords = sectile_constant(PERMUTE_GATHER_SPEC_WORDS, 16u);
constexpr uint kLanesD = sectile_constant(PERMUTE_GATHER_SPEC_LANES_D, 16u);
constexpr uint kPositions = 8u / ELEMENT_BYTES;        // elements of a store
constexpr uint kSector = PERMUTE_SECTOR / ELEMENT_BYTES;
constexpr uint kRows = PERMUTE_GATHER_ROWS(kTileD, ELEMENT_BYTES);
constexpr uint kColumns = (kWords - 1u) * kPer16;      // at most
constexpr uint kLanesS = kWorkgroup / kLanesD;
constexpr uint kAccesses = kTileD / kPositions / kLanesD;   // of a column, by an invocation
constexpr uint kLoads = (kRows * kWords + kWorkgroup - 1u) / kWorkgroup;
constexpr uint kGroups = PERMUTE_GATHER_GROUPS(ELEMENT_BYTES);
SECTILE_SHARED(uint, staged, PERMUTE_GATHER_SHARED_BYTES(kRows, kWords, ELEMENT_BYTES) / 4u);
#include "permute/axis_runs.cuh"

// Where the tile's rows are in workgroup memory, in bytes: the first one, and from a row of a group and from a group to
// the next.
struct Places {
  uint first, row, group;
};

__device__ __forceinline__ uint place_of(const Places& p, uint row) {
  return p.first + row % kGroups * p.group + row / kGroups * p.row;
}

__device__ __forceinline__ uvec4 element_at(const Places& p, uint position, uint c) {
  const uint at = place_of(p, position) + c * ELEMENT_BYTES;
#if ELEMENT_BYTES == 4
  return words_of(SECTILE_SHARED_AT(uint, staged, at));
#elif ELEMENT_BYTES == 2
  return words_of(uint(SECTILE_SHARED_AT(unsigned short, staged, at)));
#else
  return words_of(uint(SECTILE_SHARED_AT(unsigned char, staged, at)));
#endif
}

__device__ __forceinline__ uvec4 access_at(const Places& p, int position, uint c) {
  uvec4 v = {};
#pragma unroll
  for (uint j = 0u; j < kPositions; ++j)
    v[j * ELEMENT_BYTES / 4u] |= element_at(p, uint(position) + j, c)[0] << (8u * ELEMENT_BYTES * j % 32u);
  return v;
}
// H200: f16 163x173x645 axes=0,2,1 0.63 of a copy with one, 0.68 with all; bytes are no faster with all.
#if ELEMENT_BYTES > 1
#define UNROLLED_EDGES
#endif
#include "permute/columns.cuh"
#undef UNROLLED_EDGES

// Stages `rows` rows of the source, of which kRows are loaded, `stride` elements apart from `from` on.
__device__ __forceinline__ void stage_tile(const Source& source, const Places& p, offset_t from, offset_t stride,
                                           uint rows, uint columns) {
  const offset_t last = from + offset_t(min(rows, kRows) - 1u) * stride + offset_t(columns - 1u);
  const bool inside = from >= source.first && last < source.last + offset_t(kPer16);
#pragma unroll
  for (uint u = 0u; u < kLoads; ++u) {
    const uint i = threadIdx.x + u * kWorkgroup, row = i / kWords, word = i % kWords;
    const offset_t at = from + offset_t(row) * stride;
    const uint lead = uint(at) % kPer16;
    if (row >= min(rows, kRows) || word * kPer16 >= lead + columns) continue;
    const offset_t aligned = at - offset_t(lead) + offset_t(word * kPer16);
    const uint to = place_of(p, row) / 16u * 4u + word * 4u;
    if (inside) {
      copy_async(&staged[to], element_at<const uint4>(source.base, aligned));
    } else {
      const uvec4 v = assemble_word(source, aligned);
      store_shared(&staged[to], 4u, v);
    }
  }
  await_copies();
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ PermutePush push) {
  uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count(push)) return;
  const Source source = source_of(push.src, source_elements(push));
  const SectileAddress base = rounded_down(push.dst, PERMUTE_SECTOR);
  const Start tile = take_tile(push, id);
  const uint size_d = extent_d(push) - tile.d;   // from the tile's first index to the last
  const uint columns = min(extent_s(push) - tile.s, tile_s(push));
  const offset_t stride = src_stride(push, 0u);
  // Of the tile's first element of D and S in the source, and with all digits of S 0 in the destination.
  offset_t from = source.begin + offset_t(tile.s) + offset_t(tile.d) * stride;
  offset_t to = lead_of(push.dst, PERMUTE_SECTOR) + offset_t(tile.d);
#pragma unroll
  for (uint a = 2u; a < kAxes; ++a) {
    const uint digit = take_digit(push, id, a);
    from += offset_t(digit) * src_stride(push, a);
    to += offset_t(digit) * dst_stride(push, a);
  }
  const uint bytes = uint(stride) * ELEMENT_BYTES;
  const Places places = {uint(from) % kPer16 * ELEMENT_BYTES, PERMUTE_GATHER_ROW(kWords, ELEMENT_BYTES, bytes),
                         PERMUTE_GATHER_GROUP(kRows, kWords, ELEMENT_BYTES, bytes)};
  stage_tile(source, places, from, stride, size_d, columns);
  __syncthreads();   // the whole tile is staged before loads by other invocations
  store_columns(push, base, to, digits_of(push, tile.s, false), size_d, columns, columns, tile.d == 0u, places);
}
