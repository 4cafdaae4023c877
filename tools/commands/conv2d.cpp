// sectile conv2d: convolves the images of a .npy file with the filters of another, and applies an epilogue.
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/npy.hpp"
#include "cli/product.hpp"
#include "cli/text.hpp"
#include "cli/words.hpp"

#include "base/text_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::tools {
namespace {

struct Conv2dOptions {
  ProductOptions product;
  std::string x, w, residual, scale;
  std::string layout = "nchw", weights = "kcrs", stride = "1", pad = "0", dilation = "1";
  std::int64_t groups = 1;
  bool exact = false;
};

using Shape = std::vector<std::int64_t>;

// The letters of an array's axes, and its shape by letter.
struct Axes {
  std::string_view letters;  // "nhwc"
  const Shape& shape;
  std::int64_t operator[](char letter) const { return shape[letters.find(letter)]; }
};

Result<Shape> shape_of(const NpyHeader& header, const std::string& path, std::string_view letters) {
  if (header.shape.size() != letters.size())
    return fail(ErrorKind::invalid_problem, path + ": shape", shape_text(header.shape),
                fmt::format("{} axes, {}", letters.size(), letters));
  if (header.fortran_order)
    return fail(ErrorKind::unsupported, path + ": order", "Fortran order", "C order: numpy.ascontiguousarray");
  return header.shape;
}

// Reads a file with these axes.
Result<Shape> add_shaped(Inputs& inputs, std::string_view name, const std::string& path, std::string_view letters) {
  const auto header = inputs.add(name, path);
  if (!header) return std::unexpected(header.error());
  return shape_of(**header, path, letters);
}

// One number stands for two; two stand for top and bottom, and left and right, where there may be four.
Result<std::array<std::int64_t, 4>> numbers_of(std::string_view what, const std::string& text, std::int64_t least,
                                               bool four) {
  std::vector<std::int64_t> list;
  const bool parsed = parse_list(text, list) && std::ranges::min(list) >= least;
  if (parsed && list.size() == 1) return std::array{list[0], list[0], list[0], list[0]};
  if (parsed && list.size() == 2) return std::array{list[0], list[1], list[0], list[1]};
  if (parsed && list.size() == 4 && four) return std::array{list[0], list[1], list[2], list[3]};
  return fail(ErrorKind::invalid_problem, std::string(what), text,
              fmt::format("{}, each at least {}",
                          four ? "one number, two (vertical, horizontal) or four (top, left, bottom, right)"
                               : "one number, or two (height, width)",
                          least));
}

Result<void> set_numbers(Conv2dProblem& p, const Conv2dOptions& options) {
  const auto stride = numbers_of("stride", options.stride, 1, false);
  if (!stride) return std::unexpected(stride.error());
  const auto dilation = numbers_of("dilation", options.dilation, 1, false);
  if (!dilation) return std::unexpected(dilation.error());
  const auto pad = numbers_of("pad", options.pad, 0, true);
  if (!pad) return std::unexpected(pad.error());
  p.stride_h = (*stride)[0], p.stride_w = (*stride)[1];
  p.dilation_h = (*dilation)[0], p.dilation_w = (*dilation)[1];
  p.pad_top = (*pad)[0], p.pad_left = (*pad)[1], p.pad_bottom = (*pad)[2], p.pad_right = (*pad)[3];
  p.groups = options.groups;
  p.exact = options.exact;
  return {};
}

Result<void> set_layouts(Conv2dProblem& p, const Conv2dOptions& options) {
  // An array of a blocked layout says only how many channels its blocks have, not how many there are.
  const auto layout = parse_image_layout(detail::lower(options.layout));
  if (!layout || (*layout != ImageLayout::nchw && *layout != ImageLayout::nhwc))
    return fail(layout ? ErrorKind::unsupported : ErrorKind::invalid_problem, "layout", options.layout,
                "nchw or nhwc; sectile permute changes to and from others");
  p.x_layout = p.y_layout = *layout;
  const auto weights = parse_filter_layout(detail::lower(options.weights));
  if (!weights) return std::unexpected(weights.error());
  p.w_layout = *weights;
  return {};
}

Result<void> set_sizes(Conv2dProblem& p, const Conv2dOptions& options, Inputs& inputs) {
  const auto x_shape = add_shaped(inputs, "x", options.x, word_of(p.x_layout));
  if (!x_shape) return std::unexpected(x_shape.error());
  const auto w_shape = add_shaped(inputs, "w", options.w, word_of(p.w_layout));
  if (!w_shape) return std::unexpected(w_shape.error());
  const Axes x{word_of(p.x_layout), *x_shape}, w{word_of(p.w_layout), *w_shape};
  p.n = x['n'], p.c = x['c'], p.h = x['h'], p.w = x['w'];
  p.k = w['k'], p.r = w['r'], p.s = w['s'];
  if (p.groups < 1 || p.c % p.groups != 0)
    return fail(ErrorKind::invalid_problem, "groups", std::to_string(p.groups),
                fmt::format("a divisor of the {} channels of {}", p.c, options.x));
  if (w['c'] == p.c / p.groups) return {};
  Shape want = *w_shape;
  want[w.letters.find('c')] = p.c / p.groups;
  return fail(ErrorKind::invalid_problem, options.w + ": shape", shape_text(*w_shape),
              fmt::format("{} as {}: {} input channels in {} group{}", shape_text(want), w.letters, p.c, p.groups,
                          p.groups == 1 ? "" : "s"));
}

// An operand of the result's type and shape.
Result<void> add_image(Inputs& inputs, std::string_view name, const std::string& path, DType out, const Shape& shape) {
  const auto header = inputs.add_as(name, path, out, "the result's: ");
  if (!header) return std::unexpected(header.error());
  if ((*header)->shape != shape)
    return fail(ErrorKind::invalid_problem, path + ": shape", shape_text((*header)->shape),
                fmt::format("{}, the result's", shape_text(shape)));
  if ((*header)->fortran_order)
    return fail(ErrorKind::unsupported, path + ": order", "Fortran order", "C order: numpy.ascontiguousarray");
  return {};
}

// A value for each output channel: (K,), or an array whose other axes have one element.
Result<void> check_vector(const NpyHeader& header, const std::string& path, std::int64_t channels) {
  std::int64_t elements = 1;
  for (const std::int64_t size : header.shape) elements *= size;
  const bool one_axis = std::ranges::count_if(header.shape, [](std::int64_t size) { return size != 1; }) <= 1;
  if (elements == channels && one_axis) return {};
  return fail(ErrorKind::invalid_problem, path + ": shape", shape_text(header.shape),
              fmt::format("({},), a value for each output channel", channels));
}

// A file with a value for each output channel, or a number for all of them.
Result<void> add_vector(Inputs& inputs, std::string_view name, const std::string& text, DType type,
                        std::string_view whose, std::int64_t channels) {
  const auto number = inputs.add_number(name, text, type, channels);
  if (!number) return std::unexpected(number.error());
  if (*number) return {};
  const auto header = inputs.add_as(name, text, type, whose);
  if (!header) return std::unexpected(header.error());
  return check_vector(**header, text, channels);
}

Result<void> add_epilogue(Conv2dProblem& p, const Conv2dOptions& options, Inputs& inputs, const Shape& shape) {
  if (!options.product.c.empty())
    if (auto added = add_image(inputs, "c", options.product.c, p.out, shape); !added) return added;
  p.bias = !options.product.bias.empty();
  if (p.bias)
    if (auto added = add_vector(inputs, "bias", options.product.bias, p.out, "the result's: ", p.k); !added)
      return added;
  p.scale = !options.scale.empty();
  if (p.scale)
    if (auto added = add_vector(inputs, "scale", options.scale, DType::f32, "", p.k); !added) return added;
  if (!p.residual) return {};
  return add_image(inputs, "residual", options.residual, p.out, shape);
}

// The result's shape, in the order of its layout.
Result<Shape> result_shape(const Conv2dProblem& p) {
  const auto size = output_size(p);
  if (!size) return std::unexpected(size.error());
  if (p.y_layout == ImageLayout::nhwc) return Shape{p.n, size->height, size->width, p.k};
  return Shape{p.n, p.k, size->height, size->width};
}

Result<Conv2dProblem> problem_of(const Conv2dOptions& options, Inputs& inputs, Shape& shape) {
  Conv2dProblem p;
  if (auto set = set_numbers(p, options); !set) return std::unexpected(set.error());
  if (auto set = set_layouts(p, options); !set) return std::unexpected(set.error());
  if (auto set = set_sizes(p, options, inputs); !set) return std::unexpected(set.error());
  if (auto set = set_types(p, options.product, inputs, p.x_type, p.w_type, options.x, options.w); !set)
    return std::unexpected(set.error());
  p.residual = !options.residual.empty();  // the shape is checked with all words, and an activation may follow it
  auto result = result_shape(p);
  if (!result) return std::unexpected(result.error());
  shape = std::move(*result);
  if (auto added = add_epilogue(p, options, inputs, shape); !added) return std::unexpected(added.error());
  if (auto valid = validate(p); !valid) return std::unexpected(valid.error());
  return p;
}

int run(const Conv2dOptions& options) {
  const ProductOptions& product = options.product;
  if (auto place = check_place(product.out); !place) return report(place.error(), product.json);
  Inputs inputs;
  Shape shape;
  const auto problem = problem_of(options, inputs, shape);
  if (!problem) return report(problem.error(), product.json);
  return run_product(product, *problem, inputs, problem->out, shape);
}

}  // namespace

Command add_conv2d(CLI::App& parent) {
  auto options = std::make_shared<Conv2dOptions>();
  CLI::App* app = parent.add_subcommand(
      "conv2d", "Convolve .npy images: Y = activation(alpha * scale * conv(X, W) + beta * C + bias) + residual");
  app->add_option(
         "x", options->x,
         "X: images of f32, f16, bf16 (as V2), f64 (rounded) or integers that fit; four axes, as --layout has them")
      ->required();
  app->add_option("w", options->w, "W: the filters; four axes, as --weights has them")->required();
  app->add_option("--layout", options->layout, "Axes of X, Y, C and the residual: nchw or nhwc, in either case")
      ->capture_default_str();
  app->add_option("--weights", options->weights, "Axes of W: kcrs, krsc or rsck; c counts the channels of a group")
      ->capture_default_str();
  app->add_option("--stride", options->stride, "One number, or two: height, width")->capture_default_str();
  app->add_option("--pad", options->pad,
                  "Zeros around an image: one number, two (vertical, horizontal) or four (top, left, bottom, right)")
      ->capture_default_str();
  app->add_option("--dilation", options->dilation, "One number, or two: height, width")->capture_default_str();
  app->add_option("--groups", options->groups, "Groups of channels; as many as X has channels: depthwise")
      ->capture_default_str();
  app->add_flag("--exact", options->exact, "No algorithm that adds other products than the definition's (Winograd's)");
  app->add_option("--bias", options->product.bias, "A value for each output channel, or a number for all");
  app->add_option("--scale", options->scale, "A factor for each output channel, or a number for all");
  app->add_option("--residual", options->residual, "Added last; of the result's shape and type");
  app->add_flag("--activation-last", options->product.activation_last, "The activation follows the residual");
  add_product_options(*app, options->product, "X and W");
  return {app, [options] { return run(*options); }};
}

}  // namespace sectile::tools
