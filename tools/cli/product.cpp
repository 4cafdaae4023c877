#include "product.hpp"

#include "command.hpp"
#include "run_problem.hpp"
#include "tuned.hpp"
#include "words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sectile::tools {

void add_product_options(CLI::App& app, ProductOptions& options, const std::string& factors) {
  app.add_option("--c", options.c, "C, of the result's shape; beta is then 1 by default");
  app.add_option("--alpha", options.alpha, "Factor of the product")->capture_default_str()->check(finite_number());
  app.add_option("--beta", options.beta, "Factor of C")->check(finite_number());
  app.add_option("--activation", options.activation, kActivationHelp);
  app.add_option("--type", options.type,
                 fmt::format("Type that {} are rounded to: f32, f16, bf16 or i8 (default: the first's)", factors));
  app.add_option("--acc", options.acc, "Type of the sums: f32, f16 (for f16) or i32 (for i8)");
  app.add_option("--out-type", options.out_type, "Type of the result, the bias and C: f32, f16, bf16, or i32 (for i8)");
  app.add_option("-o,--out,--output", options.out, "The .npy file to write")->required();
  app.add_option("--device", options.device, kDeviceHelp);
  app.add_option("--tuned", options.tuned, kTunedHelp);
  app.add_flag("--json", options.json, "Print what was done as JSON");
}

std::span<const std::byte> Inputs::of(std::string_view name) const {
  const auto found = std::ranges::find(arrays, name, &std::pair<std::string, NpyArray>::first);
  return found == arrays.end() ? std::span<const std::byte>() : found->second.data;
}

Result<const NpyHeader*> Inputs::add(std::string_view name, const std::string& path) {
  auto array = read_npy(path);
  if (!array) return std::unexpected(array.error());
  arrays.emplace_back(name, std::move(*array));
  return &arrays.back().second.header;
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

DType element_type(const NpyHeader& header) {
  const DType type = header.dtype();
  return type == DType::b16 ? DType::bf16 : type;
}

Result<ProductWords> product_words(const ProductOptions& options, DType otherwise) {
  const auto type_of = [](const std::string& text, DType by_default) {
    return text.empty() ? Result<DType>(by_default) : parse_dtype(text);
  };
  const auto type = type_of(options.type, otherwise);
  if (!type) return std::unexpected(type.error());
  const bool integer = *type == DType::i8;
  const auto acc = type_of(options.acc, integer ? DType::i32 : DType::f32);
  if (!acc) return std::unexpected(acc.error());
  const auto out = type_of(options.out_type, integer ? DType::i32 : *type);
  if (!out) return std::unexpected(out.error());
  const auto activation = parse_activation(options.activation, options.activation_last);
  if (!activation) return std::unexpected(activation.error());
  if (options.c.empty() && options.beta.value_or(0) != 0)
    return fail(ErrorKind::missing, "C", fmt::format("beta {}", *options.beta), "--c C.npy");
  const float beta = options.c.empty() ? 0 : options.beta.value_or(1);
  return ProductWords{*type, *acc, *out, options.alpha, beta, *activation};
}

Result<const NpyHeader*> add_like_result(Inputs& inputs, std::string_view name, const std::string& path, DType out) {
  const auto header = inputs.add(name, path);
  if (!header || element_type(**header) == out) return header;
  return fail(ErrorKind::invalid_problem, path + ": type", (*header)->descr, "the result's: " + npy_descr(out));
}

int run_product(const ProductOptions& options, const Problem& problem, const Inputs& inputs, DType out,
                const std::vector<std::int64_t>& shape) {
  const auto operands = operands_of(problem);
  if (!operands) return report(operands.error(), options.json);
  std::vector<std::span<const std::byte>> bytes;
  for (const OperandSpec& operand : *operands) bytes.push_back(inputs.of(operand.name));
  return run_to_file({options.out, options.device, options.tuned, options.json}, problem, bytes, npy_descr(out), shape);
}

}  // namespace sectile::tools
