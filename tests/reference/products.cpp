#include "products.hpp"

#include "numbers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
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

// Additions after the sums saturate.
double saturated(double v) noexcept {
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min(),
                         most = std::numeric_limits<std::int32_t>::max();
  return std::clamp(v, static_cast<double>(least), static_cast<double>(most));
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

bool ProductFactor::wild(DType acc) const noexcept {
  // Ordinary numbers are near 1, and a product of two is far from f32's subnormals.
  return !std::isfinite(value) || flushed > 0 || std::fabs(value) > 1024 ||
         (value != 0 && std::fabs(value) < 0x1p-60) ||
         (acc == DType::f16 && value != 0 && std::fabs(value) < kLeastF16);
}

// ---- sums

void ProductTerms::add(const ProductFactor& left, const ProductFactor& right) noexcept {
  const double term = left.value * right.value;
  if (term == 0 && left.rough == 0 && right.rough == 0) return;
  InAnyOrder added{term, 0, false};
  const double lost = (left.flushed > 0 ? std::fabs(term) : 0) + (right.flushed > 0 ? std::fabs(term) : 0);
  if (!std::isfinite(left.value) || !std::isfinite(right.value)) {
    // Times a zero an infinity is a NaN.
    added.open = !std::isnan(term) && (left.flushed > 0 || right.flushed > 0);
  } else {
    added.flushed = lost;
    // Factors and terms of sums in f16 are no subnormal ones in f32.
    const auto small = [](double v) { return v != 0 && std::fabs(v) < kLeastF16; };
    if (acc_ == DType::f16 && (small(left.value) || small(right.value) || small(term)))
      added.flushed += std::fabs(term);
    squares_ += term * term;
    const double of_left = left.rough * right.value, of_right = left.value * right.rough;
    rough_ += of_left * of_left + of_right * of_right;
    exact_ =
        exact_ && left.rough == 0 && right.rough == 0 && rounded(acc_ == DType::f16 ? acc_ : DType::f32, term) == term;
  }
  sum_.add(added);
}

void ProductTerms::add_padding(const ProductFactor& right) noexcept {
  if (!std::isfinite(right.value)) sum_.add(InAnyOrder{0, 0, true});
}

ProductSums ProductTerms::sums() const noexcept {
  const InAnyOrder sum = sum_.result();
  ProductSums out{sum.value, squares_, rough_, exact_ && sum_.single(), sum.flushed, sum.open, false};
  if (acc_ != DType::f16 || sum.open) return out;
  const InAnyOrder halves = sum_.result(kMostF16);
  out.open = halves.open;
  out.or_infinite = std::isinf(halves.value) && std::isfinite(sum.value);
  return out;
}

// A float's arithmetic may flush a subnormal one to zero.
double flushed_part(double v) noexcept { return std::fabs(v) < kLeastF32 ? std::fabs(v) : 0; }

ProductFactor Product::converted(double value) const noexcept {
  const double result = rounded(type, value);
  const bool same = result == value || !std::isfinite(result);
  const double least = type == DType::f16 ? kLeastF16 : 0;  // places of subnormal numbers are no smaller
  return {result, same ? 0 : std::max(std::fabs(result), least), flushed_part(result)};
}

// A float's product with a float, as a device forms it, and what is left of it in `type`.
ProductFactor Product::scaled(double value, double scale) const noexcept {
  const float product = static_cast<float>(value) * static_cast<float>(scale);
  ProductFactor out = converted(product);
  if (flushed_part(value) + flushed_part(scale) + flushed_part(product) > 0) out.flushed = std::fabs(out.value);
  return out;
}

ProductFactor Product::shifted(double value, double scale, double bias, bool relu) const noexcept {
  const double product = value * scale, sum = product + bias;
  const double result = rounded(type, relu && sum < 0 ? 0 : sum);
  const double lost = flushed_part(value) + flushed_part(scale) + flushed_part(product) + flushed_part(sum);
  const double flushed = lost > 0 ? std::fabs(product) + flushed_part(sum) : flushed_part(result);
  if (!std::isfinite(result)) return {result, 0, flushed};
  const bool floats = static_cast<float>(product) == product && static_cast<float>(sum) == sum;
  if (floats && (result == sum || (relu && sum <= 0))) return {result, 0, flushed};
  // A float's rounding of product and sum, where they cancel too; that to `type`, whose subnormals may be flushed.
  const double least = type == DType::f16 ? kLeastF16 / last_place(type) : 0;
  const double of_floats = last_place(DType::f32) / last_place(type) * (std::fabs(product) + std::fabs(sum));
  if (relu && sum < 0 && sum < -last_place(DType::f32) * std::fabs(product)) return {0, 0, 0};
  return {result, of_floats + std::max(std::fabs(result), least), flushed};
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
//   What follows runs in f32: 8 roundings of parts of |alpha scale sum| + |beta C| + |bias|, then activation_tolerance.
//   The result may be either neighbour as well.
// Where sums are infinite, or numbers so large that the order decides: any_order.
ProductElement Product::finish(const ProductSums& products, const EpilogueNumbers& operands) const noexcept {
  ProductSums sums = products;
  EpilogueNumbers numbers = operands;
  if (alpha == 0) {  // neither the products nor their scale are read
    sums = {.exact = true};
    numbers.scale = 1;
  }
  if (out == DType::i32) {
    const double v = saturated(wrapped(sums.sum) + numbers.bias), residual = numbers.residual;
    return {activation.last ? activation(saturated(v + residual)) : saturated(activation(v) + residual), 0};
  }
  const ProductElement element = finish_float(sums, numbers);
  if (!sums.or_infinite || element.open) return element;
  ProductSums infinite = sums;
  infinite.sum = std::copysign(std::numeric_limits<double>::infinity(), sums.sum);
  const ProductElement other = finish_float(infinite, numbers);
  if (!other.open && is_right(other, out, rounded(out, element.value)) &&
      is_right(other, out, rounded(out, element.value - std::copysign(element.tolerance, element.value))))
    return element;
  return {0, 0, false, true};
}

// The epilogue in whatever order a device computes; before the activation, and the result.
struct Product::Finished {
  InAnyOrder before, result;
};

Product::Finished Product::any_order(const ProductSums& sums, const EpilogueNumbers& numbers) const noexcept {
  SumInAnyOrder before;
  if (alpha != 0) {
    const double sum = type == DType::i8 ? wrapped(sums.sum) : sums.sum;
    InAnyOrder product = product_in_any_order({alpha, numbers.scale, sums.open ? 1 : sum});
    // Times an infinity a sum that is off by little may have the other sign, or be a NaN.
    const bool sure = type == DType::i8 || (sums.exact && sums.flushed == 0) || !std::isfinite(sums.sum);
    product.open = product.open || sums.open || (std::isinf(numbers.scale) && !sure);
    // An open sum has no sign, and neither has its product with an infinity.
    if (sums.open && !std::isnan(product.value)) product.value = 0;
    if (std::isfinite(product.value)) product.flushed += std::fabs(alpha * numbers.scale) * sums.flushed;
    before.add(product);
  }
  if (beta != 0) before.add(product_in_any_order({beta, numbers.c}));
  before.add(numbers.bias);
  const bool plain = activation.which == Activation::none;
  if (plain || activation.last) before.add(numbers.residual);
  const InAnyOrder v = before.result();
  if (plain) return {v, v};
  SumInAnyOrder after;
  after.add(InAnyOrder{activation(v.value), activation.steepest() * v.flushed, v.open});
  if (!activation.last) after.add(numbers.residual);
  return {v, after.result()};
}

// What an activation makes of a number that is off by so much. exp, and an erf of 1.5e-7, leave 2^-20 of it; where they
// no longer move the result nothing is left.
double activation_tolerance(const Activated& activation, double v, double tolerance) noexcept {
  if (activation.which == Activation::none) return tolerance;
  const double value = activation(v);
  const double moved =
      std::max(std::fabs(activation(v - tolerance) - value), std::fabs(activation(v + tolerance) - value));
  if (activation.exact()) return moved;
  return 1.01 * moved + std::ldexp(std::max(std::min(std::fabs(v), 32.0), std::fabs(value)), -20);
}

ProductElement Product::finish_float(const ProductSums& sums, const EpilogueNumbers& numbers) const noexcept {
  const auto& [scale, c, bias, residual] = numbers;
  const Finished in_any_order = any_order(sums, numbers);
  const InAnyOrder& end = in_any_order.result;
  if (end.open) return {0, 0, false, true};
  if (!std::isfinite(end.value)) return {end.value, 0, true};
  const double acc_value = alpha == 0 ? 0 : type == DType::i8 ? wrapped(sums.sum) : sums.sum;
  const double factor = alpha * scale;
  // An activation may have a limit where the rest is infinite.
  const bool plain = activation.which == Activation::none;
  const double first = factor * acc_value + beta * c + bias;
  const double v = plain || !std::isfinite(in_any_order.before.value) ? in_any_order.before.value
                   : activation.last                                  ? first + residual
                                                                      : first;
  if (!std::isfinite(v)) return {end.value, end.flushed, true};
  const double result = activation.after(first, residual);
  if ((sums.exact || type == DType::i8 || alpha == 0) && exact_epilogue(acc_value, numbers))
    return exact_element(result, end.flushed);

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
  tolerance = activation_tolerance(activation, v, tolerance);
  tolerance += 2 * f32_place * (std::fabs(result) + std::fabs(residual)) + end.flushed;
  // Sums in f16 may flush their subnormals, its conversions may not.
  const double least = out != DType::f16 ? 1e-37 : acc == DType::f16 ? kLeastF16 : std::ldexp(1, -24);
  tolerance += last_place(out) * (std::fabs(result) + tolerance) + least;
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
    for (std::size_t i = 0; i < together; ++i) {
      if ((some >> i & 1) == 0) continue;
      const double term = terms.at(i), next = sum + term, added = next - sum;
      if (added != term || next - added != sum) return false;  // not even a double holds it
      sum = next;
    }
    if (!is_float(sum)) return false;
  }
  return is_float(activation.after(terms[0] + terms[1] + terms[2], terms[3]));
}

ProductElement Product::exact_element(double result, double flushed) const noexcept {
  // To bf16 kernels round sums by arithmetic (rounded_sum_to_bf16 in numbers.glsl): half of a last place is added to
  // them. Below 2^-118 that is subnormal, and a device that flushes it cuts off.
  const bool cut_off = out == DType::bf16 && result != 0 && std::fabs(result) < 0x1p-118;
  const double most_lost = cut_off ? std::ldexp(0.499, std::ilogb(result) - 7) : 0;
  return {result, flushed + std::max(flushed_part(result), most_lost), true};
}

}  // namespace sectile::reference
