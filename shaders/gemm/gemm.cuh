// Reads the word stream that gemm/gemm.abi.h describes; locates a workgroup's tile; loads and converts runs of A and
// B.
// Include after lib/cuda.cuh. INTEGER (from the variant): int8 products with int accumulators. Every CUDA device has
// 1-byte and 2-byte accesses, so the "narrow" variants that plans name are the same code as the others.
// CONV2D: the kernel is a convolution's, whose words (conv2d/conv2d.abi.h) stand among these and behind them. GATHERED:
// as a product.
#include "gemm/gemm.abi.h"
#include "lib/numbers.cuh"

#ifdef CONV2D
#include "conv2d/conv2d.abi.h"
#define MAX_WORDS CONV2D_MAX_WORDS
#else
#define MAX_WORDS GEMM_MAX_WORDS
#endif

constexpr uint kWorkgroup = sectile_constant(SECTILE_SPEC_WORKGROUP, 128u);
constexpr uint kType = sectile_constant(GEMM_SPEC_TYPE, SECTILE_TYPE_F32);
constexpr uint kAType = sectile_constant(GEMM_SPEC_A_TYPE, SECTILE_TYPE_F32);
constexpr uint kBType = sectile_constant(GEMM_SPEC_B_TYPE, SECTILE_TYPE_F32);
constexpr uint kOutType = sectile_constant(GEMM_SPEC_OUT_TYPE, SECTILE_TYPE_F32);
constexpr uint kTransA = sectile_constant(GEMM_SPEC_TRANS_A, 0u);
constexpr uint kTransB = sectile_constant(GEMM_SPEC_TRANS_B, 0u);
constexpr uint kEpilogue = sectile_constant(GEMM_SPEC_EPILOGUE, 0u);
constexpr uint kWidthA = sectile_constant(GEMM_SPEC_WIDTH_A, 1u);
constexpr uint kWidthB = sectile_constant(GEMM_SPEC_WIDTH_B, 1u);
constexpr uint kWidthD = sectile_constant(GEMM_SPEC_WIDTH_D, 1u);
constexpr uint kGroupM = sectile_constant(GEMM_SPEC_GROUP_M, 1u);
constexpr uint kTileM = sectile_constant(GEMM_SPEC_TILE_M, 64u);
constexpr uint kTileN = sectile_constant(GEMM_SPEC_TILE_N, 64u);
constexpr uint kTileK = sectile_constant(GEMM_SPEC_TILE_K, 16u);

// ---- words

// The words that are not pushed, as a constant table: loads with a constant index fold away.
struct SpecializedWords {
  uint word[MAX_WORDS - GEMM_PUSH_WORDS];
};
__device__ constexpr SpecializedWords specialize_words() {
  SpecializedWords words{};
  for (uint k = 0u; k < MAX_WORDS - GEMM_PUSH_WORDS; ++k)
    words.word[k] = sectile_constant(GEMM_SPEC_WORD0 + k, 0u);
  return words;
}
__device__ constexpr SpecializedWords specialized_words = specialize_words();
__device__ __forceinline__ uint word(const GemmPush& push, const uint k) {
  return k < GEMM_PUSH_WORDS ? push.words[min(k, GEMM_PUSH_WORDS - 1u)]
                               : specialized_words.word[max(k, uint(GEMM_PUSH_WORDS)) - GEMM_PUSH_WORDS];
}
__device__ __forceinline__ uint64 word2(const GemmPush& push, const uint k) {
  return uint64(word(push, k + 1u)) << 32 | word(push, k);
}

constexpr uint kHasC = kEpilogue & GEMM_EPILOGUE_C;
constexpr uint kHasCIsD = (kEpilogue & GEMM_EPILOGUE_C_IS_D) != 0u ? 1u : 0u;
constexpr uint kHasBias = (kEpilogue & (GEMM_EPILOGUE_BIAS_ROW | GEMM_EPILOGUE_BIAS_COLUMN)) != 0u ? 1u : 0u;
constexpr uint kHasScale = (kEpilogue & (GEMM_EPILOGUE_SCALE_ROW | GEMM_EPILOGUE_SCALE_COLUMN)) != 0u ? 1u : 0u;
constexpr uint kHasResidual = (kEpilogue & GEMM_EPILOGUE_RESIDUAL) != 0u ? 1u : 0u;
constexpr uint kHasBScale = kBType >= SECTILE_TYPE_Q8 ? 1u : 0u;
constexpr uint kHasAScale = (kEpilogue & GEMM_EPILOGUE_A_SCALE) != 0u ? 1u : 0u;
constexpr uint kBatched = (kEpilogue & GEMM_EPILOGUE_BATCHED) != 0u ? 1u : 0u;
constexpr uint kVectorBatched = (kEpilogue & GEMM_EPILOGUE_VECTOR_BATCHED) != 0u ? 1u : 0u;
constexpr uint kSplit = (kEpilogue & GEMM_EPILOGUE_SPLIT) != 0u ? 1u : 0u;
constexpr uint kPushedEpilogue = (kEpilogue & GEMM_EPILOGUE_PUSHED) != 0u ? 1u : 0u;
constexpr uint kActivation = (kEpilogue >> GEMM_EPILOGUE_ACTIVATION_SHIFT) & 15u;
constexpr uint kActivationLast = (kEpilogue & GEMM_EPILOGUE_ACTIVATION_LAST) != 0u ? 1u : 0u;
constexpr uint kActivationWords = kActivation == SECTILE_ACTIVATION_LEAKY_RELU ? 1u
                                  : kActivation == SECTILE_ACTIVATION_CLAMP    ? 2u
                                                                               : 0u;

// Offsets in the word stream. A part that the problem lacks takes no words.
constexpr uint kAtC = 0u;
constexpr uint kAtBias = kAtC + 2u * kHasC;
constexpr uint kAtScale = kAtBias + 2u * kHasBias;
constexpr uint kAtResidual = kAtScale + 2u * kHasScale;
constexpr uint kAtBScale = kAtResidual + 2u * kHasResidual;
constexpr uint kAtAScale = kAtBScale + 2u * kHasBScale;
#ifdef CONV2D
constexpr uint kPrologue = sectile_constant(CONV2D_SPEC_PROLOGUE, 0u);
constexpr uint kHasXScale = (kPrologue & CONV2D_PROLOGUE_SCALE) != 0u ? 1u : 0u;
constexpr uint kHasXBias = (kPrologue & CONV2D_PROLOGUE_BIAS) != 0u ? 1u : 0u;
#else
constexpr uint kHasXScale = 0u, kHasXBias = 0u;
#endif
constexpr uint kAtXScale = kAtAScale + 2u * kHasAScale;
constexpr uint kAtXBias = kAtXScale + 2u * kHasXScale;
constexpr uint kAtActivation = kAtXBias + 2u * kHasXBias;
constexpr uint kAtSizes = kAtActivation + kActivationWords;     // M, N, K, alpha, lda, ldb, ldd
constexpr uint kAtLdc = kAtSizes + 7u;
constexpr uint kAtBeta = kAtLdc + kHasC;
constexpr uint kAtLdr = kAtBeta + (kHasC | kHasCIsD);
constexpr uint kAtSplitK = kAtLdr + kHasResidual;
#ifdef GEMM_REDUCE
constexpr uint kHasSplits = 1u;
#else
constexpr uint kHasSplits = kSplit;
#endif
constexpr uint kAtSplits = kAtSplitK + kSplit;
constexpr uint kAtBatches = kAtSplits + kHasSplits;
constexpr uint kAtBatchA = kAtBatches + kBatched;
constexpr uint kAtBatchB = kAtBatchA + 2u * kBatched;
constexpr uint kAtBatchD = kAtBatchB + 2u * kBatched;
constexpr uint kAtBatchC = kAtBatchD + 2u * kBatched;
constexpr uint kAtBatchR = kAtBatchC + 2u * kHasC * kBatched;
constexpr uint kAtRelu = kAtBatchR + 2u * kHasResidual * kBatched;
constexpr uint kAtEnd = kAtRelu + kPushedEpilogue;

__device__ __forceinline__ uint size_m(const GemmPush& push) { return word(push, kAtSizes); }
__device__ __forceinline__ uint size_n(const GemmPush& push) { return word(push, kAtSizes + 1u); }
__device__ __forceinline__ uint size_k(const GemmPush& push) { return word(push, kAtSizes + 2u); }
__device__ __forceinline__ float alpha(const GemmPush& push) { return __uint_as_float(word(push, kAtSizes + 3u)); }
__device__ __forceinline__ uint lda(const GemmPush& push) { return word(push, kAtSizes + 4u); }
__device__ __forceinline__ uint ldb(const GemmPush& push) { return word(push, kAtSizes + 5u); }
__device__ __forceinline__ uint ldd(const GemmPush& push) { return word(push, kAtSizes + 6u); }
__device__ __forceinline__ uint ldc(const GemmPush& push) { return kHasC != 0u ? word(push, kAtLdc) : ldd(push); }
__device__ __forceinline__ uint ldr(const GemmPush& push) { return word(push, kAtLdr); }
__device__ __forceinline__ float beta(const GemmPush& push) { return __uint_as_float(word(push, kAtBeta)); }
__device__ __forceinline__ uint splits(const GemmPush& push) { return kHasSplits != 0u ? word(push, kAtSplits) : 1u; }
__device__ __forceinline__ uint batches(const GemmPush& push) { return kBatched != 0u ? word(push, kAtBatches) : 1u; }

// ---- addresses

// Bytes of a number of elements; Q4 has two elements a byte.
__device__ __forceinline__ uint64 bytes_of(const uint type, uint64 elements) {
  return type == SECTILE_TYPE_Q4 ? elements / 2u : elements * bytes_of_type(type);
}
// address + (row * ld + column) elements.
__device__ __forceinline__ uint64 element_address(uint64 address, const uint type, uint row, uint ld, uint column) {
  return address + bytes_of(type, uint64(row) * ld + column);
}
// address + batch * stride elements; the stride is the two words from k on.
__device__ __forceinline__ uint64 batch_address(const GemmPush& push, uint64 address, const uint type, uint batch,
                                                const uint k) {
  return kBatched == 0u ? address : address + bytes_of(type, batch * word2(push, k));
}

// ---- tiles

#ifdef GATHERED
constexpr uint kFlattenedBatch = sectile_constant(CONV2D_SPEC_FLATTENED_BATCH, 0u);
// The image that has column n, where columns are flattened.
__device__ __forceinline__ uint image_of_column(const GemmPush& push, uint n) {
  return (__umulhi(n, word(push, kAtEnd + 10u)) + n) >> ((word(push, kAtEnd + 7u) >> 16u) & 31u);
}
#else
constexpr uint kFlattenedBatch = 0u;
__device__ __forceinline__ uint image_of_column(const GemmPush&, uint) { return 0u; }
#endif
// That tiles divide among them.
__device__ __forceinline__ uint columns(const GemmPush& push) {
  return kFlattenedBatch != 0u ? size_n(push) * batches(push) : size_n(push);
}

struct Tile {
  uint m, n;              // first row and column of the result
  uint k, k_end;          // range of K that this workgroup sums
  uint batch, split;
};

// False for surplus workgroups of a folded grid. Whole workgroups return together, so every barrier is reached by all.
__device__ __forceinline__ bool locate_tile(const GemmPush& push, Tile& t) {
  uint id = group_id();
  const uint tiles_m = (size_m(push) + kTileM - 1u) / kTileM, tiles_n = (columns(push) + kTileN - 1u) / kTileN;
  const uint tiles = tiles_m * tiles_n;
  const uint outer = id / tiles;
  id -= outer * tiles;
  t.split = 0u;
  t.batch = outer;
  if (kSplit != 0u) {
    t.batch = outer / splits(push);
    t.split = outer - t.batch * splits(push);
  }
  if (kGroupM <= 1u) {
    t.m = id / tiles_n;
    t.n = id - t.m * tiles_n;
  } else {
    const uint band = id / (kGroupM * tiles_n);
    const uint rows = min(tiles_m - band * kGroupM, kGroupM);
    id -= band * kGroupM * tiles_n;
    t.n = id / rows;
    t.m = band * kGroupM + id - t.n * rows;
  }
  t.m *= kTileM;
  t.n *= kTileN;
  t.k = 0u;
  t.k_end = size_k(push);
  if (kSplit != 0u) {
    t.k = t.split * word(push, kAtSplitK);
    t.k_end = min(t.k_end, t.k + word(push, kAtSplitK));
  }
  return t.batch < (kFlattenedBatch != 0u ? 1u : batches(push));
}

__device__ __forceinline__ uint64 a_address(const GemmPush& push, const Tile& t, uint m, uint k) {
  const uint64 base = batch_address(push, address_of(push.a), kAType, t.batch, kAtBatchA);
  return kTransA == 0u ? element_address(base, kAType, m, lda(push), k)
                       : element_address(base, kAType, k, lda(push), m);
}
__device__ __forceinline__ uint64 b_address(const GemmPush& push, const Tile& t, uint k, uint n) {
  const uint64 base = batch_address(push, address_of(push.b), kBType, t.batch, kAtBatchB);
  return kTransB == 0u ? element_address(base, kBType, k, ldb(push), n)
                       : element_address(base, kBType, n, ldb(push), k);
}

// ---- numbers

#ifdef INTEGER
using acc_t = int;
#else
using acc_t = float;
#endif
// An accumulator as a word of workgroup memory, and back.
__device__ __forceinline__ uint word_of(int v) { return uint(v); }
__device__ __forceinline__ uint word_of(float v) { return __float_as_uint(v); }
__device__ __forceinline__ acc_t acc_of(uint word) {
#ifdef INTEGER
  return int(word);
#else
  return __uint_as_float(word);
#endif
}
// Integer sums wrap.
__device__ __forceinline__ int plus(int a, int b) { return int(uint(a) + uint(b)); }
__device__ __forceinline__ float plus(float a, float b) { return a + b; }
__device__ __forceinline__ int plus_product(int a, int b, int acc) { return int(uint(acc) + uint(a * b)); }
__device__ __forceinline__ float plus_product(float a, float b, float acc) { return fmaf(a, b, acc); }

// v rounded to `type`.
__device__ __forceinline__ float rounded_to(const uint type, float v) {
  return type == SECTILE_TYPE_F16 || type == SECTILE_TYPE_BF16 ? unpack_low(type, pack_pair(type, v, 0.0f)) : v;
}
// ---- runs

// Unpacks the int8 elements of a raw run.
__device__ __forceinline__ void unpack_bytes(const uint width, const uvec4& raw, int (&v)[MAX_RUN]) {
#pragma unroll
  for (uint i = 0u; i < MAX_RUN; ++i) v[i] = i < width ? byte_of(raw[i / 4u], i % 4u) : 0;
}

// Bytes of a run of `width` elements.
__device__ __forceinline__ uint run_bytes(const uint type, const uint width) {
  return type == SECTILE_TYPE_Q4 ? width / 2u : width * bytes_of_type(type);
}
// Byte offset of element `at`, the first of a run.
__device__ __forceinline__ uint run_at(const uint type, uint at) {
  return type == SECTILE_TYPE_Q4 ? at / 2u : at * bytes_of_type(type);
}

__device__ __forceinline__ float load_float(uint64 address, uint at) {
  return __uint_as_float(__ldg(global_pointer<const uint>(address, uint64(at) * 4u)));
}

// Converts a raw run of kWidthA elements of A. `k` is the first element's, for a.scale: a run lies along K, or along M
// where A is transposed. Yields zeros where `inside` is false.
__device__ __forceinline__ void convert_a(const GemmPush& push, const uvec4& raw, uint k, bool inside,
                                          float (&v)[MAX_RUN]) {
  unpack_run(kAType, kWidthA, raw, v);
#pragma unroll
  for (uint i = 0u; i < kWidthA; ++i) {
    if (kHasAScale != 0u) v[i] *= load_float(word2(push, kAtAScale), inside ? k + (kTransA == 0u ? i : 0u) : 0u);
    if (kHasAScale != 0u || kAType != kType) v[i] = rounded_to(kType, v[i]);
    if (!inside) v[i] = 0.0f;
  }
}

// b.scale[n][k / 32] of a 4-bit B.
__device__ __forceinline__ float block_scale(const GemmPush& push, uint n, uint k) {
  const uint64 at = 2u * (uint64(n) * (ldb(push) / 32u) + k / 32u);
  return half_to_float(__ldg(global_pointer<const unsigned short>(word2(push, kAtBScale), at)));
}

// The same for B[k, n]; a run lies along N, or along K where B is transposed. A quantized B is shared by all batches.
__device__ __forceinline__ void convert_b(const GemmPush& push, const uvec4& raw, uint k, uint n, bool inside,
                                          float (&v)[MAX_RUN]) {
  unpack_run(kBType, kWidthB, raw, v);
  if (kBType == SECTILE_TYPE_Q8) {
#pragma unroll
    for (uint i = 0u; i < kWidthB; ++i)
      v[i] *= load_float(word2(push, kAtBScale), inside ? n + (kTransB == 0u ? i : 0u) : 0u);
  } else if (kBType == SECTILE_TYPE_Q4) {
    // Runs lie along K and never cross a block of 32. The last run may extend beyond K; its surplus nibbles are set to
    // zero.
    const float scale = block_scale(push, inside ? n : 0u, inside ? k : 0u);
#pragma unroll
    for (uint i = 0u; i < kWidthB; ++i) v[i] = k + i < size_k(push) ? v[i] * scale : 0.0f;
  }
#pragma unroll
  for (uint i = 0u; i < kWidthB; ++i) {
    if (kBType != kType) v[i] = rounded_to(kType, v[i]);
    if (!inside) v[i] = 0.0f;
  }
}
