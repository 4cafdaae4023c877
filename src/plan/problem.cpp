#include "layout.hpp"

namespace sectile {

Result<std::vector<std::int64_t>> dst_shape(const PermuteProblem& problem) {
  auto g = detail::geometry(problem);
  if (!g) return std::unexpected(std::move(g.error()));
  return std::vector<std::int64_t>(g->dst_shape.begin(), g->dst_shape.begin() + g->dst_rank);
}

Result<OperandBytes> operand_bytes(const PermuteProblem& problem) {
  auto g = detail::geometry(problem);
  if (!g) return std::unexpected(std::move(g.error()));
  return OperandBytes{g->src_bytes, g->dst_bytes};
}

Result<void> validate(const Problem& problem) {
  auto g = std::visit([](const PermuteProblem& p) { return detail::geometry(p); }, problem);
  if (!g) return std::unexpected(std::move(g.error()));
  return {};
}

}  // namespace sectile
