// What an operation gives the planner's own files. Each alternative of Problem has a specialization of Operation in its
// folder's operation.hpp, which stands in the list below: without one, nothing that visits problems compiles.
#pragma once

#include "plan/matmul/operation.hpp"
#include "plan/permute/operation.hpp"

#include <cstddef>
#include <type_traits>
#include <variant>

namespace sectile::detail {

// visit(std::type_identity<P>()), P the problem type of the operation of that name; otherwise() where there is none.
template <class R, std::size_t I = 0>
R with_operation(std::string_view name, auto&& visit, auto&& otherwise) {
  if constexpr (I == std::variant_size_v<Problem>) {
    return otherwise();
  } else {
    using P = std::variant_alternative_t<I, Problem>;
    if (name == Operation<P>::kName) return visit(std::type_identity<P>());
    return with_operation<R, I + 1>(name, visit, otherwise);
  }
}

// visit(operation) for each.
void each_operation(auto&& visit) {
  const auto all = [&]<class... P>(std::type_identity<std::variant<P...>>) { (visit(Operation<P>()), ...); };
  all(std::type_identity<Problem>());
}

// visit(operation, problem), where `operation` has the static functions.
decltype(auto) visit_operation(auto&& visit, const Problem& problem) {
  return std::visit([&]<class P>(const P& p) -> decltype(auto) { return visit(Operation<P>(), p); }, problem);
}

// Never allocates.
std::size_t hash_of(const Problem& problem);
// `what` stands in front of the key in errors. Errors: parse.
Result<Problem> read_problem(const nlohmann::json& value, const std::string& what);

}  // namespace sectile::detail
