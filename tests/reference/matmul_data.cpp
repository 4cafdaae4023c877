// What a matmul's operands are filled with, and where its results lie.
#include "matmul.hpp"

#include "numbers.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sectile::reference {
namespace {

ProductPart matmul_part(std::string_view operand) noexcept {
  if (operand == "a") return ProductPart::left;
  if (operand == "b") return ProductPart::right;
  if (operand == "b.scale") return ProductPart::weight_scale;
  if (operand == "a.scale") return ProductPart::left_scale;
  if (operand == "scale") return ProductPart::factor;
  return operand == "d" ? ProductPart::held : ProductPart::addend;
}

}  // namespace

void MatmulDefinition::fill(std::string_view name, std::span<std::byte> bytes, std::uint64_t seed) const {
  const MatmulOperand& o = operand(name);
  const bool writes_only = name == "d" && !(p_.c_is_d && p_.beta != 0);
  if (writes_only && o.type == DType::i32) return;  // any bits are poison
  const ProductDataSet set(seed);
  const std::uint64_t own = stream_of(seed, name);
  if (o.nibbles) {  // any bits are numbers, those between rows too
    for (std::size_t i = 0; i < o.bytes(); ++i) bytes[i] = static_cast<std::byte>(data_word(own, i) & 255);
    return;
  }
  const ProductPart part = matmul_part(name);
  // The axis of K, whose last elements are the likeliest to be dropped.
  const bool by_rows = part == ProductPart::left ? p_.transpose_a : part == ProductPart::right && !p_.transpose_b;
  for (std::int64_t batch = 0; batch < o.batches; ++batch)
    for (std::int64_t row = 0; row < o.rows; ++row)
      for (std::int64_t column = 0; column < o.columns; ++column) {
        const std::int64_t index = o.index(batch, row, column);
        std::byte* const at = bytes.data() + static_cast<std::size_t>(index) * element_bytes(o.type);
        const std::uint64_t word = data_word(own, static_cast<std::uint64_t>(index));
        if (writes_only)
          put_poison(o.type, word, at);  // times a beta of zero a NaN is still one
        else
          encode(o.type, product_.number(part, word, set, (by_rows ? row : column) == p_.k - 1 ? 3 : 0), at);
      }
}

void MatmulDefinition::poison(std::string_view name, std::span<std::byte> bytes) const {
  if (!operand(name).nibbles) make_nans(operand(name).type, bytes);
}

ProductPlaces MatmulDefinition::places() const {
  const auto batch = [this](std::size_t i) { return static_cast<std::int64_t>(i) / (p_.m * p_.n); };
  const auto row = [this](std::size_t i) { return static_cast<std::int64_t>(i) / p_.n % p_.m; };
  const auto column = [this](std::size_t i) { return static_cast<std::int64_t>(i) % p_.n; };
  const MatmulOperand& d = operands_[2].second;
  return {d.type,
          [=, &d](std::size_t i) { return d.index(batch(i), row(i), column(i)); },
          [=, this](std::size_t i) {
            return fmt::format("d[{}{},{}]", p_.batch > 1 ? fmt::format("{},", batch(i)) : "", row(i), column(i));
          },
          {}};
}

std::optional<MatmulMismatch> compare(const MatmulDefinition& definition, std::span<const MatmulElement> want,
                                      std::span<const std::byte> before, std::span<const std::byte> got) {
  return compare(definition.places(), want, before, got);
}

std::optional<MatmulMismatch> compare_devices(const MatmulDefinition& definition, std::span<const MatmulElement> want,
                                              std::span<const std::byte> one, std::span<const std::byte> other) {
  return compare_devices(definition.places(), want, one, other);
}

}  // namespace sectile::reference
