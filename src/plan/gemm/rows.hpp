// The row types of the GEMM tables to which tests and benchmarks can add rows (extra_rows.hpp).
#pragma once

#include <cstdint>

namespace sectile::detail {

// Whether a row serves all shapes where PlanOptions::few_pipelines is set, and whether it then splits K.
enum class ShapeGeneric : std::uint8_t { kNo, kWhole, kSplit };

// A row of matmul_simt: tiles staged in workgroup memory and multiplied without a matrix unit.
struct SimtRow {
  std::uint32_t tile_m, tile_n, tile_k;  // a workgroup's tile; K of a step
  std::uint32_t rows, columns;           // an invocation's share of the tile
  std::uint32_t lanes_m, lanes_n;        // invocations along M and N of a subgroup's tile
  const char* note = "";                 // suffix of the candidate's name
  std::uint32_t stages = 0;              // buffers for the staged tiles: 1, or 2 with a prefetch; 0: by what fits
  bool prefetch = true;                  // the next step's loads are in flight while this step is multiplied
  ShapeGeneric generic = ShapeGeneric::kNo;
  bool cpu_integers = false;  // for int8 on CPU devices, whose compilers take long for a dot product

  constexpr std::uint32_t workgroup() const { return tile_m * tile_n / (rows * columns); }
};

// What each rung of the ladder of tests adds to the one below, and how its rivals do. A row of the table has all of it.
struct SimtTechniques {
  std::uint32_t fetchers = 0;  // invocations that load; 0: all
  bool interleaved = true;     // loads are coalesced; rows in workgroup memory are padded
  bool strided = true;         // an invocation's share is strided over the tile by fragment loads
  bool wide = true;            // accesses as wide as alignment allows; otherwise one element each
  std::uint32_t vector = 4;    // elements of a fragment load
  std::uint32_t group_m = 0;   // see GemmConfig; 0: by the number of tiles
  bool checked = false;        // the multiply loop checks bounds too
};

struct ExtraSimtRow {
  SimtRow row;
  SimtTechniques techniques = {};
};

// How the loop over K loads, stages and multiplies.
enum class CoopmatLoop : std::uint8_t {
  kPrefetch,     // loads of the next step go to registers before this step is multiplied
  kPeeled,       // loads of the next step are interleaved with this step's products, the last step's are peeled off
  kPipelined,    // the next step is staged in workgroup memory before this step's last product
  kPipelinedL2,  // as kPipelined, after a prefetch of the operands into the L2
  kSerial        // load, stage, multiply: short code, for CPUs
};

// A row of matmul_coopmat: tiles staged in workgroup memory and multiplied by a matrix unit at subgroup scope.
struct CoopmatRow {
  std::uint32_t tile_m, tile_n, tile_k;  // a workgroup's tile; K of a step
  std::uint32_t sub_m, sub_n;            // a subgroup's tile
  CoopmatLoop loop = CoopmatLoop::kPrefetch;
  std::uint32_t least_steps = 0;   // steps are long: K has at least so many, and no load is of one element; 0: any
  std::uint32_t slice_k = 1;       // slices of a step of K, each multiplied by its own subgroups
  bool half_accumulators = false;  // f16 accumulators only: f32 ones would not fit the registers
  bool int8_only = false;          // an f16 step with this K has twice the bytes: too many loads in flight
  bool eight_lanes = false;        // for subgroups of 8 only
  bool cpu_only = false;           // a GPU's loop on a tile so small that a CPU's compiler takes only a second
  ShapeGeneric generic = ShapeGeneric::kNo;

  constexpr bool pipelined() const { return loop == CoopmatLoop::kPipelined || loop == CoopmatLoop::kPipelinedL2; }
  constexpr std::uint32_t subgroups() const { return tile_m / sub_m * (tile_n / sub_n) * slice_k; }
};

}  // namespace sectile::detail
