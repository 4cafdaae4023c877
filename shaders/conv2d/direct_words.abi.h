// The words of the kernels that compute a convolution by its definition: conv2d_direct, conv2d_depthwise, conv2d_lanes.
// In a step's stream (gemm/gemm.abi.h) they are the kernel's own; x.scale's and x.bias's addresses
// (CONV2D_PROLOGUE_WORDS) precede the activation's parameters.
#ifndef SECTILE_CONV2D_DIRECT_WORDS_ABI_H
#define SECTILE_CONV2D_DIRECT_WORDS_ABI_H

#include "conv2d/conv2d.abi.h"
#include "gemm/gemm.abi.h"

// *_pitch: elements from a pixel to the next one of its row; *_image: from an image to the next one. Channels of a
// group: group_inputs, group_outputs. Pairs are vertical, horizontal: padding is what lies above and left of the image.
// `reserved` is 0 and not read. It is kept so that plans stay as they are, to go with the next change of choices.
#define CONV2D_DIRECT_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                                     \
  WORD(uint, size_p, activation)                                                                \
  WORD(uint, output_channels, size_p)                                                           \
  WORD(uint, group_inputs, output_channels)                                                     \
  WORD(float, alpha, group_inputs)                                                              \
  WORD(uint, x_pitch, alpha)                                                                    \
  WORD(uint, group_outputs, x_pitch)                                                            \
  WORD(uint, y_pitch, group_outputs)                                                            \
  WORD_IF(uint, c_pitch, y_pitch, GEMM_HAS(GEMM_EPILOGUE_C), 0)                                 \
  WORD_IF(float, beta, c_pitch, GEMM_HAS(GEMM_EPILOGUE_C | GEMM_EPILOGUE_C_IS_D), 0)            \
  WORD_IF(uint, residual_pitch, beta, GEMM_HAS(GEMM_EPILOGUE_RESIDUAL), 0)                      \
  WORD(uint, images, residual_pitch)                                                            \
  WORD(uint64, x_image, images)                                                                 \
  WORD(uint64, reserved, x_image)                                                               \
  WORD(uint64, y_image, reserved)                                                               \
  WORD_IF(uint64, c_image, y_image, GEMM_HAS(GEMM_EPILOGUE_C), 0)                               \
  WORD_IF(uint64, residual_image, c_image, GEMM_HAS(GEMM_EPILOGUE_RESIDUAL), 0)                 \
  WORD_IF(uint, pushed_relu, residual_image, GEMM_HAS(GEMM_EPILOGUE_PUSHED), 0)                 \
  WORD(uint, size_h, pushed_relu)                                                               \
  WORD(uint, size_w, size_h)                                                                    \
  WORD(uint, size_q, size_w)                                                                    \
  WORD(u16x2, padding, size_q)                                                                  \
  WORD(u16x2, filter_stride, padding)                                                           \
  WORD(u16x2, dilation, filter_stride)

#endif
