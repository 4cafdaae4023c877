// A convolution's fields for JSON and the hash.
#include "operation.hpp"
#include "plan/product/fields.hpp"
#include "problem.hpp"

namespace sectile::detail {

template <>
struct Words<ImageLayout> {
  static std::string_view of(ImageLayout layout) { return layout_name(layout); }
  static Result<void> read(std::string_view word, ImageLayout& out) {
    static constexpr ImageLayout all[] = {ImageLayout::nchw, ImageLayout::nhwc, ImageLayout::nchw4c,
                                          ImageLayout::nchw8c};
    return read_one_of<ImageLayout>(all, of, word, "nchw, nhwc, nchw4c or nchw8c", out);
  }
};

template <>
struct Words<FilterLayout> {
  static std::string_view of(FilterLayout layout) { return layout_name(layout); }
  static Result<void> read(std::string_view word, FilterLayout& out) {
    static constexpr FilterLayout all[] = {FilterLayout::kcrs, FilterLayout::krsc, FilterLayout::rsck};
    return read_one_of<FilterLayout>(all, of, word, "kcrs, krsc or rsck", out);
  }
};

namespace {

// The height and width of the input and the weights would share the key "w": the operands' keys end in "_type".
void each_conv2d_field(auto& p, auto&& visit) {
  const Conv2dProblem left_out = conv2d_defaults(p.type);
  Weights w{p.w_type, p.w_format};
  const Weights plain{left_out.w_type, left_out.w_format};
  visit("acc", p.acc, left_out.acc);
  visit("activation", p.activation, left_out.activation);
  visit("activation_last", p.activation_last, left_out.activation_last);
  visit("alpha", p.alpha, left_out.alpha);
  visit("beta", p.beta, left_out.beta);
  visit("bias", p.bias, left_out.bias);
  visit("c", p.c);
  visit("c_is_d", p.c_is_d, left_out.c_is_d);
  visit("c_pitch", p.c_pitch, left_out.c_pitch);
  visit("dilation_h", p.dilation_h, left_out.dilation_h);
  visit("dilation_w", p.dilation_w, left_out.dilation_w);
  visit("exact", p.exact, left_out.exact);
  visit("groups", p.groups, left_out.groups);
  visit("h", p.h);
  visit("high", p.high, left_out.high);
  visit("k", p.k);
  visit("low", p.low, left_out.low);
  visit("n", p.n);
  visit("operation", OperationName{Operation<Conv2dProblem>::kName});
  visit("out", p.out, left_out.out);
  visit("pad_bottom", p.pad_bottom, left_out.pad_bottom);
  visit("pad_left", p.pad_left, left_out.pad_left);
  visit("pad_right", p.pad_right, left_out.pad_right);
  visit("pad_top", p.pad_top, left_out.pad_top);
  visit("r", p.r);
  visit("r_pitch", p.r_pitch, left_out.r_pitch);
  visit("residual", p.residual, left_out.residual);
  visit("s", p.s);
  visit("scale", p.scale, left_out.scale);
  visit("slope", p.slope, left_out.slope);
  visit("stride_h", p.stride_h, left_out.stride_h);
  visit("stride_w", p.stride_w, left_out.stride_w);
  visit("type", p.type);
  visit("w", p.w);
  visit("w_align", p.w_align, left_out.w_align);
  visit("w_layout", p.w_layout, left_out.w_layout);
  visit("w_type", w, plain);
  visit("x_align", p.x_align, left_out.x_align);
  visit("x_bias", p.x_bias, left_out.x_bias);
  visit("x_layout", p.x_layout, left_out.x_layout);
  visit("x_pitch", p.x_pitch, left_out.x_pitch);
  visit("x_relu", p.x_relu, left_out.x_relu);
  visit("x_scale", p.x_scale, left_out.x_scale);
  visit("x_type", p.x_type, left_out.x_type);
  visit("y_align", p.y_align, left_out.y_align);
  visit("y_layout", p.y_layout, left_out.y_layout);
  visit("y_pitch", p.y_pitch, left_out.y_pitch);
}

}  // namespace

void Operation<Conv2dProblem>::write(JsonWriter& w, const Conv2dProblem& problem) {
  w.begin('{');
  each_conv2d_field(problem, FieldWriter(w));
  w.end('}');
}

Result<Problem> Operation<Conv2dProblem>::read(const nlohmann::json& value, const std::string& what) {
  return read_by_type(value, what, conv2d_defaults, [](auto& p, auto&& visit) { each_conv2d_field(p, visit); });
}

std::size_t Operation<Conv2dProblem>::hash(const Conv2dProblem& problem) {
  FieldHash hash;
  each_conv2d_field(problem, hash);
  return hash.value();
}

}  // namespace sectile::detail
