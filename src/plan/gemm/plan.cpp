// Plans a GEMM: the table of strategies, and the choice of a candidate.
#include "plan.hpp"
#include "cost.hpp"
#include "plan/choose.hpp"
#include "plan/has_step.hpp"
#include "split.hpp"
#include "steps.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>

namespace sectile::detail {

namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

constexpr const GemmStrategy* kGemm[] = {&kGemmCoopmat, &kGemmCoopmat2, &kGemmWgmma, &kGemmMma,
                                         &kGemmSimt,    &kGemmMatvec,   &kGemmDirect};
constexpr std::span<const GemmStrategy* const> kUnits = std::span(kGemm).first(4);

struct Gemms {
  using Strategy = GemmStrategy;
  using Config = GemmConfig;
  const GemmContext& c;
  std::span<PlanOperand> operands;
  const KernelSet* kernels = nullptr;  // of the pack; none: all
  std::optional<std::uint64_t> max_scratch_bytes = {};
  CostObserver* observer = nullptr;
  std::int64_t useful_below = kNoBound;  // Job::useful_below
  bool units_only = false;               // Job::units_only

  const GemmContext& context() const { return c; }
  std::span<const GemmStrategy* const> table() const { return units_only ? kUnits : kGemm; }
  GemmConfig make(const GemmStrategy& s, std::uint32_t row) const {
    return gemm_with_splits(c, s, row, [this](const GemmConfig& config) {
      return gemm_scratch_bytes(c, config) <= max_scratch_bytes.value_or(kNoLimit) &&
             (kernels == nullptr || !first_missing_step(*this, config, *kernels));
    });
  }
  bool costs_at_least(const GemmStrategy& s, std::uint32_t row, std::int64_t cost) const {
    return cost != kNoBound && gemm_costs_at_least(c, s.costs, s.make(c, row), cost);
  }
  std::int64_t cost(const GemmStrategy& s, std::uint32_t, const GemmConfig& config) const {
    return corrected_gemm_cost(c, c.model, s.costs, config);
  }
  CostedCandidate costed(std::string name, const GemmStrategy& s, std::uint32_t, GemmConfig d) const {
    set_measured_splits(d, observer->splits, name);
    return {.name = std::move(name),
            .eligibility = {},
            .table = s.costs,
            .row_table = d.table,
            .row = d.row,
            .cost = [c = c, d](const CostModel& m) { return gemm_cost(c, m, d); },
            .features = [c = c, d](std::int64_t cost) { return gemm_features(c, d, cost); }};
  }
  void explain(const GemmStrategy& s, std::uint32_t row, const GemmConfig& d, std::int64_t cost,
               Candidate& candidate) const {
    explain_gemm(c, s, row, d, cost, candidate);
  }
  Result<std::vector<Step>> steps(const GemmConfig& config) const {
    std::uint64_t scratch = 0;
    return gemm_steps(c, config, operands, scratch);
  }
  Gemms without_pack() const {
    return {.c = c, .operands = operands, .max_scratch_bytes = max_scratch_bytes, .units_only = units_only};
  }
  bool plannable(const DeviceProfile& other) const {
    GemmContext there = gemm_context(c.gemm, other);
    there.epilogue = c.epilogue;
    return choose(Gemms{there, operands}, PlanOptions(), nullptr).strategy != nullptr;
  }
};

// The cheapest candidate, if it is useful.
Result<Choice<Gemms>> useful_choice(const Gemms& family, const PlanOptions& options) {
  auto choice = choose(family, options, nullptr, Eligibility::candidate);
  if (choice.strategy == nullptr || choice.cost >= family.useful_below)
    return fail(ErrorKind::unsupported, "candidate", "every one costs more than what is known", "one that costs less");
  return choice;
}

}  // namespace

void set_measured_splits(GemmConfig& d, const std::function<MeasuredSplits(const std::string&)>& of,
                         const std::string& name) {
  if (!of) return;
  const MeasuredSplits measured = of(name);
  d.splits = measured.splits;
  d.tail_rows = measured.tail_rows;
  d.tail_splits = measured.tail_splits;
}

std::span<const GemmStrategy* const> gemm_strategies() noexcept { return kGemm; }

void explain_gemm(const GemmContext& c, const GemmStrategy& s, std::uint32_t row, const GemmConfig& d,
                  std::int64_t cost, Candidate& candidate) {
  GemmContext full = c;
  full.explain = true;
  candidate.interior = s.estimate(full, row, d).interior;
  candidate.cost = cost;
  const std::uint64_t tail = gemm_tail_tiles(c, d);
  const std::uint64_t groups = (gemm_tiles(c, d) - tail) * d.splits * gemm_batches(c) + tail * d.tail_splits;
  candidate.detail = fmt::format("wg={} groups={} shared={} registers={}", d.workgroup, groups,
                                 d.staging.memory_bytes(), d.staging.registers.total());
  if (d.splits > 1) candidate.detail += fmt::format(" splits={}", d.splits);
  if (d.tail_rows != 0) candidate.detail += fmt::format(" tail={} rows in {} splits", d.tail_rows, d.tail_splits);
}

Result<void> plan_gemm(Job& job, const Gemm& gemm) {
  if (is_empty(gemm)) return {};
  GemmContext c = gemm_context(gemm, job.profile, job.extra);
  c.few_pipelines = job.options.few_pipelines;
  const GemmStrides& at = c.gemm.at;
  for (const auto ld : {at.lda, at.ldb, at.ldc, at.ldd, at.ldr})
    if (ld > kMostLd) return fail(ErrorKind::limit_exceeded, "leading dimension", fmt::format("{}", ld), "2^31 - 1");
  if (reads_no_product(gemm)) {
    auto steps = gemm_epilogue_alone(c, job.plan.operands);
    if (!steps) return std::unexpected(steps.error());
    job.plan.steps = std::move(*steps);
    return {};
  }
  job.plan.operands.push_back({"scratch", OperandRole::scratch, 0, 16});
  const Gemms family{c,
                     job.plan.operands,
                     job.options.kernels,
                     job.options.max_scratch_bytes,
                     job.observer,
                     job.useful_below,
                     job.units_only};
  std::vector<Candidate>* const explanations = job.options.explain ? &job.plan.candidates : nullptr;
  const bool bounded = job.useful_below != kNoBound && !job.options.explain;
  const auto choice = bounded ? useful_choice(family, job.options)
                              : choose_or_refuse(job, family, operation_of(job.plan.problem), explanations);
  if (!choice) return std::unexpected(choice.error());
  job.chose = true;
  job.cost = choice->cost;
  job.competed = choice->eligibility == Eligibility::candidate;
  job.plan.choice.candidate = candidate_name(*choice->strategy, c, choice->row);
  job.plan.operands.back().bytes = 0;
  std::uint64_t scratch = 0;
  auto steps = gemm_steps(c, choice->config, job.plan.operands, scratch);
  if (!steps) return std::unexpected(steps.error());
  job.plan.steps = std::move(*steps);
  if (scratch == 0) job.plan.operands.pop_back();
  return {};
}

std::string gemm_unit_refusal(const Gemm& gemm, const DeviceProfile& profile) {
  const GemmContext context = gemm_context(gemm, profile);
  RefusalCount refusals;
  const GemmStrategy* const told = profile.api == Api::cuda ? &kGemmMma : &kGemmCoopmat;
  for (const auto* strategy : kUnits)
    // Few devices have the extension of the second: its refusals are no help.
    if (!count_refusals(*strategy, context, strategy == told ? &refusals : nullptr)) return "another kernel costs less";
  return refusals.most();
}

std::string gemm_unit_refusal(const Gemm& gemm, const Plan& plan, const DeviceProfile& profile) {
  if (gemm.type == DType::f32 || !has_step(plan, {"matmul_simt", "matmul_direct"})) return {};
  return gemm_unit_refusal(gemm, profile);
}

}  // namespace sectile::detail
