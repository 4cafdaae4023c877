#include "operation.hpp"

#include "plan/operation.hpp"

#include <cstdlib>
#include <utility>
#include <variant>

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

const CheckOperation& check_operation(const Problem& problem) {
  return std::visit([]<class P>(const P&) -> const CheckOperation& { return check_operation(std::type_identity<P>()); },
                    problem);
}

std::vector<std::string> checked_operations() {
  std::vector<std::string> names;
  detail::each_operation([&](auto operation) { names.emplace_back(operation.kName); });
  return names;
}

CheckCase generate_case(std::string_view operation, std::uint64_t seed, std::uint64_t index, bool words) {
  return detail::with_operation<CheckCase>(
      operation, [&](auto type) { return check_operation(type).generate(seed, index, words); },
      []() -> CheckCase { std::abort(); });  // the command takes no other name
}

std::vector<Problem> all_big_cases() {
  std::vector<Problem> cases;
  detail::each_operation([&]<class P>(detail::Operation<P>) {
    for (Problem& problem : check_operation(std::type_identity<P>()).big_cases()) cases.push_back(std::move(problem));
  });
  return cases;
}

}  // namespace sectile::tools
