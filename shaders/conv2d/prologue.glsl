// A convolution's prologue has operands of its own: their words in the stream. Include before gemm/base.glsl.
#include "conv2d/conv2d.abi.h"

layout(constant_id = CONV2D_SPEC_PROLOGUE) const uint kPrologue = 0u;

#define EXTRA_ADDRESS_WORDS CONV2D_PROLOGUE_WORDS
#define MAX_WORDS GEMM_MOST_WORDS
