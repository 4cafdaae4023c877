// Interface of conv2d_winograd_filter, _input and _output: the steps around the products of a convolution with filters
// of 3x3, stride 1 and dilation 1, by Winograd's F(2x2, 3x3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", CVPR 2016). A tile of 2x2 outputs is
//   A^T [ sum over c of (G w G^T) * (B^T x B) ] A
// where x is the tile's 4x4 inputs of channel c, w the 3x3 filter, and * multiplies element by element: 16 products
// where the definition has 36. Each of the 16 elements is a product of matrices, channels summed up: a matmul of 16
// batches, between _input and _output.
//   B^T = 1  0 -1  0     G = 1    0    0      A^T = 1  1  1  0
//         0  1  1  0         1/2  1/2  1/2          0  1 -1 -1
//         0 -1  1  0         1/2 -1/2  1/2
//         0  1  0 -1         0    0    1
// Variants of each: f32, f32.narrow.
//
// Scratch is 16 planes of f32 for each of U (weights), V (inputs) and S (sums); element e = 4 * row + column of a tile
// is plane e. A plane is a matrix of channels and tiles, or, in U, of output and input channels. Tiles are numbered image
// by image, row by row: T = N * ceil(P / 2) * ceil(Q / 2). Both sides of a plane are padded to multiples of 4; what is
// padded is zero in U and V, and never read in S. U, V and S have less than 2^31 bytes each, an image and W too.
//
// A step is described as a matmul's is (gemm/gemm.abi.h): push struct, types, order of the words.
//
// _filter: a is W, d is U. An invocation transforms one filter.
//   M, N                        output and input channels, or the other way round: rows and columns of a plane
//   K                           elements from an element of a filter to the next one
//   lda, ldb                    elements from one row's filter to the next row's, and from one column's
//   ldd                         N padded
//
// _input: a is X, d is V. An invocation transforms WIDTH_A adjacent channels (CHANNELS_LAST 0: one) of one tile.
//   addresses                   of x.scale and x.bias (PROLOGUE), 2 words each
//   M, N                        rows and columns of tiles of an image
//   K                           input channels
//   lda, ldb                    elements from a pixel to the next one, and from a channel to the next one
//   ldd                         the contiguous side of a plane of V: channels (CHANNELS_LAST 1) or tiles
//   batches, batch strides      of images: EPILOGUE_BATCHED is set. a's is used
//   H, W
//   pad_top | pad_left << 16
//
// _output: a is S, d is Y. An invocation computes a tile of one output channel, or of WIDTH_D ones (CHANNELS_LAST 1).
//   a matmul's words            batches are images: EPILOGUE_BATCHED is set. CHANNELS_LAST 0: rows of the result are
//                               output channels and columns the pixels of an image; 1: the other way round
//   lda                         the contiguous side of a plane of S: channels (CHANNELS_LAST 1) or tiles
//   P, Q
// WIDTH_D with CHANNELS_LAST 0: adjacent pixels, 1, or 2 where Q is even.
#ifndef SECTILE_CONV2D_WINOGRAD_ABI_H
#define SECTILE_CONV2D_WINOGRAD_ABI_H

#include "conv2d/conv2d.abi.h"
#include "gemm/gemm.abi.h"

#define CONV2D_WINOGRAD_TILE 2        // outputs along each side of a tile
#define CONV2D_WINOGRAD_PLANES 16
#define CONV2D_WINOGRAD_PAD 4         // elements: see above

#define CONV2D_WINOGRAD_SPEC_CHANNELS_LAST 16   // V or S: 1: a plane's rows are tiles, 0: they are channels

#endif
