// check_plan: the plans that it refuses, so that no backend gets them.
#include "made_up.hpp"

#include <sectile/profile.hpp>

#include <doctest/doctest.h>

using namespace sectile;

namespace {

std::string refusal(const Plan& plan) {
  auto ok = check_plan(plan);
  return ok ? "" : ok.error().message();
}

// "kind: what" on a profile whose fields are `set`.
std::string limit(const Plan& plan, void (*set)(DeviceProfile&)) {
  DeviceProfile profile;
  set(profile);
  auto ok = check_plan(plan, profile);
  return ok ? "" : std::string(name(ok.error().kind)) + ": " + ok.error().what;
}

template <class F>
Plan changed(F change) {
  Plan plan = made_up::two_steps();
  change(plan);
  return plan;
}

}  // namespace

TEST_CASE("accepts an ordered plan") {
  CHECK(refusal(made_up::two_steps()) == "");
  CHECK(limit(made_up::two_steps(), [](DeviceProfile&) {}) == "");
  CHECK(refusal(Plan{}) == "");
}

TEST_CASE("refuses conflicting steps without a barrier") {
  CHECK(refusal(changed([](Plan& p) { p.steps[1].barrier_before = false; })) ==
        "invalid_plan: step 1 ordering: read of scratch [16, 4096) after step 0's write of scratch [16, 4096) (want a "
        "barrier before it)");
  // A read that a later step overwrites conflicts as well.
  CHECK(refusal(changed([](Plan& p) {
          std::swap(p.steps[0], p.steps[1]);
          p.steps[1].barrier_before = false;
        })).starts_with("invalid_plan: step 1 ordering: write of scratch"));
}

TEST_CASE("a barrier orders everything before it") {
  const auto third = [](bool barrier) {
    return changed([&](Plan& p) {
      Step step = p.steps[1];
      step.kernel = {"permute_rows", "e2"};
      step.barrier_before = barrier;
      step.addresses = {{.push_offset = 0, .operand = 2, .byte_offset = 0}};
      step.accesses = {{.operand = 2, .begin = 0, .end = 16, .write = true}};
      p.steps.push_back(step);
    });
  };
  CHECK(refusal(third(false)) == "");  // bytes that no other step accesses
  Plan overlapping = third(false);
  overlapping.steps[2].accesses[0].end = 17;
  CHECK(refusal(overlapping).starts_with("invalid_plan: step 2 ordering"));
  overlapping.steps[2].barrier_before = true;
  CHECK(refusal(overlapping) == "");
}

TEST_CASE("refuses ranges and addresses outside their operand") {
  CHECK(refusal(changed([](Plan& p) {
          p.steps[0].accesses[0].end = 4097;
        })).starts_with("invalid_plan: step 0 range: read of src [0, 4097)"));
  CHECK(
      refusal(changed([](Plan& p) { p.steps[0].accesses[0].begin = 4096; })).starts_with("invalid_plan: step 0 range"));
  CHECK(refusal(changed([](Plan& p) { p.steps[0].accesses[0].operand = 3; })).starts_with("invalid_plan: step 0 "));
  CHECK(refusal(changed([](Plan& p) {
          p.steps[0].addresses[0].operand = 3;
        })).starts_with("invalid_plan: step 0 address: of operand 3"));
  CHECK(refusal(changed([](Plan& p) {
          p.steps[0].addresses[0].byte_offset = 4097;
        })).starts_with("invalid_plan: step 0 address: src + 4097"));
  CHECK(refusal(changed([](Plan& p) {
          p.steps[0].addresses[0].push_offset = 4;
        })).starts_with("invalid_plan: step 0 address: at push offset 4"));
  CHECK(refusal(changed([](Plan& p) {
          p.steps[0].addresses[0].push_offset = 32;
        })).starts_with("invalid_plan: step 0 address: at push offset 32"));
  CHECK(refusal(changed([](Plan& p) { p.steps[0].addresses[1].push_offset = 0; })) ==
        "invalid_plan: step 0 address: two at push offset 0");
  CHECK(refusal(changed([](Plan& p) {
          p.steps[0].push[3] = 1;
        })).starts_with("invalid_plan: step 0 address: push bytes at 0"));
  CHECK(refusal(changed([](Plan& p) { p.steps[0].push.clear(); })).starts_with("invalid_plan: step 0 address"));
}

TEST_CASE("refuses what a step does not declare") {
  CHECK(refusal(changed([](Plan& p) { p.steps[0].accesses.erase(p.steps[0].accesses.begin()); })) ==
        "invalid_plan: step 0 address: of src (want a range that it accesses)");
  CHECK(refusal(changed([](Plan& p) { p.steps[0].addresses.pop_back(); })) ==
        "invalid_plan: step 0 range: write of scratch [16, 4096) (want an address of scratch)");
  CHECK(refusal(changed([](Plan& p) { p.steps[0].accesses[0].write = true; })) ==
        "invalid_plan: step 0 range: write of src [0, 4096) (want no write to a source)");
  CHECK(refusal(changed([](Plan& p) {
          p.steps[0].accesses.push_back({.operand = 2, .begin = 0, .end = 17, .write = false});
        })).starts_with("invalid_plan: step 0 ranges: write of scratch [16, 4096) and read of scratch [0, 17)"));
}

TEST_CASE("refuses launches that make no sense") {
  CHECK(refusal(changed([](Plan& p) { p.steps[0].grid[2] = 0; })) == "invalid_plan: step 0 grid: 0 (want at least 1)");
  CHECK(refusal(changed([](Plan& p) { p.steps[0].workgroup[1] = 0; })) ==
        "invalid_plan: step 0 workgroup: 0 (want at least 1)");
  CHECK(
      refusal(changed([](Plan& p) { p.steps[0].constants[1].id = 0; })).starts_with("invalid_plan: step 0 constants"));
  CHECK(refusal(changed([](Plan& p) { p.steps[0].kernel.stem.clear(); })).starts_with("invalid_plan: step 0 kernel"));
  CHECK(refusal(changed([](Plan& p) { p.steps[0].workgroup[0] = 32; })) ==
        "invalid_plan: step 0 constant 0: 64 (want the workgroup's size, 32)");
  CHECK(refusal(changed([](Plan& p) { p.steps[0].workgroup[1] = 2; })) ==
        "invalid_plan: step 0 workgroup size y: 2 (want 1)");
  CHECK(refusal(changed([](Plan& p) { p.steps[0].workgroup[2] = 2; })) ==
        "invalid_plan: step 0 workgroup size z: 2 (want 1)");
  CHECK(refusal(changed([](Plan& p) { p.steps[0].constants.erase(p.steps[0].constants.begin()); })) ==
        "invalid_plan: step 0 constant 0: not there (want the workgroup's size, 64)");
  const auto constants = [](std::uint32_t count) {
    return changed([&](Plan& p) {
      auto& all = p.steps[0].constants;
      while (all.size() < count) all.push_back({all.back().id + 1, 0});
    });
  };
  CHECK(refusal(constants(1024)) == "");
  CHECK(refusal(constants(1025)) == "invalid_plan: step 0 constants: 1025 (want at most 1024)");
  CHECK(refusal(changed([](Plan& p) {
          p.steps[0].push.push_back(0);
        })).starts_with("invalid_plan: step 0 push bytes: 33"));
  CHECK(refusal(changed([](Plan& p) { p.operands[1].align = 12; })) ==
        "invalid_plan: dst align: 12 (want a power of two)");
  CHECK(refusal(changed([](Plan& p) { p.steps.resize(65, p.steps[0]); })) ==
        "invalid_plan: steps: 65 (want at most 64)");
}

TEST_CASE("refuses each limit by name") {
  const auto nothing = [](DeviceProfile&) {};
  const auto over = [&](auto change, auto set) { return limit(changed(change), set); };
  CHECK(over([](Plan& p) { p.steps[1].workgroup_memory_bytes = 16385; }, nothing) ==
        "limit_exceeded: workgroup memory");
  CHECK(over([](Plan& p) { p.steps[1].workgroup_memory_bytes = 16385; },
             [](DeviceProfile& d) { d.workgroup_memory_bytes = 32768; }) == "");
  CHECK(over([](Plan& p) { p.steps[1].workgroup_memory_bytes = 49153; },
             [](DeviceProfile& d) { d.workgroup_memory_bytes = 49152; }) == "limit_exceeded: workgroup memory");
  const auto size = [](Plan& p, std::uint32_t workgroup) {
    p.steps[0].workgroup = {workgroup, 1, 1};
    p.steps[0].constants[0].value = workgroup;
  };
  CHECK(over([&](Plan& p) { size(p, 128); }, nothing) == "");
  CHECK(over([&](Plan& p) { size(p, 129); }, nothing) == "limit_exceeded: workgroup size x");
  const auto wide = [](DeviceProfile& d) { d.max_workgroup_size = {256, 1, 1}; };
  CHECK(over([&](Plan& p) { size(p, 256); }, wide) == "limit_exceeded: workgroup invocations");
  CHECK(over([&](Plan& p) { size(p, 256); },
             [](DeviceProfile& d) {
               d.max_workgroup_size = {256, 1, 1};
               d.max_workgroup_invocations = 256;
             }) == "");
  CHECK(over([](Plan& p) { p.steps[0].grid = {65536, 1, 1}; }, nothing) == "limit_exceeded: grid x");
  CHECK(over([](Plan& p) { p.steps[0].grid = {1, 65536, 1}; }, nothing) == "limit_exceeded: grid y");
  CHECK(over([](Plan& p) { p.steps[0].grid = {1, 1, 65536}; }, nothing) == "limit_exceeded: grid z");
  CHECK(over([](Plan& p) { p.steps[0].grid = {65536, 1, 1}; },
             [](DeviceProfile& d) { d.max_grid = {2147483647, 65535, 65535}; }) == "");
  CHECK(over([](Plan& p) { p.steps[0].push.resize(132); }, nothing) == "limit_exceeded: push bytes");
  CHECK(over([](Plan& p) { p.steps[0].push.resize(132); }, [](DeviceProfile& d) { d.max_push_bytes = 256; }) == "");
  CHECK(over([](Plan&) {}, [](DeviceProfile& d) { d.buffer_device_address = false; }) ==
        "limit_exceeded: buffer device address");
}

TEST_CASE("refuses limits with both numbers") {
  Plan plan = made_up::two_steps();
  plan.steps[1].workgroup_memory_bytes = 50000;
  CHECK(check_plan(plan, DeviceProfile{}).error().message() ==
        "limit_exceeded: workgroup memory: 50000 in step 1 (want at most 16384)");
}

TEST_CASE("states a subgroup size only where the device takes one") {
  Plan plan = made_up::two_steps();
  plan.steps[0].required_subgroup_size = 32;
  CHECK(limit(plan, [](DeviceProfile&) {}) == "limit_exceeded: required subgroup size");
  CHECK(limit(plan, [](DeviceProfile& d) { d.min_subgroup_size = d.max_subgroup_size = 32; }) == "");
  CHECK(limit(plan, [](DeviceProfile& d) { d.min_subgroup_size = 32, d.max_subgroup_size = 64; }) ==
        "limit_exceeded: required subgroup size");
  CHECK(limit(plan, [](DeviceProfile& d) {
          d.min_subgroup_size = 32, d.max_subgroup_size = 64, d.required_subgroup_size = true;
        }) == "");
  CHECK(limit(plan, [](DeviceProfile& d) {
          d.min_subgroup_size = d.max_subgroup_size = 16;
          d.required_subgroup_size = true;
        }) == "limit_exceeded: required subgroup size");
  plan.steps[0].workgroup[0] = plan.steps[0].constants[0].value = 48;
  CHECK(limit(plan, [](DeviceProfile& d) { d.min_subgroup_size = d.max_subgroup_size = 32; }) ==
        "limit_exceeded: workgroup size x");
}
