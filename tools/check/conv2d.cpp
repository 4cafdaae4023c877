// A convolution's part of `sectile check`.
#include "conv2d.hpp"

#include "product.hpp"

#include "reference/conv2d.hpp"
#include "reference/cover_conv2d.hpp"
#include "reference/generate.hpp"

#include <algorithm>

namespace sectile::tools {
namespace {

class CheckConv2ds final : public CheckOperation {
 public:
  std::shared_ptr<CheckedProblem> checked(const Problem& problem) const override {
    return std::make_shared<CheckedProduct<reference::Conv2dDefinition>>(std::get<Conv2dProblem>(problem));
  }
  // First those that together meet every pair of levels, then random ones. One in four with few pipelines, where the
  // epilogue is pushed.
  CheckCase generate(std::uint64_t seed, std::uint64_t index, bool words) const override {
    const auto* c = reference::covering_case(reference::covering_conv2ds, seed, index,
                                             words ? reference::Accesses::words : reference::Accesses::any);
    const bool few = index % 4 == 1;
    if (c == nullptr)
      return {.problem = reference::generate_conv2d(seed, index), .candidate = {}, .few_pipelines = few};
    return {c->problem,          c->candidate, c->without_dot, c->multiprocessors, few && !c->all_pipelines,
            c->max_scratch_bytes};
  }

  std::string lack(const Problem& problem, const DeviceProfile& profile) const override {
    const auto& p = std::get<Conv2dProblem>(problem);
    return lack_of_accesses(p.type, {p.x_type, p.w_type, p.out}, profile);
  }

  // Winograd's algorithm.
  bool mixes_inputs(const Problem& problem, const Plan* plan) const override {
    if (plan == nullptr) return !std::get<Conv2dProblem>(problem).exact;
    return std::ranges::any_of(plan->steps,
                               [](const Step& step) { return step.kernel.stem.starts_with("conv2d_winograd"); });
  }

  std::vector<Problem> big_cases() const override { return big_conv2ds(); }
  std::unique_ptr<BigCase> big(const Problem& problem) const override {
    return big_conv2d(std::get<Conv2dProblem>(problem));
  }
  bool each_stem_alone() const override { return true; }
};

}  // namespace

const CheckOperation& check_operation(std::type_identity<Conv2dProblem>) {
  static const CheckConv2ds operation;
  return operation;
}

}  // namespace sectile::tools
