// What the kernels of implicit-GEMM convolution add to a matmul's interface (gemm/gemm.abi.h): one operand of the
// product is not stored, but gathered from an image. im2col exists only as the address computation below.
//
// The product. IMAGE_SIDE 0: A is the image and B the weights; rows are output pixels (n, p, q) of all images, columns
// output channels of a group, and batches are groups. IMAGE_SIDE 1: B is the image and A the weights; rows are output
// channels, columns the output pixels (p, q) of an image, and batches are images (such a step has one group).
// TRANS_A (side 0) or TRANS_B (side 1) says along which axis the image's runs lie, as for a stored operand: along K,
// which is along channels, or along pixels; then they have one element, or 8 (conv2d_coopmat's variants ".p").
// A matmul's lda (side 0) or ldb (side 1) is the image's pixel pitch: elements from a pixel to the next one of its row.
//
// K is a flattened filter: ORDER_RSC k = (r * S + s) * C + c, ORDER_CRS k = (c * R + r) * S + s; C counts the group's.
// Element (n, y, x, c) of the image is, in elements from the batch's address:
//   n * image pitch + c / BLOCK * (H * W * pixel pitch) + c % BLOCK + (y * W + x) * pixel pitch
// with n = 0 on side 1, where the batch's address is the image's (FLATTENED_BATCH: n counts from the image of the tile's first
// column); BLOCK 0: the channels are one block (NHWC).
// Pixel (p, q) reads y = p * stride_h - pad_top + r * dilation_h and x likewise; outside 0..H-1, 0..W-1 the value is 0.
//
// With PROLOGUE bits the addresses of x.scale and x.bias follow a matmul's addresses (a.scale is the last of them, and
// such a step has none), 2 words each, before the activation's parameters, so that they are among the words that are
// always pushed. On side 0 a group's
// values begin at element batch * C of both.
// The other words follow a matmul's words:
//   H, W
//   pad_top | pad_left << 16            at most 65535 each, as are strides and dilations
//   C, multiplier                       of the division by C
//   Q, multiplier                       Q: width of the output
//   shifts                              of these divisions: C, Q << 8, PQ << 16
//   PQ, multiplier                      IMAGE_SIDE 0: pixels of an output image
//   image pitch, 2 words                IMAGE_SIDE 0: low, high; elements
//   stride_h | stride_w << 16
//   dilation_h | dilation_w << 16
//   first pixel                         IMAGE_SIDE 0: of row 0 of A, counted over all images. The addresses of D, C and
//                                       the residual are at that row
//   multiplier                          FLATTENED_BATCH: of the division by N, whose shift is << 16
// UNIFORM 1: ORDER_RSC, C is a multiple of TILE_K and TILE_K of BLOCK, so a step of K lies in one element of the filter.
// FLATTENED_BATCH 1 (with IMAGE_SIDE 1 and EPILOGUE_BATCHED): the columns of all images are one matrix's, N to an image, so that
// a tile may have columns of several images. The batch strides are those of images.
// R + S is at most 32: an invocation keeps one bit for each row and each column of the filter.
// Offsets: the image that has the tile's first row (FLATTENED_BATCH: column) is addressed in 64 bits (side 1 otherwise: the
// batch's image, with all bits of the batch stride). From there on, all that a tile may read of the image lies less
// than 2^31 bytes further: on side 0 the images of TILE_M rows, with FLATTENED_BATCH those of TILE_N columns, otherwise one
// image. With FLATTENED_BATCH so do the results, C, the residual and partial sums, and N * batches is less than 2^31.
// Variants: conv2d_simt has matmul_simt's; conv2d_coopmat has matmul_coopmat's (no pipelined-l2: it prefetches stored
// operands) with ".a" (IMAGE_SIDE 0), ".b" or ".p" (conv2d_coopmat.abi.h) behind, "f16.pipelined.a".
// Divisions are of numbers below 2^31: (umulhi(n, multiplier) + n) >> shift (FastDivision in the planner). Those that
// the push constants do not hold are specialization constants GEMM_SPEC_WORD0 and up, as a matmul's are.
#ifndef SECTILE_CONV2D_ABI_H
#define SECTILE_CONV2D_ABI_H

#define CONV2D_MAX_WORDS 62           // GEMM_MAX_WORDS and the words above

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

// How the kernels without a product are handed the weights: a problem's FilterLayout.
#define CONV2D_WEIGHTS_KCRS 0
#define CONV2D_WEIGHTS_KRSC 1
#define CONV2D_WEIGHTS_RSCK 2

#define CONV2D_PROLOGUE_SCALE 1
#define CONV2D_PROLOGUE_BIAS 2
#define CONV2D_PROLOGUE_RELU 4

#endif
