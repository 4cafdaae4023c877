// matmul_coopmat2: a workgroup's tile is one matrix at workgroup scope, with tensor addressing
// (VK_NV_cooperative_matrix2).
#include "context.hpp"
#include "split.hpp"

#include "gemm/matmul_coopmat2.abi.h"

#include <algorithm>
#include <optional>

namespace sectile::detail {

namespace matmul_coopmat2 {
namespace {

struct Row {
  std::uint32_t tile_m, tile_n, tile_k, invocations;
  std::uint32_t unroll = 1;        // unrolled steps of K
  bool half_accumulators = false;  // f16 accumulators only: f32 ones would not fit the registers
};

// NVIDIA H200 (driver 580.159.04, 2026-11-22), nt, n = 4096, TFLOP/s. The driver takes 12 to 48 KiB of workgroup memory
// for these rows. Two unrolled steps of 128x256x64 would take 48128 bytes with f32 accumulators (187); with f16 ones
// they fit (245).
// clang-format off
constexpr Row kTable[] = {
    {.tile_m = 256, .tile_n = 256, .tile_k = 32, .invocations = 256,
     .half_accumulators = true},   // 246 (f16 accumulators)
    {.tile_m = 128, .tile_n = 256, .tile_k = 64, .invocations = 256, .unroll = 2,
     .half_accumulators = true},   // 245
    {.tile_m = 128, .tile_n = 256, .tile_k = 64, .invocations = 256},   // 197 (f32), nn 201
    {.tile_m = 256, .tile_n = 128, .tile_k = 64, .invocations = 256},  // 180
    {.tile_m = 128, .tile_n = 128, .tile_k = 64, .invocations = 256},  // 180
    {.tile_m = 128, .tile_n = 128, .tile_k = 32, .invocations = 256},  // 187
    {.tile_m = 64, .tile_n = 128, .tile_k = 64, .invocations = 256},
    {.tile_m = 64, .tile_n = 64, .tile_k = 64, .invocations = 128},
    {.tile_m = 32, .tile_n = 64, .tile_k = 64, .invocations = 128},
    {.tile_m = 64, .tile_n = 32, .tile_k = 64, .invocations = 128},
    {.tile_m = 32, .tile_n = 32, .tile_k = 64, .invocations = 128},
};
constexpr Row kRetired[] = {
    {.tile_m = 128, .tile_n = 64, .tile_k = 64, .invocations = 256},
};
// clang-format on

constexpr const Row& row_of(std::uint32_t row) { return row_in(kTable, kRetired, row); }

// What the driver's compiler is taken to need besides accumulators, fragments and loads in flight too. Not measured.
constexpr std::uint32_t kOtherRegisters = 112;

constexpr std::uint32_t accumulators_of(const Row& r, bool half) {
  return registers_of_share(r.tile_m * r.tile_n, half ? 2 : 4, r.invocations);
}
// NVIDIA's GPUs have 255 for an invocation.
consteval bool rows_fit(std::span<const Row> rows) {
  return std::ranges::all_of(
      rows, [](const Row& r) { return accumulators_of(r, r.half_accumulators) + kOtherRegisters <= 255; });
}
static_assert(rows_fit(kTable) && rows_fit(kRetired));

const char* component(std::uint32_t type) {
  return type == SECTILE_TYPE_F16 ? "f16" : type == SECTILE_TYPE_BF16 ? "bf16" : "s8";
}

// Flexible dimensions: the tile's sizes must be multiples of a listed shape's.
bool lists(const GemmContext& c, const Row& r, std::string_view sums) {
  return std::ranges::any_of(c.profile.matrix_shapes, [&](const MatrixShape& s) {
    return s.scope == "workgroup" && s.flexible && !s.saturating && s.workgroup_invocations == r.invocations &&
           s.a == component(c.type) && s.b == s.a && s.c == sums && s.result == s.c && r.tile_m % s.m == 0 &&
           r.tile_n % s.n == 0 && r.tile_k % s.k == 0;
  });
}

// Sums of acc=f16 may be kept in f16, and are kept in f32 where the device has no such shape.
bool sums_in_f16(const GemmContext& c, const Row& r) {
  return !c.integer() && c.gemm.acc == DType::f16 && lists(c, r, "f16");
}

bool ragged(const GemmContext& c, const Row& r) {
  const auto& p = c.gemm;
  return p.m % r.tile_m != 0 || p.n % r.tile_n != 0 || p.k % (std::int64_t{r.tile_k} * r.unroll) != 0;
}

GemmConfig make(const GemmContext& c, std::uint32_t row) {
  const Row& r = row_of(row);
  GemmConfig d;
  d.stem = "matmul_coopmat2";
  d.narrow = true;
  const bool half = sums_in_f16(c, r);
  d.base = c.integer() ? "i8" : c.type == SECTILE_TYPE_BF16 ? "bf16" : half ? "f16.f16" : "f16";
  d.tile_m = r.tile_m;
  d.tile_n = r.tile_n;
  d.tile_k = r.tile_k;
  d.workgroup = r.invocations;
  d.required_subgroup_size = c.profile.subgroup_size.value_or(32);
  d.width_a = c.width_a;
  d.width_b = c.width_b;
  d.width_d = c.width_d;
  d.run_d = 8;
  d.staging.reserved_bytes = c.profile.matrix_reserved_workgroup_memory_bytes.value_or(0);
  d.staging.taken_bytes = c.model.gemm.driver_staged_bytes;
  d.staging.registers.accumulators = accumulators_of(r, half);
  d.staging.registers.others = kOtherRegisters;
  d.unit = Unit::coopmat2;
  d.table = CostTable::matmul_coopmat2;
  d.row = row;
  // Clamping at the edges costs a little, rows that are not multiples of 16 bytes most of the rest.
  if (ragged(c, r)) d.rate_factors.add(&GemmGpuCost::ragged);
  const std::uint32_t bytes = type_bytes(c.type);
  if (std::min(d.width_a, d.width_b) * bytes < std::min(16u, 8 * bytes))
    d.rate_factors.add(&GemmGpuCost::short_accesses);
  d.group_m = group_of_tiles(c, d);
  d.add(MATMUL_COOPMAT2_SPEC_RAGGED, ragged(c, r) ? 1 : 0);
  d.add(MATMUL_COOPMAT2_SPEC_UNROLL, ragged(c, r) ? 1 : r.unroll);
  return d;
}

bool applicable(const GemmContext& c, std::uint32_t row, Refusal& refusal) {
  const Row& r = row_of(row);
  const DeviceProfile& p = c.profile;
  if (p.api != Api::vulkan) return refusal.no("the kernel exists for Vulkan only");
  if (!(p.cooperative_matrix.value_or(false) && p.cooperative_matrix2.value_or(false)))
    return refusal.no("the device lists no VK_NV_cooperative_matrix2");
  if (!p.cooperative_matrix_workgroup_scope.value_or(false))
    return refusal.no("the device has no matrices at workgroup scope");
  if (!p.cooperative_matrix_tensor_addressing.value_or(false)) return refusal.no("the device has no tensor addressing");
  if (c.type == SECTILE_TYPE_F32) return refusal.no("the kernel multiplies f16, bf16 and i8 only");
  if (c.a_type != c.type || c.b_type != c.type || c.gemm.a_scale)
    return refusal.no("the kernel does not convert operands");
  if (c.type == SECTILE_TYPE_F16 && c.out_type == SECTILE_TYPE_BF16)
    return refusal.no("the kernel does not convert f16 products to bf16");
  if (c.integer() && c.out_type == SECTILE_TYPE_BF16)
    return refusal.no("the kernel does not convert int8 products to bf16");
  const bool half = sums_in_f16(c, r);
  if (r.half_accumulators && !half) return refusal.no("only f16 accumulators fit the registers");
  const char* const sums = c.integer() ? "s32" : half ? "f16" : "f32";
  if (!lists(c, r, sums))
    return refusal.no(
        "the device lists no {} x {} -> {} matrix for a workgroup of {} invocations that divides {}x{}x{}",
        component(c.type), component(c.type), sums, r.invocations, r.tile_m, r.tile_n, r.tile_k);
  if (r.unroll > 1 && ragged(c, r)) return refusal.no("unrolled steps need whole tiles");
  if (p.matrix_max_workgroup_invocations && r.invocations > *p.matrix_max_workgroup_invocations)
    return refusal.no("workgroup of {} invocations, matrices at workgroup scope allow {}", r.invocations,
                      *p.matrix_max_workgroup_invocations);
  if (!(p.storage8.value_or(false) && p.storage16.value_or(false)))
    return refusal.no("needs accesses of 1 and 2 bytes, which the device lacks");
  if (!p.float16.value_or(false))
    return refusal.no("needs f16 arithmetic, which the device lacks");  // results may be f16
  if (c.type == SECTILE_TYPE_BF16 && !p.bfloat16.value_or(false))
    return refusal.no("needs bf16, which the device lacks");
  if (c.integer() && !p.int8.value_or(false)) return refusal.no("needs 8-bit integers, which the device lacks");
  if (!subgroup_size_is_certain(p))
    return refusal.no("the device does not support a required subgroup size of {}", p.subgroup_size.value_or(32));
  return gemm_fits(c, make(c, row), refusal);
}

Eligibility eligibility(const GemmContext&, std::uint32_t) { return Eligibility::candidate; }

// The driver decides how to load the tiles; only their bytes are known.
GemmEstimate estimate(const GemmContext& c, std::uint32_t, const GemmConfig& d) {
  GemmEstimate e;
  const std::uint64_t bytes = std::uint64_t{d.tile_m + d.tile_n} * d.tile_k * type_bytes(c.type);
  e.interior.load_transactions = e.interior.ideal_load_transactions = bytes / c.profile.transaction_bytes.value_or(32);
  return e;
}

std::string print_row(const Row& r) {
  return fmt::format("{}x{}x{} wg{}{}{}", r.tile_m, r.tile_n, r.tile_k, r.invocations,
                     r.unroll > 1 ? fmt::format(" u{}", r.unroll) : "", r.half_accumulators ? " acc=f16" : "");
}
std::string print(const GemmContext&, std::uint32_t row) { return print_row(row_of(row)); }

constexpr GemmStrategy kStrategy = {.stem = "matmul_coopmat2",
                                    .costs = CostTable::matmul_coopmat2,
                                    .rows = std::size(kTable),
                                    .applicable = applicable,
                                    .make = make,
                                    .estimate = estimate,
                                    .eligibility = eligibility,
                                    .print = print,
                                    .retired = std::size(kRetired)};

}  // namespace
}  // namespace matmul_coopmat2

const GemmStrategy kGemmCoopmat2 = matmul_coopmat2::kStrategy;
std::vector<std::string> matmul_coopmat2_rows() {
  return names_of(matmul_coopmat2::kTable, matmul_coopmat2::print_row);
}

}  // namespace sectile::detail
