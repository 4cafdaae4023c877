// What the generators of products (matmul, convolution) draw alike.
#pragma once

#include "activation.hpp"
#include "random.hpp"

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace sectile::reference {

template <class T>
T one_of(Random& random, std::initializer_list<T> values) {
  return values.begin()[random.below(values.size())];
}

// How the factors are stored: A and B, or X and W.
struct StoredTypes {
  DType left = DType::f32, right = DType::f32;
  WeightFormat weights = WeightFormat::plain;
};
// Sets `type`, `acc` and `out`.
StoredTypes pick_types(Random& random, std::initializer_list<WeightFormat> formats, DType& type, DType& acc,
                       DType& out);

// Of a product whose result is of a float type.
template <class P>
void pick_float_epilogue(P& p, Random& random) {
  p.alpha = one_of(random, {1.0f, 1.0f, 0.5f, -1.25f, 2.0f, 0.3333f});
  if (p.type == DType::i8) p.alpha = one_of(random, {1.0f, 0.0002f, -0.001f, 1.0f / 65536});
  p.beta = one_of(random, {0.0f, 0.0f, 1.0f, -0.5f, 0.3f});
  p.c_is_d = random.one_in(2);
  // Of those that Activation lists one in 15 each, none in a third.
  const std::uint64_t drawn = random.below(30);
  set_activation(p, drawn % 15 < kActivations ? static_cast<std::uint8_t>(drawn % 15) : 0, p.residual && drawn >= 15);
  if (random.one_in(40)) p.alpha = 0;
}

// Of a product whose result is i32.
template <class P>
void pick_integer_activation(P& p, Random& random) {
  const std::uint64_t drawn = random.below(8);
  if (drawn >= 4) return;
  set_activation(p, static_cast<std::uint8_t>(drawn < 2 ? Activation::relu : Activation::clamp),
                 p.residual && drawn % 2 != 0);
  if (drawn < 2) return;
  p.low = -3000;
  p.high = 500000;
}

// Most promise 16 bytes, as the default is; others just what an element needs, or what no vector can use.
std::uint32_t pick_product_align(Random& random, std::size_t element);

}  // namespace sectile::reference
