#include "activation.hpp"

#include "ends.hpp"
#include "numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace sectile::reference {

double Activated::operator()(double v) const noexcept {
  const bool lowest = v == -std::numeric_limits<double>::infinity();  // where a product would be inf times 0
  switch (which) {
    case Activation::none:
      return v;
    case Activation::relu:
      return v < 0 ? 0 : v;
    case Activation::gelu:
      return lowest ? 0 : 0.5 * v * std::erfc(-v / std::numbers::sqrt2);
    case Activation::gelu_tanh:
      return lowest ? 0 : 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
    case Activation::silu:
      return lowest ? 0 : v / (1 + std::exp(-v));
    case Activation::leaky_relu:
      return v < 0 ? slope * v : v;
    case Activation::clamp:
      return v < low ? low : v > high ? high : v;
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-v));
    case Activation::hard_swish:
      return v < -3 ? 0 : v > 3 ? v : v * (v + 3) / 6;
    case Activation::hard_sigmoid:
      return v < -3 ? 0 : v > 3 ? 1 : (v + 3) / 6;
    case Activation::tanh:
      return std::tanh(v);
  }
  return v;
}

bool Activated::exact() const noexcept {
  return which == Activation::none || which == Activation::relu || which == Activation::clamp;
}

// Exponentials, and an erf of 1.5e-7, leave 2^-20 of the argument, or of 1 where the result is not more. Of a product
// with the slope a last place, of quotients by 6 two, relative to the argument too.
double Activated::error(double v) const noexcept {
  if (exact()) return 0;
  if (which == Activation::sigmoid || which == Activation::tanh || which == Activation::hard_sigmoid)
    return std::ldexp(std::min(std::fabs(v), 1.0) + (which == Activation::tanh ? 0 : 1), -20);
  // A compiler may multiply by a sixth before it multiplies by v + 3, and that may be flushed.
  if (which == Activation::hard_swish && std::fabs(v) < 6 * kLeastF32) return std::fabs(v);
  return std::ldexp(std::fabs(v), -20) * std::max(1.0, std::fabs(slope));
}

double Activated::steepest() const noexcept {
  switch (which) {
    case Activation::gelu:
    case Activation::gelu_tanh:
    case Activation::silu:
      return 1.13;
    case Activation::hard_swish:
      return 1.5;
    case Activation::leaky_relu:
      return std::max(1.0, std::fabs(slope));
    default:
      return 1;
  }
}

std::span<const float> activation_arguments() noexcept {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kMost = std::numeric_limits<float>::max();
  static constexpr std::array kArguments = {-kInf,  -kMost,   -3e38f,  -1e31f, -1e19f,
                                            -7e12f, -1000.0f, -104.0f, -90.0f, -87.4f,
                                            -86.9f, -50.0f,   -20.0f,  -13.1f, -12.9f,
                                            -10.1f, -9.9f,    -6.0f,   -5.0f,  -3.1f,
                                            -3.0f,  -2.0f,    -1.0f,   -0.5f,  -0.25f,
                                            -1e-3f, -0.0f,    0.0f,    1e-3f,  0.25f,
                                            0.5f,   1.0f,     2.0f,    3.0f,   3.1f,
                                            5.0f,   6.0f,     6.1f,    9.9f,   10.1f,
                                            13.1f,  20.0f,    50.0f,   86.9f,  87.4f,
                                            90.0f,  104.0f,   1000.0f, 7e12f,  1e19f,
                                            1e31f,  3e38f,    kMost,   kInf,   std::numeric_limits<float>::quiet_NaN()};
  return kArguments;
}

std::string wrong_activation(const Activated& activation, DType out, std::span<const float> arguments,
                             std::span<const std::byte> got) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const double v = arguments[i], exact = activation(v);
    const double want = rounded(out, exact), value = decode(out, got.data() + i * element_bytes(out));
    if (std::isnan(want) ? std::isnan(value) : value == want) continue;
    // A last place of the type, and what exponentials and an erf of 1.5e-7 leave of small arguments.
    const double place = out == DType::f16 ? std::ldexp(1, -10) : out == DType::bf16 ? std::ldexp(1, -7) : 1e-6;
    const double tolerance = place * std::fabs(want) + 1e-6 * std::min(std::fabs(v), 8.0) + 1e-37;
    if (std::isfinite(want) && std::fabs(value - want) <= tolerance) continue;
    return fmt::format("of {:.9g}: got {:.9g}, want {:.9g}", v, value, want);
  }
  return {};
}

}  // namespace sectile::reference
