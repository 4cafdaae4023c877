// Runs plans on an NVIDIA GPU with CUDA's driver API and NVRTC, both loaded at run time. docs/guide/cuda.md is the
// guide.
//
// Building needs no CUDA header, and starting needs no CUDA library: on a machine without them load() names what is
// missing, and everything else works. The app owns context, stream and memory. Sectile compiles kernels
// (Device::prepare) and launches them into the app's stream (launch). It allocates no device memory, synchronizes
// nothing, and leaves the calling thread's current context unchanged. launch() may be captured into a graph.
//
//   auto device = sectile::cuda::Device::adopt({.context = context, .cubin_folder = "/var/cache/app"});
//   auto plan   = sectile::make_plan(problem, device->profile());
//   auto ready  = device->prepare(*plan);                          // once; any thread; may compile
//   const sectile::cuda::OperandAddress operands[] = {{src, src_bytes}, {dst, dst_bytes}};
//   sectile::cuda::launch(stream, *ready, operands);
#pragma once

#include <sectile/device_class.hpp>
#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/profile.hpp>
#include <sectile/shaders.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// cuda.h's own handle types, so that an app passes what it has.
struct CUctx_st;
struct CUstream_st;

namespace sectile::cuda {

using Context = ::CUctx_st*;
using Stream = ::CUstream_st*;

// ---------------------------------------------------------------------------------------------
// The libraries

struct Versions {
  int driver = 0;  // cuDriverGetVersion: 13000 for CUDA 13.0
  int nvrtc_major = 0, nvrtc_minor = 0;
};

// Loads the driver and NVRTC once for the process. Errors: missing, naming the library ("libcuda.so.1",
// "libnvrtc.so") or the symbol; unsupported (a driver or NVRTC older than 12.0).
Result<Versions> load();

// NVRTC's version, as major * 1000 + minor. Compiling needs no driver. Errors: as load(), for NVRTC alone.
Result<int> compiler_version();

// The profile of the driver's device `ordinal`. Errors: as load(); missing ("cuda:7", and the number of devices).
Result<DeviceProfile> profile(int ordinal);

// ---------------------------------------------------------------------------------------------
// Compiling without a device

// One kernel's code for an architecture.
struct Code {
  std::string entry;                // the function's name in it
  std::vector<std::uint8_t> bytes;  // cubin (ELF), or PTX with a terminating 0
  std::string log;                  // of NVRTC and ptxas: registers, spills, shared memory
};

struct CompileOptions {
  bool ptx = false;      // PTX instead of a cubin
  bool verbose = false;  // --ptxas-options=-v: each kernel's resources, into Code::log; cubin only
  std::span<const EmbeddedSource> sources = {};  // kernels besides the embedded ones, as Adoption::sources
};

// Compiles a step's kernel with its constants for "sm_90a" and the like. Needs NVRTC, but no driver and no GPU.
// Errors: missing (NVRTC, or no such kernel); compile (NVRTC's log); parse ("sm9").
Result<Code> compile(const Step& step, std::string_view architecture, const CompileOptions& options = {});

// What ptxas reported for a kernel compiled with CompileOptions::verbose.
struct KernelFigures {
  std::uint32_t registers = 0, spill_store_bytes = 0, spill_load_bytes = 0, stack_bytes = 0, shared_bytes = 0;
};
Result<KernelFigures> figures(const Code& code);

// ---------------------------------------------------------------------------------------------
// The adopted device

struct Adoption {
  Context context = nullptr;      // the app's own; must outlive the Device
  std::string cubin_folder = {};  // stores compiled kernels; empty: none are stored. Made if missing
  // Kernels besides the embedded ones. One with the stem of an embedded kernel replaces it. Must outlive the Device.
  std::span<const EmbeddedSource> sources = {};
  // What work costs on the device (`sectile calibrate`): profile() has it, and plans made for that choose by it. Null:
  // what is built in. See Device::class_warnings().
  DeviceClassPtr device_class = {};
};

class Executable;
using sectile::OperandAddress;  // its address is a CUdeviceptr

struct CompileCounts {
  std::size_t kernels = 0;      // functions held
  std::size_t compiled = 0;     // by NVRTC
  std::size_t from_folder = 0;  // read from cubin_folder
};

// Compiles kernels for the app's context, and nothing else. Thread-safe, except for moving and destroying.
class Device {
 public:
  // Errors: as load(); missing (a null context); unsupported (device_class is of other devices); device (the driver's).
  static Result<Device> adopt(const Adoption& adoption);
  ~Device();  // unloads its modules: their launches must have finished
  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;

  const DeviceProfile& profile() const noexcept;

  // What use_device_class() warned of, a line each: Adoption::device_class was measured with another driver, ...
  const std::vector<std::string>& class_warnings() const noexcept;

  // May compile. Kernels are shared by (source, constants) between all plans of this Device; a cubin in the folder is
  // keyed by source hash, constants, architecture and NVRTC version, written atomically; a broken file is compiled
  // anew and replaced. Errors: as check_plan(plan, profile()); invalid_plan (the plan was made for another profile, and
  // PrepareOptions::any_profile is not set); missing; compile; device.
  Result<Executable> prepare(const Plan& plan, const PrepareOptions& options = {});

  // The same for many, compiled in parallel on `threads` threads (0: one for each processor). The first error, in the
  // order of the plans.
  Result<std::vector<Executable>> prepare(std::span<const Plan> plans, unsigned threads = 0,
                                          const PrepareOptions& options = {});

  CompileCounts compile_counts() const noexcept;
  std::string warning() const;  // why a file of the folder was not read or not written, or empty

 private:
  struct Impl;
  explicit Device(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

// A plan whose kernels are loaded. Copies share them; must not outlive its Device.
class Executable {
 public:
  Executable() noexcept;
  ~Executable();
  Executable(const Executable&) noexcept;
  Executable& operator=(const Executable&) noexcept;
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;
  std::span<const PlanOperand> operands() const noexcept;  // in the order of launch's addresses; scratch is one of them
  std::string_view plan_id() const noexcept;
  std::size_t step_count() const noexcept;

 private:
  friend class Device;
  friend Result<void> launch(Stream, const Executable&, std::span<const OperandAddress>);
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

// Launches the plan's kernels into the stream, in order. CUDA orders the kernels of a stream, so a plan's barriers
// cost nothing. No heap allocation, no synchronization. Errors, by operand name, before anything is launched: missing,
// misaligned, too_small, overlap, invalid_problem (too many). Also device.
Result<void> launch(Stream stream, const Executable& executable, std::span<const OperandAddress> operands);

}  // namespace sectile::cuda
