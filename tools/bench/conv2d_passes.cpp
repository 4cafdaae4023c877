// What a fused convolution is measured against: padding, scales, bias, residual and layouts in passes of their own.
#include "conv2d.hpp"
#include "passes.hpp"

#include <functional>
#include <utility>

namespace sectile::tools {
namespace {

// The image of X or Y as a permute's source, by its axes as they lie.
PermuteProblem moved(DType type, std::vector<std::int64_t> shape) {
  PermuteProblem p;
  p.type = type;
  p.shape = std::move(shape);
  p.axes = {0, 1, 2, 3};
  return p;
}

std::vector<std::int64_t> x_shape(const Conv2dProblem& p) { return {p.n, p.h, p.w, p.c}; }  // NHWC
std::vector<std::int64_t> y_shape(const Conv2dProblem& p) {
  const ImageSize size = output_size(p).value();
  return {p.n, size.height, size.width, p.k};
}

// NHWC: X is copied into the middle of a larger image, whose border is zeros.
std::vector<Pass> padded_before(const Conv2dProblem& p) {
  Conv2dProblem inner = p;
  inner.h += p.pad_top + p.pad_bottom;
  inner.w += p.pad_left + p.pad_right;
  inner.pad_top = inner.pad_left = inner.pad_bottom = inner.pad_right = 0;
  PermuteProblem pad = moved(p.x_type, x_shape(p));
  pad.dst_strides = {inner.h * inner.w * p.c, inner.w * p.c, p.c, 1};
  pad.dst_offset = (p.pad_top * inner.w + p.pad_left) * p.c;
  return {{pad, {{"src", "x"}, {"dst", "padded"}}}, {inner, {{"x", "padded"}}}};
}

// NHWC: a scale and a bias of each input channel.
std::vector<Pass> scaled_before(const Conv2dProblem& p) {
  Conv2dProblem inner = p;
  inner.x_scale = inner.x_bias = false;
  PermuteProblem scale = moved(p.x_type, x_shape(p));
  scale.stage.scale = scale.stage.bias = "3";
  return {{scale, {{"src", "x"}, {"dst", "scaled"}, {"scale", "x.scale"}, {"bias", "x.bias"}}},
          {inner, {{"x", "scaled"}}}};
}

// A permute adds what has the result's type: the bias with strides of 0 but along the channels, or the residual.
std::vector<Pass> added_behind(const Conv2dProblem& p) {
  Conv2dProblem inner = p;
  inner.bias = inner.residual = false;
  PermuteProblem add = moved(p.out, y_shape(p));
  add.stage.add = true;
  if (p.bias) add.stage.add_strides = {0, 0, 0, 1};
  return {{inner, {{"y", "sums"}}}, {add, {{"src", "sums"}, {"dst", "y"}, {"add", p.bias ? "bias" : "residual"}}}};
}

// NCHW as NHWC between two changes of layout.
std::vector<Pass> turned_around(const Conv2dProblem& p) {
  Conv2dProblem inner = p;
  inner.x_layout = inner.y_layout = ImageLayout::nhwc;
  const auto by_layout = [](DType type, std::vector<std::int64_t> shape, const char* from, const char* to) {
    PermuteProblem turn = moved(type, std::move(shape));
    turn.axes.clear();
    turn.src_layout = from;
    turn.dst_layout = to;
    return turn;
  };
  return {{by_layout(p.x_type, {p.n, p.c, p.h, p.w}, "NCHW", "NHWC"), {{"src", "x"}, {"dst", "x turned"}}},
          {inner, {{"x", "x turned"}, {"y", "y turned"}}},
          {by_layout(p.out, y_shape(p), "NHWC", "NCHW"), {{"src", "y turned"}, {"dst", "y"}}}};
}

// `unfused`: the problem that the passes say.
BenchRow row_of(const Conv2dProblem& fused, std::string label, const Conv2dProblem& unfused,
                std::function<std::vector<Pass>(const Conv2dProblem&)> passes) {
  BenchRow row{.name = print(Problem(fused)), .problem = fused};
  row.more = [label = std::move(label), unfused, passes = std::move(passes)](
                 const Plan&, const DeviceProfile& profile) -> std::vector<Contender> {
    auto plan = joined_passes(unfused, passes(unfused), profile);
    if (!plan) return {{.label = label + ": " + plan.error().message(), .problem = unfused}};
    return {{.label = label, .problem = unfused, .plan = std::move(*plan)}};
  };
  return row;
}

std::vector<BenchRow> rows_of(const Conv2dShape& shape) {
  const Conv2dProblem plain = conv2d_of(shape, DType::f16, ImageLayout::nhwc);
  Conv2dProblem scaled = plain, biased = plain, added = plain;
  scaled.x_scale = scaled.x_bias = scaled.x_relu = true;
  biased.bias = true;
  biased.activation = Activation::relu;
  added.residual = true;
  // A permute has no relu. Before the product it stays in the fetch, which costs the passes nothing; after it, it is
  // left out. Sums that are rounded to f16 between two passes are what acc=f16 allows.
  Conv2dProblem bias_alone = biased, residual = added;
  bias_alone.activation = Activation::none;
  bias_alone.acc = residual.acc = DType::f16;
  return {row_of(plain, "padding in a pass before", plain, padded_before),
          row_of(scaled, "scale and bias in a pass before", scaled, scaled_before),
          row_of(biased, "bias in a pass behind, without the relu", bias_alone, added_behind),
          row_of(added, "residual in a pass behind", residual, added_behind),
          row_of(conv2d_of(shape, DType::f16, ImageLayout::nchw), "as NHWC, with a permute before and behind",
                 conv2d_of(shape, DType::f16, ImageLayout::nchw), turned_around)};
}

}  // namespace

std::vector<BenchRow> conv2d_fusion_rows() {
  std::vector<BenchRow> rows;
  for (const Conv2dShape& shape :
       {Conv2dShape{2, 320, 64, 64, 320, 3, 1, 1}, {2, 1280, 16, 16, 1280, 3, 1, 1}, {16, 64, 56, 56, 64, 3, 1, 1}})
    for (BenchRow& row : rows_of(shape)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace sectile::tools
