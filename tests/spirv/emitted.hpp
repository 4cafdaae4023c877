// What the tests of offline SPIR-V share: emitted targets, packs made of them, and running on a device.
#pragma once

#include "emit/emit.hpp"

#include "../vulkan/helpers.hpp"
#include "reference/permute.hpp"

#include <sectile/planner.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sectile::test {

inline std::vector<Problem> as_problems(const std::vector<PermuteProblem>& permutes) {
  return {permutes.begin(), permutes.end()};
}

// The built-in targets that take SPIR-V.
inline std::vector<DeviceProfile> targets() {
  std::vector<DeviceProfile> out;
  for (const auto name : builtin_target_names()) {
    auto profile = must(builtin_target(name));
    if (profile.api == Api::vulkan) out.push_back(std::move(profile));
  }
  return out;
}

inline tools::EmittedTarget emitted(const DeviceProfile& profile, const std::vector<Problem>& problems,
                                    tools::CodeMaker& code) {
  return must(tools::emit_target(profile, problems, code, {}, [] {}));
}

// A pack of all that was emitted, by way of its bytes.
inline Pack pack_of(const tools::EmittedTarget& target) {
  std::vector<PackedModule> modules;
  modules.reserve(target.modules.size());
  for (const auto& m : target.modules) modules.push_back(m.packed);
  std::vector<std::string> manifests;
  for (const auto& file : target.files)
    if (file.name == "manifest.json") manifests.push_back(file.bytes);
  return must(Pack::open(must(make_pack(modules, manifests))));
}

// The destination's bytes, poisoned before the plan ran, of a source that depends on `seed` alone.
inline std::vector<std::byte> run_plan(vulkan::Runtime& runtime, const Plan& plan, std::uint32_t seed) {
  const auto whole = [](std::uint64_t bytes) { return std::max<std::uint64_t>((bytes + 3) / 4 * 4, 4); };
  const auto executable = must(runtime.device().prepare(plan));
  const auto src = pattern(whole(plan.operands[0].bytes), seed);
  const auto a = must(runtime.make_buffer(src.size())), b = must(runtime.make_buffer(whole(plan.operands[1].bytes)));
  must(runtime.upload(a, 0, src));
  must(runtime.fill(b, 0, b.size(), 0xCDCDCDCD));
  const std::vector<vulkan::OperandAddress> operands = {{a.address(), plan.operands[0].bytes},
                                                        {b.address(), plan.operands[1].bytes}};
  must(runtime.submit_and_wait(
      [&](VkCommandBuffer commands) { return vulkan::record(commands, executable, operands); }));
  return read_back(runtime, b);
}

}  // namespace sectile::test
