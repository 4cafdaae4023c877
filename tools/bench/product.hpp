// What the benchmarks of matmuls and convolutions share: products of operands that are compared with a definition in
// double precision.
#pragma once

#include "data.hpp"
#include "operation.hpp"

#include "reference/products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sectile::tools {

inline constexpr int kSamples = 64;  // elements that are compared before timing; `sectile check` compares all
inline constexpr double kMostDrawnBytes = 8e9;  // of all operands of a product that a sweep draws

const RateUnit& product_unit();                       // TFLOP/s
double most_operations(const SweepOptions& options);  // of a product that a sweep draws; 0: any number
// How far from what is right an element of `terms` products may be: rounding of the result, and of the sums.
double tolerance_of(DType acc, DType out, std::int64_t terms, float alpha, double want);
// Element `i` of those that are compared, of `size`: the first, the last, and others.
std::size_t sampled(std::size_t size, int i);

// P: the problem, which has `type`, `acc`, `out`, `alpha` and `c_is_d`. Definition: of tests/reference.
template <class P, class Definition>
class BenchProduct : public BenchOperation {
 public:
  virtual std::int64_t terms(const P& problem) const = 0;  // products of two elements that make one of the result
  // Two for each of all these products; 0 for a problem that is refused.
  virtual double operations(const P& problem) const = 0;

  Work work(const Problem& problem) const override {
    Work work{.operations = operations(std::get<P>(problem))};
    if (const auto operands = operands_of(problem))
      for (const OperandSpec& operand : *operands)
        (operand.written ? work.written : work.read) += static_cast<double>(operand.bytes);
    return work;
  }

  const RateUnit& unit() const override { return product_unit(); }
  bool beside_copy() const override { return false; }
  bool narrow_factors(const Problem& problem) const override { return size_bytes(std::get<P>(problem).type) <= 2; }
  std::uint64_t most_slots() const override { return 256; }

  bool fill(const Problem& problem, const OperandSpec& spec, std::size_t index,
            std::span<std::byte> bytes) const override {
    const P& p = std::get<P>(problem);
    if (spec.written && !p.c_is_d) return false;  // C is what the result held
    fill_numbers(Definition(p).operand(spec.name).type, bytes, kBenchSeed + index);
    return true;
  }

  std::string verify(const Problem& problem, const BenchData& before, std::span<const std::byte> got) const override {
    const P& p = std::get<P>(problem);
    const Definition definition(p);
    const auto& result = definition.operand(Definition::kDestination);
    const auto places = definition.places();
    const auto held = before.find(Definition::kDestination)->second;
    for (int i = 0; i < kSamples; ++i) {
      const std::size_t at = sampled(definition.size(), i);
      const auto want = definition.element(before, held, at);
      const double have = result.at(got, places.index(at));
      if (!reference::is_right(want, p.out, have))
        return fmt::format("{} is {}, not {} within {}", places.name(at), have, want.value, want.tolerance);
    }
    return {};
  }

  // Every element, each of which may be off by as much.
  std::string compare(const Problem& problem, std::span<const std::byte> first,
                      std::span<const std::byte> other) const override {
    if (std::ranges::equal(first, other)) return {};
    const P& p = std::get<P>(problem);
    const Definition definition(p);
    const auto& result = definition.operand(Definition::kDestination);
    const auto places = definition.places();
    for (std::size_t i = 0; i < definition.size(); ++i) {
      const double one = result.at(first, places.index(i)), two = result.at(other, places.index(i));
      if (!(std::abs(one - two) <= 2 * tolerance_of(p.acc, p.out, terms(p), p.alpha, one)))
        return fmt::format("{} is {}, the planner's own choice makes it {}", places.name(i), two, one);
    }
    return {};
  }
};

}  // namespace sectile::tools
