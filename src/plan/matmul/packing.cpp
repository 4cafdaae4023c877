#include "packing.hpp"
#include "plan/cost/model.hpp"
#include "plan/gemm/plan.hpp"
#include "plan/operand_slice.hpp"
#include "plan/permute/between.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace sectile::detail {

namespace {

// A stored operand: lines of `length` elements, `ld` apart.
struct Stored {
  bool b = false;
  DType type{};
  std::int64_t lines = 0, length = 0, ld = 0, batches = 1, batch = 0;
  std::uint32_t align = 16;
  bool across_k = false;

  Stored(const Gemm& g, bool of_b)
      : b(of_b),
        type(of_b ? g.b_type : g.a_type),
        ld(of_b ? g.at.ldb : g.at.lda),
        batch(of_b ? g.at.b_batch : g.at.a_batch),
        align(of_b ? g.b_align : g.a_align),
        across_k(of_b ? !g.transpose_b : g.transpose_a) {
    const std::int64_t rows = of_b ? g.n : g.m;
    lines = across_k ? g.k : rows;
    length = across_k ? rows : g.k;
    // Batches that are one matrix are packed once.
    if (g.batch > 1 && batch != 0) batches = g.batch;
  }
  std::int64_t bytes_of(std::int64_t elements) const { return elements * size_bytes(type); }
  bool turned() const { return across_k && type == DType::i8; }
  bool aligned() const {
    return align % 16 == 0 && bytes_of(ld) % 16 == 0 && (batches == 1 || bytes_of(batch) % 16 == 0);
  }
  // As it is packed.
  std::int64_t packed_lines() const { return turned() ? length : lines; }
  std::int64_t packed_ld() const {
    const std::int64_t each = 16 / size_bytes(type);
    return ceil_div(turned() ? lines : length, each) * each;
  }
  std::uint64_t packed_bytes() const {
    return static_cast<std::uint64_t>(bytes_of(batches * packed_lines() * packed_ld()));
  }
  PermuteProblem permute() const {
    PermuteProblem p;
    p.type = type;
    p.shape = {batches, lines, length};
    p.axes = turned() ? std::vector{0, 2, 1} : std::vector{0, 1, 2};
    p.src_strides = {batches > 1 ? batch : lines * ld, ld, 1};
    p.dst_strides = {packed_lines() * packed_ld(), packed_ld(), 1};
    p.src_align = align;
    p.dst_align = kScratchAlign;
    return p;
  }
  void replace_in(Gemm& g) const {
    (b ? g.at.ldb : g.at.lda) = packed_ld();
    (b ? g.at.b_batch : g.at.a_batch) = batches > 1 ? packed_lines() * packed_ld() : 0;
    (b ? g.b_align : g.a_align) = kScratchAlign;
    if (!turned()) return;
    if (b) g.transpose_b = true;
    else g.transpose_a = false;
  }
};

// Whether the matrix unit's kernels would load it otherwise if it were packed.
bool gains(const Gemm& g, const Stored& s) {
  if (s.type != g.type || (s.b ? g.b_format != WeightFormat::plain : g.a_scale)) return false;
  return s.turned() || !s.aligned();
}

struct Packed {
  Plan plan;
  std::int64_t cost = 0;
  bool competed = false;
};

// The plan with these operands packed. Its candidates have their whole costs and names.
Result<Packed> plan_packed(const Job& job, const Gemm& gemm, const std::vector<Stored>& sides,
                           const std::string& suffix, const std::string& force) {
  const auto scratch = static_cast<std::uint32_t>(job.plan.operands.size());
  std::vector<OperandSlice> parts;
  for (const PlanOperand& operand : job.plan.operands)
    parts.push_back(whole_slice(job.plan.operands, operand.name, operand.name));
  Gemm packed = gemm;
  std::vector<Step> steps;
  std::uint64_t bytes = 0;
  std::int64_t permutes_cost = 0;
  for (const Stored& side : sides) {
    OperandSlice& part = parts[side.b ? 1 : 0];
    const OperandSlice to{part.name, scratch, aligned_scratch(bytes), side.packed_bytes(), kScratchAlign};
    auto made = permute_between(job.profile, {.kernels = job.options.kernels}, side.permute(), part, to);
    if (!made) return std::unexpected(made.error());
    permutes_cost += made->cost;
    std::ranges::move(made->steps, std::back_inserter(steps));
    part = to;
    bytes = to.offset + to.bytes;
    side.replace_in(packed);
  }
  const auto& limit = job.options.max_scratch_bytes;
  const std::uint64_t taken = aligned_scratch(bytes);
  if (limit && taken > *limit) return fail(ErrorKind::limit_exceeded, "scratch", fmt::format("{}", taken), "");
  PlanOptions options = job.options;
  options.force = force;
  if (limit) options.max_scratch_bytes = *limit - taken;
  Packed out;
  out.plan.problem = job.plan.problem;
  out.plan.operands = as_operands(parts);
  Job own{job.profile, options, out.plan, job.extra};
  if (auto made = plan_gemm(own, packed); !made) return std::unexpected(made.error());
  if (out.plan.operands.size() > parts.size()) {
    parts.push_back({"scratch", scratch, taken, out.plan.operands.back().bytes, kScratchAlign});
    bytes = taken + parts.back().bytes;
  }
  place(out.plan.steps, parts);
  // orders the writes of the packed operands before the reads of the GEMM's first step
  out.plan.steps.front().barrier_before = true;
  out.plan.steps.insert(out.plan.steps.begin(), std::make_move_iterator(steps.begin()),
                        std::make_move_iterator(steps.end()));
  out.plan.operands = job.plan.operands;
  out.plan.operands.push_back({"scratch", OperandRole::scratch, bytes, kScratchAlign});
  out.plan.choice.candidate += suffix;
  for (Candidate& candidate : out.plan.candidates) {
    candidate.name += suffix;
    if (!candidate.refusal.empty()) continue;
    candidate.cost += permutes_cost;
    candidate.detail += fmt::format(" permutes={} scratch={}", steps.size(), taken);
  }
  out.cost = own.cost + permutes_cost;
  out.competed = own.competed;
  return out;
}

// What packing an operand costs at least: it is read and written once.
std::int64_t least_cost(const DeviceProfile& profile, const std::vector<Stored>& sides) {
  const GemmGpuCost& model = cost_model_of(profile).gemm;
  std::uint64_t bytes = 0;
  for (const Stored& side : sides) bytes += 2 * side.packed_bytes();
  return static_cast<std::int64_t>(bytes / model.dram_bytes * model.clock_picoseconds);
}

struct Variant {
  std::vector<Stored> sides;
  std::string suffix;
};

// The ways to pack operands that may cost less. Scratch beyond 1 GiB would be no small part of a device's memory.
std::vector<Variant> variants_of(const Gemm& gemm, const DeviceProfile& profile) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  std::vector<Variant> variants;
  const bool unit = profile.api == Api::cuda && !profile.matrix_units.empty() && gemm.type != DType::f32;
  if (!unit || is_empty(gemm) || reads_no_product(gemm)) return variants;
  const Stored a(gemm, false), b(gemm, true);
  const bool pack_a = gains(gemm, a) && a.packed_bytes() <= kMostBytes,
             pack_b = gains(gemm, b) && b.packed_bytes() <= kMostBytes;
  if (pack_a && pack_b) variants.push_back({{a, b}, " pack=ab"});
  if (pack_a) variants.push_back({{a}, " pack=a"});
  if (pack_b) variants.push_back({{b}, " pack=b"});
  return variants;
}

}  // namespace

Result<void> plan_packed_or_stored(Job& job, const Gemm& gemm) {
  const std::string& force = job.options.force;
  Plan stored;
  stored.problem = job.plan.problem;
  stored.operands = job.plan.operands;
  Job as_stored{job.profile, job.options, stored, job.extra, job.observer};
  auto made = plan_gemm(as_stored, gemm);
  Plan* best = made ? &stored : nullptr;
  std::vector<Candidate> others = std::exchange(stored.candidates, {});
  std::vector<Packed> packed;
  packed.reserve(3);
  bool competed = as_stored.competed;
  std::int64_t cost = as_stored.cost;
  for (const Variant& variant : job.options.few_pipelines ? std::vector<Variant>() : variants_of(gemm, job.profile)) {
    const bool forced = force.ends_with(variant.suffix);
    if (!force.empty() && !forced) continue;
    if (force.empty() && !job.options.explain && made && competed && least_cost(job.profile, variant.sides) >= cost)
      continue;
    auto plan = plan_packed(job, gemm, variant.sides, variant.suffix,
                            forced ? force.substr(0, force.size() - variant.suffix.size()) : "");
    if (!plan) continue;
    packed.push_back(std::move(*plan));
    Packed& own = packed.back();
    std::ranges::move(std::exchange(own.plan.candidates, {}), std::back_inserter(others));
    if (best != nullptr && (own.competed == competed ? own.cost >= cost : competed)) continue;
    best = &own.plan;
    cost = own.cost;
    competed = own.competed;
  }
  if (best == nullptr) return made;
  job.plan.operands = std::move(best->operands);
  job.plan.steps = std::move(best->steps);
  job.plan.choice.candidate = best->choice.candidate;
  for (Candidate& candidate : others) candidate.chosen = candidate.name == best->choice.candidate;
  job.plan.candidates = std::move(others);
  job.chose = as_stored.chose || best != &stored;
  job.competed = competed;
  job.cost = cost;
  return {};
}

}  // namespace sectile::detail
