// Makes the steps of a GEMM candidate: words, constants, addresses (shaders/gemm/gemm.abi.h).
#include "steps.hpp"
#include "base/arithmetic.hpp"
#include "kernel_step.hpp"
#include "plan/activation.hpp"
#include "step_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace sectile::detail {

namespace {

// The byte offset in an operand of the part that belongs to row `first` of the result; 0 if all rows share the operand.
std::uint64_t row_bytes(const GemmContext& c, std::string_view name, std::int64_t first) {
  const Gemm& p = c.gemm;
  const std::int64_t out = type_bytes(c.out_type);
  std::int64_t each = 0;
  if (name == "a") each = c.a->row_step() * static_cast<std::int64_t>(type_bytes(c.a_type));
  if (name == "c") each = c.gemm.at.ldc * out;
  if (name == "d") each = c.gemm.at.ldd * out;
  if (name == "residual") each = c.gemm.at.ldr * out;
  if (name == "bias" && p.bias == PerAxis::row) each = out;
  if (name == "scale" && p.scale == PerAxis::row) each = 4;
  return static_cast<std::uint64_t>(first * each);
}

// The optional parts of a step's words.
struct WordParts {
  std::uint32_t epilogue = 0;
  bool b_scale = false;
  bool reduce = false;
  const GatheredOperand* gathered = nullptr;
};

GemmConstants constants_of(const GemmContext& c, const WordParts& parts) {
  return {.kEpilogue = parts.epilogue, .kBType = parts.b_scale ? c.b_type : std::uint32_t{SECTILE_TYPE_F32}};
}

// The strides of a destination, or of the scratch that takes its place.
struct OutputStrides {
  std::int64_t ldd, d_batch;
};

std::uint32_t word(std::int64_t value) { return static_cast<std::uint32_t>(value); }
std::uint64_t word64(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// What comes before a kernel's own words. `first`: the row of the whole result that the step begins with.
void add_shared_words(StepWords& w, const GemmContext& c, const WordParts& parts, std::int64_t first,
                      std::span<const PlanOperand> operands) {
  const auto address = [&](std::string_view name) {
    return WordAddress{find_operand(operands, name), row_bytes(c, name, first)};
  };
  const GemmConstants constants = constants_of(c, parts);
  GemmAddressWords{.c_address = address("c"),
                   .bias_address = address("bias"),
                   .scale_address = address("scale"),
                   .residual_address = address("residual"),
                   .b_scale_address = address("b.scale"),
                   .a_scale_address = address("a.scale")}
      .pack(w, constants);
  if (parts.gathered != nullptr)
    for (const std::string_view name : parts.gathered->addresses.all())
      w.add_address({find_operand(operands, name), 0});
  const ActivationParameters parameters = activation_parameters(activation_words(c.gemm), c.gemm.out == DType::i32);
  GemmActivationWords{.activation_parameter = parameters.word}.pack(w, constants);
}

// An operand that a step's words have the address of and that is not there. A pushed bias may be absent: its address is
// 0.
Result<void> check_operands(const WordParts& parts, std::span<const PlanOperand> operands) {
  const auto has = [&](std::uint32_t bits) { return (parts.epilogue & bits) != 0; };
  const std::pair<bool, std::string_view> wanted[] = {
      {!parts.reduce, "a"},
      {!parts.reduce, "b"},
      {true, "d"},
      {has(GEMM_EPILOGUE_C), "c"},
      {has(GEMM_EPILOGUE_BIAS_ROW | GEMM_EPILOGUE_BIAS_COLUMN) && !has(GEMM_EPILOGUE_PUSHED), "bias"},
      {has(GEMM_EPILOGUE_SCALE_ROW | GEMM_EPILOGUE_SCALE_COLUMN), "scale"},
      {has(GEMM_EPILOGUE_RESIDUAL), "residual"},
      {parts.b_scale, "b.scale"},
      {has(GEMM_EPILOGUE_A_SCALE), "a.scale"}};
  for (const auto& [needed, name] : wanted)
    if (needed && find_operand(operands, name) == kNoOperand)
      return fail(ErrorKind::missing, "operand", std::string(name), "one of the GEMM's operands");
  return {};
}

void add_gemm_words(StepWords& w, const GemmContext& c, const WordParts& parts, std::int64_t first, OutputStrides to,
                    std::uint32_t split_k, std::uint32_t splits) {
  const Gemm& p = c.gemm;
  GemmWords{.size_m = word(p.m),
            .size_n = word(p.n),
            .size_k = word(p.k),
            .alpha = (parts.epilogue & GEMM_EPILOGUE_SPLIT) != 0 ? 1.0f : p.alpha,
            .lda = word(p.at.lda),
            .ldb = word(p.at.ldb),
            .ldd = word(to.ldd),
            .ldc = word(p.at.ldc),
            .beta = p.beta,
            .ldr = word(p.at.ldr),
            .split_k = split_k,
            .splits = splits,
            .batches = word(p.batch),
            .a_batch = word64(p.at.a_batch),
            .b_batch = word64(p.at.b_batch),
            .d_batch = word64(to.d_batch),
            .c_batch = word64(p.at.c_batch),
            .r_batch = word64(p.at.r_batch),
            .pushed_relu = p.activation == Activation::relu ? 1u : 0u}
      .pack(w, constants_of(c, parts));
  if (parts.gathered == nullptr) return;
  const auto gathered = parts.gathered->words(first);
  for (const std::uint32_t value : gathered.all()) w.add(value);
}

// `from`: of the partial sums.
void add_reduce_words(StepWords& w, const GemmContext& c, const WordParts& parts, OutputStrides from,
                      std::uint32_t splits) {
  const Gemm& p = c.gemm;
  MatmulReduceWords{.size_m = word(p.m),
                    .size_n = word(p.n),
                    .reserved = word(p.k),
                    .alpha = p.alpha,
                    .sums_ld = word(from.ldd),
                    .reserved_2 = word(p.at.ldb),
                    .ldd = word(p.at.ldd),
                    .ldc = word(p.at.ldc),
                    .beta = p.beta,
                    .ldr = word(p.at.ldr),
                    .splits = splits,
                    .batches = word(p.batch),
                    .sums_batch = word64(from.d_batch),
                    .reserved_3 = word64(p.at.b_batch),
                    .d_batch = word64(p.at.d_batch),
                    .c_batch = word64(p.at.c_batch),
                    .r_batch = word64(p.at.r_batch),
                    .pushed_relu = p.activation == Activation::relu ? 1u : 0u}
      .pack(w, constants_of(c, parts));
}

KernelTypes types_of(const GemmContext& c, std::uint32_t out_type) { return {c.type, c.a_type, c.b_type, out_type}; }
KernelWidths widths_of(const GemmConfig& d) { return {d.width_a, d.width_b, d.width_d}; }

std::string variant_of(const GemmContext& c, const GemmConfig& d, const WordParts& parts, std::uint32_t out_type) {
  if (d.narrow) return d.base;
  return d.base + (needs_narrow(types_of(c, out_type), widths_of(d), parts.epilogue, !parts.reduce) ? ".narrow" : "");
}

void common_constants(Step& step, const GemmContext& c, const GemmConfig& d, const WordParts& parts,
                      std::uint32_t out_type) {
  step.constants = {{GEMM_SPEC_TRANS_A, c.gemm.transpose_a},
                    {GEMM_SPEC_TRANS_B, c.gemm.transpose_b},
                    {GEMM_SPEC_GROUP_M, d.group_m},
                    {GEMM_SPEC_TILE_M, d.tile_m},
                    {GEMM_SPEC_TILE_N, d.tile_n},
                    {GEMM_SPEC_TILE_K, d.tile_k}};
  add_constants(step, c.profile, d.workgroup, types_of(c, out_type), widths_of(d), parts.epilogue);
  d.own.append_to(step.constants);
  if (parts.gathered != nullptr) parts.gathered->constants(d.tile_k).append_to(step.constants);
}

// Partial sums: [batch][split][M][ldd], 4 bytes each; ldd is a multiple of 4.
OutputStrides scratch_layout(const GemmContext& c, std::uint32_t splits) {
  const std::int64_t ldd = (c.gemm.n + 3) / 4 * 4;
  return {ldd, ldd * c.gemm.m * splits};
}

// Whether 32-bit byte offsets (below 2^31, see needs_offset64() in permute/kernel_parameters.cpp) from a workgroup's
// first row reach all of its runs.
bool offsets_fit(const GemmContext& c, const GemmConfig& d, std::int64_t scratch_ld) {
  const std::int64_t rows = std::min(c.gemm.m, d.workgroup / (c.gemm.n / d.width_d) + 1);
  const std::int64_t ld = std::max({c.gemm.at.ldd, c.gemm.at.ldc, c.gemm.at.ldr, scratch_ld});
  return rows * ld + c.gemm.n < (std::int64_t{1} << 31) / 4;
}

// The step that adds the splits' partial sums in scratch (none for K = 0) and applies the epilogue.
Result<Step> reduce_step(const GemmContext& c, std::int64_t first, std::span<const PlanOperand> operands,
                         std::uint32_t scratch, std::uint32_t splits) {
  GemmConfig d;
  d.stem = "matmul_reduce";
  d.base = c.integer() ? "i8" : "f32";
  d.workgroup = std::min<std::uint32_t>(128, c.limits.workgroup_invocations);
  d.width_d = std::min(c.width_d, 4u);
  std::uint32_t absent = GEMM_EPILOGUE_A_SCALE;
  if (c.gemm.alpha == 0) absent |= GEMM_EPILOGUE_SCALE_ROW | GEMM_EPILOGUE_SCALE_COLUMN;  // of a term that is 0
  WordParts parts{.epilogue = c.epilogue & ~absent, .b_scale = false, .reduce = true};
  if (auto all = check_operands(parts, operands); !all) return std::unexpected(all.error());
  StepWords w;
  w.step.kernel = {d.stem, variant_of(c, d, parts, c.out_type)};
  w.step.workgroup = {d.workgroup, 1, 1};
  const OutputStrides from = splits == 0 ? OutputStrides{0, 0} : scratch_layout(c, splits);
  const std::uint64_t runs = static_cast<std::uint64_t>(c.gemm.m) * static_cast<std::uint64_t>(c.gemm.n / d.width_d);
  auto grid = fold_grid(ceil_div(runs, d.workgroup) * static_cast<std::uint64_t>(c.gemm.batch), c.profile);
  if (!grid) return std::unexpected(grid.error());
  w.step.grid = *grid;
  // Constants that the reduction does not use have fixed values, so that all problems share a pipeline.
  GemmContext plain = c;
  plain.type = plain.a_type = plain.b_type = c.integer() ? SECTILE_TYPE_I8 : SECTILE_TYPE_F32;
  d.tile_m = offsets_fit(c, d, from.ldd) ? 1 : 2;
  d.tile_n = d.tile_k = 1;
  common_constants(w.step, plain, d, parts, c.out_type);
  for (auto& constant : w.step.constants)
    if (constant.id == GEMM_SPEC_TRANS_A || constant.id == GEMM_SPEC_TRANS_B) constant.value = 0;
  const std::uint32_t written = find_operand(operands, "d");
  if (splits != 0) w.step.addresses.push_back({offsetof(GemmPush, a), scratch, 0});
  w.step.addresses.push_back({offsetof(GemmPush, d), written, row_bytes(c, "d", first)});
  add_shared_words(w, c, parts, first, operands);
  add_reduce_words(w, c, parts, from, splits);
  w.finish(operands, written);
  return std::move(w.step);
}

}  // namespace

std::uint32_t type_bytes(std::uint32_t type) noexcept {
  switch (type) {
    case SECTILE_TYPE_F32:
    case SECTILE_TYPE_I32:
      return 4;
    case SECTILE_TYPE_F16:
    case SECTILE_TYPE_BF16:
      return 2;
    default:
      return 1;
  }
}

bool rows_fit(const char* what, std::int64_t rows, std::int64_t ld, std::int64_t run, std::uint32_t type,
              Refusal& refusal) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  const std::int64_t bytes = type_bytes(type);
  return ((rows - 1) * ld + run) * bytes < kLimit ||
         refusal.no("{} rows of {}, {} bytes apart, need offsets beyond 2^31 bytes", rows, what, ld * bytes);
}

bool gemm_fits(const GemmContext& c, const GemmConfig& d, Refusal& refusal) {
  const Gemm& p = c.gemm;
  if (d.workgroup > c.limits.workgroup_invocations || d.workgroup > c.limits.workgroup_x)
    return refusal.no("workgroup of {} invocations, the device allows {}", d.workgroup, c.limits.workgroup_invocations);
  const std::uint32_t memory =
      has_dynamic_memory(d.unit) ? c.limits.dynamic_workgroup_memory : c.limits.workgroup_memory;
  if (const std::uint32_t bytes = d.staging.memory_bytes(); bytes > memory)
    return refusal.no("workgroup memory of {} bytes, the device allows {}", bytes, memory);
  // Tiles of whole clusters, also those beyond the result.
  const std::uint64_t tiles = gemm_cluster_tiles(c, d) * d.warpgroups.cluster_k;
  if (const std::uint64_t groups = saturated_product(tiles, gemm_batches(c)); groups >= kMaxIds)
    return refusal.no("needs {} workgroups, 2^31 - 1 are possible", groups);
  const auto rows = std::min<std::int64_t>(d.span_m != 0 ? d.span_m : d.tile_m, p.m);
  const auto columns = std::min<std::int64_t>(d.span_n != 0 ? d.span_n : d.tile_n, p.n);
  const std::uint32_t step = d.span_k != 0 ? d.span_k : d.tile_k;
  // The batches that a tile has columns of begin so far apart.
  const auto batches = [&](std::int64_t stride) {
    const std::int64_t most = (d.tile_n - 1) / std::max<std::int64_t>(p.n, 1) + 1;
    return c.flattened_batch() ? std::min(most, p.batch - 1) * stride : 0;
  };
  // A gathered operand first, for which the whole tile counts.
  if (c.gathered != nullptr && !c.gathered->offsets_fit(c.gathered->is_b ? d.tile_n : d.tile_m, step, refusal))
    return false;
  if (c.gathered_side(false) == nullptr && !c.a->offsets_fit(rows, step, refusal)) return false;
  if (c.gathered_side(true) == nullptr && !c.b->offsets_fit(columns, step, refusal)) return false;
  if (!rows_fit(
          "d", rows, std::max({p.at.ldd, p.at.ldc, p.at.ldr}),
          columns + batches(std::max({p.at.d_batch, reads_c(p) ? p.at.c_batch : 0, p.residual ? p.at.r_batch : 0})),
          c.out_type, refusal))
    return false;
  return narrow_accesses_fit(c, d, refusal);
}

bool narrow_accesses_fit(const GemmContext& c, const GemmConfig& d, Refusal& refusal) {
  const WordParts parts{.epilogue = c.epilogue, .b_scale = false, .reduce = false};
  return narrow_accesses_fit(c.profile, variant_of(c, d, parts, c.out_type), c.integer(), refusal);
}

std::int64_t gemm_columns(const GemmContext& c) noexcept {
  return c.flattened_batch() ? c.gemm.n * c.gemm.batch : c.gemm.n;
}
std::uint64_t gemm_batches(const GemmContext& c) noexcept {
  return c.flattened_batch() ? 1 : static_cast<std::uint64_t>(c.gemm.batch);
}

std::uint64_t gemm_tiles(const GemmContext& c, const GemmConfig& d) noexcept {
  return ceil_div(static_cast<std::uint64_t>(c.gemm.m), d.tile_m) *
         ceil_div(static_cast<std::uint64_t>(gemm_columns(c)), d.tile_n);
}

std::uint64_t gemm_cluster_tiles(const GemmContext& c, const GemmConfig& d) noexcept {
  const std::uint64_t along_m = d.warpgroups.cluster_m, along_n = d.warpgroups.cluster_n;
  return ceil_div(static_cast<std::uint64_t>(c.gemm.m), d.tile_m * along_m) * along_m *
         ceil_div(static_cast<std::uint64_t>(gemm_columns(c)), d.tile_n * along_n) * along_n;
}

std::uint64_t gemm_scratch_bytes(const GemmContext& c, const GemmConfig& d) noexcept {
  const bool tail = d.tail_rows != 0;
  const std::uint32_t splits = tail ? d.tail_splits : d.splits;
  if (splits <= 1) return 0;
  const std::uint64_t rows = tail ? d.tail_rows : static_cast<std::uint64_t>(c.gemm.m);
  return 4 * static_cast<std::uint64_t>(scratch_layout(c, 1).ldd) * rows * splits *
         static_cast<std::uint64_t>(c.gemm.batch);
}

std::uint64_t gemm_tail_tiles(const GemmContext& c, const GemmConfig& d) noexcept {
  return ceil_div(std::uint64_t{d.tail_rows}, d.tile_m) *
         ceil_div(static_cast<std::uint64_t>(gemm_columns(c)), d.tile_n);
}

namespace {

// Where a GEMM's results or partial sums go.
struct Destination {
  OutputStrides into;
  std::uint32_t out_type = 0, operand = 0;
  std::uint64_t byte_offset = 0;
};

Result<Step> product_step(const GemmContext& c, const GemmConfig& d, const WordParts& parts, const Destination& to,
                          std::int64_t first, std::uint64_t groups, std::span<const PlanOperand> operands) {
  if (auto all = check_operands(parts, operands); !all) return std::unexpected(all.error());
  StepWords w;
  w.step.kernel = {d.stem, variant_of(c, d, parts, to.out_type)};
  w.step.workgroup = {d.workgroup, 1, 1};
  w.step.required_subgroup_size = d.required_subgroup_size;
  w.step.workgroup_memory_bytes = d.staging.memory_bytes();
  auto grid = kernel_grid(c.profile, groups);
  if (!grid) return std::unexpected(grid.error());
  w.step.grid = *grid;
  common_constants(w.step, c, d, parts, to.out_type);
  w.step.addresses = {{offsetof(GemmPush, a), find_operand(operands, "a"), row_bytes(c, "a", first)},
                      {offsetof(GemmPush, b), find_operand(operands, "b"), 0},
                      {offsetof(GemmPush, d), to.operand, to.byte_offset}};
  add_shared_words(w, c, parts, first, operands);
  const auto steps_k = ceil_div(static_cast<std::uint64_t>(c.gemm.k), d.tile_k);
  const auto split_k = static_cast<std::uint32_t>(ceil_div(steps_k, d.splits) * d.tile_k);
  add_gemm_words(w, c, parts, first, to.into, split_k, d.splits);
  w.finish(operands, to.operand);
  if (d.finish != nullptr) d.finish(c, d, w.step);
  return std::move(w.step);
}

WordParts parts_of(const GemmContext& c) {
  return {.epilogue = c.epilogue, .b_scale = c.b_type >= SECTILE_TYPE_Q8, .reduce = false, .gathered = c.gathered};
}

// Adds the steps for a part of the result; `first` is the part's first row in the whole result.
Result<void> add_steps(std::vector<Step>& steps, const GemmContext& c, GemmConfig config, std::int64_t first,
                       std::span<PlanOperand> operands, std::uint64_t& scratch_bytes) {
  const std::uint32_t splits = config.splits;
  WordParts parts = parts_of(c);
  const auto scratch = static_cast<std::uint32_t>(operands.size() - 1);
  Destination to{{c.gemm.at.ldd, c.gemm.at.d_batch}, c.out_type, find_operand(operands, "d"), row_bytes(c, "d", first)};
  if (splits > 1) {
    parts.epilogue = (c.epilogue & (GEMM_EPILOGUE_A_SCALE | GEMM_EPILOGUE_BATCHED)) | GEMM_EPILOGUE_SPLIT;
    to = {scratch_layout(c, splits), static_cast<std::uint32_t>(c.integer() ? SECTILE_TYPE_I32 : SECTILE_TYPE_F32),
          scratch, 0};
    // A row's last access must not pass N, so the width divides N.
    config.width_d = config.access_of_d(c.gemm.n % 4 == 0 ? 4u : c.gemm.n % 2 == 0 && !c.few_pipelines ? 2u : 1u);
    if (c.few_pipelines && c.width_d == 1) config.width_d = 1;
    scratch_bytes = std::max<std::uint64_t>(
        scratch_bytes, 4 * static_cast<std::uint64_t>(to.into.d_batch) * static_cast<std::uint64_t>(c.gemm.batch));
    operands[scratch].bytes = scratch_bytes;
  }
  const std::uint64_t groups = gemm_tiles(c, config) * splits * gemm_batches(c);
  auto step = product_step(c, config, parts, to, first, groups, operands);
  if (!step) return std::unexpected(step.error());
  steps.push_back(std::move(*step));
  if (splits <= 1) return {};
  auto reduce = reduce_step(c, first, operands, scratch, splits);
  if (!reduce) return std::unexpected(reduce.error());
  reduce->barrier_before = true;  // orders the writes of the partial sums before their reads
  steps.push_back(std::move(*reduce));
  return {};
}

}  // namespace

Result<std::vector<Step>> gemm_steps(const GemmContext& c, const GemmConfig& d, std::span<PlanOperand> operands,
                                     std::uint64_t& scratch_bytes) {
  std::vector<Step> steps;
  if (d.tail_rows == 0) {
    if (auto added = add_steps(steps, c, d, 0, operands, scratch_bytes); !added) return std::unexpected(added.error());
    return steps;
  }
  // No barrier between these steps: one writes D, the other scratch, and their workgroups can run at the same time.
  const std::int64_t whole = c.gemm.m - d.tail_rows;
  for (const auto& [first, rows, splits] :
       {std::tuple{std::int64_t{0}, whole, 1u}, std::tuple{whole, std::int64_t{d.tail_rows}, d.tail_splits}}) {
    GemmContext part = c;
    part.gemm.m = rows;
    GemmConfig config = d;
    config.splits = splits;
    if (auto added = add_steps(steps, part, config, first, operands, scratch_bytes); !added)
      return std::unexpected(added.error());
  }
  return steps;
}

Result<std::vector<Step>> gemm_epilogue_alone(const GemmContext& c, std::span<PlanOperand> operands) {
  auto step = reduce_step(c, 0, operands, kNoOperand, 0);
  if (!step) return std::unexpected(step.error());
  if (const std::uint32_t bytes = absent_access(c.profile, step->kernel.variant, c.integer()); bytes != 0)
    return fail(ErrorKind::unsupported, fmt::format("accesses of {} bytes on {}", bytes, c.profile.name), "absent",
                "present");
  return std::vector<Step>{std::move(*step)};
}

}  // namespace sectile::detail
