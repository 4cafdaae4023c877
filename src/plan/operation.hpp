// Dispatch by operation. Each alternative of Problem has a specialization of Operation in its folder's operation.hpp,
// included below. An alternative without one does not compile.
#pragma once

#include "plan/conv2d/operation.hpp"
#include "plan/matmul/operation.hpp"
#include "plan/permute/operation.hpp"

#include <cstddef>
#include <type_traits>
#include <variant>

namespace sectile::detail {

// Calls visit(std::type_identity<P>()) with the problem type P of the operation `name`, or otherwise() if there is
// none.
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

// Calls visit(operation) for each operation.
void each_operation(auto&& visit) {
  const auto all = [&]<class... P>(std::type_identity<std::variant<P...>>) { (visit(Operation<P>()), ...); };
  all(std::type_identity<Problem>());
}

// Calls visit(operation, problem); `operation` has the static functions.
decltype(auto) visit_operation(auto&& visit, const Problem& problem) {
  return std::visit([&]<class P>(const P& p) -> decltype(auto) { return visit(Operation<P>(), p); }, problem);
}

// Never allocates.
std::size_t hash_of(const Problem& problem);
// `what` precedes the key in errors. Errors: parse.
Result<Problem> read_problem(const nlohmann::json& value, const std::string& what);

}  // namespace sectile::detail
