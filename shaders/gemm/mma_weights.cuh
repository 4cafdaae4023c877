// 4-bit weights that lie in workgroup memory as they do in global memory, so that many steps of them are in flight, and
// become f16 or bf16 in the registers of the warp that multiplies them. Include after gemm/mma_fetch.cuh.
// Method: Marlin (Frantar et al., "MARLIN: Mixed-Precision Auto-Regressive Parallel Inference", 2024), without its
// order of weights in memory: here a row has them along K. Of the 8 bytes of a row's 16 k a lane needs two, which it
// takes by a permutation of bytes; lanes of one row load the same 8 bytes.

// The scales of packed lines lie behind the lines. They are loaded in aligned words, the first of which may begin 2
// bytes early. A step has an even number of blocks, and a tile an even number of lines.
__device__ __forceinline__ uint scale_lead(const GemmPush& push, uint line) {
  return (uint(b_scale_address(push)) + 2u * line * (ldb(push) / 32u)) & 2u;
}
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
// the same places.
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

// Elements 2 * t and 2 * t + 1 of a word's eight, times two f16 scales: byte t twice, the lower 4 bits of one and the
// upper ones of the other as bits of f16s of 1024 and more, which are 1024 + q and 1024 + 16 * q. q - 8 is exact, and
// so is its product with the scale before it is rounded.
__device__ __forceinline__ uint weights_of(uint word, uint scales) {
  const uint pairs = masked(__byte_perm(word, 0u, threadIdx.x % 4u * 0x1111u), 0x00f0000fu, 0x64006400u);
  const uint less = f16_fused(pairs, 0x2c003c00u, 0xd480e408u);   // times 1 less 1032, times 1 / 16 less 72
  if (kType == SECTILE_TYPE_F16) return f16_products(less, scales);
  return pack_pair(kType, unpack_low(SECTILE_TYPE_F16, less) * unpack_low(SECTILE_TYPE_F16, scales),
                   unpack_high(SECTILE_TYPE_F16, less) * unpack_high(SECTILE_TYPE_F16, scales));
}
// A fragment of a product as a matrix unit takes it. `left`: of K, from the product's first k on. The surplus of the
// last block has a scale of 0: its own may be infinite, and infinity times A's zeros would be a NaN.
__device__ __forceinline__ void convert_fragment(const uint* b, int left, uint (&words)[2]) {
#pragma unroll
  for (uint i = 0u; i < 2u; ++i) {
    const int inside = left - int(i * 8u + threadIdx.x % 4u * 2u);
    const uint select = !kPartialBlocks || inside >= 2 ? 0x1010u : inside == 1 ? 0x4410u : 0x4444u;
    words[i] = weights_of(b[i], __byte_perm(b[2], 0u, select));
  }
}
