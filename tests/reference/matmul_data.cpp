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
  if (operand == "scale" || operand == "a.scale") return ProductPart::factor;
  return operand == "d" ? ProductPart::held : ProductPart::addend;
}

}  // namespace

void MatmulDefinition::fill(std::string_view name, std::span<std::byte> bytes, std::uint64_t seed) const {
  const MatmulOperand& o = operand(name);
  const bool writes_only = name == "d" && !(p_.c_is_d && p_.beta != 0);
  if (writes_only && o.type == DType::i32) return;  // any bits are poison
  const bool coarse = is_coarse(seed);
  const std::uint64_t own = stream_of(seed, name);
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
        encode(o.type, writes_only ? std::nan("") : product_.number(matmul_part(name), word, coarse), at);
      }
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
