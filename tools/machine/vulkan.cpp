#include "vulkan.hpp"

#include "bench/bench.hpp"
#include "cli/files.hpp"
#include "cli/target.hpp"
#include "cli/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace sectile::tools {
namespace {

class VulkanMemory final : public Memory {
 public:
  explicit VulkanMemory(vulkan::Buffer buffer) : buffer_(std::move(buffer)) {}
  std::uint64_t address() const noexcept override { return buffer_.address(); }
  std::uint64_t size() const noexcept override { return buffer_.size(); }
  const vulkan::Buffer& buffer() const noexcept { return buffer_; }

 private:
  vulkan::Buffer buffer_;
};

class VulkanProgram final : public Program {
 public:
  explicit VulkanProgram(vulkan::Executable executable) : executable_(std::move(executable)) {}
  const vulkan::Executable& executable() const noexcept { return executable_; }

 private:
  vulkan::Executable executable_;
};

// Memory and programs of a machine are its own kind: it made them.
const vulkan::Buffer& vulkan_buffer_of(const Memory& memory) {
  return static_cast<const VulkanMemory&>(memory).buffer();
}

// Warnings and failures of the canary.
void tell_canary(const vulkan::Runtime& runtime) {
  if (!runtime.canary_warning().empty()) fmt::print(stderr, "sectile: warning: {}\n", runtime.canary_warning());
  const auto tell = [&](const auto& rows, const char* effect) {
    for (const auto& row : rows)
      if (row.verdict == Canary::failed)
        fmt::print(stderr, "sectile: {}: canary of {}; {}\n", runtime.entry().name, print(row), effect);
  };
  tell(runtime.canary().rows, "not used");
  tell(runtime.canary().kinds, "kernels do it by integers");
}

class VulkanMachine final : public Machine {
 public:
  VulkanMachine(vulkan::Runtime runtime, const PrepareOptions& how) : runtime_(std::move(runtime)), how_(how) {}

  const DeviceProfile& profile() const override { return runtime_.profile(); }
  std::string name() const override { return runtime_.entry().name; }
  std::string driver() const override { return runtime_.entry().driver; }
  std::string_view copy_name() const override { return "vkCmdCopyBuffer"; }

  Result<MemoryPtr> make_memory(std::uint64_t bytes) override { return wrap(runtime_.make_buffer(bytes)); }
  std::uint64_t import_alignment() const override { return runtime_.import_alignment(); }
  Result<MemoryPtr> import_pages(void* pages, std::uint64_t bytes) override {
    return wrap(runtime_.import_pages(pages, bytes));
  }
  Result<void> upload(const Memory& memory, std::uint64_t offset, std::span<const std::byte> bytes) override {
    return runtime_.upload(vulkan_buffer_of(memory), offset, bytes);
  }
  Result<void> download(const Memory& memory, std::uint64_t offset, std::span<std::byte> bytes) override {
    return runtime_.download(vulkan_buffer_of(memory), offset, bytes);
  }
  Result<void> fill(const Memory& memory, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word) override {
    return runtime_.fill(vulkan_buffer_of(memory), offset, bytes, word);
  }

  Result<bool> test_for(const Plan& plan) override {
    if (!runtime_.wants_test(plan)) return false;
    if (profile().kind == DeviceKind::cpu && vulkan::canary_scope(plan).matrices)
      fmt::print(stderr, "sectile: testing the matrix unit of {}, once for each version of the driver\n", name());
    auto changed = runtime_.test_for(plan);
    if (changed) tell_canary(runtime_);
    return changed;
  }

  Result<ProgramPtr> prepare(const Plan& plan) override {
    auto executable = runtime_.device().prepare(plan, how_);
    if (!executable) return std::unexpected(executable.error());
    return std::make_shared<const VulkanProgram>(std::move(*executable));
  }
  std::size_t kernel_count() const override { return const_cast<vulkan::Runtime&>(runtime_).device().pipeline_count(); }
  void trim() override { runtime_.device().trim(); }
  Result<std::vector<ProgramPtr>> prepare_all(std::span<const Plan> plans) override {
    auto executables = runtime_.device().prepare(plans, 0, how_);
    if (!executables) return std::unexpected(executables.error());
    std::vector<ProgramPtr> programs;
    for (auto& executable : *executables)
      programs.push_back(std::make_shared<const VulkanProgram>(std::move(executable)));
    return programs;
  }
  KernelCounts kernel_counts() const override {
    const auto counts = const_cast<vulkan::Runtime&>(runtime_).device().pipeline_counts();
    return {counts.created, counts.cache_hits, counts.last_hit_cache.has_value()};
  }
  std::string statistics(const Program& program) const override {
    const auto told = const_cast<vulkan::Runtime&>(runtime_).device().statistics(
        static_cast<const VulkanProgram&>(program).executable());
    std::string text;
    if (!told) return text;
    for (const auto& step : *told) {
      text += "    " + step.kernel.stem + "." + step.kernel.variant + " subgroup=" + std::to_string(step.subgroup_size);
      for (const auto& s : step.statistics) text += ", " + s.name + " " + s.value;
      text += "\n";
    }
    return text;
  }
  Result<void> save_cache() override { return runtime_.save_cache(); }

  Result<void> run(std::span<const Launch> launches, const Refused& refused) override {
    return runtime_.submit_and_wait([&](VkCommandBuffer commands) -> Result<void> {
      for (std::size_t i = 0; i < launches.size(); ++i)
        if (auto recorded = record(commands, launches[i]); !recorded) refused(i, recorded.error());
      return {};
    });
  }

  Result<std::vector<std::vector<double>>> time(std::span<const LaunchSource> candidates,
                                                const TimingWish& wish) override {
    std::vector<vulkan::RecordFunction> functions;
    for (const auto& candidate : candidates)
      functions.emplace_back([this, &candidate](VkCommandBuffer commands) { return record(commands, candidate()); });
    const auto timings = runtime_.time(functions, {.repeats = wish.repeats, .inner = wish.inner, .ready = wish.ready});
    if (!timings) return std::unexpected(timings.error());
    std::vector<std::vector<double>> seconds;
    for (const auto& timing : *timings) {
      seconds.push_back(timing.best_clock());
      for (double& value : seconds.back()) value *= 1e-9;
    }
    return seconds;
  }

  Result<HostCost> host_cost(const Launch& launch, unsigned times) override {
    HostCost cost;
    auto done = runtime_.submit_and_wait([&](VkCommandBuffer commands) -> Result<void> {
      const std::uint64_t before = allocation_count();
      const double started = now_seconds();
      for (unsigned i = 0; i < times; ++i)
        if (auto recorded = record(commands, launch); !recorded) return recorded;
      cost.seconds = (now_seconds() - started) / times;
      // The driver's own command memory is not on this count: it does not come from operator new.
      cost.allocations = allocation_count() - before;
      return {};
    });
    if (!done) return std::unexpected(done.error());
    return cost;
  }

  std::vector<std::string> validation_messages() const override { return runtime_.validation_messages(); }

 private:
  static Result<MemoryPtr> wrap(Result<vulkan::Buffer> buffer) {
    if (!buffer) return std::unexpected(buffer.error());
    return std::make_unique<VulkanMemory>(std::move(*buffer));
  }
  Result<void> record(VkCommandBuffer commands, const Launch& launch) const {
    if (launch.program == nullptr) {
      const Part &from = launch.parts[0], &to = launch.parts[1];
      runtime_.record_copy(commands, vulkan_buffer_of(*to.memory), to.offset, vulkan_buffer_of(*from.memory),
                           from.offset, from.bytes);
      return {};
    }
    if (launch.parts.size() > kMostParts)
      return fail(ErrorKind::limit_exceeded, "operands", std::to_string(launch.parts.size()),
                  std::to_string(kMostParts));
    std::array<vulkan::OperandAddress, kMostParts> operands;
    for (std::size_t i = 0; i < launch.parts.size(); ++i)
      operands[i] = {launch.parts[i].memory->address() + launch.parts[i].offset, launch.parts[i].bytes};
    return vulkan::record(commands, static_cast<const VulkanProgram*>(launch.program)->executable(),
                          std::span(operands.data(), launch.parts.size()));
  }

  vulkan::Runtime runtime_;
  PrepareOptions how_;
};

}  // namespace

std::string default_canary_folder() { return cache_folder("canary"); }

bool canary_wanted() {
  const char* canary = std::getenv("SECTILE_CANARY");
  return canary == nullptr || std::string_view(canary) != "0";
}

Result<std::unique_ptr<Machine>> open_vulkan(const std::string& selector, const MachineOptions& options,
                                             const DeviceClassPtr& device_class) {
  vulkan::RuntimeOptions wanted;
  wanted.validation = options.validation;
  wanted.executable_statistics = options.executable_statistics;
  wanted.pipeline_cache = options.cache;
  wanted.canary = canary_wanted();
  wanted.canary_at_open = options.canary_at_open;
  wanted.canary_folder = default_canary_folder();
  wanted.device_class = device_class;
  auto runtime = vulkan::Runtime::open(selector, wanted);
  if (!runtime) return std::unexpected(runtime.error());
  tell_class_warnings(options, runtime->device().class_warnings());
  tell_canary(*runtime);
  return std::make_unique<VulkanMachine>(std::move(*runtime), PrepareOptions{.any_profile = options.any_profile});
}

}  // namespace sectile::tools
