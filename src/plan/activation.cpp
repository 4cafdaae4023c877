#include "activation.hpp"

#include <bit>
#include <cmath>
#include <utility>

namespace sectile::detail {

namespace {

// By the enumeration's order: the name, and its parameters in the problem string.
struct Row {
  std::string_view name, parameters;
};
constexpr std::array<Row, 11> kRows = {{{"", ""},
                                        {"relu", ""},
                                        {"gelu", ""},
                                        {"gelu_tanh", ""},
                                        {"silu", ""},
                                        {"leaky_relu", ":SLOPE"},
                                        {"clamp", ":LOW:HIGH"},
                                        {"sigmoid", ""},
                                        {"hard_swish", ""},
                                        {"hard_sigmoid", ""},
                                        {"tanh", ""}}};
constexpr std::string_view kRelu6 = "relu6";

const Row& row_of(Activation activation) noexcept { return kRows[std::to_underlying(activation)]; }

std::string_view name_in(Token token) noexcept { return token.text.substr(0, token.text.find(':')); }

// A plus would end a stage of an epilogue.
std::string number_text(float number) {
  std::string text = float_text(number);
  std::erase(text, '+');
  return text;
}

Result<void> refused(std::string_view what, float number, std::string_view want) {
  return fail(ErrorKind::invalid_problem, std::string(what), float_text(number), std::string(want));
}

}  // namespace

std::string_view activation_name(Activation activation) noexcept { return row_of(activation).name; }

std::string activation_names(bool with_parameters) {
  std::string names;
  for (std::size_t i = 1; i < kRows.size(); ++i) {
    names.append(i == 1 ? "" : i + 1 == kRows.size() ? " or " : ", ").append(kRows[i].name);
    if (with_parameters) names.append(kRows[i].parameters);
    if (with_parameters && kRows[i].name == "clamp") names.append(", ").append(kRelu6);
  }
  return names;
}

std::string activation_text(const ActivationWords& words) {
  std::string text(activation_name(words.which));
  if (words.which == Activation::leaky_relu) text.append(":").append(number_text(words.slope));
  if (words.which == Activation::clamp)
    text.append(":").append(number_text(words.low)).append(":").append(number_text(words.high));
  return text;
}

bool names_activation(Token token) noexcept {
  const std::string_view name = name_in(token);
  return !name.empty() && (name == kRelu6 || std::ranges::find(kRows, name, &Row::name) != kRows.end());
}

Result<void> parse_activation(std::string_view what, Token token, std::string_view want, ActivationWords& out) {
  if (!names_activation(token)) return refuse(what, token, want);
  Split parts(token, ':');
  const std::string_view name = parts.next().value_or(token).text;
  if (name == kRelu6) {
    out.which = Activation::clamp;
    out.high = 6;
  } else {
    out.which = static_cast<Activation>(std::ranges::find(kRows, name, &Row::name) - kRows.begin());
  }
  const auto number = [&](float& value) -> Result<void> {
    const auto part = parts.next();
    if (!part) return refuse(what, token, std::string(name).append(row_of(out.which).parameters));
    auto parsed = parse_float(what, *part);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    value = *parsed;
    return {};
  };
  if (out.which == Activation::leaky_relu)
    if (auto ok = number(out.slope); !ok) return ok;
  if (out.which == Activation::clamp && name != kRelu6) {
    if (auto ok = number(out.low); !ok) return ok;
    if (auto ok = number(out.high); !ok) return ok;
  }
  if (parts.next())
    return refuse(what, token,
                  name == kRelu6 ? std::string(name) : std::string(name).append(row_of(out.which).parameters));
  return {};
}

Result<void> check_activation(std::string_view what, const ActivationWords& words, std::string_view addend,
                              bool added) {
  const bool leaky = words.which == Activation::leaky_relu, clamp = words.which == Activation::clamp;
  if (words.slope != 0 && !leaky) return refused("slope", words.slope, "none but leaky_relu's");
  for (const auto& [name, bound] : {std::pair("low", words.low), std::pair("high", words.high)}) {
    if (bound != 0 && !clamp) return refused(name, bound, "none but clamp's");
    if (!std::isfinite(bound)) return refused(name, bound, "a finite number");
  }
  // Of -inf a slope of 0 would make a NaN, and kernels may take a subnormal one for 0.
  if (leaky && !std::isnormal(words.slope))
    return refused("slope", words.slope, "a finite normal number other than 0; relu has a slope of 0");
  if (words.low > words.high) return refused("low", words.low, "at most high, " + float_text(words.high));
  if (!words.last) return {};
  if (words.which == Activation::none)
    return fail(ErrorKind::invalid_problem, "activation_last", "true", "an activation");
  if (!added)
    return fail(ErrorKind::invalid_problem, std::string(what), activation_text(words) + " last",
                std::string(addend) + " that it follows");
  return {};
}

ActivationParameters activation_parameters(const ActivationWords& words, bool integer) noexcept {
  const auto word = [integer](float number) {
    if (integer) return static_cast<std::uint32_t>(static_cast<std::int32_t>(number));
    return number == 0 ? 0u : std::bit_cast<std::uint32_t>(number);  // -0 equals 0, so plans do not differ by it
  };
  if (words.which == Activation::leaky_relu) return {1, {word(words.slope), 0}};
  if (words.which == Activation::clamp) return {2, {word(words.low), word(words.high)}};
  return {};
}

}  // namespace sectile::detail
