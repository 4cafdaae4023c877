// The part of `sectile check` of a permute with an elementwise stage: every element against double precision, every
// byte between elements.
#include "permute.hpp"

#include "reference/elementwise.hpp"
#include "reference/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace sectile::tools {
namespace {

class CheckedElementwise final : public CheckedProblem {
 public:
  explicit CheckedElementwise(const PermuteProblem& problem) : CheckedProblem(problem), definition_(problem) {}

  bool empty() const override { return definition_.empty(); }

  void fill(std::string_view operand, std::span<std::byte> bytes, std::uint64_t seed) const override {
    definition_.poison(operand, bytes);
    definition_.fill(operand, bytes, seed);
  }

  std::string compare(const OperandData& before, std::uint64_t seed, std::span<const std::byte> got) override {
    if (!known_ || known_ != seed) {
      want_ = definition_.result(before);
      known_ = seed;
    }
    return reference::compare(definition_, want_, before.at("dst"), got);
  }

  std::string compare_devices(std::span<const std::byte> one, std::span<const std::byte> other) const override {
    const std::size_t size = reference::element_bytes(definition_.out());
    for (const auto& e : want_) {
      const auto at = static_cast<std::size_t>(e.at) * size;
      const double a = reference::decode(definition_.out(), one.data() + at),
                   b = reference::decode(definition_.out(), other.data() + at);
      // Both were right alone; at an end of the range one may be infinite.
      if (e.open || a == b || (std::isnan(a) && std::isnan(b)) || std::isinf(e.high - e.low)) continue;
      if (std::fabs(a - b) <= e.high - e.low) continue;
      return fmt::format("destination element {}: {:.9g} and {:.9g}, want both from {:.9g} to {:.9g}", e.at, a, b,
                         e.low, e.high);
    }
    return {};
  }

  // Bits of an element that are all turned over are another number by more than any tolerance.
  void spoil(std::span<std::byte> destination) const override {
    for (std::byte& byte : destination.first(reference::element_bytes(definition_.out()))) byte = ~byte;
  }

 private:
  std::string check_sizes(const std::vector<OperandSpec>& operands) const override {
    const auto shape = dst_shape(definition_.problem());
    if (!shape || *shape != definition_.permute().dst_shape()) return "dst_shape differs from the reference's";
    const auto want = definition_.operands();
    const bool same =
        std::equal(operands.begin(), operands.end(), want.begin(), want.end(), [](const auto& a, const auto& b) {
          return a.name == b.first && a.bytes == b.second && a.written == (a.name == "dst");
        });
    return same ? "" : "operands_of differs from the reference's";
  }

  reference::ElementwiseDefinition definition_;
  std::vector<reference::ElementwiseElement> want_;
  std::optional<std::uint64_t> known_;  // the data that `want_` is of
};

}  // namespace

std::shared_ptr<CheckedProblem> checked_elementwise(const PermuteProblem& problem) {
  return std::make_shared<CheckedElementwise>(problem);
}

}  // namespace sectile::tools
