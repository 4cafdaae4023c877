// The planner's interface to matmuls.
#pragma once

#include "plan/operation_of.hpp"

namespace sectile::detail {

template <>
struct Operation<MatmulProblem> {
  static constexpr std::string_view kName = "matmul";
  static Result<Problem> parse(Split words);
  static std::string print(const MatmulProblem& problem);
  static void write(JsonWriter& w, const MatmulProblem& problem);
  static Result<Problem> read(const nlohmann::json& value, const std::string& what);
  static std::size_t hash(const MatmulProblem& problem);
  static Result<std::vector<OperandSpec>> operands(const MatmulProblem& problem);
  static Result<void> validate(const MatmulProblem& problem);
  static std::span<const NamedConstant> named_constants(std::string_view stem);
  static Result<void> plan(Job& job, const MatmulProblem& problem);
  static std::string unit_refusal(const MatmulProblem& problem, const Plan& plan, const DeviceProfile& profile);
};

}  // namespace sectile::detail
