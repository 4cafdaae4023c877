// The planner's interface to permutes.
#pragma once

#include "plan/operation_of.hpp"

namespace sectile::detail {

template <>
struct Operation<PermuteProblem> {
  static constexpr std::string_view kName = "permute";
  static Result<Problem> parse(Split words);
  static std::string print(const PermuteProblem& problem);
  static void write(JsonWriter& w, const PermuteProblem& problem);
  static Result<Problem> read(const nlohmann::json& value, const std::string& what);
  static std::size_t hash(const PermuteProblem& problem);
  static Result<std::vector<OperandSpec>> operands(const PermuteProblem& problem);
  static Result<void> validate(const PermuteProblem& problem);
  static std::span<const NamedConstant> named_constants(std::string_view stem);
  static Result<void> plan(Job& job, const PermuteProblem& problem);
  static std::string unit_refusal(const PermuteProblem&, const Plan&, const DeviceProfile&) { return {}; }
};

}  // namespace sectile::detail
