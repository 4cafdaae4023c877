// The cost model's numbers: named fields, one set for each class of devices. The formulas that use them are in
// permute/cost.cpp and gemm/cost.cpp. docs/design/cost-model.md explains both.
#pragma once

#include <sectile/profile.hpp>

#include <cstdint>
#include <string>
#include <string_view>

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
};

// One core of a CPU, in units of `scale` / 1000 picoseconds.
struct PermuteCpuCost {
  std::uint32_t request[6];  // by Addressing: a subgroup's access, times (element bytes + request_bytes)
  std::uint32_t request_bytes;
  std::uint32_t load, store;  // a transaction
  std::uint32_t instruction;  // an instruction of a subgroup
  std::uint32_t scale;
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
};

// Picoseconds of one core of a CPU.
struct GemmCpuCost {
  std::uint32_t ps_per_kfma;  // 1000 multiply-adds at a row's rate of 1000
  std::uint32_t second_step;  // the plan's second step
};

struct CostModel {
  std::string_view name;      // the class of devices
  std::string_view measured;  // device, driver and dates; empty: nothing was measured on this class
  // These replace a multiprocessor count that the profile lacks: in costs; for splits of K and the order of tiles,
  // where too many cost more than too few; for few_tiles() (gemm/split.hpp).
  std::uint32_t multiprocessors, multiprocessors_to_fill, multiprocessors_of_few_tiles;
  PermuteGpuCost permute;
  GemmGpuCost gemm;
  PermuteCpuCost permute_cpu;  // these two are 0 but in the CPU class
  GemmCpuCost gemm_cpu;
};

// The class of a profile's device: CPU, Hopper, or a GPU without measurements.
CostModel cost_model_of(const DeviceProfile& profile) noexcept;

// One line for `explain`: the class, and what was measured on it.
std::string describe(const CostModel& model);

}  // namespace sectile::detail
