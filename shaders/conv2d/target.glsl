// Include after gemm/epilogue.glsl.

// The result of an image, and what its epilogue reads, as one matrix that begins with its first row and column.
Target target_of_image(uint image) {
  Target g;
  g.d = batch_address(push.d, kOutType, image, d_batch());
  g.c = g.residual = g.d;
  if (kHasC != 0u) g.c = batch_address(c_address(), kOutType, image, c_batch());
  if (kHasResidual != 0u) g.residual = batch_address(residual_address(), kOutType, image, r_batch());
  g.bias = bias_address();
  g.scale = scale_address();
  g.row = g.column = 0u;
  g.image = image;
  return g;
}
