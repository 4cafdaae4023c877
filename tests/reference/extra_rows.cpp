#include "extra_rows.hpp"

#include "plan/extra_rows.hpp"

namespace sectile::reference {

namespace {

using detail::CoopmatLoop;
using detail::CoopmatRow;
using detail::ExtraSimtRow;
using detail::SimtRow;

// A tile that a CPU's compiler takes a second for.
constexpr SimtRow small_tile(const char* note = "") {
  return {.tile_m = 32, .tile_n = 32, .tile_k = 16, .rows = 4, .columns = 4, .lanes_m = 8, .lanes_n = 4, .note = note};
}

constexpr ExtraSimtRow one_buffer() {
  SimtRow row = small_tile(" one buffer");
  row.stages = 1;
  return {.row = row};
}

constexpr ExtraSimtRow without_prefetch() {
  SimtRow row = small_tile(" fetched");
  row.prefetch = false;
  return {.row = row};
}

constexpr ExtraSimtRow checked(SimtRow row) {
  row.note = " checked";
  return {.row = row, .techniques = {.checked = true}};
}

// A rung of tvm_gpu_gemm's ladder: what the rungs below it have, and one thing more.
constexpr ExtraSimtRow rung(int height, const char* note) {
  return {.row = {.tile_m = 128,
                  .tile_n = 128,
                  .tile_k = 16,
                  .rows = 8,
                  .columns = 8,
                  .lanes_m = 16,
                  .lanes_n = 16,
                  .note = note,
                  .stages = height >= 6 ? 2u : 1u,
                  .prefetch = height >= 6},
          .techniques = {.fetchers = height >= 1 ? 0u : 1u,
                         .interleaved = height >= 2,
                         .strided = height >= 3,
                         .wide = height >= 4,
                         .vector = height >= 5 ? 4u : 1u,
                         .group_m = height >= 7 ? 8u : 1u}};
}

constexpr ExtraSimtRow kSimt[] = {
    checked({.tile_m = 128, .tile_n = 128, .tile_k = 8, .rows = 8, .columns = 8, .lanes_m = 8, .lanes_n = 4}),
    checked({.tile_m = 64, .tile_n = 64, .tile_k = 16, .rows = 4, .columns = 8, .lanes_m = 8, .lanes_n = 4}),
    checked(small_tile()),
    one_buffer(),
    rung(0, " staged"),
    rung(1, " cooperative"),
    rung(2, " conflict-free"),
    rung(3, " strided"),
    rung(4, " wide loads"),
    rung(5, " wide fragments"),
    rung(6, " double buffer"),
    rung(7, " banded"),
};

constexpr CoopmatRow small(CoopmatLoop loop, bool half_accumulators = false) {
  return {.tile_m = 16,
          .tile_n = 16,
          .tile_k = 16,
          .sub_m = 8,
          .sub_n = 16,
          .loop = loop,
          .half_accumulators = half_accumulators,
          .cpu_only = true};
}

// A step has rows of a filter of three columns; an invocation loads as little as can be.
constexpr CoopmatRow moved(CoopmatLoop loop) {
  return {.tile_m = 32, .tile_n = 32, .tile_k = 48, .sub_m = 8, .sub_n = 16, .loop = loop, .cpu_only = true};
}

// clang-format off
constexpr CoopmatRow kCoopmat[] = {
    // Left the table: no plan took them.
    {.tile_m = 256, .tile_n = 256, .tile_k = 32, .sub_m = 64, .sub_n = 128, .loop = CoopmatLoop::kPeeled,
     .half_accumulators = true},
    {.tile_m = 32, .tile_n = 32, .tile_k = 32, .sub_m = 16, .sub_n = 16, .loop = CoopmatLoop::kSerial},
    {.tile_m = 32, .tile_n = 32, .tile_k = 32, .sub_m = 16, .sub_n = 32, .loop = CoopmatLoop::kSerial, .slice_k = 2},
    small(CoopmatLoop::kPrefetch),
    small(CoopmatLoop::kPeeled, true),
    small(CoopmatLoop::kPipelined),
    small(CoopmatLoop::kPipelinedL2),
    moved(CoopmatLoop::kPrefetch),
    moved(CoopmatLoop::kPipelined),
};
// clang-format on

constexpr detail::ExtraRows kRows = {.matmul_simt = kSimt, .matmul_coopmat = kCoopmat, .retired = true};

constexpr ExtraSimtRow kFetched[] = {without_prefetch()};
constexpr detail::ExtraRows kFetchedRow = {.matmul_simt = kFetched, .matmul_coopmat = {}, .retired = false};

}  // namespace

const detail::ExtraRows& extra_rows() { return kRows; }

Result<Plan> plan_with_extra_rows(const Problem& problem, const DeviceProfile& profile, const PlanOptions& options) {
  return detail::make_plan_with(extra_rows(), problem, profile, options);
}

Result<Plan> plan_by_fetched_row(const Problem& problem, const DeviceProfile& profile) {
  return detail::make_plan_with(kFetchedRow, problem, profile, {.force = "matmul_simt 32x32x16 4x4 fetched"});
}

}  // namespace sectile::reference
