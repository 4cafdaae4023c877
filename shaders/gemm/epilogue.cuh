// Where a GEMM's tile lies in the result, and its epilogue. Include after gemm/base.cuh.
#include "gemm/finish.cuh"

__device__ __forceinline__ Target target_of(const GemmPush& push, const Tile& t) {
  Target g;
  g.row = t.m;
  g.batch = kFlattenedBatch != 0u ? batch_of_column(push, t.n) : t.batch;
  g.column = kFlattenedBatch != 0u ? g.batch * size_n(push) : t.n;
  const uint column = kFlattenedBatch != 0u ? 0u : t.n;
  uint64 d = batch_address(address_of(push.d), kOutType, g.batch, d_batch(push));
  // Partial sums: one M x ldd matrix per split, consecutive.
  if (kSplit != 0u) d += bytes_of(kOutType, uint64(t.split) * size_m(push) * ldd(push));
  g.d = element_address(d, kOutType, t.m, ldd(push), column);
  g.c = g.d;
  if (kHasC != 0u)
    g.c = element_address(batch_address(c_address(push), kOutType, g.batch, c_batch(push)), kOutType, t.m,
                          ldc(push), column);
  g.residual = g.d;
  if (kHasResidual != 0u)
    g.residual = element_address(batch_address(residual_address(push), kOutType, g.batch, r_batch(push)), kOutType,
                                 t.m, ldr(push), column);
  const uint rows = g.batch * size_m(push), columns = g.batch * size_n(push);
  g.bias = kVectorBatched == 0u ? 0u : (kEpilogue & GEMM_EPILOGUE_BIAS_ROW) != 0u ? rows : columns;
  g.scale = kVectorBatched == 0u ? 0u : (kEpilogue & GEMM_EPILOGUE_SCALE_ROW) != 0u ? rows : columns;
  return g;
}

// Element offset of (m, n) in the tile of an operand. Offsets inside a tile are 32-bit, batch strides too where columns
// are flattened.
__device__ __forceinline__ uint offset_of(const GemmPush& push, const Target& g, uint m, uint n, uint ld,
                                          uint64 batch_stride) {
  if (kFlattenedBatch == 0u) return (m - g.row) * ld + n - g.column;
  const uint batch = batch_of_column(push, n);
  return (m - g.row) * ld + n - batch * size_n(push) + (batch - g.batch) * uint(batch_stride);
}

// The addends of row m from column n on (kWidthD divides N).
__device__ __forceinline__ Addends load_run_addends(const GemmPush& push, const Target& g, uint m, uint n) {
  const uint at = offset_of(push, g, m, n, ldd(push), d_batch(push));
  return load_addends(g, kHasC != 0u ? offset_of(push, g, m, n, ldc(push), c_batch(push)) : at,
                      kHasResidual != 0u ? offset_of(push, g, m, n, ldr(push), r_batch(push)) : at);
}
// Applies the epilogue to row m from column n on, and stores it.
__device__ __forceinline__ void store_run(const GemmPush& push, const Target& g, uint m, uint n,
                                          const acc_t (&acc)[MAX_RUN]) {
  store_run_with(push, g, m, n, acc, offset_of(push, g, m, n, ldd(push), d_batch(push)),
                 load_run_addends(push, g, m, n));
}
