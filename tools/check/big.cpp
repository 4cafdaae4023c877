// The cases that need gigabytes: a tensor over 4 GiB, and elements at indices 2^31 - 1, 2^31 and
// 2^31 + 1, where a signed 32-bit index ends, and at byte 2^32, where an unsigned one does.
#include "check.hpp"
#include "big.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <set>
#include <utility>

namespace sectile::tools {
namespace {

constexpr std::uint64_t kTail = 256;   // guard band behind the destination

// Rows, columns and batches so far apart that a, b and d in turn have elements at indices from 2^31 on, and bytes from
// 2^31 and 2^32 on, at which NVIDIA's driver wraps; and dense ones of that size.
constexpr const char* kMatmuls[] = {
    "matmul i8 nn 129x64x64 lda=16777217",
    "matmul i8 tn 64x96x129 lda=16777217",
    "matmul i8 nt 64x129x64 ldb=16777217",
    "matmul i8 nn 5x129x4099 ldb=524417",
    "matmul i8 nn 33x65x70 batch=3 b.batch=1073741827",
    "matmul f32 nn 131x96x40 ldd=4194305 epi=bias+relu",
    "matmul f32 nn 3x300x40 ldd=306783380",
    "matmul f32 nn 70x65x33 beta=0.5 ldc=8388617",
    "matmul f16 nt 129x64x4000 ldd=16777221",
    "matmul f16 nt 257x64x48 lda=8388611",
    "matmul f16 nn 1x500x3000 ldb=715829",
    "matmul f32 nn 1025x64x64 ldd=1048577",
    "matmul i8 nn 65537x5x32769",
    "matmul i8 nt 3x65537x32769",
    "matmul i8 nt 23173x23173x8",
    "matmul i8 nn 46343x46343x8",
};

PermuteProblem transpose(DType type, std::int64_t rows, std::int64_t columns) {
  PermuteProblem problem;
  problem.type = type;
  problem.shape = {rows, columns};
  problem.axes = {1, 0};
  return problem;
}

// Two rows so far apart that the last element of the source, or of the destination, has index `last`.
PermuteProblem reach(DType type, std::int64_t last, bool in_source) {
  constexpr std::int64_t columns = 777;
  PermuteProblem problem = transpose(type, 2, columns);
  const std::int64_t far = last - (columns - 1);
  if (in_source)
    problem.src_strides = {far, 1};
  else
    problem.dst_strides = {1, far};
  return problem;
}

std::vector<Problem> make_cases() {
  std::vector<Problem> cases = {transpose(DType::b8, 65537, 65537)};
  constexpr std::int64_t edge = std::int64_t{1} << 31;
  for (const std::int64_t last : {edge - 1, edge, edge + 1}) {
    cases.push_back(reach(DType::b8, last, true));
    cases.push_back(reach(DType::b8, last, false));
  }
  for (const std::int64_t last : {edge / 2 - 1, edge / 2, edge / 2 + 1}) {  // byte 2^32, of 4 each
    cases.push_back(reach(DType::b32, last, true));
    cases.push_back(reach(DType::b32, last, false));
  }
  cases.push_back(transpose(DType::b8, 32768, 65536));    // 2^31 elements
  cases.push_back(transpose(DType::b8, 3, 715'827'883));  // 2^31 + 1
  cases.push_back(transpose(DType::b8, 4194, 512'037));   // 2^31 - 470, ragged on both sides
  PermuteProblem copy;                                    // 2^31 - 1, a prime: a copy
  copy.type = DType::b8;
  copy.shape = {edge - 1};
  copy.axes = {0};
  cases.push_back(copy);
  for (const char* const text : kMatmuls) cases.push_back(parse_problem(text).value());
  return cases;
}

const std::vector<Problem>& cases() {
  static const std::vector<Problem> all = make_cases();
  return all;
}

std::unique_ptr<BigCase> make_case(const PermuteProblem& problem) { return big_permute(problem); }
std::unique_ptr<BigCase> make_case(const MatmulProblem& problem) { return big_matmul(problem); }

// Whether each stem forms addresses in its own way.
bool each_stem_alone(const PermuteProblem&) { return false; }
bool each_stem_alone(const MatmulProblem&) { return true; }

bool is_out_of_memory(const Error& error) {
  return error.kind == ErrorKind::device || error.kind == ErrorKind::limit_exceeded;
}

// The chosen plan, and of matmuls one of every other stem.
Result<std::vector<Plan>> plans_of(const Problem& problem, const DeviceProfile& profile) {
  auto chosen = make_plan(problem, profile, {.explain = true});
  if (!chosen) return std::unexpected(chosen.error());
  std::vector<Plan> plans;
  const auto stem = [](const std::string& name) { return name.substr(0, name.find(' ')); };
  std::set<std::string> seen;
  for (const Candidate& candidate : chosen->candidates)
    if (candidate.chosen) seen.insert(stem(candidate.name));
  const bool others = std::visit([](const auto& p) { return each_stem_alone(p); }, problem);
  for (const Candidate& candidate : chosen->candidates) {
    if (!others || !candidate.refusal.empty() || !seen.insert(stem(candidate.name)).second) continue;
    auto other = make_plan(problem, profile, {.force = candidate.name});
    if (!other) return std::unexpected(other.error());
    plans.push_back(std::move(*other));
  }
  plans.insert(plans.begin(), std::move(*chosen));
  return plans;
}

Result<std::vector<MemoryPtr>> make_memories(Machine& machine, const Plan& plan) {
  std::vector<MemoryPtr> memories;
  for (const PlanOperand& operand : plan.operands) {
    const std::uint64_t tail = operand.role == OperandRole::destination ? kTail : 0;
    auto memory = machine.make_memory(up4(operand.bytes) + tail);
    if (!memory) return std::unexpected(memory.error());
    memories.push_back(std::move(*memory));
  }
  return memories;
}

// What is wrong with one plan; empty where nothing is.
Result<std::string> run_plan(Machine& machine, BigCase& big, const Plan& plan, std::span<const MemoryPtr> memories,
                             CheckSink& sink, const std::string& text) {
  const auto program = machine.prepare(plan);
  if (!program) return std::unexpected(program.error());
  sink.doing(text + " | filling");
  if (auto filled = big.fill(machine, memories); !filled) return std::unexpected(filled.error());
  const Memory& destination = *memories[big.destination()];
  if (auto filled = big.poison(machine, destination, destination.size()); !filled) return std::unexpected(filled.error());
  sink.doing(text + " | running");
  Launch launch{program->get(), {}};
  for (std::size_t i = 0; i < memories.size(); ++i) launch.parts.push_back({memories[i].get(), 0, plan.operands[i].bytes});
  if (const auto done = machine.run(launch); !done) return std::unexpected(done.error());
  sink.doing(text + " | reading back");
  std::vector<std::byte> got(static_cast<std::size_t>(up4(big.destination_bytes()) + kTail));
  if (auto down = machine.download(destination, 0, got); !down) return std::unexpected(down.error());
  sink.doing(text + " | comparing");
  return big.compare(got);
}

// All plans of one case. An error stands for a device that cannot go on.
Result<void> run_case(Machine& machine, ValidationWatch& validation, std::uint64_t index, CheckSink& sink) {
  const Problem& problem = cases()[static_cast<std::size_t>(index)];
  const std::string text = print(problem);
  sink.doing(text + " | planning");
  const auto plans = plans_of(problem, machine.profile());
  if (!plans) {
    if (plans.error().kind == ErrorKind::limit_exceeded || plans.error().kind == ErrorKind::unsupported)
      sink.skipped(index, plans.error().message());
    else
      sink.failed({index, text, "", "no plan: " + plans.error().message()});
    sink.finished(1);
    return {};
  }
  std::unique_ptr<BigCase> big;   // its data takes gigabytes of the host: once the device is known to have them
  std::uint64_t runs = 0;
  for (const Plan& plan : *plans) {
    const auto memories = make_memories(machine, plan);
    // Over its limit of one allocation the runtime asks the driver all the same, which the layer warns of.
    validation.fresh();
    if (!memories && is_out_of_memory(memories.error())) {
      sink.skipped(index, memories.error().message());
      break;
    }
    if (!memories) return std::unexpected(memories.error());
    if (!big) big = std::visit([](const auto& p) { return make_case(p); }, problem);
    auto wrong = run_plan(machine, *big, plan, *memories, sink, text + " | " + print(plan));
    if (!wrong) return std::unexpected(wrong.error());
    ++runs;
    if (auto said = validation.fresh(); !said.empty() && wrong->empty()) *wrong = "validation layer: " + said;
    if (wrong->empty()) continue;
    sink.failed({index, text, print(plan), *wrong});
    break;
  }
  sink.finished(runs);
  return {};
}

}  // namespace

std::uint64_t big_case_count() noexcept {
  return cases().size();
}
Problem big_case(std::uint64_t index) {
  return cases().at(static_cast<std::size_t>(index));
}

Result<void> check_big(Machine& machine, std::uint64_t offset, std::uint64_t first, std::uint64_t last, CheckSink& sink) {
  ValidationWatch validation(machine);
  for (std::uint64_t at = first; at < last; ++at) {
    sink.starting(at, at + 1);
    if (auto ran = run_case(machine, validation, offset + at, sink); !ran) return ran;
  }
  return {};
}

}  // namespace sectile::tools
