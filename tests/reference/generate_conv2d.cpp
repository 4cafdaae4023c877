#include "generate.hpp"

#include "pick.hpp"
#include "random.hpp"

#include <algorithm>

namespace sectile::reference {
namespace {

// A convolution's sizes. The image is what its filter reaches, less the padding, and `more`: so that there is a result
// whatever is made smaller.
struct Sizes {
  std::int64_t n = 1, groups = 1, group_c = 1, group_k = 1;
  std::int64_t more_h = 0, more_w = 0, r = 3, s = 3;
  std::int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;

  std::int64_t height() const { return std::max<std::int64_t>(dilation_h * (r - 1) + 1 - top - bottom, 1) + more_h; }
  std::int64_t width() const { return std::max<std::int64_t>(dilation_w * (s - 1) + 1 - left - right, 1) + more_w; }
  std::int64_t out_height() const { return (height() + top + bottom - dilation_h * (r - 1) - 1) / stride_h + 1; }
  std::int64_t out_width() const { return (width() + left + right - dilation_w * (s - 1) - 1) / stride_w + 1; }
  std::int64_t cost() const {
    const std::int64_t image = height() * width() * groups * group_c;
    return n * std::max(image, groups * group_k * group_c * out_height() * out_width() * r * s);
  }
};

std::int64_t pick_channels(Random& random, std::int64_t most) {
  std::int64_t channels = 1;
  switch (random.below(5)) {
    case 0:
      channels = random.between(1, 9);
      break;
    case 1:
      channels = one_of<std::int64_t>(random, {3, 5, 7, 11, 13, 17, 31, 37, 61, 67, 97, 131});
      break;
    case 2:
      channels = 16 * random.between(1, 8) + random.between(-1, 1);
      break;
    default:
      channels = one_of<std::int64_t>(random, {4, 8, 16, 32}) * random.between(1, 4);
      break;
  }
  return std::min(channels, most);
}

void pick_same_padding(Sizes& z) {
  z.top = z.bottom = z.dilation_h * (z.r - 1) / 2;
  z.left = z.right = z.dilation_w * (z.s - 1) / 2;
}

// Any filter, stride, dilation and padding.
void pick_any_filter(Sizes& z, Random& random) {
  z.r = random.between(1, 5);
  z.s = random.between(1, 5);
  const bool square = random.one_in(2);
  const auto two = [&](std::int64_t most, std::int64_t& first, std::int64_t& second) {
    first = random.between(1, most);
    second = square ? first : random.between(1, most);
  };
  two(3, z.stride_h, z.stride_w);
  if (random.one_in(2)) two(3, z.dilation_h, z.dilation_w);
  switch (random.below(4)) {
    case 0:
      break;
    case 1:
      pick_same_padding(z);
      break;
    default:
      for (std::int64_t* const pad : {&z.top, &z.left, &z.bottom, &z.right}) *pad = random.between(0, 3);
      if (random.one_in(8)) z.left += 20;  // a tile of nothing but zeros
      break;
  }
}

// Rows of whole chunks of 8 pixels, as long as the result's.
void pick_equal_rows(Sizes& z, Random& random) {
  const std::int64_t reach = z.dilation_w * (z.s - 1);
  z.left = random.one_in(2) ? reach / 2 : random.between(0, reach);
  z.right = reach - z.left;
  z.more_w = 8 * (z.more_w / 8 + 1) - 1;
}

void pick_kind(Sizes& z, Random& random) {
  z.n = random.one_in(2) ? 1 : random.between(2, 4);
  z.group_c = pick_channels(random, 200);
  z.group_k = pick_channels(random, 200);
  z.more_h = random.between(0, 24);
  z.more_w = random.one_in(6) ? random.between(30, 200) : random.between(0, 30);
  z.stride_h = z.stride_w = random.one_in(3) ? 2 : 1;
  switch (random.below(10)) {
    case 0:
    case 1:  // as in most networks
      pick_same_padding(z);
      break;
    case 2:  // a matmul
      z.r = z.s = z.stride_h = z.stride_w = 1;
      if (random.one_in(3)) z.groups = random.between(2, 4);
      break;
    case 3:
      z.r = z.s = 1;
      break;
    case 4:
    case 5:  // depthwise
      z.groups = z.group_c;
      z.group_c = 1;
      z.group_k = random.one_in(2) ? 1 : random.between(2, 4);
      if (random.one_in(2)) z.r = z.s = one_of<std::int64_t>(random, {3, 5, 7});
      pick_same_padding(z);
      if (random.one_in(3)) pick_any_filter(z, random);
      break;
    case 6:  // a network's first layer
      z.group_c = random.between(1, 4);
      z.r = z.s = 7;
      z.stride_h = z.stride_w = 2;
      pick_same_padding(z);
      break;
    case 7:  // a small image with many channels
      z.more_h = random.between(0, 7);
      z.more_w = random.between(0, 7);
      z.group_c = 32 * random.between(1, 20) + (random.one_in(3) ? 1 : 0);
      z.group_k = pick_channels(random, 48);
      pick_same_padding(z);
      break;
    case 8:
      z.groups = random.between(2, 8);
      z.group_c = pick_channels(random, 40);
      z.group_k = pick_channels(random, 40);
      pick_any_filter(z, random);
      break;
    default:
      pick_any_filter(z, random);
      break;
  }
}

Sizes pick_conv2d_sizes(Random& random, std::int64_t unit) {
  Sizes z;
  pick_kind(z, random);
  std::int64_t budget = std::int64_t{1} << (10 + random.below(11));
  if (random.one_in(200)) budget = std::int64_t{1} << 23;
  while (z.cost() > budget) {
    const auto sizes = {&z.n, &z.groups, &z.group_c, &z.group_k, &z.more_h, &z.more_w};
    std::int64_t* const most = *std::max_element(sizes.begin(), sizes.end(), [](auto* a, auto* b) { return *a < *b; });
    if (*most <= 1) break;  // a filter's reach is all that is left
    *most = *most * 2 / 3;
  }
  for (std::int64_t* const size : {&z.group_c, &z.group_k, &z.more_w})
    if (*size >= unit) *size = *size / unit * unit;
  if (z.stride_w == 1 && random.one_in(4)) pick_equal_rows(z, random);
  return z;
}

void put_sizes(Conv2dProblem& p, const Sizes& z, Random& random) {
  p.n = z.n;
  p.c = z.groups * z.group_c;
  p.k = z.groups * z.group_k;
  p.h = z.height();
  p.w = z.width();
  p.r = z.r;
  p.s = z.s;
  p.stride_h = z.stride_h;
  p.stride_w = z.stride_w;
  p.dilation_h = z.dilation_h;
  p.dilation_w = z.dilation_w;
  p.pad_top = z.top;
  p.pad_left = z.left;
  p.pad_bottom = z.bottom;
  p.pad_right = z.right;
  p.groups = z.groups;
  if (random.one_in(60)) *one_of(random, {&p.n, &p.k, &p.c, &p.c}) = 0;
}

void pick_types(Conv2dProblem& p, Random& random) {
  const StoredTypes stored = pick_types(random, {WeightFormat::q8}, p.type, p.acc, p.out);
  p.x_type = stored.left;
  p.w_type = stored.right;
  p.w_format = stored.weights;
  if (p.type == DType::i8 || !random.one_in(4)) return;
  p.x_scale = random.one_in(2);
  p.x_bias = random.one_in(2);
  p.x_relu = random.one_in(2);
}

void pick_epilogue(Conv2dProblem& p, Random& random) {
  if (random.one_in(2)) return;  // none at all
  p.bias = random.one_in(2);
  p.residual = random.one_in(4);
  if (p.out == DType::i32) return pick_integer_activation(p, random);
  p.scale = random.one_in(3);
  pick_float_epilogue(p, random);
}

// A slice of the channels of larger images, a batch that skips some, or packed.
std::int64_t pick_pitch(Random& random, std::int64_t unit, ImageLayout layout, std::int64_t channels,
                        std::int64_t pixels) {
  if (!random.one_in(3)) return 0;
  const std::int64_t more = random.between(1, 20);
  if (layout == ImageLayout::nhwc) return up(channels + more, unit);
  const std::int64_t block = layout == ImageLayout::nchw4c ? 4 : layout == ImageLayout::nchw8c ? 8 : 1;
  const std::int64_t whole = up(channels, block) * pixels;
  switch (random.below(3)) {
    case 0:
      return whole + more * block * pixels;
    case 1:
      return whole * 2;
    default:
      return up(whole + more, unit);
  }
}

void pick_pitches(Conv2dProblem& p, Random& random, std::int64_t unit) {
  p.x_pitch = pick_pitch(random, unit, p.x_layout, p.c, p.h * p.w);
  const std::int64_t height = (p.h + p.pad_top + p.pad_bottom - p.dilation_h * (p.r - 1) - 1) / p.stride_h + 1;
  const std::int64_t width = (p.w + p.pad_left + p.pad_right - p.dilation_w * (p.s - 1) - 1) / p.stride_w + 1;
  const auto of_result = [&] { return pick_pitch(random, unit, p.y_layout, p.k, height * width); };
  p.y_pitch = of_result();
  if (p.beta != 0 && !p.c_is_d) p.c_pitch = of_result();
  if (p.residual) p.r_pitch = of_result();
}

}  // namespace

Conv2dProblem generate_conv2d(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t own = mix(seed ^ 0x636f6e763264u);  // "conv2d"
  Random kind(own ^ mix(~index)), random(own ^ mix(index));
  Conv2dProblem p;
  const auto layout = [&] {
    return one_of(kind, {ImageLayout::nchw, ImageLayout::nchw, ImageLayout::nhwc, ImageLayout::nhwc, ImageLayout::nhwc,
                         ImageLayout::nchw4c, ImageLayout::nchw8c});
  };
  p.x_layout = layout();
  p.y_layout = kind.one_in(4) ? layout() : p.x_layout;
  p.w_layout = one_of(kind, {FilterLayout::kcrs, FilterLayout::krsc, FilterLayout::rsck});
  pick_types(p, kind);
  pick_epilogue(p, kind);
  p.exact = kind.one_in(3);
  p.x_align = pick_product_align(kind, size_bytes(p.x_type));
  p.w_align = pick_product_align(kind, size_bytes(p.w_type));
  p.y_align = pick_product_align(kind, size_bytes(p.out));
  const auto unit = one_of<std::int64_t>(kind, {1, 1, 1, 2, 4, 8, 8});
  put_sizes(p, pick_conv2d_sizes(random, unit), random);
  pick_pitches(p, random, unit);
  return p;
}

}  // namespace sectile::reference
