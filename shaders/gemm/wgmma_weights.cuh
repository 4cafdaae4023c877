// matmul_wgmma's packed weights, kTileK of a line at a time: first all lines, which a tensor map copies, then their
// scales. Include after gemm/wgmma_stage.cuh.
#include "gemm/packed_weights.cuh"

constexpr uint kPackedLine = MATMUL_WGMMA_PACKED_LINE(kLineParts), kScalesLine = MATMUL_WGMMA_SCALES_LINE(kLineParts);
constexpr uint kScalesAt = kTileN * kPackedLine;
// The place of a chunk of 16 bytes of a line, as tensor maps swizzle them.
__device__ __forceinline__ uint packed_place(uint line, uint chunk) {
  return line * kPackedLine + ((chunk ^ line * kPackedLine / 128u % (kPackedLine / 16u)) << 4);
}

// Where a lane's word of a step's scales lies, of every so many-th line. A warp copies a step. A line has a word more
// than its scales: the first one may begin too early.
constexpr uint kScaleLanes = 2u * kLineParts, kScaleLines = 32u / kScaleLanes;
struct ScaleSource {
  uint64 from, apart;   // of the tile's first step and the lane's first line, and from a line to its next one
  uint line, k, k_end;
  uint lines;   // of the tile, inside the operand
  uint lead;    // the lane's lines have the same
};
__device__ __forceinline__ ScaleSource scale_source(const GemmPush& push, const Tile& t) {
  const uint word = threadIdx.x % kScaleLanes, line = threadIdx.x % 32u / kScaleLanes;
  const uint64 row = ldb(push) / 32u * 2u;   // bytes of a row's scales
  const uint lead = scale_lead(push, line);
  return {b_scale_address(push) + uint64(t.n + line) * row + t.k / 32u * 2u - lead + 4u * word,
          kScaleLines * row, line, t.k, t.k_end, columns(push) - min(t.n, columns(push)), lead};
}
// Starts the copies of the step at k.
__device__ __forceinline__ void begin_scales(const Stages& stage, const ScaleSource& s, uint k) {
  const uint word = threadIdx.x % kScaleLanes, end = s.lead + (min(s.k_end - k, kTileK) + 31u) / 32u * 2u;
  const uint bytes = min(4u, end - min(end, 4u * word));
  uint64 from = s.from + (k - s.k) / 16u;
  const uint to = b_of(stage) + kScalesAt + s.line * kScalesLine + 4u * word;
#pragma unroll
  for (uint i = 0u; i < kTileN / kScaleLines; ++i, from += s.apart)
    copy_part(to + i * kScaleLines * kScalesLine, from, 4u, s.line + i * kScaleLines < s.lines ? bytes : 0u);
}

// What a lane holds of a step of the warpgroup's 64 lines: words of the products, lines g and g + 8 of the warp's 16 in
// turns, less 8 and not scaled; and both lines' scales.
struct PackedLines {
  uint words[SECTILE_SIZE_UP_TO(kLineParts, 4u)][16];
  uint scales[2][SECTILE_SIZE_UP_TO(kLineParts, 4u)];
};
// `row`: the warpgroup's first line.
__device__ __forceinline__ void load_packed_lines(const GemmPush& push, const Stages& stage, uint row,
                                                  PackedLines& lines) {
  const uint first = row + threadIdx.x % kWarpgroup / 32u * 16u + threadIdx.x % 32u / 4u, at = b_of(stage);
  const uint lead = scale_lead(push, first);   // lines 8 apart have the same
#pragma unroll
  for (uint r = 0u; r < 2u; ++r) {
    const uint line = first + 8u * r, scales = at + kScalesAt + line * kScalesLine;
    const uvec4 v = load_place(scales, kLineParts == 1u ? 8u : 16u);
    const uint last = kLineParts == 4u ? load_place(scales + 16u, 4u)[0] : v[kLineParts % 4u];
#pragma unroll
    for (uint part = 0u; part < kLineParts; ++part)
      lines.scales[r][part] = __funnelshift_r(v[part], part + 1u < kLineParts ? v[part + 1u] : last, 8u * lead);
  }
#pragma unroll
  for (uint part = 0u; part < kLineParts; ++part)
#pragma unroll
    for (uint r = 0u; r < 2u; ++r)
#pragma unroll
      for (uint block = 0u; block < 2u; ++block) {
        const uvec4 v = load_place(at + packed_place(first + 8u * r, 2u * part + block), 16u);
#pragma unroll
        for (uint i = 0u; i < 4u; ++i)
          lines.words[part][block * 8u + i / 2u * 4u + i % 2u * 2u + r] = weights_less(v[i]);
      }
}
// The words of a part's products. `left`: of K, from the step's first k on.
__device__ __forceinline__ void scale_lines(const PackedLines& lines, const uint part, int left, uint (&words)[16]) {
#pragma unroll
  for (uint i = 0u; i < 16u; ++i) {
    const uint k = part * kLineK + i / 4u * 16u + i / 2u % 2u * 8u + threadIdx.x % 4u * 2u;
    words[i] = scaled_pair(lines.words[part][i],
                           scales_of(lines.scales[i % 2u][part], i >= 8u, left - int(k), kPartialBlocks));
  }
}
