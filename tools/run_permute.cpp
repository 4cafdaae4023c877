#include "run_permute.hpp"

#include <sectile/planner.hpp>

#include <array>
#include <string>
#include <utility>

namespace sectile::tools {

Result<Permuted> run_permute(vulkan::Runtime& runtime, const PermuteProblem& problem, std::span<const std::byte> src) {
  const auto bytes = operand_bytes(problem);
  if (!bytes) return std::unexpected(bytes.error());
  if (src.size() < bytes->src) {
    return fail(ErrorKind::too_small, "src", std::to_string(src.size()), std::to_string(bytes->src));
  }
  auto plan = make_plan(problem, runtime.profile());
  if (!plan) return std::unexpected(plan.error());
  Permuted result{std::vector<std::byte>(static_cast<std::size_t>(bytes->dst)), std::move(*plan)};
  if (result.bytes.empty()) return result;

  const auto executable = runtime.device().prepare(result.plan);
  if (!executable) return std::unexpected(executable.error());
  const auto src_buffer = runtime.make_buffer(bytes->src);
  if (!src_buffer) return std::unexpected(src_buffer.error());
  const auto dst_buffer = runtime.make_buffer(bytes->dst);
  if (!dst_buffer) return std::unexpected(dst_buffer.error());
  if (auto up = runtime.upload(*src_buffer, 0, src.first(static_cast<std::size_t>(bytes->src))); !up) {
    return std::unexpected(up.error());
  }
  const std::array operands = {vulkan::OperandAddress{src_buffer->address(), bytes->src},
                               vulkan::OperandAddress{dst_buffer->address(), bytes->dst}};
  const auto done = runtime.submit_and_wait(
      [&](VkCommandBuffer commands) { return vulkan::record(commands, *executable, operands); });
  if (!done) return std::unexpected(done.error());
  if (auto down = runtime.download(*dst_buffer, 0, result.bytes); !down) return std::unexpected(down.error());
  return result;
}

}  // namespace sectile::tools
