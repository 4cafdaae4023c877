#include "operation.hpp"

#include "reference/generate.hpp"

namespace sectile::tools {

std::string CheckedProblem::check_words() const {
  const auto again = parse_problem(print(problem_));
  if (!again) return "its own string is refused: " + again.error().message();
  if (*again != problem_) return "its own string is read as another problem";
  const auto json = problem_from_json(to_json(problem_));
  if (!json || *json != problem_) return "its JSON is read as another problem";
  if (const auto valid = validate(problem_); !valid) return "refused: " + valid.error().message();
  const auto operands = operands_of(problem_);
  if (!operands) return "operands_of: " + operands.error().message();
  return check_sizes(*operands);
}

std::shared_ptr<CheckedProblem> CheckedProblem::make(const Problem& problem) {
  if (const auto* matmul = std::get_if<MatmulProblem>(&problem)) return checked_matmul(*matmul);
  const auto& permute = std::get<PermuteProblem>(problem);
  return has_stage(permute) ? checked_elementwise(permute) : checked_permute(permute);
}

std::vector<std::string> checked_operations() { return {"permute", "matmul"}; }

std::string_view operation_of(const Problem& problem) noexcept {
  return std::holds_alternative<MatmulProblem>(problem) ? "matmul" : "permute";
}

Problem generate_problem(std::string_view operation, std::uint64_t seed, std::uint64_t index) {
  if (operation == "matmul") return reference::generate_matmul(seed, index);
  // One permute in four computes with its elements.
  return index % 4 == 3 ? reference::generate_elementwise(seed, index) : reference::generate_permute(seed, index);
}

std::uint64_t problem_kind(const Problem& problem, std::uint64_t index) noexcept {
  return std::holds_alternative<MatmulProblem>(problem) ? reference::matmul_kind(index) : index;
}

}  // namespace sectile::tools
