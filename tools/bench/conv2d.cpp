// A convolution's part of the benchmark: rows that are compared with their best rival.
#include "data.hpp"
#include "operation.hpp"

#include <algorithm>

namespace sectile::tools {
namespace {

class BenchConv2d final : public BenchOperation {
 public:
  Work work(const Problem& problem) const override {
    const auto& p = std::get<Conv2dProblem>(problem);
    Work work;
    if (const auto size = output_size(p)) {
      const auto real = [](std::int64_t number) { return static_cast<double>(number); };
      const double outputs = real(p.n) * real(p.k) * real(size->height) * real(size->width);
      work.operations = 2 * outputs * real(p.c / p.groups) * real(p.r) * real(p.s);
    }
    if (const auto operands = operands_of(problem))
      for (const OperandSpec& operand : *operands)
        (operand.written ? work.written : work.read) += static_cast<double>(operand.bytes);
    return work;
  }

  const RateUnit& unit() const override {
    static constexpr RateUnit kUnit{
        .unit = "TFLOP/s",
        .scale = 1e12,
        .digits = 3,
        .operations = true,
        .axis = "TFLOP/s",
        .note = "Two operations for each output element and weight of its group, those that meet the padding too."};
    return kUnit;
  }
  bool beside_copy() const override { return false; }
  bool narrow_factors(const Problem& problem) const override {
    return size_bytes(std::get<Conv2dProblem>(problem).type) <= 2;
  }
  std::uint64_t most_slots() const override { return 256; }

  bool fill(const Problem& problem, const OperandSpec& spec, std::size_t index,
            std::span<std::byte> bytes) const override {
    const auto& p = std::get<Conv2dProblem>(problem);
    if (spec.written && !p.c_is_d) return false;  // C is what Y held
    const bool of_f32 = spec.name.find("scale") != std::string::npos || spec.name == "x.bias";
    fill_numbers(of_f32             ? DType::f32
                 : spec.name == "x" ? p.x_type
                 : spec.name == "w" ? p.w_type
                                    : p.out,
                 bytes, kBenchSeed + index);
    return true;
  }

  std::string unverified(const Problem&) const override { return "convolutions have no reference here yet"; }
  std::string verify(const Problem&, const BenchData&, std::span<const std::byte>) const override { return {}; }
};

}  // namespace

const BenchOperation& bench_operation(std::type_identity<Conv2dProblem>) {
  static const BenchConv2d operation;
  return operation;
}

}  // namespace sectile::tools
