// Convolutions that need no gathered operand.
#pragma once

#include "context.hpp"

#include <optional>

namespace sectile::detail {

// Makes a matmul's rows, which are pixels, those of one image, and its batches the images.
void batch_images(Gemm& m, const Conv2dProblem& problem);

// A convolution that is a matmul of stored operands.
struct PointwiseGemm {
  Gemm gemm;
  bool image_is_b = false;
};
// A filter of one element, stride 1, no padding, and no prologue but a scale; where batches can be had by one stride.
std::optional<PointwiseGemm> as_pointwise(const Conv2dProblem& problem);
// No product is added up: the epilogue alone. None where the result is blocked, because its surplus is written too.
std::optional<PointwiseGemm> as_epilogue(const Conv2dProblem& problem);
// Fills the job's plan, whose operands are the problem's.
Result<void> plan_pointwise(Job& job, const PointwiseGemm& matmul);

}  // namespace sectile::detail
