// A matmul's part of `sectile check`.
#include "matmul.hpp"

#include "product.hpp"

#include "reference/cover_matmul.hpp"
#include "reference/generate.hpp"
#include "reference/matmul.hpp"

namespace sectile::tools {
namespace {

class CheckMatmuls final : public CheckOperation {
 public:
  std::shared_ptr<CheckedProblem> checked(const Problem& problem) const override {
    return std::make_shared<CheckedProduct<reference::MatmulDefinition>>(std::get<MatmulProblem>(problem));
  }
  // First those that together meet every pair of levels, then random ones.
  CheckCase generate(std::uint64_t seed, std::uint64_t index, bool words) const override {
    const auto* c = reference::covering_case(reference::covering_matmuls, seed, index,
                                             words ? reference::Accesses::words : reference::Accesses::any);
    if (c == nullptr) return {.problem = reference::generate_matmul(seed, index), .candidate = {}};
    return {c->problem, c->candidate, c->without_dot, c->multiprocessors};
  }

  std::string lack(const Problem& problem, const DeviceProfile& profile) const override {
    const auto& p = std::get<MatmulProblem>(problem);
    return lack_of_accesses(p.type, {p.a_type, p.b_type, p.out}, profile);
  }

  // Scales of 4-bit weights lie N * K / 32 elements long, beyond 32-bit offsets from one address.
  bool far_addresses(const Problem& problem) const override {
    return std::get<MatmulProblem>(problem).b_format == WeightFormat::q4;
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
