#include "pick.hpp"

#include <algorithm>

namespace sectile::reference {

PickedTypes pick_types(Random& random, std::initializer_list<WeightFormat> formats) {
  PickedTypes t;
  t.type = one_of(random, {DType::f32, DType::f32, DType::f32, DType::f16, DType::f16, DType::f16, DType::bf16,
                           DType::bf16, DType::i8, DType::i8});
  t.left = t.right = t.out = t.type;
  if (t.type == DType::i8) {
    t.acc = DType::i32;
    t.out = one_of(random, {DType::i32, DType::i32, DType::f32, DType::f16, DType::bf16});
    return t;
  }
  const auto any_float = [&] { return one_of(random, {DType::f32, DType::f16, DType::bf16}); };
  if (random.one_in(6)) t.left = any_float();
  if (random.one_in(6)) t.right = any_float();
  if (random.one_in(4)) t.out = any_float();
  if (t.type == DType::f16 && random.one_in(3)) t.acc = DType::f16;
  if (random.one_in(7)) {
    t.weights = one_of(random, formats);
    t.right = DType::i8;
  }
  return t;
}

PickedEpilogue pick_float_epilogue(Random& random, DType type) {
  PickedEpilogue e;
  e.alpha = one_of(random, {1.0f, 1.0f, 0.5f, -1.25f, 2.0f, 0.3333f});
  if (type == DType::i8) e.alpha = one_of(random, {1.0f, 0.0002f, -0.001f, 1.0f / 65536});
  e.beta = one_of(random, {0.0f, 0.0f, 1.0f, -0.5f, 0.3f});
  e.c_is_result = random.one_in(2);
  e.activation = one_of(random, {Activation::none, Activation::none, Activation::relu, Activation::gelu,
                                 Activation::gelu_tanh, Activation::silu});
  return e;
}

std::uint32_t pick_product_align(Random& random, std::size_t element) {
  if (random.one_in(2)) return 16;
  const auto align = std::uint32_t{1} << random.below(9);
  return std::max(align, static_cast<std::uint32_t>(element));
}

}  // namespace sectile::reference
