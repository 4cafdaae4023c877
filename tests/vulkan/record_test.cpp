// record: what it writes, what it refuses, and what it leaves alone.
#include "counting.hpp"
#include "helpers.hpp"

#include <array>

using namespace sectile;
using namespace sectile::test;
using vulkan::OperandAddress;

namespace {

// Records into a real command buffer and gives what record said.
Result<void> try_record(vulkan::Runtime& runtime, const vulkan::Executable& executable,
                        std::span<const OperandAddress> operands) {
  Result<void> out;
  must(runtime.submit_and_wait([&](VkCommandBuffer commands) -> Result<void> {
    out = vulkan::record(commands, executable, operands);
    return {};
  }));
  return out;
}

void refused(vulkan::Runtime& runtime, const vulkan::Executable& executable, std::span<const OperandAddress> operands,
             ErrorKind kind, std::string_view what) {
  clear_calls();
  const auto result = try_record(runtime, executable, operands);
  REQUIRE_FALSE(result.has_value());
  CHECK_MESSAGE(result.error().kind == kind, result.error().message());
  CHECK_MESSAGE(result.error().what == what, result.error().message());
  CHECK_FALSE(result.error().value.empty());
  CHECK_MESSAGE(calls().empty(), "nothing is written where something is refused");
}

}  // namespace

TEST_CASE("record carries out a plan of one step") {
  on_every_device([](vulkan::Runtime& runtime) {
    for (const std::uint64_t bytes : {4u, 16u, 100u, 4096u, 1000004u}) {
      CAPTURE(bytes);
      const auto src = pattern(bytes);
      const Pair pair = make_pair(runtime, src);
      const auto executable = must(runtime.device().prepare(copy_plan(bytes)));
      must(try_record(runtime, executable, pair.operands()));
      CHECK(same(read_back(runtime, pair.dst), src));
    }
  });
}

TEST_CASE("record carries out steps in order, with scratch between them") {
  on_every_device([](vulkan::Runtime& runtime) {
    const auto src = pattern(1 << 20);
    const Pair pair = make_pair(runtime, src);
    const auto scratch = must(runtime.make_buffer(src.size()));
    const auto executable = must(runtime.device().prepare(two_step_plan(src.size())));
    CHECK(executable.step_count() == 2);
    auto operands = pair.operands();
    operands.push_back({scratch.address(), scratch.size()});
    must(try_record(runtime, executable, operands));
    CHECK(same(read_back(runtime, pair.dst), src));
  });
}

TEST_CASE("record allocates nothing, locks nothing and makes only the four calls") {
  on_every_device([](vulkan::Runtime& runtime) {
    auto device = adopt_counted(runtime);
    const auto executable = must(device.prepare(two_step_plan(4096)));
    const std::array<OperandAddress, 3> operands = {{{0x10000, 4096}, {0x20000, 4096}, {0x30000, 4096}}};
    bool recorded = false;
    std::size_t allocations = 99, locks = 99;
    clear_calls();
    must(runtime.submit_and_wait([&](VkCommandBuffer commands) -> Result<void> {
      swallow_commands(true);  // what the driver does inside a call is its own business
      {
        const Counted counted;
        recorded = vulkan::record(commands, executable, operands).has_value();
        allocations = counted.allocations();
        locks = counted.locks();
      }
      swallow_commands(false);
      return {};
    }));
    CHECK(recorded);
    CHECK(allocations == 0);
    CHECK(locks == 0);
    const std::map<std::string, std::size_t> wanted = {
        {"vkCmdBindPipeline", 2}, {"vkCmdDispatch", 2}, {"vkCmdPipelineBarrier", 1}, {"vkCmdPushConstants", 2}};
    CHECK(calls() == wanted);
    // No CPU driver needs what it says: here alone is seen that later steps may read and overwrite what earlier ones
    // wrote and read.
    const RecordedBarrier barrier = last_barrier();
    CHECK(barrier.source_stage == VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
    CHECK(barrier.destination_stage == VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
    CHECK(barrier.source_access == VK_ACCESS_SHADER_WRITE_BIT);
    CHECK(barrier.destination_access == (VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT));
  });
}

TEST_CASE("the counters count") {
  std::size_t allocations = 0;
  {
    const Counted counted;
    const std::vector<int> some(100);
    allocations = counted.allocations();
  }
  CHECK(allocations == 1);
}

TEST_CASE("record refuses operands by name") {
  on_every_device([](vulkan::Runtime& runtime) {
    auto device = adopt_counted(runtime);
    const auto executable = must(device.prepare(two_step_plan(4096)));
    using Operands = std::array<OperandAddress, 3>;
    const Operands good = {{{0x10000, 4096}, {0x20000, 0}, {0x30000, 5000}}};
    Operands bad = good;

    refused(runtime, executable, std::span(good).first(2), ErrorKind::missing, "operand addresses");
    refused(runtime, executable, {}, ErrorKind::missing, "operand addresses");
    std::vector<OperandAddress> many(good.begin(), good.end());
    many.push_back({0x50000, 4096});
    refused(runtime, executable, many, ErrorKind::invalid_problem, "operand addresses");
    CHECK(try_record(runtime, executable, many).error().message() ==
          "invalid_problem: operand addresses: 4, too many (want 3: src, dst, scratch)");
    bad[0].address = 0;
    refused(runtime, executable, bad, ErrorKind::missing, "src");
    bad = good;
    bad[1].address += 8;
    refused(runtime, executable, bad, ErrorKind::misaligned, "dst");
    bad = good;
    bad[2].bytes = 4095;
    refused(runtime, executable, bad, ErrorKind::too_small, "scratch");
    bad = good;
    bad[0].address = ~VkDeviceAddress{0} - 4079;  // aligned, and 16 bytes short of the end
    refused(runtime, executable, bad, ErrorKind::overflow, "src");
    bad = good;
    bad[1].address = good[0].address;
    refused(runtime, executable, bad, ErrorKind::overlap, "src and dst");
    bad = good;
    bad[1].address = good[2].address - 4080;
    refused(runtime, executable, bad, ErrorKind::overlap, "dst and scratch");
    bad = good;
    bad[1].address = good[2].address + 4080;
    refused(runtime, executable, bad, ErrorKind::overlap, "dst and scratch");
  });
}

TEST_CASE("record takes operands that touch without overlapping, in one buffer") {
  on_every_device([](vulkan::Runtime& runtime) {
    const auto src = pattern(4096);
    const auto both = must(runtime.make_buffer(8192));
    must(runtime.upload(both, 0, src));
    const auto executable = must(runtime.device().prepare(copy_plan(4096)));
    const std::array<OperandAddress, 2> operands = {{{both.address(), 4096}, {both.address() + 4096, 4096}}};
    must(try_record(runtime, executable, operands));
    std::vector<std::byte> got(4096);
    must(runtime.download(both, 4096, got));
    CHECK(same(got, src));
  });
}

TEST_CASE("overlap is judged by what the plan touches, not by where operands begin") {
  on_every_device([](vulkan::Runtime& runtime) {
    // Both operands at one address, the destination's first touched byte behind the source's last.
    Plan plan = copy_plan(4096);
    plan.operands[1].bytes = 8192;
    plan.steps[0].addresses[1].byte_offset = 4096;
    plan.steps[0].accesses[1] = {1, 4096, 8192, true};
    const auto src = pattern(4096);
    const auto both = must(runtime.make_buffer(8192));
    must(runtime.upload(both, 0, src));
    const auto executable = must(runtime.device().prepare(plan));
    const std::array<OperandAddress, 2> operands = {{{both.address(), 8192}, {both.address(), 8192}}};
    must(try_record(runtime, executable, operands));
    std::vector<std::byte> got(4096);
    must(runtime.download(both, 4096, got));
    CHECK(same(got, src));
  });
}

TEST_CASE("a plan with nothing to do records nothing and asks for no address") {
  on_every_device([](vulkan::Runtime& runtime) {
    auto device = adopt_counted(runtime);
    Plan plan;
    plan.operands = {{"src", OperandRole::source, 0, 16}, {"dst", OperandRole::destination, 0, 16}};
    const auto executable = must(device.prepare(plan));
    const std::array<OperandAddress, 2> operands{};
    clear_calls();
    must(try_record(runtime, executable, operands));
    must(try_record(runtime, vulkan::Executable(), {}));
    CHECK(calls().empty());
  });
}
