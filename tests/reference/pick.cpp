#include "pick.hpp"

#include <algorithm>

namespace sectile::reference {

StoredTypes pick_types(Random& random, std::initializer_list<WeightFormat> formats, DType& type, DType& acc,
                       DType& out) {
  type = one_of(random, {DType::f32, DType::f32, DType::f32, DType::f16, DType::f16, DType::f16, DType::bf16,
                         DType::bf16, DType::i8, DType::i8});
  StoredTypes stored{type, type};
  out = type;
  if (type == DType::i8) {
    acc = DType::i32;
    out = one_of(random, {DType::i32, DType::i32, DType::f32, DType::f16, DType::bf16});
    return stored;
  }
  const auto any_float = [&] { return one_of(random, {DType::f32, DType::f16, DType::bf16}); };
  if (random.one_in(6)) stored.left = any_float();
  if (random.one_in(6)) stored.right = any_float();
  if (random.one_in(4)) out = any_float();
  if (type == DType::f16 && random.one_in(3)) acc = DType::f16;
  if (random.one_in(7)) {
    stored.weights = one_of(random, formats);
    stored.right = DType::i8;
  }
  return stored;
}

std::uint32_t pick_product_align(Random& random, std::size_t element) {
  if (random.one_in(2)) return 16;
  const auto align = std::uint32_t{1} << random.below(9);
  return std::max(align, static_cast<std::uint32_t>(element));
}

}  // namespace sectile::reference
