// What kernels share whose results have a GEMM's epilogue: the constants and words of gemm/gemm.abi.h, numbers,
// addresses, runs. gemm/gemm.cuh has the rest of a GEMM.
// Include after lib/cuda.cuh. INTEGER (from the variant): int8 products with int accumulators. Every CUDA device has
// 1-byte and 2-byte accesses, so the "narrow" variants that plans name are the same code as the others.
// A kernel that is no GEMM defines OWN_WORDS, its list; one with further operands EXTRA_ADDRESS_WORDS; one of which an
// operand is gathered GATHERED_WORDS, kFlattenedBatch and BATCH_OF_COLUMN(n); one that has more words MAX_WORDS
// GEMM_MOST_WORDS.
#include "gemm/gemm.abi.h"
#include "lib/numbers.cuh"
#include "lib/words.abi.h"

#define SECTILE_PUSH GemmPush
#ifndef OWN_WORDS
#define OWN_WORDS GEMM_WORDS
#endif
#ifndef EXTRA_ADDRESS_WORDS
#define EXTRA_ADDRESS_WORDS GEMM_NO_WORDS
#endif
#ifndef MAX_WORDS
#define MAX_WORDS GEMM_MAX_WORDS
#endif
#if MAX_WORDS != GEMM_MAX_WORDS && MAX_WORDS != GEMM_MOST_WORDS
#error MAX_WORDS is GEMM_MAX_WORDS or GEMM_MOST_WORDS
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

// Where each list begins is where the one before it ends.
constexpr uint stream_end = 0u;
SECTILE_READ(GEMM_ADDRESS_WORDS)
SECTILE_READ(EXTRA_ADDRESS_WORDS)
constexpr uint operands_end = stream_end + SECTILE_SIZE(GEMM_ADDRESS_WORDS) + SECTILE_SIZE(EXTRA_ADDRESS_WORDS);
SECTILE_READ(GEMM_ACTIVATION_WORDS)
constexpr uint activation_end = operands_end + SECTILE_SIZE(GEMM_ACTIVATION_WORDS);
SECTILE_READ(OWN_WORDS)
#ifdef GATHERED_WORDS
constexpr uint own_end = activation_end + SECTILE_SIZE(OWN_WORDS);
SECTILE_READ(GATHERED_WORDS)
#endif

constexpr uint kHasC = kEpilogue & GEMM_EPILOGUE_C;
constexpr uint kHasCIsD = (kEpilogue & GEMM_EPILOGUE_C_IS_D) != 0u ? 1u : 0u;
constexpr uint kHasBias = (kEpilogue & (GEMM_EPILOGUE_BIAS_ROW | GEMM_EPILOGUE_BIAS_COLUMN)) != 0u ? 1u : 0u;
constexpr uint kHasScale = (kEpilogue & (GEMM_EPILOGUE_SCALE_ROW | GEMM_EPILOGUE_SCALE_COLUMN)) != 0u ? 1u : 0u;
constexpr uint kHasResidual = (kEpilogue & GEMM_EPILOGUE_RESIDUAL) != 0u ? 1u : 0u;
constexpr uint kHasAScale = (kEpilogue & GEMM_EPILOGUE_A_SCALE) != 0u ? 1u : 0u;
constexpr uint kBatched = (kEpilogue & GEMM_EPILOGUE_BATCHED) != 0u ? 1u : 0u;
constexpr uint kVectorBatched = (kEpilogue & GEMM_EPILOGUE_VECTOR_BATCHED) != 0u ? 1u : 0u;
constexpr uint kSplit = (kEpilogue & GEMM_EPILOGUE_SPLIT) != 0u ? 1u : 0u;
constexpr uint kPushedEpilogue = (kEpilogue & GEMM_EPILOGUE_PUSHED) != 0u ? 1u : 0u;
constexpr uint kActivation = GEMM_ACTIVATION;
constexpr uint kActivationLast = (kEpilogue & GEMM_EPILOGUE_ACTIVATION_LAST) != 0u ? 1u : 0u;
constexpr uint kActivationWords = GEMM_ACTIVATION_PARAMETERS;

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

// ---- addresses

// Bytes of a number of elements; Q4 has two elements a byte.
__device__ __forceinline__ uint64 bytes_of(const uint type, uint64 elements) {
  return type == SECTILE_TYPE_Q4 ? elements / 2u : elements * bytes_of_type(type);
}
// address + (row * ld + column) elements.
__device__ __forceinline__ uint64 element_address(uint64 address, const uint type, uint row, uint ld, uint column) {
  return address + bytes_of(type, uint64(row) * ld + column);
}
// address + batch * stride elements.
__device__ __forceinline__ uint64 batch_address(uint64 address, const uint type, uint batch, uint64 stride) {
  return kBatched == 0u ? address : address + bytes_of(type, batch * stride);
}
// n / d for n below 2^31: FastDivision in the planner has the multiplier and the shift of d. A macro, so that the shift
// is read after the product: a function's argument is read before, and NVRTC then orders all of a kernel otherwise
// (Side in gemm/simt_fetch.cuh).
#define fast_quotient(n, multiplier, shift) ((__umulhi(n, multiplier) + (n)) >> ((shift) & 31u))

// ---- results

struct Tile {
  uint m, n;              // first row and column of the result
  uint k, k_end;          // range of K that this workgroup sums
  uint batch, split;
};

#ifdef GATHERED_WORDS
// The batch that has column n, where all batches' columns are one matrix's.
__device__ __forceinline__ uint batch_of_column(const GemmPush& push, uint n) { return BATCH_OF_COLUMN(n); }
#else
constexpr uint kFlattenedBatch = 0u;
__device__ __forceinline__ uint batch_of_column(const GemmPush&, uint) { return 0u; }
#endif

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
