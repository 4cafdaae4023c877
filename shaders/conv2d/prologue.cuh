// A convolution's prologue has operands of its own: their words in the stream. Include before gemm/base.cuh.
#include "conv2d/conv2d.abi.h"

constexpr uint kPrologue = sectile_constant(CONV2D_SPEC_PROLOGUE, 0u);

#define EXTRA_ADDRESS_WORDS CONV2D_PROLOGUE_WORDS
#define MAX_WORDS GEMM_MOST_WORDS
