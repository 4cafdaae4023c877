// What the commands that multiply .npy files share: their options, the types that follow from them, and the operands
// that they read.
#pragma once

#include "convert.hpp"
#include "npy.hpp"
#include "plan/activation.hpp"

#include <sectile/error.hpp>
#include <sectile/problem.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::tools {

struct ProductOptions {
  std::string out, device, device_class, tuned;
  std::string c, bias;
  std::string type, acc, out_type, activation = "none";
  std::optional<float> beta;
  float alpha = 1;
  bool activation_last = false;
  bool json = false;
};
// Names of the operands in the texts of the options, as "A and B". The caller adds --bias, which has its own shape.
void add_product_options(CLI::App& app, ProductOptions& options, const std::string& factors);

// The files of a problem's operands, by operand name, and what became of their elements.
struct Inputs {
  std::vector<std::pair<std::string, NpyArray>> arrays;
  Notes notes;
  std::span<const std::byte> of(std::string_view name) const;
  // Reads a file as an operand. Errors: read_npy's. What is returned is valid until the next is added.
  Result<const NpyHeader*> add(std::string_view name, const std::string& path);
  // The same, its elements converted. Errors: those of convert too.
  Result<const NpyHeader*> add_as(std::string_view name, const std::string& path, DType type, std::string_view whose);
  // A vector of one number, as an operand; false where the text is a file's name. Errors: number_of's and filled's.
  Result<bool> add_number(std::string_view name, const std::string& text, DType type, std::int64_t count);
};

std::string shape_text(const std::vector<std::int64_t>& shape);  // "(2, 3)"

// What the options say of a problem. `otherwise`: the type of the factors, where no option says it. Errors:
// parse_dtype's; invalid_problem (no such activation); missing (beta without C, whose beta is 1 where no option says
// it).
struct ProductWords {
  DType type = DType::f32, acc = DType::f32, out = DType::f32;
  float alpha = 1, beta = 0;
  detail::ActivationWords activation = {};
};
Result<ProductWords> product_words(const ProductOptions& options, DType otherwise);

using FactorTypes = std::pair<DType, DType>;
Result<FactorTypes> factor_types(const Inputs& inputs, const std::string& first, const std::string& second);
Result<FactorTypes> store_factors(Inputs& inputs, const ProductOptions& options, DType type, const std::string& first,
                                  const std::string& second);

template <class P>
Result<void> set_words(P& problem, const ProductOptions& options, DType otherwise) {
  const auto words = product_words(options, otherwise);
  if (!words) return std::unexpected(words.error());
  problem.type = words->type;
  problem.acc = words->acc;
  problem.out = words->out;
  problem.alpha = words->alpha;
  problem.beta = words->beta;
  detail::set_activation(problem, words->activation);
  return {};
}

// The types of a product's two factors, the first two inputs: how they are stored, and what they are multiplied in
// where no option says it. f64 and integers are converted to that type, and a wider factor widens it: `inputs` has
// notes of both. Errors: number_type's, convert's.
template <class P>
Result<void> set_types(P& problem, const ProductOptions& options, Inputs& inputs, DType& first, DType& second,
                       const std::string& first_path, const std::string& second_path) {
  const auto natural = factor_types(inputs, first_path, second_path);
  if (!natural) return std::unexpected(natural.error());
  if (auto set = set_words(problem, options, promoted(natural->first, natural->second)); !set) return set;
  const auto stored = store_factors(inputs, options, problem.type, first_path, second_path);
  if (!stored) return std::unexpected(stored.error());
  first = stored->first;
  second = stored->second;
  return {};
}

// Runs a valid problem on the files, and writes its result as an array of that shape; the exit code.
int run_product(const ProductOptions& options, const Problem& problem, const Inputs& inputs, DType out,
                const std::vector<std::int64_t>& shape);

}  // namespace sectile::tools
