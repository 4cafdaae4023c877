// What the checks of sums of products have in common (matmul, convolution): every element against double precision,
// every byte between elements. Private to them.
#pragma once

#include "operation.hpp"

#include "reference/numbers.hpp"
#include "reference/products.hpp"
#include "reference/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

namespace sectile::tools {

// SwiftShader's 16-bit accesses are not to be used; int8 alone needs 8-bit ones. Empty: the device has what it takes.
inline std::string lack_of_accesses(DType type, std::initializer_list<DType> stored, const DeviceProfile& profile) {
  const bool halves = profile.storage16.value_or(false), bytes = halves && profile.storage8.value_or(false);
  const bool narrow = std::ranges::any_of(stored, [](DType one) { return size_bytes(one) < 4; });
  if (bytes || (halves && type != DType::i8) || !narrow) return {};
  return "the device has no accesses of 1 and 2 bytes, which some element of the problem needs";
}

// Definition: MatmulDefinition, Conv2dDefinition.
template <class Definition>
class CheckedProduct final : public CheckedProblem {
 public:
  template <class P>
  explicit CheckedProduct(const P& problem) : CheckedProblem(problem), definition_(problem) {}

  bool empty() const override { return definition_.empty(); }

  void fill(std::string_view operand, std::span<std::byte> bytes, std::uint64_t seed) const override {
    if (!definition_.has(operand)) return;
    definition_.poison(operand, bytes);
    definition_.fill(operand, bytes, seed);
  }

  std::string compare(const OperandData& before, std::uint64_t seed, std::span<const std::byte> got) override {
    const auto held = before.find(Definition::kDestination)->second;
    if (!known_ || known_ != seed) {
      want_ = definition_.result(before, held);
      known_ = seed;
    }
    if (const auto wrong = reference::compare(definition_.places(), want_, held, got)) return wrong->message;
    return check_samples(before, held, seed);
  }

  std::string compare_devices(std::span<const std::byte> one, std::span<const std::byte> other) const override {
    const auto wrong = reference::compare_devices(definition_.places(), want_, one, other);
    return wrong ? wrong->message : std::string();
  }

  bool data_by_place() const override { return false; }  // by indices

  std::vector<std::uint64_t> data_sets(std::uint64_t seed, bool every, bool ends) const override {
    using reference::DataKind;
    if (every && ends)
      return {reference::seed_with(seed, DataKind::coarse), reference::seed_with(seed, DataKind::fine),
              reference::seed_with(seed, DataKind::ends)};
    if (every) return {reference::seed_with(seed, DataKind::coarse), reference::seed_with(seed, DataKind::fine)};
    std::vector<std::uint64_t> seeds = {reference::seed_without(seed, DataKind::ends)};
    if (ends) seeds.push_back(reference::seed_with(seed, DataKind::ends));
    return seeds;
  }

  // A float whose bits are all turned over is another by more than any tolerance, and so is an integer.
  void spoil(std::span<std::byte> destination) const override {
    for (std::byte& byte : destination.first(reference::element_bytes(definition_.problem().out))) byte = ~byte;
  }

 private:
  // The reference spells both factors out before it multiplies; this follows the words for a few elements.
  std::string check_samples(const OperandData& before, std::span<const std::byte> held, std::uint64_t seed) const {
    reference::Random random(seed);
    for (int i = 0; i < 8; ++i) {
      const auto at = static_cast<std::size_t>(random.below(want_.size()));
      const reference::ProductElement element = definition_.element(before, held, at);
      if (!reference::agree(element, want_[at]))
        return fmt::format("the reference disagrees with itself at element {}: {} and {}", at, want_[at].value,
                           element.value);
    }
    return {};
  }

  std::string check_sizes(const std::vector<OperandSpec>& operands) const override {
    const auto& want = definition_.operands();
    const bool same =
        std::equal(operands.begin(), operands.end(), want.begin(), want.end(), [](const auto& a, const auto& b) {
          return a.name == b.first && a.bytes == b.second.bytes() && a.align == b.second.align &&
                 a.written == (a.name == Definition::kDestination);
        });
    return same ? "" : "operands_of differs from the reference's";
  }

  Definition definition_;
  std::vector<reference::ProductElement> want_;
  std::optional<std::uint64_t> known_;  // the data that `want_` is of
};

}  // namespace sectile::tools
