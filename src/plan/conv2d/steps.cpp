// Makes the steps of a convolution candidate of those of permutes and matmuls, over parts of the plan's operands.
#include "steps.hpp"
#include "direct_kernels.hpp"
#include "plan/gemm/steps.hpp"
#include "plan/move_step.hpp"
#include "plan/permute/between.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <variant>

namespace sectile::detail {

OperandSlice add_scratch(const Conv2dContext& c, Conv2dGemm& gemm, std::string_view as, std::uint64_t bytes) {
  const std::uint64_t offset = aligned_scratch(gemm.scratch_bytes);
  gemm.scratch_bytes = offset + bytes;
  return {std::string(as), static_cast<std::uint32_t>(c.operands.size() - 1), offset, bytes, kScratchAlign};
}

namespace {

// With few pipelines: the candidates that serve nearly all images and filters of an element size, the first one that is
// admissible. Blocks of channels have 16 bytes.
std::array<const char*, 2> common_permutes(std::uint32_t element_bytes) {
  const char* const blocks = "permute_tile 16x16 v1x1 s16 wg128";
  switch (element_bytes) {
    case 1:
      return {"permute_tile 64x64 v1x4 s4 wg256", blocks};
    case 2:
      return {"permute_tile 32x64 v1x2 s4 wg128", blocks};
    default:
      return {"permute_tile 32x32 v1x1 s4 wg256", blocks};
  }
}

}  // namespace

Result<void> add_permute(const Conv2dContext& c, const PermuteProblem& problem, const OperandSlice& from,
                         const OperandSlice& to, std::vector<Step>& steps, ExtraSteps& extra) {
  const auto preferred = common_permutes(size_bytes(problem.type));
  auto made = permute_between(c.profile, {.kernels = c.options.kernels}, problem, from, to,
                              c.options.few_pipelines ? std::span(preferred) : std::span<const char* const>());
  if (!made) return std::unexpected(made.error());
  std::ranges::move(made->steps, std::back_inserter(steps));
  ++extra.permutes;
  extra.permutes_cost += made->cost;
  return {};
}

namespace {

// The steps of the other parts of the images. A part's first step needs no barrier: it writes what the part before it
// reads no more since its last barrier.
void add_parts(std::vector<Step>& steps, const Conv2dGemm& gemm) {
  const std::size_t count = steps.size();
  for (const std::uint64_t first : gemm.parts_after) {
    for (std::size_t i = gemm.filter_transform_steps; i < count; ++i) {
      Step step = steps[i];
      move_step(step, [&](std::uint32_t operand) { return OperandPlace{operand, first * gemm.image_bytes[operand]}; });
      steps.push_back(std::move(step));
    }
  }
}

}  // namespace

Result<Conv2dSteps> conv2d_steps(const Conv2dContext& c, const Conv2dConfig& config) {
  if (const auto* direct = std::get_if<DirectConfig>(&config)) {
    auto step = direct_step(c, *direct);
    if (!step) return std::unexpected(step.error());
    return Conv2dSteps{.steps = {std::move(*step)}};
  }
  const auto& d = std::get<Conv2dGemmConfig>(config);
  const Conv2dGemm& gemm = *d.gemm;
  std::vector<OperandSlice> parts = gemm.parts;
  std::vector<PlanOperand> operands = as_operands(parts);
  operands.push_back({"scratch", OperandRole::scratch, 0, kScratchAlign});
  std::uint64_t partial_sums = 0;
  auto made = gemm_steps(*gemm.context, d.config, operands, partial_sums);
  if (!made) return std::unexpected(made.error());
  std::vector<Step> steps = std::move(*made);
  const auto scratch = static_cast<std::uint32_t>(c.operands.size() - 1);
  parts.push_back({"scratch", scratch, aligned_scratch(gemm.scratch_bytes), partial_sums, kScratchAlign});
  place(steps, parts);
  Conv2dSteps all{.steps = gemm.pre_steps, .scratch_bytes = gemm.scratch_bytes};
  if (partial_sums != 0) all.scratch_bytes = parts.back().offset + partial_sums;
  // orders the writes of the operands in scratch before the GEMM's reads; what only its last step reads comes before
  // that step's own barrier
  if (follows(steps.front(), gemm.pre_steps)) steps.front().barrier_before = true;
  std::ranges::move(steps, std::back_inserter(all.steps));
  const std::size_t after = all.steps.size();
  std::ranges::copy(gemm.post_steps, std::back_inserter(all.steps));
  // orders the GEMM's writes of the result in scratch before the reads of the steps after it
  if (after < all.steps.size()) all.steps[after].barrier_before = true;
  add_parts(all.steps, gemm);
  return all;
}

}  // namespace sectile::detail
