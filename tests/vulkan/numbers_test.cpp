// Conversions at their ends (docs/reference/numbers.md), bit by bit: ties and their neighbours, overflow, NaN,
// subnormals; integers beyond the 24 bits of an f32.
#include "helpers.hpp"

#include "canary/canary_numbers.abi.h"
#include "reference/numbers.hpp"

#include <sectile/planner.hpp>

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
