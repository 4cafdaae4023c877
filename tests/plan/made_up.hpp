// Problems and plans for the tests of this folder.
#pragma once

#include "properties.hpp"

#include "base/text_tokens.hpp"

#include <sectile/plan.hpp>
#include <sectile/problem.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace made_up {
// Any permute that the problem string can express, in the letters' case that it is printed in. validate() refuses most
// of them.
inline sectile::PermuteProblem any_permute() {
  using namespace sectile;
  const auto number = rc::gen::inRange<std::int64_t>(-2, 40);
  const auto numbers =
      rc::gen::container<std::vector<std::int64_t>>(rc::gen::oneOf(number, rc::gen::arbitrary<std::int64_t>()));
  const auto names = rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("N", "C", "H", "W", "4c", "8h", "84c", "C4")));
  const auto name = [&] {
    std::string all;
    for (const std::string& one : *names) all += one;
    // A number before an axis' letter makes it a block.
    return detail::layout_letters(all);
  };
  PermuteProblem p;
  p.type = static_cast<DType>(*rc::gen::inRange(0, 19));
  p.shape = *rc::gen::nonEmpty(numbers);
  p.axes = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-1, 18));
  if (*rc::gen::arbitrary<bool>()) {
    p.src_layout = name();
    p.dst_layout = name();
  }
  for (const char letter : {'C', 'H', 'N'})
    if (*rc::gen::inRange(0, 4) == 0) p.extents.emplace_back(letter, *number);
  if (*rc::gen::arbitrary<bool>()) p.src_strides = *numbers;
  if (*rc::gen::arbitrary<bool>()) p.dst_strides = *numbers;
  p.src_offset = *number;
  p.dst_offset = *rc::gen::arbitrary<std::int64_t>();
  p.src_align = *rc::gen::element(1u, 2u, 4u, 16u, 4096u, 77u);
  p.dst_align = *rc::gen::element(1u, 2u, 4u, 16u, 4096u, 0u);
  for (auto* list : {&p.shape, &p.src_strides, &p.dst_strides})
    if (list->size() > kMaxRank) list->resize(kMaxRank);
  if (p.axes.size() > kMaxRank) p.axes.resize(kMaxRank);
  return p;
}

// Fields of other operations' problems, beside what is valid too.
inline std::int64_t any_size() {
  return *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-1, 70), rc::gen::arbitrary<std::int64_t>());
}
inline std::int64_t any_stride() { return *rc::gen::arbitrary<bool>() ? 0 : any_size(); }
inline sectile::DType any_type() {
  using enum sectile::DType;
  return *rc::gen::element(f32, f16, bf16, i8, i32, u8);
}
inline float any_number() {
  return *rc::gen::oneOf(rc::gen::element(0.0f, 1.0f, -1.25f, 0.1f, 3.4e38f, 1e-44f),
                         rc::gen::map(rc::gen::inRange(-1000, 1000), [](int n) { return static_cast<float>(n) / 7; }));
}
// An activation with parameters, as the string has it: last only where there is something before it.
void set_any_activation(auto& p, bool added) {
  using enum sectile::Activation;
  p.activation =
      *rc::gen::element(none, relu, gelu, gelu_tanh, silu, leaky_relu, clamp, sigmoid, hard_swish, hard_sigmoid, tanh);
  if (p.activation == leaky_relu) p.slope = any_number();
  if (p.activation == clamp) {
    p.low = any_number();
    p.high = any_number();
  }
  p.activation_last = added && p.activation != none && *rc::gen::arbitrary<bool>();
}
inline std::uint32_t any_align() { return *rc::gen::element(1u, 2u, 4u, 16u, 4096u, 77u); }
inline bool coin() { return *rc::gen::arbitrary<bool>(); }

// Any matmul that the problem string can express. validate() refuses most of them.
inline sectile::MatmulProblem any_matmul() {
  using namespace sectile;
  const auto axis = rc::gen::element(PerAxis::none, PerAxis::row, PerAxis::column);
  MatmulProblem p;
  for (DType* const one : {&p.type, &p.a_type, &p.b_type, &p.acc, &p.out}) *one = any_type();
  for (std::int64_t* const one : {&p.m, &p.n, &p.k, &p.batch}) *one = any_size();
  for (std::int64_t* const one : {&p.lda, &p.ldb, &p.ldc, &p.ldd, &p.ldr}) *one = any_stride();
  for (std::int64_t* const one : {&p.a_batch, &p.b_batch, &p.c_batch, &p.d_batch, &p.r_batch})
    if (coin()) *one = std::max(any_stride(), MatmulProblem::kPacked);  // no text has a negative one
  p.b_format = *rc::gen::element(WeightFormat::plain, WeightFormat::plain, WeightFormat::q8, WeightFormat::q4);
  if (p.b_format != WeightFormat::plain) p.b_type = DType::i8;  // the string has no other type for these formats
  p.alpha = any_number();
  p.beta = any_number();
  p.scale = *axis;
  p.bias = *axis;
  for (bool* const one : {&p.transpose_a, &p.transpose_b, &p.c_is_d, &p.residual, &p.a_scale}) *one = coin();
  set_any_activation(p, p.residual);
  for (std::uint32_t* const one : {&p.a_align, &p.b_align, &p.d_align}) *one = any_align();
  return p;
}

// A plan of two steps through scratch. Every field differs from its default.
inline sectile::Plan two_steps() {
  using namespace sectile;
  Plan plan;
  plan.problem = parse_problem("permute f16 64x32 axes=1,0").value();
  plan.profile_name = "made-up";
  plan.profile_hash = std::string(32, 'a');
  plan.planner_version = "test";
  plan.id = std::string(32, 'b');
  plan.operands = {{.name = "src", .role = OperandRole::source, .bytes = 4096, .align = 16},
                   {.name = "dst", .role = OperandRole::destination, .bytes = 4096, .align = 16},
                   {.name = "scratch", .role = OperandRole::scratch, .bytes = 4096, .align = 256}};
  Step first;
  first.kernel = {"permute_rows", "e2"};
  first.constants = {{0, 64}, {8, 4}};
  first.workgroup = {64, 1, 1};
  first.grid = {8, 1, 1};
  first.push = std::vector<std::uint8_t>(32, 0);
  first.push[20] = 7;
  first.addresses = {{.push_offset = 0, .operand = 0, .byte_offset = 0},
                     {.push_offset = 8, .operand = 2, .byte_offset = 16}};
  first.accesses = {{.operand = 0, .begin = 0, .end = 4096, .write = false},
                    {.operand = 2, .begin = 16, .end = 4096, .write = true}};
  Step second = first;
  second.kernel = {"permute_tile", "e2"};
  second.addresses = {{.push_offset = 0, .operand = 2, .byte_offset = 16},
                      {.push_offset = 8, .operand = 1, .byte_offset = 0}};
  second.accesses = {{.operand = 2, .begin = 16, .end = 4096, .write = false},
                     {.operand = 1, .begin = 0, .end = 4096, .write = true}};
  second.constants = {{0, 64}, {8, 32}, {9, 16}};
  second.workgroup_memory_bytes = 2112;
  second.barrier_before = true;
  plan.steps = {first, second};
  return plan;
}

}  // namespace made_up
