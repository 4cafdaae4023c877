// Names of the problems' enumerations, as the problem string has them, for options and for rivals.
#pragma once

#include "plan/activation.hpp"

#include <sectile/error.hpp>
#include <sectile/problem.hpp>

#include <string>
#include <string_view>

namespace sectile::tools {

// For options.
inline constexpr const char* kActivationHelp =
    "none, relu, gelu, gelu_tanh, silu, leaky_relu:SLOPE, clamp:LOW:HIGH, relu6, sigmoid, hard_swish, hard_sigmoid or "
    "tanh";

std::string word_of(const detail::ActivationWords& activation);  // "gelu_tanh", "leaky_relu:0.1", "relu last"; "none"
std::string_view word_of(WeightFormat format) noexcept;          // "q8"; "plain"
std::string_view word_of(PerAxis axis) noexcept;                 // "column"; "none"
std::string_view word_of(ImageLayout layout) noexcept;           // "nhwc"
std::string_view word_of(FilterLayout layout) noexcept;          // "krsc"

// Errors: invalid_problem, with the words that there are; parse, of a parameter.
Result<detail::ActivationWords> parse_activation(std::string_view text, bool last);
Result<ImageLayout> parse_image_layout(std::string_view text);
Result<FilterLayout> parse_filter_layout(std::string_view text);

}  // namespace sectile::tools
