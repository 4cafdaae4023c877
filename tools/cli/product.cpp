#include "product.hpp"

#include "command.hpp"
#include "run_problem.hpp"
#include "tuned.hpp"
#include "words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sectile::tools {

void add_product_options(CLI::App& app, ProductOptions& options, const std::string& factors) {
  app.add_option("--c", options.c, "C, of the result's shape; beta is then 1 by default");
  app.add_option("--alpha", options.alpha, "Factor of the product")->capture_default_str()->check(finite_number());
  app.add_option("--beta", options.beta, "Factor of C")->check(finite_number());
  app.add_option("--activation", options.activation, kActivationHelp);
  app.add_option(
      "--type", options.type,
      fmt::format("Type that {} are rounded to: f32, f16, bf16 or i8 (default: NumPy's promotion of theirs)", factors));
  app.add_option("--acc", options.acc, "Type of the sums: f32, f16 (for f16) or i32 (for i8)");
  app.add_option("--out-type", options.out_type, "Type of the result, the bias and C: f32, f16, bf16, or i32 (for i8)");
  app.add_option("-o,--out,--output", options.out, "The .npy file to write")->required();
  app.add_option("--device", options.device, kDeviceHelp);
  app.add_option("--device-class", options.device_class, kDeviceClassHelp);
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

Result<const NpyHeader*> Inputs::add_as(std::string_view name, const std::string& path, DType type,
                                        std::string_view whose) {
  if (auto header = add(name, path); !header) return header;
  if (auto done = convert(arrays.back().second, type, path, whose, notes); !done) return std::unexpected(done.error());
  return &arrays.back().second.header;
}

Result<bool> Inputs::add_number(std::string_view name, const std::string& text, DType type, std::int64_t count) {
  const auto number = number_of(name, text, ", or FILE.npy");
  if (!number) return std::unexpected(number.error());
  if (!*number) return false;
  auto bytes = filled(name, **number, type, static_cast<std::size_t>(count));
  if (!bytes) return std::unexpected(bytes.error());
  arrays.emplace_back(name, NpyArray{{}, std::move(*bytes)});
  return true;
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

Result<FactorTypes> factor_types(const Inputs& inputs, const std::string& first, const std::string& second) {
  const auto a = number_type(inputs.arrays[0].second.header, first);
  if (!a) return std::unexpected(a.error());
  const auto b = number_type(inputs.arrays[1].second.header, second);
  if (!b) return std::unexpected(b.error());
  return FactorTypes{*a, *b};
}

Result<FactorTypes> store_factors(Inputs& inputs, const ProductOptions& options, DType type, const std::string& first,
                                  const std::string& second) {
  auto types = factor_types(inputs, first, second);
  if (!types) return types;
  if (options.type.empty() && types->first != types->second)
    inputs.notes.push_back(fmt::format("multiplied in {}: {} has {}, {} has {} (--type sets it)", name(type), first,
                                       name(types->first), second, name(types->second)));
  const auto store = [&](NpyArray& array, DType& stored, const std::string& path) -> Result<void> {
    const bool is_float = stored == DType::f32 || stored == DType::f16 || stored == DType::bf16;
    // Floats that are to be i8 are the problem's to refuse.
    if (is_float || (stored == DType::f64 && type == DType::i8)) return {};
    if (auto done = convert(array, type, path, "", inputs.notes); !done) return done;
    stored = type;
    return {};
  };
  if (auto done = store(inputs.arrays[0].second, types->first, first); !done) return std::unexpected(done.error());
  if (auto done = store(inputs.arrays[1].second, types->second, second); !done) return std::unexpected(done.error());
  return types;
}

Result<ProductWords> product_words(const ProductOptions& options, DType otherwise) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::i8};
  constexpr DType kSums[] = {DType::f32, DType::f16, DType::i32};
  constexpr DType kResults[] = {DType::f32, DType::f16, DType::bf16, DType::i32};
  const auto type_of = [](const char* option, const std::string& text, std::span<const DType> of, DType by_default) {
    return text.empty() ? Result<DType>(by_default) : type_option(option, text, of);
  };
  const auto type = type_of("type", options.type, kTypes, otherwise);
  if (!type) return std::unexpected(type.error());
  const bool integer = *type == DType::i8;
  const auto acc = type_of("acc", options.acc, kSums, integer ? DType::i32 : DType::f32);
  if (!acc) return std::unexpected(acc.error());
  const auto out = type_of("out-type", options.out_type, kResults, integer ? DType::i32 : *type);
  if (!out) return std::unexpected(out.error());
  const auto activation = parse_activation(options.activation, options.activation_last);
  if (!activation) return std::unexpected(activation.error());
  if (options.c.empty() && options.beta.value_or(0) != 0)
    return fail(ErrorKind::missing, "C", fmt::format("beta {}", *options.beta), "--c C.npy");
  const float beta = options.c.empty() ? 0 : options.beta.value_or(1);
  return ProductWords{*type, *acc, *out, options.alpha, beta, *activation};
}

int run_product(const ProductOptions& options, const Problem& problem, const Inputs& inputs, DType out,
                const std::vector<std::int64_t>& shape) {
  const auto operands = operands_of(problem);
  if (!operands) return report(operands.error(), options.json);
  std::vector<std::span<const std::byte>> bytes;
  for (const OperandSpec& operand : *operands) bytes.push_back(inputs.of(operand.name));
  return run_to_file({options.out, options.device, options.device_class, options.tuned, options.json, inputs.notes},
                     problem, bytes, npy_descr(out), shape);
}

}  // namespace sectile::tools
