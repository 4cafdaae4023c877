// Interface of conv2d_winograd_filter, _input and _output: the steps around the products of a convolution with filters
// of 3x3, stride 1 and dilation 1, by Winograd's F(2x2, 3x3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", CVPR 2016). A tile of 2x2 outputs is
//   A^T [ sum over c of (G w G^T) * (B^T x B) ] A
// where x is the tile's 4x4 inputs of channel c, w the 3x3 filter, and * multiplies element by element: 16 products
// where the definition has 36. Each of the 16 elements is a product of matrices, channels summed up: a GEMM of 16
// batches, between _input and _output.
//   B^T = 1  0 -1  0     G = 1    0    0      A^T = 1  1  1  0
//         0  1  1  0         1/2  1/2  1/2          0  1 -1 -1
//         0 -1  1  0         1/2 -1/2  1/2
//         0  1  0 -1         0    0    1
// Variants of each: f32, f32.narrow.
//
// Scratch is 16 planes of f32 for each of U (weights), V (inputs) and S (sums); element e = 4 * row + column of a tile
// is plane e. A plane is a matrix of channels and tiles, or, in U, of output and input channels. Tiles are numbered
// image by image, row by row: T = N * ceil(P / 2) * ceil(Q / 2). Both sides of a plane are padded to multiples of 4;
// what is padded is zero in U and V, and never read in S. U, V and S have less than 2^31 bytes each, an image and W
// too.
//
// A step's push struct, types and order of words are those of gemm/gemm.abi.h; each has words of its own, below.
//
// _filter: a is W, d is U. An invocation transforms one filter. Without epilogue.
//
// _input: a is X, d is V. An invocation transforms WIDTH_A adjacent channels (CHANNELS_LAST 0: one) of one tile. The
// addresses of x.scale and x.bias (CONV2D_PROLOGUE_WORDS) precede its own words. EPILOGUE_BATCHED is set.
//
// _output: a is S, d is Y. An invocation computes a tile of one output channel, or of WIDTH_D ones (CHANNELS_LAST 1).
// It has a GEMM's epilogue. The result of an image is a matrix: CHANNELS_LAST 0: rows are output channels and columns
// pixels; 1: the other way round. EPILOGUE_BATCHED is set. WIDTH_D with CHANNELS_LAST 0: adjacent pixels, 1, or 2 where
// Q is even.
#ifndef SECTILE_CONV2D_WINOGRAD_ABI_H
#define SECTILE_CONV2D_WINOGRAD_ABI_H

#include "conv2d/conv2d.abi.h"
#include "gemm/gemm.abi.h"

#define CONV2D_WINOGRAD_TILE 2        // outputs along each side of a tile
#define CONV2D_WINOGRAD_PLANES 16
#define CONV2D_WINOGRAD_PAD 4         // elements: see above

#define CONV2D_WINOGRAD_SPEC_CHANNELS_LAST 16   // V or S: 1: a plane's rows are tiles, 0: they are channels

// Words that are `reserved` are not read. They are kept so that plans stay as they are, to go with the next change of
// choices.

// Rows and columns are those of a plane of U: output and input channels, or the other way round. *_step: elements of W
// from one row's filter to the next row's, from one column's to the next, and from an element of a filter to the next.
// u_pitch: columns with their padding.
#define CONV2D_WINOGRAD_FILTER_WORDS(WORD, WORD_IF, WORDS, WORDS_IF) \
  WORD(uint, filter_rows, activation)                                \
  WORD(uint, filter_columns, filter_rows)                            \
  WORD(uint, element_step, filter_columns)                           \
  WORD(float, reserved, element_step)                                \
  WORD(uint, row_step, reserved)                                     \
  WORD(uint, column_step, row_step)                                  \
  WORD(uint, u_pitch, column_step)

// Rows and columns of tiles of an image. x_pitch: elements from a pixel to the next one; channel_step: from a channel
// to the next one; x_image: from an image to the next one. v_pitch: the contiguous side of a plane of V with its
// padding: channels (CHANNELS_LAST 1) or tiles.
#define CONV2D_WINOGRAD_INPUT_WORDS(WORD, WORD_IF, WORDS, WORDS_IF) \
  WORD(uint, tile_rows, activation)                                 \
  WORD(uint, tile_columns, tile_rows)                               \
  WORD(uint, input_channels, tile_columns)                          \
  WORD(float, reserved, input_channels)                             \
  WORD(uint, x_pitch, reserved)                                     \
  WORD(uint, channel_step, x_pitch)                                 \
  WORD(uint, v_pitch, channel_step)                                 \
  WORD(uint, images, v_pitch)                                       \
  WORD(uint64, x_image, images)                                     \
  WORD(uint64, reserved_2, x_image)                                 \
  WORD(uint64, reserved_3, reserved_2)                              \
  WORD(uint, size_h, reserved_3)                                    \
  WORD(uint, size_w, size_h)                                        \
  WORD(u16x2, padding, size_w)   /* above and left of the image */

// Rows and columns of the result of an image. s_pitch: the contiguous side of a plane of S with its padding: channels
// (CHANNELS_LAST 1) or tiles. *_pitch: elements from a row to the next one; *_image: from an image to the next one.
#define CONV2D_WINOGRAD_OUTPUT_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                            \
  WORD(uint, result_rows, activation)                                                           \
  WORD(uint, result_columns, result_rows)                                                       \
  WORD(uint, reserved, result_columns)                                                          \
  WORD(float, alpha, reserved)                                                                  \
  WORD(uint, s_pitch, alpha)                                                                    \
  WORD(uint, reserved_2, s_pitch)                                                               \
  WORD(uint, y_pitch, reserved_2)                                                               \
  WORD_IF(uint, c_pitch, y_pitch, GEMM_HAS(GEMM_EPILOGUE_C), 0)                                 \
  WORD_IF(float, beta, c_pitch, GEMM_HAS(GEMM_EPILOGUE_C | GEMM_EPILOGUE_C_IS_D), 0)            \
  WORD_IF(uint, residual_pitch, beta, GEMM_HAS(GEMM_EPILOGUE_RESIDUAL), 0)                      \
  WORD(uint, images, residual_pitch)                                                            \
  WORD(uint64, reserved_3, images)                                                              \
  WORD(uint64, reserved_4, reserved_3)                                                          \
  WORD(uint64, y_image, reserved_4)                                                             \
  WORD_IF(uint64, c_image, y_image, GEMM_HAS(GEMM_EPILOGUE_C), 0)                               \
  WORD_IF(uint64, residual_image, c_image, GEMM_HAS(GEMM_EPILOGUE_RESIDUAL), 0)                 \
  WORD_IF(uint, pushed_relu, residual_image, GEMM_HAS(GEMM_EPILOGUE_PUSHED), 0)                 \
  WORD(uint, size_p, pushed_relu)                                                               \
  WORD(uint, size_q, size_p)

#endif
