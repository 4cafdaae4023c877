// matmul_wgmma's packed weights, kTileK of a line at a time: first all lines, which a tensor map copies, then their
// scales. Include after gemm/wgmma_stage.cuh.
#include "gemm/packed_weights.cuh"

constexpr uint kPackedLine = MATMUL_WGMMA_PACKED_LINE(kLineParts), kScalesLine = MATMUL_WGMMA_SCALES_LINE(kLineParts);
constexpr uint kScalesAt = kTileN * kPackedLine;
// The place of a line's first chunk of 16 bytes, as tensor maps swizzle them: chunk number i is at place ^ i << 4.
__device__ __forceinline__ uint packed_place(uint line) {
  return line * kPackedLine + ((line * kPackedLine / 128u % (kPackedLine / 16u)) << 4);
}

// Where a lane's word of a step's scales lies, of every so many-th line. A warp copies a step. A line has a word more
// than its scales: the first one may begin too early. Where all lines' scales begin at multiples of their own bytes, a
// lane has all of every 32nd line.
constexpr uint kScaleBytes = 4u * kLineParts;   // of a line, in a step
constexpr uint kScaleLanes = 2u * kLineParts, kScaleLines = 32u / kScaleLanes;
struct ScaleSource {
  uint64 from, row;   // of the tile's first step and the lane's first line, and bytes from a row to the next one
  uint line, k, k_end;
  uint lines;   // of the tile, inside the operand
  uint lead;    // the lane's lines have the same
  bool whole;
};
__device__ __forceinline__ ScaleSource scale_source(const GemmPush& push, const Tile& t) {
  const uint64 row = ldb(push) / 32u * 2u;   // bytes of a row's scales
  const bool whole = (uint(b_scale_address(push)) | uint(row)) % kScaleBytes == 0u;
  const uint lane = threadIdx.x % 32u, line = whole ? lane : lane / kScaleLanes, lead = scale_lead(push, line);
  return {b_scale_address(push) + uint64(t.n + line) * row + t.k / 32u * 2u +
              (whole ? 0u : 4u * (lane % kScaleLanes)) - lead,
          row, line, t.k, t.k_end, columns(push) - min(t.n, columns(push)), lead, whole};
}
// Starts the copies of the step at k.
__device__ __forceinline__ void begin_scales(const Stages& stage, const ScaleSource& s, uint k) {
  const uint end = s.lead + (min(s.k_end - k, kTileK) + 31u) / 32u * 2u;
  uint64 from = s.from + (k - s.k) / 16u;
  const uint to = b_of(stage) + kScalesAt + s.line * kScalesLine;
  if (s.whole) {
#pragma unroll
    for (uint i = 0u; i < kTileN; i += 32u, from += 32u * s.row)
      copy_part(to + i * kScalesLine, from, kScaleBytes, s.line + i < s.lines ? end : 0u);
    return;
  }
  const uint word = 4u * (threadIdx.x % kScaleLanes), bytes = min(4u, end - min(end, word));
#pragma unroll
  for (uint i = 0u; i < kTileN; i += kScaleLines, from += kScaleLines * s.row)
    copy_part(to + i * kScalesLine + word, from, 4u, s.line + i < s.lines ? bytes : 0u);
}

// A step's weights are multiplied 32 of K at a time: a block, which has one scale in each line.
constexpr uint kStepBlocks = 2u * kLineParts;

// What a lane loads of a block: lines g and g + 8 of the warp's 16 of the warpgroup's 64 lines. `row`: the warpgroup's
// first line.
struct PackedBlock {
  uvec4 lines[2];
};
__device__ __forceinline__ uint packed_line(uint row) {
  return row + threadIdx.x % kWarpgroup / 32u * 16u + threadIdx.x % 32u / 4u;
}
__device__ __forceinline__ void load_packed_block(const Stages& stage, uint row, const uint block, PackedBlock& b) {
#pragma unroll
  for (uint r = 0u; r < 2u; ++r)
    b.lines[r] = load_place(((b_of(stage) + packed_place(packed_line(row))) ^ block << 4) + 8u * r * kPackedLine, 16u);
}
// Both lines' scales of a step, two in a word. `lead`: bits before the first one's.
struct PackedScales {
  uint words[2][SECTILE_SIZE_UP_TO(kLineParts, 4u)];
};
__device__ __forceinline__ void load_packed_scales(const Stages& stage, uint row, uint lead, PackedScales& scales) {
#pragma unroll
  for (uint r = 0u; r < 2u; ++r) {
    const uint place = b_of(stage) + kScalesAt + (packed_line(row) + 8u * r) * kScalesLine;
    const uvec4 v = load_place(place, kLineParts == 1u ? 8u : 16u);
    const uint last = kLineParts == 4u ? load_place(place + 16u, 4u)[0] : v[kLineParts % 4u];
#pragma unroll
    for (uint part = 0u; part < kLineParts; ++part)
      scales.words[r][part] = __funnelshift_r(v[part], part + 1u < kLineParts ? v[part + 1u] : last, lead);
  }
}
// The words of a block's two products, of both lines in turns. `left`: of K, from the step's first k on.
__device__ __forceinline__ void convert_packed_block(const PackedBlock& b, const PackedScales& scales, const uint block,
                                                     int left, uint (&words)[8]) {
#pragma unroll
  for (uint i = 0u; i < 8u; ++i) {
    const uint r = i % 2u, k = block * 32u + i / 2u * 8u + threadIdx.x % 4u * 2u;
    words[i] = scaled_pair(weights_less(b.lines[r][i / 2u]),
                           scales_of(scales.words[r][block / 2u], block % 2u != 0u, left - int(k), kPartialBlocks));
  }
}
