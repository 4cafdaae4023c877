// Matrix units that a warp drives (PTX ISA: ldmatrix, mma.sync) and copies that run beside the products (cp.async).
// Include after lib/cuda.cuh. Lane l of a warp: g = l / 4, t = l % 4.

#ifndef SECTILE_EMULATED   // tests/emulated/matrix_unit.hpp has its own version of this part

// `count` bytes of workgroup memory, by byte: `name`(byte). Beyond the limit on static memory they are those that the
// launch requests.
template <uint count>
__device__ __forceinline__ unsigned char* workgroup_bytes() {
  if constexpr (count <= 48u * 1024u) {
    __shared__ __align__(128) unsigned char memory[count];
    return memory;
  } else {
    extern __shared__ __align__(128) unsigned char requested_memory[];
    return requested_memory;
  }
}
// name(byte, more): byte + more, where `more` becomes a part of the instruction.
#define SECTILE_SHARED_BYTES(name, count)                                                     \
  __device__ __forceinline__ unsigned char& name(uint byte, const uint more = 0u) {           \
    return (workgroup_bytes<(count)>() + byte)[more];                                         \
  }

// Where a byte of workgroup memory is; offsets are added to it.
using WorkgroupAddress = uint;
__device__ __forceinline__ WorkgroupAddress workgroup_address(unsigned char& byte) {
  return uint(__cvta_generic_to_shared(&byte));
}

// Loads four matrices of 8 rows of 16 bytes; lane l has the address of row l % 8 of matrix l / 8. v[j] is word t of row
// g of matrix j; transposed, for elements of 2 bytes: element g of rows 2 * t and 2 * t + 1.
__device__ __forceinline__ void load_matrices(uint* v, WorkgroupAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(row));
}
__device__ __forceinline__ void load_transposed_matrices(uint* v, WorkgroupAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(row));
}

// c += a * b. Rows of a: g in a[0] and a[2], g + 8 in a[1] and a[3]; a[2], a[3] and b[1] are the second half of K. A
// lane's word has 2 or 4 consecutive k. c: columns 2 * t and 2 * t + 1 of row g, then of row g + 8; with f16 sums two
// in a word. Shapes of sm_75 (`_75`) have half of that K, int8's also half of the rows.
__device__ __forceinline__ void mma_f16(float* c, const uint* a, const uint* b) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}
__device__ __forceinline__ void mma_bf16(float* c, const uint* a, const uint* b) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}
__device__ __forceinline__ void mma_f16_f16(uint* c, const uint* a, const uint* b) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
      : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}
// int8, 32 of K. Sums wrap.
__device__ __forceinline__ void mma_s8(int* c, const uint* a, const uint* b) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}
__device__ __forceinline__ void mma_f16_75(float* c, const uint* a, uint b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(b));
}
__device__ __forceinline__ void mma_f16_f16_75(uint* c, const uint* a, uint b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
      : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(a[1]), "r"(b));
}
__device__ __forceinline__ void mma_s8_75(int* c, uint a, uint b) {
  asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+r"(c[0]), "+r"(c[1]) : "r"(a), "r"(b));
}

// Loads the first `end` bytes of the aligned word at `from`: none (`end` may be negative), one, two or all four; of
// three the first two. The other bytes are zeros. `end` is a multiple of `unit`, 1 or 2. By predicates, because a load
// in a branch would be waited for there.
__device__ __forceinline__ uint load_word_part(uint64 from, int end, const uint unit) {
  uint word;
  if (unit == 1u)
    asm volatile("{\n.reg .pred all, two, one;\n"
                 "setp.ge.s32 all, %2, 4;\nsetp.ge.and.s32 two, %2, 2, !all;\nsetp.eq.s32 one, %2, 1;\n"
                 "mov.b32 %0, 0;\n@all ld.global.nc.b32 %0, [%1];\n@two ld.global.nc.u16 %0, [%1];\n"
                 "@one ld.global.nc.u8 %0, [%1];\n}"
                 : "=&r"(word) : "l"(from), "r"(end));
  else
    asm volatile("{\n.reg .pred all, two;\n"
                 "setp.ge.s32 all, %2, 4;\nsetp.eq.s32 two, %2, 2;\n"
                 "mov.b32 %0, 0;\n@all ld.global.nc.b32 %0, [%1];\n@two ld.global.nc.u16 %0, [%1];\n}"
                 : "=&r"(word) : "l"(from), "r"(end));
  return word;
}

// Starts a copy to 4, 8 or 16 bytes of workgroup memory of the first `read` of as many, with zeros behind them. Both
// addresses are multiples of `bytes`.
__device__ __forceinline__ void start_copy(WorkgroupAddress to, uint64 from, const uint bytes, uint read) {
#if __CUDA_ARCH__ >= 800
  const char* const source = global_pointer<const char>(from, 0u);
  if (bytes == 16u)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(source), "r"(read) : "memory");
  else if (bytes == 8u)
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 8, %2;" ::"r"(to), "l"(source), "r"(read) : "memory");
  else
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 4, %2;" ::"r"(to), "l"(source), "r"(read) : "memory");
#endif
}
// The copies since the last call are a group.
__device__ __forceinline__ void end_copy_group() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits for this invocation's groups, but for the last `but`, at most 4.
__device__ __forceinline__ void await_copy_groups(const uint but) {
#if __CUDA_ARCH__ >= 800
  if (but == 0u) asm volatile("cp.async.wait_group 0;" ::: "memory");
  if (but == 1u) asm volatile("cp.async.wait_group 1;" ::: "memory");
  if (but == 2u) asm volatile("cp.async.wait_group 2;" ::: "memory");
  if (but == 3u) asm volatile("cp.async.wait_group 3;" ::: "memory");
  if (but == 4u) asm volatile("cp.async.wait_group 4;" ::: "memory");
#endif
}

#endif
