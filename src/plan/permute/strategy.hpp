// The strategies of permutes: what their estimates hold, and what they share.
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

namespace sectile::detail {

// What a candidate would do, before it is made into a step.
struct PermuteEstimate {
  AccessCount interior, edge;      // of one workgroup
  std::uint64_t groups = 1;
  std::uint64_t memory_transactions = 0;  // what the L1 leaves of a workgroup's transactions, where requests share
                                          // lines; 0: all of them
  std::uint64_t instructions = 0;  // of one workgroup, all its subgroups together
  std::int64_t bias_permille = 0;  // measured preference of a row, see its table; less is better
  Addressing addressing = Addressing::direct;
};

// One problem part on one device.
struct PermuteContext {
  using Estimate = PermuteEstimate;

  const Nest& nest;
  const DeviceProfile& profile;
  CostModel model;
  Limits limits;
  bool wide;               // byte offsets pass 2^31
  bool explain;            // counts are complete, as explain prints them; a choice needs less

  bool cpu() const noexcept { return profile.kind == DeviceKind::cpu; }
};

using PermuteStrategy = Strategy<PermuteContext, PermuteConfig>;

extern const PermuteStrategy kCopy, kRows, kTile, kBlock, kRuns, kInterleave, kTma, kBox, kWords, kFused, kFusedBlock;

// What a candidate takes, in picoseconds of one multiprocessor; of the whole device.
std::int64_t permute_cost(const PermuteContext& c, const PermuteEstimate& e, const PermuteConfig& d);
std::int64_t permute_picoseconds(const PermuteContext& c, std::int64_t cost);

// The table that the planner walks for a permute.
std::span<const PermuteStrategy* const> permute_strategies() noexcept;

// For the strategies that move elements as they are.
bool only_moves(const PermuteContext& c, Refusal& refusal);

// Every stem that loads and stores elements of less than a word needs the device to.
bool stores_elements(const PermuteContext& c, Refusal& refusal);

// Accesses of `elements` elements at a stride-1 axis are whole and aligned in the source (destination).
struct VectorSide {
  int axis;              // the axis walked
  bool source;
};
bool vector_fits(const PermuteContext& c, VectorSide side, std::uint32_t elements, Refusal& refusal);

}  // namespace sectile::detail
