// A matmul's plan on a device, against the reference.
#pragma once

#include "helpers.hpp"

#include "reference/matmul.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::test {

// Runs a plan of the problem, and compares all that D holds with the reference.
inline void run_matmul(vulkan::Runtime& runtime, const MatmulProblem& problem, const Plan& plan) {
  const reference::MatmulDefinition definition(problem);
  std::map<std::string, std::vector<std::byte>, std::less<>> host;
  std::map<std::string, vulkan::Buffer, std::less<>> device;
  reference::MatmulData data;
  for (const auto& [name, operand] : definition.operands()) {
    auto& bytes =
        host.emplace(name, std::vector<std::byte>((operand.bytes() + 3) / 4 * 4, std::byte{0xCD})).first->second;
    definition.fill(name, std::span(bytes).first(operand.bytes()), 5);
    data[name] = std::span(bytes).first(operand.bytes());
    const auto& buffer = device.emplace(name, must(runtime.make_buffer(bytes.size()))).first->second;
    must(runtime.upload(buffer, 0, bytes));
  }
  const auto d_before = data.at("d");
  const auto want = definition.result(data, d_before);
  std::vector<vulkan::Buffer> scratch;
  std::vector<vulkan::OperandAddress> operands;
  for (const PlanOperand& operand : plan.operands) {
    if (operand.role != OperandRole::scratch) {
      operands.push_back({device.at(operand.name).address(), operand.bytes});
      continue;
    }
    scratch.push_back(must(runtime.make_buffer((operand.bytes + 3) / 4 * 4)));
    must(runtime.fill(scratch.back(), 0, scratch.back().size(), 0xFFFFFFFF));  // NaNs
    operands.push_back({scratch.back().address(), operand.bytes});
  }
  // Some plans are for a profile with other multiprocessors.
  const auto executable = must(runtime.device().prepare(plan, {.any_profile = true}));
  must(runtime.submit_and_wait(
      [&](VkCommandBuffer commands) { return vulkan::record(commands, executable, operands); }));
  const auto got = read_back(runtime, device.at("d"));
  const auto wrong = reference::compare(definition, want, d_before, std::span(got).first(d_before.size()));
  CHECK_MESSAGE(!wrong.has_value(), wrong->message);
}

}  // namespace sectile::test
