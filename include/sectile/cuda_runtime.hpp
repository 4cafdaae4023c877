// A small CUDA runtime for programs without a context of their own: tools and tests. It uses a device's primary
// context, makes a stream, owns memory, and runs launches. An app with a context of its own uses cuda.hpp alone. The
// interface is that of vulkan_runtime.hpp, so that tools treat both alike.
#pragma once

#include <sectile/cuda.hpp>

#include <functional>

namespace sectile::cuda {

struct DeviceEntry {
  std::uint32_t index = 0;  // N of "cuda:N"
  std::string name;
  std::string uuid;          // 32 hex digits, the same as Vulkan's deviceUUID of the card
  std::string architecture;  // "sm_90a"
  std::string driver;        // "CUDA 13.0"
};

// All devices; an empty list where the driver has none. Errors: as load().
Result<std::vector<DeviceEntry>> list_devices();

struct RuntimeOptions {
  std::string cubin_folder = {};                 // as Adoption
  std::span<const EmbeddedSource> sources = {};  // as Adoption
  DeviceClassPtr device_class = {};              // as Adoption
};

// Device memory, freed on destruction. Must not outlive its Runtime.
class Buffer {
 public:
  Buffer() noexcept = default;
  ~Buffer();
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;
  std::uint64_t address() const noexcept { return address_; }
  std::uint64_t size() const noexcept { return bytes_; }
  explicit operator bool() const noexcept { return address_ != 0; }

 private:
  friend class Runtime;
  std::uint64_t address_ = 0, bytes_ = 0;
  Context context_ = nullptr;
};

// Launches into the stream. Its error ends the run.
using LaunchFunction = std::function<Result<void>(Stream)>;

struct TimingOptions {
  unsigned repeats = 10, inner = 1;  // as vulkan::TimingOptions
  double warmup_seconds = 0.0;
  // Called after the warm-up, right before the first sample. It may run and time other work with this Runtime. Its
  // error ends the timing.
  std::function<Result<void>()> ready = {};
};
struct Timing {
  std::vector<double> gpu_ns;  // of one run, sample by sample, by events; runs of a sample follow each
                               // other in one graph launch, so that the host's launches are not timed
};

// Not thread-safe, except for device().
class Runtime {
 public:
  // Selector: "cuda:N", a UUID, or part of a device's name; empty: the first. Errors: as load(), missing, parse.
  static Result<Runtime> open(std::string_view selector = {}, const RuntimeOptions& options = {});
  ~Runtime();
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;

  Device& device() noexcept;
  const DeviceProfile& profile() const noexcept;
  const DeviceEntry& entry() const noexcept;
  Context context() const noexcept;
  Stream stream() const noexcept;

  Result<Buffer> make_buffer(std::uint64_t bytes);
  Result<void> upload(const Buffer& buffer, std::uint64_t offset, std::span<const std::byte> bytes);
  Result<void> download(const Buffer& buffer, std::uint64_t offset, std::span<std::byte> bytes);
  Result<void> fill(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word);

  Result<void> run_and_wait(const LaunchFunction& launch);
  // cuMemcpyDtoDAsync: what benchmarks compare with.
  Result<void> launch_copy(Stream stream, std::uint64_t dst, std::uint64_t src, std::uint64_t bytes) const;
  // With several candidates their samples alternate: a b c a b c ...
  Result<std::vector<Timing>> time(std::span<const LaunchFunction> candidates, const TimingOptions& options = {});

 private:
  struct Impl;
  explicit Runtime(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sectile::cuda
