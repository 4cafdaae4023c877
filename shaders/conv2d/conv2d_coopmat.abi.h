// Interface of conv2d_coopmat: matmul_coopmat with one operand gathered from an image.
// Each side of the image has variants of its own, in which the image's runs lie along channels (".a", ".b");
// CONV2D_SPEC_IMAGE_SIDE is not read.
//
// Variants ".p": B is an image of two-byte elements of TYPE (NCHW, BLOCK 1, no PROLOGUE) that is loaded in chunks of 8
// pixels. K is in ORDER_CRS, which with C = 1 or R = S = 1 is the other order too; stride_w = 1. Q <= W, and Q and W
// are multiples of 8, as is the batch stride where there are several; the image's address is a multiple of 16.
// PAD_LEFT and (S - 1) * DILATION_W - PAD_LEFT are at most 2. A row of the tile has L = TILE_N / 8 chunks; L divides
// WORKGROUP, and WORKGROUP / L * S divides TILE_K. An invocation stages at most 32 chunks.
#ifndef SECTILE_CONV2D_COOPMAT_ABI_H
#define SECTILE_CONV2D_COOPMAT_ABI_H

#include "conv2d/conv2d.abi.h"
#include "gemm/matmul_coopmat.abi.h"

#endif
