// The names of a class's numbers.
#pragma once

#include "numbers.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace sectile::detail {

// The operation whose measurements `sectile calibrate` fits a number to. The others are limits of a device that kernels
// are built by, or units that rates are parts of.
enum class FittedTo : std::uint8_t { nothing, permutes, matmuls, convolutions };

struct NumberRule {
  std::uint32_t least;  // 0 where the number is added; where the planner divides by it, 0 would say that work is free
  FittedTo fitted;
};

template <class C, class F>
void for_each_permute_gpu(C& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12] = c;  // no longer compiles with one more
  visit("byte", c.byte, {1, FittedTo::permutes});
  visit("instruction", c.instruction, {1, FittedTo::permutes});
  visit("bank_pass", c.bank_pass, {1, FittedTo::permutes});
  visit("overlap_divisor", c.overlap_divisor, {1, FittedTo::permutes});
  visit("resident", c.resident, {1, FittedTo::permutes});
  visit("band_permille", c.band_permille, {0, FittedTo::permutes});
  visit("tile_permille", c.tile_permille, {0, FittedTo::permutes});
  visit("run_store_permille", c.run_store_permille, {0, FittedTo::permutes});
  visit("run_word_permille", c.run_word_permille, {0, FittedTo::permutes});
  visit("split_lines_permille", c.split_lines_permille, {0, FittedTo::permutes});
  visit("short_step_permille", c.short_step_permille, {0, FittedTo::permutes});
  visit("two_short_permille", c.two_short_permille, {0, FittedTo::permutes});
}

template <class C, class F>
void for_each_permute_cpu(C& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9] = c;
  constexpr const char* kRequests[] = {"request_direct", "request_staged", "request_words",
                                       "request_rows",   "request_box",    "request_box_bytes"};  // by Addressing
  static_assert(std::size(kRequests) == sizeof(c.request) / sizeof(c.request[0]));
  for (std::size_t i = 0; i < std::size(kRequests); ++i) visit(kRequests[i], c.request[i], {1, FittedTo::permutes});
  visit("request_bytes", c.request_bytes, {1, FittedTo::permutes});
  visit("load", c.load, {1, FittedTo::permutes});
  visit("store", c.store, {1, FittedTo::permutes});
  visit("instruction", c.instruction, {1, FittedTo::permutes});
  visit("scale", c.scale, {1, FittedTo::nothing});
  visit("wide_workgroup_permille", c.wide_workgroup_permille, {0, FittedTo::permutes});
  visit("other_shape_permille", c.other_shape_permille, {0, FittedTo::permutes});
  visit("run_block_permille", c.run_block_permille, {0, FittedTo::permutes});
}

template <class C, class F>
void for_each_gemm_gpu(C& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20,
                          f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39,
                          f40, f41, f42, f43, f44, f45, f46, f47, f48, f49, f50, f51, f52, f53, f54, f55, f56, f57, f58,
                          f59, f60, f61, f62, f63, f64, f65] = c;
  visit("clock_picoseconds", c.clock_picoseconds, {1, FittedTo::matmuls});
  visit("latency", c.latency, {1, FittedTo::matmuls});
  visit("latency_pipelined", c.latency_pipelined, {1, FittedTo::matmuls});
  visit("latency_l2_prefetch", c.latency_l2_prefetch, {1, FittedTo::matmuls});
  visit("gathered_latency", c.gathered_latency, {1, FittedTo::convolutions});
  visit("gathered_issue", c.gathered_issue, {1, FittedTo::convolutions});
  visit("barriers", c.barriers, {1, FittedTo::matmuls});
  visit("workgroup_start", c.workgroup_start, {1, FittedTo::matmuls});
  visit("second_step", c.second_step, {1, FittedTo::matmuls});
  visit("permute_step", c.permute_step, {1, FittedTo::convolutions});
  visit("cache_bytes", c.cache_bytes, {1, FittedTo::matmuls});
  visit("stored_elements", c.stored_elements, {1, FittedTo::matmuls});
  visit("matrix_rate", c.matrix_rate, {1, FittedTo::nothing});
  visit("wgmma_rate", c.wgmma_rate, {1, FittedTo::nothing});
  visit("wgmma_bytes", c.wgmma_bytes, {1, FittedTo::matmuls});
  visit("wgmma_busy_bytes", c.wgmma_busy_bytes, {1, FittedTo::matmuls});
  visit("wgmma_latency", c.wgmma_latency, {1, FittedTo::matmuls});
  visit("wgmma_start", c.wgmma_start, {1, FittedTo::matmuls});
  visit("wgmma_stored", c.wgmma_stored, {1, FittedTo::matmuls});
  visit("wgmma_exchange", c.wgmma_exchange, {1, FittedTo::matmuls});
  visit("wgmma_slices", c.wgmma_slices, {1, FittedTo::matmuls});
  visit("wgmma_loaded", c.wgmma_loaded, {0, FittedTo::matmuls});
  visit("wgmma_copied", c.wgmma_copied, {1, FittedTo::matmuls});
  visit("wgmma_converted", c.wgmma_converted, {1, FittedTo::matmuls});
  visit("wgmma_unpacked", c.wgmma_unpacked, {1, FittedTo::matmuls});
  visit("wgmma_second_step", c.wgmma_second_step, {1, FittedTo::matmuls});
  visit("mma_rate", c.mma_rate, {1, FittedTo::nothing});
  visit("mma_request", c.mma_request, {1, FittedTo::matmuls});
  visit("mma_copy", c.mma_copy, {1, FittedTo::matmuls});
  visit("mma_stored", c.mma_stored, {1, FittedTo::matmuls});
  visit("scalar_rate", c.scalar_rate, {1, FittedTo::nothing});
  visit("schedulers", c.schedulers, {1, FittedTo::nothing});
  visit("dot_rate", c.dot_rate, {1, FittedTo::matmuls});
  visit("dram_bytes", c.dram_bytes, {1, FittedTo::matmuls});
  visit("split_bytes", c.split_bytes, {1, FittedTo::matmuls});
  visit("bank_pass_divisor", c.bank_pass_divisor, {1, FittedTo::matmuls});
  visit("exposed_staging_permille", c.exposed_staging_permille, {1, FittedTo::matmuls});
  visit("tail_permille", c.tail_permille, {1, FittedTo::matmuls});
  visit("most_resident", c.most_resident, {1, FittedTo::nothing});
  visit("reserved_bytes", c.reserved_bytes, {1, FittedTo::nothing});
  visit("driver_staged_bytes", c.driver_staged_bytes, {1, FittedTo::nothing});
  visit("across_k", c.across_k, {1, FittedTo::matmuls});
  visit("across_k_pipelined", c.across_k_pipelined, {1, FittedTo::matmuls});
  visit("across_k_32", c.across_k_32, {1, FittedTo::matmuls});
  visit("int8_32", c.int8_32, {1, FittedTo::matmuls});
  visit("moved", c.moved, {1, FittedTo::convolutions});
  visit("ragged", c.ragged, {1, FittedTo::matmuls});
  visit("short_accesses", c.short_accesses, {1, FittedTo::matmuls});
  visit("narrow_gather_permille", c.narrow_gather_permille, {0, FittedTo::convolutions});
  visit("wgmma_overlapped_permille", c.wgmma_overlapped_permille, {0, FittedTo::matmuls});
  visit("wgmma_epilogue_permille", c.wgmma_epilogue_permille, {0, FittedTo::matmuls});
  visit("wgmma_activation_permille", c.wgmma_activation_permille, {0, FittedTo::matmuls});
  visit("wgmma_addends_permille", c.wgmma_addends_permille, {0, FittedTo::matmuls});
  visit("wgmma_together", c.wgmma_together, {0, FittedTo::matmuls});
  visit("wgmma_unpack_start", c.wgmma_unpack_start, {0, FittedTo::matmuls});
  visit("wgmma_lone_permille", c.wgmma_lone_permille, {1, FittedTo::matmuls});
  visit("wgmma_three_permille", c.wgmma_three_permille, {1, FittedTo::matmuls});
  visit("wgmma_bf16_permille", c.wgmma_bf16_permille, {1, FittedTo::matmuls});
  visit("wgmma_unhidden_permille", c.wgmma_unhidden_permille, {0, FittedTo::matmuls});
  visit("wgmma_box", c.wgmma_box, {0, FittedTo::matmuls});
  visit("wgmma_lines_permille", c.wgmma_lines_permille, {0, FittedTo::matmuls});
  visit("wgmma_narrow_permille", c.wgmma_narrow_permille, {0, FittedTo::matmuls});
  visit("wgmma_swapped_permille", c.wgmma_swapped_permille, {1, FittedTo::matmuls});
  visit("wgmma_memory_permille", c.wgmma_memory_permille, {0, FittedTo::matmuls});
  visit("wgmma_clustered_permille", c.wgmma_clustered_permille, {1, FittedTo::matmuls});
}

template <class C, class F>
void for_each_gemm_cpu(C& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2] = c;
  visit("ps_per_kfma", c.ps_per_kfma, {1000, FittedTo::matmuls});  // the planner takes its thousandths
  visit("second_step", c.second_step, {1, FittedTo::matmuls});
}

template <class C, class F>
void for_each_conv2d_gpu(C& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13] = c;
  visit("issue_multiply", c.issue_multiply, {1, FittedTo::convolutions});
  visit("issue_column", c.issue_column, {1, FittedTo::convolutions});
  visit("issue_weight", c.issue_weight, {1, FittedTo::convolutions});
  visit("issue_store", c.issue_store, {1, FittedTo::convolutions});
  visit("lines_column", c.lines_column, {1, FittedTo::convolutions});
  visit("lines_column_line", c.lines_column_line, {1, FittedTo::convolutions});
  visit("lines_weight", c.lines_weight, {1, FittedTo::convolutions});
  visit("lines_store", c.lines_store, {1, FittedTo::convolutions});
  visit("latency_row", c.latency_row, {1, FittedTo::convolutions});
  visit("latency_multiply", c.latency_multiply, {1, FittedTo::convolutions});
  visit("hidden_permille", c.hidden_permille, {0, FittedTo::convolutions});
  visit("memory_permille", c.memory_permille, {1, FittedTo::convolutions});
  visit("transform_permille", c.transform_permille, {1, FittedTo::convolutions});
}

template <class C, class F>
void for_each_conv2d_cpu(C& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2, f3, f4] = c;
  visit("lanes_turn", c.lanes_turn, {1, FittedTo::convolutions});
  visit("lanes_input", c.lanes_input, {1, FittedTo::convolutions});
  visit("depthwise_load", c.depthwise_load, {1, FittedTo::convolutions});
  visit("transform_byte", c.transform_byte, {1, FittedTo::convolutions});
}

// Each group, in the file's order: enter(name, each), where each(visit) visits its numbers.
template <class Numbers, class F>
void for_each_group(Numbers& n, bool cpu, F&& enter) {
  enter("defaults", [&](auto&& visit) {
    visit("multiprocessors", n.multiprocessors, {1, FittedTo::nothing});
    visit("multiprocessors_to_fill", n.multiprocessors_to_fill, {1, FittedTo::nothing});
    visit("measured_multiprocessors", n.measured_multiprocessors, {1, FittedTo::nothing});
  });
  if (cpu) {
    enter("permute_cpu", [&](auto&& visit) { for_each_permute_cpu(n.permute_cpu, visit); });
    enter("gemm_cpu", [&](auto&& visit) { for_each_gemm_cpu(n.gemm_cpu, visit); });
    enter("conv2d_cpu", [&](auto&& visit) { for_each_conv2d_cpu(n.conv2d_cpu, visit); });
  } else {
    enter("permute_gpu", [&](auto&& visit) { for_each_permute_gpu(n.permute, visit); });
    enter("gemm_gpu", [&](auto&& visit) { for_each_gemm_gpu(n.gemm, visit); });
    enter("conv2d_gpu", [&](auto&& visit) { for_each_conv2d_gpu(n.conv2d, visit); });
  }
}

}  // namespace sectile::detail
