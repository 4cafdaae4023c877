// The canary: what it finds on the devices that are here, and what a failure does.
#include "helpers.hpp"

#include "vulkan/canary.hpp"

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

}  // namespace

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
    CHECK((vulkan::canary_scratch_bytes(profile) == 0) == (count(result, Canary::passed) == 0));
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
    CHECK(count(must(vulkan::read_canary(later.run, run.scratch)), Canary::failed) == tests.tests.size());
    if (tests.tests.empty()) return;
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
      CHECK(file_in(options.canary_folder).empty() == (tests == 0));
      CHECK(first.validation_messages().empty());
      if (tests == 0) continue;
    }
    const std::string file = file_in(options.canary_folder);
    CHECK(file.find('-') != std::string::npos);
    const auto written = std::filesystem::last_write_time(file);
    const auto second = open(selector, options);
    CHECK(std::filesystem::last_write_time(file) == written);
    CHECK(second.profile().canary == Canary::passed);
    CHECK(second.canary_warning() == "");
    // Whoever asks for the profile alone is told as well.
    CHECK(must(vulkan::device_profile(selector, options.canary_folder)).canary == Canary::passed);
    CHECK(must(vulkan::device_profile(selector)).canary == Canary::untested);
    // Beside the pipeline cache where no other place is named.
    vulkan::RuntimeOptions beside;
    beside.pipeline_cache = temporary_folder() + "/pipelines";
    std::filesystem::remove(beside.pipeline_cache + ".canary");
    CHECK(open(selector, beside).profile().canary == Canary::passed);
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
