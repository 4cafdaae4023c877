// The small runtime: finding devices, memory, timing, and its own strictness.
#include "helpers.hpp"

#include "support/scope.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

using namespace sectile;
using namespace sectile::test;

namespace {

Error open_error(const std::string& selector) {
  const auto runtime = vulkan::Runtime::open(selector);
  REQUIRE_FALSE(runtime.has_value());
  return runtime.error();
}

}  // namespace

TEST_CASE("devices are listed and found again by index, UUID and name") {
  if (selectors().empty()) return;
  const auto devices = must(vulkan::list_devices());
  for (const auto& device : devices) {
    CAPTURE(device.name);
    CHECK(device.uuid.size() == 32);
    CHECK_FALSE(device.driver.empty());
    CHECK_FALSE(vulkan::name(device.kind).empty());
    if (!device.unusable.empty()) continue;
    const std::string index = "vulkan:" + std::to_string(device.index);
    CHECK(must(vulkan::Runtime::open(index)).entry().uuid == device.uuid);
    CHECK(must(vulkan::device_profile(device.uuid)).name == device.name);
    std::string dashed = device.uuid;
    dashed.insert(8, "-");
    CHECK(must(vulkan::device_profile(dashed)).uuid == device.uuid);
    std::string upper = device.name;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    CHECK(must(vulkan::device_profile(upper)).uuid == device.uuid);
  }
  CHECK(must(vulkan::Runtime::open()).entry().unusable.empty());
}

TEST_CASE("a selector that means no device, or several, is an error that lists them") {
  if (selectors().empty()) return;
  CHECK(open_error("no such device").kind == ErrorKind::missing);
  CHECK(open_error("no such device").limit.find("vulkan:0") != std::string::npos);
  CHECK(open_error("vulkan:99").kind == ErrorKind::missing);
  CHECK(open_error("vulkan:99999999999999999999999").kind == ErrorKind::missing);
  CHECK(open_error("vulkan:").kind == ErrorKind::parse);
  CHECK(open_error("vulkan:x").kind == ErrorKind::parse);
  CHECK(open_error("vulkan:1x").kind == ErrorKind::parse);
  CHECK(open_error("vulkan:-1").kind == ErrorKind::parse);
  if (must(vulkan::list_devices()).size() < 2) return;
  const Error several = open_error("i");  // llvmpipe, SwiftShader, NVIDIA
  CHECK(several.value.find("more than one") != std::string::npos);
}

TEST_CASE("no driver at all is one clear error") {
  if (selectors().empty()) return;
  const char* const before = std::getenv("VK_DRIVER_FILES");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("VK_DRIVER_FILES", "/nonexistent/icd.json", 1);
  const auto devices = vulkan::list_devices();
  const auto runtime = vulkan::Runtime::open();
  if (before != nullptr)
    ::setenv("VK_DRIVER_FILES", kept.c_str(), 1);
  else
    ::unsetenv("VK_DRIVER_FILES");
  REQUIRE_FALSE(devices.has_value());
  CHECK(devices.error().kind == ErrorKind::missing);
  CHECK(devices.error().what == "Vulkan device");
  REQUIRE_FALSE(runtime.has_value());
  CHECK(runtime.error().what == "Vulkan device");
}

TEST_CASE("child: no loader") {
  if (std::getenv("SECTILE_TEST_CHILD") == nullptr) return;
  // For a while no file can be opened, libvulkan.so.1 neither. (In a process of its own: elsewhere it is loaded
  // already.)
  rlimit files{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
  const rlimit none{3, files.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto devices = vulkan::list_devices();
  const auto runtime = vulkan::Runtime::open();
  const auto profile = vulkan::device_profile("vulkan:0");
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &files) == 0);
  REQUIRE_FALSE(devices.has_value());
  CHECK(devices.error().kind == ErrorKind::missing);
  CHECK(devices.error().what == "Vulkan loader");
  REQUIRE_FALSE(runtime.has_value());
  CHECK(runtime.error().what == "Vulkan loader");
  REQUIRE_FALSE(profile.has_value());
  CHECK(profile.error().what == "Vulkan loader");
}

TEST_CASE("no loader at all is one clear error") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  CHECK(std::system(("SECTILE_TEST_CHILD=1 '" + self + "' -tc='child: no loader' >/dev/null").c_str()) == 0);
}

// Under a limit lavapipe reports success and gives an address that mmap returned for an error.
TEST_CASE("memory that the process may not have is an error") {
  if (kSanitized) return;  // a sanitizer's own maps are beyond any limit
  on_every_device([](vulkan::Runtime& runtime) {
    if (runtime.profile().kind != DeviceKind::cpu) return;
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
    rlimit tight = before;
    tight.rlim_cur = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + (64u << 20);
    for (const auto place : {vulkan::MemoryPlace::device, vulkan::MemoryPlace::host}) {
      REQUIRE(::setrlimit(RLIMIT_AS, &tight) == 0);
      const auto refused = runtime.make_buffer(512u << 20, place);
      REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
      REQUIRE_FALSE(refused.has_value());
      CHECK(refused.error().kind == ErrorKind::device);
      CHECK(refused.error().message().find("536870912 bytes") != std::string::npos);
      CHECK(runtime.make_buffer(1u << 20, place).has_value());
    }
  });
}

TEST_CASE("buffers go up and down whole, in pieces and at odd offsets") {
  on_every_device([](vulkan::Runtime& runtime) {
    for (const auto place : {vulkan::MemoryPlace::device, vulkan::MemoryPlace::host}) {
      for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{1000}, (std::uint64_t{64} << 20) + 12345}) {
        CAPTURE(bytes);
        const auto buffer = must(runtime.make_buffer(bytes, place));
        CHECK(buffer.size() == bytes);
        CHECK(buffer.address() % 256 == 0);
        CHECK((buffer.mapped() != nullptr) == (place == vulkan::MemoryPlace::host));
        const auto data = pattern(bytes);
        must(runtime.upload(buffer, 0, data));
        CHECK(same(read_back(runtime, buffer), data));
      }
    }
    const auto buffer = must(runtime.make_buffer(1000));
    must(runtime.fill(buffer, 0, 1000, 0x01020304));
    const auto piece = pattern(13);
    must(runtime.upload(buffer, 501, piece));
    std::vector<std::byte> got(15);
    must(runtime.download(buffer, 500, got));
    CHECK(got.front() == std::byte{4});
    CHECK(std::memcmp(got.data() + 1, piece.data(), piece.size()) == 0);
    CHECK(got.back() == std::byte{2});  // byte 514, the third of its word
  });
}

TEST_CASE("ranges outside a buffer are refused, and empty ones are fine") {
  on_every_device([](vulkan::Runtime& runtime) {
    const auto buffer = must(runtime.make_buffer(64));
    std::vector<std::byte> bytes(65);
    CHECK(runtime.upload(buffer, 0, bytes).error().kind == ErrorKind::too_small);
    CHECK(runtime.download(buffer, ~std::uint64_t{0}, bytes).error().kind == ErrorKind::too_small);
    CHECK(runtime.fill(buffer, 2, 4, 0).error().kind == ErrorKind::misaligned);
    CHECK(runtime.fill(buffer, 0, 68, 0).error().kind == ErrorKind::too_small);
    CHECK(runtime.upload(vulkan::Buffer(), 0, {}).error().kind == ErrorKind::missing);
    must(runtime.upload(buffer, 64, {}));
    must(runtime.fill(buffer, 64, 0, 0));
    const auto empty = must(runtime.make_buffer(0));
    CHECK(empty.size() == 0);
    CHECK(empty.address() != 0);
    must(runtime.upload(empty, 0, {}));
  });
}

TEST_CASE("more memory than there is, is an error and no crash") {
  on_every_device([](vulkan::Runtime& runtime) {
    const auto beyond = runtime.make_buffer(~std::uint64_t{0});
    REQUIRE_FALSE(beyond.has_value());
    CHECK(beyond.error().kind == ErrorKind::limit_exceeded);
    // One allocation over the limit on a device without sparse binding is refused by name.
    vulkan::RuntimeOptions options;
    options.largest_allocation = 1 << 20;
    auto small = open("vulkan:" + std::to_string(runtime.entry().index), options);
    const auto host = small.make_buffer(2 << 20, vulkan::MemoryPlace::host);
    REQUIRE_FALSE(host.has_value());
    CHECK(host.error().kind == ErrorKind::device);
    CHECK(host.error().limit.find("no sparse binding") != std::string::npos);
  });
}

TEST_CASE("a buffer over the largest allocation is bound in pieces where the device can") {
  vulkan::RuntimeOptions options;
  options.largest_allocation = 1 << 20;
  on_every_device(options, [](vulkan::Runtime& runtime) {
    const auto src = pattern((3 << 20) + 4096);
    const auto buffer = runtime.make_buffer(src.size());
    if (!buffer) {
      CHECK(buffer.error().kind == ErrorKind::device);
      return;
    }
    CHECK(buffer->sparse());
    CHECK(buffer->address() % 256 == 0);
    must(runtime.upload(*buffer, 0, src));
    CHECK(same(read_back(runtime, *buffer), src));
    // A kernel sees one range of addresses, across the pieces.
    const auto dst = must(runtime.make_buffer(src.size()));
    const auto executable = must(runtime.device().prepare(copy_plan(src.size())));
    const std::vector<vulkan::OperandAddress> operands = {{buffer->address(), src.size()}, {dst.address(), src.size()}};
    must(runtime.submit_and_wait(
        [&](VkCommandBuffer commands) { return vulkan::record(commands, executable, operands); }));
    CHECK(same(read_back(runtime, dst), src));
  });
}

TEST_CASE("the caller's pages can be a buffer, up to their last byte") {
  on_every_device([](vulkan::Runtime& runtime) {
    const std::uint64_t align = runtime.import_alignment();
    if (align == 0) {
      std::byte page{};
      CHECK(runtime.import_pages(&page, 4096).error().kind == ErrorKind::unsupported);
      return;
    }
    const std::uint64_t bytes = 4 * align;
    void* const pages = ::mmap(nullptr, bytes + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    // The page behind must not be touched.
    REQUIRE(::mprotect(static_cast<std::byte*>(pages) + bytes, align, PROT_NONE) == 0);
    const auto src = pattern(bytes);
    std::memcpy(pages, src.data(), bytes);
    {
      const auto imported = must(runtime.import_pages(pages, bytes));
      CHECK(imported.mapped() == pages);
      const auto dst = must(runtime.make_buffer(1000));
      const auto executable = must(runtime.device().prepare(copy_plan(1000)));
      const std::uint64_t at = (bytes - 1000) / 16 * 16;
      const std::vector<vulkan::OperandAddress> operands = {{imported.address() + at, 1000}, {dst.address(), 1000}};
      must(runtime.submit_and_wait(
          [&](VkCommandBuffer commands) { return vulkan::record(commands, executable, operands); }));
      const auto got = read_back(runtime, dst);
      CHECK(std::memcmp(got.data(), src.data() + at, 1000) == 0);
      CHECK(runtime.import_pages(static_cast<std::byte*>(pages) + 16, align).error().kind == ErrorKind::misaligned);
      CHECK(runtime.import_pages(pages, align + 1).error().kind == ErrorKind::misaligned);
      CHECK(runtime.import_pages(pages, 0).error().kind == ErrorKind::misaligned);
    }
    ::munmap(pages, bytes + align);
  });
}

TEST_CASE("timing gives every candidate its samples") {
  on_every_device([](vulkan::Runtime& runtime) {
    const auto a = must(runtime.make_buffer(1 << 20)), b = must(runtime.make_buffer(1 << 20));
    must(runtime.fill(a, 0, a.size(), 7));
    int small = 0, large = 0;
    const std::vector<vulkan::RecordFunction> candidates = {[&](VkCommandBuffer commands) -> Result<void> {
                                                              ++small;
                                                              runtime.record_copy(commands, b, 0, a, 0, 256);
                                                              return {};
                                                            },
                                                            [&](VkCommandBuffer commands) -> Result<void> {
                                                              ++large;
                                                              runtime.record_copy(commands, b, 0, a, 0, a.size());
                                                              return {};
                                                            }};
    vulkan::TimingOptions options;
    options.repeats = 5;
    options.inner = 3;
    const auto timings = must(runtime.time(candidates, options));
    REQUIRE(timings.size() == 2);
    CHECK(small == 15);
    CHECK(large == 15);
    for (const auto& timing : timings) {
      CHECK(timing.wall_ns.size() == 5);
      CHECK((timing.gpu_ns.empty() || timing.gpu_ns.size() == 5));
      for (const double ns : timing.best_clock()) CHECK(ns >= 0);
    }
    CHECK(std::accumulate(timings[1].wall_ns.begin(), timings[1].wall_ns.end(), 0.0) > 0);
    options.warmup_seconds = 0.02;
    CHECK(must(runtime.time(candidates[1], options)).wall_ns.size() == 5);
    CHECK(large > 30);
  });
}

TEST_CASE("an error while recording is passed on, and the next submission works") {
  on_every_device([](vulkan::Runtime& runtime) {
    const auto failed = runtime.submit_and_wait(
        [](VkCommandBuffer) -> Result<void> { return fail(ErrorKind::missing, "nothing", "at all"); });
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().what == "nothing");
    const auto buffer = must(runtime.make_buffer(64));
    must(runtime.fill(buffer, 0, 64, 0x55555555));
    CHECK(read_back(runtime, buffer).front() == std::byte{0x55});
  });
}

TEST_CASE("the validation layer is listened to") {
  for (const std::string& selector : selectors()) {
    auto runtime = open(selector);
    const auto a = must(runtime.make_buffer(64)), b = must(runtime.make_buffer(64));
    // Over the end of both: the layer alone can tell, as a copy of this length is never submitted.
    must(runtime.submit_and_wait([&](VkCommandBuffer commands) -> Result<void> {
      const std::size_t before = runtime.validation_messages().size();
      runtime.record_copy(commands, b, 0, a, 48, 16);
      CHECK(runtime.validation_messages().size() == before);
      return {};
    }));
    const auto refused = runtime.submit_and_wait([&](VkCommandBuffer commands) -> Result<void> {
      runtime.record_copy(commands, b, 0, a, 48, 4096);
      return fail(ErrorKind::missing, "submission", "not wanted");
    });
    CHECK_FALSE(refused.has_value());
    auto plain = vulkan::Runtime::open(selector);
    if (vulkan::Runtime::open(selector, {.validation = true}))
      CHECK_FALSE(runtime.validation_messages().empty());
    else
      MESSAGE("skipped: no validation layer");
    CHECK(must(std::move(plain)).validation_messages().empty());
  }
}
