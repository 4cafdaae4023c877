// The benchmark's parts of a convolution. Private to them.
#pragma once

#include "operation.hpp"

namespace sectile::tools {

// A square convolution with padding on all sides alike, of one type, in one layout: weights lie as the images do, KRSC
// beside NHWC and KCRS beside NCHW.
struct Conv2dShape {
  std::int64_t n, c, h, w, k, filter, stride, pad;
};
Conv2dProblem conv2d_of(const Conv2dShape& shape, DType type, ImageLayout layout);

// --preset conv2d-fusion: what is fused beside the same as problems of their own.
std::vector<BenchRow> conv2d_fusion_rows();

// What a sweep draws; nothing where it has more operations (0: any number) or bytes in all.
std::span<const SweepClass> conv2d_classes();
std::span<const std::string_view> conv2d_types();
std::optional<Drawn> draw_conv2d(char letter, std::string_view type, double operations, double bytes,
                                 reference::Random& random);

}  // namespace sectile::tools
