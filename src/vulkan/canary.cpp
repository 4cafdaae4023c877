#include "canary.hpp"

#include "device/vendors.hpp"

#include "canary/canary.abi.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace sectile::vulkan {
namespace {

struct Types {
  std::string_view ab, cd;
  const char* variant;
  std::uint32_t ab_bytes, cd_bytes;
};
// Types that a kernel of Sectile's multiplies.
constexpr Types kTypes[] = {
    {"f16", "f16", "f16_f16", 2, 2},   {"f16", "f32", "f16_f32", 2, 4}, {"bf16", "bf16", "bf16_bf16", 2, 2},
    {"bf16", "f32", "bf16_f32", 2, 4}, {"s8", "s32", "s8_s32", 1, 4},   {"u8", "u32", "u8_u32", 1, 4},
};

const Types* types_of(const MatrixShape& shape) {
  if (shape.saturating || shape.a != shape.b || shape.c != shape.result) return nullptr;
  for (const Types& row : kTypes)
    if (row.ab == shape.a && row.cd == shape.c) return &row;
  return nullptr;
}

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

// A workgroup's matrix is tested with two granules on each side where the memory allows. A subgroup's is tested with
// one, because its code grows with its sides; that is mostly the same as a shape listed as fixed, and the same
// pipeline.
std::uint32_t side(const MatrixShape& shape, std::uint32_t granule, std::uint32_t most) {
  return shape.scope == "workgroup" && shape.flexible && granule <= most / 2 ? 2 * granule : granule;
}

void lay_out(CanaryTest& test, const Types& types, std::uint64_t begin) {
  test.begin = begin;
  auto place = [&, at = begin](std::uint64_t bytes) mutable {
    const std::uint64_t here = at;
    at += aligned(bytes);
    test.end = at;
    return here;
  };
  const std::uint64_t a = std::uint64_t{test.m} * test.k * types.ab_bytes;
  const std::uint64_t b = std::uint64_t{test.k} * test.n * types.ab_bytes;
  const std::uint64_t c = std::uint64_t{test.m} * test.n * types.cd_bytes;
  test.a_rows = place(a);
  test.a_columns = place(a);
  test.b_rows = place(b);
  test.b_columns = place(b);
  test.c_rows = place(c);
  test.c_columns = place(c);
  test.d_bytes = aligned(c);
  test.d = place(CANARY_PATHS * test.d_bytes);
  if (!test.tensors) test.workgroup_memory_bytes = static_cast<std::uint32_t>(a + b + c);
}

// Why the shape cannot be tested; empty, and `test` filled in, where it can.
std::string untestable(const DeviceProfile& profile, const MatrixShape& shape, std::uint64_t begin, CanaryTest& test) {
  const Types* types = types_of(shape);
  if (types == nullptr) return "no kernel uses these types";
  if ((types->ab_bytes == 1 ? profile.storage8 : profile.storage16) != true) return "no storage of such elements";
  if (shape.scope != "subgroup" && shape.scope != "workgroup") return "no kernel uses this scope";
  const bool workgroup_scope = shape.scope == "workgroup";
  if (workgroup_scope && profile.cooperative_matrix_tensor_addressing != true)
    return "no kernel uses this scope without tensor addressing";
  const std::uint32_t most = profile.matrix_max_dimension.value_or(0);
  test.shape = shape;
  test.tensors = workgroup_scope;
  test.kernel = {workgroup_scope ? "canary_coopmat2" : "canary_coopmat", types->variant};
  test.m = side(shape, shape.m, most);
  test.n = side(shape, shape.n, most);
  test.k = side(shape, shape.k, std::min(most, std::uint32_t{CANARY_MOST_K}));
  if (test.k > CANARY_MOST_K) return "K is too large for exact sums";
  if (std::min({test.m, test.n, test.k}) <= CANARY_CUT) return "too small for a clamped product";
  test.workgroup = workgroup_scope ? shape.workgroup_invocations : detail::matrix_subgroup_size(profile);
  if (test.workgroup == 0) return "the workgroup's size is not known";
  if (workgroup_scope) test.workgroup_memory_bytes = profile.matrix_reserved_workgroup_memory_bytes.value_or(0);
  lay_out(test, *types, begin);
  if (test.workgroup_memory_bytes > profile.workgroup_memory_bytes.value_or(16384))
    return "too large for workgroup memory";
  return {};
}

std::uint32_t noise(std::uint32_t seed, std::uint32_t matrix, std::uint32_t at) {
  std::uint32_t h = at * 2654435761u ^ matrix * 0x9E3779B9u ^ seed * 0x85EBCA6Bu;
  h = (h ^ h >> 15) * 0x2C1B3C6Du;
  h = (h ^ h >> 12) * 0x297A2D39u;
  return h ^ h >> 15;
}

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa == 0 ? sign * HUGE_VAL : NAN;
  return sign * std::ldexp(exponent == 0 ? mantissa : mantissa + 1024, (exponent == 0 ? 1 : exponent) - 25);
}

double value_at(std::string_view type, const std::byte* at) {
  std::uint16_t half = 0;
  std::uint32_t word = 0;
  std::memcpy(&half, at, sizeof(half));
  if (type == "f16") return half_value(half);
  if (type == "bf16") return static_cast<double>(std::bit_cast<float>(std::uint32_t{half} << 16));
  std::memcpy(&word, at, sizeof(word));
  if (type == "f32") return static_cast<double>(std::bit_cast<float>(word));
  return type == "s32" ? static_cast<double>(static_cast<std::int32_t>(word)) : static_cast<double>(word);
}

struct Way {
  const char* name;
  bool columns;
  std::uint32_t cut;
};
constexpr Way kSubgroupWays[CANARY_PATHS] = {{"row-major, by address", false, 0},
                                             {"column-major, by address", true, 0},
                                             {"row-major, by workgroup memory", false, 0},
                                             {"column-major, by workgroup memory", true, 0}};
constexpr Way kTensorWays[CANARY_PATHS] = {{"row-major, by address", false, 0},
                                           {"column-major, by address", true, 0},
                                           {"tensor layout", false, 0},
                                           {"tensor layout, clamped", false, CANARY_CUT}};

// The expected element of D, where `cut` rows and columns lie outside.
int expected(const CanaryTest& test, std::uint32_t seed, std::uint32_t row, std::uint32_t column, std::uint32_t cut) {
  if (row >= test.m - cut || column >= test.n - cut) return CANARY_POISON;
  const bool is_unsigned = test.shape.a == "u8";
  const auto number = [&](std::uint32_t matrix, std::uint32_t at) {
    const std::uint32_t h = noise(seed, matrix, at);
    return is_unsigned ? static_cast<int>(h % 3) : static_cast<int>(h % 5) - 2;
  };
  int sum = number(CANARY_C, row * test.n + column);
  for (std::uint32_t k = 0; k < test.k - cut; ++k)
    sum += number(CANARY_A, row * test.k + k) * number(CANARY_B, k * test.n + column);
  return sum;
}

}  // namespace

CanaryTests canary_tests(const DeviceProfile& profile, CanaryScope scope) {
  CanaryTests out;
  if (scope.matrices && profile.cooperative_matrix == true)
    for (const MatrixShape& shape : profile.matrix_shapes) {
      CanaryTest test;
      if (std::string why = untestable(profile, shape, out.scratch_bytes, test); !why.empty()) {
        out.untested.push_back({shape, Canary::untested, std::move(why)});
        continue;
      }
      out.scratch_bytes = test.end;
      out.tests.push_back(std::move(test));
    }
  if (scope.numbers) out.numbers = numbers_tests(profile, out.scratch_bytes, out.untested_kinds);
  if (!out.numbers.empty()) out.scratch_bytes = out.numbers.back().end;
  return out;
}

CanaryScope canary_scope(const Plan& plan) {
  CanaryScope scope{false, false};
  for (const Step& step : plan.steps) {
    const std::string_view stem = step.kernel.stem;
    scope.matrices = scope.matrices || stem.contains("coopmat");
    // Permutes without a stage move bits.
    scope.numbers = scope.numbers || !stem.starts_with("permute") || stem.starts_with("permute_fused");
  }
  return scope;
}

Plan canary_plan(const CanaryTest& test, std::uint64_t scratch_bytes, std::uint32_t seed) {
  CanaryPush push{};
  push.d_bytes = static_cast<SECTILE_UINT>(test.d_bytes);
  push.seed = seed;
  Step step;
  step.kernel = test.kernel;
  step.constants = {{SECTILE_SPEC_WORKGROUP, test.workgroup},
                    {CANARY_SPEC_M, test.m},
                    {CANARY_SPEC_N, test.n},
                    {CANARY_SPEC_K, test.k}};
  step.workgroup = {test.workgroup, 1, 1};
  step.workgroup_memory_bytes = test.workgroup_memory_bytes;
  step.push.resize(sizeof(push));
  std::memcpy(step.push.data(), &push, sizeof(push));
  const auto slot = [](std::size_t at, std::uint64_t offset) {
    return AddressSlot{static_cast<std::uint32_t>(at), 0, offset};
  };
  step.addresses = {slot(offsetof(CanaryPush, a_rows), test.a_rows),
                    slot(offsetof(CanaryPush, a_columns), test.a_columns),
                    slot(offsetof(CanaryPush, b_rows), test.b_rows),
                    slot(offsetof(CanaryPush, b_columns), test.b_columns),
                    slot(offsetof(CanaryPush, c_rows), test.c_rows),
                    slot(offsetof(CanaryPush, c_columns), test.c_columns),
                    slot(offsetof(CanaryPush, d), test.d)};
  step.accesses = {{0, test.begin, test.end, true}};
  Plan plan;
  plan.id = "canary " + print(test.shape);
  plan.operands = {{"scratch", OperandRole::scratch, scratch_bytes, 256}};
  plan.steps = {std::move(step)};
  return plan;
}

std::string canary_fault(const CanaryTest& test, std::uint32_t seed, std::span<const std::byte> scratch) {
  const std::uint64_t bytes = types_of(test.shape)->cd_bytes;
  for (std::uint32_t way = 0; way < CANARY_PATHS; ++way) {
    const Way& how = test.tensors ? kTensorWays[way] : kSubgroupWays[way];
    const std::byte* d = scratch.data() + test.d + way * test.d_bytes;
    for (std::uint32_t row = 0; row < test.m; ++row)
      for (std::uint32_t column = 0; column < test.n; ++column) {
        const std::uint64_t at =
            how.columns ? std::uint64_t{column} * test.m + row : std::uint64_t{row} * test.n + column;
        const double got = value_at(test.shape.result, d + at * bytes);
        const int want = expected(test, seed, row, column, how.cut);
        if (got != want) return fmt::format("D[{}][{}] is {}, not {} ({})", row, column, got, want, how.name);
      }
  }
  return {};
}

std::uint64_t CanaryRun::scratch_bytes() const noexcept { return state_ ? state_->scratch_bytes : 0; }

std::uint64_t canary_scratch_bytes(const DeviceProfile& profile, CanaryScope scope) {
  return canary_tests(profile, scope).scratch_bytes;
}

namespace {

// Prepares and records the plan of one test. A driver that cannot compile this kernel cannot compile others that do the
// same: then the outcome is `verdict` and `detail`. False: nothing was recorded.
Result<bool> record_test(Device& device, VkCommandBuffer commands, std::span<const OperandAddress> operands,
                         const Plan& plan, Executable& executable, Canary& verdict, std::string& detail) {
  auto prepared = device.prepare(plan);
  if (!prepared) {
    verdict = prepared.error().kind == ErrorKind::device ? Canary::failed : Canary::untested;
    detail = prepared.error().message();
    return false;
  }
  if (auto done = record(commands, *prepared, operands); !done) return std::unexpected(done.error());
  executable = std::move(*prepared);
  return true;
}

}  // namespace

Result<CanaryRun> record_canary(Device& device, VkCommandBuffer commands, VkDeviceAddress scratch, CanaryScope scope) {
  // Clears what an earlier run left in the same memory.
  static std::atomic<std::uint32_t> runs{0};
  CanaryTests all = canary_tests(device.profile(), scope);
  auto state = std::make_shared<CanaryRun::State>();
  state->scratch_bytes = all.scratch_bytes;
  state->untested = std::move(all.untested);
  state->untested_kinds = std::move(all.untested_kinds);
  state->seed = ++runs;
  const OperandAddress operands[] = {{scratch, all.scratch_bytes}};
  for (CanaryTest& test : all.tests) {
    Plan plan = canary_plan(test, all.scratch_bytes, state->seed);
    if (device.profile().required_subgroup_size == true && !test.tensors)
      plan.steps[0].required_subgroup_size = test.workgroup;
    RecordedTest recorded;
    recorded.outcome.shape = test.shape;
    const auto done = record_test(device, commands, operands, plan, recorded.executable, recorded.outcome.verdict,
                                  recorded.outcome.detail);
    if (!done) return std::unexpected(done.error());
    recorded.recorded = *done;
    recorded.test = std::move(test);
    state->tests.push_back(std::move(recorded));
  }
  for (NumbersTest& test : all.numbers) {
    RecordedNumbers recorded;
    recorded.outcome.kind = test.kind;
    const auto done = record_test(device, commands, operands, numbers_plan(test, all.scratch_bytes, state->seed),
                                  recorded.executable, recorded.outcome.verdict, recorded.outcome.detail);
    if (!done) return std::unexpected(done.error());
    recorded.recorded = *done;
    recorded.test = std::move(test);
    state->numbers.push_back(std::move(recorded));
  }
  return CanaryAccess::make(std::move(state));
}

Result<CanaryResult> read_canary(const CanaryRun& run, std::span<const std::byte> scratch) {
  CanaryResult result;
  const CanaryRun::State* state = CanaryAccess::get(run);
  if (state == nullptr) return result;
  if (scratch.size() < state->scratch_bytes)
    return fail(ErrorKind::too_small, "canary's scratch", std::to_string(scratch.size()),
                std::to_string(state->scratch_bytes) + " bytes");
  const auto judged = [](auto outcome, bool recorded, auto&& fault) {
    if (!recorded) return outcome;
    outcome.detail = fault();
    outcome.verdict = outcome.detail.empty() ? Canary::passed : Canary::failed;
    return outcome;
  };
  for (const RecordedTest& test : state->tests)
    result.rows.push_back(
        judged(test.outcome, test.recorded, [&] { return canary_fault(test.test, state->seed, scratch); }));
  result.rows.insert(result.rows.end(), state->untested.begin(), state->untested.end());
  for (const RecordedNumbers& test : state->numbers)
    result.kinds.push_back(
        judged(test.outcome, test.recorded, [&] { return numbers_fault(test.test, state->seed, scratch); }));
  result.kinds.insert(result.kinds.end(), state->untested_kinds.begin(), state->untested_kinds.end());
  return result;
}

}  // namespace sectile::vulkan
