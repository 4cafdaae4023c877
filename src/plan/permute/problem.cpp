#include "layout.hpp"
#include "operation.hpp"

namespace sectile {

DType out_type(const PermuteProblem& problem) noexcept { return problem.stage.out.value_or(problem.type); }

bool has_stage(const PermuteProblem& problem) noexcept {
  const ElementwiseStage& stage = problem.stage;
  return out_type(problem) != problem.type || stage.alpha != 1 || !stage.scale.empty() || !stage.bias.empty() ||
         stage.add || stage.activation != Activation::none;
}

Result<std::vector<std::int64_t>> dst_shape(const PermuteProblem& problem) {
  auto g = detail::geometry(problem);
  if (!g) return std::unexpected(std::move(g.error()));
  return std::vector<std::int64_t>(g->dst_shape.begin(), g->dst_shape.begin() + g->dst_rank);
}

Result<OperandBytes> operand_bytes(const PermuteProblem& problem) {
  auto g = detail::geometry(problem);
  if (!g) return std::unexpected(std::move(g.error()));
  OperandBytes bytes{.src = g->src_bytes, .dst = g->dst_bytes, .add = g->add_bytes};
  if (g->empty) return bytes;
  bytes.scale = 4 * static_cast<std::uint64_t>(g->scale_length);
  bytes.bias = 4 * static_cast<std::uint64_t>(g->bias_length);
  return bytes;
}

namespace detail {

Result<std::vector<OperandSpec>> Operation<PermuteProblem>::operands(const PermuteProblem& problem) {
  const auto bytes = operand_bytes(problem);
  if (!bytes) return std::unexpected(bytes.error());
  std::vector<OperandSpec> operands{{"src", false, bytes->src, problem.src_align},
                                    {"dst", true, bytes->dst, problem.dst_align}};
  if (!problem.stage.scale.empty()) operands.push_back({"scale", false, bytes->scale, 4});
  if (!problem.stage.bias.empty()) operands.push_back({"bias", false, bytes->bias, 4});
  if (problem.stage.add) operands.push_back({"add", false, bytes->add, problem.dst_align});
  return operands;
}

Result<void> Operation<PermuteProblem>::validate(const PermuteProblem& problem) {
  auto g = geometry(problem);  // operands() would allocate; planning has a budget of 50 us
  if (!g) return std::unexpected(std::move(g.error()));
  return {};
}

}  // namespace detail

}  // namespace sectile
