// Activations: their names, their parameters, and what holds for them in every operation. Private to src/plan.
#pragma once

#include "base/text_tokens.hpp"

#include <sectile/problem.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sectile::detail {

// The part of a problem, or of a permute's stage, that says which function is applied where.
struct ActivationWords {
  Activation which = Activation::none;
  float slope = 0, low = 0, high = 0;
  bool last = false;
};
template <class P>
ActivationWords activation_words(const P& p) noexcept {
  return {p.activation, p.slope, p.low, p.high, p.activation_last};
}

// "gelu_tanh"; "" for none.
std::string_view activation_name(Activation activation) noexcept;
// "relu, gelu, ... or tanh": for errors. `with_parameters`: as the problem string has them.
std::string activation_names(bool with_parameters);

// As the problem string has it: "leaky_relu:0.1"; "" for none.
std::string activation_text(const ActivationWords& words);
// The reverse. `last` stays as it is. Errors: parse, with `want`; those of parse_float.
Result<void> parse_activation(std::string_view what, Token token, std::string_view want, ActivationWords& out);
// Whether the token begins as an activation does.
bool names_activation(Token token) noexcept;

// Parameters that the activation lacks are 0, the others are in range, and what `last` needs is there. `what`: the
// option that errors name. `addend`: what an activation may follow, and whether the problem has it.
Result<void> check_activation(std::string_view what, const ActivationWords& words, std::string_view addend, bool added);

// What a kernel is told of it: so many words, f32 bits, or integers where it computes with integers.
struct ActivationParameters {
  std::uint32_t count = 0;
  std::array<std::uint32_t, 2> word{};
};
ActivationParameters activation_parameters(const ActivationWords& words, bool integer) noexcept;

template <class P>
void set_activation(P& p, const ActivationWords& words) noexcept {
  p.activation = words.which;
  p.slope = words.slope;
  p.low = words.low;
  p.high = words.high;
  p.activation_last = words.last;
}

}  // namespace sectile::detail
