// Copies from global to workgroup memory that registers take no part in, in groups (sm_80 and later; PTX ISA,
// "cp.async"). Include after lib/cuda.cuh.

#ifndef SECTILE_EMULATED   // tests/emulated/warpgroup_unit.hpp has its own version of this part

// Copies to `bytes` bytes, 4, 8 or 16, the first `read` of as many, and zeros behind them. Both addresses are multiples
// of `bytes`.
__device__ __forceinline__ void copy_part(uint to, uint64 from, const uint bytes, uint read) {
  if (bytes == 16u)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(read) : "memory");
  else if (bytes == 8u)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(read) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(read) : "memory");
}
// Ends a group of copies.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most `pending` of the invocation's latest groups are not finished.
template <uint pending>
__device__ __forceinline__ void await_copy_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}
// An arrival at a barrier (lib/pipeline.cuh) when all of the invocation's copies so far are done.
__device__ __forceinline__ void arrive_when_copied(uint barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// Accesses to workgroup memory by its address, of 2 to 16 bytes; an address is a multiple of that.
__device__ __forceinline__ uvec4 load_place(uint address, const uint bytes) {
  uvec4 v = {};
  if (bytes == 16u)
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(address) : "memory");
  else if (bytes == 8u)
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(address) : "memory");
  else
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v[0]) : "r"(address) : "memory");
  return v;
}
__device__ __forceinline__ void store_place(uint address, const uint bytes, const uvec4& v) {
  if (bytes == 16u)
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
                 ::"r"(address), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
  else if (bytes == 8u)
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(v[0]), "r"(v[1]) : "memory");
  else if (bytes == 4u)
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v[0]) : "memory");
  else if (bytes == 2u)
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(static_cast<unsigned short>(v[0])) : "memory");
  else
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(address), "r"(v[0]) : "memory");
}

#endif
