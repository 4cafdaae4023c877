// A GEMM on a device, a candidate's config, and what every strategy asks of them.
#pragma once

#include "gemm.hpp"
#include "operand.hpp"
#include "plan/access/limits.hpp"
#include "plan/access/walk.hpp"
#include "plan/cost/model.hpp"
#include "plan/extra_rows.hpp"
#include "plan/strategy.hpp"
#include "rows.hpp"
#include "staging.hpp"
#include "unit.hpp"

#include "gemm/gemm.abi.h"

#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sectile::detail {

struct GemmEstimate {
  AccessCount interior;             // of one step of K of one workgroup; bank conflicts include fragment loads
  std::uint64_t gathered_runs = 0;  // that an invocation of a gathered operand loads in a step
};

// A copy stays valid by itself, but for the profile and the extra rows.
struct GemmContext {
  using Estimate = GemmEstimate;

  Gemm gemm;
  const DeviceProfile& profile;
  CostModel model;
  Limits limits;
  std::uint32_t epilogue = 0;                                    // GEMM_EPILOGUE bits, without SPLIT
  std::uint32_t a_type = 0, b_type = 0, type = 0, out_type = 0;  // SECTILE_TYPEs
  std::shared_ptr<const GemmOperand> a, b;
  const GatheredOperand* gathered = nullptr;            // one of the two; none: both are stored
  std::uint32_t width_a = 1, width_b = 1, width_d = 1;  // the widest accesses that alignment allows
  const ExtraRows* extra = nullptr;
  bool few_pipelines = false;  // PlanOptions::few_pipelines
  bool explain = false;        // count all accesses, for explain; a choice samples them

  bool cpu() const noexcept { return profile.kind == DeviceKind::cpu; }
  bool with_retired() const noexcept { return extra != nullptr && extra->retired; }
  bool integer() const noexcept { return type == SECTILE_TYPE_I8; }
  bool flattened_batch() const noexcept { return gathered != nullptr && gathered->flattened_batch; }
  const GemmOperand& operand(bool of_b) const noexcept { return of_b ? *b : *a; }
  // Whether accesses of A (or B) run along K.
  bool along_k(bool of_b) const noexcept { return of_b ? gemm.transpose_b : !gemm.transpose_a; }
  // A, or B, where it is gathered.
  const GatheredOperand* gathered_side(bool of_b) const noexcept {
    return gathered != nullptr && gathered->is_b == of_b ? gathered : nullptr;
  }
};

// A candidate's parameters. Widths, order and tile are constants of every kernel; `own` are the kernel's own constants.
struct GemmConfig {
  const char* stem = "";
  std::string base = "f32";  // the variant; ".narrow" is appended if accesses of 1 or 2 bytes are needed
  bool narrow = false;       // all variants of the kernel have such accesses
  std::uint32_t tile_m = 64, tile_n = 64, tile_k = 16;
  // Rows, columns and k within 32-bit offsets of one address; 0: the tile's.
  std::uint32_t span_m = 0, span_n = 0, span_k = 0;
  std::uint32_t width_a = 1, width_b = 1, width_d = 1;
  std::uint32_t run_d = 4;    // adjacent elements of D that an invocation holds: the widest access of D
  bool whole_runs = false;    // accesses of D are of run_d elements or of one
  std::uint32_t group_m = 1;  // tiles along M that are computed for one N before the next N (GEMM_SPEC_GROUP_M)
  std::uint32_t workgroup = 128, required_subgroup_size = 0;
  Staging staging;                               // registers and workgroup memory
  std::uint32_t splits = 1;                      // of K; more than 1: partial sums in scratch, and a second step
  bool can_split = false;                        // see splits_to_balance()
  bool can_tail = false;                         // the tail wave may be split along K, see tail_to_fill()
  std::uint32_t tail_rows = 0, tail_splits = 1;  // last rows of the result, which have their own step, and its splits
  FixedList<Constant, 24> own;
  // What else the kernel's step has: tensor maps over the operands, clusters, dynamic workgroup memory. None: nothing.
  void (*finish)(const GemmContext&, const GemmConfig&, Step&) = nullptr;
  // Of matmul_wgmma: workgroups of a multiprocessor; of a cluster along M, N and K; whether one warpgroup multiplies
  // while another stores.
  struct {
    std::uint32_t resident = 1, cluster_m = 1, cluster_n = 1, cluster_k = 1;
    bool overlapped = false, swapped = false;
    std::uint32_t ahead = 1;  // steps whose copies are in flight
    // An invocation's accesses in a step of operands that no tensor map copies: those that cp.async puts into their
    // place, and those that then pass through registers. A run that is converted counts as half an access more.
    std::uint32_t copied = 0, converted = 0;
    // Of a step's copies by tensor maps: bytes times the lines of 128 bytes that they lie in beyond the fewest, and the
    // boxes that a workgroup receives.
    std::uint32_t more_lines = 0, boxes = 0;
    std::uint32_t unpacking = 0;    // conversions of 64 by 64 4-bit weights in registers, of a step
    std::uint32_t multiplying = 1;  // warpgroups of a workgroup, which also convert
    std::uint32_t slices = 1;       // of these, those that have the same rows

    std::uint32_t cluster() const noexcept { return cluster_m * cluster_n * cluster_k; }
  } warpgroups;
  // These are for the cost.
  Unit unit = Unit::scalar;
  CostTable table = CostTable::matmul_simt;  // with `row`: whose rate it has, of the unit's
  std::uint32_t row = 0;
  FixedList<std::uint32_t GemmGpuCost::*, 3> rate_factors;  // permille of that rate, on a GPU
  bool narrow_gather = false;                               // an operand is gathered for a tile of 16
  std::uint32_t GemmGpuCost::* request = nullptr;           // clocks of a subgroup's load, of matmul_mma; none: 0
  bool l2_prefetch = false;                                 // the kernel first prefetches both operands into the L2
  std::uint32_t steps_ahead = 1;                            // whose loads are in flight while a step is multiplied
  bool pipelined = false;                                   // the next step is staged before a step's last product
  // A subgroup's products are limited by its scheduler: six subgroups on four schedulers take as long as eight. False:
  // by something that the whole multiprocessor shares, such as workgroup memory.
  bool by_schedulers = false;
  GemmEstimate estimate;  // all splits of K share one: counting takes most of the planning time

  void add(std::uint32_t id, std::uint32_t value) { own.add({id, value}); }
  // The elements of an access of D where so many are aligned.
  std::uint32_t access_of_d(std::uint32_t aligned) const noexcept {
    const std::uint32_t most = std::min(aligned, run_d);
    return whole_runs && most != run_d ? 1 : most;
  }
};

inline constexpr std::uint32_t kNoRow = 0xffffffff;  // GemmConfig::row of a row that was added (extra_rows.hpp)

using GemmStrategy = Strategy<GemmContext, GemmConfig>;

extern const GemmStrategy kGemmDirect, kGemmSimt, kGemmMatvec, kGemmCoopmat, kGemmCoopmat2, kGemmMma, kGemmWgmma;

std::span<const GemmStrategy* const> gemm_strategies() noexcept;

// Names of the tables' rows, see cost_rows(). A gathered operand has those of matmul_coopmat, then the tap rows.
std::vector<std::string> matmul_coopmat_rows(), coopmat_tap_rows(), matmul_coopmat2_rows(), matmul_mma_rows(),
    matmul_wgmma_rows(), matmul_simt_rows(), matvec_rows(), matmul_direct_rows();

// `gathered`: what A or B is where it is no stored matrix.
GemmContext gemm_context(const Gemm& gemm, const DeviceProfile& profile, const ExtraRows* extra = nullptr,
                         std::shared_ptr<const GatheredOperand> gathered = nullptr);

std::uint32_t type_bytes(std::uint32_t type) noexcept;  // of a SECTILE_TYPE; 4-bit elements: 1
// Of so many elements.
inline std::uint32_t access_bytes(std::uint32_t type, std::uint32_t width) noexcept {
  return type == SECTILE_TYPE_Q4 ? width / 2 : width * type_bytes(type);
}

// The widest access of an operand in elements, at most `most`, that its alignment, its strides and the size of its
// contiguous axis allow.
std::uint32_t widest_access(std::uint32_t type, std::uint32_t most, std::uint32_t align, std::int64_t ld,
                            std::int64_t batch, std::int64_t side) noexcept;

// Whether offsets below 2^31 bytes reach all of so many rows, `ld` elements apart, of `run` elements each. Kernels
// address a tile's rows by 32-bit byte offsets, and NVIDIA's driver wraps those at 2^31 (see needs_offset64() in
// permute/kernel_parameters.cpp).
bool rows_fit(const char* what, std::int64_t rows, std::int64_t ld, std::int64_t run, std::uint32_t type,
              Refusal& refusal);

// The constraints of every stem: the device's limits, 32-bit offsets inside a tile, narrow accesses.
bool gemm_fits(const GemmContext& c, const GemmConfig& d, Refusal& refusal);

// The last of them: accesses of 1 and 2 bytes only where the device has them.
bool narrow_accesses_fit(const GemmContext& c, const GemmConfig& d, Refusal& refusal);

// Columns that tiles divide among them, and how often: those of one batch for each batch, or flattened ones.
std::int64_t gemm_columns(const GemmContext& c) noexcept;
std::uint64_t gemm_batches(const GemmContext& c) noexcept;

// Tiles of one batch's result, or of all where the batch is flattened.
std::uint64_t gemm_tiles(const GemmContext& c, const GemmConfig& d) noexcept;

// Bytes from a row of A, or of B, to the next one, as it is stored.
std::int64_t row_pitch_bytes(const Gemm& g, bool b) noexcept;
// Whether each row and each batch of A, or of B, begins at a multiple of 16 bytes, as it is stored.
bool rows_at_16_bytes(const Gemm& g, bool b) noexcept;

// MATMUL_MMA_SPEC_PACKED_B and MATMUL_WGMMA_SPEC_PACKED_B of 4-bit weights that are converted in registers.
inline std::uint32_t packing_of(const GemmContext& c) noexcept {
  return c.few_pipelines || c.gemm.k % 32 != 0 ? 2 : 1;  // 2: K may end inside a block
}

// The tiles of all clusters (GemmConfig::warpgroups) along M and N: also those that lie beyond the result.
std::uint64_t gemm_cluster_tiles(const GemmContext& c, const GemmConfig& d) noexcept;

// Tiles of the tail, which has its own step and is split along K.
std::uint64_t gemm_tail_tiles(const GemmContext& c, const GemmConfig& d) noexcept;

}  // namespace sectile::detail
