// Plans a matmul: the table of strategies, and the choice of splits for each candidate.
#include "context.hpp"
#include "operation.hpp"
#include "plan/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sectile::detail {

namespace {

constexpr const MatmulStrategy* kMatmul[] = {&kMatmulCoopmat, &kMatmulCoopmat2, &kMatmulSimt, &kMatvec, &kMatmulDirect};

// A config with its access counts. Counting takes most of the planning time, so all splits of K share one count.
struct EstimatedConfig : MatmulConfig {
  MatmulEstimate estimate;
};

struct Matmuls {
  using Strategy = MatmulStrategy;
  using Config = EstimatedConfig;
  const MatmulContext& c;
  std::span<PlanOperand> operands;
  const KernelSet* kernels = nullptr;  // of the pack; none: all

  const MatmulContext& context() const { return c; }
  std::span<const MatmulStrategy* const> table() const { return kMatmul; }
  // Chooses the splits of K. The strategy gives the most; fewer, none, or a split tail may cost less. A pack may lack
  // the kernels of some. The costs are compared without the row's bias, so that two rows of one shape get the same
  // splits.
  EstimatedConfig make(const MatmulStrategy& s, std::uint32_t row) const {
    EstimatedConfig best{s.make(c, row), {}};
    best.estimate = s.estimate(c, row, best);
    EstimatedConfig split = best, tail = best;
    const bool has_tail = tail_to_fill(c, tail);
    if (best.splits <= 1 && !has_tail) return best;
    const MatmulEstimate unbiased{.interior = best.estimate.interior};
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    const auto consider = [&](const EstimatedConfig& config) {
      const std::int64_t cost = matmul_cost(c, config, unbiased);
      if (cost >= least || (kernels != nullptr && first_missing_step(*this, config, *kernels))) return;
      least = cost;
      best = config;
    };
    for (; split.splits > 1; split.splits /= 2) consider(split);
    consider(split);
    if (has_tail) consider(tail);
    return best;
  }
  std::int64_t cost(const MatmulStrategy&, std::uint32_t, const EstimatedConfig& config) const {
    return matmul_cost(c, config, config.estimate);
  }
  // The counts are complete. `cost` is cost()'s, from the sampled counts.
  void explain(const MatmulStrategy& s, std::uint32_t row, const EstimatedConfig& d, std::int64_t cost,
               Candidate& candidate) const {
    MatmulContext full = c;
    full.explain = true;
    candidate.interior = s.estimate(full, row, d).interior;
    candidate.cost = cost;
    const std::uint64_t tail = matmul_tail_tiles(c, d);
    const std::uint64_t groups =
        (matmul_tiles(c, d) - tail) * d.splits * static_cast<std::uint64_t>(c.problem.batch) + tail * d.tail_splits;
    candidate.detail = fmt::format("wg={} groups={} shared={} registers={}", d.workgroup, groups,
                                   d.workgroup_memory_bytes, d.registers);
    if (d.splits > 1) candidate.detail += fmt::format(" splits={}", d.splits);
    if (d.tail_rows != 0) candidate.detail += fmt::format(" tail={} rows in {} splits", d.tail_rows, d.tail_splits);
  }
  Result<std::vector<Step>> steps(const EstimatedConfig& config) const {
    std::uint64_t scratch = 0;
    return matmul_steps(c, config, operands, scratch);
  }
  Matmuls without_pack() const { return {c, operands}; }
  bool plannable(const DeviceProfile& other) const {
    const MatmulContext there = matmul_context(c.problem, other);
    return choose(Matmuls{there, operands}, PlanOptions(), nullptr).strategy != nullptr;
  }
};

std::uint32_t type_code(DType type) {
  switch (type) {
    case DType::f16:
      return MATMUL_TYPE_F16;
    case DType::bf16:
      return MATMUL_TYPE_BF16;
    case DType::i8:
      return MATMUL_TYPE_I8;
    case DType::i32:
      return MATMUL_TYPE_I32;
    default:
      return MATMUL_TYPE_F32;
  }
}

std::uint32_t epilogue_of(const MatmulProblem& p) {
  std::uint32_t bits = static_cast<std::uint32_t>(p.activation) << MATMUL_EPILOGUE_ACTIVATION_SHIFT;
  if (p.beta != 0) bits |= p.c_is_d ? MATMUL_EPILOGUE_C_IS_D : MATMUL_EPILOGUE_C;
  if (p.bias != PerAxis::none) bits |= p.bias == PerAxis::row ? MATMUL_EPILOGUE_BIAS_ROW : MATMUL_EPILOGUE_BIAS_COLUMN;
  if (p.scale != PerAxis::none)
    bits |= p.scale == PerAxis::row ? MATMUL_EPILOGUE_SCALE_ROW : MATMUL_EPILOGUE_SCALE_COLUMN;
  if (p.residual) bits |= MATMUL_EPILOGUE_RESIDUAL;
  if (p.a_scale) bits |= MATMUL_EPILOGUE_A_SCALE;
  if (p.batch > 1) bits |= MATMUL_EPILOGUE_BATCHED;
  return bits;
}

}  // namespace

std::span<const MatmulStrategy* const> matmul_strategies() noexcept { return kMatmul; }

constexpr std::uint32_t kMostWide = 8;  // elements; matmul_coopmat may load more one-byte elements at once

std::uint32_t widest_access(std::uint32_t type, std::uint32_t most, std::uint32_t align, std::int64_t ld,
                            std::int64_t batch, std::int64_t side) noexcept {
  const std::uint32_t bytes = matmul_type_bytes(type);
  // Rows begin at multiples of 32 elements; the last row ends with the byte of its last element.
  if (type == MATMUL_TYPE_Q4) return align % 4 == 0 && (side + 1) / 2 % 4 == 0 ? 8 : 2;
  std::uint32_t width = std::min(most, 16 / bytes);
  while (width > 1 && (align % (width * bytes) != 0 || ld % width != 0 || batch % width != 0 || side % width != 0))
    width /= 2;
  return width;
}

MatmulContext matmul_context(const MatmulProblem& p, const DeviceProfile& profile, const ExtraRows* extra) {
  MatmulContext c{.problem = p,
                  .at = effective(p),
                  .profile = profile,
                  .model = cost_model_of(profile),
                  .limits = limits_of(profile),
                  .extra = extra};
  c.epilogue = epilogue_of(p);
  c.type = type_code(p.type);
  c.a_type = type_code(p.a_type);
  c.b_type = p.b_format == WeightFormat::q4   ? MATMUL_TYPE_Q4
             : p.b_format == WeightFormat::q8 ? MATMUL_TYPE_Q8
                                              : type_code(p.b_type);
  c.out_type = type_code(p.out);
  const auto batched = [&](std::int64_t stride) { return p.batch > 1 ? stride : 0; };
  c.width_a = widest_access(c.a_type, kMostWide, p.a_align, c.at.lda, batched(c.at.a_batch), p.transpose_a ? p.m : p.k);
  c.width_b = widest_access(c.b_type, kMostWide, p.b_align, c.at.ldb, batched(c.at.b_batch), p.transpose_b ? p.k : p.n);
  c.width_d = widest_access(c.out_type, kMostWide, p.d_align, c.at.ldd, batched(c.at.d_batch), p.n);
  if (p.beta != 0 && !p.c_is_d)
    c.width_d =
        std::min(c.width_d, widest_access(c.out_type, kMostWide, p.d_align, c.at.ldc, batched(c.at.c_batch), p.n));
  if (p.residual)
    c.width_d =
        std::min(c.width_d, widest_access(c.out_type, kMostWide, p.d_align, c.at.ldr, batched(c.at.r_batch), p.n));
  return c;
}

// None: a matmul candidate's name already states its tile.
std::span<const NamedConstant> Operation<MatmulProblem>::named_constants(std::string_view) { return {}; }

Result<void> Operation<MatmulProblem>::plan(Job& job, const MatmulProblem& problem) {
  auto specs = operands_of(Problem(problem));
  if (!specs) return std::unexpected(specs.error());
  for (const auto& spec : *specs)
    job.plan.operands.push_back(
        {spec.name, spec.written ? OperandRole::destination : OperandRole::source, spec.bytes, spec.align});
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return {};
  const MatmulContext c = matmul_context(problem, job.profile, job.options.extra);
  constexpr std::int64_t kMostLd = std::int64_t{1} << 31;
  for (const auto ld : {c.at.lda, c.at.ldb, c.at.ldc, c.at.ldd, c.at.ldr})
    if (ld >= kMostLd) return fail(ErrorKind::limit_exceeded, "leading dimension", fmt::format("{}", ld), "2^31 - 1");
  if (problem.k == 0) {
    auto steps = matmul_epilogue_alone(c, job.plan.operands);
    if (!steps) return std::unexpected(steps.error());
    job.plan.steps = std::move(*steps);
    return {};
  }
  job.plan.operands.push_back({"scratch", OperandRole::scratch, 0, 16});
  const Matmuls family{c, job.plan.operands, job.options.kernels};
  const auto choice = choose_or_refuse(job, family, "matmul", job.options.explain ? &job.plan.candidates : nullptr);
  if (!choice) return std::unexpected(choice.error());
  job.chose = true;
  job.plan.choice.candidate = candidate_name(*choice->strategy, c, choice->row);
  job.plan.operands.back().bytes = 0;
  std::uint64_t scratch = 0;
  auto steps = matmul_steps(c, choice->config, job.plan.operands, scratch);
  if (!steps) return std::unexpected(steps.error());
  job.plan.steps = std::move(*steps);
  if (scratch == 0) job.plan.operands.pop_back();
  return {};
}

}  // namespace sectile::detail
