#include "product.hpp"

namespace sectile::tools {

const RateUnit& product_unit() {
  static constexpr RateUnit kUnit{
      .unit = "TFLOP/s",
      .scale = 1e12,
      .digits = 3,
      .operations = true,
      .axis = "TFLOP/s",
      .note = "A multiplication and an addition are two operations; bytes are those of every operand, once."};
  return kUnit;
}

double most_operations(const SweepOptions& options) {
  return 1e9 * (options.max_gflop > 0 ? options.max_gflop : options.cpu ? 2 : 0);
}

double tolerance_of(DType acc, DType out, std::int64_t terms, float alpha, double want) {
  if (acc == DType::i32) return 0;
  const double bits = out == DType::f16 ? 0x1p-10 : out == DType::bf16 ? 0x1p-7 : 0x1p-22;
  const double sums = static_cast<double>(terms) * (acc == DType::f16 ? 0x1p-10 : 0x1p-22);
  return bits * std::abs(want) + sums * std::max(1.0, std::abs(static_cast<double>(alpha)));
}

std::size_t sampled(std::size_t size, int i) {
  constexpr std::size_t kPrime = 2654435761;
  return i == 0 ? 0 : i == 1 ? size - 1 : static_cast<std::size_t>(i) * kPrime % size;
}

}  // namespace sectile::tools
