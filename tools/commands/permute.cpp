// sectile permute: changes the layout of a .npy file.
#include "cli/command.hpp"
#include "cli/convert.hpp"
#include "cli/files.hpp"
#include "cli/npy.hpp"
#include "cli/run_problem.hpp"
#include "cli/target.hpp"
#include "cli/text.hpp"
#include "cli/tuned.hpp"
#include "cli/words.hpp"

#include "base/text_tokens.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sectile::tools {
namespace {

struct PermuteOptions {
  std::string in, out, axes, layout, device, device_class, tuned;
  std::string cast, scale, bias, add, activation = "none";
  std::int64_t channels = 0;
  bool activation_last = false;
  bool json = false;
};

// The letter that `layout` splits in blocks: 'C' for "NCHW4c"; 0 where it splits none.
char blocked_letter(const std::string& layout) {
  const auto block = std::find_if(layout.begin(), layout.end(), [](unsigned char c) { return std::islower(c) != 0; });
  return block == layout.end() ? '\0' : static_cast<char>(std::toupper(static_cast<unsigned char>(*block)));
}

Result<void> set_axes(PermuteProblem& problem, const PermuteOptions& options) {
  std::vector<std::int64_t> axes;
  if (!parse_list(options.axes, axes)) {
    return fail(ErrorKind::invalid_problem, "axes", options.axes, "integers and commas, as 0,3,1,2");
  }
  for (const std::int64_t axis : axes) {
    // validate() checks the rest; here only numbers that an int cannot hold.
    if (axis < std::numeric_limits<int>::min() || axis > std::numeric_limits<int>::max()) {
      return fail(ErrorKind::invalid_problem, "axes", std::to_string(axis),
                  fmt::format("0..{}", problem.shape.size() - 1));
    }
    problem.axes.push_back(static_cast<int>(axis));
  }
  return {};
}

Result<void> set_layout(PermuteProblem& problem, const PermuteOptions& options) {
  const std::size_t colon = options.layout.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == options.layout.size()) {
    return fail(ErrorKind::invalid_problem, "layout", options.layout, "FROM:TO, as NHWC:NCHW4c");
  }
  problem.src_layout = detail::layout_letters(options.layout.substr(0, colon));
  problem.dst_layout = detail::layout_letters(options.layout.substr(colon + 1));
  if (options.channels != 0) {
    const char letter = blocked_letter(problem.src_layout);
    if (letter == 0) {
      return fail(ErrorKind::invalid_problem, "channels", std::to_string(options.channels),
                  "a source layout with blocks, as NCHW4c:NHWC");
    }
    problem.extents = {{letter, options.channels}};
  }
  return {};
}

constexpr DType kStageTypes[] = {DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32};

// The arrays that a stage reads besides the source, in the order of operands, and what became of all elements.
struct Arrays {
  std::vector<NpyArray> list;
  std::optional<double> bias;  // a number for every element; its vector, which is in the list, is filled at the end
  Notes notes;
};

// "AXIS:FILE.npy", a vector of f32 along an axis of the source.
Result<void> set_vector(std::string_view what, const std::string& text, std::string& axis, Arrays& arrays) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size())
    return fail(ErrorKind::invalid_problem, std::string(what), text, "AXIS:FILE.npy, as C:mean.npy or 3:mean.npy");
  const std::string path = text.substr(colon + 1);
  auto array = read_npy(path);
  if (!array) return std::unexpected(array.error());
  if (array->header.shape.size() != 1)
    return fail(ErrorKind::invalid_problem, std::string(what),
                fmt::format("({})", fmt::join(array->header.shape, ", ")), "one axis");
  if (auto done = convert(*array, DType::f32, path, "", arrays.notes); !done) return done;
  axis = text.substr(0, colon);
  if (axis.size() == 1) axis[0] = detail::upper(axis[0]);
  arrays.list.push_back(std::move(*array));
  return {};
}

// The option's number; nothing where it is not given, or is a vector along an axis, which is read.
Result<std::optional<double>> number_or_vector(const char* what, const std::string& text, std::string& axis,
                                               Arrays& arrays) {
  if (text.empty()) return std::nullopt;
  if (text.find(':') == std::string::npos) {
    auto number = number_of(what, text, ", or AXIS:FILE.npy");
    if (number && !*number)
      return fail(ErrorKind::invalid_problem, what, text, "a finite number that f32 holds, or AXIS:FILE.npy");
    return number;
  }
  if (auto set = set_vector(what, text, axis, arrays); !set) return std::unexpected(set.error());
  return std::nullopt;
}

// Sets the elementwise stage, and reads the arrays that it needs.
Result<void> set_stage(PermuteProblem& problem, const PermuteOptions& options, Arrays& arrays) {
  ElementwiseStage& stage = problem.stage;
  if (!options.cast.empty()) {
    auto type = type_option("cast", options.cast, kStageTypes);
    if (!type) return std::unexpected(type.error());
    stage.out = *type;
    problem.dst_align = std::max<std::uint32_t>(16, size_bytes(*type));
  }
  const auto scale = number_or_vector("scale", options.scale, stage.scale, arrays);
  if (!scale) return std::unexpected(scale.error());
  if (*scale) stage.alpha = static_cast<float>(**scale);
  const auto bias = number_or_vector("bias", options.bias, stage.bias, arrays);
  if (!bias) return std::unexpected(bias.error());
  if (arrays.bias = *bias; arrays.bias) {
    // Of any axis: its vector holds the number everywhere.
    stage.bias = problem.src_layout.empty() ? std::string("0") : problem.src_layout.substr(0, 1);
    arrays.list.emplace_back();
  }
  const auto activation = parse_activation(options.activation, options.activation_last);
  if (!activation) return std::unexpected(activation.error());
  detail::set_activation(stage, *activation);
  if (options.add.empty()) return {};
  auto array = read_npy(options.add);
  if (!array) return std::unexpected(array.error());
  stage.add = true;
  if (auto done = convert(*array, out_type(problem), options.add, "the result's: ", arrays.notes); !done) return done;
  if (array->header.fortran_order) stage.add_strides = array->header.strides();
  arrays.list.push_back(std::move(*array));
  return {};
}

// Whether anything but a cast is done with the elements.
bool computes(const PermuteOptions& options) {
  const bool activation = !options.activation.empty() && options.activation != "none";
  return activation || !options.scale.empty() || !options.bias.empty() || !options.add.empty();
}

// Whether the options ask for a stage.
bool staged(const PermuteOptions& options) { return !options.cast.empty() || computes(options); }

// Makes the source's elements those of a type that a stage takes. Where the stage only casts, f64 is rounded to the
// result's type at once, and integers beyond i32 are that float where it holds them; where it computes, both are f32.
Result<DType> stage_source(NpyArray& array, const PermuteOptions& options, Notes& notes) {
  const auto from = number_type(array.header, options.in);
  if (!from) return from;
  if (std::ranges::contains(kStageTypes, *from) && !is_boolean(array.header)) return from;
  const auto cast = options.cast.empty() ? Result<DType>(DType::i32) : type_option("cast", options.cast, kStageTypes);
  if (!cast) return cast;
  const DType wide = computes(options) ? DType::f32 : *cast;
  if (*from == DType::f64) {
    if (auto done = cast_double(array, wide, options.in, notes); !done) return std::unexpected(done.error());
    return wide;
  }
  const bool is_float = *cast == DType::f32 || *cast == DType::f16 || *cast == DType::bf16;
  const DType to = is_float && !all_fit(array, DType::i32) ? wide : DType::i32;
  if (auto done = convert(array, to, options.in, "", notes); !done) return std::unexpected(done.error());
  return to;
}

// Checks that the arrays have the sizes that the problem needs.
Result<void> check_arrays(const PermuteProblem& problem, Arrays& given) {
  const auto operands = operands_of(problem);
  if (!operands) return std::unexpected(operands.error());
  std::vector<NpyArray>& arrays = given.list;
  for (std::size_t i = 0; i < arrays.size() && given.bias; ++i) {
    if ((*operands)[i + 2].name != "bias") continue;
    auto bytes = filled("bias", *given.bias, DType::f32, static_cast<std::size_t>((*operands)[i + 2].bytes / 4));
    if (!bytes) return std::unexpected(bytes.error());
    arrays[i].data = std::move(*bytes);
  }
  const auto shape = dst_shape(problem);
  if (!shape) return std::unexpected(shape.error());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const OperandSpec& operand = (*operands)[i + 2];
    const auto& have = arrays[i].header.shape;
    if (operand.name == "add" && have != *shape)
      return fail(ErrorKind::invalid_problem, "add: shape", fmt::format("({})", fmt::join(have, ", ")),
                  fmt::format("({}), the result's", fmt::join(*shape, ", ")));
    if (operand.name != "add" && arrays[i].data.size() != operand.bytes)  // vectors of f32
      return fail(ErrorKind::invalid_problem, operand.name, fmt::format("{} elements", arrays[i].data.size() / 4),
                  fmt::format("{}, one for each of the axis", operand.bytes / 4));
  }
  return {};
}

Result<PermuteProblem> problem_of(NpyArray& array, const PermuteOptions& options, Arrays& arrays) {
  PermuteProblem problem;
  problem.type = array.header.dtype();
  if (staged(options)) {
    const auto type = stage_source(array, options, arrays.notes);
    if (!type) return std::unexpected(type.error());
    problem.type = *type;
  }
  const NpyHeader& header = array.header;
  problem.shape = header.shape;
  problem.src_align = problem.dst_align = std::max<std::uint32_t>(16, header.item_bytes);
  if (header.fortran_order && header.shape.size() > 1 && header.data_bytes > 0) problem.src_strides = header.strides();
  if (auto set = options.axes.empty() ? set_layout(problem, options) : set_axes(problem, options); !set) {
    return std::unexpected(set.error());
  }
  if (auto set = set_stage(problem, options, arrays); !set) return std::unexpected(set.error());
  if (auto valid = validate(problem); !valid) return std::unexpected(valid.error());
  if (auto fine = check_arrays(problem, arrays); !fine) return std::unexpected(fine.error());
  return problem;
}

int run(const PermuteOptions& options) {
  if (options.axes.empty() == options.layout.empty()) {
    return report({ErrorKind::invalid_problem, "axes, layout", "", "one of --axes and --layout"}, options.json);
  }
  if (auto place = check_place(options.out); !place) return report(place.error(), options.json);
  auto array = read_npy(options.in);
  if (!array) return report(array.error(), options.json);
  Arrays arrays;
  const auto problem = problem_of(*array, options, arrays);
  if (!problem) return report(problem.error(), options.json);
  const auto shape = dst_shape(*problem);
  if (!shape) return report(shape.error(), options.json);
  std::vector<std::span<const std::byte>> inputs = {array->data, {}};
  for (const NpyArray& further : arrays.list) inputs.push_back(further.data);
  const std::optional<DType> out = problem->stage.out;
  const std::string descr = out ? npy_descr(*out) : array->header.descr;
  return run_to_file({options.out, options.device, options.device_class, options.tuned, options.json, arrays.notes},
                     *problem, inputs, descr, *shape);
}

}  // namespace

Command add_permute(CLI::App& parent) {
  auto options = std::make_shared<PermuteOptions>();
  CLI::App* app = parent.add_subcommand("permute", "Change the layout of a .npy file");
  app->add_option("in", options->in, "The .npy file to read")->required();
  app->add_option("--axes", options->axes, "Axis i of the result is axis AXES[i] of the input, as 0,3,1,2");
  app->add_option("--layout", options->layout, "Layouts FROM:TO, as NHWC:NCHW4c, in either case");
  app->add_option("--channels", options->channels, "True size of the axis that the source's layout splits in blocks");
  app->add_option("--cast", options->cast,
                  "Type of the result, as f16; values are rounded once, and saturated for integers");
  app->add_option("--scale", options->scale,
                  "Factor: a number, or AXIS:FILE.npy (f32 along an axis of the input, as C:scale.npy)");
  app->add_option("--bias", options->bias, "Added after the scale: a number, or AXIS:FILE.npy");
  app->add_option("--activation", options->activation, kActivationHelp);
  app->add_option("--add", options->add, "Added last: a .npy file of the result's shape and type");
  app->add_flag("--activation-last", options->activation_last, "The activation follows the sum");
  app->add_option("-o,--out,--output", options->out, "The .npy file to write")->required();
  app->add_option("--device", options->device, kDeviceHelp);
  app->add_option("--device-class", options->device_class, kDeviceClassHelp);
  app->add_option("--tuned", options->tuned, kTunedHelp);
  app->add_flag("--json", options->json, "Print what was done as JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace sectile::tools
