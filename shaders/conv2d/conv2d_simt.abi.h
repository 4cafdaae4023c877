// Interface of conv2d_simt: matmul_simt with one operand gathered from an image. Both sides are in each module
// (CONV2D_SPEC_IMAGE_SIDE).
//
// If the image's runs lie along pixels, its GROUP (_A or _B) is the number of consecutive invocations that load
// consecutive pixels of one k. With FETCHERS / (TILE_K / span) all loads of an invocation have the same k, where span
// is 4 for int8 and otherwise 1. GROUP divides FETCHERS and the tile, and FETCHERS / GROUP divides TILE_K / span; if
// one of these does not hold, or items do not divide evenly among the fetchers, items are in matmul_simt's order.
#ifndef SECTILE_CONV2D_SIMT_ABI_H
#define SECTILE_CONV2D_SIMT_ABI_H

#include "conv2d/conv2d.abi.h"
#include "gemm/matmul_simt.abi.h"

#endif
