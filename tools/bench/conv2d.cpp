// A convolution's part of the benchmark: rows that are compared with each other and with rivals.
#include "conv2d.hpp"

#include "cli/words.hpp"
#include "product.hpp"

#include "reference/conv2d.hpp"

#include <string_view>
#include <utility>

namespace sectile::tools {
namespace {

// A type in a layout, and what of the best rival's rate it is to reach.
struct Form {
  DType type;
  ImageLayout layout;
  double vulkan, cuda;
};
constexpr Form kForms[] = {{DType::f16, ImageLayout::nhwc, 0.5, 0.9},
                           {DType::f16, ImageLayout::nchw, 0.9, 1.3},
                           {DType::f32, ImageLayout::nchw, 0.95, 1.0}};
constexpr Conv2dShape kLayers[] = {{2, 320, 64, 64, 320, 3, 1, 1},
                                   {2, 1280, 16, 16, 1280, 3, 1, 1},
                                   {16, 64, 56, 56, 64, 3, 1, 1},
                                   {16, 256, 28, 28, 512, 1, 2, 0},
                                   {16, 3, 224, 224, 64, 7, 2, 3}};

// targets.md's table at its batches and at 1, plain and with bias and relu.
std::vector<BenchRow> conv2d_rows() {
  std::vector<BenchRow> rows;
  for (const Form& form : kForms)
    for (const Conv2dShape& shape : kLayers)
      for (const std::int64_t batch : {shape.n, std::int64_t{1}})
        for (const bool fused : {false, true}) {
          Conv2dProblem p = conv2d_of(shape, form.type, form.layout);
          p.n = batch;
          p.bias = fused;
          if (fused) p.activation = Activation::relu;
          rows.push_back({.name = print(Problem(p)), .problem = p, .goal_vulkan = form.vulkan, .goal_cuda = form.cuda});
        }
  return rows;
}

class BenchConv2d final : public BenchProduct<Conv2dProblem, reference::Conv2dDefinition> {
 public:
  std::int64_t terms(const Conv2dProblem& problem) const override { return terms_of(problem); }
  double operations(const Conv2dProblem& problem) const override { return operations_of(problem); }
  std::vector<std::string_view> presets() const override { return {"conv2d", "conv2d-fusion"}; }

  std::optional<std::vector<BenchRow>> preset(std::string_view name, bool) const override {
    if (name == "conv2d") return conv2d_rows();
    if (name == "conv2d-fusion") return conv2d_fusion_rows();
    return std::nullopt;
  }

  // Every part of the problem by name, pitches where they are not packed.
  nlohmann::json describe(const Problem& problem) const override {
    const auto& p = std::get<Conv2dProblem>(problem);
    nlohmann::json object = {{"operation", "conv2d"},
                             {"type", name(p.type)},
                             {"x_type", name(p.x_type)},
                             {"w_type", name(p.w_type)},
                             {"w_format", word_of(p.w_format)},
                             {"acc", name(p.acc)},
                             {"out", name(p.out)},
                             {"x_layout", word_of(p.x_layout)},
                             {"y_layout", word_of(p.y_layout)},
                             {"w_layout", word_of(p.w_layout)},
                             {"n", p.n},
                             {"c", p.c},
                             {"h", p.h},
                             {"w", p.w},
                             {"k", p.k},
                             {"r", p.r},
                             {"s", p.s},
                             {"stride", {p.stride_h, p.stride_w}},
                             {"dilation", {p.dilation_h, p.dilation_w}},
                             {"pad", {p.pad_top, p.pad_left, p.pad_bottom, p.pad_right}},
                             {"groups", p.groups},
                             {"alpha", p.alpha},
                             {"beta", p.beta},
                             {"c_is_d", p.c_is_d},
                             {"bias", p.bias},
                             {"scale", p.scale},
                             {"activation", word_of(detail::activation_words(p))},
                             {"residual", p.residual},
                             {"x_scale", p.x_scale},
                             {"x_bias", p.x_bias},
                             {"x_relu", p.x_relu}};
    for (const auto& [key, pitch] : {std::pair("x_pitch", p.x_pitch), std::pair("y_pitch", p.y_pitch),
                                     std::pair("c_pitch", p.c_pitch), std::pair("r_pitch", p.r_pitch)})
      if (pitch != 0) object[key] = pitch;
    return object;
  }

  std::span<const SweepClass> sweep_classes() const override { return conv2d_classes(); }
  std::span<const std::string_view> sweep_types() const override { return conv2d_types(); }
  std::uint64_t sweep_stream() const override { return 3; }
  std::optional<Drawn> draw(const SweepOptions& options, char letter, std::string_view type,
                            reference::Random& random) const override {
    return draw_conv2d(letter, type, most_operations(options), kMostDrawnBytes, random);
  }
};

}  // namespace

Conv2dProblem conv2d_of(const Conv2dShape& shape, DType type, ImageLayout layout) {
  Conv2dProblem p;
  p.type = p.x_type = p.w_type = p.out = type;
  p.x_layout = p.y_layout = layout;
  p.w_layout = layout == ImageLayout::nhwc ? FilterLayout::krsc : FilterLayout::kcrs;
  p.n = shape.n;
  p.c = shape.c;
  p.h = shape.h;
  p.w = shape.w;
  p.k = shape.k;
  p.r = p.s = shape.filter;
  p.stride_h = p.stride_w = shape.stride;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = shape.pad;
  return p;
}

const BenchOperation& bench_operation(std::type_identity<Conv2dProblem>) {
  static const BenchConv2d operation;
  return operation;
}

}  // namespace sectile::tools
