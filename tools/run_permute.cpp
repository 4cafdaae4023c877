#include "run_permute.hpp"

#include <sectile/planner.hpp>

#include <string>
#include <utility>

namespace sectile::tools {

Result<Permuted> run_permute(Machine& machine, const PermuteProblem& problem, std::span<const std::byte> src) {
  const auto bytes = operand_bytes(problem);
  if (!bytes) return std::unexpected(bytes.error());
  if (src.size() < bytes->src) {
    return fail(ErrorKind::too_small, "src", std::to_string(src.size()), std::to_string(bytes->src));
  }
  auto plan = make_plan(problem, machine.profile());
  if (!plan) return std::unexpected(plan.error());
  Permuted result{std::vector<std::byte>(static_cast<std::size_t>(bytes->dst)), std::move(*plan)};
  if (result.bytes.empty()) return result;

  const auto program = machine.prepare(result.plan);
  if (!program) return std::unexpected(program.error());
  const auto src_memory = machine.make_memory(bytes->src);
  if (!src_memory) return std::unexpected(src_memory.error());
  const auto dst_memory = machine.make_memory(bytes->dst);
  if (!dst_memory) return std::unexpected(dst_memory.error());
  if (auto up = machine.upload(**src_memory, 0, src.first(static_cast<std::size_t>(bytes->src))); !up) {
    return std::unexpected(up.error());
  }
  if (auto ran = machine.run({program->get(), {src_memory->get(), 0, bytes->src}, {dst_memory->get(), 0, bytes->dst}}); !ran) {
    return std::unexpected(ran.error());
  }
  if (auto down = machine.download(**dst_memory, 0, result.bytes); !down) return std::unexpected(down.error());
  return result;
}

}  // namespace sectile::tools
