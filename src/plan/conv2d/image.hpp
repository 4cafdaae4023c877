// An image as an operand of a GEMM.
#pragma once

#include "context.hpp"

#include <cstdint>
#include <memory>

namespace sectile::detail {

// How a GEMM reads the image.
struct ImageAccess {
  ImageStrides at;
  bool is_b = false;          // its batches are images, otherwise groups
  bool along_pixels = false;  // otherwise along channels
  bool in_chunks = false;     // along pixels: conv2d_coopmat can load it
  std::uint32_t align = 16;   // bytes, of the first element
  bool few_pipelines = false;
};
std::shared_ptr<const GatheredOperand> gathered_image(const Conv2dProblem& problem, const ImageAccess& reading);
// Whether the pixels of all images are columns of one matrix, where they are columns: tiles of 128 columns of each
// image for itself have 3 % more columns than the image, or more, and the kernels' numbers hold what a tile of several
// images needs.
bool flattens_images(const Conv2dProblem& problem) noexcept;
// Elements from a group's first channel to the next group's.
std::int64_t group_step(const Conv2dProblem& problem, const ImageStrides& at) noexcept;
// CONV2D_PROLOGUE bits.
std::uint32_t prologue_bits(const Conv2dProblem& problem) noexcept;

}  // namespace sectile::detail
