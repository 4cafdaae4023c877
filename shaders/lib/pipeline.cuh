// mbarriers that producers and consumers of workgroup memory wait on, clusters of workgroups, and registers that
// warpgroups trade, all of sm_90 and later (PTX ISA, "mbarrier", "mapa", "setmaxnreg"). Include after lib/tma.cuh.
// A barrier is named by its address in workgroup memory. It has completed phase 0 after as many arrivals as it was made
// with, and all bytes that were expected; then phase 1, and so on. Waiters give the phase's parity.

#ifndef SECTILE_EMULATED   // tests/emulated/warpgroup_unit.hpp has its own version of this part

// The address of the workgroup memory that the launch requests.
__device__ __forceinline__ uint requested_memory() {
  extern __shared__ __align__(1024) unsigned char requested[];
  return shared_address(requested);
}

__device__ __forceinline__ void make_barrier(uint barrier, uint arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
// Makes barriers visible to the copy engine and to the other workgroups of the cluster.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives, and expects so many bytes besides.
__device__ __forceinline__ void arrive_expecting(uint barrier, uint bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void arrive(uint barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// The same barrier of workgroup `rank` of the cluster. It orders nothing there: of what this workgroup has written the
// other one reads nothing. (With that order the compiler puts a fence of the whole device before each arrival.)
__device__ __forceinline__ void arrive_at(uint barrier, uint rank) {
  asm volatile(
      "{\n .reg .b32 there;\n mapa.shared::cluster.u32 there, %0, %1;\n"
      " mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier), "r"(rank)
      : "memory");
}
// Returns once the phase with this parity is complete.
__device__ __forceinline__ void await_phase(uint barrier, uint parity) {
  asm volatile(
      "{\n .reg .pred done;\n again:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      " @done bra over;\n bra again;\n over:\n}" ::"r"(barrier), "r"(parity)
      : "memory");
}

// The same of a phase that other workgroups of the cluster complete by what they send.
__device__ __forceinline__ void await_phase_of_cluster(uint barrier, uint parity) {
  asm volatile(
      "{\n .reg .pred done;\n again:\n"
      " mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      " @done bra over;\n bra again;\n over:\n}" ::"r"(barrier), "r"(parity)
      : "memory");
}

// ---- clusters

__device__ __forceinline__ uint cluster_rank() {
  uint rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// All invocations of all workgroups of the cluster come here. It orders nothing.
__device__ __forceinline__ void meet_cluster() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
// Stores 16 bytes at this address in the memory of workgroup `rank`. They count as bytes that its barrier expects; who
// has waited for the phase sees them.
__device__ __forceinline__ void send_words(uint address, uint rank, uint barrier, const uvec4& v) {
  asm volatile(
      "{\n .reg .b32 there, done;\n mapa.shared::cluster.u32 there, %0, %2;\n"
      " mapa.shared::cluster.u32 done, %1, %2;\n"
      " st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [there], {%3, %4, %5, %6}, [done];\n}"
      ::"r"(address), "r"(barrier), "r"(rank), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
}

// ---- warpgroups

// The calling warpgroup gives up or takes registers, so that it has so many: a multiple of 8.
// 0: as many as it has.
template <uint count>
__device__ __forceinline__ void keep_registers() {
  if constexpr (count != 0u) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <uint count>
__device__ __forceinline__ void take_registers() {
  if constexpr (count != 0u) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
// Comes to a barrier of `invocations` invocations, and does not wait for the others.
__device__ __forceinline__ void come_to_barrier(uint number, const uint invocations) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(invocations) : "memory");
}
// A barrier of `invocations` invocations; 0 is __syncthreads()'s.
__device__ __forceinline__ void named_barrier(uint number, const uint invocations) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(invocations) : "memory");
}

#endif
