// Names of the problems' enumerations, as the problem string has them, for options and for rivals.
#pragma once

#include <sectile/error.hpp>
#include <sectile/problem.hpp>

#include <string_view>

namespace sectile::tools {

std::string_view word_of(Activation activation) noexcept;  // "gelu_tanh"; "none"
std::string_view word_of(WeightFormat format) noexcept;    // "q8"; "plain"
std::string_view word_of(PerAxis axis) noexcept;           // "column"; "none"
std::string_view word_of(ImageLayout layout) noexcept;     // "nhwc"
std::string_view word_of(FilterLayout layout) noexcept;    // "krsc"

// Errors: invalid_problem, with the words that there are.
Result<Activation> parse_activation(std::string_view text);
Result<ImageLayout> parse_image_layout(std::string_view text);
Result<FilterLayout> parse_filter_layout(std::string_view text);

}  // namespace sectile::tools
