// A matmul's part of `sectile check`: every element against double precision, every byte between elements.
#include "matmul.hpp"

#include "reference/cover_matmul.hpp"
#include "reference/generate.hpp"
#include "reference/matmul.hpp"
#include "reference/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace sectile::tools {
namespace {

class CheckedMatmul final : public CheckedProblem {
 public:
  explicit CheckedMatmul(const MatmulProblem& problem) : CheckedProblem(problem), definition_(problem) {}

  bool empty() const override { return definition_.empty(); }

  void fill(std::string_view operand, std::span<std::byte> bytes, std::uint64_t seed) const override {
    if (definition_.has(operand)) definition_.fill(operand, bytes, seed);
  }

  std::string compare(const OperandData& before, std::uint64_t seed, std::span<const std::byte> got) override {
    if (!known_ || known_ != seed) {
      want_ = definition_.result(before, before.at("d"));
      known_ = seed;
    }
    if (const auto wrong = reference::compare(definition_, want_, before.at("d"), got)) return wrong->message;
    return check_samples(before, seed);
  }

  std::string compare_devices(std::span<const std::byte> one, std::span<const std::byte> other) const override {
    const auto wrong = reference::compare_devices(definition_, want_, one, other);
    return wrong ? wrong->message : std::string();
  }

  bool data_by_place() const override { return false; }  // by indices

  // A float whose bits are all turned over is another by more than any tolerance, and so is an integer.
  void spoil(std::span<std::byte> destination) const override {
    for (std::byte& byte : destination.first(reference::element_bytes(definition_.problem().out))) byte = ~byte;
  }

 private:
  // The reference spells both factors out before it multiplies; this follows the words for a few elements.
  std::string check_samples(const OperandData& before, std::uint64_t seed) const {
    const MatmulProblem& p = definition_.problem();
    reference::Random random(seed);
    for (int i = 0; i < 8; ++i) {
      const std::uint64_t at = random.below(want_.size());
      const auto mn = static_cast<std::uint64_t>(p.m * p.n), n = static_cast<std::uint64_t>(p.n);
      const double value = definition_
                               .element(before, before.at("d"), static_cast<std::int64_t>(at / mn),
                                        static_cast<std::int64_t>(at % mn / n), static_cast<std::int64_t>(at % n))
                               .value;
      const double ours = want_[static_cast<std::size_t>(at)].value;
      if (!(std::fabs(value - ours) <= 1e-9 * (1 + std::fabs(ours))))
        return fmt::format("the reference disagrees with itself at element {}: {} and {}", at, ours, value);
    }
    return {};
  }

  std::string check_sizes(const std::vector<OperandSpec>& operands) const override {
    const auto& want = definition_.operands();
    const bool same =
        std::equal(operands.begin(), operands.end(), want.begin(), want.end(), [](const auto& a, const auto& b) {
          return a.name == b.first && a.bytes == b.second.bytes() && a.align == b.second.align &&
                 a.written == (a.name == "d");
        });
    return same ? "" : "operands_of differs from the reference's";
  }

  reference::MatmulDefinition definition_;
  std::vector<reference::MatmulElement> want_;
  std::optional<std::uint64_t> known_;  // the data that `want_` is of
};

class CheckMatmuls final : public CheckOperation {
 public:
  std::shared_ptr<CheckedProblem> checked(const Problem& problem) const override {
    return std::make_shared<CheckedMatmul>(std::get<MatmulProblem>(problem));
  }
  // First those that together meet every pair of levels, then random ones.
  CheckCase generate(std::uint64_t seed, std::uint64_t index, bool words) const override {
    const auto& covering =
        reference::covering_matmuls(seed, words ? reference::Accesses::words : reference::Accesses::any);
    if (index >= covering.size()) return {.problem = reference::generate_matmul(seed, index), .candidate = {}};
    const auto& c = covering[static_cast<std::size_t>(index)];
    return {c.problem, c.candidate, c.without_dot, c.multiprocessors};
  }

  // SwiftShader's 16-bit accesses are not to be used; int8 alone needs 8-bit ones.
  std::string lack(const Problem& problem, const DeviceProfile& profile) const override {
    const auto& p = std::get<MatmulProblem>(problem);
    const bool halves = profile.storage16.value_or(false), bytes = halves && profile.storage8.value_or(false);
    const bool narrow =
        std::ranges::any_of(std::array{p.a_type, p.b_type, p.out}, [](DType type) { return size_bytes(type) < 4; });
    if (bytes || (halves && p.type != DType::i8) || !narrow) return {};
    return "the device has no accesses of 1 and 2 bytes, which some element of the problem needs";
  }

  std::vector<Problem> big_cases() const override { return big_matmuls(); }
  std::unique_ptr<BigCase> big(const Problem& problem) const override {
    return big_matmul(std::get<MatmulProblem>(problem));
  }
  bool each_stem_alone() const override { return true; }
};

}  // namespace

const CheckOperation& check_operation(std::type_identity<MatmulProblem>) {
  static const CheckMatmuls operation;
  return operation;
}

}  // namespace sectile::tools
