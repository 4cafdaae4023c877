// Rows of the matmul tables that tests and benchmarks may add to (extra_rows.hpp).
#pragma once

#include <cstdint>

namespace sectile::detail {

// A row of matmul_simt: tiles staged through workgroup memory, multiplied without a matrix unit.
struct SimtRow {
  std::uint32_t tile_m, tile_n, tile_k;     // of a workgroup, in a step
  std::uint32_t rows, columns;              // an invocation's share
  std::uint32_t lanes_m, lanes_n;           // invocations of a subgroup's tile
  std::uint32_t hopper_rate = 470;          // permille of the multiply-add rate that its steps reach, as measured
  std::uint32_t hopper_cuda_rate = 0;       // the same of CUDA's compiler; 0: the same figure
  const char* note = "";                    // behind the candidate's name
  bool few = false;                         // one of those that serve where there are few tiles
  bool checked = false;                     // bounds in the compute stage as well
  bool wide = true;                         // accesses as wide as alignment allows, not an element each
  std::uint32_t vector = 4;                 // elements of a fragment's load
  bool strided = true;                      // an invocation's share is strided over the tile by such vectors
  std::uint32_t stages = 2;                 // of workgroup memory
  bool prefetch = true;                     // the next step's loads are in flight while one is multiplied
  std::uint32_t fetchers = 0;               // invocations that load; 0: all
  bool interleaved = true;                  // neighbours load side by side; rows in workgroup memory are padded
  std::uint32_t order = 0;                  // of tiles, see MATMUL_SPEC_ORDER; 0: by the number of tiles

  constexpr std::uint32_t workgroup() const { return tile_m * tile_n / (rows * columns); }
};

// How the loop over K loads, stages and multiplies.
enum class CoopmatLoop : std::uint8_t {
  kPrefetch,      // the next step is loaded into registers before a step is multiplied
  kInterleaved,   // its loads stand between the products
  kPeeled,        // the same; the last step's products stand behind the loop
  kPipelined,     // the next step is staged before a step's last product
  kPipelinedL2,   // the same; the operands are prefetched into the L2 first
  kSerial         // load, stage, multiply: little code, for CPUs
};

// A row of matmul_coopmat: tiles staged through workgroup memory, multiplied by a matrix unit at subgroup scope.
struct CoopmatRow {
  std::uint32_t tile_m, tile_n, tile_k;     // of a workgroup, in a step
  std::uint32_t sub_m, sub_n;               // a subgroup's tile
  CoopmatLoop loop = CoopmatLoop::kPrefetch;
  std::uint32_t hopper_rate = 300;          // permille of the matrix unit's rate that its steps reach, loads included
  std::uint32_t slice_k = 1;                // parts of a step of K, each with subgroups of its own
  bool half_accumulators = false;           // f16 accumulators only: f32 ones would not fit the registers
  bool int8_only = false;                   // f16's step of as many K is twice as long: too many loads in flight
  bool eight_lanes = false;                 // small enough for subgroups of 8, and for nothing else
  bool cpu_only = false;                    // a GPU's loop on a tile that a CPU's compiler takes a second for

  constexpr bool pipelined() const { return loop == CoopmatLoop::kPipelined || loop == CoopmatLoop::kPipelinedL2; }
  constexpr std::uint32_t subgroups() const { return tile_m / sub_m * (tile_n / sub_n) * slice_k; }
};

}  // namespace sectile::detail
