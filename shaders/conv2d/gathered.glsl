// One operand of a GEMM is gathered from an image (conv2d/conv2d.abi.h): its words in the stream. Include before
// gemm/gemm.glsl.
#include "conv2d/prologue.glsl"

#ifdef IMAGE_SIDE
const uint kGatheredSide = IMAGE_SIDE;
#else
layout(constant_id = CONV2D_SPEC_IMAGE_SIDE) const uint kGatheredSide = 0u;
#endif
layout(constant_id = CONV2D_SPEC_FLATTENED_BATCH) const uint kFlattenedBatch = 0u;

#define GATHERED_WORDS CONV2D_GATHER_WORDS
#define BATCH_OF_COLUMN(n) fast_quotient(n, size_n_multiplier(), division_shifts().z)
