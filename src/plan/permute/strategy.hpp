// What every strategy gives the planner: applicable, make, print; rows of a table, not branches.
#pragma once

#include "nest.hpp"
#include "plan/named_constant.hpp"
#include "plan/refusal.hpp"
#include "plan/access/walk.hpp"
#include "kernel_parameters.hpp"

#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace sectile::detail {

// One problem part on one device.
struct Context {
  const Nest& nest;
  const DeviceProfile& profile;
  Limits limits;
  bool wide;               // byte offsets pass 2^31
  bool explain;            // counts are complete: for whom they are told, and not for the choice

  bool cpu() const noexcept { return profile.kind == DeviceKind::cpu; }
};

// What a candidate would do, before it is made into a step.
struct Estimate {
  AccessCount interior, edge;      // of one workgroup
  std::uint64_t groups = 1;
  std::uint64_t memory_transactions = 0;  // what the L1 leaves of a workgroup's transactions, where requests share
                                          // lines; 0: all of them
  std::uint64_t instructions = 0;  // of one workgroup, all its subgroups together
  std::int64_t bias_permille = 0;  // measured preference of a row, see its table; less is better
};

// A strategy with `rows` candidates.
struct Strategy {
  const char* stem;
  std::uint32_t rows;
  bool (*applicable)(const Context&, std::uint32_t row, Refusal&);
  Config (*make)(const Context&, std::uint32_t row);
  Estimate (*estimate)(const Context&, std::uint32_t row, const Config&);
  bool (*fallback)(const Context&, std::uint32_t row);   // loses to every row that is none: looked at on demand alone
  std::string (*print)(std::uint32_t row);   // the candidate's name after the stem
  Result<Step> (*step)(const Config&, const Nest&, const DeviceProfile&);
  std::span<const NamedConstant> named = {};   // what a plan's line tells of its constants
  bool fused = false;   // for nests with an elementwise stage, and for no others
};

extern const Strategy kCopy, kRows, kTile, kBlock, kRuns, kInterleave, kTma, kBox, kWords, kFused, kFusedBlock;

// The table that the planner walks for a permute.
std::span<const Strategy* const> permute_strategies() noexcept;

// Every stem that loads and stores elements of less than a word needs the device to.
bool stores_elements(const Context& c, Refusal& refusal);

// Accesses of `elements` elements at a stride-1 axis are whole and aligned in the source (destination).
struct VectorSide {
  int axis;              // the axis walked
  bool source;
};
bool vector_fits(const Context& c, VectorSide side, std::uint32_t elements, Refusal& refusal);

}  // namespace sectile::detail
