// 4-bit weights that lie in workgroup memory as they do in global memory, and become f16 or bf16 in the registers of
// the warp that multiplies them. Include after gemm/gemm.cuh.
// Method: Marlin (Frantar et al., "MARLIN: Mixed-Precision Auto-Regressive Parallel Inference", 2024), without its
// order of weights in memory: here a row has them along K. A matrix unit's lane t = lane % 4 takes elements 2 * t and
// 2 * t + 1 of each 8, which are byte t of each word.

// Elements 2 * t and 2 * t + 1 of a word's eight, less 8, as f16s: byte t twice, the lower 4 bits of one and the upper
// ones of the other as bits of f16s, which are 1024 + q and 64 + q.
__device__ __forceinline__ uint weights_less(uint word) {
  const uint pairs = masked(__byte_perm(word, 0u, threadIdx.x % 4u * 0x1111u), 0x00f0000fu, 0x54006400u);
  return f16_sums(pairs, 0xd480e408u);   // less 1032 and 72
}
// A block's scale for both: the lower f16 of a word, or the upper one. `inside`: elements from the first of the two on
// that K still has. Where `partial` is set the surplus of the last block has a scale of 0: its own may be infinite, and
// infinity times A's zeros would be a NaN.
__device__ __forceinline__ uint scales_of(uint word, const bool upper, int inside, const bool partial) {
  if (!partial) return f16_twice(word, upper);
  const uint one = upper ? 0x32u : 0x10u;
  return __byte_perm(word, 0u, !partial || inside >= 2 ? one * 0x101u : inside == 1 ? one | 0x4400u : 0x4444u);
}

// Scales are copied in aligned words of 4 bytes, the first of which may begin 2 bytes early. A step has an even number
// of blocks, and a tile an even number of lines.
__device__ __forceinline__ uint scale_lead(const GemmPush& push, uint line) {
  return (uint(b_scale_address(push)) + 2u * line * (ldb(push) / 32u)) & 2u;
}
