// Include after gemm/epilogue.glsl.

// The result of an image, and what its epilogue reads, as one matrix that begins with its first row and column.
Target target_of_image(uint image) {
  Target g;
  g.d = batch_address(push.d, kOutType, image, kAtBatchD);
  g.c = g.residual = g.d;
  if (kHasC != 0u) g.c = batch_address(word2(kAtC), kOutType, image, kAtBatchC);
  if (kHasResidual != 0u) g.residual = batch_address(word2(kAtResidual), kOutType, image, kAtBatchR);
  g.bias = word2(kAtBias);
  g.scale = word2(kAtScale);
  g.row = g.column = 0u;
  g.image = image;
  return g;
}
