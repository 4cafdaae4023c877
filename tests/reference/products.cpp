#include "products.hpp"

#include "numbers.hpp"
#include "random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace sectile::reference {
namespace {

// The distance from a number to the next one of its type, over the number: what a conversion may be off by, since
// Vulkan leaves open to which of two neighbours a shader's conversion goes.
double last_place(DType type) noexcept {
  return type == DType::f16 ? std::ldexp(1, -10) : type == DType::bf16 ? std::ldexp(1, -7) : std::ldexp(1, -23);
}

// Sums of int8 products are kept in 32 bits and wrap.
double wrapped(double sum) noexcept {
  return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(sum))));
}

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

double unit_of(std::span<const double> values) noexcept {
  int least = 64;
  for (const double value : values) {
    if (!std::isfinite(value)) return 0;
    if (value == 0) continue;
    int exponent = 0;
    auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
    least = std::min(least, exponent - 53 + std::countr_zero(static_cast<std::uint64_t>(mantissa)));
  }
  return std::ldexp(1, least);
}

void ProductSums::add(const ProductFactor& left, const ProductFactor& right) noexcept {
  const double term = left.value * right.value;
  const double of_left = left.rough * right.value, of_right = left.value * right.rough;
  sum += term;
  squares += term * term;
  rough += of_left * of_left + of_right * of_right;
}

ProductFactor Product::converted(double value) const noexcept {
  const double result = rounded(type, value);
  return {result, result != value ? std::fabs(result) : 0};
}

// A float's product with a float, as a device forms it, and what is left of it in `type`.
ProductFactor Product::scaled(double value, double scale) const noexcept {
  return converted(static_cast<float>(value) * static_cast<float>(scale));
}

ProductFactor Product::shifted(double value, double scale, double bias, bool relu) const noexcept {
  const double product = value * scale, sum = product + bias;
  const double result = rounded(type, relu && sum < 0 ? 0 : sum);
  const bool floats = static_cast<float>(product) == product && static_cast<float>(sum) == sum;
  if (floats && (result == sum || (relu && sum <= 0))) return {result, 0};
  // A float's rounding of product and sum, where they cancel too; that to `type`, whose subnormals may be flushed.
  const double least = type == DType::f16 ? std::ldexp(1, -14) / last_place(type) : 0;
  const double of_floats = last_place(DType::f32) / last_place(type) * (std::fabs(product) + std::fabs(sum));
  if (relu && sum < 0 && sum < -last_place(DType::f32) * std::fabs(product)) return {0, 0};
  return {result, of_floats + std::max(std::fabs(result), least)};
}

bool Product::exact_sums(double unit, double reach) const noexcept {
  return reach <= unit * (acc == DType::f16 ? 0x1p11 : 0x1p24);
}

// How far a device may be from the element, from the types, the length K and the terms themselves. The terms t have
// random signs (fill), so that partial sums behave like a random walk: in whatever order a device adds, few of them
// pass walk = 4 sqrt(sum t^2), and none passes sqrt(K) sqrt(sum t^2).
//   Sums in f32: each of K products and additions is off by a last place, 2^-23, of a partial sum at most, wherever it
//   is
//     rounded to: matrix units truncate, so that errors may all point one way. Hence K, not its root.
//   Sums in f16: those who round to nearest err either way (Higham, Mary: "A new approach to probabilistic rounding
//   error
//     analysis", 2019): sqrt(K), times 2. Matrix units round once in 4 to 32 steps of K.
//   int8: exact.
//   A factor that `type` cannot hold may be either neighbour: a last place of its term, errors as random as the terms.
//   What follows runs in f32: 8 roundings of parts of |alpha scale sum| + |beta C| + |bias|, and what the activation
//   leaves of that and adds.
//   The result may be either neighbour as well, and f16's subnormals may be flushed to zero.
ProductElement Product::finish(const ProductSums& products, const EpilogueNumbers& operands) const noexcept {
  ProductSums sums = products;
  EpilogueNumbers numbers = operands;
  if (alpha == 0) {  // neither the products nor their scale are read
    sums = {.exact = true};
    numbers.scale = 1;
  }
  const auto& [scale, c, bias, residual] = numbers;
  if (out == DType::i32) {
    const double v = wrapped(wrapped(sums.sum) + bias);
    return {activation.last ? activation(wrapped(v + residual)) : wrapped(activation(v) + residual), 0};
  }
  const double acc_value = type == DType::i8 ? wrapped(sums.sum) : sums.sum;
  const double factor = alpha * scale;
  const double v = factor * acc_value + beta * c + bias;
  const double result = activation.after(v, residual);
  if ((sums.exact || type == DType::i8) && exact_epilogue(acc_value, numbers)) return exact_element(result);

  const double k = static_cast<double>(length), f32_place = last_place(DType::f32);
  const double walk = std::min(std::sqrt(k), 4.0) * std::sqrt(sums.squares) + std::fabs(acc_value);
  double of_sum = 0;
  if (type != DType::i8) {
    of_sum = k * f32_place * walk;
    if (acc == DType::f16) of_sum += std::min(k, 2 * std::sqrt(k)) * last_place(DType::f16) / 2 * walk;
    if (sums.rough > 0)
      of_sum += last_place(type) * (std::min(std::sqrt(k), 4.0) * std::sqrt(sums.rough) + std::fabs(acc_value));
  }
  double tolerance = std::fabs(factor) * of_sum +
                     8 * f32_place * (std::fabs(factor * acc_value) + std::fabs(beta * c) + std::fabs(bias));
  const double argument = activation.last ? v + residual : v;
  tolerance = activation.steepest() * tolerance + activation.error(argument);
  tolerance += 2 * f32_place * (std::fabs(result) + std::fabs(residual));
  tolerance += last_place(out) * (std::fabs(result) + tolerance) + (out == DType::f16 ? std::ldexp(1, -14) : 1e-37);
  return {result, tolerance};
}

// Whether every product and sum of the epilogue is a float, in whatever order, fused or not: Mesa 26.1.6 adds a
// residual to a product before C if no activation is between them.
bool Product::exact_epilogue(double acc_value, const EpilogueNumbers& numbers) const noexcept {
  if (!activation.exact()) return false;
  const auto is_float = [](double part) { return static_cast<float>(part) == part; };
  const double a = alpha, scale = numbers.scale;
  if (!is_float(acc_value) || !is_float(a * scale) || !is_float(a * acc_value) || !is_float(scale * acc_value))
    return false;
  const std::array terms{a * scale * acc_value, beta * numbers.c, numbers.bias, numbers.residual};
  const bool between = activation.which != Activation::none && !activation.last;
  const std::size_t together = between ? terms.size() - 1 : terms.size();
  for (unsigned some = 1; some < 1u << together; ++some) {
    double sum = 0;
    for (std::size_t i = 0; i < together; ++i)
      if ((some >> i & 1) != 0) sum += terms.at(i);
    if (!is_float(sum)) return false;
  }
  return is_float(activation.after(terms[0] + terms[1] + terms[2], terms[3]));
}

ProductElement Product::exact_element(double result) const noexcept {
  // Kernels that multiply bf16 may have the device round, and to f16 they all have.
  if (out == DType::f32 || (out == DType::bf16 && type != DType::bf16)) return {result, 0, true};
  const double least = out == DType::f16 ? std::ldexp(1, -14) : 0;  // subnormals may be flushed
  if (rounded(out, result) == result && std::fabs(result) >= least) return {result, 0, false};
  return {result, last_place(out) * std::fabs(result) + least, false};
}

// Sums of K terms are then near 1, where activations bend and f16 is far from its ends: a power of two near 2 /
// sqrt(K).
double Product::magnitude_of_left() const noexcept {
  int exponent = 1;
  for (std::int64_t k = length; k >= 4; k /= 4) --exponent;
  return std::ldexp(1, std::min(exponent, 0));
}

double Product::number(ProductPart part, std::uint64_t word, bool coarse) const noexcept {
  if (part == ProductPart::factor) return factor(word, coarse);
  if (part == ProductPart::weight_scale) return std::ldexp(factor(word, coarse), weights == WeightFormat::q8 ? -7 : -3);
  if (part == ProductPart::left_bias) return magnitude_of_left() * unit(word, coarse);
  if (part == ProductPart::left || part == ProductPart::right) {
    const bool left = part == ProductPart::left;
    if (!left && weights != WeightFormat::plain) return static_cast<double>(word % 256) - 128;
    if (type != DType::i8) return left ? magnitude_of_left() * unit(word, coarse) : unit(word, coarse);
    // All of int8, but where the result is an f16 that such sums could pass.
    std::int64_t most = 128;
    const double reach = 8 * std::sqrt(static_cast<double>(std::max<std::int64_t>(length, 1))) * std::fabs(alpha) * 1.5;
    while (out == DType::f16 && most > 1 && reach * static_cast<double>(most * most) > 30000) most /= 2;
    const auto value = static_cast<std::int64_t>(word % static_cast<std::uint64_t>(2 * most + 1)) - most;
    return static_cast<double>(std::min<std::int64_t>(value, 127));
  }
  if (out == DType::i32) return static_cast<double>(word % 2000001) - 1000000;
  // Some go where activations no longer bend, and where a clamp of their argument would show.
  if (part == ProductPart::addend && word % 7 == 0)
    return std::copysign(word % 5 == 0 ? 90.0 : 8 + static_cast<double>(word / 7 % 64) / 4, unit(word, true) - 0.01);
  return 2 * unit(word, coarse);
}

bool is_coarse(std::uint64_t seed) noexcept { return data_word(seed, ~std::uint64_t{0}) % 2 == 0; }

std::uint64_t stream_of(std::uint64_t seed, std::string_view operand) noexcept {
  for (const char letter : operand) seed = mix(seed ^ static_cast<std::uint64_t>(letter));
  return seed;
}

std::vector<std::size_t> corners_of(std::span<const std::int64_t> shape) {
  std::vector<std::size_t> corners = {0};
  for (const std::int64_t size : shape) {
    if (size <= 0) return {};
    const std::vector<std::size_t> before = std::exchange(corners, {});
    const auto count = static_cast<std::size_t>(size);
    for (const std::size_t corner : before) {
      corners.push_back(corner * count);
      if (count > 1) corners.push_back(corner * count + count - 1);
    }
  }
  return corners;
}

std::optional<ProductMismatch> compare(const ProductPlaces& places, std::span<const ProductElement> want,
                                       std::span<const std::byte> before, std::span<const std::byte> got) {
  const std::size_t size = element_bytes(places.type);
  std::vector<std::byte> gaps(before.begin(), before.end());  // becomes what was got, if no byte between was written
  for (std::size_t i = 0; i < want.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(places.index(i)) * size;
    const double value = decode(places.type, got.data() + at);
    const double wanted = want[i].nearest ? rounded(places.type, want[i].value) : want[i].value;
    // So that a NaN is no match.
    if (!(std::fabs(value - wanted) <= want[i].tolerance)) {
      const bool untouched = std::memcmp(before.data() + at, got.data() + at, size) == 0;
      return ProductMismatch{at,
                             fmt::format("{}: got {:.9g}, want {:.9g} within {:.3g}{}", places.name(i), value, wanted,
                                         want[i].tolerance, untouched ? ", what it held before: never written" : "")};
    }
    std::memcpy(gaps.data() + at, got.data() + at, size);
  }
  for (const std::int64_t index : places.zeros) {
    const std::size_t at = static_cast<std::size_t>(index) * size;
    std::memset(gaps.data() + at, 0, size);
    if (std::memcmp(gaps.data() + at, got.data() + at, size) != 0)
      return ProductMismatch{at, fmt::format("destination byte {} (of a surplus element) is not zero", at)};
  }
  const auto differ = std::mismatch(gaps.begin(), gaps.end(), got.begin());
  if (differ.first == gaps.end()) return {};
  const auto byte = static_cast<std::uint64_t>(differ.first - gaps.begin());
  return ProductMismatch{byte, fmt::format("destination byte {} (of no element) was written", byte)};
}

std::optional<ProductMismatch> compare_devices(const ProductPlaces& places, std::span<const ProductElement> want,
                                               std::span<const std::byte> one, std::span<const std::byte> other) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(places.index(i)) * element_bytes(places.type);
    const double value = decode(places.type, one.data() + at), theirs = decode(places.type, other.data() + at);
    if (std::fabs(value - theirs) <= 2 * want[i].tolerance) continue;
    return ProductMismatch{at, fmt::format("{}: got {:.9g} and {:.9g}, want both within {:.3g}", places.name(i), value,
                                           theirs, want[i].tolerance)};
  }
  return {};
}

}  // namespace sectile::reference
