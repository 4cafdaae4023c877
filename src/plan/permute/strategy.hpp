// Types and checks that the permute strategies share.
#pragma once

#include "kernel_parameters.hpp"
#include "nest.hpp"
#include "plan/access/walk.hpp"
#include "plan/cost/model.hpp"
#include "plan/strategy.hpp"

#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sectile::detail {

// A candidate's estimated work.
struct PermuteEstimate {
  AccessCount interior, edge;  // of one workgroup
  std::uint64_t groups = 1;
  std::uint64_t memory_transactions = 0;  // of one workgroup, after the L1 has merged requests that share lines;
                                          // 0: the L1 merges none
  std::uint64_t instructions = 0;         // of one workgroup, all subgroups together
  std::uint64_t sector_gap = 0;           // bytes that are moved between two parts of a sector
  // Permille of the cost that are added, of a CPU or a GPU: one of the class's numbers, so many times.
  struct Surcharge {
    std::uint32_t PermuteGpuCost::* gpu = nullptr;
    std::uint32_t PermuteCpuCost::* cpu = nullptr;
    std::uint64_t times = 1;
  };
  FixedList<Surcharge, 4> surcharges;
  Addressing addressing = Addressing::direct;
};

// A problem, or a part of one, on a device.
struct PermuteContext {
  using Estimate = PermuteEstimate;

  const Nest& nest;
  const DeviceProfile& profile;
  CostModel model;
  Limits limits;
  bool offset64;         // byte offsets need 64 bits
  bool explain;          // count all accesses, for explain; a choice samples them
  bool retired = false;  // ExtraRows::retired

  bool cpu() const noexcept { return profile.kind == DeviceKind::cpu; }
  bool with_retired() const noexcept { return retired; }
  // What takes a microsecond or two is not worth a pipeline of its own: few rows serve all of it. H200, 2026-11-28, 158
  // permutes of `calibrate --seed 4600`, a half of them below 16 MB: where all rows compete from 1 MB on and not from
  // 16 on, regret is 1.029 in place of 1.062 (docs/lab/2026-11.md). lavapipe chooses worse then.
  bool small() const noexcept { return below_mib(cpu() ? 16 : 1); }
  bool below_mib(std::int64_t mib) const noexcept { return nest.elements() * nest.element_bytes < mib << 20; }
};

using PermuteStrategy = Strategy<PermuteContext, PermuteConfig>;

extern const PermuteStrategy kCopy, kRows, kRealign, kElements, kTile, kBlock, kRagged, kGather, kTabled, kRuns,
    kInterleave, kTma, kBox, kWords, kFused, kFusedBlock, kFusedRagged;

// Names of the tables' rows, see cost_rows().
std::vector<std::string> permute_copy_rows(), permute_rows_rows(), permute_realign_rows(), permute_elements_rows(),
    permute_tile_rows(), permute_block_rows(), permute_ragged_rows(), permute_gather_rows(), permute_table_rows(),
    permute_runs_rows(), permute_interleave_rows(), permute_tma_rows(), permute_box_rows(), permute_words_rows(),
    permute_fused_rows(), permute_fused_block_rows(), permute_fused_ragged_rows();

// A candidate's cost in picoseconds of one multiprocessor, with a model's numbers and the correction of `table`, and
// that cost as time of the whole device.
std::int64_t permute_cost(const PermuteContext& c, const CostModel& model, CostTable table, std::uint32_t row,
                          const PermuteEstimate& e, const PermuteConfig& d);
std::int64_t permute_picoseconds(const PermuteContext& c, const CostModel& model, std::int64_t cost);

// The cost without a correction, and what one is fitted to.
std::int64_t permute_raw_cost(const PermuteContext& c, const CostModel& model, const PermuteEstimate& e,
                              const PermuteConfig& d);
Features permute_features(const PermuteContext& c, const PermuteEstimate& e, const PermuteConfig& d, std::int64_t cost);

// The strategies in the order in which the planner tries them.
std::span<const PermuteStrategy* const> permute_strategies() noexcept;

// Refuses an elementwise stage, for strategies that only move elements.
bool only_moves(const PermuteContext& c, Refusal& refusal);

// Refuses elements of 1 or 2 bytes if the device has no loads and stores of that size.
bool stores_elements(const PermuteContext& c, Refusal& refusal);

// Refuses layout blocks that do not divide their axis, for kernels without checks of bounds.
bool needs_no_bounds(const Nest& nest, Refusal& refusal);

// Refuses a workgroup that the device does not allow along x.
bool fits_workgroup(const PermuteContext& c, std::uint32_t workgroup, Refusal& refusal);

// A step of so many axes takes the .wide variant of a kernel that has no .long ones: its offsets need 64 bits, or not
// all of its words are pushed. The .wide variants read those that are not as .long ones do, so .long ones would only
// serve devices without 64-bit integers: for those permute_rows and permute_words have them.
bool takes_wide(const PermuteContext& c, int axes, int own_words);

// Refuses what takes a .wide variant (`wide`) where the context does not, on a device without 64-bit integers.
bool has_offsets(const PermuteContext& c, bool wide, Refusal& refusal);

// Accesses of `elements` elements along a contiguous axis are whole and aligned in the source or destination.
struct VectorSide {
  int axis;  // the contiguous axis
  Side operand;
};
bool vector_fits(const PermuteContext& c, VectorSide side, std::uint32_t elements, Refusal& refusal);

// Four elements at a time, or 32 bytes, fit along both innermost axes of a transpose, of bytes 16; of elements of 8
// bytes the sizes decide, as addresses are seldom known to be aligned to so much. permute_tile and permute_block have
// wide accesses then, and the kernels for ragged rows are slower (H200, f32 8192x8192: 0.88 of a
// copy for 0.97). Rows of bytes that begin at multiples of 4 or 8 share sectors with others, and the kernels for ragged
// rows compete (H200, 2026-11-29, CUDA: u8 428x1059760 axes=1,0 0.70 for 0.46, 616818x68 0.60 for 0.36; choices of 383
// measured problems of bytes are worth 1.064 of the best's time in place of 1.073).
bool is_aligned_transpose(const PermuteContext& c);

}  // namespace sectile::detail
