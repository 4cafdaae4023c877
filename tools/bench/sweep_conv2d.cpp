// A sweep's convolutions, class by class.
#include "conv2d.hpp"
#include "data.hpp"

#include <array>
#include <span>
#include <string_view>

namespace sectile::tools {
namespace {

using reference::Random;

constexpr std::array<SweepClass, 8> kConv2dClasses = {{
    {'a', "resnet", "3x3 and 1x1 layers of residual networks, some with stride 2"},
    {'b', "unet", "3x3 and 1x1 layers of diffusion models, 320 to 2560 channels"},
    {'c', "convnext", "7x7 depthwise, 1x1 and 2x2 stride-2 layers"},
    {'d', "detector", "necks and heads of detectors on oblong images"},
    {'e', "first", "first layers: 1 to 4 channels, filters of 3 to 16"},
    {'f', "depthwise", "3x3 to 7x7, a filter or two for each channel"},
    {'g', "dilated", "3x3 with a dilation of 2 to 24"},
    {'h', "ragged", "arbitrary sizes, filters, strides, paddings and groups"},
}};
constexpr std::array<std::string_view, 3> kConv2dTypes = {"f16-nhwc", "f16-nchw", "f32-nchw"};

std::int64_t one_of(std::span<const std::int64_t> values, Random& random) {
  return values[static_cast<std::size_t>(random.below(values.size()))];
}

void set_filter(Conv2dProblem& p, std::int64_t filter, std::int64_t stride, std::int64_t pad) {
  p.r = p.s = filter;
  p.stride_h = p.stride_w = stride;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = pad;
}
void set_image(Conv2dProblem& p, std::int64_t side) { p.h = p.w = side; }
void set_channels(Conv2dProblem& p, std::int64_t c, std::int64_t k) {
  p.c = c;
  p.k = k;
}
void set_depthwise(Conv2dProblem& p, std::int64_t channels, std::int64_t multiplier) {
  set_channels(p, channels, channels * multiplier);
  p.groups = channels;
}

// The four stages of a network that halves its image and doubles its width, of 1/4 of the picture at first. A layer
// that leads to the next stage is not in the last.
struct Stage {
  std::int64_t number, side;
};
Stage stage(bool leads_on, Random& random) {
  constexpr std::array<std::int64_t, 4> kPictures = {160, 224, 256, 384};
  const auto number = static_cast<std::int64_t>(random.below(leads_on ? 3 : 4));
  return {number, one_of(kPictures, random) / 4 >> number};
}

void set_resnet(Conv2dProblem& p, Random& random) {
  const auto kind = random.below(5);
  const auto [number, side] = stage(kind == 2 || kind == 4, random);
  const std::int64_t width = std::int64_t{64} << number;
  p.n = draw_size(random, 1, 64);
  set_image(p, side);
  switch (kind) {
    case 0:
    case 1:
      set_channels(p, width, width);
      return set_filter(p, 3, 1, 1);
    case 2:
      set_channels(p, width, 2 * width);
      return set_filter(p, 3, 2, 1);
    case 3:
      if (random.one_in(2))
        set_channels(p, width, 4 * width);
      else
        set_channels(p, 4 * width, width);
      return set_filter(p, 1, 1, 0);
    default:
      set_channels(p, 4 * width, 8 * width);
      return set_filter(p, 1, 2, 0);
  }
}

void set_unet(Conv2dProblem& p, Random& random) {
  constexpr std::array<std::int64_t, 3> kWidths = {320, 640, 1280};
  const auto level = static_cast<std::size_t>(random.below(3));
  const std::int64_t width = kWidths[level];
  p.n = draw_size(random, 1, 8);
  set_image(p, (random.one_in(3) ? std::int64_t{96} : std::int64_t{64}) >> level);
  // On the way up the other half of the channels comes from the way down.
  set_channels(p, random.one_in(3) ? 2 * width : width, width);
  if (random.one_in(5)) return set_filter(p, 1, 1, 0);
  set_filter(p, 3, random.one_in(5) ? 2 : 1, 1);
}

void set_convnext(Conv2dProblem& p, Random& random) {
  constexpr std::array<std::int64_t, 3> kWidths = {96, 128, 192};
  const auto kind = random.below(4);
  const auto [number, side] = stage(kind == 3, random);
  const std::int64_t width = one_of(kWidths, random) << number;
  p.n = draw_size(random, 1, 64);
  set_image(p, side);
  switch (kind) {
    case 0:
      set_depthwise(p, width, 1);
      return set_filter(p, 7, 1, 3);
    case 1:
      set_channels(p, width, 4 * width);
      return set_filter(p, 1, 1, 0);
    case 2:
      set_channels(p, 4 * width, width);
      return set_filter(p, 1, 1, 0);
    default:
      set_channels(p, width, 2 * width);
      return set_filter(p, 2, 2, 0);
  }
}

void set_detector(Conv2dProblem& p, Random& random) {
  constexpr std::array<std::int64_t, 4> kWidths = {64, 128, 256, 512};
  constexpr std::array<std::int64_t, 4> kOutputs = {18, 36, 255, 720};  // boxes and classes of the anchors
  const std::int64_t shrunk = std::int64_t{8} << random.below(4);
  p.n = draw_size(random, 1, 16);
  p.h = 64 * draw_size(random, 5, 20) / shrunk;  // of a picture of 320 to 1280
  p.w = 64 * draw_size(random, 5, 20) / shrunk;
  const std::int64_t width = one_of(kWidths, random);
  switch (random.below(4)) {
    case 0:
      set_channels(p, width, one_of(kOutputs, random));
      return random.one_in(2) ? set_filter(p, 1, 1, 0) : set_filter(p, 3, 1, 1);
    case 1:
      set_channels(p, 2 * width, width);
      return set_filter(p, 1, 1, 0);
    case 2:
      set_channels(p, width, 2 * width);
      return set_filter(p, 3, 2, 1);
    default:
      set_channels(p, width, width);
      return set_filter(p, 3, 1, 1);
  }
}

void set_first(Conv2dProblem& p, Random& random) {
  struct First {
    std::int64_t filter, stride, pad, k_low, k_high;
  };
  constexpr std::array<First, 5> kFirst = {
      {{3, 1, 1, 32, 64}, {3, 2, 1, 16, 64}, {7, 2, 3, 64, 64}, {4, 4, 0, 96, 192}, {16, 16, 0, 192, 1280}}};
  constexpr std::array<std::int64_t, 4> kChannels = {1, 3, 3, 4};
  const First& first = kFirst[static_cast<std::size_t>(random.below(kFirst.size()))];
  p.n = draw_size(random, 1, 64);
  set_image(p, 32 * draw_size(random, 5, 20));
  // A statement a draw: the order of arguments is the compiler's.
  const std::int64_t outputs = 16 * draw_size(random, first.k_low / 16, first.k_high / 16);
  set_channels(p, one_of(kChannels, random), outputs);
  set_filter(p, first.filter, first.stride, first.pad);
}

void set_depthwise_layer(Conv2dProblem& p, Random& random) {
  const std::int64_t filter = 3 + 2 * static_cast<std::int64_t>(random.below(3));
  p.n = draw_size(random, 1, 64);
  set_image(p, draw_size(random, 7, 224));
  const int multiplier = random.one_in(8) ? 2 : 1;
  set_depthwise(p, 8 * draw_size(random, 2, 192), multiplier);
  set_filter(p, filter, random.one_in(3) ? 2 : 1, filter / 2);
}

void set_dilated(Conv2dProblem& p, Random& random) {
  constexpr std::array<std::int64_t, 6> kDilations = {2, 4, 6, 12, 18, 24};
  p.n = draw_size(random, 1, 16);
  set_image(p, draw_size(random, 28, 129));
  const std::int64_t outputs = 32 * draw_size(random, 2, 16);
  set_channels(p, 32 * draw_size(random, 2, 64), outputs);
  p.dilation_h = p.dilation_w = one_of(kDilations, random);
  set_filter(p, 3, 1, p.dilation_h);
}

void set_ragged(Conv2dProblem& p, Random& random) {
  p.n = draw_size(random, 1, 32);
  p.h = draw_size(random, 5, 300);
  p.w = draw_size(random, 5, 300);
  p.groups = random.one_in(4) ? draw_size(random, 2, 32) : 1;
  const std::int64_t outputs = p.groups * draw_size(random, 1, 700 / p.groups);
  set_channels(p, p.groups * draw_size(random, 1, 700 / p.groups), outputs);
  p.r = random.between(1, 7);
  p.s = random.one_in(2) ? p.r : random.between(1, 7);
  p.stride_h = random.between(1, 3);
  p.stride_w = random.one_in(2) ? p.stride_h : random.between(1, 3);
  p.dilation_h = p.dilation_w = random.one_in(4) ? 2 : 1;
  for (std::int64_t* const pad : {&p.pad_top, &p.pad_left, &p.pad_bottom, &p.pad_right}) *pad = random.between(0, 3);
}

// A half is plain, the others have a bias and mostly a relu; of those one in four adds a residual.
void set_epilogue(Conv2dProblem& p, Random& random) {
  if (random.one_in(2)) return;
  constexpr std::array kActivations = {Activation::relu, Activation::relu, Activation::silu, Activation::none};
  p.bias = true;
  p.activation = kActivations[static_cast<std::size_t>(random.below(kActivations.size()))];
  p.residual = random.one_in(4);
}

void set_sizes(Conv2dProblem& p, char letter, Random& random) {
  switch (letter) {
    case 'a':
      return set_resnet(p, random);
    case 'b':
      return set_unet(p, random);
    case 'c':
      return set_convnext(p, random);
    case 'd':
      return set_detector(p, random);
    case 'e':
      return set_first(p, random);
    case 'f':
      return set_depthwise_layer(p, random);
    case 'g':
      return set_dilated(p, random);
    default:
      return set_ragged(p, random);
  }
}

// Groups keep their number, but a depthwise problem's, which are its channels.
Conv2dProblem around(const Conv2dProblem& p) {
  Conv2dProblem wide = p;
  wide.h = neighbour_size(p.h);
  wide.w = neighbour_size(p.w);
  if (p.groups == p.c && p.groups > 1) {
    set_depthwise(wide, neighbour_size(p.c), p.k / p.c);
  } else {
    const auto widened = [&](std::int64_t channels) { return neighbour_size(channels / p.groups) * p.groups; };
    set_channels(wide, widened(p.c), widened(p.k));
  }
  return wide;
}

}  // namespace

std::span<const SweepClass> conv2d_classes() { return kConv2dClasses; }
std::span<const std::string_view> conv2d_types() { return kConv2dTypes; }

std::optional<Drawn> draw_conv2d(char letter, std::string_view type, double operations, double bytes, Random& random) {
  const bool nhwc = type == kConv2dTypes[0];
  Conv2dProblem p =
      conv2d_of({}, type.starts_with("f16") ? DType::f16 : DType::f32, nhwc ? ImageLayout::nhwc : ImageLayout::nchw);
  set_sizes(p, letter, random);
  set_epilogue(p, random);
  if (!validate(Problem(p)) || operand_bytes_of(Problem(p)) > bytes) return std::nullopt;
  if (operations > 0 && operations_of(p) > operations) return std::nullopt;
  const Conv2dProblem wide = around(p);
  Drawn drawn{p};
  if (wide != p && validate(Problem(wide))) drawn.neighbour = wide;
  return drawn;
}

}  // namespace sectile::tools
