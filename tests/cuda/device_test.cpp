// Device and launch, on a driver that runs nothing and keeps the rules: what is compiled, what is launched with which
// bytes, what is refused, and what is left alone. Needs NVRTC for the cubins and no GPU.
#include "fake_driver.hpp"
#include "helpers.hpp"

#include "support/counted.hpp"
#include "support/small_class.hpp"

#include <sectile/planner.hpp>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace sectile;
using namespace sectile::test;

namespace {

cuda::Device adopt(const std::string& folder = {}) {
  return must(
      cuda::Device::adopt({.context = FakeDriver::context(), .cubin_folder = folder, .sources = test_sources()}));
}

void quiet(const FakeDriver& driver) {
  for (const std::string& complaint : driver.complaints()) FAIL_CHECK(complaint);
}

std::uint64_t address_in(const FakeLaunch& launch, std::size_t at) {
  std::uint64_t out = 0;
  REQUIRE(launch.push.size() >= at + sizeof(out));
  std::memcpy(&out, launch.push.data() + at, sizeof(out));
  return out;
}

using Operands = std::array<OperandAddress, 3>;
constexpr Operands kGood = {{{0x10000, 4096}, {0x20000, 0}, {0x30000, 5000}}};
// NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number, and nothing is behind it
const cuda::Stream kStream = reinterpret_cast<cuda::Stream>(std::uintptr_t{0x77});

}  // namespace

TEST_CASE("the driver's answers become a profile") {
  const FakeDriver driver(2);
  const auto profile = must(cuda::profile(1));
  CHECK(profile.api == Api::cuda);
  CHECK(profile.api_version == 13000);
  CHECK(profile.name == "Made-up GPU 1");
  CHECK(profile.uuid == "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1");
  CHECK(profile.driver == "CUDA 13.0");
  CHECK(profile.kind == DeviceKind::discrete);
  CHECK(cuda_architecture_name(profile) == "sm_90a");
  CHECK(profile.workgroup_memory_bytes == 49152u);
  CHECK(profile.max_dynamic_workgroup_memory_bytes == 232448u);
  CHECK(profile.max_grid == std::array<std::uint32_t, 3>{2147483647u, 65535u, 65535u});
  CHECK(profile.multiprocessors == 132u);
  CHECK(profile.async_copy == true);
  CHECK(profile.tensor_maps == true);
  // It is a profile like any other: JSON both ways.
  CHECK(must(profile_from_json(to_json(profile))) == profile);
  // The fake answers as an H200 does: nothing in it contradicts the built-in target.
  auto target = must(builtin_target("cuda:sm_90a"));
  target.name = profile.name;
  must(supplement(profile, to_json(target)));
  CHECK(cuda::profile(2).error().kind == ErrorKind::missing);
  CHECK(cuda::profile(2).error().value == "cuda:2");
  CHECK(cuda::profile(-1).error().kind == ErrorKind::missing);
}

// What the driver says of a card is its limits and its compute capability; the rest follows from the latter.
TEST_CASE("a live device of each built-in architecture has its target's name, features and matrix units") {
  FakeDriver driver;
  std::size_t architectures = 0;
  for (const std::string_view name : builtin_target_names()) {
    auto target = must(builtin_target(name));
    if (target.api != Api::cuda) continue;
    CAPTURE(name);
    ++architectures;
    const auto set = [&](cuda::api::Attribute which, std::uint32_t value) {
      driver.set_attribute(which, static_cast<int>(value));
    };
    set(cuda::api::kComputeCapabilityMajor, target.cuda_architecture.value() / 10);
    set(cuda::api::kComputeCapabilityMinor, target.cuda_architecture.value() % 10);
    set(cuda::api::kMaxSharedMemoryPerBlockOptin, target.max_dynamic_workgroup_memory_bytes.value());
    set(cuda::api::kMaxSharedMemoryPerMultiprocessor, target.workgroup_memory_per_multiprocessor_bytes.value());
    set(cuda::api::kMaxThreadsPerMultiprocessor, target.max_invocations_per_multiprocessor.value());
    const DeviceProfile live = must(cuda::profile(0));
    CHECK("cuda:" + cuda_architecture_name(live) == name);
    CHECK(live.matrix_units == target.matrix_units);
    CHECK(live.tensor_maps == target.tensor_maps);
    CHECK(live.async_copy == target.async_copy);
    CHECK(live.bfloat16 == target.bfloat16);
    target.name = live.name;
    must(supplement(live, to_json(target)));  // nothing in the profile contradicts the target
  }
  CHECK(architectures == 8);
}

TEST_CASE("a driver without a device lists none") {
  const FakeDriver driver(0);
  CHECK(must(cuda::list_devices()).empty());
  CHECK(cuda::profile(0).error().kind == ErrorKind::missing);
  CHECK(cuda::Runtime::open().error().kind == ErrorKind::missing);
}

TEST_CASE("a driver's error becomes one of ours with its name and words") {
  FakeDriver driver;
  driver.fail_next("cuInit", cuda::api::Status{999});
  const auto devices = cuda::list_devices();
  REQUIRE_FALSE(devices.has_value());
  CHECK(devices.error().message() == "device: cuInit: CUDA_ERROR_OF_THE_TEST: asked for by the test");
}

TEST_CASE("adopting needs a context") {
  const FakeDriver driver;
  if (nvrtc_or_skip("adopting needs a context") == nullptr) return;
  const auto device = cuda::Device::adopt({});
  REQUIRE_FALSE(device.has_value());
  CHECK(device.error().kind == ErrorKind::missing);
  CHECK(device.error().what == "CUcontext");
}

TEST_CASE("a CUDA device has the class that it was adopted with, and a class of others is refused") {
  if (nvrtc_or_skip("a CUDA device has the class that it was adopted with") == nullptr) return;
  const FakeDriver driver;
  const DeviceProfile profile = must(cuda::profile(0));
  const auto mine = must(device_class_from_json(small_class_text(profile, "CUDA 12.9")));
  const auto device = must(cuda::Device::adopt({.context = FakeDriver::context(), .device_class = mine}));
  CHECK(device.profile().device_class == mine);
  CHECK(device.class_warnings() ==
        std::vector<std::string>{"device class mine: measured with driver CUDA 12.9, this is CUDA 13.0"});
  const auto runtime = must(cuda::Runtime::open("cuda:0", {.device_class = mine}));
  CHECK(runtime.profile().device_class == mine);
  CHECK(profile_hash_of(runtime.profile()) == profile_hash_of(profile));
  CHECK(must(cuda::Device::adopt({.context = FakeDriver::context()})).class_warnings().empty());
  const auto others = must(device_class_from_json(class_text_of_others(profile)));
  const auto refused = cuda::Device::adopt({.context = FakeDriver::context(), .device_class = others});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message() ==
        "unsupported: device class mine on Made-up GPU 0: kind gpu (want a device like a test's)");
}

TEST_CASE("launch hands over the plan's bytes with the addresses in their slots") {
  if (nvrtc_or_skip("launch hands over the plan's bytes with the addresses in their slots") == nullptr) return;
  FakeDriver driver;
  {
    auto device = adopt();
    const Plan plan = two_step_plan(1024, 3);
    const auto executable = must(device.prepare(plan));
    CHECK(executable.step_count() == 2);
    CHECK(executable.plan_id() == plan.id);
    CHECK(executable.operands().size() == 3);
    must(cuda::launch(kStream, executable, kGood));
    REQUIRE(driver.launches() == 2);
    const std::array<std::array<std::uint64_t, 2>, 2> wanted = {{{0x10000, 0x30000}, {0x30000, 0x20000}}};
    for (std::size_t i = 0; i < 2; ++i) {
      const FakeLaunch& launch = driver.launch(i);
      CHECK(launch.grid == plan.steps[i].grid);
      CHECK(launch.workgroup == plan.steps[i].workgroup);
      CHECK(launch.stream == kStream);
      CHECK(launch.dynamic_shared == 0);
      REQUIRE(launch.push.size() == plan.steps[i].push.size());
      CHECK(address_in(launch, 0) == wanted[i][0]);
      CHECK(address_in(launch, 8) == wanted[i][1]);
      CHECK(std::memcmp(launch.push.data() + 16, plan.steps[i].push.data() + 16, launch.push.size() - 16) == 0);
    }
    // Nothing is waited for and no memory is taken.
    for (const char* name : {"cuStreamSynchronize", "cuMemAlloc_v2", "cuStreamCreate", "cuDevicePrimaryCtxRetain"})
      CHECK(driver.calls(name) == 0);
  }
  CHECK(driver.modules_alive() == 0);
  quiet(driver);
}

TEST_CASE("tensor maps follow the push struct, encoded at the launch's addresses") {
  if (nvrtc_or_skip("tensor maps follow the push struct") == nullptr) return;
  FakeDriver driver;
  driver.expect_arguments(24, 2);
  {
    auto device = adopt();
    Plan plan = add_plan(1024, 3);
    plan.steps[0].tensor_maps = {{1, 0, 4, {32, 32}, {128}, {32, 8}, 128},
                                 {0, 32, 4, {16, 15, 4}, {64, 1024}, {16, 4, 1}, 64}};
    const auto executable = must(device.prepare(plan));
    must(cuda::launch(kStream, executable, std::span(kGood).first(2)));
    REQUIRE(driver.launches() == 1);
    const auto& maps = driver.launch(0).maps;
    REQUIRE(maps.size() == 2);
    CHECK(decoded(maps[0]).address == kGood[1].address);
    CHECK(decoded(maps[0]).dims == plan.steps[0].tensor_maps[0].dims);
    CHECK(decoded(maps[1]).address == kGood[0].address + 32);
    CHECK(decoded(maps[1]).dims == plan.steps[0].tensor_maps[1].dims);
  }
  quiet(driver);
}

TEST_CASE("push struct and tensor maps fill the bytes that a kernel's arguments have, and no more") {
  if (nvrtc_or_skip("push struct and tensor maps fill the bytes") == nullptr) return;
  FakeDriver driver;
  auto device = adopt();
  const TensorMap map{0, 0, 4, {32, 32}, {128}, {32, 8}, 128};
  const auto prepared = [&](std::size_t push_bytes, std::size_t maps) {
    Plan plan = add_plan(1024, 3);
    plan.steps[0].push.resize(push_bytes);
    plan.steps[0].tensor_maps.assign(maps, map);
    const auto executable = device.prepare(plan);
    if (!executable) CHECK_MESSAGE(executable.error().kind == ErrorKind::limit_exceeded, executable.error().message());
    return executable.has_value();
  };
  constexpr std::size_t kAll = 4096, kMap = 128;
  CHECK(prepared(kAll - 2 * kMap, 2));
  CHECK_FALSE(prepared(kAll - 2 * kMap + 8, 2));
  CHECK(prepared(kAll - 8 * kMap, 8));
  CHECK_FALSE(prepared(kAll - 8 * kMap + 8, 8));
}

TEST_CASE("the caller's current context is as it was, whatever happens") {
  if (nvrtc_or_skip("the caller's current context is as it was, whatever happens") == nullptr) return;
  FakeDriver driver;
  for (cuda::api::Context own : {cuda::api::Context{nullptr}, FakeDriver::other_context()}) {
    if (own != nullptr) driver.make_current(own);
    const std::size_t depth = driver.context_depth();
    const auto as_it_was = [&] {
      CHECK(driver.current() == own);
      CHECK(driver.context_depth() == depth);
    };
    {
      auto device = adopt();
      as_it_was();
      const auto executable = must(device.prepare(add_plan(1024, 3)));
      as_it_was();
      must(cuda::launch(kStream, executable, std::span(kGood).first(2)));
      as_it_was();
      driver.fail_next("cuLaunchKernel", cuda::api::Status{719});
      const auto failed = cuda::launch(kStream, executable, std::span(kGood).first(2));
      REQUIRE_FALSE(failed.has_value());
      CHECK(failed.error().kind == ErrorKind::device);
      CHECK(failed.error().what == "cuLaunchKernel");
      as_it_was();
      driver.fail_next("cuCtxPushCurrent_v2", cuda::api::Status{709});
      CHECK(cuda::launch(kStream, executable, std::span(kGood).first(2)).error().what == "cuCtxPushCurrent");
      as_it_was();
      driver.fail_next("cuModuleLoadData", cuda::api::Status{209});
      CHECK(device.prepare(add_plan(1024, 4)).error().kind == ErrorKind::device);
      as_it_was();
      driver.fail_next("cuFuncGetAttribute", cuda::api::Status{209});
      CHECK(device.prepare(add_plan(1024, 4)).error().kind == ErrorKind::device);
      CHECK(driver.modules_alive() == 1);       // the one that was loaded in vain is gone
      must(device.prepare(add_plan(1024, 4)));  // a failure is not remembered
      as_it_was();
    }
    as_it_was();
    driver.clear_launches();
  }
  quiet(driver);
}

TEST_CASE("launch allocates nothing and locks nothing") {
  if (nvrtc_or_skip("launch allocates nothing and locks nothing") == nullptr) return;
  const FakeDriver driver;
  auto device = adopt();
  const auto executable = must(device.prepare(two_step_plan(1024, 3)));
  bool launched = false;
  std::size_t allocations = 99, locks = 99;
  {
    const Counted counted;
    launched = cuda::launch(kStream, executable, kGood).has_value();
    allocations = counted.allocations();
    locks = counted.locks();
  }
  CHECK(launched);
  CHECK(allocations == 0);
  CHECK(locks == 0);
  CHECK(driver.launches() == 2);
}

TEST_CASE("launch refuses operands by name, and launches nothing") {
  if (nvrtc_or_skip("launch refuses operands by name, and launches nothing") == nullptr) return;
  const FakeDriver driver;
  auto device = adopt();
  const auto executable = must(device.prepare(two_step_plan(1024, 3)));
  const auto refused = [&](std::span<const OperandAddress> operands, ErrorKind kind, std::string_view what) {
    const auto result = cuda::launch(kStream, executable, operands);
    REQUIRE_FALSE(result.has_value());
    CHECK_MESSAGE(result.error().kind == kind, result.error().message());
    CHECK_MESSAGE(result.error().what == what, result.error().message());
    CHECK(driver.launches() == 0);
  };
  refused(std::span(kGood).first(2), ErrorKind::missing, "operand addresses");
  std::vector<OperandAddress> many(kGood.begin(), kGood.end());
  many.push_back({0x50000, 4096});
  refused(many, ErrorKind::invalid_problem, "operand addresses");
  CHECK(cuda::launch(kStream, executable, many).error().message() ==
        "invalid_problem: operand addresses: 4, too many (want 3: src, dst, scratch)");
  Operands bad = kGood;
  bad[0].address = 0;
  refused(bad, ErrorKind::missing, "src");
  bad = kGood;
  bad[1].address += 8;
  refused(bad, ErrorKind::misaligned, "dst");
  bad = kGood;
  bad[2].bytes = 4095;
  refused(bad, ErrorKind::too_small, "scratch");
  bad = kGood;
  bad[0].address = ~std::uint64_t{0} - 4079;
  refused(bad, ErrorKind::overflow, "src");
  bad = kGood;
  bad[1].address = kGood[0].address + 4080;
  refused(bad, ErrorKind::overlap, "src and dst");
}

TEST_CASE("workgroup memory that cannot be declared is asked for at launch, up to the device's limit") {
  if (nvrtc_or_skip("workgroup memory that cannot be declared is asked for at launch") == nullptr) return;
  const FakeDriver driver;
  auto device = adopt();
  Plan plan = add_plan(1024, 3);
  plan.steps[0].kernel.stem = "share_words";
  const std::array<std::pair<std::uint32_t, std::uint32_t>, 3> rows = {
      {{49152, 49152}, {61440, 61440}, {232448, 232448}}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    plan.steps[0].workgroup_memory_bytes = rows[i].first;
    const auto executable = must(device.prepare(plan));
    CHECK(driver.calls("cuFuncSetAttribute") == i);
    must(cuda::launch(kStream, executable, std::span(kGood).first(2)));
    CHECK(driver.launch(i).dynamic_shared == rows[i].second);
  }
  plan.steps[0].workgroup_memory_bytes = 232449;
  CHECK(device.prepare(plan).error().kind == ErrorKind::limit_exceeded);
  CHECK(device.compile_counts().compiled == 1);
  quiet(driver);
}

TEST_CASE("kernels are shared by source and constants, and a plan's numbers make none") {
  if (nvrtc_or_skip("kernels are shared by source and constants, and a plan's numbers make none") == nullptr) return;
  const FakeDriver driver;
  auto device = adopt();
  must(device.prepare(add_plan(1024, 3)));
  must(device.prepare(add_plan(4096, 3)));
  must(device.prepare(two_step_plan(1024, 3)));
  CHECK(device.compile_counts().compiled == 1);
  CHECK(device.compile_counts().kernels == 1);
  must(device.prepare(add_plan(1024, 4)));
  CHECK(device.compile_counts().compiled == 2);
  CHECK(device.compile_counts().from_folder == 0);
  CHECK(driver.modules_alive() == 2);
}

TEST_CASE("many threads that want one kernel compile it once") {
  if (nvrtc_or_skip("many threads that want one kernel compile it once") == nullptr) return;
  const FakeDriver driver;
  auto device = adopt();
  std::array<bool, 8> prepared{};
  {
    std::vector<std::jthread> threads;
    threads.reserve(prepared.size());
    for (std::size_t i = 0; i < prepared.size(); ++i)
      threads.emplace_back(
          [&, i] { prepared[i] = device.prepare(add_plan(1024, static_cast<std::uint32_t>(i % 2))).has_value(); });
  }
  for (const bool done : prepared) CHECK(done);
  CHECK(device.compile_counts().compiled == 2);
  quiet(driver);
}

TEST_CASE("many plans are prepared in parallel, in order, and the first error is the one reported") {
  if (nvrtc_or_skip("many plans are prepared in parallel") == nullptr) return;
  const FakeDriver driver;
  auto device = adopt();
  std::vector<Plan> plans;
  for (std::uint32_t i = 0; i < 8; ++i) {
    plans.push_back(add_plan(1024, i % 3));
    plans.back().id = "plan " + std::to_string(i);
  }
  for (const unsigned threads : {1u, 4u, 0u}) {
    const auto made = must(device.prepare(plans, threads));
    REQUIRE(made.size() == plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i) CHECK(made[i].plan_id() == plans[i].id);
  }
  CHECK(device.compile_counts().compiled == 3);
  CHECK(must(device.prepare(std::span<const Plan>())).empty());
  plans[4].steps[0].kernel.stem = "no_such";
  plans[6].steps[0].kernel.stem = "nor_this";
  const auto failed = device.prepare(plans, 4);
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().kind == ErrorKind::missing);
  CHECK(failed.error().value.starts_with("no_such"));
  quiet(driver);
}

TEST_CASE("a second Device compiles nothing") {
  if (nvrtc_or_skip("a second Device compiles nothing") == nullptr) return;
  const FakeDriver driver;
  const std::string folder = temporary_folder();
  {
    auto first = adopt(folder);
    must(first.prepare(add_plan(1024, 3)));
    must(first.prepare(add_plan(1024, 4)));
    CHECK(first.compile_counts().compiled == 2);
    CHECK(first.warning() == "");
  }
  {
    auto second = adopt(folder);
    must(second.prepare(add_plan(1024, 3)));
    must(second.prepare(add_plan(1024, 4)));
    CHECK(second.compile_counts().compiled == 0);
    CHECK(second.compile_counts().from_folder == 2);
    CHECK(second.warning() == "");
  }
  // Each file broken in its own way: compiled anew, replaced, and said so.
  bool truncate = true;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (std::exchange(truncate, false))
      std::filesystem::resize_file(file, 100);
    else
      std::ofstream(file.path(), std::ios::binary | std::ios::trunc) << "no cubin";
  }
  {
    auto third = adopt(folder);
    must(third.prepare(add_plan(1024, 3)));
    must(third.prepare(add_plan(1024, 4)));
    CHECK(third.compile_counts().compiled == 2);
    CHECK(third.compile_counts().from_folder == 0);
    CHECK(third.warning().find("ignored") != std::string::npos);
  }
  auto fourth = adopt(folder);
  must(fourth.prepare(add_plan(1024, 3)));
  CHECK(fourth.compile_counts().from_folder == 1);
  CHECK(fourth.warning() == "");
  quiet(driver);
}

TEST_CASE("a whole file that the driver refuses is compiled anew") {
  if (nvrtc_or_skip("a whole file that the driver refuses is compiled anew") == nullptr) return;
  FakeDriver driver;
  const std::string folder = temporary_folder();
  {
    auto first = adopt(folder);
    must(first.prepare(add_plan(1024, 3)));
  }
  auto second = adopt(folder);
  driver.fail_next("cuModuleLoadData", cuda::api::Status{200});
  must(second.prepare(add_plan(1024, 3)));
  CHECK(second.compile_counts().compiled == 1);
  CHECK(second.compile_counts().from_folder == 0);
}

TEST_CASE("prepare refuses what cannot be, and compiles nothing of it") {
  if (nvrtc_or_skip("prepare refuses what cannot be, and compiles nothing of it") == nullptr) return;
  const FakeDriver driver;
  auto device = adopt();
  Plan plan = two_step_plan(1024, 3);
  plan.steps[1].kernel.stem = "no_such";
  CHECK(device.prepare(plan).error().kind == ErrorKind::missing);
  plan = two_step_plan(1024, 3);
  plan.steps[1].barrier_before = false;
  CHECK(device.prepare(plan).error().kind == ErrorKind::invalid_plan);
  plan = add_plan(1024, 3);
  plan.steps[0].workgroup = {2048, 1, 1};
  CHECK(device.prepare(plan).error().kind == ErrorKind::invalid_plan);  // not what the kernel is compiled for
  std::ranges::find(plan.steps[0].constants, 0u, &Constant::id)->value = 2048;
  CHECK(device.prepare(plan).error().kind == ErrorKind::limit_exceeded);
  CHECK(device.compile_counts().compiled == 0);
  // A plan for another profile, unless the caller means it.
  plan = add_plan(1024, 3);
  DeviceProfile profile = device.profile();
  plan.profile_hash = profile_hash_of(profile);
  must(device.prepare(plan));
  profile.multiprocessors = 1234;
  plan.profile_hash = profile_hash_of(profile);
  const auto other = device.prepare(plan);
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().kind == ErrorKind::invalid_plan);
  CHECK(other.error().what == "profile that the plan was made for");
  must(device.prepare(plan, {.any_profile = true}));
  const std::size_t before = device.compile_counts().kernels;
  plan = add_plan(1024, 3);
  plan.steps[0].kernel.stem = "broken_words";
  CHECK(device.prepare(plan).error().kind == ErrorKind::compile);
  CHECK(device.compile_counts().kernels == before);
}

TEST_CASE("a plan with nothing to do launches nothing and asks for no address") {
  if (nvrtc_or_skip("a plan with nothing to do launches nothing and asks for no address") == nullptr) return;
  const FakeDriver driver;
  auto device = adopt();
  Plan plan;
  plan.operands = {{"src", OperandRole::source, 0, 16}, {"dst", OperandRole::destination, 0, 16}};
  const auto executable = must(device.prepare(plan));
  must(cuda::launch(kStream, executable, std::array<OperandAddress, 2>{}));
  must(cuda::launch(kStream, cuda::Executable(), {}));
  CHECK(driver.launches() == 0);
}

TEST_CASE("the runtime finds a device by number, UUID and name") {
  if (nvrtc_or_skip("the runtime finds a device by number, UUID and name") == nullptr) return;
  const FakeDriver driver(3);
  const auto devices = must(cuda::list_devices());
  REQUIRE(devices.size() == 3);
  CHECK(devices[2].architecture == "sm_90a");
  for (const char* selector : {"cuda:2", "CUDA:2", "up gpu 2", "a2a2a2a2-a2a2-a2a2-a2a2-a2a2a2a2a2a2"})
    CHECK(must(cuda::Runtime::open(selector)).entry().index == 2);
  CHECK(must(cuda::Runtime::open()).entry().index == 0);
  CHECK(cuda::Runtime::open("cuda:3").error().kind == ErrorKind::missing);
  CHECK(cuda::Runtime::open("cuda:x").error().kind == ErrorKind::parse);
  CHECK(cuda::Runtime::open("made-up").error().kind == ErrorKind::missing);  // more than one
  CHECK(cuda::Runtime::open("radeon").error().limit ==
        "one of cuda:0 Made-up GPU 0; cuda:1 Made-up GPU 1; cuda:2 Made-up GPU 2");
  CHECK(driver.calls("cuDevicePrimaryCtxRetain") == driver.calls("cuDevicePrimaryCtxRelease_v2"));
  CHECK(driver.calls("cuStreamCreate") == driver.calls("cuStreamDestroy_v2"));
  CHECK(driver.calls("cuEventCreate") == driver.calls("cuEventDestroy_v2"));
  quiet(driver);
}

TEST_CASE("candidates are captured once, warmed up, and their graphs alternate") {
  if (nvrtc_or_skip("candidates are captured once, warmed up, and their graphs alternate") == nullptr) return;
  const FakeDriver driver;
  {
    auto runtime = must(cuda::Runtime::open());
    std::array<int, 2> launched{};
    const std::array<cuda::LaunchFunction, 2> candidates = {[&](cuda::Stream stream) {
                                                              ++launched[0];
                                                              return runtime.launch_copy(stream, 0x1000, 0x2000, 16);
                                                            },
                                                            [&](cuda::Stream) -> Result<void> {
                                                              ++launched[1];
                                                              return {};
                                                            }};
    const auto timings = must(runtime.time(candidates, {.repeats = 5, .inner = 4, .warmup_seconds = 0.001}));
    CHECK(launched == std::array{4, 4});
    REQUIRE(timings.size() == 2);
    for (const cuda::Timing& timing : timings) {
      REQUIRE(timing.gpu_ns.size() == 5);
      CHECK(timing.gpu_ns.front() == doctest::Approx(0.5e6 / 4));
    }
    CHECK(driver.calls("cuGraphLaunch") > 10);
    // A candidate's error ends the capture and reaches the caller.
    const std::array<cuda::LaunchFunction, 1> broken = {
        [](cuda::Stream) -> Result<void> { return fail(ErrorKind::missing, "candidate"); }};
    CHECK(runtime.time(broken).error().what == "candidate");
    must(runtime.run_and_wait([](cuda::Stream) { return Result<void>(); }));
  }
  CHECK(driver.calls("cuGraphDestroy") == driver.calls("cuStreamEndCapture"));
  CHECK(driver.calls("cuGraphExecDestroy") == driver.calls("cuGraphInstantiateWithFlags"));
  quiet(driver);
}
