#include "matmul.hpp"

#include "numbers.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace sectile::reference {

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

std::vector<std::pair<std::int64_t, std::int64_t>> MatmulOperand::runs() const {
  if (empty()) return {};
  if (row_step == columns && (batches == 1 || batch_step == rows * columns)) return {{0, batches * rows * columns}};
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  for (std::int64_t batch = 0; batch < batches; ++batch)
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t first = index(batch, row, 0);
      runs.emplace_back(first, first + columns);
    }
  return runs;
}

MatmulDefinition::MatmulDefinition(const MatmulProblem& problem)
    : p_(problem), product_{problem.type,  problem.acc,  problem.out,        problem.k,
                            problem.alpha, problem.beta, Activated(problem), problem.b_format} {
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

ProductFactor MatmulDefinition::a_value(const MatmulData& data, std::int64_t batch, std::int64_t m,
                                        std::int64_t k) const {
  const MatmulOperand& a = operands_[0].second;
  const double value = a.at(data.at("a"), p_.transpose_a ? a.index(batch, k, m) : a.index(batch, m, k));
  if (!p_.a_scale) return product_.converted(value);
  return product_.scaled(value, operand("a.scale").at(data.at("a.scale"), k));
}

ProductFactor MatmulDefinition::b_value(const MatmulData& data, std::int64_t batch, std::int64_t k,
                                        std::int64_t n) const {
  const MatmulOperand& b = operands_[1].second;
  const double value = b.at(data.at("b"), p_.transpose_b ? b.index(batch, n, k) : b.index(batch, k, n));
  if (p_.b_format == WeightFormat::plain) return product_.converted(value);
  const MatmulOperand& scales = operand("b.scale");
  if (p_.b_format == WeightFormat::q8) return product_.scaled(value, scales.at(data.at("b.scale"), n));
  return product_.scaled(value - 8, scales.at(data.at("b.scale"), scales.index(0, n, k / 32)));
}

MatmulElement MatmulDefinition::finish(const MatmulData& data, std::span<const std::byte> d_before, std::int64_t batch,
                                       std::int64_t m, std::int64_t n, const ProductSums& sums) const {
  const auto read = [&](std::string_view name) {
    const MatmulOperand& o = operand(name);
    return o.at(data.find(name)->second, o.index(batch, m, n));
  };
  const auto read_vector = [&](std::string_view name, PerAxis axis) {
    return operand(name).at(data.find(name)->second, axis == PerAxis::row ? m : n);
  };
  EpilogueNumbers numbers;
  if (p_.beta != 0)
    numbers.c = p_.c_is_d ? operands_[2].second.at(d_before, operands_[2].second.index(batch, m, n)) : read("c");
  if (p_.bias != PerAxis::none) numbers.bias = read_vector("bias", p_.bias);
  if (p_.residual) numbers.residual = read("residual");
  if (p_.scale != PerAxis::none) numbers.scale = read_vector("scale", p_.scale);
  return product_.finish(sums, numbers);
}

// A batch's factors spelled out once.
struct MatmulDefinition::Factors {
  std::vector<ProductFactor> all;
  std::vector<double> values, rough;  // rough: the squares of what conversions left open
  bool any_rough = false, wild = false;
  double unit = 0;  // of the values

  void add(const ProductFactor& factor, DType acc) {
    all.push_back(factor);
    values.push_back(factor.value);
    rough.push_back(factor.rough * factor.rough);
    any_rough = any_rough || factor.rough > 0;
    wild = wild || factor.wild(acc);
  }
};

// A row's sums of ordinary factors.
void MatmulDefinition::add_row(const Factors& a, const Factors& b, std::int64_t m,
                               std::vector<ProductSums>& sums) const {
  const auto place = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const bool rough = a.any_rough || b.any_rough;
  std::vector<double> reach(sums.size());  // the sum of the terms' magnitudes
  std::fill(sums.begin(), sums.end(), ProductSums{});
  for (std::int64_t k = 0; k < p_.k; ++k) {
    const double left = a.values[place(m * p_.k + k)], left_rough = a.rough[place(m * p_.k + k)];
    const double* const right = b.values.data() + k * p_.n;
    const double* const right_rough = b.rough.data() + k * p_.n;
    for (std::size_t n = 0; n < sums.size(); ++n) {
      const double term = left * right[n];
      sums[n].sum += term;
      sums[n].squares += term * term;
      reach[n] += std::fabs(term);
      if (rough) sums[n].rough += left_rough * right[n] * right[n] + left * left * right_rough[n];
    }
  }
  // All terms are multiples of the product of what all factors are multiples of.
  const double unit = a.unit * b.unit;
  for (std::size_t n = 0; n < sums.size(); ++n) sums[n].exact = !rough && product_.exact_sums(unit, reach[n]);
}

std::vector<MatmulElement> MatmulDefinition::result(const MatmulData& data, std::span<const std::byte> d_before) const {
  std::vector<MatmulElement> out;
  if (empty()) return out;
  out.reserve(size());
  std::vector<ProductSums> sums(static_cast<std::size_t>(p_.n));
  for (std::int64_t batch = 0; batch < p_.batch; ++batch) {
    Factors a, b;
    for (std::int64_t m = 0; m < p_.m; ++m)
      for (std::int64_t k = 0; k < p_.k; ++k) a.add(a_value(data, batch, m, k), p_.acc);
    for (std::int64_t k = 0; k < p_.k; ++k)
      for (std::int64_t n = 0; n < p_.n; ++n) b.add(b_value(data, batch, k, n), p_.acc);
    a.unit = unit_of(a.values);
    b.unit = unit_of(b.values);
    for (std::int64_t m = 0; m < p_.m; ++m) {
      if (a.wild || b.wild)
        for (std::int64_t n = 0; n < p_.n; ++n) {
          ProductTerms terms(p_.acc);
          for (std::int64_t k = 0; k < p_.k; ++k)
            terms.add(a.all[static_cast<std::size_t>(m * p_.k + k)], b.all[static_cast<std::size_t>(k * p_.n + n)]);
          sums[static_cast<std::size_t>(n)] = terms.sums();
        }
      else
        add_row(a, b, m, sums);
      for (std::int64_t n = 0; n < p_.n; ++n)
        out.push_back(finish(data, d_before, batch, m, n, sums[static_cast<std::size_t>(n)]));
    }
  }
  return out;
}

MatmulElement MatmulDefinition::element(const MatmulData& data, std::span<const std::byte> d_before, std::int64_t batch,
                                        std::int64_t m, std::int64_t n) const {
  ProductTerms terms(p_.acc);
  for (std::int64_t k = p_.k; k-- > 0;) terms.add(a_value(data, batch, m, k), b_value(data, batch, k, n));
  return finish(data, d_before, batch, m, n, terms.sums());
}

MatmulElement MatmulDefinition::element(const MatmulData& data, std::span<const std::byte> d_before,
                                        std::size_t i) const {
  const auto at = static_cast<std::int64_t>(i);
  return element(data, d_before, at / (p_.m * p_.n), at / p_.n % p_.m, at % p_.n);
}

std::vector<std::size_t> MatmulDefinition::corners() const {
  const std::int64_t shape[] = {p_.batch, p_.m, p_.n};
  return corners_of(shape);
}

}  // namespace sectile::reference
