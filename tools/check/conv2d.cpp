// A convolution's part of `sectile check`. As long as there is no reference, its cases are results without elements: no
// operand may be accessed.
#include "operation.hpp"

#include "reference/random.hpp"

#include <algorithm>

namespace sectile::tools {
namespace {

class CheckedConv2d final : public CheckedProblem {
 public:
  explicit CheckedConv2d(const Conv2dProblem& problem) : CheckedProblem(problem) {}

  bool empty() const override {
    const auto& p = std::get<Conv2dProblem>(problem());
    return p.n == 0 || p.k == 0;
  }
  void fill(std::string_view, std::span<std::byte>, std::uint64_t) const override {}  // there are no bytes
  std::string compare(const OperandData& before, std::uint64_t, std::span<const std::byte> got) override {
    if (!empty()) return "convolutions have no reference yet";
    return std::ranges::equal(before.at("y"), got) ? "" : "a result without elements was written";
  }
  std::string compare_devices(std::span<const std::byte> one, std::span<const std::byte> other) const override {
    return std::ranges::equal(one, other) ? "" : "results differ";
  }
  void spoil(std::span<std::byte> destination) const override {
    for (std::byte& byte : destination) byte = ~byte;
  }

 private:
  std::string check_sizes(const std::vector<OperandSpec>& operands) const override {
    if (!empty()) return {};
    return std::ranges::all_of(operands, [](const OperandSpec& one) { return one.bytes == 0; })
               ? ""
               : "operands_of gives bytes to a result without elements";
  }
};

class CheckConv2ds final : public CheckOperation {
 public:
  std::shared_ptr<CheckedProblem> checked(const Problem& problem) const override {
    return std::make_shared<CheckedConv2d>(std::get<Conv2dProblem>(problem));
  }
  CheckCase generate(std::uint64_t seed, std::uint64_t index, bool) const override {
    reference::Random random(seed + index);
    Conv2dProblem p;
    p.c = random.between(0, 70);
    p.h = random.between(1, 40);
    p.w = random.between(1, 40);
    (random.one_in(2) ? p.n : p.k) = random.between(0, 1) * random.between(1, 9);
    if (p.n != 0) p.k = 0;
    p.r = random.between(1, 7);
    p.s = random.between(1, 7);
    p.x_layout = static_cast<ImageLayout>(random.below(4));
    p.y_layout = static_cast<ImageLayout>(random.below(4));
    p.bias = random.one_in(2);
    return {.problem = p, .candidate = {}};
  }
};

}  // namespace

const CheckOperation& check_operation(std::type_identity<Conv2dProblem>) {
  static const CheckConv2ds operation;
  return operation;
}

}  // namespace sectile::tools
