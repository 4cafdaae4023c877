#include "product.hpp"

#include "base/text_tokens.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <initializer_list>

namespace sectile::detail {

namespace {

constexpr auto kFloats = {DType::f32, DType::f16, DType::bf16};

// `of`: the product's type.
Result<void> check_type(std::string_view what, DType type, std::initializer_list<DType> allowed, DType of) {
  if (std::ranges::find(allowed, type) != allowed.end()) return {};
  std::string want;
  for (const DType one : allowed) want += std::string(want.empty() ? "" : ", ") + std::string(name(one));
  if (what != "type") want += " where the type is " + std::string(name(of));
  return fail(ErrorKind::invalid_problem, std::string(what), std::string(name(type)), want);
}

Result<void> check_factor(std::string_view what, DType type, DType of) {
  return of == DType::i8 ? check_type(what, type, {DType::i8}, of) : check_type(what, type, kFloats, of);
}

// int32 results: relu, and a clamp whose bounds are integers of 32 bits.
Result<void> check_of_integers(const ActivationWords& words) {
  if (words.which == Activation::none || words.which == Activation::relu) return {};
  if (words.which != Activation::clamp)
    return fail(ErrorKind::invalid_problem, "epi", activation_text(words),
                "relu, clamp or none where the result is i32");
  for (const auto& [name, bound] : {std::pair("low", words.low), std::pair("high", words.high)})
    if (bound != std::trunc(bound) || bound < -0x1p31f || bound >= 0x1p31f)
      return fail(ErrorKind::invalid_problem, name, float_text(bound),
                  "an integer from -2^31 to 2^31 - 128 where the result is i32");
  return {};
}

Result<void> check_quantized(const ProductTypes& t) {
  // Dequantized weights are fractions.
  if (t.type == DType::i8)
    return fail(ErrorKind::invalid_problem, std::string(t.b_name), std::string(format_name(t.b_format)),
                "i8 where the type is i8");
  if (t.b != DType::i8)
    return fail(ErrorKind::invalid_problem, std::string(t.b_name), std::string(name(t.b)),
                "i8 as the type of " + std::string(format_name(t.b_format)));
  return {};
}

}  // namespace

std::string_view format_name(WeightFormat format) noexcept {
  return std::array<std::string_view, 3>{"", "q8", "q4"}[std::to_underlying(format)];
}

Result<void> check_types(const ProductTypes& t) {
  if (auto ok = check_type("type", t.type, {DType::f32, DType::f16, DType::bf16, DType::i8}, t.type); !ok) return ok;
  if (auto ok = check_factor(t.a_name, t.a, t.type); !ok) return ok;
  if (auto ok = t.b_format == WeightFormat::plain ? check_factor(t.b_name, t.b, t.type) : check_quantized(t); !ok)
    return ok;
  if (t.type == DType::i8) {
    if (auto ok = check_type("acc", t.acc, {DType::i32}, t.type); !ok) return ok;
    return check_type("out", t.out, {DType::i32, DType::f32, DType::f16, DType::bf16}, t.type);
  }
  if (auto ok = t.type == DType::f16 ? check_type("acc", t.acc, {DType::f32, DType::f16}, t.type)
                                     : check_type("acc", t.acc, {DType::f32}, t.type);
      !ok)
    return ok;
  return check_type("out", t.out, kFloats, t.type);
}

Result<void> check_numbers(const ProductNumbers& p) {
  for (const auto& [what, number] : {std::pair("alpha", p.alpha), std::pair("beta", p.beta)})
    if (!std::isfinite(number)) return fail(ErrorKind::invalid_problem, what, float_text(number), "a finite number");
  if (auto ok = check_activation("epi", p.activation, "a residual", p.residual); !ok) return ok;
  if (p.type == DType::i8 && !p.prologue.empty())
    return fail(ErrorKind::invalid_problem, "pro", std::string(p.prologue),
                "none where the type is i8: its products are integers");
  if (p.out != DType::i32) return {};
  if (p.alpha != 1) return fail(ErrorKind::invalid_problem, "alpha", float_text(p.alpha), "1 where the result is i32");
  if (p.beta != 0) return fail(ErrorKind::invalid_problem, "beta", float_text(p.beta), "0 where the result is i32");
  if (p.scale)
    return fail(ErrorKind::invalid_problem, "epi", "scale", "none where the result is i32: f32, f16 or bf16 take one");
  return check_of_integers(p.activation);
}

Result<void> check_align(std::string_view what, std::uint32_t align, std::uint32_t element) {
  if (std::has_single_bit(align) && align >= element && align <= 4096) return {};
  return fail(ErrorKind::invalid_problem, std::string(what), std::to_string(align),
              "a power of two from " + std::to_string(element) + " to 4096");
}

}  // namespace sectile::detail
