#include "matmul.hpp"

#include "numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <stdexcept>

namespace sectile::reference {
namespace {

// The distance from a number to the next one of its type, over the number: what a conversion may be off by, since
// Vulkan leaves open to which of two neighbours a shader's conversion goes.
double last_place(DType type) noexcept {
  return type == DType::f16 ? std::ldexp(1, -10) : type == DType::bf16 ? std::ldexp(1, -7) : std::ldexp(1, -23);
}

double activated(Activation activation, double v) noexcept {
  switch (activation) {
    case Activation::none:
      return v;
    case Activation::relu:
      return v < 0 ? 0 : v;
    case Activation::gelu:
      return 0.5 * v * std::erfc(-v / std::numbers::sqrt2);
    case Activation::gelu_tanh:
      return 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
    case Activation::silu:
      return v / (1 + std::exp(-v));
  }
  return v;
}

// Sums of int8 products are kept in 32 bits and wrap.
double wrapped(double sum) noexcept {
  return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(sum))));
}

// A float's product with a float, as a device forms it, and what is left of it in `type`.
double scaled(double value, double scale, DType type, bool& inexact) noexcept {
  const double product = static_cast<float>(value) * static_cast<float>(scale);
  const double result = rounded(type, product);
  inexact = inexact || result != product;
  return result;
}

double converted(double value, DType type, bool& inexact) noexcept {
  const double result = rounded(type, value);
  inexact = inexact || result != value;
  return result;
}

// The largest power of two of which all are multiples; 0 where that is too small to matter, or one is no number.
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

}  // namespace

std::uint64_t MatmulOperand::bytes() const noexcept {
  if (empty()) return 0;
  const std::int64_t elements = index(batches - 1, rows - 1, columns - 1) + 1;
  return nibbles ? static_cast<std::uint64_t>(elements + 1) / 2
                 : static_cast<std::uint64_t>(elements) * element_bytes(type);
}

double MatmulOperand::at(std::span<const std::byte> data, std::int64_t index) const noexcept {
  if (!nibbles) return decode(type, data.data() + static_cast<std::size_t>(index) * element_bytes(type));
  const auto byte = std::to_integer<int>(data[static_cast<std::size_t>(index / 2)]);
  return index % 2 == 0 ? byte & 15 : byte >> 4;
}

MatmulDefinition::MatmulDefinition(const MatmulProblem& problem) : p_(problem) {
  const auto sized = [](std::int64_t size) { return size >= 0 && size < std::int64_t{1} << 31; };
  if (!sized(p_.m) || !sized(p_.n) || !sized(p_.k) || !sized(p_.batch)) throw std::invalid_argument("matmul: sizes");
  const bool nothing = empty();
  const auto matrix = [&](DType type, std::int64_t rows, std::int64_t columns, std::int64_t ld, std::int64_t batch_step,
                          std::uint32_t align) {
    MatmulOperand o{type, false, nothing ? 0 : p_.batch, rows, columns, batch_step, ld == 0 ? columns : ld, align};
    if (batch_step == MatmulProblem::kPacked) o.batch_step = o.rows * o.row_step;
    if (o.row_step < o.columns || o.batch_step < 0) throw std::invalid_argument("matmul: strides");
    return o;
  };
  const auto vector = [&](DType type, std::int64_t length) {
    return MatmulOperand{
        type, false, nothing ? 0 : 1, 1, length, 0, 0, static_cast<std::uint32_t>(element_bytes(type))};
  };
  const bool q4 = p_.b_format == WeightFormat::q4;
  operands_.emplace_back("a", p_.transpose_a ? matrix(p_.a_type, p_.k, p_.m, p_.lda, p_.a_batch, p_.a_align)
                                             : matrix(p_.a_type, p_.m, p_.k, p_.lda, p_.a_batch, p_.a_align));
  operands_.emplace_back("b", p_.transpose_b ? matrix(p_.b_type, p_.n, p_.k, p_.ldb, p_.b_batch, p_.b_align)
                                             : matrix(p_.b_type, p_.k, p_.n, p_.ldb, p_.b_batch, p_.b_align));
  operands_.back().second.nibbles = q4;
  const std::int64_t scale_row = operands_.back().second.row_step / 32;
  operands_.emplace_back("d", matrix(p_.out, p_.m, p_.n, p_.ldd, p_.d_batch, p_.d_align));
  if (p_.beta != 0 && !p_.c_is_d)
    operands_.emplace_back("c", matrix(p_.out, p_.m, p_.n, p_.ldc, p_.c_batch, p_.d_align));
  if (p_.bias != PerAxis::none) operands_.emplace_back("bias", vector(p_.out, p_.bias == PerAxis::row ? p_.m : p_.n));
  if (p_.scale != PerAxis::none)
    operands_.emplace_back("scale", vector(DType::f32, p_.scale == PerAxis::row ? p_.m : p_.n));
  if (p_.residual) operands_.emplace_back("residual", matrix(p_.out, p_.m, p_.n, p_.ldr, p_.r_batch, p_.d_align));
  if (p_.b_format == WeightFormat::q8) operands_.emplace_back("b.scale", vector(DType::f32, p_.k == 0 ? 0 : p_.n));
  if (q4) {
    MatmulOperand scales = vector(DType::f16, (p_.k + 31) / 32);
    scales.rows = p_.n;
    scales.row_step = scale_row;
    operands_.emplace_back("b.scale", scales);
  }
  if (p_.a_scale) operands_.emplace_back("a.scale", vector(DType::f32, p_.k));
}

bool MatmulDefinition::has(std::string_view name) const noexcept {
  return std::any_of(operands_.begin(), operands_.end(), [&](const auto& o) { return o.first == name; });
}

const MatmulOperand& MatmulDefinition::operand(std::string_view name) const {
  for (const auto& [key, operand] : operands_)
    if (key == name) return operand;
  throw std::out_of_range("matmul has no operand " + std::string(name));
}

double MatmulDefinition::a_value(const MatmulData& data, std::int64_t batch, std::int64_t m, std::int64_t k,
                                 bool& inexact) const {
  const MatmulOperand& a = operands_[0].second;
  const double value = a.at(data.at("a"), p_.transpose_a ? a.index(batch, k, m) : a.index(batch, m, k));
  if (!p_.a_scale) return converted(value, p_.type, inexact);
  return scaled(value, operand("a.scale").at(data.at("a.scale"), k), p_.type, inexact);
}

double MatmulDefinition::b_value(const MatmulData& data, std::int64_t batch, std::int64_t k, std::int64_t n,
                                 bool& inexact) const {
  const MatmulOperand& b = operands_[1].second;
  const double value = b.at(data.at("b"), p_.transpose_b ? b.index(batch, n, k) : b.index(batch, k, n));
  if (p_.b_format == WeightFormat::plain) return converted(value, p_.type, inexact);
  const MatmulOperand& scales = operand("b.scale");
  if (p_.b_format == WeightFormat::q8) return scaled(value, scales.at(data.at("b.scale"), n), p_.type, inexact);
  return scaled(value - 8, scales.at(data.at("b.scale"), scales.index(0, n, k / 32)), p_.type, inexact);
}

struct MatmulDefinition::Sums {
  double sum = 0;      // of the terms a * b
  double squares = 0;  // of their squares
  double rough = 0;    // of the squares of those of which a factor was changed by its conversion, once a factor
  bool exact = false;  // every sum of some of the terms is a float, or an f16 where sums are
};

// How far a device may be from the element, from the types, K and the terms themselves. The terms t have random signs
// (fill), so that partial sums behave like a random walk: in whatever order a device adds, few of them pass
// walk = 4 sqrt(sum t^2), and none passes sqrt(K) sqrt(sum t^2).
//   Sums in f32: each of K products and additions is off by a last place, 2^-23, of a partial sum at most, wherever it
//   is
//     rounded to: matrix units truncate, so that errors may all point one way. Hence K, not its root.
//   Sums in f16: those who round to nearest err either way (Higham, Mary: "A new approach to probabilistic rounding
//   error
//     analysis", 2019): sqrt(K), times 2. Matrix units round once in 4 to 32 steps of K.
//   int8: exact.
//   A factor that `type` cannot hold may be either neighbour: a last place of its term, errors as random as the terms.
//   What follows runs in f32: 8 roundings of parts of |alpha scale sum| + |beta C| + |bias|. No activation's slope
//   passes
//     1.13; exp and an erf of 1.5e-7 leave 2^-20 |v|.
//   The result may be either neighbour as well, and f16's subnormals may be flushed to zero.
MatmulElement MatmulDefinition::finish(const MatmulData& data, std::span<const std::byte> d_before, std::int64_t batch,
                                       std::int64_t m, std::int64_t n, const Sums& sums) const {
  const auto read = [&](std::string_view name) {
    const MatmulOperand& o = operand(name);
    return o.at(data.find(name)->second, o.index(batch, m, n));
  };
  const auto read_vector = [&](std::string_view name, PerAxis axis) {
    return operand(name).at(data.find(name)->second, axis == PerAxis::row ? m : n);
  };
  double c = 0;
  if (p_.beta != 0)
    c = p_.c_is_d ? operands_[2].second.at(d_before, operands_[2].second.index(batch, m, n)) : read("c");
  const double bias = p_.bias == PerAxis::none ? 0 : read_vector("bias", p_.bias);
  const double residual = p_.residual ? read("residual") : 0;
  if (p_.out == DType::i32) {
    const double v = activated(p_.activation, wrapped(wrapped(sums.sum) + bias));
    return {wrapped(v + residual), 0};
  }
  const double acc = p_.type == DType::i8 ? wrapped(sums.sum) : sums.sum;
  const double factor = p_.alpha * (p_.scale == PerAxis::none ? 1.0 : read_vector("scale", p_.scale));
  const double v = factor * acc + p_.beta * c + bias;
  const double result = activated(p_.activation, v) + residual;
  if ((sums.exact || p_.type == DType::i8) &&
      exact_epilogue(acc, p_.scale == PerAxis::none ? 1.0 : read_vector("scale", p_.scale), c, bias, residual))
    return exact_element(result);

  const double k = static_cast<double>(p_.k), f32_place = last_place(DType::f32);
  const double walk = std::min(std::sqrt(k), 4.0) * std::sqrt(sums.squares) + std::fabs(acc);
  double of_sum = 0;
  if (p_.type != DType::i8) {
    of_sum = k * f32_place * walk;
    if (p_.acc == DType::f16) of_sum += std::min(k, 2 * std::sqrt(k)) * last_place(DType::f16) / 2 * walk;
    if (sums.rough > 0)
      of_sum += last_place(p_.type) * (std::min(std::sqrt(k), 4.0) * std::sqrt(sums.rough) + std::fabs(acc));
  }
  double tolerance =
      std::fabs(factor) * of_sum + 8 * f32_place * (std::fabs(factor * acc) + std::fabs(p_.beta * c) + std::fabs(bias));
  if (p_.activation != Activation::none && p_.activation != Activation::relu)
    tolerance = 1.13 * tolerance + std::ldexp(std::fabs(v), -20);
  tolerance += 2 * f32_place * (std::fabs(result) + std::fabs(residual));
  tolerance +=
      last_place(p_.out) * (std::fabs(result) + tolerance) + (p_.out == DType::f16 ? std::ldexp(1, -14) : 1e-37);
  return {result, tolerance};
}

// Whether every product and sum of the epilogue is a float, in whatever order, fused or not.
bool MatmulDefinition::exact_epilogue(double acc, double scale, double c, double bias, double residual) const noexcept {
  if (p_.activation != Activation::none && p_.activation != Activation::relu) return false;
  const double alpha = p_.alpha, product = alpha * scale * acc, read = p_.beta * c;
  for (const double part : {acc, alpha * scale, alpha * acc, scale * acc, product, read, product + read, product + bias,
                            read + bias, product + read + bias})
    if (static_cast<float>(part) != part) return false;
  const double v = activated(p_.activation, product + read + bias);
  return static_cast<float>(v + residual) == v + residual;
}

MatmulElement MatmulDefinition::exact_element(double result) const noexcept {
  // Kernels that multiply bf16 may have the device round, and to f16 they all have.
  if (p_.out == DType::f32 || (p_.out == DType::bf16 && p_.type != DType::bf16)) return {result, 0, true};
  const double least = p_.out == DType::f16 ? std::ldexp(1, -14) : 0;  // subnormals may be flushed
  if (rounded(p_.out, result) == result && std::fabs(result) >= least) return {result, 0, false};
  return {result, last_place(p_.out) * std::fabs(result) + least, false};
}

std::vector<MatmulElement> MatmulDefinition::result(const MatmulData& data, std::span<const std::byte> d_before) const {
  std::vector<MatmulElement> out;
  if (empty()) return out;
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  out.reserve(size(p_.batch * p_.m * p_.n));
  // Both factors spelled out once, and whether their conversions changed them.
  std::vector<double> a(size(p_.m * p_.k)), b(size(p_.k * p_.n)), a_rough(a.size()), b_rough(b.size());
  std::vector<Sums> sums(size(p_.n));
  std::vector<double> reach(sums.size());  // the sum of the terms' magnitudes
  bool rough = false;
  for (std::int64_t batch = 0; batch < p_.batch; ++batch) {
    for (std::int64_t m = 0; m < p_.m; ++m)
      for (std::int64_t k = 0; k < p_.k; ++k) {
        bool inexact = false;
        a[size(m * p_.k + k)] = a_value(data, batch, m, k, inexact);
        a_rough[size(m * p_.k + k)] = inexact ? 1 : 0;
        rough = rough || inexact;
      }
    for (std::int64_t k = 0; k < p_.k; ++k)
      for (std::int64_t n = 0; n < p_.n; ++n) {
        bool inexact = false;
        b[size(k * p_.n + n)] = b_value(data, batch, k, n, inexact);
        b_rough[size(k * p_.n + n)] = inexact ? 1 : 0;
        rough = rough || inexact;
      }
    // All terms are multiples of the product of what all factors are multiples of.
    const double unit = unit_of(a) * unit_of(b), most = unit * (p_.acc == DType::f16 ? 0x1p11 : 0x1p24);
    for (std::int64_t m = 0; m < p_.m; ++m) {
      std::fill(sums.begin(), sums.end(), Sums{});
      std::fill(reach.begin(), reach.end(), 0.0);
      for (std::int64_t k = 0; k < p_.k; ++k) {
        const double left = a[size(m * p_.k + k)], left_rough = a_rough[size(m * p_.k + k)];
        const double* const right = b.data() + k * p_.n;
        const double* const right_rough = b_rough.data() + k * p_.n;
        for (std::size_t n = 0; n < sums.size(); ++n) {
          const double term = left * right[n];
          sums[n].sum += term;
          sums[n].squares += term * term;
          reach[n] += std::fabs(term);
          if (rough) sums[n].rough += term * term * (left_rough + right_rough[n]);
        }
      }
      for (std::size_t n = 0; n < sums.size(); ++n) sums[n].exact = !rough && reach[n] <= most;
      for (std::int64_t n = 0; n < p_.n; ++n) out.push_back(finish(data, d_before, batch, m, n, sums[size(n)]));
    }
  }
  return out;
}

MatmulElement MatmulDefinition::element(const MatmulData& data, std::span<const std::byte> d_before, std::int64_t batch,
                                        std::int64_t m, std::int64_t n) const {
  Sums sums;
  for (std::int64_t k = p_.k; k-- > 0;) {
    bool a_rough = false, b_rough = false;
    const double term = a_value(data, batch, m, k, a_rough) * b_value(data, batch, k, n, b_rough);
    sums.sum += term;
    sums.squares += term * term;
    sums.rough += term * term * ((a_rough ? 1 : 0) + (b_rough ? 1 : 0));
  }
  return finish(data, d_before, batch, m, n, sums);
}

}  // namespace sectile::reference
