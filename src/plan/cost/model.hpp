// What work takes on a class of devices: numbers, each named, with where they are from. The formulas belong to the
// operations (permute/cost.cpp, matmul/cost.cpp) and hold no number of a device. docs/design/cost-model.md explains both.
#pragma once

#include <sectile/profile.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace sectile::detail {

// How a permute kernel works out the address of an element; a CPU pays for that more than for the memory.
enum class Addressing : std::uint8_t {
  direct,    // increments of a pointer, blocks in registers
  staged,    // through workgroup memory: a second copy on a CPU
  words,     // elements joined to 32-bit words, one by one
  rows,      // divisions for each element
  box,       // divisions for each access, workgroup memory
  box_bytes  // the same for elements of 1 byte, four to a word
};

// Picoseconds of one multiprocessor of a GPU.
struct PermuteGpuCost {
  std::uint32_t byte;             // of global memory: the multiprocessor's share of the device's bandwidth
  std::uint32_t instruction;      // of a subgroup
  std::uint32_t bank_pass;        // over workgroup memory, beyond the first
  std::uint32_t overlap_divisor;  // memory and instructions overlap; the shorter one adds this part of itself
  std::uint32_t resident;         // workgroups a multiprocessor that it takes to fill the device
};

// Picoseconds of one core of a CPU, times `scale` over 1000.
struct PermuteCpuCost {
  std::uint32_t request[6];       // by Addressing: of a subgroup's access, for each byte and `request_bytes` more
  std::uint32_t request_bytes;
  std::uint32_t load, store;      // of a transaction
  std::uint32_t instruction;      // of a subgroup
  std::uint32_t scale;            // permille: from these units to picoseconds
};

// Clocks of one multiprocessor of a GPU, unless the name says otherwise.
struct MatmulGpuCost {
  std::uint32_t clock_picoseconds;
  std::uint32_t latency;               // of a step of K whose loads wait for the L2
  std::uint32_t latency_pipelined;     // the same where the next step is staged before the last product
  std::uint32_t latency_l2_prefetch;   // and where the operands were prefetched into the L2
  std::uint32_t barriers;              // of a step: its barriers and the first fragments behind them
  std::uint32_t workgroup_start;       // first loads and last stores of a workgroup
  std::uint32_t second_step;           // of a plan: a barrier and another dispatch
  std::uint32_t cache_bytes;           // a clock, to one multiprocessor from the L2 and the L1 together
  std::uint32_t stored_elements;       // of the result, a clock
  std::uint32_t matrix_rate;           // f16 multiply-adds a clock that the matrix unit's code reaches; int8 twice that
  std::uint32_t scalar_rate;           // f32 multiply-adds a clock
  std::uint32_t dot_rate;              // int8 multiply-adds a clock by integer dot products
  std::uint32_t dram_bytes;            // a clock, of the whole device
  std::uint32_t bank_pass_divisor;     // passes over workgroup memory a clock, beyond the first
  std::uint32_t alone_permille;        // of a product's time, added where a workgroup is alone on its multiprocessor
  std::uint32_t tail_permille;         // of a tail's time beside the last full wave, which it slows down
  std::uint32_t most_resident;         // workgroups of a multiprocessor
  std::uint32_t reserved_bytes;        // of workgroup memory, in each workgroup beside its own
  std::uint32_t driver_staged_bytes;   // of workgroup memory where the driver's compiler stages the operands
};

// Picoseconds of one core of a CPU.
struct MatmulCpuCost {
  std::uint32_t thousand_products;     // at a row's rate of 1000
  std::uint32_t second_step;           // of a plan
};

struct CostModel {
  std::string_view name;               // of the class of devices
  std::string_view measured;           // device, driver and dates; empty: nothing was measured on this class
  // Where the profile does not say how many multiprocessors there are: for costs; for splits of K and the order of tiles,
  // where a number that is too large costs more; for the choice of few rows that serve all small results.
  std::uint32_t multiprocessors, multiprocessors_to_fill, multiprocessors_of_few_tiles;
  PermuteGpuCost permute;
  MatmulGpuCost matmul;
  PermuteCpuCost permute_cpu;          // of the CPU class; the others leave these at 0
  MatmulCpuCost matmul_cpu;
};

// Of a profile's device: a CPU, Hopper, or a GPU of which nothing was measured.
CostModel cost_model_of(const DeviceProfile& profile) noexcept;

// One line: the class, and what was measured on it.
std::string describe(const CostModel& model);

}  // namespace sectile::detail
