#include "canary_numbers.hpp"

#include "canary/canary_numbers.abi.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>

namespace sectile::vulkan {
namespace {

constexpr std::uint32_t kLanes = 64;

// A type of 2 bytes: the bits of its significand, and the exponent of its least number.
struct Small {
  int precision, least;
  std::uint32_t infinity, one;
};
constexpr Small kHalf = {11, -24, 0x7c00, 0x3c00}, kBrain = {8, -133, 0x7f80, 0x3f80};

// The finite or infinite `value` in the type, to nearest, ties to even.
std::uint32_t rounded_bits(const Small& type, double value) {
  const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (size == 0) return sign;
  if (std::isinf(value)) return sign | type.infinity;
  int exponent = 0;
  std::frexp(size, &exponent);
  const int unit = std::max(exponent - type.precision, type.least);
  // The hidden bit is one step of the exponent, and a carry another.
  const double bits = std::nearbyint(std::ldexp(size, -unit)) + std::ldexp(unit - type.least, type.precision - 1);
  return sign | static_cast<std::uint32_t>(std::min(bits, static_cast<double>(type.infinity)));
}

float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// Why half `high` of a word is wrong; empty where it is not.
std::string half_fault(const Small& type, std::uint32_t word, int shift, std::optional<std::uint32_t> input) {
  const std::uint32_t got = (word >> shift) & 0xffff;
  if (!input) {
    return got == type.one ? "" : fmt::format("1 beside it gives {:#06x}, not {:#06x}", got, type.one);
  }
  const auto value = static_cast<double>(float_of(*input));
  if (std::isnan(value))
    return (got & 0x7fff) > type.infinity ? "" : fmt::format("NaN ({:#010x}) gives {:#06x}, no NaN", *input, got);
  const std::uint32_t want = rounded_bits(type, value);
  return got == want ? "" : fmt::format("{} ({:#010x}) gives {:#06x}, not {:#06x}", value, *input, got, want);
}

std::string packed_fault(const Small& type, std::uint32_t i, std::uint32_t first, std::uint32_t second) {
  const std::uint32_t v = canary_float(i), negative = v ^ 0x80000000u;
  for (const auto& [word, shift, input] :
       {std::tuple(first, 0, std::optional(v)), std::tuple(first, 16, std::optional<std::uint32_t>()),
        std::tuple(second, 16, std::optional(negative)), std::tuple(second, 0, std::optional<std::uint32_t>())})
    if (std::string fault = half_fault(type, word, shift, input); !fault.empty())
      return input ? fault : fmt::format("{}: {}", float_of(v), fault);
  return {};
}

// max(v, 0) that keeps a NaN. A subnormal may be taken for 0, and the sign of 0 is open.
std::string relu_fault(std::uint32_t input, std::uint32_t got) {
  const float v = float_of(input), result = float_of(got);
  if (std::isnan(v)) return std::isnan(result) ? "" : fmt::format("relu of NaN ({:#010x}) is {}", input, result);
  if (result == (v > 0 ? v : 0) || (std::fpclassify(v) == FP_SUBNORMAL && (result == 0 || result == v))) return {};
  return fmt::format("relu of {} is {}", v, result);
}

std::string dot_fault(std::uint32_t i, std::uint32_t first, std::uint32_t second) {
  const std::uint32_t x = canary_bytes(i, 0), y = canary_bytes(i, 1);
  std::int32_t sum = 0;
  for (int b = 0; b < 32; b += 8) sum += static_cast<std::int8_t>(x >> b) * static_cast<std::int8_t>(y >> b);
  const auto got = static_cast<std::int32_t>(first), added = static_cast<std::int32_t>(second);
  if (got == sum && added == sum + static_cast<std::int32_t>(i)) return {};
  return fmt::format("{:#010x} times {:#010x} is {}, not {}", x, y,
                     got == sum ? added - static_cast<std::int32_t>(i) : got, sum);
}

// Why a kind is not tested whose fault a quirk knows.
constexpr const char* kKnown = "a quirk has kernels do it by integers";

struct Kind {
  const char* kind;
  const char* variant;
  std::uint32_t inputs;
  std::string (*fault)(std::uint32_t i, std::uint32_t first, std::uint32_t second);
  const char* (*lack)(const DeviceProfile&);  // null: nothing
};
constexpr Kind kKinds[] = {
    {"f16 conversion", "f16", CANARY_NUMBERS_FLOATS,
     [](std::uint32_t i, std::uint32_t a, std::uint32_t b) { return packed_fault(kHalf, i, a, b); },
     [](const DeviceProfile& p) { return p.f16_conversion == false ? kKnown : nullptr; }},
    {"bf16 conversion", "bf16", CANARY_NUMBERS_FLOATS,
     [](std::uint32_t i, std::uint32_t a, std::uint32_t b) { return packed_fault(kBrain, i, a, b); },
     [](const DeviceProfile& p) -> const char* {
       if (p.bfloat16 != true || p.int16 != true) return "no bfloat16 arithmetic";
       return p.bf16_conversion == false ? kKnown : nullptr;
     }},
    {"NaN selection", "nan", CANARY_NUMBERS_FLOATS,
     [](std::uint32_t i, std::uint32_t a, std::uint32_t b) {
       const std::string fault = relu_fault(canary_float(i), a);
       return fault.empty() ? relu_fault(canary_float(i) ^ 0x80000000u, b) : fault;
     },
     [](const DeviceProfile& p) { return p.nan_selection == false ? kKnown : nullptr; }},
    {"dot products", "dot", CANARY_NUMBERS_DOTS, dot_fault,
     [](const DeviceProfile& p) -> const char* { return p.integer_dot_product == true ? nullptr : "no dot products"; }},
};

const Kind& kind_of(const NumbersTest& test) { return *std::ranges::find(kKinds, test.kind, &Kind::kind); }

}  // namespace

std::vector<NumbersTest> numbers_tests(const DeviceProfile& profile, std::uint64_t begin,
                                       std::vector<CanaryKind>& untested) {
  std::vector<NumbersTest> out;
  for (const Kind& kind : kKinds) {
    if (const char* lack = kind.lack(profile)) {
      untested.push_back({kind.kind, Canary::untested, lack});
      continue;
    }
    const std::uint64_t bytes = std::uint64_t{kind.inputs} * CANARY_NUMBERS_WORDS * 4;
    out.push_back({kind.kind, kind.variant, kind.inputs, begin, begin + (bytes + 255) / 256 * 256});
    begin = out.back().end;
  }
  return out;
}

Plan numbers_plan(const NumbersTest& test, std::uint64_t scratch_bytes, std::uint32_t seed) {
  CanaryNumbersPush push{};
  push.seed = seed;
  Step step;
  step.kernel = {"canary_numbers", test.variant};
  step.constants = {{SECTILE_SPEC_WORKGROUP, kLanes}};
  step.workgroup = {kLanes, 1, 1};
  step.grid = {(test.inputs + kLanes - 1) / kLanes, 1, 1};
  step.push.resize(sizeof(push));
  std::memcpy(step.push.data(), &push, sizeof(push));
  step.addresses = {{static_cast<std::uint32_t>(offsetof(CanaryNumbersPush, words)), 0, test.begin}};
  step.accesses = {{0, test.begin, test.end, true}};
  Plan plan;
  plan.id = "canary " + test.kind;
  plan.operands = {{"scratch", OperandRole::scratch, scratch_bytes, 256}};
  plan.steps = {std::move(step)};
  return plan;
}

std::string numbers_fault(const NumbersTest& test, std::uint32_t seed, std::span<const std::byte> scratch) {
  const Kind& kind = kind_of(test);
  for (std::uint32_t i = 0; i < test.inputs; ++i) {
    std::uint32_t words[CANARY_NUMBERS_WORDS];
    std::memcpy(words, scratch.data() + test.begin + std::uint64_t{i} * sizeof(words), sizeof(words));
    if (std::string fault = kind.fault(i, words[0] ^ seed, words[1] ^ seed); !fault.empty()) return fault;
  }
  return {};
}

}  // namespace sectile::vulkan
