#include "packing.hpp"
#include "base/arithmetic.hpp"
#include "plan/alternative.hpp"
#include "plan/cost/model.hpp"
#include "plan/gemm/context.hpp"
#include "plan/gemm/plan.hpp"
#include "plan/operand_slice.hpp"
#include "plan/permute/between.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
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
  bool turned() const { return across_k && type == DType::i8; }
  // As it is packed.
  std::int64_t packed_lines() const { return turned() ? length : lines; }
  // Rows of 128 bytes and more begin at multiples of 128: 64 elements of a row then lie in one line of the L2, not two.
  std::int64_t packed_ld() const {
    const std::int64_t row = turned() ? lines : length;
    const std::int64_t each = (row * size_bytes(type) < 128 ? 16 : 128) / size_bytes(type);
    return (row + each - 1) / each * each;
  }
  // The most that there is where it is more: batches may overlap as they lie.
  std::uint64_t packed_bytes() const { return bytes_of(packed_lines(), packed_ld()); }
  std::uint64_t moved_bytes() const { return bytes_of(lines, length); }
  std::uint64_t bytes_of(std::int64_t rows, std::int64_t elements) const {
    std::uint64_t bytes = 0;
    const auto matrix = static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(elements);
    const bool over = mul_overflow(matrix, static_cast<std::uint64_t>(batches) * size_bytes(type), &bytes);
    return over ? std::numeric_limits<std::uint64_t>::max() : bytes;
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
    if (b)
      g.transpose_b = true;
    else
      g.transpose_a = false;
  }
};

// Whether the matrix unit's kernels would load it otherwise if it were packed.
bool gains(const Gemm& g, const Stored& s) {
  if (s.type != g.type || (s.b ? g.b_format != WeightFormat::plain : g.a_scale)) return false;
  return s.turned() || !rows_at_16_bytes(g, s.b);
}

struct Variant {
  std::vector<Stored> sides;
  std::string suffix;
};

// What packing an operand costs at least: it is read and written once.
std::int64_t least_cost(const GemmGpuCost& model, const std::vector<Stored>& sides) {
  std::uint64_t bytes = 0;
  for (const Stored& side : sides) bytes += 2 * side.moved_bytes();
  return static_cast<std::int64_t>(bytes / model.dram_bytes * model.clock_picoseconds);
}

// The plan with these operands packed, if it costs less than `below`. Its candidates have their whole costs and names.
Result<Alternative> plan_packed(const Job& job, const Gemm& gemm, const Variant& variant, const std::string& force,
                                std::int64_t below) {
  const bool bounded = below != kNoBound && force.empty() && !job.options.explain;
  const GemmGpuCost model = cost_model_of(job.profile).gemm;
  // What another dispatch costs beside its work. A permute's own cost is of one after another without a barrier.
  const std::int64_t step_cost = std::int64_t{model.second_step} * model.clock_picoseconds;
  if (bounded && least_cost(model, variant.sides) >= below)
    return fail(ErrorKind::unsupported, "packing", "it costs more", "");
  const auto scratch = static_cast<std::uint32_t>(job.plan.operands.size());
  std::vector<OperandSlice> parts;
  for (const PlanOperand& operand : job.plan.operands)
    parts.push_back(whole_slice(job.plan.operands, operand.name, operand.name));
  Gemm packed = gemm;
  std::vector<Step> steps;
  std::uint64_t bytes = 0;
  std::int64_t permutes_cost = 0;
  for (const Stored& side : variant.sides) {
    OperandSlice& part = parts[side.b ? 1 : 0];
    const OperandSlice to{part.name, scratch, aligned_scratch(bytes), side.packed_bytes(), kScratchAlign};
    auto made = permute_between(job.profile, {.kernels = job.options.kernels}, side.permute(), part, to);
    if (!made) return std::unexpected(made.error());
    permutes_cost += made->cost + step_cost;
    std::ranges::move(made->steps, std::back_inserter(steps));
    part = to;
    bytes = to.offset + to.bytes;
    side.replace_in(packed);
  }
  const auto& limit = job.options.max_scratch_bytes;
  const std::uint64_t taken = aligned_scratch(bytes);
  if (limit && bytes > *limit)
    return fail(ErrorKind::limit_exceeded, "scratch", fmt::format("{}", bytes), fmt::format("{}", *limit));
  PlanOptions options = job.options;
  options.force = force;
  if (limit) options.max_scratch_bytes = *limit - std::min(taken, *limit);
  Alternative out;
  out.plan.problem = job.plan.problem;
  out.plan.operands = as_operands(parts);
  Job own{job.profile, options, out.plan, job.extra};
  own.units_only = true;  // the others take operands as they lie
  if (bounded) own.useful_below = std::max<std::int64_t>(below - permutes_cost, 1);
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
  out.plan.choice.candidate += variant.suffix;
  for (Candidate& candidate : out.plan.candidates) {
    candidate.name += variant.suffix;
    if (!candidate.refusal.empty()) continue;
    candidate.cost += permutes_cost;
    candidate.detail += fmt::format(" permutes={} scratch={}", steps.size(), taken);
  }
  out.chose = own.chose;
  out.competed = own.competed;
  out.cost = own.cost + permutes_cost;
  return out;
}

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
  std::vector<Candidate> candidates;
  std::optional<Alternative> best;
  // An observer sees candidates of operands as they lie.
  const bool none = job.options.few_pipelines || job.observer != nullptr;
  // Packed operands first: those as they lie take longer to count, and most of their rows then cost more.
  for (const Variant& variant : none ? std::vector<Variant>() : variants_of(gemm, job.profile)) {
    const bool forced = force.ends_with(variant.suffix);
    if (!force.empty() && !forced) continue;
    auto packed = plan_packed(job, gemm, variant, forced ? force.substr(0, force.size() - variant.suffix.size()) : "",
                              best && best->competed ? best->cost : kNoBound);
    if (!packed && forced) return std::unexpected(packed.error());
    if (!packed) continue;
    std::ranges::move(std::exchange(packed->plan.candidates, {}), std::back_inserter(candidates));
    if (!best || (packed->competed == best->competed ? packed->cost < best->cost : packed->competed))
      best = std::move(*packed);
  }
  if (!best || force.empty()) {
    Alternative stored;
    stored.plan.problem = job.plan.problem;
    stored.plan.operands = job.plan.operands;
    Job own{job.profile, job.options, stored.plan, job.extra, job.observer};
    if (best && best->competed) own.useful_below = best->cost + 1;
    const auto made = plan_gemm(own, gemm);
    std::ranges::move(std::exchange(stored.plan.candidates, {}), std::back_inserter(candidates));
    if (!made && !best) return made;
    if (made && !(best && best->competed && (!own.competed || best->cost < own.cost))) {
      stored.chose = own.chose;
      stored.competed = own.competed;
      stored.cost = own.cost;
      best = std::move(stored);
    }
  }
  take(job, std::move(*best), std::move(candidates));
  return {};
}

}  // namespace sectile::detail
