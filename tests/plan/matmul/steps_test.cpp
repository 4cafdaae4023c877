// What the steps of matmuls hold, worked out a second time from the words of matmul.abi.h and of the problem:
// parameters to the last word, addresses, access ranges, scratch, splits of K, and the limits of 32-bit offsets.
#include "plan/helpers.hpp"
#include "reference/cover_matmul.hpp"
#include "reference/extra_rows.hpp"
#include "reference/generate.hpp"
#include "reference/matmul.hpp"
#include "support/scope.hpp"

#include "gemm/gemm.abi.h"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace sectile;

namespace {

// A step's stream of words, with the operand in place of an address.
struct Stream {
  std::map<std::uint32_t, std::uint32_t> constants;
  std::vector<std::uint32_t> words;
  std::map<std::uint32_t, std::pair<std::string, std::uint64_t>> addresses;  // by word; -6, -4, -2: a, b, d
};

Stream stream_of(const Plan& plan, const Step& step) {
  Stream s;
  for (const Constant& c : step.constants) s.constants[c.id] = c.value;
  REQUIRE(step.push.size() == sizeof(GemmPush));
  GemmPush push;
  std::memcpy(&push, step.push.data(), sizeof push);
  s.words.assign(std::begin(push.words), std::end(push.words));
  for (std::uint32_t id = GEMM_SPEC_WORD0; s.constants.contains(id); ++id) s.words.push_back(s.constants[id]);
  for (const AddressSlot& slot : step.addresses) {
    const std::uint32_t word = slot.push_offset / 4 - 6;
    CHECK(s.addresses.try_emplace(word, plan.operands[slot.operand].name, slot.byte_offset).second);
  }
  return s;
}

// The rows of the result that a step serves, and whether it writes or reads partial sums.
struct Part {
  std::int64_t first = 0, rows = 0, splits = 1;
  bool sums = false, reduces = false;
};

std::int64_t bytes_of(DType type) { return size_bytes(type); }

// The stream that matmul.abi.h describes, for a part of the problem.
class Expected {
 public:
  Expected(const MatmulProblem& p, const Part& part, std::uint32_t split_k) : part_(part) {
    const reference::MatmulDefinition definition(p);
    const std::int64_t scratch_ld = (p.n + 3) / 4 * 4;
    const auto& a = definition.operand("a");
    const auto& b = definition.operand("b");
    const auto& d = definition.operand("d");
    const bool c_read = p.beta != 0 && !p.c_is_d && !part.sums, d_read = p.beta != 0 && p.c_is_d && !part.sums;
    const bool residual = p.residual && !part.sums;
    const std::int64_t out = bytes_of(p.out);
    if (c_read) address("c", definition.operand("c").row_step * out);
    if (p.bias != PerAxis::none && !part.sums) address("bias", p.bias == PerAxis::row ? out : 0);
    if (p.scale != PerAxis::none && p.alpha != 0 && !part.sums) address("scale", p.scale == PerAxis::row ? 4 : 0);
    if (residual) address("residual", definition.operand("residual").row_step * out);
    if (p.b_format != WeightFormat::plain && !part.reduces) address("b.scale", 0);
    if (p.a_scale && !part.reduces) address("a.scale", 0);
    const auto parameter = [&](float value) {
      p.out == DType::i32 ? word(static_cast<std::int64_t>(value)) : float_word(value);
    };
    if (p.activation == Activation::leaky_relu && !part.sums) parameter(p.slope);
    if (p.activation == Activation::clamp && !part.sums) {
      parameter(p.low);
      parameter(p.high);
    }
    for (const std::int64_t size : {part.rows, p.n, p.k}) word(size);
    float_word(part.sums ? 1.0f : p.alpha);
    // A vector of adjacent elements lies along K, whatever the problem says.
    const std::int64_t lda = p.m == 1 && p.transpose_a && a.row_step == 1 ? p.k : a.row_step,
                       ldb = p.n == 1 && !p.transpose_b && b.row_step == 1 ? p.k : b.row_step;
    word(part.reduces ? part.splits == 0 ? 0 : scratch_ld : lda);
    word(ldb);
    word(part.sums ? scratch_ld : d.row_step);
    if (c_read) word(definition.operand("c").row_step);
    if (c_read || d_read) float_word(p.beta);
    if (residual) word(definition.operand("residual").row_step);
    if (part.sums) word(split_k);
    if (part.sums || part.reduces) word(part.splits);
    if (p.batch <= 1) return;
    const std::int64_t scratch_step = scratch_ld * part.rows * part.splits;
    word(p.batch);
    word64(part.reduces ? scratch_step : a.batch_step);
    word64(b.batch_step);
    word64(part.sums ? scratch_step : d.batch_step);
    if (c_read) word64(definition.operand("c").batch_step);
    if (residual) word64(definition.operand("residual").batch_step);
  }

  const std::vector<std::optional<std::uint32_t>>& words() const { return words_; }  // none: half of an address
  const std::map<std::uint32_t, std::pair<std::string, std::uint64_t>>& addresses() const { return addresses_; }

 private:
  void word(std::int64_t value) { words_.emplace_back(static_cast<std::uint32_t>(value)); }
  void word64(std::int64_t value) {
    word(value);
    word(value >> 32);
  }
  void float_word(float value) { words_.emplace_back(std::bit_cast<std::uint32_t>(value)); }
  void address(const char* name, std::int64_t row_bytes) {
    addresses_[static_cast<std::uint32_t>(words_.size())] = {name, static_cast<std::uint64_t>(part_.first * row_bytes)};
    words_.insert(words_.end(), 2, std::nullopt);
  }

  const Part& part_;
  std::vector<std::optional<std::uint32_t>> words_;
  std::map<std::uint32_t, std::pair<std::string, std::uint64_t>> addresses_;
};

void check_words(const Plan& plan, const MatmulProblem& p, const Step& step, const Part& part) {
  const reference::MatmulDefinition definition(p);
  Stream s = stream_of(plan, step);
  const auto tile_k = s.constants.at(GEMM_SPEC_TILE_K);
  const std::int64_t steps_k = (p.k + tile_k - 1) / tile_k;
  const std::int64_t split_k = part.sums ? (steps_k + part.splits - 1) / part.splits * tile_k : 0;
  if (part.sums) {
    CHECK(split_k * part.splits >= p.k);
    CHECK(split_k * (part.splits - 1) < p.k);  // none is empty
  }
  const Expected want(p, part, static_cast<std::uint32_t>(split_k));
  // No word fewer, and of those that are not pushed none more.
  REQUIRE(want.words().size() <= GEMM_MAX_WORDS);
  CHECK(s.words.size() == std::max<std::size_t>(want.words().size(), GEMM_PUSH_WORDS));
  s.words.resize(std::max(s.words.size(), want.words().size()));
  for (std::size_t i = 0; i < want.words().size(); ++i)
    if (want.words()[i]) CHECK_MESSAGE(s.words[i] == *want.words()[i], "word " << i);
  auto addresses = want.addresses();
  const auto at = [&](const char* name, std::int64_t row_bytes) {
    return std::pair(std::string(name), static_cast<std::uint64_t>(part.first * row_bytes));
  };
  const auto& a = definition.operand("a");
  if (!part.reduces) {
    addresses[static_cast<std::uint32_t>(-6)] = at("a", (p.transpose_a ? 1 : a.row_step) * bytes_of(p.a_type));
    addresses[static_cast<std::uint32_t>(-4)] = at("b", 0);
  } else if (part.splits != 0) {
    addresses[static_cast<std::uint32_t>(-6)] = at("scratch", 0);
  }
  addresses[static_cast<std::uint32_t>(-2)] =
      part.sums ? at("scratch", 0) : at("d", definition.operand("d").row_step * bytes_of(p.out));
  CHECK(s.addresses == addresses);
  // A step may access all of the operands that it has addresses of, and nothing else.
  std::set<std::string> named;
  for (const AccessRange& access : step.accesses) {
    const PlanOperand& operand = plan.operands[access.operand];
    CAPTURE(operand.name);
    CHECK(named.insert(operand.name).second);
    CHECK(access.begin == 0);
    CHECK(access.end == operand.bytes);
    CHECK(access.write == (operand.name == (part.sums ? "scratch" : "d")));
  }
  std::set<std::string> addressed;
  for (const auto& [word, address] : addresses) addressed.insert(address.first);
  CHECK(named == addressed);
}

// The parts of the result, one a step.
std::vector<Part> parts_of(const Plan& plan, const MatmulProblem& p) {
  std::vector<Part> parts;
  std::int64_t first = 0;
  for (const Step& step : plan.steps) {
    const Stream s = stream_of(plan, step);
    Part part;
    part.sums = (s.constants.at(GEMM_SPEC_EPILOGUE) & GEMM_EPILOGUE_SPLIT) != 0;
    part.reduces = step.kernel.stem == "matmul_reduce";
    if (part.reduces && !parts.empty()) {
      part.first = parts.back().first;
      part.rows = parts.back().rows;
      part.splits = parts.back().splits;
      CHECK(parts.back().sums);
    } else {
      part.first = first;
      // Rows and splits are what the step says of them: the rows must add up, and every other word depends on both.
      std::uint32_t at = 0;
      while (s.addresses.contains(at)) at += 2;
      if (!part.sums) at += p.activation == Activation::leaky_relu ? 1u : p.activation == Activation::clamp ? 2u : 0u;
      part.rows = s.words.at(at);
      part.splits = part.reduces ? 0 : part.sums ? s.words.at(at + 8) : 1;
      first += part.rows;
      if (part.sums) CHECK(part.splits > 1);
    }
    CHECK(step.barrier_before == (part.reduces && part.splits > 1));
    parts.push_back(part);
  }
  CHECK(first == p.m);
  return parts;
}

struct Seen {
  std::size_t plans = 0, batched_splits = 0, tails = 0, specialized = 0;
};

void check_plan_of(const Plan& plan, const MatmulProblem& p, Seen& seen) {
  const reference::MatmulDefinition definition(p);
  std::uint64_t scratch = 0;
  const auto parts = parts_of(plan, p);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    CAPTURE(i);
    check_words(plan, p, plan.steps[i], parts[i]);
    if (parts[i].sums)
      scratch = std::max(scratch, 4 * static_cast<std::uint64_t>(p.batch * parts[i].splits * parts[i].rows) *
                                      static_cast<std::uint64_t>((p.n + 3) / 4 * 4));
    if (parts[i].sums && p.batch > 1) ++seen.batched_splits;
    if (plan.steps[i].constants.back().id >= GEMM_SPEC_WORD0) ++seen.specialized;
  }
  if (parts.size() == 3) ++seen.tails;
  const bool has_scratch = plan.operands.back().role == OperandRole::scratch;
  CHECK(has_scratch == (scratch != 0));
  if (has_scratch) CHECK(plan.operands.back().bytes == scratch);
  const std::size_t own = plan.operands.size() - (has_scratch ? 1 : 0);
  REQUIRE(own == definition.operands().size());
  for (std::size_t i = 0; i < own; ++i) CHECK(plan.operands[i].bytes == definition.operands()[i].second.bytes());
  ++seen.plans;
}

void check_problem(const MatmulProblem& p, const DeviceProfile& profile, const PlanOptions& options, Seen& seen) {
  const auto plan = reference::plan_with_extra_rows(p, profile, options);
  if (!plan.has_value() && plan.error().kind == ErrorKind::unsupported) return;
  REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
  if (plan->steps.empty()) return;
  CAPTURE(print(Problem(p)));
  CAPTURE(plan->choice.candidate);
  check_plan_of(*plan, p, seen);
}

}  // namespace

TEST_CASE("a matmul's steps hold what the problem says") {
  Seen seen;
  const std::uint64_t most = test::scope<std::uint64_t>(400, 300, 100);
  for (const char* target : {"lavapipe", "nvidia-hopper", "amd-rdna3"}) {
    const DeviceProfile profile = builtin_target(target).value();
    for (const auto& c : reference::covering_matmuls(3, reference::Accesses::any)) {
      DeviceProfile as = profile;
      if (c.multiprocessors != 0) as.multiprocessors = c.multiprocessors;
      check_problem(c.problem, as, {.force = c.candidate}, seen);
    }
    for (std::uint64_t index = 0; index < most; ++index) {
      MatmulProblem p = reference::generate_matmul(17, index);
      check_problem(p, profile, {}, seen);
      // Strides whose high words count.
      if (p.batch > 1)
        for (std::int64_t* const step : {&p.a_batch, &p.b_batch, &p.c_batch, &p.d_batch, &p.r_batch})
          *step = 32 * ((std::int64_t{5} << 27) + 7 * (step - &p.a_batch));
      if (p.c_is_d || p.beta == 0) p.c_batch = MatmulProblem::kPacked;
      if (!p.residual) p.r_batch = MatmulProblem::kPacked;
      if (p.batch > 1 && p.b_format == WeightFormat::plain && validate(p)) check_problem(p, profile, {}, seen);
    }
  }
  MESSAGE(seen.plans << " plans, " << seen.batched_splits << " splits of batches, " << seen.tails << " tails, "
                     << seen.specialized << " with specialized words");
  CHECK(seen.plans > 600);
  CHECK(seen.batched_splits > 10);
  CHECK(seen.tails > 3);
  CHECK(seen.specialized > 30);
}

// A tile's rows, one beside the limit of 2^31 bytes and one beyond it, of each operand.
TEST_CASE("a tile reaches no further than 32-bit offsets") {
  const DeviceProfile profile = builtin_target("nvidia-hopper").value();
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  const auto admitted = [&](const std::string& text) {
    const auto plan = make_plan(parse_problem(text).value(), profile, {.force = "matmul_simt 32x32x16 4x4"});
    if (!plan) CHECK_MESSAGE(plan.error().message().find("offsets beyond 2^31") != std::string::npos, text);
    return plan.has_value();
  };
  struct Row {
    const char* problem;
    std::int64_t rows, run, bytes;  // of a tile: rows, and elements of one
  };
  for (const Row& row :
       {Row{"matmul f32 nn 100x100x64 lda={}", 32, 16, 4}, Row{"matmul f32 tn 100x100x64 lda={}", 16, 32, 4},
        Row{"matmul f32 nn 100x100x64 ldb={}", 16, 32, 4}, Row{"matmul f32 nt 100x100x64 ldb={}", 32, 16, 4},
        Row{"matmul f32 nn 100x100x64 ldd={}", 32, 32, 4}, Row{"matmul f32 nn 100x100x64 beta=1 ldc={}", 32, 32, 4},
        Row{"matmul f32 nn 100x100x64 epi=residual ldr={}", 32, 32, 4},
        Row{"matmul f16 nn 100x100x64 lda={}", 32, 16, 2}, Row{"matmul f16 nn 100x100x64 ldd={}", 32, 32, 2},
        Row{"matmul f32 nn 7x100x64 lda={}", 7, 16, 4}, Row{"matmul f32 nt 100x5x64 ldb={}", 5, 16, 4},
        Row{"matmul i8 nn 100x100x64 lda={}", 32, 64, 1}}) {
    CAPTURE(std::string(row.problem));
    // (rows - 1) * ld + run elements stay below the limit.
    const std::int64_t most = (kLimit / row.bytes - 1 - row.run) / (row.rows - 1);
    CHECK(admitted(fmt::format(fmt::runtime(row.problem), most)));
    CHECK_FALSE(admitted(fmt::format(fmt::runtime(row.problem), most + 1)));
  }
}
