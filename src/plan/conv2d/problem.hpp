// Shared by a convolution's text, JSON, validation and planning: defaults, names, and where an image's elements lie.
// Private to src/plan.
#pragma once

#include "base/text_tokens.hpp"

#include <sectile/problem.hpp>

#include <cstdint>
#include <string_view>

namespace sectile::detail {

// A problem of this type with the defaults of all other fields.
Conv2dProblem conv2d_defaults(DType type) noexcept;

// Names in the problem string and JSON, by the enumerations' order.
inline constexpr std::string_view kImageLayouts[] = {"nchw", "nhwc", "nchw4c", "nchw8c"};
inline constexpr std::string_view kFilterLayouts[] = {"kcrs", "krsc", "rsck"};
std::string_view layout_name(ImageLayout layout) noexcept;
std::string_view layout_name(FilterLayout layout) noexcept;

// The channels that lie side by side: 0 for all of them (nhwc), 1 for nchw, 4 or 8 for a blocked layout.
std::int64_t block_of(ImageLayout layout) noexcept;

// One of the operands that are images. C, H and W are its own: of the result they are K, P and Q.
struct StoredImage {
  std::string_view name;        // "x"
  std::string_view pitch_name;  // "x.pitch"
  ImageLayout layout = ImageLayout::nchw;
  std::int64_t n = 0, c = 0, h = 0, w = 0;
  std::int64_t pitch = 0;  // as the problem says
};
StoredImage stored_x(const Conv2dProblem& problem) noexcept;
StoredImage stored_y(const Conv2dProblem& problem) noexcept;
StoredImage stored_c(const Conv2dProblem& problem) noexcept;  // if C is Y, it has Y's pitch
StoredImage stored_r(const Conv2dProblem& problem) noexcept;  // the residual

// Element (n, y, x, c) is n * image + c / block * plane + c % block + (y * W + x) * pixel elements from the operand's
// address; a block of 0 is all channels. Values that do not fit 63 bits saturate; validate() refuses them wherever they
// matter.
struct ImageStrides {
  std::int64_t image = 0, plane = 0, pixel = 0;
  std::int64_t block = 0;
  bool operator==(const ImageStrides&) const = default;
};
ImageStrides strides_of(const StoredImage& image) noexcept;

// output_size() of a problem that is valid. Of an empty one a size may be 0.
ImageSize size_of_output(const Conv2dProblem& problem) noexcept;

inline bool reads_c(const Conv2dProblem& p) noexcept { return p.beta != 0; }
// Y has no elements.
inline bool is_empty(const Conv2dProblem& p) noexcept { return p.n == 0 || p.k == 0; }
// The products that are added up to an element of Y.
std::int64_t sum_length(const Conv2dProblem& problem) noexcept;

}  // namespace sectile::detail
