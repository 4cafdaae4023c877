// The result of an image, and what its epilogue reads, as matrices of pixels and channels. Include after
// gemm/finish.cuh. The kernel's words have their pitches.

__device__ __forceinline__ Target target_of_image(const GemmPush& push, uint image) {
  Target g = {batch_address(address_of(push.d), kOutType, image, y_image(push)), 0u, 0u, 0u, 0u, image, 0u, 0u};
  g.c = g.residual = g.d;
  if (kHasC != 0u) g.c = batch_address(c_address(push), kOutType, image, c_image(push));
  if (kHasResidual != 0u) g.residual = batch_address(residual_address(push), kOutType, image, residual_image(push));
  return g;
}

// store_run_at() for row m from column n on, where the matrix begins with column g.column.
__device__ __forceinline__ void store_run(const GemmPush& push, const Target& g, uint m, uint n,
                                          const acc_t (&acc)[MAX_RUN]) {
  const uint at = m * y_pitch(push) + n - g.column;
  const uint at_c = kHasC != 0u ? m * c_pitch(push) + n - g.column : at;
  const uint at_residual = kHasResidual != 0u ? m * residual_pitch(push) + n - g.column : at;
  store_run_at(push, g, m, n, acc, at, at_c, at_residual);
}
