// Planning a matmul: the table of its candidates.
#include "plan/choose.hpp"
#include "operation.hpp"
#include "context.hpp"
#include "plan/unsupported.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace sectile::detail {

namespace {

constexpr const MatmulStrategy* kMatmul[] = {&kMatmulCoopmat, &kMatmulCoopmat2, &kMatmulSimt, &kMatvec, &kMatmulDirect};

void describe(Candidate& candidate, const MatmulContext& c, const MatmulConfig& d, const MatmulEstimate& e) {
  candidate.interior = e.interior;
  const std::uint64_t tail = matmul_tail_tiles(c, d);
  candidate.detail = fmt::format("wg={} groups={} shared={} registers={}", d.workgroup,
                                 (matmul_tiles(c, d) - tail) * d.splits * static_cast<std::uint64_t>(c.problem.batch) + tail * d.tail_splits,
                                 d.workgroup_memory_bytes, d.registers);
  if (d.splits > 1) candidate.detail += fmt::format(" splits={}", d.splits);
  if (d.tail_rows != 0) candidate.detail += fmt::format(" tail={} rows in {} splits", d.tail_rows, d.tail_splits);
}

// The walk costs most of planning: one for all ways to cut K, and for the costs.
struct EstimatedConfig : MatmulConfig {
  MatmulEstimate estimate;
};

struct Matmuls {
  using Strategy = MatmulStrategy;
  using Config = EstimatedConfig;
  const MatmulContext& c;
  std::span<PlanOperand> operands;
  const KernelSet* kernels = nullptr;   // that there are; none: all

  std::span<const MatmulStrategy* const> table() const { return kMatmul; }
  bool applicable(const MatmulStrategy& s, std::uint32_t row, Refusal& refusal) const { return s.applicable(c, row, refusal); }
  bool fallback(const MatmulStrategy& s, std::uint32_t row) const { return s.fallback(c, row); }
  // A strategy says in how many parts K could be cut; fewer, or one, or those of the last rows alone may cost less. A pack
  // need not have the kernels of each way. What a row is liked for is left out: a twin is cut as its row is.
  EstimatedConfig make(const MatmulStrategy& s, std::uint32_t row) const {
    EstimatedConfig best{s.make(c, row), {}};
    best.estimate = s.estimate(c, row, best);
    EstimatedConfig way = best, tail = best;
    const bool has_tail = tail_to_fill(c, tail);
    if (best.splits <= 1 && !has_tail) return best;
    const MatmulEstimate plain{.interior = best.estimate.interior};
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    const auto consider = [&](const EstimatedConfig& config) {
      const std::int64_t cost = matmul_cost(c, config, plain);
      if (cost >= least || (kernels != nullptr && lacking(config, *kernels))) return;
      least = cost;
      best = config;
    };
    for (; way.splits > 1; way.splits /= 2) consider(way);
    consider(way);
    if (has_tail) consider(tail);
    return best;
  }
  // What is told is counted in full; the choice is by the same counts whether anybody is told or not.
  std::int64_t cost(const MatmulStrategy& s, std::uint32_t row, const EstimatedConfig& config, Candidate* explanation) const {
    if (explanation != nullptr) {
      MatmulContext full = c;
      full.explain = true;
      describe(*explanation, c, config, s.estimate(full, row, config));
    }
    return matmul_cost(c, config, config.estimate);
  }
  bool has_code(const MatmulStrategy&, const EstimatedConfig& config, const KernelSet& set, Refusal& refusal) const {
    const auto step = lacking(config, set);
    if (!step) return true;
    return refusal.no("the pack has no {}.{} with its constants", step->kernel.stem, step->kernel.variant);
  }
  // The first step whose kernel is not there. A plan that cannot be made is told of when it is chosen.
  std::optional<Step> lacking(const MatmulConfig& config, const KernelSet& set) const {
    std::uint64_t scratch = 0;
    const auto steps = matmul_steps(c, config, operands, scratch);
    if (steps)
      for (const Step& step : *steps)
        if (!set.has(step)) return step;
    return std::nullopt;
  }
};

Result<void> not_in_pack(const Job& job, const Matmuls& family) {
  const Matmuls any{family.c, family.operands};
  const auto choice = choose(any, {.explain = false, .force = job.options.force, .kernels = nullptr}, nullptr);
  if (choice.strategy == nullptr) return {};
  std::uint64_t scratch = 0;
  const auto steps = matmul_steps(family.c, choice.config, family.operands, scratch);
  if (!steps) return std::unexpected(steps.error());
  for (const Step& step : *steps)
    if (!job.options.kernels->has(step))
      return fail(ErrorKind::missing, "kernel in the pack for " + job.profile.name, print(job.plan.problem),
                  job.options.kernels->nearest(step));
  return {};
}

std::uint32_t type_code(DType type) {
  switch (type) {
    case DType::f16: return MATMUL_TYPE_F16;
    case DType::bf16: return MATMUL_TYPE_BF16;
    case DType::i8: return MATMUL_TYPE_I8;
    case DType::i32: return MATMUL_TYPE_I32;
    default: return MATMUL_TYPE_F32;
  }
}

std::uint32_t epilogue_of(const MatmulProblem& p) {
  std::uint32_t bits = static_cast<std::uint32_t>(p.activation) << MATMUL_EPILOGUE_ACTIVATION_SHIFT;
  if (p.beta != 0) bits |= p.c_is_d ? MATMUL_EPILOGUE_C_IS_D : MATMUL_EPILOGUE_C;
  if (p.bias != PerAxis::none) bits |= p.bias == PerAxis::row ? MATMUL_EPILOGUE_BIAS_ROW : MATMUL_EPILOGUE_BIAS_COLUMN;
  if (p.scale != PerAxis::none) bits |= p.scale == PerAxis::row ? MATMUL_EPILOGUE_SCALE_ROW : MATMUL_EPILOGUE_SCALE_COLUMN;
  if (p.residual) bits |= MATMUL_EPILOGUE_RESIDUAL;
  if (p.a_scale) bits |= MATMUL_EPILOGUE_A_SCALE;
  if (p.batch > 1) bits |= MATMUL_EPILOGUE_BATCHED;
  return bits;
}

}  // namespace

std::span<const MatmulStrategy* const> matmul_strategies() noexcept { return kMatmul; }

constexpr std::uint32_t kMostWide = 8;   // elements, in all kernels but those that copy bytes as they are

std::uint32_t widest_access(std::uint32_t type, std::uint32_t most, std::uint32_t align, std::int64_t ld, std::int64_t batch,
                            std::int64_t side) noexcept {
  const std::uint32_t bytes = matmul_type_bytes(type);
  // Rows begin with whole blocks; the last one ends with the byte of its last element.
  if (type == MATMUL_TYPE_Q4) return align % 4 == 0 && (side + 1) / 2 % 4 == 0 ? 8 : 2;
  std::uint32_t width = std::min(most, 16 / bytes);
  while (width > 1 && (align % (width * bytes) != 0 || ld % width != 0 || batch % width != 0 || side % width != 0)) width /= 2;
  return width;
}

MatmulContext matmul_context(const MatmulProblem& p, const DeviceProfile& profile) {
  MatmulContext c{.problem = p, .at = effective(p), .profile = profile, .limits = limits_of(profile)};
  c.epilogue = epilogue_of(p);
  c.type = type_code(p.type);
  c.a_type = type_code(p.a_type);
  c.b_type = p.b_format == WeightFormat::q4 ? MATMUL_TYPE_Q4 : p.b_format == WeightFormat::q8 ? MATMUL_TYPE_Q8 : type_code(p.b_type);
  c.out_type = type_code(p.out);
  const auto batched = [&](std::int64_t stride) { return p.batch > 1 ? stride : 0; };
  c.width_a = widest_access(c.a_type, kMostWide, p.a_align, c.at.lda, batched(c.at.a_batch), p.transpose_a ? p.m : p.k);
  c.width_b = widest_access(c.b_type, kMostWide, p.b_align, c.at.ldb, batched(c.at.b_batch), p.transpose_b ? p.k : p.n);
  c.width_d = widest_access(c.out_type, kMostWide, p.d_align, c.at.ldd, batched(c.at.d_batch), p.n);
  if (p.beta != 0 && !p.c_is_d) c.width_d = std::min(c.width_d, widest_access(c.out_type, kMostWide, p.d_align, c.at.ldc, batched(c.at.c_batch), p.n));
  if (p.residual) c.width_d = std::min(c.width_d, widest_access(c.out_type, kMostWide, p.d_align, c.at.ldr, batched(c.at.r_batch), p.n));
  return c;
}

// A candidate's name says its tile, and it is beside the line wherever that is shown.
std::span<const NamedConstant> Operation<MatmulProblem>::named_constants(std::string_view) { return {}; }

Result<void> Operation<MatmulProblem>::plan(Job& job, const MatmulProblem& problem) {
  auto specs = operands_of(Problem(problem));
  if (!specs) return std::unexpected(specs.error());
  for (const auto& spec : *specs)
    job.plan.operands.push_back({spec.name, spec.written ? OperandRole::destination : OperandRole::source, spec.bytes, spec.align});
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return {};
  const MatmulContext c = matmul_context(problem, job.profile);
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
  const auto choice = choose(family, job.options, job.options.explain ? &job.plan.candidates : nullptr);
  if (choice.strategy == nullptr) {
    if (job.options.kernels != nullptr)
      if (auto missing = not_in_pack(job, family); !missing) return missing;
    std::vector<Candidate> explanations;
    choose(Matmuls{c, job.plan.operands, job.options.kernels}, job.options, &explanations);
    return std::unexpected(unsupported(job, "matmul", explanations, [&](const DeviceProfile& other) {
      const MatmulContext there = matmul_context(problem, other);
      return choose(Matmuls{there, job.plan.operands}, PlanOptions(), nullptr).strategy != nullptr;
    }));
  }
  job.chose = true;
  job.plan.choice.candidate = candidate_name(*choice.strategy, choice.row);
  job.plan.operands.back().bytes = 0;
  std::uint64_t scratch = 0;
  auto steps = matmul_steps(c, choice.config, job.plan.operands, scratch);
  if (!steps) return std::unexpected(steps.error());
  job.plan.steps = std::move(*steps);
  if (scratch == 0) job.plan.operands.pop_back();
  return {};
}

}  // namespace sectile::detail
