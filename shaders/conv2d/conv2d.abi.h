// What the kernels of implicit-GEMM convolution add to a GEMM's interface (gemm/gemm.abi.h): one operand of the
// GEMM is not stored, but gathered from an image. im2col exists only as the address computation below.
//
// The GEMM. IMAGE_SIDE 0: A is the image and B the weights; rows are output pixels (n, p, q) of all images, columns
// output channels of a group, and batches are groups. IMAGE_SIDE 1: B is the image and A the weights; rows are output
// channels, columns the output pixels (p, q) of an image, and batches are images (such a step has one group).
// TRANS_A (side 0) or TRANS_B (side 1) says along which axis the image's runs lie, as for a stored operand: along K,
// which is along channels, or along pixels; then they have one element, or 8 (conv2d_coopmat's variants ".p").
// lda (side 0) or ldb (side 1) is the image's pixel pitch: elements from a pixel to the next one of its row.
//
// K is a flattened filter: ORDER_RSC k = (r * S + s) * C + c, ORDER_CRS k = (c * R + r) * S + s; C counts the group's.
// Element (n, y, x, c) of the image is, in elements from the batch's address:
//   n * image pitch + c / BLOCK * (H * W * pixel pitch) + c % BLOCK + (y * W + x) * pixel pitch
// with n = 0 on side 1, where the batch's address is the image's (FLATTENED_BATCH: n counts from the image of the
// tile's first column); BLOCK 0: the channels are one block (NHWC).
// Pixel (p, q) reads y = p * stride_h - pad_top + r * dilation_h and x likewise; outside 0..H-1, 0..W-1 the value is 0.
//
// With PROLOGUE bits the addresses of x.scale and x.bias (CONV2D_PROLOGUE_WORDS) follow a GEMM's; such a step has no
// a.scale. On side 0 a group's values begin at element batch * C of both. CONV2D_GATHER_WORDS follow a GEMM's words.
// UNIFORM 1: ORDER_RSC, C is a multiple of TILE_K and TILE_K of BLOCK, so a step of K lies in one element of the
// filter. FLATTENED_BATCH 1 (with IMAGE_SIDE 1 and EPILOGUE_BATCHED): the columns of all images are one matrix's, N to
// an image, so that a tile may have columns of several images. The batch strides are those of images.
// R + S is at most 32: an invocation keeps one bit for each row and each column of the filter.
// Offsets: the image that has the tile's first row (FLATTENED_BATCH: column) is addressed in 64 bits (side 1 otherwise:
// the batch's image, with all bits of the batch stride). From there on, all that a tile may read of the image lies less
// than 2^31 bytes further: on side 0 the images of TILE_M rows, with FLATTENED_BATCH those of TILE_N columns, otherwise
// one image. With FLATTENED_BATCH so do the results, C, the residual and partial sums, and N * batches is less than
// 2^31. Variants: conv2d_simt has matmul_simt's; conv2d_coopmat has matmul_coopmat's (no pipelined-l2: it prefetches
// stored operands) with ".a" (IMAGE_SIDE 0), ".b" or ".p" (conv2d_coopmat.abi.h) after it, "f16.pipelined.a".
// Divisions are of numbers below 2^31: (umulhi(n, multiplier) + n) >> shift (FastDivision in the planner).
#ifndef SECTILE_CONV2D_ABI_H
#define SECTILE_CONV2D_ABI_H

#define CONV2D_SPEC_IMAGE_SIDE 32     // 0: A, 1: B. A variant of its own in matrix-unit kernels
#define CONV2D_SPEC_ORDER 33          // CONV2D_ORDER_RSC or _CRS
#define CONV2D_SPEC_R 34              // filter
#define CONV2D_SPEC_S 35
#define CONV2D_SPEC_BLOCK 36          // channels of a block; 0: all (NHWC), 1: NCHW
#define CONV2D_SPEC_PROLOGUE 37       // CONV2D_PROLOGUE bits

#define CONV2D_SPEC_UNIFORM 38        // 1: see above
#define CONV2D_SPEC_FLATTENED_BATCH 39         // 1: see above
#define CONV2D_SPEC_PAD_LEFT 40       // conv2d_coopmat's variants ".p": what the words say as well
#define CONV2D_SPEC_DILATION_W 41

#define CONV2D_ORDER_RSC 0
#define CONV2D_ORDER_CRS 1

// The layout of the weights in kernels that are no GEMM: a problem's FilterLayout.
#define CONV2D_WEIGHTS_KCRS 0
#define CONV2D_WEIGHTS_KRSC 1
#define CONV2D_WEIGHTS_RSCK 2

#define CONV2D_PROLOGUE_SCALE 1
#define CONV2D_PROLOGUE_BIAS 2
#define CONV2D_PROLOGUE_RELU 4

#define CONV2D_PROLOGUE_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                                            \
  WORD_IF(address, x_scale_address, a_scale_address, (kPrologue & CONV2D_PROLOGUE_SCALE) != 0u, 0)       \
  WORD_IF(address, x_bias_address, x_scale_address, (kPrologue & CONV2D_PROLOGUE_BIAS) != 0u, 0)

// Heights before widths. *_multiplier: of the division by the word before it; its shift is in division_shifts: x by the
// input channels of a group, y by Q, z by P * Q, which is N where columns are flattened. first_pixel: of row 0 of A,
// counted over all images; the addresses of D, C and the residual are at that row. image_pitch: elements.
#define CONV2D_GATHER_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                                              \
  WORD(uint, size_h, own)                                                                                \
  WORD(uint, size_w, size_h)                                                                             \
  WORD(u16x2, padding, size_w)                                                                           \
  WORD(uint, group_inputs, padding)                                                                      \
  WORD(uint, group_inputs_multiplier, group_inputs)                                                      \
  WORD(uint, size_q, group_inputs_multiplier)                                                            \
  WORD(uint, size_q_multiplier, size_q)                                                                  \
  WORD(u8x2u16, division_shifts, size_q_multiplier)                                                      \
  WORD_IF(uint, size_pq, division_shifts, kGatheredSide == 0u, 0)                                        \
  WORD_IF(uint, size_pq_multiplier, size_pq, kGatheredSide == 0u, 0)                                     \
  WORD_IF(uint64, image_pitch, size_pq_multiplier, kGatheredSide == 0u, 0)                               \
  WORD(u16x2, filter_stride, image_pitch)                                                                \
  WORD(u16x2, dilation, filter_stride)                                                                   \
  WORD_IF(uint, first_pixel, dilation, kGatheredSide == 0u, 0)                                           \
  WORD_IF(uint, size_n_multiplier, first_pixel, kFlattenedBatch != 0u, 0)

#endif
