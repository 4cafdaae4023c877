// Conversions at their ends (docs/reference/numbers.md), bit by bit: ties and their neighbours, overflow, NaN,
// subnormals; integers beyond the 24 bits of an f32.
#include "helpers.hpp"

#include "canary/canary_numbers.abi.h"
#include "reference/numbers.hpp"

#include <sectile/planner.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace sectile;
using namespace sectile::test;

namespace {

// Runs `permute FROM N axes=0 out=TO` on the values, and counts results that are not the value rounded once.
std::size_t wrong_results(vulkan::Runtime& runtime, DType from, DType to, const std::vector<std::uint32_t>& values) {
  PermuteProblem problem;
  problem.type = from;
  problem.shape = {static_cast<std::int64_t>(values.size())};
  problem.axes = {0};
  problem.stage.out = to;
  const auto plan = must(make_plan(problem, runtime.profile()));
  const auto executable = must(runtime.device().prepare(plan));
  const std::uint64_t src_bytes = 4 * values.size(), dst_bytes = reference::element_bytes(to) * values.size();
  const auto src = must(runtime.make_buffer(src_bytes)), dst = must(runtime.make_buffer((dst_bytes + 3) / 4 * 4));
  must(runtime.upload(src, 0, std::as_bytes(std::span(values))));
  must(runtime.fill(dst, 0, dst.size(), 0xCDCDCDCD));
  const vulkan::OperandAddress operands[] = {{src.address(), src_bytes}, {dst.address(), dst_bytes}};
  must(runtime.submit_and_wait(
      [&](VkCommandBuffer commands) { return vulkan::record(commands, executable, operands); }));
  const auto got = read_back(runtime, dst);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = reference::decode(from, std::as_bytes(std::span(&values[i], 1)).data());
    std::byte want[4] = {};
    reference::encode(to, value, want);
    const std::byte* const is = got.data() + i * reference::element_bytes(to);
    if (std::isnan(value) ? std::isnan(reference::decode(to, is))
                          : std::memcmp(is, want, reference::element_bytes(to)) == 0)
      continue;
    if (wrong++ == 0) MESSAGE("input " << value << " (" << values[i] << ") gives " << reference::decode(to, is));
  }
  return wrong;
}

}  // namespace

TEST_CASE("f32 becomes f16 and bf16 to nearest, by ties to even, and beyond the ends infinity") {
  std::vector<std::uint32_t> values;
  for (std::uint32_t i = 0; i < CANARY_NUMBERS_FLOATS; ++i) {
    values.push_back(canary_float(i));
    values.push_back(0x3f800000);  // a 1 in the other half of the word, which the number must not change
    values.push_back(0x3f800000);
    values.push_back(canary_float(i) ^ 0x80000000);
  }
  on_every_compiler([&](vulkan::Runtime& runtime) {
    CHECK(wrong_results(runtime, DType::f32, DType::f16, values) == 0);
    CHECK(wrong_results(runtime, DType::f32, DType::bf16, values) == 0);
  });
}

TEST_CASE("an i32 becomes bf16 by one rounding") {
  std::vector<std::uint32_t> values = {807403521, 0x80000000, 0x80000001, 0x7fffffff, 0, 1};
  // Ties of bf16 at each size, and numbers just beside them, which an f32 cannot tell from the tie.
  for (std::uint32_t bit = 9; bit < 31; ++bit)
    for (std::uint32_t top = 0; top < 128; top += 9)
      for (const std::int32_t beside : {-1, 0, 1}) {
        const std::uint32_t tie = (1u << bit) + (bit >= 7 ? top << (bit - 7) : 0) + (1u << (bit - 8));
        values.push_back(tie + static_cast<std::uint32_t>(beside));
        values.push_back(0u - tie + static_cast<std::uint32_t>(beside));
      }
  on_every_compiler(
      [&](vulkan::Runtime& runtime) { CHECK(wrong_results(runtime, DType::i32, DType::bf16, values) == 0); });
}

TEST_CASE("a sum of int8 products becomes bf16 by one rounding") {
  // 33685505 is one more than a tie of bf16; as an f32 it would be the tie, and go to the even neighbour below.
  constexpr std::size_t kLength = 2090;
  std::vector<std::int8_t> a(kLength, 127), b(kLength, 127);
  b[kLength - 2] = 64;
  a[kLength - 1] = 1;
  b[kLength - 1] = 25;
  on_every_compiler([&](vulkan::Runtime& runtime) {
    if (!runtime.profile().storage8.value_or(false)) return;  // SwiftShader: no int8 products
    for (const int sign : {1, -1}) {
      std::vector<std::int8_t> left = a, padded(kLength + 2), other(kLength + 2);
      for (auto& value : left) value = static_cast<std::int8_t>(sign * value);
      std::ranges::copy(left, padded.begin());
      std::ranges::copy(b, other.begin());
      const auto plan = must(make_plan(must(parse_problem("matmul i8 nn 1x1x2090 out=bf16")), runtime.profile()));
      const auto executable = must(runtime.device().prepare(plan));
      const auto one = must(runtime.make_buffer(padded.size())), two = must(runtime.make_buffer(other.size())),
                 out = must(runtime.make_buffer(4));
      std::uint64_t scratch_bytes = 4;
      for (const PlanOperand& operand : plan.operands)
        if (operand.role == OperandRole::scratch) scratch_bytes = operand.bytes;
      const auto scratch = must(runtime.make_buffer(scratch_bytes));
      must(runtime.upload(one, 0, std::as_bytes(std::span(padded))));
      must(runtime.upload(two, 0, std::as_bytes(std::span(other))));
      must(runtime.fill(out, 0, out.size(), 0xCDCDCDCD));
      std::vector<vulkan::OperandAddress> operands;
      for (const PlanOperand& operand : plan.operands)
        operands.push_back(operand.name == "a"   ? vulkan::OperandAddress{one.address(), one.size()}
                           : operand.name == "b" ? vulkan::OperandAddress{two.address(), two.size()}
                           : operand.name == "d" ? vulkan::OperandAddress{out.address(), out.size()}
                                                 : vulkan::OperandAddress{scratch.address(), scratch.size()});
      must(runtime.submit_and_wait(
          [&](VkCommandBuffer commands) { return vulkan::record(commands, executable, operands); }));
      CHECK(reference::decode(DType::bf16, read_back(runtime, out).data()) == sign * 33816576.0);
    }
  });
}
