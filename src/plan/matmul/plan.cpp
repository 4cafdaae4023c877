// Plans a matmul: the table of strategies, and the choice of splits for each candidate.
#include "context.hpp"
#include "operation.hpp"
#include "plan/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace sectile::detail {

namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

constexpr const MatmulStrategy* kMatmul[] = {&kMatmulCoopmat, &kMatmulCoopmat2, &kMatmulSimt, &kMatvec, &kMatmulDirect};

struct Matmuls {
  using Strategy = MatmulStrategy;
  using Config = EstimatedMatmul;
  const MatmulContext& c;
  std::span<PlanOperand> operands;
  const KernelSet* kernels = nullptr;  // of the pack; none: all
  std::optional<std::uint64_t> max_scratch_bytes = {};

  const MatmulContext& context() const { return c; }
  std::span<const MatmulStrategy* const> table() const { return kMatmul; }
  EstimatedMatmul make(const MatmulStrategy& s, std::uint32_t row) const {
    return matmul_with_splits(c, s, row, [this](const EstimatedMatmul& config) {
      return matmul_scratch_bytes(c, config) <= max_scratch_bytes.value_or(kNoLimit) &&
             (kernels == nullptr || !first_missing_step(*this, config, *kernels));
    });
  }
  std::int64_t cost(const MatmulStrategy&, std::uint32_t, const EstimatedMatmul& config) const {
    return matmul_cost(c, config, config.estimate);
  }
  void explain(const MatmulStrategy& s, std::uint32_t row, const EstimatedMatmul& d, std::int64_t cost,
               Candidate& candidate) const {
    explain_matmul(c, s, row, d, cost, candidate);
  }
  Result<std::vector<Step>> steps(const MatmulConfig& config) const {
    std::uint64_t scratch = 0;
    return matmul_steps(c, config, operands, scratch);
  }
  Matmuls without_pack() const { return {.c = c, .operands = operands, .max_scratch_bytes = max_scratch_bytes}; }
  bool plannable(const DeviceProfile& other) const {
    MatmulContext there = matmul_context(c.problem, other);
    there.epilogue = c.epilogue;
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

// The kernels are told the enumeration's numbers.
static_assert(static_cast<int>(Activation::relu) == SECTILE_ACTIVATION_RELU);
static_assert(static_cast<int>(Activation::silu) == SECTILE_ACTIVATION_SILU);
static_assert(static_cast<int>(Activation::leaky_relu) == SECTILE_ACTIVATION_LEAKY_RELU);
static_assert(static_cast<int>(Activation::clamp) == SECTILE_ACTIVATION_CLAMP);
static_assert(static_cast<int>(Activation::tanh) == SECTILE_ACTIVATION_TANH);

std::uint32_t epilogue_of(const MatmulProblem& p) {
  std::uint32_t bits = static_cast<std::uint32_t>(p.activation) << MATMUL_EPILOGUE_ACTIVATION_SHIFT;
  if (p.activation_last) bits |= MATMUL_EPILOGUE_ACTIVATION_LAST;
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

// The costs are compared without the row's bias, so that two rows of one shape get the same splits.
EstimatedMatmul matmul_with_splits(const MatmulContext& c, const MatmulStrategy& s, std::uint32_t row,
                                   const std::function<bool(const EstimatedMatmul&)>& usable) {
  EstimatedMatmul best{s.make(c, row), {}};
  best.estimate = s.estimate(c, row, best);
  EstimatedMatmul split = best, tail = best;
  const bool has_tail = tail_to_fill(c, tail);
  const std::array balanced{splits_to_balance(c, best, 4), splits_to_balance(c, best, 8)};
  if (best.splits <= 1 && balanced[0] <= 1 && balanced[1] <= 1 && !has_tail) return best;
  const MatmulEstimate unbiased{.interior = best.estimate.interior};
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  const auto consider = [&](const EstimatedMatmul& config) {
    const std::int64_t cost = matmul_cost(c, config, unbiased);
    if (cost >= least || !usable(config)) return;
    least = cost;
    best = config;
  };
  for (; split.splits > 1; split.splits /= 2) consider(split);
  consider(split);
  for (const std::uint32_t splits : balanced) {
    split.splits = splits;
    if (splits > 1) consider(split);
  }
  if (has_tail) consider(tail);
  if (least == std::numeric_limits<std::int64_t>::max()) best.splits = 1;
  return best;
}

void explain_matmul(const MatmulContext& c, const MatmulStrategy& s, std::uint32_t row, const MatmulConfig& d,
                    std::int64_t cost, Candidate& candidate) {
  MatmulContext full = c;
  full.explain = true;
  candidate.interior = s.estimate(full, row, d).interior;
  candidate.cost = cost;
  const std::uint64_t tail = matmul_tail_tiles(c, d);
  const std::uint64_t groups = (matmul_tiles(c, d) - tail) * d.splits * matmul_batches(c) + tail * d.tail_splits;
  candidate.detail =
      fmt::format("wg={} groups={} shared={} registers={}", d.workgroup, groups, d.workgroup_memory_bytes, d.registers);
  if (d.splits > 1) candidate.detail += fmt::format(" splits={}", d.splits);
  if (d.tail_rows != 0) candidate.detail += fmt::format(" tail={} rows in {} splits", d.tail_rows, d.tail_splits);
}

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

std::uint32_t operand_width(const MatmulContext& c, bool b, std::uint32_t most) noexcept {
  if (const auto* gathered = c.gathered_side(b)) return gathered->width(most);
  const auto& p = c.problem;
  const auto batched = [&](std::int64_t stride) { return p.batch > 1 ? stride : 0; };
  return b ? widest_access(c.b_type, most, p.b_align, c.at.ldb, batched(c.at.b_batch), p.transpose_b ? p.k : p.n)
           : widest_access(c.a_type, most, p.a_align, c.at.lda, batched(c.at.a_batch), p.transpose_a ? p.m : p.k);
}

MatmulContext matmul_context(const MatmulProblem& p, const DeviceProfile& profile, const ExtraRows* extra,
                             const GatheredOperand* gathered) {
  MatmulContext c{.problem = p,
                  .at = effective(p),
                  .profile = profile,
                  .model = cost_model_of(profile),
                  .limits = limits_of(profile),
                  .extra = extra,
                  .sizes_vary = gathered == nullptr,
                  .gathered = gathered};
  // What is not read limits nothing.
  if (!reads_c(p)) c.at.ldc = c.at.ldd;
  if (!p.residual) c.at.ldr = c.at.ldd;
  c.epilogue = epilogue_of(p);
  c.type = type_code(p.type);
  c.a_type = type_code(p.a_type);
  c.b_type = p.b_format == WeightFormat::q4   ? MATMUL_TYPE_Q4
             : p.b_format == WeightFormat::q8 ? MATMUL_TYPE_Q8
                                              : type_code(p.b_type);
  c.out_type = type_code(p.out);
  const auto batched = [&](std::int64_t stride) { return p.batch > 1 ? stride : 0; };
  c.width_a = operand_width(c, false, kMostWide);
  c.width_b = operand_width(c, true, kMostWide);
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
  return plan_matmul(job, problem, {});
}

Result<void> plan_matmul(Job& job, const MatmulProblem& problem, MatmulUse use) {
  auto specs = operands_of(Problem(problem));
  if (!specs) return std::unexpected(specs.error());
  for (const auto& spec : *specs) {
    const bool batched = use.vectors_batched && (spec.name == "bias" || spec.name == "scale");
    job.plan.operands.push_back({spec.name, spec.written ? OperandRole::destination : OperandRole::source,
                                 spec.bytes * (batched ? static_cast<std::uint64_t>(problem.batch) : 1), spec.align});
  }
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return {};
  MatmulContext c = matmul_context(problem, job.profile, job.options.extra);
  if (use.vectors_batched) c.epilogue |= MATMUL_EPILOGUE_VECTOR_BATCHED;
  c.sizes_vary = use.sizes_vary;
  c.few_pipelines = job.options.few_pipelines;
  constexpr std::int64_t kMostLd = std::int64_t{1} << 31;
  for (const auto ld : {c.at.lda, c.at.ldb, c.at.ldc, c.at.ldd, c.at.ldr})
    if (ld >= kMostLd) return fail(ErrorKind::limit_exceeded, "leading dimension", fmt::format("{}", ld), "2^31 - 1");
  if (reads_no_product(problem)) {
    auto steps = matmul_epilogue_alone(c, job.plan.operands);
    if (!steps) return std::unexpected(steps.error());
    job.plan.steps = std::move(*steps);
    return {};
  }
  job.plan.operands.push_back({"scratch", OperandRole::scratch, 0, 16});
  const Matmuls family{c, job.plan.operands, job.options.kernels, job.options.max_scratch_bytes};
  const auto choice = choose_or_refuse(job, family, operation_of(job.plan.problem),
                                       job.options.explain ? &job.plan.candidates : nullptr);
  if (!choice) return std::unexpected(choice.error());
  job.chose = true;
  job.cost = choice->cost;
  job.fallback = choice->fallback;
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
