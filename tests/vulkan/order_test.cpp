// Several plans in one command buffer: barriers where they share memory, and nowhere else.
#include "counting.hpp"
#include "helpers.hpp"

#include <array>
#include <random>

using namespace sectile;
using namespace sectile::test;
using vulkan::OperandAddress;

namespace {

// Calls `work` with a command buffer whose commands are counted and not carried out.
template <class Work>
void counted(vulkan::Runtime& runtime, const Work& work) {
  clear_calls();
  must(runtime.submit_and_wait([&](VkCommandBuffer commands) -> Result<void> {
    swallow_commands(true);
    work(commands);
    swallow_commands(false);
    return {};
  }));
}

struct Bytes {
  std::uint64_t begin = 0, end = 0;
  bool write = false;
};
bool conflict(const Bytes& a, const Bytes& b) { return (a.write || b.write) && a.begin < b.end && b.begin < a.end; }

// What one dispatch accesses.
using DispatchAccess = std::vector<Bytes>;
bool conflict(const DispatchAccess& a, const DispatchAccess& b) {
  for (const Bytes& x : a)
    for (const Bytes& y : b)
      if (conflict(x, y)) return true;
  return false;
}

}  // namespace

TEST_CASE("any order of plans has the barriers that it needs and no other") {
  const auto devices = selectors();
  if (devices.empty()) return;
  vulkan::Runtime runtime = open(devices.front());
  auto device = adopt_counted(runtime);
  constexpr std::uint64_t kBytes = 64;
  const auto one = must(device.prepare(copy_plan(kBytes)));
  const auto two = must(device.prepare(two_step_plan(kBytes)));
  std::mt19937 random(47);
  std::size_t all_barriers = 0, all_plans = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const std::size_t places = 8 + random() % 20;  // room for three, wherever the first two are
    std::vector<std::array<OperandAddress, 3>> operands(2 + random() % 30);
    std::vector<vulkan::Recording> plans;
    std::vector<DispatchAccess> dispatched;
    std::size_t inner = 0, between = 0;
    std::vector<DispatchAccess> open_ones;  // since the last barrier
    for (auto& addresses : operands) {
      // Three places that do not overlap; half of the time between two others'.
      std::vector<std::uint64_t> at;
      while (at.size() < 3) {
        const std::uint64_t next = 0x10000 + random() % (2 * places) * (kBytes / 2);
        bool free = true;
        for (const std::uint64_t other : at) free = free && (next >= other + kBytes || other >= next + kBytes);
        if (free) at.push_back(next);
      }
      for (std::size_t i = 0; i < 3; ++i) addresses[i] = {at[i], kBytes};
      const bool long_one = random() % 3 == 0;
      plans.push_back({long_one ? &two : &one, std::span<const OperandAddress>(addresses).first(long_one ? 3 : 2)});
      const auto range = [&](std::size_t i, bool write) { return Bytes{at[i], at[i] + kBytes, write}; };
      const DispatchAccess first = {range(0, false), range(long_one ? 2 : 1, true)};
      bool waits = false;
      for (const auto& earlier : open_ones) waits = waits || conflict(earlier, first);
      if (waits) {
        ++between;
        open_ones.clear();
      }
      open_ones.push_back(first);
      dispatched.push_back(first);
      if (!long_one) continue;
      ++inner;  // the plan's own barrier orders all before
      open_ones = {{range(2, false), range(1, true)}};
      dispatched.push_back(open_ones[0]);
    }
    std::size_t barriers = 0;
    counted(runtime, [&](VkCommandBuffer commands) { barriers = must(vulkan::record_all(commands, plans)); });
    const auto seen = dispatches();
    REQUIRE(seen.size() == dispatched.size());
    for (std::size_t i = 0; i < seen.size(); ++i)
      for (std::size_t j = i + 1; j < seen.size(); ++j)
        if (conflict(dispatched[i], dispatched[j])) CHECK(seen[i].barriers < seen[j].barriers);
    CHECK(barriers == between);
    CHECK(seen.back().barriers == between + inner);
    all_barriers += between;
    all_plans += plans.size();
  }
  CHECK(all_barriers > 500);
  CHECK(all_barriers < all_plans / 2);
}

TEST_CASE("a scratch that two plans share orders them") {
  on_every_device([](vulkan::Runtime& runtime) {
    auto device = adopt_counted(runtime);
    const auto plan = must(device.prepare(two_step_plan(4096)));
    std::array<OperandAddress, 3> a = {{{0x10000, 4096}, {0x20000, 4096}, {0x30000, 4096}}};
    std::array<OperandAddress, 3> b = {{{0x40000, 4096}, {0x50000, 4096}, {0x30000, 4096}}};
    const std::array<vulkan::Recording, 2> both = {{{&plan, a}, {&plan, b}}};
    const auto barriers = [&] {
      std::size_t out = 0;
      counted(runtime, [&](VkCommandBuffer commands) { out = must(vulkan::record_all(commands, both)); });
      return out;
    };
    CHECK(barriers() == 1);
    b[2].address = 0x60000;
    CHECK(barriers() == 0);
    // The destination of the first is read by its second step alone, and the barrier inside does not order that.
    b[0].address = 0x20000;
    CHECK(barriers() == 1);
    // What the first reads in its first step is ordered by its own barrier with all that follows it.
    b[0].address = 0x40000;
    b[2].address = 0x10000;
    CHECK(barriers() == 0);
  });
}

TEST_CASE("many ranges are ordered by a barrier more, and nothing is allocated") {
  on_every_device([](vulkan::Runtime& runtime) {
    auto device = adopt_counted(runtime);
    const auto plan = must(device.prepare(copy_plan(64)));
    constexpr std::size_t kPlans = 3 * vulkan::Recorder::kMostRanges;
    std::vector<std::array<OperandAddress, 2>> operands(kPlans);
    for (std::size_t i = 0; i < kPlans; ++i) operands[i] = {{{0x10000 + 128 * i, 64}, {0x10000 + 128 * i + 64, 64}}};
    std::vector<vulkan::Recording> plans;
    for (const auto& each : operands) plans.push_back({&plan, each});
    std::size_t allocations = 99, locks = 99, barriers = 0;
    counted(runtime, [&](VkCommandBuffer commands) {
      const Counted counting;
      barriers = *vulkan::record_all(commands, plans);
      allocations = counting.allocations();
      locks = counting.locks();
    });
    CHECK(allocations == 0);
    CHECK(locks == 0);
    CHECK(barriers == 5);  // two ranges a plan
    CHECK(dispatches().size() == kPlans);
  });
}

TEST_CASE("nothing is recorded where one of several plans is refused") {
  on_every_device([](vulkan::Runtime& runtime) {
    auto device = adopt_counted(runtime);
    const auto plan = must(device.prepare(copy_plan(64)));
    const std::array<OperandAddress, 2> good = {{{0x10000, 64}, {0x20000, 64}}}, bad = {{{0x10000, 64}, {0, 64}}};
    const std::array<vulkan::Recording, 3> plans = {{{&plan, good}, {&plan, good}, {&plan, bad}}};
    counted(runtime, [&](VkCommandBuffer commands) {
      const auto refused = vulkan::record_all(commands, plans);
      REQUIRE_FALSE(refused.has_value());
      CHECK(refused.error().message() == "missing: plan 2: dst: address 0");
      const std::array<vulkan::Recording, 1> none = {{{nullptr, good}}};
      CHECK(vulkan::record_all(commands, none).error().what == "plan 0: executable");
    });
    CHECK(dispatches().empty());
    // A Recorder goes on after a refusal, and the app may say that it has ordered what was before.
    counted(runtime, [&](VkCommandBuffer commands) {
      vulkan::Recorder recorder(commands);
      must(recorder.record(plan, good));
      CHECK_FALSE(recorder.record(plan, bad).has_value());
      must(recorder.record(plan, good));
      CHECK(recorder.barriers() == 1);
      recorder.ordered();
      must(recorder.record(plan, good));
      CHECK(recorder.barriers() == 1);
    });
    CHECK(dispatches().size() == 3);
  });
}

TEST_CASE("plans one after another give what each alone would") {
  on_every_device([](vulkan::Runtime& runtime) {
    const auto src = pattern(1 << 16);
    const Pair pair = make_pair(runtime, src);
    const auto scratch = must(runtime.make_buffer(src.size())), last = must(runtime.make_buffer(src.size()));
    const auto copy = must(runtime.device().prepare(copy_plan(src.size())));
    const auto by_way = must(runtime.device().prepare(two_step_plan(src.size())));
    const std::array<OperandAddress, 2> first = {{{pair.src.address(), 0}, {last.address(), 0}}};
    const std::array<OperandAddress, 3> second = {
        {{last.address(), 0}, {pair.dst.address(), 0}, {scratch.address(), 0}}};
    const std::array<vulkan::Recording, 2> plans = {{{&copy, first}, {&by_way, second}}};
    must(runtime.submit_and_wait([&](VkCommandBuffer commands) -> Result<void> {
      const auto barriers = vulkan::record_all(commands, plans);
      if (!barriers) return std::unexpected(barriers.error());
      CHECK(*barriers == 1);
      return {};
    }));
    CHECK(same(read_back(runtime, pair.dst), src));
  });
}

TEST_CASE("labels and names reach the driver where they are asked for, and never otherwise") {
  for (const std::string& selector : selectors()) {
    vulkan::Runtime runtime = open(selector);
    vulkan::Adoption adoption = adoption_of(runtime);
    adoption.get_instance_proc_addr = counting_proc_addr(runtime.get_instance_proc_addr());
    adoption.debug_names = true;
    auto named = vulkan::Device::adopt(adoption);
    const bool there = runtime.get_instance_proc_addr()(runtime.instance(), "vkSetDebugUtilsObjectNameEXT") != nullptr;
    if (!there) {
      REQUIRE_FALSE(named.has_value());
      CHECK(named.error().what == "Adoption::debug_names");
      continue;
    }
    REQUIRE(named.has_value());
    adoption.debug_names = false;
    auto plain = must(vulkan::Device::adopt(adoption));
    const std::array<OperandAddress, 3> operands = {{{0x10000, 4096}, {0x20000, 4096}, {0x30000, 4096}}};
    for (auto* device : {&*named, &plain}) {
      clear_calls();
      const auto plan = must(device->prepare(two_step_plan(4096)));
      const std::size_t names = calls()["vkSetDebugUtilsObjectNameEXT"];
      CHECK(names == (device == &*named ? plan.info().pipelines_created : 0));
      counted(runtime, [&](VkCommandBuffer commands) { must(vulkan::record(commands, plan, operands)); });
      CHECK(calls()["vkCmdBeginDebugUtilsLabelEXT"] == (device == &*named ? 3 : 0));
      CHECK(calls()["vkCmdEndDebugUtilsLabelEXT"] == (device == &*named ? 3 : 0));
    }
  }
}

TEST_CASE("the app's lock is held around each use of the queue") {
  for (const std::string& selector : selectors()) {
    int depth = 0, uses = 0;
    vulkan::RuntimeOptions options;
    options.queue.lock = [&] {
      CHECK(depth == 0);
      ++depth;
      ++uses;
    };
    options.queue.unlock = [&] { --depth; };
    {
      vulkan::Runtime runtime = open(selector, options);
      const int before = uses;
      must(runtime.submit_and_wait([&](VkCommandBuffer) -> Result<void> {
        CHECK(depth == 0);
        return {};
      }));
      CHECK(uses == before + 1);
      CHECK(depth == 0);
      uses = 0;
    }
    CHECK(uses == 1);  // the wait at the end
    CHECK(depth == 0);
  }
}
