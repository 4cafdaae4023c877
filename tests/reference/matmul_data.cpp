// What a matmul's operands are filled with, and how results are compared.
#include "matmul.hpp"

#include "numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sectile::reference {
namespace {

// In [-1, 1). Coarse: eighths, which every type holds, and whose products and sums f32 holds, so that no rounding is
// there to hide an error behind. No f16 of these is subnormal: devices may flush those.
double unit(std::uint64_t word, bool coarse) noexcept {
  if (coarse) return (static_cast<double>(word % 17) - 8) / 8;
  const double value = static_cast<double>(word >> 40) * std::ldexp(1, -23) - 1;
  return std::fabs(value) < std::ldexp(1, -6) ? std::copysign(std::ldexp(1, -6), value) : value;
}

// Between 1/2 and 3/2, of either sign; coarse: powers of two.
double factor(std::uint64_t word, bool coarse) noexcept {
  const double sign = (word & 1) != 0 ? -1 : 1;
  if (coarse) return sign * std::ldexp(1, static_cast<int>((word >> 1) % 3) - 1);
  return sign * (0.5 + static_cast<double>(word >> 40) * std::ldexp(1, -24));
}

}  // namespace

// Sums of K terms are then near 1, where activations bend and f16 is far from its ends: a power of two near 2 /
// sqrt(K).
double MatmulDefinition::magnitude_of_a() const noexcept {
  int exponent = 1;
  for (std::int64_t k = p_.k; k >= 4; k /= 4) --exponent;
  return std::ldexp(1, std::min(exponent, 0));
}

double MatmulDefinition::number(std::string_view operand, std::uint64_t word, bool coarse) const noexcept {
  if (operand == "scale" || operand == "a.scale") return factor(word, coarse);
  if (operand == "b.scale") return std::ldexp(factor(word, coarse), p_.b_format == WeightFormat::q8 ? -7 : -3);
  if (operand == "a" || operand == "b") {
    if (operand == "b" && p_.b_format != WeightFormat::plain) return static_cast<double>(word % 256) - 128;
    if (p_.type != DType::i8) return operand == "a" ? magnitude_of_a() * unit(word, coarse) : unit(word, coarse);
    // All of int8, but where the result is an f16 that such sums could pass.
    std::int64_t most = 128;
    const double reach =
        8 * std::sqrt(static_cast<double>(std::max<std::int64_t>(p_.k, 1))) * std::fabs(p_.alpha) * 1.5;
    while (p_.out == DType::f16 && most > 1 && reach * static_cast<double>(most * most) > 30000) most /= 2;
    const auto value = static_cast<std::int64_t>(word % static_cast<std::uint64_t>(2 * most + 1)) - most;
    return static_cast<double>(std::min<std::int64_t>(value, 127));
  }
  if (p_.out == DType::i32) return static_cast<double>(word % 2000001) - 1000000;
  // Some go where activations no longer bend, and where a clamp of their argument would show.
  if ((operand == "bias" || operand == "c" || operand == "residual") && word % 7 == 0)
    return std::copysign(word % 5 == 0 ? 90.0 : 8 + static_cast<double>(word / 7 % 64) / 4, unit(word, true) - 0.01);
  return 2 * unit(word, coarse);
}

namespace {

bool is_coarse(std::uint64_t seed) noexcept { return data_word(seed, ~std::uint64_t{0}) % 2 == 0; }

}  // namespace

void MatmulDefinition::fill(std::string_view name, std::span<std::byte> bytes, std::uint64_t seed) const {
  const MatmulOperand& o = operand(name);
  const bool writes_only = name == "d" && !(p_.c_is_d && p_.beta != 0);
  if (writes_only && o.type == DType::i32) return;  // any bits are poison
  const bool coarse = is_coarse(seed);
  std::uint64_t own = seed;
  for (const char letter : name) own = mix(own ^ static_cast<std::uint64_t>(letter));
  if (o.nibbles) {  // any bits are numbers, those between rows too
    for (std::size_t i = 0; i < o.bytes(); ++i) bytes[i] = static_cast<std::byte>(data_word(own, i) & 255);
    return;
  }
  for (std::int64_t batch = 0; batch < o.batches; ++batch)
    for (std::int64_t row = 0; row < o.rows; ++row)
      for (std::int64_t column = 0; column < o.columns; ++column) {
        const std::int64_t index = o.index(batch, row, column);
        std::byte* const at = bytes.data() + static_cast<std::size_t>(index) * element_bytes(o.type);
        const std::uint64_t word = data_word(own, static_cast<std::uint64_t>(index));
        // Times a beta of zero a NaN is still one.
        encode(o.type, writes_only ? std::nan("") : number(name, word, coarse), at);
      }
}

namespace {

std::string shown(const MatmulDefinition& definition, std::int64_t at, double value) {
  const MatmulProblem& p = definition.problem();
  const std::string batch = p.batch > 1 ? fmt::format("{},", at / (p.m * p.n)) : "";
  return fmt::format("d[{}{},{}]: got {:.9g}", batch, at / p.n % p.m, at % p.n, value);
}

}  // namespace

std::optional<MatmulMismatch> compare(const MatmulDefinition& definition, std::span<const MatmulElement> want,
                                      std::span<const std::byte> before, std::span<const std::byte> got) {
  const MatmulProblem& p = definition.problem();
  const MatmulOperand& d = definition.operand("d");
  const std::size_t size = element_bytes(d.type);
  std::vector<std::byte> gaps(before.begin(), before.end());  // becomes what was got, if no byte between was written
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const auto index = static_cast<std::size_t>(d.index(at / (p.m * p.n), at / p.n % p.m, at % p.n));
    const double value = d.at(got, static_cast<std::int64_t>(index));
    const double wanted = want[i].nearest ? rounded(d.type, want[i].value) : want[i].value;
    // So that a NaN is no match.
    if (!(std::fabs(value - wanted) <= want[i].tolerance)) {
      const bool untouched = std::memcmp(before.data() + index * size, got.data() + index * size, size) == 0;
      return MatmulMismatch{index * size,
                            fmt::format("{}, want {:.9g} within {:.3g}{}", shown(definition, at, value), wanted,
                                        want[i].tolerance, untouched ? ", what it held before: never written" : "")};
    }
    std::memcpy(gaps.data() + index * size, got.data() + index * size, size);
  }
  const auto differ = std::mismatch(gaps.begin(), gaps.end(), got.begin());
  if (differ.first == gaps.end()) return {};
  const auto byte = static_cast<std::uint64_t>(differ.first - gaps.begin());
  return MatmulMismatch{byte, fmt::format("destination byte {} (of no element) was written", byte)};
}

std::optional<MatmulMismatch> compare_devices(const MatmulDefinition& definition, std::span<const MatmulElement> want,
                                              std::span<const std::byte> one, std::span<const std::byte> other) {
  const MatmulProblem& p = definition.problem();
  const MatmulOperand& d = definition.operand("d");
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t index = d.index(at / (p.m * p.n), at / p.n % p.m, at % p.n);
    const double value = d.at(one, index), theirs = d.at(other, index);
    if (std::fabs(value - theirs) <= 2 * want[i].tolerance) continue;
    return MatmulMismatch{
        static_cast<std::uint64_t>(index) * element_bytes(d.type),
        fmt::format("{} and {:.9g}, want both within {:.3g}", shown(definition, at, value), theirs, want[i].tolerance)};
  }
  return {};
}

}  // namespace sectile::reference
