// matmul_wgmma's packed weights, 64 k of a line at a time: first all lines, 32 bytes each, then their scales. Include
// after gemm/wgmma_stage.cuh.
#include "gemm/packed_weights.cuh"

// The place of half a line. Lanes of a warp load the same half of eight lines, which lie in all banks: of each four
// lines the halves change places.
__device__ __forceinline__ uint packed_place(uint line, uint half) {
  return line * MATMUL_WGMMA_PACKED_LINE + ((half ^ (line / 4u & 1u)) << 4);
}
constexpr uint kScalesAt = kTileN * MATMUL_WGMMA_PACKED_LINE;

// Where a lane's shares of a tile's weights lie: half a line's step of every 16th line, and a word of its scales. A
// warp copies a step.
struct PackedSource {
  uint64 weights, scales;   // of the tile's first step and the lane's first line
  uint64 weights_apart, scales_apart;   // from a line to the next one that it copies
  uint line, k, k_end;
  uint lines;   // of the tile, inside the operand
  uint lead;    // lines 16 apart have the same
};
__device__ __forceinline__ PackedSource packed_source(const GemmPush& push, const Tile& t) {
  const Source s = source_at<true>(push, t);
  const uint half = threadIdx.x % 2u, line = threadIdx.x % 32u / 2u;
  const uint64 row = ldb(push) / 32u * 2u;   // bytes of a row's scales
  const uint lead = scale_lead(push, line);
  return {s.base + run_at(kBType, line * s.ld + half * 32u),
          b_scale_address(push) + uint64(t.n + line) * row + t.k / 32u * 2u - lead + 4u * half,
          run_at(kBType, 16u * s.ld), 16u * row, line, t.k, t.k_end, s.rows, lead};
}
// Starts the copies of the step at k.
__device__ __forceinline__ void begin_packed(const Stages& stage, const PackedSource& s, uint k) {
  const uint half = threadIdx.x % 2u, left = s.k_end - k;
  const uint own = left - min(left, half * 32u);   // of K, from the half line's first k on
  const uint bytes = min(16u, (own + 1u) / 2u), end = s.lead + (min(left, kTileK) + 31u) / 32u * 2u;
  const uint scale_bytes = min(4u, end - min(end, 4u * half));
  uint64 weights = s.weights + (k - s.k) / 2u, scales = s.scales + (k - s.k) / 16u;
  const uint to = b_of(stage) + packed_place(s.line, half),
             to_scale = b_of(stage) + kScalesAt + s.line * MATMUL_WGMMA_SCALES_LINE + 4u * half;
#pragma unroll
  for (uint i = 0u; i < kTileN / 16u; ++i, weights += s.weights_apart, scales += s.scales_apart) {
    const bool inside = s.line + 16u * i < s.lines;
    copy_part(to + 16u * i * MATMUL_WGMMA_PACKED_LINE, weights, 16u, inside ? bytes : 0u);
    copy_part(to_scale + 16u * i * MATMUL_WGMMA_SCALES_LINE, scales, 4u, inside ? scale_bytes : 0u);
  }
}

// What a lane holds of a step of the warpgroup's 64 lines: words of the four products, lines g and g + 8 of the warp's
// 16 in turns, less 8 and not scaled; and both lines' scales. `row`: the warpgroup's first line.
struct PackedLines {
  uint words[16];
  uint scales[2];
};
__device__ __forceinline__ PackedLines load_packed_lines(const GemmPush& push, const Stages& stage, uint row) {
  const uint first = row + threadIdx.x % kWarpgroup / 32u * 16u + threadIdx.x % 32u / 4u, at = b_of(stage);
  const uint lead = scale_lead(push, first);   // lines 8 apart have the same
  PackedLines lines;
#pragma unroll
  for (uint r = 0u; r < 2u; ++r) {
    const uint line = first + 8u * r;
    const uvec4 scales = load_place(at + kScalesAt + line * MATMUL_WGMMA_SCALES_LINE, 8u);
    lines.scales[r] = __funnelshift_r(scales[0], scales[1], 8u * lead);
#pragma unroll
    for (uint block = 0u; block < 2u; ++block) {
      const uvec4 v = load_place(at + packed_place(line, block), 16u);
#pragma unroll
      for (uint i = 0u; i < 4u; ++i) lines.words[block * 8u + i / 2u * 4u + i % 2u * 2u + r] = weights_less(v[i]);
    }
  }
  return lines;
}
// The products' words. `left`: of K, from the step's first k on.
__device__ __forceinline__ void scale_lines(const PackedLines& lines, int left, uint (&words)[16]) {
#pragma unroll
  for (uint i = 0u; i < 16u; ++i) {
    const uint k = i / 4u * 16u + i / 2u % 2u * 8u + threadIdx.x % 4u * 2u;
    words[i] = scaled_pair(lines.words[i], scales_of(lines.scales[i % 2u], i >= 8u, left - int(k), kPartialBlocks));
  }
}
