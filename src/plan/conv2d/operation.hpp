// The planner's interface to convolutions.
#pragma once

#include "plan/operation_of.hpp"

namespace sectile::detail {

template <>
struct Operation<Conv2dProblem> {
  static constexpr std::string_view kName = "conv2d";
  static Result<Problem> parse(Split words);
  static std::string print(const Conv2dProblem& problem);
  static void write(JsonWriter& w, const Conv2dProblem& problem);
  static Result<Problem> read(const nlohmann::json& value, const std::string& what);
  static std::size_t hash(const Conv2dProblem& problem);
  static Result<std::vector<OperandSpec>> operands(const Conv2dProblem& problem);
  static Result<void> validate(const Conv2dProblem& problem);
  static std::span<const NamedConstant> named_constants(std::string_view stem);
  static Result<void> plan(Job& job, const Conv2dProblem& problem);
  static std::string unit_refusal(const Conv2dProblem& problem, const Plan& plan, const DeviceProfile& profile);
};

}  // namespace sectile::detail
