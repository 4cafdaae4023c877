// Types and functions that the matmul strategies share; the counterpart of permute/strategy.hpp.
#pragma once

#include "plan/access/limits.hpp"
#include "plan/access/walk.hpp"
#include "plan/cost/model.hpp"
#include "plan/extra_rows.hpp"
#include "plan/job.hpp"
#include "plan/strategy.hpp"
#include "problem.hpp"
#include "rows.hpp"

#include "lib/matmul.abi.h"

#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace sectile::detail {

struct MatmulEstimate {
  AccessCount interior;             // of one step of K of one workgroup; bank conflicts include fragment loads
  std::uint64_t gathered_runs = 0;  // that an invocation gathers from an image in a step
  std::int64_t bias_permille = 0;   // measured correction of a row's cost, see its table; lower is preferred
};

// A or B where it is not a stored matrix: the kernels that replace matmul_simt and matmul_coopmat gather it. Another
// operation describes it. Rows of the operand are those along M or N.
class GatheredOperand {
 public:
  static constexpr std::uint32_t kMostWords = 19;

  GatheredOperand() = default;
  GatheredOperand(const GatheredOperand&) = delete;
  GatheredOperand& operator=(const GatheredOperand&) = delete;
  virtual ~GatheredOperand() = default;

  // The widest access in elements, at most `most`.
  virtual std::uint32_t width(std::uint32_t most) const = 0;
  // Elements from the address that a tile's offsets are relative to, to the end of all that so many rows may read.
  virtual std::int64_t reach(std::uint32_t rows) const = 0;
  // The offset in elements of row `row` of a tile, `k` from its first step on, in a tile inside the operand. -1: it is
  // not read.
  virtual std::int64_t element(std::uint32_t row, std::uint32_t k) const = 0;
  // Constants beside those of a matmul, of a kernel with so much K a step.
  virtual FixedList<Constant, 8> constants(std::uint32_t tile_k) const = 0;

  bool is_b = false;    // otherwise A
  bool joined = false;  // B: the columns of all batches are one matrix's
  // B, contiguous along N, as matmul_coopmat's replacement loads it: one chunk serves so many consecutive k. 0: not so.
  std::uint32_t moved_chunks = 0;
  FixedList<Constant, 2> of_moved;                             // constants that the replacement then has besides
  std::int64_t elements = 0;                                   // that one batch reads, each counted once
  const char *simt = "", *coopmat = "", *coopmat_suffix = "";  // stems, and what their variants' names end with
  FixedList<std::string_view, 2> addresses;                    // operands, their addresses behind a matmul's
  FixedList<std::uint32_t, kMostWords> words;                  // behind a matmul's
  bool states_first_row = false;  // one more word follows: the row of the whole A that a step begins with
};

// A problem on a device.
struct MatmulContext {
  using Estimate = MatmulEstimate;

  const MatmulProblem& problem;
  MatmulStrides at;  // effective leading dimensions and batch strides
  const DeviceProfile& profile;
  CostModel model;
  Limits limits;
  std::uint32_t epilogue = 0;                                    // MATMUL_EPILOGUE bits, without SPLIT
  std::uint32_t a_type = 0, b_type = 0, type = 0, out_type = 0;  // MATMUL_TYPEs
  std::uint32_t width_a = 1, width_b = 1, width_d = 1;           // the widest accesses that alignment allows
  const ExtraRows* extra = nullptr;
  bool few_pipelines = false;                 // PlanOptions::few_pipelines
  bool sizes_vary = true;                     // M or N may differ from call to call, see few_tiles(); not if gathered
  bool explain = false;                       // count all accesses, for explain; a choice samples them
  const GatheredOperand* gathered = nullptr;  // one of the operands; none: both are stored

  bool cpu() const noexcept { return profile.kind == DeviceKind::cpu; }
  bool integer() const noexcept { return type == MATMUL_TYPE_I8; }
  bool joined() const noexcept { return gathered != nullptr && gathered->joined; }
  // A's description, or B's, where it is gathered.
  const GatheredOperand* gathered_side(bool b) const noexcept {
    return gathered != nullptr && gathered->is_b == b ? gathered : nullptr;
  }
};

// A candidate's parameters. Widths, order and tile are constants of every kernel; `own` are the kernel's own constants.
struct MatmulConfig {
  const char* stem = "";
  std::string base = "f32";  // the variant; ".narrow" is appended if accesses of 1 or 2 bytes are needed
  bool narrow = false;       // all variants of the kernel have such accesses
  std::uint32_t tile_m = 64, tile_n = 64, tile_k = 16;
  std::uint32_t span_m = 0, span_n = 0;  // rows and columns within 32-bit offsets of one address; 0: the tile's
  std::uint32_t width_a = 1, width_b = 1, width_d = 1;
  std::uint32_t run_d = 4;  // adjacent elements of D that an invocation holds: the widest access of D
  std::uint32_t order = 1;
  std::uint32_t workgroup = 128, required_subgroup_size = 0;
  std::uint32_t workgroup_memory_bytes = 0;
  std::uint32_t splits = 1;                      // of K; more than 1: partial sums in scratch, and a second step
  bool can_split = false;                        // see splits_to_balance()
  bool can_tail = false;                         // the tail wave may be split along K, see tail_to_fill()
  std::uint32_t tail_rows = 0, tail_splits = 1;  // last rows of the result, which have their own step, and its splits
  FixedList<Constant, 24> own;
  // These are for the cost.
  std::uint32_t registers = 64;        // of an invocation
  std::uint32_t rate_permille = 1000;  // of the unit's rate that the inner loop reaches if nothing else limits it
  bool l2_prefetch = false;            // the kernel first prefetches both operands into the L2
  bool pipelined = false;              // the next step is staged before a step's last product
  bool matrix_unit = false;
  // A subgroup's products are limited by its scheduler: six subgroups on four schedulers take as long as eight. False:
  // by something that the whole multiprocessor shares, such as workgroup memory.
  bool by_schedulers = false;
  bool driver_staged = false;  // the driver's compiler stages the operands

  void add(std::uint32_t id, std::uint32_t value) { own.add({id, value}); }
};

using MatmulStrategy = Strategy<MatmulContext, MatmulConfig>;

// A config with its access counts. Counting takes most of the planning time, so all splits of K share one count.
struct EstimatedMatmul : MatmulConfig {
  MatmulEstimate estimate;
};

extern const MatmulStrategy kMatmulDirect, kMatmulSimt, kMatvec, kMatmulCoopmat, kMatmulCoopmat2;

std::span<const MatmulStrategy* const> matmul_strategies() noexcept;

std::uint32_t matmul_type_bytes(std::uint32_t type) noexcept;  // 4-bit elements: 1

// The widest access of an operand in elements, at most `most`, that its alignment, its strides and the size of its
// contiguous axis allow.
std::uint32_t widest_access(std::uint32_t type, std::uint32_t most, std::uint32_t align, std::int64_t ld,
                            std::int64_t batch, std::int64_t side) noexcept;

// The widest access of A or B in elements, at most `most`.
std::uint32_t operand_width(const MatmulContext& c, bool b, std::uint32_t most) noexcept;

// The constraints of every stem: the device's limits, 32-bit offsets inside a tile, narrow accesses.
bool matmul_fits(const MatmulContext& c, const MatmulConfig& d, Refusal& refusal);

// The last of them: accesses of 1 and 2 bytes only where the device has them.
bool narrow_accesses_fit(const MatmulContext& c, const MatmulConfig& d, Refusal& refusal);

// Columns that tiles divide among them, and how often: those of one batch for each batch, or joined ones.
std::int64_t matmul_columns(const MatmulContext& c) noexcept;
std::uint64_t matmul_batches(const MatmulContext& c) noexcept;

// Tiles of one batch's result, or of all where their columns are joined.
std::uint64_t matmul_tiles(const MatmulContext& c, const MatmulConfig& d) noexcept;

// Tiles of the tail, which has its own step and is split along K.
std::uint64_t matmul_tail_tiles(const MatmulContext& c, const MatmulConfig& d) noexcept;

// The result has fewer 128x128 tiles than the device has multiprocessors. Then a few rows of each table serve all
// sizes, so that a new number of rows needs no new pipeline.
bool few_tiles(const MatmulContext& c) noexcept;

// Tiles along M in a band (MATMUL_SPEC_ORDER): 8 where there are several waves of workgroups, else 1.
std::uint32_t band_of_tiles(const MatmulContext& c, const MatmulConfig& d) noexcept;

// With PlanOptions::few_pipelines: fixes what else would differ from problem to problem.
void use_few_pipelines(MatmulConfig& d, Common common) noexcept;

// Split-K: the number of parts of K with which each multiprocessor of a GPU has `each` workgroups; 1 if the tiles
// already fill the device.
std::uint32_t splits_to_fill(const MatmulContext& c, const MatmulConfig& d, std::uint32_t each = 2) noexcept;

// Split-K: the number of parts of K, at most `most`, with which the multiprocessor that computes most of the workgroups
// has the least to do. 160 tiles on 132 multiprocessors take as long as two tiles one behind the other; in 3 parts, as
// 4 thirds. 1 if no number is better, or if the device's multiprocessors are not known.
std::uint32_t splits_to_balance(const MatmulContext& c, const MatmulConfig& d, std::uint32_t most) noexcept;

// If the tail wave would leave multiprocessors idle, splits its rows of tiles along K, so that it becomes a wave of
// shorter workgroups (stream-K's "data-parallel plus" in two dispatches: Osama et al., "Stream-K", PPoPP 2023). Returns
// false if there is nothing to split.
bool tail_to_fill(const MatmulContext& c, MatmulConfig& d) noexcept;

// The strategy's config with the splits of K that cost least. The strategy gives the most; fewer, none, or a split tail
// may cost less. Only configs that are `usable` are considered: a pack may lack the kernels of some, and scratch may be
// limited. The one without splits is returned if none is.
EstimatedMatmul matmul_with_splits(const MatmulContext& c, const MatmulStrategy& s, std::uint32_t row,
                                   const std::function<bool(const EstimatedMatmul&)>& usable);

// The scratch that a candidate's partial sums need.
std::uint64_t matmul_scratch_bytes(const MatmulContext& c, const MatmulConfig& d) noexcept;

// A candidate's explanation, with complete counts. `cost` is matmul_cost()'s, from the sampled counts.
void explain_matmul(const MatmulContext& c, const MatmulStrategy& s, std::uint32_t row, const MatmulConfig& d,
                    std::int64_t cost, Candidate& candidate);

// Workgroups that a multiprocessor holds at a time, by registers, workgroup memory and invocations; at least 1.
std::uint64_t matmul_resident(const MatmulContext& c, const MatmulConfig& d) noexcept;

// A candidate's cost in picoseconds; see cost.cpp.
std::int64_t matmul_cost(const MatmulContext& c, const MatmulConfig& d, const MatmulEstimate& e);

// The steps of a candidate, over the operands that Operation::plan lists. The last operand is the scratch; its size and
// `scratch_bytes` are raised to what the steps need.
Result<std::vector<Step>> matmul_steps(const MatmulContext& c, const MatmulConfig& d, std::span<PlanOperand> operands,
                                       std::uint64_t& scratch_bytes);
// The step of a kernel whose words are a matmul's, with so many workgroups: without splits.
Result<Step> matmul_step(const MatmulContext& c, const MatmulConfig& d, std::uint64_t groups,
                         std::span<const PlanOperand> operands);
// The steps for K = 0 and alpha = 0: the epilogue without a product.
Result<std::vector<Step>> matmul_epilogue_alone(const MatmulContext& c, std::span<PlanOperand> operands);

// What a matmul is beside its problem.
struct MatmulUse {
  bool vectors_batched = false;  // each batch has its own bias and scale, one behind the other
  bool sizes_vary = true;        // see MatmulContext
};
Result<void> plan_matmul(Job& job, const MatmulProblem& problem, MatmulUse use);

MatmulContext matmul_context(const MatmulProblem& problem, const DeviceProfile& profile,
                             const ExtraRows* extra = nullptr, const GatheredOperand* gathered = nullptr);

// Why no row of the matrix unit's kernels is chosen: the most frequent refusal, or that another kernel costs less.
std::string matmul_unit_refusal(const MatmulProblem& problem, const DeviceProfile& profile);

}  // namespace sectile::detail
