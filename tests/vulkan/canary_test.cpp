// The canary: what it finds on the devices that are here, and what a failure does.
#include "helpers.hpp"

#include "vulkan/canary.hpp"

#include <sectile/planner.hpp>
#include <sectile/shaders.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace sectile;
using namespace sectile::test;

namespace {

// A folder that is not there yet.
std::string folder_for(const char* name) {
  const std::string path = temporary_folder() + "/" + name + "/inside";
  std::filesystem::remove_all(path);
  return path;
}

// The one file in it; empty where there is none.
std::string file_in(const std::string& folder) {
  if (!std::filesystem::exists(folder)) return {};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) return entry.path().string();
  return {};
}

vulkan::RuntimeOptions untested() {
  vulkan::RuntimeOptions options;
  options.canary = false;
  return options;
}

// Recorded, submitted and read as an app would.
struct Run {
  vulkan::CanaryRun run;
  std::vector<std::byte> scratch;
};
Run run_canary(vulkan::Runtime& runtime) {
  const std::uint64_t bytes = vulkan::canary_scratch_bytes(runtime.profile());
  const auto scratch = must(runtime.make_buffer(std::max<std::uint64_t>(bytes, 4)));
  must(runtime.fill(scratch, 0, scratch.size() / 4 * 4, 0xCDCDCDCD));
  Run out;
  must(runtime.submit_and_wait([&](VkCommandBuffer commands) -> Result<void> {
    auto run = vulkan::record_canary(runtime.device(), commands, scratch.address());
    if (!run) return std::unexpected(run.error());
    out.run = std::move(*run);
    return {};
  }));
  out.scratch = read_back(runtime, scratch);
  return out;
}

std::size_t count(const CanaryResult& result, Canary verdict) {
  return static_cast<std::size_t>(std::ranges::count(result.rows, verdict, &CanaryRow::verdict));
}

std::size_t passed_kinds(const CanaryResult& result) {
  return static_cast<std::size_t>(std::ranges::count(result.kinds, Canary::passed, &CanaryKind::verdict));
}

// The first fault of a kind's test on the device as it is, without what its quirks say; empty where it passes.
std::string fault_of(vulkan::Runtime& runtime, std::string_view kind) {
  DeviceProfile profile = runtime.profile();
  profile.f16_conversion.reset();
  std::vector<CanaryKind> untested;
  for (const auto& test : vulkan::numbers_tests(profile, 0, untested)) {
    if (test.kind != kind) continue;
    const auto scratch = must(runtime.make_buffer(test.end));
    must(runtime.fill(scratch, 0, test.end, 0xCDCDCDCD));
    const auto ready = must(runtime.device().prepare(vulkan::numbers_plan(test, test.end, 5)));
    const vulkan::OperandAddress operands[] = {{scratch.address(), test.end}};
    must(runtime.submit_and_wait([&](VkCommandBuffer commands) { return vulkan::record(commands, ready, operands); }));
    return vulkan::numbers_fault(test, 5, read_back(runtime, scratch));
  }
  return "not tested";
}

}  // namespace

TEST_CASE("the canary sees SwiftShader's conversion to f16, and that lavapipe's is right") {
  on_every_device(untested(), [](vulkan::Runtime& runtime) {
    const std::string fault = fault_of(runtime, "f16 conversion");
    const bool faulty = runtime.profile().vendor == "google";
    CHECK_MESSAGE((faulty ? fault.find(", not 0x") != std::string::npos : fault.empty()), fault);
    CHECK((runtime.profile().f16_conversion == false) == faulty);
    CHECK(fault_of(runtime, "NaN selection") == "");
    CHECK(fault_of(runtime, "dot products") == "");
  });
}

TEST_CASE("a result of numbers that is wrong in one bit fails its kind, and the field is false") {
  on_every_device(untested(), [](vulkan::Runtime& runtime) {
    const auto tests = vulkan::canary_tests(runtime.profile());
    const Run run = run_canary(runtime);
    for (const auto& test : tests.numbers) {
      CAPTURE(test.kind);
      // The last finite float of the table, and any dot product.
      const std::uint32_t input = test.kind == "dot products" ? test.inputs - 1 : 144 * 79 - 1;
      auto scratch = run.scratch;
      scratch[test.begin + 8 * input + 1] ^= std::byte{0x40};
      const auto result = must(vulkan::read_canary(run.run, scratch));
      for (const CanaryKind& kind : result.kinds)
        CHECK_MESSAGE((kind.verdict == Canary::failed) == (kind.kind == test.kind), print(kind));
      CHECK(with_canary(runtime.profile(), result) != runtime.profile());
    }
  });
}

TEST_CASE("only what a plan rests on is tested, when it is asked for, and once") {
  for (const std::string& selector : selectors()) {
    vulkan::RuntimeOptions options;
    options.canary_at_open = false;
    options.canary_folder = folder_for("canary-when-wanted");
    {
      auto runtime = open(selector, options);
      CHECK(runtime.canary() == CanaryResult{});
      const auto plan = [&](const char* problem) {
        return must(make_plan(must(parse_problem(problem)), runtime.profile()));
      };
      CHECK(!runtime.wants_test(plan("permute f32 8x9 axes=1,0")));
      CHECK(!must(runtime.test_for(plan("permute f32 8x9 axes=1,0"))));
      CHECK(runtime.canary() == CanaryResult{});
      CHECK(runtime.wants_test(plan("permute f32 8x9 axes=1,0 out=bf16")));
      CHECK(!must(runtime.test_for(plan("permute f32 8x9 axes=1,0 out=bf16"))));  // nothing has failed
      CHECK(!runtime.wants_test(plan("conv2d f32 nchw 1x8x5x5 k=8 r=1x1")));
      CHECK(runtime.canary().rows.empty());
      CHECK(passed_kinds(runtime.canary()) >= 2);
      CHECK(runtime.validation_messages().empty());
    }
    auto runtime = open(selector, options);
    CHECK(passed_kinds(runtime.canary()) >= 2);
    CHECK(!runtime.wants_test(must(make_plan(must(parse_problem("permute f32 8 axes=0 out=f16")), runtime.profile()))));
  }
}

TEST_CASE("products and convolutions ask for the test of numbers before it has run") {
  for (const std::string& selector : selectors()) {
    vulkan::RuntimeOptions options;
    options.canary_at_open = false;
    options.canary_folder = folder_for("canary-of-products");
    const auto runtime = open(selector, options);
    CAPTURE(runtime.entry().name);
    for (const char* text : {"matmul i8 nn 8x8x8", "conv2d f32 nchw 1x8x5x5 k=8 r=1x1"}) {
      CAPTURE(std::string(text));
      const Plan plan = must(make_plan(must(parse_problem(text)), runtime.profile()));
      CHECK(vulkan::canary_scope(plan).numbers);
      CHECK(runtime.wants_test(plan));
    }
    CHECK(runtime.canary() == CanaryResult{});
  }
}

TEST_CASE("a plan of a matrix kernel rests on matrices, and another on numbers alone") {
  const DeviceProfile lavapipe = must(builtin_target("lavapipe"));
  const Problem problem = must(parse_problem("matmul f16 nn 32x32x32"));
  const auto scope = [&](const char* stem) {
    return vulkan::canary_scope(must(make_plan(problem, lavapipe, {.force = stem})));
  };
  CHECK(scope("matmul_coopmat") == vulkan::CanaryScope{true, true});
  CHECK(scope("matmul_simt") == vulkan::CanaryScope{false, true});
}

TEST_CASE("every matrix shape that a kernel could use passes its canary") {
  on_every_device(untested(), [](vulkan::Runtime& runtime) {
    const DeviceProfile& profile = runtime.profile();
    CHECK(profile.canary == Canary::untested);
    CHECK(runtime.canary().rows.empty());
    const Run run = run_canary(runtime);
    const CanaryResult result = must(vulkan::read_canary(run.run, run.scratch));
    for (const CanaryRow& row : result.rows) CHECK_MESSAGE(row.verdict != Canary::failed, print(row));
    CHECK(result.rows.size() == profile.matrix_shapes.size());
    CHECK(count(result, Canary::passed) == vulkan::canary_tests(profile).tests.size());
    CHECK(vulkan::canary_scratch_bytes(profile) > 0);
    CHECK(result.kinds.size() == 4);
    for (const CanaryKind& kind : result.kinds) CHECK_MESSAGE(kind.verdict != Canary::failed, print(kind));
    CHECK(passed_kinds(result) == vulkan::canary_tests(profile).numbers.size());
    CHECK(passed_kinds(result) >= 2);
    if (profile.driver.find("llvmpipe") != std::string::npos) CHECK(count(result, Canary::passed) >= 4);
    CHECK(must(canary_from_json(to_json(result))) == result);
    const DeviceProfile tested = with_canary(profile, result);
    CHECK(tested.matrix_shapes == profile.matrix_shapes);
    CHECK((tested.canary == Canary::passed) == !vulkan::canary_tests(profile).tests.empty());
    CHECK(must(profile_from_json(to_json(tested))) == tested);
  });
}

TEST_CASE("the canary sees one wrong element, and another run's products") {
  on_every_device(untested(), [](vulkan::Runtime& runtime) {
    const auto tests = vulkan::canary_tests(runtime.profile());
    Run run = run_canary(runtime);
    for (const auto& test : tests.tests) {
      // A whole number that is a little off, in the last element of the last way.
      const std::uint64_t at = test.d + 3 * test.d_bytes;
      auto scratch = run.scratch;
      scratch[at] ^= std::byte{0x10};
      const auto result = must(vulkan::read_canary(run.run, scratch));
      CHECK(count(result, Canary::failed) == 1);
      for (const CanaryRow& row : result.rows) {
        if (row.verdict != Canary::failed) continue;
        CHECK(row.shape == test.shape);
        CHECK_MESSAGE(row.detail.starts_with("D[0][0] is "), row.detail);
      }
    }
    const Run later = run_canary(runtime);
    const auto stale = must(vulkan::read_canary(later.run, run.scratch));
    CHECK(count(stale, Canary::failed) == tests.tests.size());
    for (const CanaryKind& kind : stale.kinds) CHECK_MESSAGE(kind.verdict != Canary::passed, print(kind));
    CHECK(vulkan::read_canary(run.run, std::span(run.scratch).first(run.scratch.size() - 1)).error().kind ==
          ErrorKind::too_small);
    const auto recorded = [&](VkDeviceAddress address) {
      return runtime.submit_and_wait([&](VkCommandBuffer commands) -> Result<void> {
        const auto made = vulkan::record_canary(runtime.device(), commands, address);
        return made ? Result<void>() : std::unexpected(made.error());
      });
    };
    CHECK(recorded(0).error().kind == ErrorKind::missing);
    CHECK(recorded(0x10004).error().kind == ErrorKind::misaligned);
  });
}

TEST_CASE("the runtime runs the canary by itself, once a driver version") {
  for (const std::string& selector : selectors()) {
    vulkan::RuntimeOptions options;
    options.canary_folder = folder_for("canary");
    {
      auto first = open(selector, options);
      const std::size_t tests = vulkan::canary_tests(first.device().profile()).tests.size();
      CHECK(first.canary_warning() == "");
      CHECK((first.profile().canary == Canary::passed) == (tests > 0));
      CHECK(first.device().pipeline_counts().created == 0);  // the canary's are not the app's
      CHECK(!file_in(options.canary_folder).empty());
      CHECK(first.validation_messages().empty());
    }
    const std::string file = file_in(options.canary_folder);
    CHECK(file.find('-') != std::string::npos);
    const auto written = std::filesystem::last_write_time(file);
    const auto second = open(selector, options);
    CHECK(std::filesystem::last_write_time(file) == written);
    CHECK(passed_kinds(second.canary()) >= 2);
    CHECK(second.canary_warning() == "");
    const bool matrices = !vulkan::canary_tests(open(selector, options).device().profile()).tests.empty();
    CHECK((second.profile().canary == Canary::passed) == matrices);
    // Whoever asks for the profile alone is told as well.
    CHECK((must(vulkan::device_profile(selector, options.canary_folder)).canary == Canary::passed) == matrices);
    CHECK(must(vulkan::device_profile(selector)).canary == Canary::untested);
    // Beside the pipeline cache where no other place is named.
    vulkan::RuntimeOptions beside;
    beside.pipeline_cache = temporary_folder() + "/pipelines";
    std::filesystem::remove(beside.pipeline_cache + ".canary");
    CHECK(passed_kinds(open(selector, beside).canary()) >= 2);
    CHECK(std::filesystem::exists(beside.pipeline_cache + ".canary"));
  }
}

TEST_CASE("a canary's file that is truncated, garbled or another's is ignored with a warning, and made anew") {
  for (const std::string& selector : selectors()) {
    vulkan::RuntimeOptions options;
    options.canary_folder = folder_for("garbled-canary");
    if (open(selector, options).profile().canary == Canary::untested) continue;  // no matrices here
    const std::string path = file_in(options.canary_folder);
    std::ifstream in(path, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    REQUIRE(whole.size() > 60);
    const auto with = [&](const std::string& bytes) {
      std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
      auto runtime = open(selector, options);
      CHECK(runtime.profile().canary == Canary::passed);
      return std::string(runtime.canary_warning());
    };
    CHECK(with(whole) == "");
    CHECK(with(whole.substr(0, whole.size() / 2)).find("truncated") != std::string::npos);
    CHECK(with("").find("truncated") != std::string::npos);
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{16}, std::size_t{20}, std::size_t{24}, std::size_t{40}, whole.size() - 3}) {
      std::string garbled = whole;
      garbled[at] = static_cast<char>(garbled[at] ^ 0x41);
      CAPTURE(at);
      CHECK(with(garbled) != "");
      CHECK(with(whole) == "");
    }
    options.canary_folder = path + "/no-folder";  // a file is none
    auto runtime = open(selector, options);
    CHECK(runtime.profile().canary == Canary::passed);
    CHECK(runtime.canary_warning().find("no-folder") != std::string::npos);
  }
}

TEST_CASE("a failed canary drops its shapes, and says so") {
  for (const std::string& selector : selectors()) {
    // The injected fault: what is to multiply to f32 multiplies to f16.
    const EmbeddedModule* wrong = find_module("canary_coopmat", "f16_f16");
    REQUIRE(wrong != nullptr);
    const auto words = must(wrong->words());
    const vulkan::Module modules[] = {{"canary_coopmat", "f16_f32", words}};
    vulkan::RuntimeOptions options;
    options.modules = modules;
    options.canary_folder = folder_for("failed-canary");
    for (const char* const start : {"first", "second"}) {
      CAPTURE(start);
      auto runtime = open(selector, options);
      const DeviceProfile offered = runtime.device().profile(), profile = runtime.profile();
      std::size_t dropped = 0;
      for (const MatrixShape& shape : offered.matrix_shapes) {
        const bool fails = shape.a == "f16" && shape.b == "f16" && shape.c == "f32" && shape.scope == "subgroup";
        CAPTURE(print(shape));
        dropped += fails;
        CHECK(fails == (std::ranges::find(profile.matrix_shapes, shape) == profile.matrix_shapes.end()));
        CHECK(fails == (std::ranges::find(profile.canary_failed, shape) != profile.canary_failed.end()));
        CHECK(fails == matrix_objection(profile, shape).starts_with("the canary failed"));
      }
      CHECK(profile.canary_failed.size() == dropped);
      CHECK((profile.canary == Canary::failed) == (dropped > 0));
      CHECK(count(runtime.canary(), Canary::failed) == dropped);
      for (const CanaryRow& row : runtime.canary().rows)
        if (row.verdict == Canary::failed) CHECK_MESSAGE(row.detail.find(" is ") != std::string::npos, print(row));
      CHECK(must(profile_from_json(to_json(profile))) == profile);
      CHECK((to_json(profile) != to_json(offered)) == (dropped > 0));
    }
    // With the right kernels the outcome is another, and not the one that was kept.
    options.modules = {};
    const auto right = open(selector, options);
    CHECK(right.profile().canary_failed.empty());
    if (right.profile().canary == Canary::passed)
      CHECK(right.canary_warning().find("other kernels") != std::string::npos);
  }
}
