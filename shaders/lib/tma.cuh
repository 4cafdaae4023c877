// The tensor memory accelerator of sm_90 and later: PTX ISA, "cp.async.bulk.tensor".

#ifndef SECTILE_EMULATED   // tests/emulated/warpgroup_unit.hpp has its own version of this part

// 128 bytes, encoded by the host (cuTensorMapEncodeTiled); a kernel argument after the push struct.
struct alignas(128) TensorMap {
  uint64 opaque[16];
};

__device__ __forceinline__ uint shared_address(const void* pointer) { return uint(__cvta_generic_to_shared(pointer)); }

__device__ __forceinline__ void prefetch_map(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Initializes an mbarrier that completes when one copy of `bytes` bytes has arrived.
__device__ __forceinline__ void expect_copy(uint barrier, uint bytes) {
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier));
  asm volatile("fence.mbarrier_init.release.cluster;");   // makes the initialized mbarrier visible to the copy engine
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Waits for the mbarrier's first phase. The copied data is then visible to this invocation.
__device__ __forceinline__ void await_copy(uint barrier) {
  asm volatile(
      "{\n .reg .pred done;\n again:\n mbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n @!done bra again;\n}" ::"r"(barrier)
      : "memory");
}

// ptxas 13.0 takes 8 bytes of a stack for a copy to a cluster's memory on sm_120, and none to the workgroup's own.
// PTX has that form from 8.6 on, and sm_120 from 8.7 on.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
#define TMA_TO "shared::cta"
#else
#define TMA_TO "shared::cluster"
#endif

// Copies a box from global to workgroup memory; c: coordinates of its first element, innermost first.
template <uint rank>
__device__ __forceinline__ void copy_in(uint to, const TensorMap* map, const int (&c)[5], uint barrier) {
  if constexpr (rank == 2u)
    asm volatile("cp.async.bulk.tensor.2d." TMA_TO ".global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(c[0]), "r"(c[1]) : "memory");
  if constexpr (rank == 3u)
    asm volatile("cp.async.bulk.tensor.3d." TMA_TO ".global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(c[0]), "r"(c[1]), "r"(c[2]) : "memory");
  if constexpr (rank == 4u)
    asm volatile("cp.async.bulk.tensor.4d." TMA_TO ".global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]) : "memory");
  if constexpr (rank == 5u)
    asm volatile("cp.async.bulk.tensor.5d." TMA_TO ".global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]) : "memory");
}

// The same to the same place in several workgroups of the cluster, a bit each in `ranks`; tells the barrier of each.
template <uint rank>
__device__ __forceinline__ void copy_in_to_all(uint to, const TensorMap* map, const int (&c)[5], uint barrier,
                                               uint ranks) {
  static_assert(rank == 3u);
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5, %6}], [%2], %3;"
               ::"r"(to), "l"(map), "r"(barrier), "h"(static_cast<unsigned short>(ranks)), "r"(c[0]), "r"(c[1]), "r"(c[2]) : "memory");
}

// Copies a box from workgroup to global memory. Elements outside the tensor are not written.
template <uint rank>
__device__ __forceinline__ void copy_out(const TensorMap* map, uint from, const int (&c)[5]) {
  if constexpr (rank == 2u)
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(from), "r"(c[0]), "r"(c[1]) : "memory");
  if constexpr (rank == 3u)
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
                 ::"l"(map), "r"(from), "r"(c[0]), "r"(c[1]), "r"(c[2]) : "memory");
  if constexpr (rank == 4u)
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
                 ::"l"(map), "r"(from), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]) : "memory");
  if constexpr (rank == 5u)
    asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];"
                 ::"l"(map), "r"(from), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]) : "memory");
}

// Waits until the copies to global memory have read workgroup memory, which must stay allocated until then. The end of
// the grid makes the copied data visible.
__device__ __forceinline__ void await_copies_out() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// Makes this invocation's stores to workgroup memory visible to copies that start after a following barrier.
__device__ __forceinline__ void publish_to_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Loads four 8x8 matrices of 2-byte elements, transposed; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void load_matrices_transposed(uint (&v)[4], uint row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(row) : "memory");
}
__device__ __forceinline__ void store_matrices(uint row, const uint (&v)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               ::"r"(row), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
}

#endif
