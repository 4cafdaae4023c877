#include "run_problem.hpp"

#include "command.hpp"
#include "npy.hpp"
#include "tuned.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

#include <string>
#include <utility>

namespace sectile::tools {
namespace {

// Memory for every operand of the plan, with its initial content.
Result<std::vector<MemoryPtr>> make_operands(Machine& machine, const Plan& plan,
                                             std::span<const std::span<const std::byte>> inputs) {
  std::vector<MemoryPtr> memories;
  for (std::size_t i = 0; i < plan.operands.size(); ++i) {
    const PlanOperand& operand = plan.operands[i];
    if (operand.bytes == 0) {  // not accessed
      memories.push_back(nullptr);
      continue;
    }
    auto memory = machine.make_memory(operand.bytes);
    if (!memory) return std::unexpected(memory.error());
    const auto input = i < inputs.size() ? inputs[i] : std::span<const std::byte>{};
    if (operand.role == OperandRole::source && input.size() < operand.bytes)
      return fail(ErrorKind::too_small, operand.name, std::to_string(input.size()), std::to_string(operand.bytes));
    if (input.size() >= operand.bytes)
      if (auto sent = machine.upload(**memory, 0, input.first(static_cast<std::size_t>(operand.bytes))); !sent)
        return std::unexpected(sent.error());
    memories.push_back(std::move(*memory));
  }
  return memories;
}

}  // namespace

Result<Ran> run_problem(Machine& machine, const Problem& problem, std::span<const std::span<const std::byte>> inputs,
                        const TunedChoices* tuned) {
  auto plan = make_plan(problem, machine.profile(), {.tuned = tuned});
  while (plan) {
    const auto changed = machine.test_for(*plan);
    if (!changed) return std::unexpected(changed.error());
    if (!*changed) break;
    plan = make_plan(problem, machine.profile(), {.tuned = tuned});
  }
  if (!plan) return std::unexpected(plan.error());
  std::size_t written = 0;
  while (written < plan->operands.size() && plan->operands[written].role != OperandRole::destination) ++written;
  if (written == plan->operands.size()) return fail(ErrorKind::missing, "destination", print(problem), "an operand");
  Ran result{std::vector<std::byte>(static_cast<std::size_t>(plan->operands[written].bytes)), std::move(*plan)};
  if (result.bytes.empty()) return result;

  const auto program = machine.prepare(result.plan);
  if (!program) return std::unexpected(program.error());
  const auto memories = make_operands(machine, result.plan, inputs);
  if (!memories) return std::unexpected(memories.error());
  Launch launch{program->get(), {}};
  for (std::size_t i = 0; i < memories->size(); ++i) {
    // An operand that is not accessed still needs an address: the destination's serves.
    const Memory* const memory = (*memories)[i] != nullptr ? (*memories)[i].get() : (*memories)[written].get();
    launch.parts.push_back({memory, 0, result.plan.operands[i].bytes});
  }
  if (auto ran = machine.run(launch); !ran) return std::unexpected(ran.error());
  if (auto down = machine.download(*(*memories)[written], 0, result.bytes); !down) return std::unexpected(down.error());
  return result;
}

int run_to_file(const ResultFile& file, const Problem& problem, std::span<const std::span<const std::byte>> inputs,
                const std::string& descr, const std::vector<std::int64_t>& shape) {
  const auto operands = operands_of(problem);
  if (!operands) return report(operands.error(), file.json);
  if (!file.json)
    for (const std::string& note : file.notes) fmt::print(stderr, "sectile: note: {}\n", note);
  std::vector<std::byte> bytes;
  std::string device = "none: nothing to do", plan = "no step";
  if (std::ranges::any_of(*operands, [](const OperandSpec& operand) { return operand.written && operand.bytes > 0; })) {
    const auto machine = Machine::open(file.device, {.canary_at_open = false, .device_class = file.device_class});
    if (!machine) return report(machine.error(), file.json);
    device = (*machine)->name();
    auto ran = run_problem(**machine, problem, inputs, read_tuned(file.tuned).get());
    if (!ran) return report(ran.error(), file.json);
    bytes = std::move(ran->bytes);
    plan = print(ran->plan);
  }
  if (auto written = write_npy(file.path, descr, shape, bytes); !written) return report(written.error(), file.json);
  if (file.json) {
    nlohmann::json object = {
        {"problem", print(problem)}, {"shape", shape}, {"device", device}, {"plan", plan}, {"out", file.path}};
    if (!file.notes.empty()) object["notes"] = file.notes;
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print(stderr, "sectile: {} -> {}: {}\n", print(problem), file.path, plan);
  }
  return kOk;
}

}  // namespace sectile::tools
