// The result of an image, and what its epilogue reads, as matrices of pixels and channels. Include after
// gemm/finish.glsl. The kernel's words have their pitches.

Target target_of_image(uint image) {
  Target g;
  g.d = batch_address(push.d, kOutType, image, y_image());
  g.c = g.residual = g.d;
  if (kHasC != 0u) g.c = batch_address(c_address(), kOutType, image, c_image());
  if (kHasResidual != 0u) g.residual = batch_address(residual_address(), kOutType, image, residual_image());
  g.bias = bias_address();
  g.scale = scale_address();
  g.row = g.column = 0u;
  g.batch = image;
  return g;
}

// store_run_at() for row m from column n on, where the matrix begins with column g.column.
void store_run(Target g, uint m, uint n, acc_t acc[MAX_RUN]) {
  uint at = m * y_pitch() + n - g.column, at_c = at, at_residual = at;
  if (kHasC != 0u) at_c = m * c_pitch() + n - g.column;
  if (kHasResidual != 0u) at_residual = m * residual_pitch() + n - g.column;
  store_run_at(g, m, n, acc, at, at_c, at_residual);
}
