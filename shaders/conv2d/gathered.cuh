// One operand of a GEMM is gathered from an image (conv2d/conv2d.abi.h): its words in the stream. Include before
// gemm/gemm.cuh.
#include "conv2d/prologue.cuh"

constexpr uint kGatheredSide = sectile_constant(CONV2D_SPEC_IMAGE_SIDE, 0u);
constexpr uint kFlattenedBatch = sectile_constant(CONV2D_SPEC_FLATTENED_BATCH, 0u);

#define GATHERED_WORDS CONV2D_GATHER_WORDS
#define BATCH_OF_COLUMN(n) fast_quotient(n, size_n_multiplier(push), division_shifts(push).z)
