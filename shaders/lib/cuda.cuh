// Included first by every CUDA kernel. NVRTC has no include path: it finds only the headers that are passed to it. The
// variant's macros and sectile_constants[], the (id, value) pairs of the plan's step, are put in front of the kernel
// source.
#include "lib/abi.h"

using uint = unsigned int;
using uint64 = unsigned long long;

#ifndef SECTILE_EMULATED   // tests/emulated runs kernels on the host and supplies its own version of this part

// For some constants loops are empty and branches are unreachable. That is intended.
#pragma nv_diag_suppress 128   // loop is not reachable
#pragma nv_diag_suppress 186   // pointless comparison of unsigned integer with zero

#define SECTILE_KERNEL extern "C" __global__
// Workgroup memory, aligned for the widest access.
#define SECTILE_SHARED(type, name, count) __shared__ __align__(16) type name[count]
// What an emulated kernel, whose constants are no constant expressions, does at run time: a condition that is decided
// when the kernel is compiled; a call with template arguments that are constants; an array's size that a constant gives
// (the emulation takes the most).
#define SECTILE_IF_CONSTEXPR if constexpr
#define SECTILE_WITH(function, ...) function<__VA_ARGS__>
#define SECTILE_SIZE_UP_TO(size, most) (size)
// What is `byte` bytes, a multiple of its size, behind the first of an array in workgroup memory.
#define SECTILE_SHARED_AT(type, name, byte) \
  (*reinterpret_cast<const type*>(reinterpret_cast<const char*>(name) + (byte)))

// A specialization constant: the step's value, or `fallback` where the step sets none.
__device__ constexpr uint sectile_constant(uint id, uint fallback) {
  for (const SectileConstant& constant : sectile_constants)
    if (constant.id == id) return constant.value;
  return fallback;
}

// A pointer to global memory. The push struct carries addresses as words, and without __isGlobal the compiler would
// emit generic accesses through pointers made from words.
template <class T>
__device__ __forceinline__ T* global_pointer(uint64 base, uint64 bytes) {
  char* pointer = reinterpret_cast<char*>(base);
  __builtin_assume(__isGlobal(pointer));
  return reinterpret_cast<T*>(pointer + bytes);
}

template <class T>
__device__ __forceinline__ T load_global(const T* pointer) { return *pointer; }
template <class T>
__device__ __forceinline__ void store_global(T* pointer, T value) { *pointer = value; }

// Brings the sector into the L2.
__device__ __forceinline__ void prefetch_global(const void* pointer) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(pointer));
}

// Copies 16 bytes from global to workgroup memory without registers and without waiting for them; before sm_80 with
// both. Both addresses are multiples of 16. After await_copies() the invocation's own copies are there.
__device__ __forceinline__ void copy_async(uint* to, const uint4* from) {
#if __CUDA_ARCH__ >= 800
  const uint place = uint(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
#else
  *reinterpret_cast<uint4*>(to) = __ldg(from);
#endif
}
__device__ __forceinline__ void await_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Workgroup memory holds words; these access several at once.
template <class T>
__device__ __forceinline__ T load_workgroup(const T* pointer) { return *pointer; }
template <class T>
__device__ __forceinline__ void store_workgroup(T* pointer, T value) { *pointer = value; }

// The fast ones, accurate to a few units in the last place. Subnormals count as 0: without that each takes four more
// instructions, for arguments that no caller has.
__device__ __forceinline__ float reciprocal_of(float v) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}
__device__ __forceinline__ float exp_of(float v) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v * 1.44269504f));
  return r;
}

// f16 as bits, since NVRTC finds no cuda_fp16.h. Rounds to nearest, ties to even.
__device__ __forceinline__ uint float_to_half(float v) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
  return bits;
}
__device__ __forceinline__ float half_to_float(uint bits) {
  float v;
  asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(static_cast<unsigned short>(bits)));
  return v;
}

// Two f16 in a word: sums and products, rounded to nearest, ties to even.
__device__ __forceinline__ uint f16_sums(uint a, uint b) {
  uint v;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ __forceinline__ uint f16_products(uint a, uint b) {
  uint v;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
// The upper or the lower f16 of a word, twice.
__device__ __forceinline__ uint f16_twice(uint word, const bool upper) {
  uint v;
  if (upper) asm("{.reg .b16 l, h;\nmov.b32 {l, h}, %1;\nmov.b32 %0, {h, h};}" : "=r"(v) : "r"(word));
  else asm("{.reg .b16 l, h;\nmov.b32 {l, h}, %1;\nmov.b32 %0, {l, l};}" : "=r"(v) : "r"(word));
  return v;
}
// a & mask | bits. In one instruction, which compilers do not make of two constants.
__device__ __forceinline__ uint masked(uint a, uint mask, uint bits) {
  uint v;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(v) : "r"(a), "r"(mask), "r"(bits));
  return v;
}

// Rounds to nearest, ties to even; saturates.
__device__ __forceinline__ int nearest_int(float v) { return __float2int_rn(v); }

// a + b, or the end of the type that it lies beyond.
__device__ __forceinline__ int saturated_sum(int a, int b) {
  int sum;
  asm("add.sat.s32 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  return sum;
}

// The value of the lane whose number differs by these bits.
template <class T>
__device__ __forceinline__ T subgroup_xor(T v, const uint bits) { return __shfl_xor_sync(0xffffffffu, v, bits); }

// The sum over a full warp, in every lane.
template <class T>
__device__ __forceinline__ T subgroup_add(T v) {
#pragma unroll
  for (uint distance = 16u; distance > 0u; distance /= 2u) v += subgroup_xor(v, distance);
  return v;
}

// The next lane's value; the last lane's is its own.
__device__ __forceinline__ uint subgroup_down(uint v) { return __shfl_down_sync(0xffffffffu, v, 1u); }

#endif

// Four words with an index operator. Every index must be constant after unrolling: other indices would move the words
// to local memory.
struct uvec4 {
  uint w[4];
  __device__ __forceinline__ uint& operator[](uint i) { return w[i]; }
  __device__ __forceinline__ uint operator[](uint i) const { return w[i]; }
};

__device__ __forceinline__ uvec4 words_of(uint4 v) { return {{v.x, v.y, v.z, v.w}}; }
__device__ __forceinline__ uvec4 words_of(uint2 v) { return {{v.x, v.y, 0u, 0u}}; }
__device__ __forceinline__ uvec4 words_of(uint v) { return {{v, 0u, 0u, 0u}}; }

// Accesses 1, 2 or 4 words of workgroup memory at once; the address of `word` is a multiple of that size.
__device__ __forceinline__ uvec4 load_shared(const uint* word, const uint words) {
  if (words == 4u) return words_of(load_workgroup(reinterpret_cast<const uint4*>(word)));
  if (words == 2u) return words_of(load_workgroup(reinterpret_cast<const uint2*>(word)));
  return words_of(load_workgroup(word));
}

__device__ __forceinline__ void store_shared(uint* word, const uint words, const uvec4& v) {
  if (words == 4u) store_workgroup(reinterpret_cast<uint4*>(word), make_uint4(v[0], v[1], v[2], v[3]));
  else if (words == 2u) store_workgroup(reinterpret_cast<uint2*>(word), make_uint2(v[0], v[1]));
  else store_workgroup(word, v[0]);
}

// Linear workgroup index of a grid that is folded over x, y and z.
__device__ __forceinline__ uint group_id() {
  return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}
