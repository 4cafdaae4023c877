// Which GEMMs a convolution can be computed as.
#pragma once

#include "context.hpp"

#include <cstdint>

namespace sectile::detail {

// The problem's epilogue; `channels`: where the result has the output channels.
GemmEpilogue epilogue_of(const Conv2dProblem& problem, PerAxis channels);
// A matmul with the problem's types, epilogue and alignments.
Gemm gemm_for(const Conv2dProblem& problem, PerAxis channels);
// KRSC too where KCRS is the same: a group has one channel, or the filter one element.
FilterLayout filter_layout(const Conv2dProblem& problem);
// How a GEMM treats the problem's operands.
struct GemmMapping {
  bool image_is_b = false, along_pixels = false;
  bool in_chunks = false;                               // along pixels, and conv2d_coopmat can load it so
  bool x_nhwc = false, w_krsc = false, y_nhwc = false;  // repacked
};
// Sets a matmul's sizes, transposes and strides. The image's leading dimension is its pixel pitch.
void set_sizes(Gemm& m, const Conv2dProblem& problem, const GemmMapping& mapping);
// What no size or stride of a matmul may exceed.
inline constexpr std::int64_t kMostSize = 0x7fffffff;
std::int64_t greatest_size(const Gemm& m) noexcept;
// The GEMMs that the problem can be computed as.
void add_gemms(Conv2dContext& c);

}  // namespace sectile::detail
