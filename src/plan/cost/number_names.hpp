// The names of a class's numbers.
#pragma once

#include "numbers.hpp"

#include <cstddef>
#include <iterator>
#include <string_view>

namespace sectile::detail {

// The planner divides by these, and 0 would say that work is free. Others are added, and may be 0.
inline constexpr std::uint32_t kDivides = 1, kAdded = 0;

template <class C, class F>
void for_each_permute_gpu(C& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12] = c;  // no longer compiles with one more
  visit("byte", c.byte, kDivides);
  visit("instruction", c.instruction, kDivides);
  visit("bank_pass", c.bank_pass, kDivides);
  visit("overlap_divisor", c.overlap_divisor, kDivides);
  visit("resident", c.resident, kDivides);
  visit("band_permille", c.band_permille, kAdded);
  visit("tile_permille", c.tile_permille, kAdded);
  visit("run_store_permille", c.run_store_permille, kAdded);
  visit("run_word_permille", c.run_word_permille, kAdded);
  visit("split_lines_permille", c.split_lines_permille, kAdded);
  visit("short_step_permille", c.short_step_permille, kAdded);
  visit("two_short_permille", c.two_short_permille, kAdded);
}

template <class C, class F>
void for_each_permute_cpu(C& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9] = c;
  constexpr const char* kRequests[] = {"request_direct", "request_staged", "request_words",
                                       "request_rows",   "request_box",    "request_box_bytes"};  // by Addressing
  static_assert(std::size(kRequests) == sizeof(c.request) / sizeof(c.request[0]));
  for (std::size_t i = 0; i < std::size(kRequests); ++i) visit(kRequests[i], c.request[i], kDivides);
  visit("request_bytes", c.request_bytes, kDivides);
  visit("load", c.load, kDivides);
  visit("store", c.store, kDivides);
  visit("instruction", c.instruction, kDivides);
  visit("scale", c.scale, kDivides);
  visit("wide_workgroup_permille", c.wide_workgroup_permille, kAdded);
  visit("other_shape_permille", c.other_shape_permille, kAdded);
  visit("run_block_permille", c.run_block_permille, kAdded);
}

template <class C, class F>
void for_each_gemm_gpu(C& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20,
                          f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32] = c;
  visit("clock_picoseconds", c.clock_picoseconds, kDivides);
  visit("latency", c.latency, kDivides);
  visit("latency_pipelined", c.latency_pipelined, kDivides);
  visit("latency_l2_prefetch", c.latency_l2_prefetch, kDivides);
  visit("gathered_latency", c.gathered_latency, kDivides);
  visit("gathered_issue", c.gathered_issue, kDivides);
  visit("barriers", c.barriers, kDivides);
  visit("workgroup_start", c.workgroup_start, kDivides);
  visit("second_step", c.second_step, kDivides);
  visit("permute_step", c.permute_step, kDivides);
  visit("cache_bytes", c.cache_bytes, kDivides);
  visit("stored_elements", c.stored_elements, kDivides);
  visit("matrix_rate", c.matrix_rate, kDivides);
  visit("scalar_rate", c.scalar_rate, kDivides);
  visit("schedulers", c.schedulers, kDivides);
  visit("dot_rate", c.dot_rate, kDivides);
  visit("dram_bytes", c.dram_bytes, kDivides);
  visit("split_bytes", c.split_bytes, kDivides);
  visit("bank_pass_divisor", c.bank_pass_divisor, kDivides);
  visit("exposed_staging_permille", c.exposed_staging_permille, kDivides);
  visit("tail_permille", c.tail_permille, kDivides);
  visit("most_resident", c.most_resident, kDivides);
  visit("reserved_bytes", c.reserved_bytes, kDivides);
  visit("driver_staged_bytes", c.driver_staged_bytes, kDivides);
  visit("across_k", c.across_k, kDivides);
  visit("across_k_pipelined", c.across_k_pipelined, kDivides);
  visit("across_k_32", c.across_k_32, kDivides);
  visit("int8_32", c.int8_32, kDivides);
  visit("moved", c.moved, kDivides);
  visit("ragged", c.ragged, kDivides);
  visit("short_accesses", c.short_accesses, kDivides);
  visit("narrow_gather_permille", c.narrow_gather_permille, kAdded);
}

template <class C, class F>
void for_each_gemm_cpu(C& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2] = c;
  visit("ps_per_kfma", c.ps_per_kfma, 1000u);  // the planner takes its thousandths
  visit("second_step", c.second_step, kDivides);
}

template <class C, class F>
void for_each_conv2d_gpu(C& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13] = c;
  visit("issue_multiply", c.issue_multiply, kDivides);
  visit("issue_column", c.issue_column, kDivides);
  visit("issue_weight", c.issue_weight, kDivides);
  visit("issue_store", c.issue_store, kDivides);
  visit("lines_column", c.lines_column, kDivides);
  visit("lines_column_line", c.lines_column_line, kDivides);
  visit("lines_weight", c.lines_weight, kDivides);
  visit("lines_store", c.lines_store, kDivides);
  visit("latency_row", c.latency_row, kDivides);
  visit("latency_multiply", c.latency_multiply, kDivides);
  visit("hidden_permille", c.hidden_permille, kAdded);
  visit("memory_permille", c.memory_permille, kDivides);
  visit("transform_permille", c.transform_permille, kDivides);
}

template <class C, class F>
void for_each_conv2d_cpu(C& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2, f3, f4] = c;
  visit("lanes_turn", c.lanes_turn, kDivides);
  visit("lanes_input", c.lanes_input, kDivides);
  visit("depthwise_load", c.depthwise_load, kDivides);
  visit("transform_byte", c.transform_byte, kDivides);
}

// Each group, in the file's order: enter(name, each), where each(visit) visits its numbers.
template <class Numbers, class F>
void for_each_group(Numbers& n, bool cpu, F&& enter) {
  enter("defaults", [&](auto&& visit) {
    visit("multiprocessors", n.multiprocessors, kDivides);
    visit("multiprocessors_to_fill", n.multiprocessors_to_fill, kDivides);
    visit("measured_multiprocessors", n.measured_multiprocessors, kDivides);
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
