// What every kernel that computes shares: element types as numbers, and loads and stores of runs (consecutive elements
// in one access). Include after lib/cuda.cuh.
#include "lib/abi.h"

__device__ __forceinline__ uint64 address_of(SectileAddress a) { return uint64(a.hi) << 32 | a.lo; }

__device__ __forceinline__ uint bytes_of_type(const uint type) {
  return type == SECTILE_TYPE_F32 || type == SECTILE_TYPE_I32    ? 4u
         : type == SECTILE_TYPE_F16 || type == SECTILE_TYPE_BF16 ? 2u
                                                                 : 1u;
}

// ---- numbers: what each conversion yields is in docs/reference/numbers.md

// max(v, 0), but a NaN stays a NaN.
__device__ __forceinline__ float relu(float v) { return v < 0.0f ? 0.0f : v; }

// An integer as an f32 that rounds to the same bf16 as the integer itself. What does not fit the 24 bits of an f32
// leaves a mark in the lowest one, far below the bits of a bf16 (rounding to odd: Boldo and Melquiond 2008).
__device__ __forceinline__ float float_for_bf16(int v) {
  uint size = v < 0 ? 0u - uint(v) : uint(v);
  if (size >= 1u << 24) size = (size & ~0xffu) | ((size & 0xffu) != 0u ? 0x100u : 0u);
  return v < 0 ? -float(size) : float(size);
}

// Rounds to nearest, ties to even; a NaN stays a NaN.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ __forceinline__ uint pack_pair(const uint type, float a, float b) {
  uint pair;
  if (type == SECTILE_TYPE_F16) asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
  else asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
  return pair;
}
__device__ __forceinline__ uint float_to_bf16(float v) { return pack_pair(SECTILE_TYPE_BF16, v, 0.0f); }
#else
__device__ __forceinline__ uint rounded_to_bf16(float v) {            // in the upper half; the lower one is anything
  const uint bits = __float_as_uint(v), rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : rounded;
}
__device__ __forceinline__ uint float_to_bf16(float v) { return rounded_to_bf16(v) >> 16; }
__device__ __forceinline__ uint pack_pair(const uint type, float a, float b) {
  if (type == SECTILE_TYPE_F16) return float_to_half(a) | float_to_half(b) << 16;
  return (rounded_to_bf16(a) >> 16) | (rounded_to_bf16(b) & 0xffff0000u);
}
#endif
__device__ __forceinline__ float unpack_low(const uint type, uint bits) {
  return type == SECTILE_TYPE_F16 ? half_to_float(bits & 0xffffu) : __uint_as_float(bits << 16);
}
__device__ __forceinline__ float unpack_high(const uint type, uint bits) {
  return type == SECTILE_TYPE_F16 ? half_to_float(bits >> 16) : __uint_as_float(bits & 0xffff0000u);
}
// Byte i of a word, signed.
__device__ __forceinline__ int byte_of(uint word, const uint i) { return int(word << (24u - 8u * i)) >> 24; }

// ---- memory

// Loads `bytes` bytes (1, 2, 4, 8 or 16, constant after specialization) from byte offset `at`, a multiple of `bytes`.
// Shorter values are returned in the low bits of word 0. Only for memory that the kernel never writes.
__device__ __forceinline__ uvec4 load_raw(uint64 base, uint at, const uint bytes) {
  if (bytes == 16u) return words_of(__ldg(global_pointer<const uint4>(base, at)));
  if (bytes == 8u) return words_of(__ldg(global_pointer<const uint2>(base, at)));
  if (bytes == 2u) return words_of(uint(__ldg(global_pointer<const unsigned short>(base, at))));
  if (bytes == 1u) return words_of(uint(__ldg(global_pointer<const unsigned char>(base, at))));
  return words_of(__ldg(global_pointer<const uint>(base, at)));
}
// The same for memory that the same invocation may write later: C and the residual, which may be D.
__device__ __forceinline__ uvec4 load_written(uint64 base, uint at, const uint bytes) {
  if (bytes == 16u) return words_of(load_global(global_pointer<const uint4>(base, at)));
  if (bytes == 8u) return words_of(load_global(global_pointer<const uint2>(base, at)));
  if (bytes == 2u) return words_of(uint(load_global(global_pointer<const unsigned short>(base, at))));
  return words_of(load_global(global_pointer<const uint>(base, at)));
}
__device__ __forceinline__ void store_raw(uint64 base, uint at, const uint bytes, const uvec4& v) {
  if (bytes == 16u) store_global(global_pointer<uint4>(base, at), make_uint4(v[0], v[1], v[2], v[3]));
  else if (bytes == 8u) store_global(global_pointer<uint2>(base, at), make_uint2(v[0], v[1]));
  else if (bytes == 2u) store_global(global_pointer<unsigned short>(base, at), static_cast<unsigned short>(v[0]));
  else if (bytes == 1u) store_global(global_pointer<unsigned char>(base, at), static_cast<unsigned char>(v[0]));
  else store_global(global_pointer<uint>(base, at), v[0]);
}

#define MAX_RUN 8u    // maximum number of elements in one access

// The low nibble less 8, by f32's bits: 2^23 + nibble is exact, and a conversion has a quarter of the rate.
__device__ __forceinline__ float nibble(uint bits) { return __uint_as_float(0x4b000000u | (bits & 15u)) - 8388616.0f; }

// Unpacks the elements of a raw run to floats. A Q4 nibble q yields q - 8; the caller multiplies by the block's scale.
__device__ __forceinline__ void unpack_run(const uint type, const uint width, const uvec4& raw, float (&v)[MAX_RUN]) {
#pragma unroll
  for (uint i = 0u; i < MAX_RUN; ++i) {
    v[i] = 0.0f;
    if (i >= width) continue;
    if (type == SECTILE_TYPE_F32) v[i] = __uint_as_float(raw[i % 4u]);
    else if (type == SECTILE_TYPE_F16 || type == SECTILE_TYPE_BF16)
      v[i] = i % 2u == 0u ? unpack_low(type, raw[i / 2u]) : unpack_high(type, raw[i / 2u]);
    else if (type == SECTILE_TYPE_Q4) v[i] = nibble(raw[0] >> (4u * i));
    else if (type == SECTILE_TYPE_I32) v[i] = float(int(raw[i % 4u]));
    else if (type == SECTILE_TYPE_U8) v[i] = float(uint(byte_of(raw[i / 4u], i % 4u)) & 0xffu);
    else v[i] = float(byte_of(raw[i / 4u], i % 4u));
  }
}
