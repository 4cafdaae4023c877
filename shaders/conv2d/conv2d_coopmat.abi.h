// Interface of conv2d_coopmat: matmul_coopmat with one operand gathered from an image whose runs lie along channels.
// Each side of the image has variants of its own (".a", ".b"); CONV2D_SPEC_IMAGE_SIDE is not read.
#ifndef SECTILE_CONV2D_COOPMAT_ABI_H
#define SECTILE_CONV2D_COOPMAT_ABI_H

#include "lib/conv2d.abi.h"
#include "matmul/matmul_coopmat.abi.h"

#endif
