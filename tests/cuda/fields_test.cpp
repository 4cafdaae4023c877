// Each field of what the driver is asked for, with a value that no other field has: an exchange of two is seen.
#include "fake_driver.hpp"
#include "helpers.hpp"
#include "support/marked_step.hpp"

#include <array>
#include <set>

using namespace sectile;
using namespace sectile::test;

namespace {

constexpr std::array<OperandAddress, 2> kOperands = {{{0x10000, 0}, {0x20000, 0}}};
// NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number, and nothing is behind it
const cuda::Stream kOwnStream = reinterpret_cast<cuda::Stream>(std::uintptr_t{0x79});

cuda::Device adopt_fake() {
  return must(cuda::Device::adopt({.context = FakeDriver::context(), .cubin_folder = {}, .sources = test_sources()}));
}

void no_complaints(const FakeDriver& driver) {
  for (const std::string& complaint : driver.complaints()) FAIL_CHECK(complaint);
}

Step own_step(std::uint32_t number, std::uint32_t add) {
  Step step = add_plan(1024, add).steps[0];
  mark_step(step, number);
  step.workgroup[0] = step.constants[0].value = 64 + 32 * number;
  return step;
}

}  // namespace

TEST_CASE("each field of a launch is the step's own") {
  if (nvrtc_or_skip("each field of a launch is the step's own") == nullptr) return;
  FakeDriver driver;
  auto device = adopt_fake();
  Plan plan = add_plan(1024, 3);
  for (PlanOperand& operand : plan.operands) operand.bytes = 3 * 4096;
  plan.steps = {own_step(0, 3), own_step(1, 4), own_step(2, 3)};
  const auto executable = must(device.prepare(plan));
  must(cuda::launch(kOwnStream, executable, kOperands));
  REQUIRE(driver.launches() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const FakeLaunch& launch = driver.launch(i);
    const Step& step = plan.steps[i];
    CHECK(launch.grid == step.grid);
    CHECK(launch.cluster == std::array<std::uint32_t, 3>{});
    CHECK(launch.workgroup == step.workgroup);
    CHECK(launch.stream == kOwnStream);
    CHECK(launch.dynamic_shared == 0);
    CHECK(launch.push == push_with_addresses(step, kOperands));
  }
  // Three kernels: constants differ, in the workgroup's size or in what is added.
  std::set<cuda::api::Function> functions;
  for (std::size_t i = 0; i < 3; ++i) functions.insert(driver.launch(i).function);
  CHECK(functions.size() == 3);
  CHECK_FALSE(functions.contains(nullptr));
  no_complaints(driver);
}

TEST_CASE("each field of a launch of clusters is the step's own") {
  if (nvrtc_or_skip("each field of a launch of clusters is the step's own") == nullptr) return;
  FakeDriver driver;
  auto device = adopt_fake();
  Plan plan = add_plan(1024, 3);
  for (PlanOperand& operand : plan.operands) operand.bytes = 2 * 4096;
  plan.steps = {own_step(0, 3), own_step(1, 4)};
  plan.steps[0].grid = {6, 14, 20};
  plan.steps[0].cluster = {3, 1, 2};
  plan.steps[0].workgroup_memory_bytes = 100000;
  plan.steps[1].grid = {2, 5, 4};
  plan.steps[1].cluster = {2, 1, 4};
  const auto executable = must(device.prepare(plan));
  CHECK_FALSE(driver.large_clusters_allowed());  // eight workgroups need no leave
  must(cuda::launch(kOwnStream, executable, kOperands));
  REQUIRE(driver.launches() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const FakeLaunch& launch = driver.launch(i);
    const Step& step = plan.steps[i];
    CHECK(launch.grid == step.grid);
    CHECK(launch.cluster == step.cluster);
    CHECK(launch.workgroup == step.workgroup);
    CHECK(launch.stream == kOwnStream);
    CHECK(launch.dynamic_shared == step.workgroup_memory_bytes);
    CHECK(launch.push == push_with_addresses(step, kOperands));
  }
  CHECK(driver.launch(0).function != driver.launch(1).function);
  driver.fail_next("cuLaunchKernelEx", cuda::api::Status{912});  // CUDA_ERROR_INVALID_CLUSTER_SIZE
  const auto failed = cuda::launch(kOwnStream, executable, kOperands);
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().what == "cuLaunchKernelEx");
  no_complaints(driver);
}

TEST_CASE("a cluster of more than eight workgroups is allowed of its kernel first") {
  if (nvrtc_or_skip("a cluster of more than eight workgroups is allowed of its kernel first") == nullptr) return;
  FakeDriver driver;
  auto device = adopt_fake();
  Plan plan = add_plan(1024, 3);
  const auto prepared = [&](std::array<std::uint32_t, 3> cluster) {
    plan.steps[0].grid = plan.steps[0].cluster = cluster;
    return device.prepare(plan);
  };
  CHECK(prepared({8, 1, 1}).has_value());
  CHECK(prepared({2, 2, 2}).has_value());
  CHECK_FALSE(driver.large_clusters_allowed());
  CHECK(prepared({1, 3, 3}).has_value());
  CHECK(driver.large_clusters_allowed());
  driver.fail_next("cuFuncSetAttribute", cuda::api::Status{1});
  CHECK(prepared({16, 1, 1}).error().what == "cuFuncSetAttribute");
  no_complaints(driver);
}

TEST_CASE("each field of a tensor map is the plan's own") {
  if (nvrtc_or_skip("each field of a tensor map is the plan's own") == nullptr) return;
  FakeDriver driver;
  driver.expect_arguments(24, 8);
  auto device = adopt_fake();
  Plan plan = add_plan(1 << 14, 3);
  const std::array<TensorMap, 8> maps = {
      {{0, 32, 8, {16, 15, 4, 3, 2}, {144, 2176, 8832, 26624}, {16, 6, 4, 3, 1}, 128, {1, 2, 3, 4, 5}},
       {1, 48, 4, {16, 15}, {80}, {16, 7}, 64, {1, 8}, {}, TensorFill::nan_f32},
       {0, 64, 2, {16, 5, 9}, {48, 256}, {16, 3, 5}, 32},
       {1, 80, 1, {160}, {}, {144}, 0},
       {1, 96, 2, {16, 7, 3}, {48, 400}, {}, 32, {1, 6, 1}, Im2col{{-3}, {-2}, 8, 19}, TensorFill::nan_f16},
       {0, 112, 4, {16, 7, 6, 3}, {80, 640, 4000}, {}, 64, {}, Im2col{{-5, 2}, {4, -1}, 12, 1023}},
       {0,
        128,
        1,
        {32, 7, 6, 5, 3},
        {48, 352, 2128, 10720},
        {},
        0,
        {1, 7, 3, 2, 1},
        Im2col{{-1, -2, -3}, {-4, -5, 3}, 16, 5}},
       {1, 144, 2, {24, 5}, {64}, {8, 3}, 0, {}, {}, TensorFill::nan_bf16}}};
  plan.steps[0].tensor_maps.assign(maps.begin(), maps.end());
  const auto executable = must(device.prepare(plan));
  must(cuda::launch(kOwnStream, executable, kOperands));
  REQUIRE(driver.launches() == 1);
  REQUIRE(driver.launch(0).maps.size() == maps.size());
  const std::array elements = {cuda::api::kTensorUint64, cuda::api::kTensorFloat32, cuda::api::kTensorUint16,
                               cuda::api::kTensorUint8,  cuda::api::kTensorFloat16, cuda::api::kTensorUint32,
                               cuda::api::kTensorUint8,  cuda::api::kTensorBfloat16};
  const std::array swizzles = {cuda::api::kSwizzle128,  cuda::api::kSwizzle64,  cuda::api::kSwizzle32,
                               cuda::api::kSwizzleNone, cuda::api::kSwizzle32,  cuda::api::kSwizzle64,
                               cuda::api::kSwizzleNone, cuda::api::kSwizzleNone};
  for (std::size_t i = 0; i < maps.size(); ++i) {
    CAPTURE(i);
    const FakeMap got = decoded(driver.launch(0).maps[i]);
    CHECK(got.address == kOperands[maps[i].operand].address + maps[i].byte_offset);
    CHECK(got.element == static_cast<std::uint32_t>(elements[i]));
    CHECK(got.swizzle == static_cast<std::uint32_t>(swizzles[i]));
    CHECK(got.interleave == static_cast<std::uint32_t>(cuda::api::kInterleaveNone));
    CHECK(got.promotion == static_cast<std::uint32_t>(cuda::api::kPromotionL2Of256));
    const auto fill = maps[i].fill == TensorFill::zeros ? cuda::api::kFillZeros : cuda::api::kFillNan;
    CHECK(got.fill == static_cast<std::uint32_t>(fill));
    CHECK(got.dims == maps[i].dims);
    CHECK(got.strides == maps[i].strides);
    CHECK(got.box == maps[i].box);
    const std::vector<std::uint32_t> every(maps[i].dims.size(), 1);
    CHECK(got.element_strides == (maps[i].element_strides.empty() ? every : maps[i].element_strides));
    REQUIRE(got.im2col == maps[i].im2col.has_value());
    if (!got.im2col) continue;
    CHECK(Im2col{got.lower, got.upper, got.channels, got.pixels} == *maps[i].im2col);
  }
  no_complaints(driver);
}

TEST_CASE("workgroup memory that a kernel declares is not asked for again") {
  if (nvrtc_or_skip("workgroup memory that a kernel declares is not asked for again") == nullptr) return;
  FakeDriver driver;
  driver.set_function(1040, 1024);
  auto device = adopt_fake();
  Plan plan = add_plan(1024, 3);
  plan.steps[0].kernel.stem = "share_words";
  // 48 KiB may be declared; what is beyond is asked for at launch, less what is declared.
  const std::array<std::pair<std::uint32_t, std::uint32_t>, 3> rows = {{{49152, 0}, {49153, 48113}, {232448, 231408}}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    plan.steps[0].workgroup_memory_bytes = rows[i].first;
    const auto executable = must(device.prepare(plan));
    must(cuda::launch(kOwnStream, executable, kOperands));
    CHECK(driver.launch(i).dynamic_shared == rows[i].second);
    CHECK(driver.dynamic_shared_allowed() == (i == 0 ? 0u : 231408u));
  }
  no_complaints(driver);
}

TEST_CASE("a workgroup has at most as many invocations as the kernel's registers leave") {
  if (nvrtc_or_skip("a workgroup has at most as many invocations") == nullptr) return;
  FakeDriver driver;
  driver.set_function(0, 128);
  auto device = adopt_fake();
  Plan plan = add_plan(1024, 3);
  CHECK(device.prepare(plan).has_value());
  driver.set_function(0, 127);
  auto other = adopt_fake();
  const auto refused = other.prepare(plan);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind == ErrorKind::limit_exceeded);
  CHECK(refused.error().what == "workgroup invocations");
}

TEST_CASE("each field of a copy is the caller's own") {
  if (nvrtc_or_skip("each field of a copy is the caller's own") == nullptr) return;
  const FakeDriver driver;
  auto runtime = must(cuda::Runtime::open("cuda:0"));
  const auto one = must(runtime.make_buffer(4096)), two = must(runtime.make_buffer(8192));
  REQUIRE(one.address() != two.address());
  std::array<std::byte, 96> bytes{};
  const auto host = reinterpret_cast<std::uintptr_t>(bytes.data());
  must(runtime.upload(one, 512, bytes));
  const FakeCopy up = driver.last_copy();
  CHECK(up.name == "cuMemcpyHtoDAsync_v2");
  CHECK(up.dst == one.address() + 512);
  CHECK(up.src == host);
  CHECK(up.bytes == 96);
  CHECK(up.stream != nullptr);
  must(runtime.download(two, 1024, bytes));
  const FakeCopy down = driver.last_copy();
  CHECK(down.name == "cuMemcpyDtoHAsync_v2");
  CHECK(down.dst == host);
  CHECK(down.src == two.address() + 1024);
  CHECK(down.bytes == 96);
  CHECK(down.stream == up.stream);
  must(runtime.fill(two, 256, 64, 0x12345678));
  const FakeCopy filled = driver.last_copy();
  CHECK(filled.name == "cuMemsetD32Async");
  CHECK(filled.dst == two.address() + 256);
  CHECK(filled.bytes == 16);
  CHECK(filled.word == 0x12345678);
  CHECK(filled.stream == up.stream);
  must(runtime.launch_copy(kOwnStream, one.address() + 32, two.address() + 64, 128));
  const FakeCopy across = driver.last_copy();
  CHECK(across.name == "cuMemcpyDtoDAsync_v2");
  CHECK(across.dst == one.address() + 32);
  CHECK(across.src == two.address() + 64);
  CHECK(across.bytes == 128);
  CHECK(across.stream == kOwnStream);
  // A range that ends with the buffer, and one that ends a byte after it.
  CHECK(runtime.upload(one, 4000, bytes).has_value());
  CHECK_FALSE(runtime.upload(one, 4001, bytes).has_value());
  CHECK(runtime.download(one, 4000, bytes).has_value());
  CHECK_FALSE(runtime.download(one, 4001, bytes).has_value());
  CHECK(runtime.fill(one, 4032, 64, 1).has_value());
  CHECK_FALSE(runtime.fill(one, 4036, 64, 1).has_value());
}
