// What work costs on a class of devices, as plain data. docs/reference/device-class.md lists every number; the formulas
// that use them are permute/cost.cpp, gemm/cost.cpp and conv2d/cost.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::detail {

// How a permute kernel computes the address of an element. On a CPU this takes more time than the memory access.
enum class Addressing : std::uint8_t {
  direct,    // pointer increments, blocks in registers
  staged,    // staged in workgroup memory, which is a second copy on a CPU
  words,     // 32-bit words assembled element by element
  rows,      // integer divisions for each element
  box,       // integer divisions for each access, staged in workgroup memory
  box_bytes  // as box, for elements of 1 byte, four in a word
};

// Picoseconds of one multiprocessor of a GPU.
struct PermuteGpuCost {
  std::uint32_t byte;             // a byte of global memory, at the multiprocessor's share of the device's bandwidth
  std::uint32_t instruction;      // an instruction of a subgroup
  std::uint32_t bank_pass;        // a pass over the banks of workgroup memory, beyond the first
  std::uint32_t overlap_divisor;  // memory and issue time overlap: the cost is the longer plus the shorter / this
  std::uint32_t resident;         // workgroups per multiprocessor that fill the device
  // Permille of the cost that are added.
  std::uint32_t band_permille;         // large transposes whose workgroups in flight scatter their writes
  std::uint32_t tile_permille;         // 2-byte elements: a tile of the other length along the destination
  std::uint32_t run_store_permille;    // permute_runs: stores of 4 bytes
  std::uint32_t run_word_permille;     // permute_runs: for each word beyond 12 that an invocation holds
  std::uint32_t split_lines_permille;  // permute_interleave: lanes' stores are more than 24 bytes apart
  std::uint32_t short_step_permille;   // permute_interleave: steps of 4 bytes
  std::uint32_t two_short_permille;    // permute_interleave: short axes on both sides
};

// One core of a CPU, in units of `scale` / 1000 picoseconds.
struct PermuteCpuCost {
  std::uint32_t request[6];  // by Addressing: a subgroup's access, times (element bytes + request_bytes)
  std::uint32_t request_bytes;
  std::uint32_t load, store;  // a transaction
  std::uint32_t instruction;  // an instruction of a subgroup
  std::uint32_t scale;
  // Permille of the cost that are added.
  std::uint32_t wide_workgroup_permille;  // transposes: workgroups of more than 16 invocations
  std::uint32_t other_shape_permille;     // transposes: a row for matrices of another shape (ShapeClass)
  std::uint32_t run_block_permille;       // permute_runs: for each run of a block beyond the first
};

// Clocks of one multiprocessor of a GPU, unless the comment says otherwise.
struct GemmGpuCost {
  std::uint32_t clock_picoseconds;
  std::uint32_t latency;              // a step of K whose loads wait for the L2
  std::uint32_t latency_pipelined;    // a step of K if the next step is staged before the last product
  std::uint32_t latency_l2_prefetch;  // as latency_pipelined, if the operands were prefetched into the L2
  std::uint32_t gathered_latency;     // added to these for each run that an invocation gathers from an image in a step
  std::uint32_t gathered_issue;       // instructions of a subgroup that gathers one run each, in clocks
  std::uint32_t barriers;             // a step's barriers and the first fragment loads after them
  std::uint32_t workgroup_start;      // a workgroup's first loads and last stores
  std::uint32_t second_step;          // the sum of a split K: a barrier and another dispatch
  std::uint32_t permute_step;         // a permute before or after the product, beside its own cost
  std::uint32_t cache_bytes;          // bytes per clock to one multiprocessor from the L2 and the L1 together
  std::uint32_t stored_elements;      // elements of the result stored per clock
  std::uint32_t matrix_rate;          // f16 multiply-adds per clock that matrix unit code reaches; int8 has twice that
  std::uint32_t mma_rate;             // the same by mma.sync
  std::uint32_t mma_request;          // of matmul_mma, a subgroup's load through registers
  std::uint32_t mma_copy;             // the same of 4 bytes an invocation, copied or turned
  std::uint32_t mma_stored;           // of matmul_mma, elements of the result stored per clock
  std::uint32_t wgmma_rate;           // mma_rate of warpgroups' products
  std::uint32_t wgmma_bytes;          // bytes per clock that one multiprocessor copies for them
  std::uint32_t wgmma_busy_bytes;     // the same while all multiprocessors copy
  std::uint32_t wgmma_box;            // a tensor map's box that is received
  std::uint32_t wgmma_latency;        // from the start of a step's copies until they are there
  std::uint32_t wgmma_start;          // a workgroup's first copies, and its last stores
  std::uint32_t wgmma_stored;         // elements of the result stored in 16 clocks, while nothing is multiplied
  std::uint32_t wgmma_exchange;       // a cluster along K that adds up its sums, beside what it stores
  std::uint32_t wgmma_slices;         // the same of warpgroups of one workgroup that have the same rows
  std::uint32_t wgmma_loaded;         // a step of the invocations that copy, where no tensor map does
  std::uint32_t wgmma_copied;         // each of their accesses in it
  std::uint32_t wgmma_converted;      // the same, of what then passes through registers
  std::uint32_t wgmma_unpacked;       // 64 by 64 4-bit weights that warpgroups convert in registers
  std::uint32_t wgmma_second_step;    // second_step of its partial sums
  std::uint32_t scalar_rate;          // f32 multiply-adds per clock
  std::uint32_t schedulers;           // of a multiprocessor, each with its share of these; of subgroups of 32
  std::uint32_t dot_rate;             // int8 multiply-adds per clock by integer dot products
  std::uint32_t dram_bytes;           // bytes per clock of the whole device
  std::uint32_t split_bytes;          // as dram_bytes, of partial sums (written, read again) beyond a third of the L2
  std::uint32_t bank_pass_divisor;    // passes over the banks of workgroup memory per clock, beyond the first
  std::uint32_t
      exposed_staging_permille;       // part of a product's time, added for a workgroup alone on its multiprocessor
  std::uint32_t tail_permille;        // factor on a tail's time: it runs beside the last full wave and slows it down
  std::uint32_t most_resident;        // workgroups per multiprocessor, at most
  std::uint32_t reserved_bytes;       // workgroup memory that the driver reserves in each workgroup
  std::uint32_t driver_staged_bytes;  // workgroup memory of a kernel whose operands the driver's compiler stages
  // Permille of a row's rate.
  std::uint32_t across_k;                // coopmat: B is contiguous along N, so its rows are long
  std::uint32_t across_k_pipelined;      // coopmat: the same, by a pipelined loop
  std::uint32_t across_k_32;             // coopmat: the same, by steps of 32
  std::uint32_t int8_32;                 // coopmat: int8 by steps of 32
  std::uint32_t moved;                   // coopmat: a loaded chunk serves one or two rows of a step (taps_per_load)
  std::uint32_t ragged;                  // coopmat2: tiles at the edges are clamped
  std::uint32_t short_accesses;          // coopmat2: rows are no multiples of 16 bytes
  std::uint32_t narrow_gather_permille;  // of the cost, added where an operand is gathered for a tile of 16
  // Of matmul_wgmma.
  std::uint32_t wgmma_overlapped_permille;  // of a tile's stores, what stays where others multiply beside them
  std::uint32_t wgmma_epilogue_permille;    // of the same, added for an epilogue
  // Of the same, where nothing else is multiplied beside it: added for an activation beyond ReLU; for a residual or C.
  std::uint32_t wgmma_activation_permille;
  std::uint32_t wgmma_addends_permille;
  std::uint32_t wgmma_together;      // added to wgmma_start where workgroups copy operands together
  std::uint32_t wgmma_unpack_start;  // added to wgmma_start where warpgroups convert 4-bit weights
  // Factors on wgmma_unpacked where a multiprocessor has one warpgroup that converts, and three or more: two hide part
  // of each other's waiting.
  std::uint32_t wgmma_lone_permille;
  std::uint32_t wgmma_three_permille;
  std::uint32_t wgmma_bf16_permille;       // the same where they become bf16
  std::uint32_t wgmma_unhidden_permille;   // of it, what products do not hide
  std::uint32_t wgmma_lines_permille;      // what a byte's copy costs more in each further line of 128 bytes
  std::uint32_t wgmma_narrow_permille;     // of a tile's stores, added for each halving of accesses of 16 bytes
  std::uint32_t wgmma_swapped_permille;    // factor on a swapped row's stores
  std::uint32_t wgmma_memory_permille;     // of the shorter of the DRAM's and the multiprocessors' time, not hidden
  std::uint32_t wgmma_clustered_permille;  // of the multiprocessors that clusters of more than two workgroups use
};

// Picoseconds of one core of a CPU.
struct GemmCpuCost {
  std::uint32_t ps_per_kfma;  // 1000 multiply-adds at a row's rate of 100
  std::uint32_t second_step;  // the plan's second step
};

// Kernels that are no GEMM, on a GPU: thousandths of a clock of one multiprocessor, unless the comment says otherwise.
struct Conv2dGpuCost {
  std::uint32_t issue_multiply, issue_column, issue_weight, issue_store;     // a subgroup's instructions for each
  std::uint32_t lines_column, lines_column_line, lines_weight, lines_store;  // cache lines of a subgroup's accesses
  std::uint32_t latency_row, latency_multiply;  // an invocation alone: a row of the filter, a multiply-add
  std::uint32_t hidden_permille;                // of what overlaps with something longer, not hidden
  std::uint32_t memory_permille;                // of dram_bytes that conv2d_depthwise reaches
  std::uint32_t transform_permille;             // of dram_bytes that Winograd's transforms reach
};

// The same on a CPU.
struct Conv2dCpuCost {
  std::uint32_t lanes_turn, lanes_input;  // conv2d_lanes: a turn of its loop, an input, in multiply-adds
  std::uint32_t depthwise_load;           // conv2d_depthwise: a load, in multiply-adds
  std::uint32_t transform_byte;           // Winograd's transforms: picoseconds of a byte
};

// The tables of rows that have numbers of their own: a kernel's stem each. A GEMM whose operand is gathered from an
// image has the matmul's rows with other numbers.
enum class CostTable : std::uint8_t {
  permute_copy,
  permute_rows,
  permute_realign,
  permute_elements,
  permute_tile,
  permute_block,
  permute_ragged,
  permute_gather,
  permute_table,
  permute_runs,
  permute_interleave,
  permute_tma,
  permute_box,
  permute_words,
  permute_fused,
  permute_fused_block,
  permute_fused_ragged,
  matmul_coopmat,
  matmul_coopmat2,
  matmul_mma,
  matmul_wgmma,
  matmul_simt,
  matvec,
  matmul_direct,
  conv2d_coopmat,
  conv2d_simt,
  conv2d_winograd,
  conv2d_depthwise,
  conv2d_lanes,
  conv2d_direct
};
inline constexpr std::size_t kCostTables = static_cast<std::size_t>(CostTable::conv2d_direct) + 1;

// A table's rows by name, without the stem; row numbers are those of the strategy. src/plan/cost_rows.cpp.
const std::vector<std::string>& cost_rows(CostTable table);
std::string_view stem_of(CostTable table) noexcept;
bool has_rates(CostTable table) noexcept;  // GEMMs and kernels that compute convolutions

// A row of a GEMM's or a convolution's table has a rate: permille of its unit's rate that its inner loop reaches if
// nothing else limits it.
struct RowNumbers {
  std::uint32_t rate = 0;
  std::uint32_t int8_rate = 0;  // the same for int8; 0: rate
  std::int32_t offset = 0;      // added to the logarithm of the cost, see Correction
};

// What `calibrate` saw that the formulas do not say: the logarithm of a candidate's cost grows by `constant`, by its
// row's `offset`, and by `slope` times each feature. All are 1/1024 of a power of two. correction.hpp has the features.
inline constexpr std::size_t kFeatures = 20;
struct Correction {
  std::int32_t constant = 0;
  std::array<std::int32_t, kFeatures> slope = {};  // 1/1024
  bool operator==(const Correction&) const = default;
};

struct ClassNumbers {
  // These replace a multiprocessor count that the profile lacks: in costs; for splits of K and the order of tiles,
  // where too many cost more than too few.
  std::uint32_t multiprocessors = 0, multiprocessors_to_fill = 0;
  std::uint32_t measured_multiprocessors = 0;  // of the device that was measured: the bandwidth is theirs
  // A class of GPUs has these, one of CPUs the others; the rest is 0.
  PermuteGpuCost permute = {};
  GemmGpuCost gemm = {};
  Conv2dGpuCost conv2d = {};
  PermuteCpuCost permute_cpu = {};
  GemmCpuCost gemm_cpu = {};
  Conv2dCpuCost conv2d_cpu = {};
};

// The numbers of all rows, and the corrections of all stems.
struct ClassRows {
  ClassRows();
  // Rows that tests and benchmarks add (extra_rows.hpp) have the last one's numbers.
  const RowNumbers& of(CostTable table, std::uint32_t row) const {
    const auto& own = rows[static_cast<std::size_t>(table)];
    return row < own.size() ? own[row] : own.back();
  }
  const Correction& correction(CostTable table) const { return corrections[static_cast<std::size_t>(table)]; }
  std::array<std::vector<RowNumbers>, kCostTables> rows;
  std::array<Correction, kCostTables> corrections = {};
};

}  // namespace sectile::detail
