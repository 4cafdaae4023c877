#include "cuda.hpp"

#include "bench/bench.hpp"
#include "cli/files.hpp"
#include "cli/target.hpp"
#include "cli/text.hpp"

#include <sectile/cuda_runtime.hpp>

#include <array>
#include <cstdlib>
#include <utility>

namespace sectile::tools {
namespace {

class CudaMemory final : public Memory {
 public:
  explicit CudaMemory(cuda::Buffer buffer) : buffer_(std::move(buffer)) {}
  std::uint64_t address() const noexcept override { return buffer_.address(); }
  std::uint64_t size() const noexcept override { return buffer_.size(); }
  const cuda::Buffer& buffer() const noexcept { return buffer_; }

 private:
  cuda::Buffer buffer_;
};

class CudaProgram final : public Program {
 public:
  explicit CudaProgram(cuda::Executable executable) : executable_(std::move(executable)) {}
  const cuda::Executable& executable() const noexcept { return executable_; }

 private:
  cuda::Executable executable_;
};

const cuda::Buffer& cuda_buffer_of(const Memory& memory) { return static_cast<const CudaMemory&>(memory).buffer(); }

class CudaMachine final : public Machine {
 public:
  CudaMachine(cuda::Runtime runtime, const PrepareOptions& how) : runtime_(std::move(runtime)), how_(how) {}

  const DeviceProfile& profile() const override { return runtime_.profile(); }
  std::string name() const override { return runtime_.entry().name; }
  std::string driver() const override { return runtime_.entry().driver; }
  std::string_view copy_name() const override { return "cuMemcpyDtoDAsync"; }

  Result<MemoryPtr> make_memory(std::uint64_t bytes) override {
    auto buffer = runtime_.make_buffer(bytes);
    if (!buffer) return std::unexpected(buffer.error());
    return std::make_unique<CudaMemory>(std::move(*buffer));
  }
  Result<void> upload(const Memory& memory, std::uint64_t offset, std::span<const std::byte> bytes) override {
    return runtime_.upload(cuda_buffer_of(memory), offset, bytes);
  }
  Result<void> download(const Memory& memory, std::uint64_t offset, std::span<std::byte> bytes) override {
    return runtime_.download(cuda_buffer_of(memory), offset, bytes);
  }
  Result<void> fill(const Memory& memory, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word) override {
    return runtime_.fill(cuda_buffer_of(memory), offset, bytes, word);
  }

  Result<ProgramPtr> prepare(const Plan& plan) override {
    auto executable = runtime_.device().prepare(plan, how_);
    if (!executable) return std::unexpected(executable.error());
    return std::make_shared<const CudaProgram>(std::move(*executable));
  }
  Result<std::vector<ProgramPtr>> prepare_all(std::span<const Plan> plans) override {
    auto executables = runtime_.device().prepare(plans, 0, how_);
    if (!executables) return std::unexpected(executables.error());
    std::vector<ProgramPtr> programs;
    for (auto& executable : *executables)
      programs.push_back(std::make_shared<const CudaProgram>(std::move(executable)));
    return programs;
  }
  std::size_t kernel_count() const override { return counts().kernels; }
  KernelCounts kernel_counts() const override { return {counts().kernels, counts().from_folder, true}; }

  Result<void> run(std::span<const Launch> launches, const Refused& refused) override {
    return runtime_.run_and_wait([&](cuda::Stream stream) -> Result<void> {
      for (std::size_t i = 0; i < launches.size(); ++i)
        if (auto launched = put(stream, launches[i]); !launched) refused(i, launched.error());
      return {};
    });
  }

  Result<std::vector<std::vector<double>>> time(std::span<const LaunchSource> candidates,
                                                const TimingWish& wish) override {
    std::vector<cuda::LaunchFunction> functions;
    for (const auto& candidate : candidates)
      functions.emplace_back([this, &candidate](cuda::Stream stream) { return put(stream, candidate()); });
    const auto timings = runtime_.time(functions, {.repeats = wish.repeats, .inner = wish.inner, .ready = wish.ready});
    if (!timings) return std::unexpected(timings.error());
    std::vector<std::vector<double>> seconds;
    for (const auto& timing : *timings) {
      seconds.push_back(timing.gpu_ns);
      for (double& value : seconds.back()) value *= 1e-9;
    }
    return seconds;
  }

  Result<HostCost> host_cost(const Launch& launch, unsigned times) override {
    HostCost cost;
    auto done = runtime_.run_and_wait([&](cuda::Stream stream) -> Result<void> {
      const std::uint64_t before = allocation_count();
      const double started = now_seconds();
      for (unsigned i = 0; i < times; ++i)
        if (auto launched = put(stream, launch); !launched) return launched;
      cost.seconds = (now_seconds() - started) / times;
      cost.allocations = allocation_count() - before;
      return {};
    });
    if (!done) return std::unexpected(done.error());
    return cost;
  }

 private:
  cuda::CompileCounts counts() const { return const_cast<cuda::Runtime&>(runtime_).device().compile_counts(); }

  Result<void> put(cuda::Stream stream, const Launch& launch) const {
    const auto address = [](const Part& part) { return part.memory->address() + part.offset; };
    if (launch.program == nullptr)
      return runtime_.launch_copy(stream, address(launch.parts[1]), address(launch.parts[0]), launch.parts[0].bytes);
    if (launch.parts.size() > kMostParts)
      return fail(ErrorKind::limit_exceeded, "operands", std::to_string(launch.parts.size()),
                  std::to_string(kMostParts));
    std::array<cuda::OperandAddress, kMostParts> operands;
    for (std::size_t i = 0; i < launch.parts.size(); ++i)
      operands[i] = {address(launch.parts[i]), launch.parts[i].bytes};
    return cuda::launch(stream, static_cast<const CudaProgram*>(launch.program)->executable(),
                        std::span(operands.data(), launch.parts.size()));
  }

  cuda::Runtime runtime_;
  PrepareOptions how_;
};

}  // namespace

std::string default_cubin_folder() { return cache_folder("cubin"); }

Result<std::unique_ptr<Machine>> open_cuda(const std::string& selector, const MachineOptions& options,
                                           const DeviceClassPtr& device_class) {
  auto runtime = cuda::Runtime::open(
      selector,
      {.cubin_folder = options.cache.empty() ? default_cubin_folder() : options.cache, .device_class = device_class});
  if (!runtime) return std::unexpected(runtime.error());
  tell_class_warnings(options, runtime->device().class_warnings());
  return std::make_unique<CudaMachine>(std::move(*runtime), PrepareOptions{.any_profile = options.any_profile});
}

}  // namespace sectile::tools
