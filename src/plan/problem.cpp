#include "layout.hpp"
#include "matmul_problem.hpp"

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

Result<std::vector<OperandSpec>> operands_of(const Problem& problem) {
  if (const auto* matmul = std::get_if<MatmulProblem>(&problem)) return detail::matmul_operands(*matmul);
  const auto& permute = std::get<PermuteProblem>(problem);
  const auto bytes = operand_bytes(permute);
  if (!bytes) return std::unexpected(bytes.error());
  return std::vector<OperandSpec>{{"src", false, bytes->src, permute.src_align}, {"dst", true, bytes->dst, permute.dst_align}};
}

Result<void> validate(const Problem& problem) {
  if (const auto* permute = std::get_if<PermuteProblem>(&problem)) {
    auto g = detail::geometry(*permute);   // operands_of would allocate, and planning has 50 us in all
    if (!g) return std::unexpected(std::move(g.error()));
    return {};
  }
  auto operands = operands_of(problem);
  if (!operands) return std::unexpected(std::move(operands.error()));
  return {};
}

}  // namespace sectile
