// Plans a convolution: as the matmul that it is, or by a candidate of the table of strategies.
#include "plan/gemm/plan.hpp"
#include "context.hpp"
#include "cost.hpp"
#include "gemms.hpp"
#include "image.hpp"
#include "operation.hpp"
#include "plan/alternative.hpp"
#include "plan/choose.hpp"
#include "pointwise.hpp"
#include "steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <variant>

namespace sectile::detail {

namespace {

constexpr const Conv2dStrategy* kConv2d[] = {&kConv2dCoopmat,   &kConv2dSimt,  &kConv2dWinograd,
                                             &kConv2dDepthwise, &kConv2dLanes, &kConv2dDirect};

struct Convolutions {
  using Strategy = Conv2dStrategy;
  using Config = Conv2dConfig;
  const Conv2dContext& c;
  CostObserver* observer = nullptr;

  const Conv2dContext& context() const { return c; }
  std::span<const Conv2dStrategy* const> table() const { return kConv2d; }
  Conv2dConfig make(const Conv2dStrategy& s, std::uint32_t row) const { return s.make(c, row); }
  std::int64_t cost(const Conv2dStrategy& s, std::uint32_t, const Conv2dConfig& config) const {
    return conv2d_cost(c, c.model, s.costs, config);
  }
  CostedCandidate costed(std::string name, const Conv2dStrategy& s, std::uint32_t, const Conv2dConfig& config) const;
  // The counts are complete.
  void explain(const Conv2dStrategy& s, std::uint32_t row, const Conv2dConfig& config, std::int64_t cost,
               Candidate& candidate) const {
    if (const auto* d = std::get_if<Conv2dGemmConfig>(&config)) {
      explain_gemm(*d->gemm->context, *d->rows, d->row, d->config, cost, candidate);
      const std::size_t extra_steps = d->gemm->pre_steps.size() + d->gemm->post_steps.size();
      if (const std::size_t more = d->gemm->parts_after.size(); more != 0)
        candidate.detail += fmt::format(" parts={}", more + 1);
      if (extra_steps != 0)
        candidate.detail += fmt::format(" {}={} scratch={}", d->gemm->extra_steps, extra_steps, d->gemm->scratch_bytes);
      return;
    }
    const auto& d = std::get<DirectConfig>(config);
    candidate.interior = s.estimate(c, row, config).interior;
    candidate.cost = cost;
    candidate.detail = fmt::format("wg={} groups={}", d.workgroup, d.groups);
  }
  Convolutions without_pack() const { return *this; }
  Result<std::vector<Step>> steps(const Conv2dConfig& config) const {
    auto made = conv2d_steps(c, config);
    if (!made) return std::unexpected(made.error());
    return std::move(made->steps);
  }
  bool plannable(const DeviceProfile& other) const {
    const PlanOptions options;
    const Conv2dContext there = conv2d_context(c.problem, other, options, c.operands);
    return choose(Convolutions{there}, options, nullptr).strategy != nullptr;
  }
};

// A convolution without its problem's context: what its cost is made of.
struct CostedConvolution {
  ConvolutionWork work;
  Conv2dConfig config;
  std::shared_ptr<const Conv2dGemm> gemm;  // of config
};

CostedCandidate Convolutions::costed(std::string name, const Conv2dStrategy& s, std::uint32_t,
                                     const Conv2dConfig& config) const {
  auto own = std::make_shared<CostedConvolution>(CostedConvolution{c.work, config, nullptr});
  CostTable row_table{};
  std::uint32_t row = 0;
  if (auto* d = std::get_if<Conv2dGemmConfig>(&own->config)) {
    set_measured_splits(d->config, observer->splits, name);
    auto gemm = std::make_shared<Conv2dGemm>();
    gemm->context = std::make_unique<GemmContext>(*d->gemm->context);
    gemm->extra = d->gemm->extra;
    gemm->filter_transform = d->gemm->filter_transform;
    gemm->parts_after = d->gemm->parts_after;
    d->gemm = gemm.get();
    own->gemm = std::move(gemm);
    row_table = d->config.table;
    row = d->config.row;
  } else {
    const auto& direct = std::get<DirectConfig>(config);
    row_table = direct.table;
    row = direct.row;
  }
  return {.name = std::move(name),
          .eligibility = {},
          .table = s.costs,
          .row_table = row_table,
          .row = row,
          .cost = [own](const CostModel& m) { return conv2d_raw_cost(own->work, m, own->config); },
          .features = [own](std::int64_t cost) { return conv2d_features(own->work, own->config, cost); }};
}

// The kernels have 16 bits for each.
Result<void> check_words(const Conv2dProblem& p) {
  constexpr std::int64_t kMost = 65535;
  const std::pair<const char*, std::int64_t> numbers[] = {{"p", p.pad_top},  {"p", p.pad_left},   {"s", p.stride_h},
                                                          {"s", p.stride_w}, {"d", p.dilation_h}, {"d", p.dilation_w}};
  for (const auto& [name, number] : numbers)
    if (number > kMost)
      return fail(ErrorKind::limit_exceeded, name, fmt::format("{}", number), fmt::format("{}", kMost));
  const ImageSize out = size_of_output(p);
  const std::int64_t sizes[] = {p.c / p.groups,
                                strides_of(stored_x(p)).pixel,
                                strides_of(stored_y(p)).pixel,
                                reads_c(p) ? strides_of(stored_c(p)).pixel : 0,
                                p.residual ? strides_of(stored_r(p)).pixel : 0,
                                out.height,
                                out.width};
  const std::int64_t most = std::ranges::max(sizes);
  if (most > kMostSize) return fail(ErrorKind::limit_exceeded, "pitch", fmt::format("{}", most), "2^31 - 1");
  return {};
}

}  // namespace

Conv2dContext conv2d_context(const Conv2dProblem& problem, const DeviceProfile& profile, const PlanOptions& options,
                             std::span<const PlanOperand> operands, const ExtraRows* extra) {
  Conv2dContext c{.problem = problem,
                  .out = size_of_output(problem),
                  .profile = profile,
                  .options = options,
                  .extra = extra,
                  .operands = operands,
                  .model = cost_model_of(profile),
                  .limits = limits_of(profile),
                  .work = convolution_work(problem, profile, operands),
                  .gemms = {},
                  .of_simt = {},
                  .of_coopmat = {},
                  .of_winograd = {}};
  if (problem.c != 0) add_gemms(c);
  return c;
}

std::span<const NamedConstant> Operation<Conv2dProblem>::named_constants(std::string_view stem) {
  for (const Conv2dStrategy* strategy : kConv2d)
    if (stem == strategy->stem) return strategy->named;
  return {};
}

namespace {

Result<void> plan_gathered(Job& job, const Conv2dProblem& problem) {
  if (auto ok = check_words(problem); !ok) return ok;
  job.plan.operands.push_back({"scratch", OperandRole::scratch, 0, kScratchAlign});
  const Conv2dContext c = conv2d_context(problem, job.profile, job.options, job.plan.operands, job.extra);
  const Convolutions family{c, job.observer};
  const auto choice = choose_or_refuse(job, family, "conv2d", job.options.explain ? &job.plan.candidates : nullptr);
  if (!choice) return std::unexpected(choice.error());
  job.chose = true;
  job.cost = choice->cost;
  job.competed = choice->eligibility == Eligibility::candidate;
  job.plan.choice.candidate = candidate_name(*choice->strategy, c, choice->row);
  auto made = conv2d_steps(c, choice->config);
  if (!made) return std::unexpected(made.error());
  job.plan.steps = std::move(made->steps);
  job.plan.operands.back().bytes = made->scratch_bytes;
  if (made->scratch_bytes == 0) job.plan.operands.pop_back();
  return {};
}

// Tiles of a batched matmul end with each image, those of flattened columns do not. Where images waste columns the
// cheaper of the two is taken. A GEMM that needs another step first is not: f16 12x256x28x24 to 720 took 21 us as a
// matmul, 26 with a permute of X before (NVIDIA H100, driver 580.159.04, `sectile bench --sweep conv2d --seed 707`).
// Explanations have both tables.
Result<void> plan_pointwise_or_flattened(Job& job, const Conv2dProblem& problem, const PointwiseGemm& matmul) {
  Plan plain, gathered;
  plain.problem = gathered.problem = job.plan.problem;
  plain.operands = gathered.operands = job.plan.operands;
  Job as_plain{job.profile, job.options, plain, job.extra, job.observer},
      as_gathered{job.profile, job.options, gathered, job.extra, job.observer};
  const auto made_plain = plan_pointwise(as_plain, matmul);
  const auto made_gathered = plan_gathered(as_gathered, problem);
  if (!made_plain && !made_gathered) return made_plain;
  const bool flattened =
      made_gathered && as_gathered.competed && gathered.steps.front().kernel.stem.starts_with("conv2d");
  const bool take_gathered = !made_plain || (flattened && (!as_plain.competed || as_gathered.cost < as_plain.cost));
  Plan& taken = take_gathered ? gathered : plain;
  Plan& other = take_gathered ? plain : gathered;
  std::vector<Candidate> candidates = std::move(taken.candidates);
  std::ranges::move(other.candidates, std::back_inserter(candidates));
  const Job& own = take_gathered ? as_gathered : as_plain;
  take(job, {std::move(taken), own.chose, own.competed, own.cost}, std::move(candidates));
  return {};
}

// With alpha = 0 neither X, W nor a scale is read: the same as without input channels.
Conv2dProblem without_products(const Conv2dProblem& problem) {
  Conv2dProblem p = problem;
  p.c = 0;
  p.groups = 1;
  p.scale = p.x_scale = p.x_bias = p.x_relu = false;
  p.x_type = p.w_type = p.type;
  p.w_format = WeightFormat::plain;
  p.x_pitch = 0;
  return p;
}

}  // namespace

Result<void> Operation<Conv2dProblem>::plan(Job& job, const Conv2dProblem& problem) {
  auto specs = operands(problem);
  if (!specs) return std::unexpected(std::move(specs.error()));
  for (const auto& spec : *specs)
    job.plan.operands.push_back(
        {spec.name, spec.written ? OperandRole::destination : OperandRole::source, spec.bytes, spec.align});
  if (is_empty(problem)) return {};
  if (const auto epilogue = as_epilogue(problem)) return plan_pointwise(job, *epilogue);
  if (problem.alpha == 0) return plan_gathered(job, without_products(problem));
  if (const auto matmul = as_pointwise(problem); matmul && !job.options.force.starts_with("conv2d")) {
    const bool both = job.profile.kind != DeviceKind::cpu && job.options.force.empty() && matmul->image_is_b &&
                      !job.options.few_pipelines && flattens_images(problem);
    return both ? plan_pointwise_or_flattened(job, problem, *matmul) : plan_pointwise(job, *matmul);
  }
  return plan_gathered(job, problem);
}

}  // namespace sectile::detail
