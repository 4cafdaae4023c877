//! variant f32
//! variant f32.narrow
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER
//! variant i8.dot -DINTEGER -DDOT
//! variant i8.dot.narrow -DINTEGER -DDOT
// Each step of K of a workgroup's tile is staged in workgroup memory; an invocation keeps its rows, columns and
// accumulators in registers. Method: CUTLASS's efficient GEMM; each of its parts is a constant. Workgroup memory and
// accumulators are f32 for all operand types. With INTEGER, a word of workgroup memory holds four int8 along K, and
// accumulators are int.
// Bounds are checked where operands are loaded and results are stored, not in the products (but with CHECKED): rows and
// columns beyond the operands are clamped to the last ones, and the surplus of K is zeros (local padding: Zheng et al.,
// "DietCode", MLSys 2022).
#include "lib/cuda.cuh"
#include "gemm/gemm.cuh"
#include "gemm/epilogue.cuh"
#include "gemm/simt_items.cuh"

// ---- both operands are stored: a load's offset in its operand's tile stays the same, and the tile moves on

using Place = uint;
__device__ __forceinline__ Operands operands_of(const GemmPush& push, const Tile& t) {
  return stored_operands(push, t);
}
__device__ __forceinline__ Place place_of(const GemmPush& push, const Tile& t, const Side& s, Item item) {
  return offset_of(s, item);
}
__device__ __forceinline__ uvec4 fetch_item(const GemmPush& push, const Side& s, uint64 base, Item item, Place place,
                                            uint step, uint left, const bool tail) {
  return fetch_stored(s, base, place, item.k, left, tail);
}
#ifndef INTEGER
__device__ __forceinline__ void convert_item(const GemmPush& push, const Tile& t, const Side& s, Item item,
                                             Place place, const uvec4& raw, uint step, bool inside,
                                             float (&v)[MAX_RUN]) {
  convert_stored(push, t, s, item, raw, step + item.k, inside, v);
}
#endif

#include "gemm/simt.cuh"

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ GemmPush push) {
  multiply_tile(push);
}
