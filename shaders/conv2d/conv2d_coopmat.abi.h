// Interface of conv2d_coopmat: matmul_coopmat with one operand gathered from an image.
// Each side of the image has variants of its own, in which the image's runs lie along channels (".a", ".b");
// CONV2D_SPEC_IMAGE_SIDE is not read.
//
// Variants ".p": B is an image of two-byte elements of TYPE (NCHW, BLOCK 1, no PROLOGUE) that is loaded in chunks of 8
// pixels. ORDER_CRS, stride_w = 1. Q <= W, and Q, W and the batch stride are multiples of 8, the image's address one of 16.
// PAD_LEFT and (S - 1) * DILATION_W - PAD_LEFT are at most 2. With C = TILE_N / 8 chunks, C divides WORKGROUP, and
// WORKGROUP / C * S divides TILE_K.
#ifndef SECTILE_CONV2D_COOPMAT_ABI_H
#define SECTILE_CONV2D_COOPMAT_ABI_H

#include "lib/conv2d.abi.h"
#include "matmul/matmul_coopmat.abi.h"

#endif
