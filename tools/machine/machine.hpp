// A device that runs plans, with either API, as the subcommands need it. The library has no such layer: an app uses
// vulkan.hpp or cuda.hpp.
#pragma once

#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sectile::tools {

template <std::integral T>
constexpr T round_up(T value, std::type_identity_t<T> multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Device memory. Must not outlive its Machine.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual std::uint64_t address() const noexcept = 0;
  virtual std::uint64_t size() const noexcept = 0;
};
using MemoryPtr = std::unique_ptr<Memory>;

// A plan whose kernels are compiled. Must not outlive its Machine.
class Program {
 public:
  virtual ~Program() = default;
};
using ProgramPtr = std::shared_ptr<const Program>;

struct Part {
  const Memory* memory = nullptr;
  std::uint64_t offset = 0, bytes = 0;
};

// A unit of work: a program with its plan's operands in order; or, without a program, a copy of the first part to the
// second with the API's own command.
struct Launch {
  const Program* program = nullptr;
  std::vector<Part> parts;
};
inline constexpr std::size_t kMostParts = 16;  // more operands than any plan has
using LaunchSource = std::function<Launch()>;

struct TimingWish {
  unsigned repeats = 10;                     // samples of each candidate
  unsigned inner = 1;                        // runs in one sample, one after the other
  std::function<Result<void>()> ready = {};  // called right before the first sample; may call time() itself
};

struct MachineOptions {
  bool validation = false;  // Vulkan's validation layer; an error (missing) where it is not there
  bool executable_statistics = false;
  bool canary_at_open = true;     // false: Machine::test_for runs what a plan rests on
  std::string cache = {};         // a file (Vulkan) or folder (CUDA) for compiled kernels; empty: none
  bool any_profile = false;       // plans for a changed profile are prepared too
  std::string device_class = {};  // --device-class: a file; empty: what is built in
  std::vector<std::string>* class_warnings = nullptr;  // where the class's warnings go; null: to standard error
};

// Kernels made since the machine was opened, and how many of them came from the cache.
struct KernelCounts {
  std::size_t made = 0, from_cache = 0;
  bool told = true;  // whether the driver says what came from the cache
};

// What a launch costs the host.
struct HostCost {
  double seconds = 0;
  std::uint64_t allocations = 0;  // by operator new, in all launches together
};

class Machine {
 public:
  // "cuda:N" opens CUDA's device; "vulkan:N" Vulkan's; anything else (a UUID, part of a name, nothing) as
  // vulkan::Runtime::open says, and CUDA's where Vulkan has no such GPU.
  static Result<std::unique_ptr<Machine>> open(const std::string& selector, const MachineOptions& options = {});
  virtual ~Machine() = default;

  virtual const DeviceProfile& profile() const = 0;
  virtual std::string name() const = 0;  // "NVIDIA H200"
  virtual std::string driver() const = 0;
  virtual std::string_view copy_name() const = 0;  // of the API's own copy command

  virtual Result<MemoryPtr> make_memory(std::uint64_t bytes) = 0;
  virtual std::uint64_t import_alignment() const { return 0; }  // 0: import_pages does not work here
  virtual Result<MemoryPtr> import_pages(void* pages, std::uint64_t bytes);
  virtual Result<void> upload(const Memory& memory, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Result<void> download(const Memory& memory, std::uint64_t offset, std::span<std::byte> bytes) = 0;
  virtual Result<void> fill(const Memory& memory, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word) = 0;

  // Tests of the driver that the plan rests on and that have not been run (vulkan.hpp, the canary); true: profile() has
  // changed, and the plan is to be made again. Says so on standard error where it takes a while.
  virtual Result<bool> test_for(const Plan&) { return false; }

  virtual Result<ProgramPtr> prepare(const Plan& plan) = 0;
  // Many at once; on devices in parallel.
  virtual Result<std::vector<ProgramPtr>> prepare_all(std::span<const Plan> plans);
  virtual std::size_t kernel_count() const = 0;
  virtual KernelCounts kernel_counts() const = 0;
  // The driver's figures for a program's kernels (registers, spills, workgroup memory), a line each; empty where it
  // has none or MachineOptions did not ask.
  virtual std::string statistics(const Program&) const { return {}; }
  virtual Result<void> save_cache() { return {}; }
  virtual void trim() {}  // drops kernels that no program uses

  // Runs them in any order, possibly at the same time, and waits. A refused one does not run and is reported to
  // `refused`; the others still run.
  using Refused = std::function<void(std::size_t index, const Error& error)>;
  virtual Result<void> run(std::span<const Launch> launches, const Refused& refused) = 0;
  Result<void> run(const Launch& launch);  // alone; a refusal is an error

  // Seconds of one run, sample by sample, for each candidate; samples alternate: a b c a b c ...
  virtual Result<std::vector<std::vector<double>>> time(std::span<const LaunchSource> candidates,
                                                        const TimingWish& wish) = 0;

  // Cost of `times` launches, recorded or put into a stream. They also run.
  virtual Result<HostCost> host_cost(const Launch& launch, unsigned times) = 0;

  virtual std::vector<std::string> validation_messages() const { return {}; }
};

// Puts them where the options say.
void tell_class_warnings(const MachineOptions& options, const std::vector<std::string>& warnings);

// The class that plans for the machine use, and its ID; empty where there is none.
std::string device_class_text(const Machine& machine);

// Where `selector` is "cuda:N".
bool is_cuda(std::string_view selector) noexcept;

}  // namespace sectile::tools
