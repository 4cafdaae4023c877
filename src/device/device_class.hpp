// What work costs on a class of devices. Each class that was measured is a file of src/device/classes, which is
// compiled in; docs/reference/device-class.md describes it. The formulas that use the numbers are the planner's:
// permute/cost.cpp, gemm/cost.cpp and conv2d/cost.cpp.
#pragma once

#include <sectile/error.hpp>
#include <sectile/profile.hpp>

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

// Where and when a class was measured.
struct ClassProvenance {
  std::string device, driver, dates, command;

  // One line, such as "NVIDIA H200, driver 580.159.04, 2026-11-21 to 23".
  std::string text() const;
};

struct ClassNumbers {
  // These replace a multiprocessor count that the profile lacks: in costs; for splits of K and the order of tiles,
  // where too many cost more than too few; for few_tiles() (gemm/split.hpp).
  std::uint32_t multiprocessors = 0, multiprocessors_to_fill = 0, multiprocessors_of_few_tiles = 0;
  // A class of GPUs has the first two, one of CPUs the others; the rest is 0.
  PermuteGpuCost permute = {};
  GemmGpuCost gemm = {};
  PermuteCpuCost permute_cpu = {};
  GemmCpuCost gemm_cpu = {};
};

struct DeviceClass {
  std::string name;
  ClassProvenance provenance;
  std::string measured;  // provenance.text()
  ClassNumbers numbers;
};

// A class from the JSON of its file. Errors: parse, with the name of a field that is missing, unknown, not a positive
// integer, or of another kind of device.
Result<DeviceClass> device_class_from_json(std::string_view text);

// The text of each class that is compiled in, by name.
const std::vector<std::string_view>& builtin_class_texts();
// Null where there is none of this name.
const DeviceClass* builtin_class(std::string_view name);
// The class that was measured on devices like this one; null where there is none.
const DeviceClass* measured_class_of(const DeviceProfile& profile);

}  // namespace sectile::detail
