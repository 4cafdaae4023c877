// Where a GEMM's tile lies in the result, and its epilogue. Include after gemm/base.glsl.
#include "gemm/finish.glsl"

// A batch's bias or scale, of which `address` is the first batch's. `row_bits`: the epilogue's bits that say that it
// has a value for each row.
uvec2 vector_address(uvec2 address, const uint type, uint batch, const uint row_bits) {
  if ((kEpilogue & GEMM_EPILOGUE_VECTOR_BATCHED) == 0u) return address;
  return add64(address, bytes_of(type, product64(batch, (kEpilogue & row_bits) != 0u ? size_m() : size_n())));
}

Target target_of(Tile t) {
  Target g;
  g.row = t.m;
  g.batch = kFlattenedBatch != 0u ? batch_of_column(t.n) : t.batch;
  g.column = kFlattenedBatch != 0u ? g.batch * size_n() : t.n;
  uint column = kFlattenedBatch != 0u ? 0u : t.n;
  uvec2 d = batch_address(push.d, kOutType, g.batch, d_batch());
  // Partial sums: one M x ldd matrix per split, consecutive.
  if (kSplit != 0u) d = element_address(d, kOutType, t.split * size_m(), ldd(), 0u);
  g.d = element_address(d, kOutType, t.m, ldd(), column);
  g.c = g.d;
  if (kHasC != 0u)
    g.c = element_address(batch_address(c_address(), kOutType, g.batch, c_batch()), kOutType, t.m, ldc(), column);
  g.residual = g.d;
  if (kHasResidual != 0u)
    g.residual = element_address(batch_address(residual_address(), kOutType, g.batch, r_batch()), kOutType, t.m,
                                 ldr(), column);
  g.bias = g.scale = g.d;
  if (kHasBias != 0u) g.bias = vector_address(bias_address(), kOutType, t.batch, GEMM_EPILOGUE_BIAS_ROW);
  if (kHasScale != 0u) g.scale = vector_address(scale_address(), SECTILE_TYPE_F32, t.batch, GEMM_EPILOGUE_SCALE_ROW);
  return g;
}

// Element offset of (m, n) in the tile of an operand. Offsets inside a tile are 32-bit, batch strides too where columns
// are flattened.
uint offset_of(Target g, uint m, uint n, uint ld, uvec2 batch_stride) {
  if (kFlattenedBatch == 0u) return (m - g.row) * ld + n - g.column;
  uint batch = batch_of_column(n);
  return (m - g.row) * ld + n - batch * size_n() + (batch - g.batch) * batch_stride.x;
}

// store_run_at() for row m from column n on (kWidthD divides N).
void store_run(Target g, uint m, uint n, acc_t acc[MAX_RUN]) {
  uint at = offset_of(g, m, n, ldd(), d_batch()), at_c = at, at_residual = at;
  if (kHasC != 0u) at_c = offset_of(g, m, n, ldc(), c_batch());
  if (kHasResidual != 0u) at_residual = offset_of(g, m, n, ldr(), r_batch());
  store_run_at(g, m, n, acc, at, at_c, at_residual);
}
