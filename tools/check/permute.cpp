// A permute's part of `sectile check`: bytes, every one of them.
#include "permute.hpp"

#include "reference/cover_permute.hpp"
#include "reference/permute.hpp"
#include "reference/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace sectile::tools {
namespace {

class CheckedPermute final : public CheckedProblem {
 public:
  explicit CheckedPermute(const PermuteProblem& problem) : CheckedProblem(problem), definition_(problem) {}

  bool empty() const override { return definition_.empty(); }
  void fill(std::string_view, std::span<std::byte>, std::uint64_t) const override {}  // any bits will do

  std::string compare(const OperandData& before, std::uint64_t seed, std::span<const std::byte> got) override {
    const auto src = before.at("src"), poison = before.at("dst");
    want_.assign(poison.begin(), poison.end());
    reference::permute(definition_, src, want_);
    if (const auto wrong = reference::compare(definition_, want_, got)) {
      const std::size_t size = definition_.element_bytes();
      const auto at = static_cast<std::size_t>(wrong->dst_byte) / size * size;
      const bool untouched = std::memcmp(poison.data() + at, got.data() + at, size) == 0;
      return wrong->message() + (untouched ? ", the poison: never written" : "");
    }
    const auto sample = reference::check_samples(definition_, {src, 0}, got, seed, 64);
    return sample ? "by the definition: " + sample->message() : std::string();
  }

  std::string compare_devices(std::span<const std::byte> one, std::span<const std::byte> other) const override {
    const auto differ = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
    if (differ.first == one.end() && differ.second == other.end()) return {};
    return fmt::format("differ at byte {}", differ.first - one.begin());
  }

  void spoil(std::span<std::byte> destination) const override { destination[0] ^= std::byte{1}; }

 private:
  std::string check_sizes(const std::vector<OperandSpec>& operands) const override {
    const auto& permute = std::get<PermuteProblem>(problem());
    const auto shape = dst_shape(permute);
    if (!shape || *shape != definition_.dst_shape()) return "dst_shape differs from the reference's";
    const std::array<std::uint64_t, 2> want = {definition_.src_bytes(), definition_.dst_bytes()};
    const auto bytes = operand_bytes(permute);
    if (!bytes || bytes->src != want[0] || bytes->dst != want[1]) return "operand_bytes differ from the reference's";
    if (operands.size() != 2 || operands[0].bytes != want[0] || operands[1].bytes != want[1])
      return "operands_of differs from the reference's";
    return {};
  }

  reference::PermuteDefinition definition_;
  std::vector<std::byte> want_;
};

class CheckPermutes final : public CheckOperation {
 public:
  std::shared_ptr<CheckedProblem> checked(const Problem& problem) const override {
    const auto& permute = std::get<PermuteProblem>(problem);
    return has_stage(permute) ? checked_elementwise(permute) : std::make_shared<CheckedPermute>(permute);
  }
  CheckCase generate(std::uint64_t seed, std::uint64_t index, bool) const override {
    auto c = reference::covering_permute(seed, index);
    return {.problem = std::move(c.problem),
            .candidate = std::move(c.candidate),
            .without_workgroup8 = reference::mix(seed ^ index) % 2 != 0};
  }
  std::vector<Problem> big_cases() const override { return big_permutes(); }
  std::unique_ptr<BigCase> big(const Problem& problem) const override {
    return big_permute(std::get<PermuteProblem>(problem));
  }
};

}  // namespace

const CheckOperation& check_operation(std::type_identity<PermuteProblem>) {
  static const CheckPermutes operation;
  return operation;
}

}  // namespace sectile::tools
