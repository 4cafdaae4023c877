#include "operation.hpp"

#include "plan/operation.hpp"
#include "reference/generate.hpp"

#include <cstdlib>
#include <type_traits>
#include <variant>

namespace sectile::tools {

namespace {

// What each operation brings; a problem of another does not compile.
std::shared_ptr<CheckedProblem> checked(const PermuteProblem& problem) {
  return has_stage(problem) ? checked_elementwise(problem) : checked_permute(problem);
}
std::shared_ptr<CheckedProblem> checked(const MatmulProblem& problem) { return checked_matmul(problem); }

// One permute in four computes with its elements.
Problem generate(std::type_identity<PermuteProblem>, std::uint64_t seed, std::uint64_t index) {
  return index % 4 == 3 ? reference::generate_elementwise(seed, index) : reference::generate_permute(seed, index);
}
Problem generate(std::type_identity<MatmulProblem>, std::uint64_t seed, std::uint64_t index) {
  return reference::generate_matmul(seed, index);
}

std::uint64_t kind_of(const PermuteProblem&, std::uint64_t index) { return index; }
std::uint64_t kind_of(const MatmulProblem&, std::uint64_t index) { return reference::matmul_kind(index); }

}  // namespace

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
  return std::visit([](const auto& p) { return checked(p); }, problem);
}

std::vector<std::string> checked_operations() {
  std::vector<std::string> names;
  detail::each_operation([&](auto operation) { names.emplace_back(operation.kName); });
  return names;
}

Problem generate_problem(std::string_view operation, std::uint64_t seed, std::uint64_t index) {
  return detail::with_operation<Problem>(
      operation, [&](auto type) { return generate(type, seed, index); },
      []() -> Problem { std::abort(); });   // the command takes no other name
}

std::uint64_t problem_kind(const Problem& problem, std::uint64_t index) noexcept {
  return std::visit([&](const auto& p) { return kind_of(p, index); }, problem);
}

}  // namespace sectile::tools
