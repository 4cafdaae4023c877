// matmul_mma's packed weights: copied many steps ahead, converted when a warp multiplies them. Include after
// gemm/mma_fetch.cuh.
#include "gemm/packed_weights.cuh"

// The scales of packed lines lie behind the lines.
__device__ __forceinline__ void copy_scales(const GemmPush& push, const Tile& t, const Cursor& c, WorkgroupAddress to) {
  constexpr uint words = kLinesB * kScaleWords;
  const uint left = rows_left<true>(push, t), end = (c.left + 31u) / 32u * 2u;
#pragma unroll
  for (uint i = 0u; i < (words + kWorkgroup - 1u) / kWorkgroup; ++i) {
    const uint q = threadIdx.x + i * kWorkgroup, line = q / kScaleWords, word = q % kScaleWords;
    if (words % kWorkgroup != 0u && q >= words) continue;
    const uint lead = scale_lead(push, line), own_end = lead + end;
    const uint64 from = b_scale_address(push) + 2u * (uint64(t.n + line) * (ldb(push) / 32u) + c.k / 32u);
    const bool inside = line < left && own_end > 4u * word;
    start_copy(to + 4u * q, inside ? from - lead + 4u * word : b_scale_address(push) & ~uint64(3u), 4u,
               inside ? min(4u, own_end - 4u * word) : 0u);
  }
}

// What a lane holds of a fragment: two words with its bytes, and the block's scale. Lines 8 apart have their chunks in
// the same places; lanes of one line load the same 8 bytes.
constexpr uint kPackedWords = 3u;
__device__ __forceinline__ void load_packed_fragments(const GemmPush& push, uint stage, Warp warp, uint product,
                                                      uint* b) {
  const uint g = threadIdx.x % 32u / 4u, line = warp.n + g, side = stage + kSideA;
  product += warp.product;
  const uint place = side + place_in_tile<true>(line, product * 8u);
  const uint scale = side + kSideB + line * kScaleWords * 4u + scale_lead(push, g) + product / 2u * 2u;
#pragma unroll
  for (uint j = 0u; j < kFragmentsN; ++j) {
    const uint2 v = load_workgroup(reinterpret_cast<const uint2*>(&staged(place, j * 8u * kLineB)));
    b[kPackedWords * j] = v.x;
    b[kPackedWords * j + 1u] = v.y;
    b[kPackedWords * j + 2u] =
        load_workgroup(reinterpret_cast<const unsigned short*>(&staged(scale, j * 8u * kScaleWords * 4u)));
  }
}

// A fragment of a product as a matrix unit takes it. `left`: of K, from the product's first k on.
__device__ __forceinline__ void convert_fragment(const uint* b, int left, uint (&words)[2]) {
#pragma unroll
  for (uint i = 0u; i < 2u; ++i) {
    const int inside = left - int(i * 8u + threadIdx.x % 4u * 2u);
    words[i] = scaled_pair(weights_less(b[i]), scales_of(b[2], false, inside, kPartialBlocks));
  }
}
