// Activations in double precision, each with its limits as the values of -inf and +inf.
#pragma once

#include <sectile/problem.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace sectile::reference {

double activated(Activation activation, double v) noexcept;

// Arguments at which an activation shows its ends: infinities, a NaN, numbers near f32's greatest, those on both sides
// of where a kernel may take another way, and some between. All are f32.
std::span<const float> activation_arguments() noexcept;

// The first element of `got`, of type `out`, that is not what the activation makes of these arguments; empty: none.
std::string wrong_activation(Activation activation, DType out, std::span<const float> arguments,
                             std::span<const std::byte> got);

}  // namespace sectile::reference
