// Activations in double precision, each with its limits as the values of -inf and +inf.
#pragma once

#include <sectile/problem.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace sectile::reference {

// An activation with its parameters, and whether it follows the residual, or a permute's second operand.
struct Activated {
  Activation which = Activation::none;
  double slope = 0, low = 0, high = 0;
  bool last = false;

  Activated() = default;
  Activated(Activation activation) noexcept : which(activation) {}
  template <class P>
    requires requires(const P& p) { p.activation_last; }
  explicit Activated(const P& p) noexcept
      : which(p.activation), slope(p.slope), low(p.low), high(p.high), last(p.activation_last) {}

  double operator()(double v) const noexcept;
  double after(double v, double added) const noexcept { return last ? (*this)(v + added) : (*this)(v) + added; }
  // Whether it makes floats of floats without rounding.
  bool exact() const noexcept;
  // What a device may be off by beside what its argument is off by, and how much of that is left.
  double error(double v) const noexcept;
  double steepest() const noexcept;
};

// Sets one of `levels` activations, with parameters, by the enumeration's order; those of leaky_relu and clamp bend
// where sums of products are.
inline constexpr std::uint8_t kActivations = 11;
template <class P>
void set_activation(P& p, std::uint8_t level, bool last) noexcept {
  p.activation = static_cast<Activation>(level);
  p.slope = p.activation == Activation::leaky_relu ? 0.1f : 0;
  p.low = p.activation == Activation::clamp ? -1 : 0;
  p.high = p.activation == Activation::clamp ? 6 : 0;
  p.activation_last = last && p.activation != Activation::none;
}

// Arguments at which an activation shows its ends: infinities, a NaN, numbers near f32's greatest, those on both sides
// of where a kernel may take another way, and some between. All are f32.
std::span<const float> activation_arguments() noexcept;

// The first element of `got`, of type `out`, that is not what the activation makes of these arguments; empty: none.
std::string wrong_activation(const Activated& activation, DType out, std::span<const float> arguments,
                             std::span<const std::byte> got);

}  // namespace sectile::reference
