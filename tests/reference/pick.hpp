// What the generators of products (matmul, convolution) draw alike.
#pragma once

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

struct PickedTypes {
  DType type = DType::f32, left = DType::f32, right = DType::f32, acc = DType::f32, out = DType::f32;  // left: A, X
  WeightFormat weights = WeightFormat::plain;
};
PickedTypes pick_types(Random& random, std::initializer_list<WeightFormat> formats);

struct PickedEpilogue {
  float alpha = 1, beta = 0;
  bool c_is_result = false;
  Activation activation = Activation::none;
};
// Of a product whose result is of a float type.
PickedEpilogue pick_float_epilogue(Random& random, DType type);

// Most promise 16 bytes, as the default is; others just what an element needs, or what no vector can use.
std::uint32_t pick_product_align(Random& random, std::size_t element);

}  // namespace sectile::reference
