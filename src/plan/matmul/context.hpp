// What every matmul strategy gives the planner, and what they share; the counterpart of permute/strategy.hpp.
#pragma once

#include "problem.hpp"
#include "plan/access/limits.hpp"
#include "plan/access/walk.hpp"
#include "plan/cost/model.hpp"
#include "plan/extra_rows.hpp"
#include "plan/strategy.hpp"

#include "lib/matmul.abi.h"

#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace sectile::detail {

struct MatmulEstimate {
  AccessCount interior;            // of one step of K of one workgroup, bank conflicts of its fragment loads among them
  std::int64_t bias_permille = 0;  // measured preference of a row, see its table; less is better
};

// A problem on a device.
struct MatmulContext {
  using Estimate = MatmulEstimate;

  const MatmulProblem& problem;
  MatmulStrides at;                // what leading dimensions and batch strides come to
  const DeviceProfile& profile;
  CostModel model;
  Limits limits;
  std::uint32_t epilogue = 0;      // MATMUL_EPILOGUE bits, without SPLIT
  std::uint32_t a_type = 0, b_type = 0, type = 0, out_type = 0;   // MATMUL_TYPEs
  std::uint32_t width_a = 1, width_b = 1, width_d = 1;            // the widest accesses that alignment allows
  const ExtraRows* extra = nullptr;
  bool explain = false;            // counts are complete, as explain prints them; a choice needs less

  bool cpu() const noexcept { return profile.kind == DeviceKind::cpu; }
  bool integer() const noexcept { return type == MATMUL_TYPE_I8; }
};

// What a candidate has worked out. Width, order and tile are constants that every kernel has; `own` are the kernel's.
struct MatmulConfig {
  const char* stem = "";
  std::string base = "f32";        // of the variant's name; ".narrow" follows where accesses of 1 or 2 bytes are needed
  bool narrow = false;             // the kernel has such accesses in all its variants
  std::uint32_t tile_m = 64, tile_n = 64, tile_k = 16;
  std::uint32_t span_m = 0, span_n = 0;   // rows and columns that 32-bit offsets reach from one address; 0: the tile's
  std::uint32_t width_a = 1, width_b = 1, width_d = 1;
  std::uint32_t run_d = 4;         // elements that an invocation has side by side: no access of D is wider
  std::uint32_t order = 1;
  std::uint32_t workgroup = 128, required_subgroup_size = 0;
  std::uint32_t workgroup_memory_bytes = 0;
  std::uint32_t splits = 1;        // of K; more than 1: partial sums in scratch, and a second step
  bool can_tail = false;           // the tail wave may be split apart from the others, see tail_to_fill()
  std::uint32_t tail_rows = 0, tail_splits = 1;   // rows at the result's end that have a step of their own
  FixedList<Constant, 24> own;
  // For the cost.
  std::uint32_t registers = 64;    // of an invocation
  std::uint32_t rate_permille = 1000;   // of the unit's rate that the inner loop reaches when nothing else holds it up
  bool l2_prefetch = false;        // of all operands, at the beginning
  bool pipelined = false;          // the next step is staged while the last product of one is multiplied
  bool matrix_unit = false;
  bool driver_staged = false;      // the driver's compiler decides how operands reach the matrix unit

  void add(std::uint32_t id, std::uint32_t value) { own.add({id, value}); }
};

using MatmulStrategy = Strategy<MatmulContext, MatmulConfig>;

extern const MatmulStrategy kMatmulDirect, kMatmulSimt, kMatvec, kMatmulCoopmat, kMatmulCoopmat2;

std::span<const MatmulStrategy* const> matmul_strategies() noexcept;

std::uint32_t matmul_type_bytes(std::uint32_t type) noexcept;   // 4-bit elements: 1

// The most elements, up to `most`, that an access of an operand may have: its address, its rows and the contiguous side
// allow it.
std::uint32_t widest_access(std::uint32_t type, std::uint32_t most, std::uint32_t align, std::int64_t ld, std::int64_t batch,
                            std::int64_t side) noexcept;

// What holds for every stem: limits of the device, offsets inside a tile that fit 32 bits, narrow accesses.
bool matmul_fits(const MatmulContext& c, const MatmulConfig& d, Refusal& refusal);

// Tiles of one batch's result.
std::uint64_t matmul_tiles(const MatmulContext& c, const MatmulConfig& d) noexcept;

// Those of them that a step of their own splits along K.
std::uint64_t matmul_tail_tiles(const MatmulContext& c, const MatmulConfig& d) noexcept;

// Tiles of 128x128 are fewer than the multiprocessors: a few rows of each table then serve all sizes, so that a new number
// of rows is no new pipeline.
bool few_tiles(const MatmulContext& c) noexcept;

// How many parts K is cut in so that each multiprocessor (of a GPU) has `each` workgroups: 1 where tiles fill the device already.
std::uint32_t splits_to_fill(const MatmulContext& c, const MatmulConfig& d, std::uint32_t each = 2) noexcept;

// Where the last round of tiles would leave most multiprocessors idle: the rows of tiles at the end that do not fit the
// rounds before it are split along K, so that they are a round of short workgroups (stream-K's "data-parallel plus" in two
// dispatches: Osama et al., "Stream-K", PPoPP 2023). False where there is nothing to gain.
bool tail_to_fill(const MatmulContext& c, MatmulConfig& d) noexcept;

// Picoseconds, as integers; see matmul_cost.cpp.
std::int64_t matmul_cost(const MatmulContext& c, const MatmulConfig& d, const MatmulEstimate& e);

// The steps of a candidate, over the operands that Operation::plan lists; `scratch` is the scratch operand's index and
// its bytes are raised to what is needed.
Result<std::vector<Step>> matmul_steps(const MatmulContext& c, const MatmulConfig& d, std::span<PlanOperand> operands,
                                       std::uint64_t& scratch_bytes);
// K = 0: no product, only what follows it.
Result<std::vector<Step>> matmul_epilogue_alone(const MatmulContext& c, std::span<PlanOperand> operands);

MatmulContext matmul_context(const MatmulProblem& problem, const DeviceProfile& profile,
                             const ExtraRows* extra = nullptr);

}  // namespace sectile::detail
