#include "helpers.hpp"
#include "support/folder.hpp"
#include "support/scope.hpp"

#include "permute/permute_copy.abi.h"

#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace sectile::test {
namespace {

bool required(std::string_view what) {
  const char* value = std::getenv("SECTILE_REQUIRE");
  return value != nullptr && std::string_view(value).find(what) != std::string_view::npos;
}

Step copy_step(std::uint64_t bytes, std::uint32_t unroll, std::uint32_t from, std::uint32_t to) {
  constexpr std::uint32_t kWorkgroup = 64, kWidth = 16;
  const std::uint64_t part = std::uint64_t{kWorkgroup} * kWidth * unroll;
  const auto groups = static_cast<std::uint32_t>((bytes + part - 1) / part);
  // PERMUTE_COPY_WORDS
  const PermuteCopyPush push{
      .src = {},
      .dst = {},
      .words = {static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(bytes >> 32), groups}};
  Step step;
  step.kernel = {"permute_copy", "e4"};
  step.constants = {
      {SECTILE_SPEC_WORKGROUP, kWorkgroup}, {PERMUTE_COPY_SPEC_WIDTH, kWidth}, {PERMUTE_COPY_SPEC_UNROLL, unroll}};
  step.workgroup = {kWorkgroup, 1, 1};
  step.grid = {groups, 1, 1};
  step.push.resize(sizeof(push));
  std::memcpy(step.push.data(), &push, sizeof(push));
  step.addresses = {{offsetof(PermuteCopyPush, src), from, 0}, {offsetof(PermuteCopyPush, dst), to, 0}};
  step.accesses = {{from, 0, bytes, false}, {to, 0, bytes, true}};
  return step;
}

}  // namespace

std::vector<std::string> selectors() {
  const auto devices = vulkan::list_devices();
  std::vector<std::string> out;
  if (devices) {
    for (const auto& device : *devices)
      if (device.unusable.empty()) out.push_back("vulkan:" + std::to_string(device.index));
  }
  if (out.empty()) {
    const std::string why = devices ? "no usable device" : devices.error().message();
    if (required("vulkan")) FAIL("SECTILE_REQUIRE=vulkan: " << why);
    MESSAGE("skipped: " << why);
  }
  return out;
}

vulkan::Adoption adoption_of(const vulkan::Runtime& runtime) {
  vulkan::Adoption out;
  out.get_instance_proc_addr = runtime.get_instance_proc_addr();
  out.instance = runtime.instance();
  out.physical_device = runtime.physical_device();
  out.device = runtime.vk_device();
  out.queue_family = runtime.queue_family();
  out.everything_wanted = true;
  return out;
}

vulkan::Runtime open(const std::string& selector, vulkan::RuntimeOptions options) {
  options.validation = true;
  auto runtime = vulkan::Runtime::open(selector, options);
  if (!runtime && runtime.error().kind == ErrorKind::missing && runtime.error().what == "validation layer") {
    if (required("validation")) FAIL("SECTILE_REQUIRE=validation: " << runtime.error().message());
    options.validation = false;
    runtime = vulkan::Runtime::open(selector, options);
  }
  return must(std::move(runtime));
}

namespace {

void on_each(const std::vector<std::string>& chosen, const vulkan::RuntimeOptions& options,
             const std::function<void(vulkan::Runtime&)>& test) {
  for (const std::string& selector : chosen) {
    auto runtime = open(selector, options);
    CAPTURE(runtime.entry().name);
    test(runtime);
    for (const std::string& message : runtime.validation_messages()) FAIL_CHECK(message);
  }
}

}  // namespace

void on_every_device(const vulkan::RuntimeOptions& options, const std::function<void(vulkan::Runtime&)>& test) {
  on_each(selectors(), options, test);
}

void on_every_device(const std::function<void(vulkan::Runtime&)>& test) { on_every_device({}, test); }

std::vector<std::string> compiling_selectors() {
  auto all = selectors();
  if (!kSanitized || thorough()) return all;
  for (const auto& device : must(vulkan::list_devices()))
    if (device.unusable.empty() && device.name.starts_with("llvmpipe"))
      return {"vulkan:" + std::to_string(device.index)};
  return all;
}

void on_every_compiler(const std::function<void(vulkan::Runtime&)>& test) { on_each(compiling_selectors(), {}, test); }

Plan copy_plan(std::uint64_t bytes, std::uint32_t unroll) {
  Plan plan;
  plan.id = "copy" + std::to_string(bytes);
  plan.operands = {{"src", OperandRole::source, bytes, 16}, {"dst", OperandRole::destination, bytes, 16}};
  plan.steps = {copy_step(bytes, unroll, 0, 1)};
  return plan;
}

Plan two_step_plan(std::uint64_t bytes) {
  Plan plan = copy_plan(bytes);
  plan.operands.push_back({"scratch", OperandRole::scratch, bytes, 16});
  plan.steps = {copy_step(bytes, 4, 0, 2), copy_step(bytes, 4, 2, 1)};
  plan.steps[1].barrier_before = true;
  return plan;
}

Plan bare_plan(const std::string& stem, const std::string& variant) {
  Plan plan;
  plan.steps.resize(1);
  plan.steps[0].kernel = {stem, variant};
  plan.steps[0].constants = {{SECTILE_SPEC_WORKGROUP, 1}};
  return plan;
}

std::vector<std::byte> pattern(std::uint64_t bytes, std::uint32_t seed) {
  std::vector<std::byte> out(bytes);
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::byte& byte : out) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return out;
}

std::vector<vulkan::OperandAddress> Pair::operands() const {
  return {{src.address(), src.size()}, {dst.address(), dst.size()}};
}

Pair make_pair(vulkan::Runtime& runtime, const std::vector<std::byte>& src) {
  Pair out{must(runtime.make_buffer(src.size())), must(runtime.make_buffer(src.size()))};
  must(runtime.upload(out.src, 0, src));
  must(runtime.fill(out.dst, 0, src.size() / 4 * 4, 0xCDCDCDCD));
  return out;
}

std::vector<std::byte> read_back(vulkan::Runtime& runtime, const vulkan::Buffer& buffer) {
  std::vector<std::byte> out(buffer.size());
  must(runtime.download(buffer, 0, out));
  return out;
}

bool same(const std::vector<std::byte>& got, const std::vector<std::byte>& want) {
  if (got == want) return true;
  const auto at = std::ranges::mismatch(got, want).in1 - got.begin();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) wrong += got[i] != want[i];
  MESSAGE("bytes part at " << at << " of " << want.size() << " (got " << got.size() << "), " << wrong << " wrong");
  return false;
}

std::string temporary_folder() { return process_folder(); }

}  // namespace sectile::test
