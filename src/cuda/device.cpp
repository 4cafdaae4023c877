#include <sectile/cuda.hpp>

#include "compiler.hpp"
#include "cubin_folder.hpp"
#include "executable.hpp"
#include "profile.hpp"

#include "backend/made_once.hpp"
#include "backend/operands.hpp"
#include "backend/prepare_all.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <atomic>

namespace sectile::cuda {
namespace {

// The limit on static shared memory. More is dynamic, and needs a function attribute.
constexpr std::uint32_t kMostStaticShared = 48 * 1024;
// Workgroups of a cluster that every device with clusters takes. More needs a function attribute, and may be refused at
// launch.
constexpr std::uint32_t kPortableCluster = 8;

std::uint64_t invocations_of(const Step& step) {
  return std::uint64_t{step.workgroup[0]} * step.workgroup[1] * step.workgroup[2];
}

}  // namespace

Result<Versions> load() {
  const auto loaded_driver = driver();
  if (!loaded_driver) return std::unexpected(loaded_driver.error());
  const auto loaded_nvrtc = nvrtc();
  if (!loaded_nvrtc) return std::unexpected(loaded_nvrtc.error());
  Versions out{0, (*loaded_nvrtc)->major, (*loaded_nvrtc)->minor};
  if (auto got = SECTILE_CUDA_CALL(**loaded_driver, cuDriverGetVersion, &out.driver); !got)
    return std::unexpected(got.error());
  return out;
}

Result<int> compiler_version() {
  const auto loaded = nvrtc();
  if (!loaded) return std::unexpected(loaded.error());
  return (*loaded)->major * 1000 + (*loaded)->minor;
}

struct Device::Impl {
  const api::Driver* driver = nullptr;
  const api::Nvrtc* nvrtc = nullptr;
  Context context = nullptr;
  DeviceProfile profile;
  std::vector<std::string> class_warnings;
  std::string profile_hash;
  std::string architecture;
  std::vector<EmbeddedSource> sources;
  CubinFolder folder;
  backend::MadeOnce<std::string, Kernel> kernels;
  std::atomic<std::size_t> held{0}, compiled{0}, from_folder{0};

  explicit Impl(std::string cubin_folder) : folder(std::move(cubin_folder)) {}
  ~Impl() {
    const ContextScope scope(*driver, context);
    // If the app's context was destroyed already, its modules were too.
    if (scope.status() != api::kSuccess) return;
    kernels.for_each([this](const Kernel& kernel) { driver->cuModuleUnload(kernel.module); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<Kernel> load_kernel(const std::vector<std::uint8_t>& code) const;
  Result<std::shared_ptr<const Kernel>> make_kernel(const std::string& key, const KernelText& text);
  Result<ReadyStep> ready_step(const Step& step, const KernelText& text);
};

// The context must be current.
Result<Kernel> Device::Impl::load_kernel(const std::vector<std::uint8_t>& code) const {
  Kernel out;
  if (auto loaded = SECTILE_CUDA_CALL(*driver, cuModuleLoadData, &out.module, static_cast<const void*>(code.data()));
      !loaded)
    return std::unexpected(loaded.error());
  // Getting the function loads it where modules are loaded lazily, so that launch does not.
  auto got = SECTILE_CUDA_CALL(*driver, cuModuleGetFunction, &out.function, out.module, kEntry);
  int shared = 0, threads = 0;
  if (got) got = SECTILE_CUDA_CALL(*driver, cuFuncGetAttribute, &shared, api::kFunctionSharedBytes, out.function);
  if (got)
    got = SECTILE_CUDA_CALL(*driver, cuFuncGetAttribute, &threads, api::kFunctionMaxThreadsPerBlock, out.function);
  if (!got) {
    driver->cuModuleUnload(out.module);
    return std::unexpected(got.error());
  }
  out.static_shared_bytes = static_cast<std::uint32_t>(shared);
  out.most_threads = static_cast<std::uint32_t>(threads);
  return out;
}

Result<std::shared_ptr<const Kernel>> Device::Impl::make_kernel(const std::string& key, const KernelText& text) {
  // Reserves first: if memory ran out after the driver's call, the module would leak.
  auto out = std::make_shared<Kernel>();
  if (const auto kept = folder.read(key)) {
    // If the driver refuses an undamaged file, the kernel is compiled again.
    if (const auto kernel = load_kernel(*kept)) {
      *out = *kernel;
      ++from_folder;
      ++held;
      return out;
    }
  }
  const auto code = compile_text(*nvrtc, text, architecture, {});
  if (!code) return std::unexpected(code.error());
  const auto kernel = load_kernel(code->bytes);
  if (!kernel) return std::unexpected(kernel.error());
  *out = *kernel;
  ++compiled;
  ++held;
  folder.write(key, code->bytes);
  return out;
}

Result<ReadyStep> Device::Impl::ready_step(const Step& step, const KernelText& text) {
  const std::string key = code_key(text, architecture, nvrtc->major, nvrtc->minor);
  auto got = kernels.get(key, [&] { return make_kernel(key, text); });
  if (!got) return std::unexpected(got.error());
  const Kernel& kernel = *got->value;
  if (invocations_of(step) > kernel.most_threads)
    return fail(ErrorKind::limit_exceeded, "workgroup invocations", std::to_string(invocations_of(step)),
                fmt::format("at most {} with the registers of {}", kernel.most_threads, text.name));
  if (step.cluster[0] * step.cluster[1] * step.cluster[2] > kPortableCluster) {
    auto allowed = SECTILE_CUDA_CALL(*driver, cuFuncSetAttribute, kernel.function, api::kFunctionNonPortableCluster, 1);
    if (!allowed) return std::unexpected(allowed.error());
  }
  ReadyStep out{std::move(got->value), step.grid,       step.cluster, step.workgroup, 0, step.push,
                step.addresses,        step.tensor_maps};
  // A kernel whose memory is the launch's declares none.
  if (kernel.static_shared_bytes == 0) out.dynamic_shared_bytes = step.workgroup_memory_bytes;
  if (step.workgroup_memory_bytes <= kMostStaticShared) return out;
  // More must be allowed once, here. The context is current.
  out.dynamic_shared_bytes = step.workgroup_memory_bytes - kernel.static_shared_bytes;
  const std::uint32_t most = profile.max_dynamic_workgroup_memory_bytes.value_or(kMostStaticShared);
  auto allowed = SECTILE_CUDA_CALL(*driver, cuFuncSetAttribute, kernel.function, api::kFunctionMaxDynamicSharedBytes,
                                   static_cast<int>(most - kernel.static_shared_bytes));
  if (!allowed) return std::unexpected(allowed.error());
  return out;
}

Device::Device(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Device::~Device() = default;
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;

Result<Device> Device::adopt(const Adoption& adoption) {
  const auto started = started_driver();
  if (!started) return std::unexpected(started.error());
  const auto loaded_nvrtc = nvrtc();
  if (!loaded_nvrtc) return std::unexpected(loaded_nvrtc.error());
  if (adoption.context == nullptr) return fail(ErrorKind::missing, "CUcontext", "null");
  const api::Driver& driver = *started->driver;
  const ContextScope scope(driver, adoption.context);
  if (scope.status() != api::kSuccess) return std::unexpected(driver_error(driver, "cuCtxPushCurrent", scope.status()));
  api::Ordinal device = 0;
  if (auto got = SECTILE_CUDA_CALL(driver, cuCtxGetDevice, &device); !got) return std::unexpected(got.error());
  auto profile = describe_device(driver, device);
  if (!profile) return std::unexpected(profile.error());
  auto warnings = use_device_class(*profile, adoption.device_class);
  if (!warnings) return std::unexpected(warnings.error());
  auto impl = std::make_unique<Impl>(adoption.cubin_folder);
  impl->driver = &driver;
  impl->nvrtc = *loaded_nvrtc;
  impl->context = adoption.context;
  impl->profile = std::move(*profile);
  impl->class_warnings = std::move(*warnings);
  impl->profile_hash = profile_hash_of(impl->profile);
  impl->architecture = cuda_architecture_name(impl->profile);
  impl->sources.assign(adoption.sources.begin(), adoption.sources.end());
  return Device(std::move(impl));
}

const DeviceProfile& Device::profile() const noexcept { return impl_->profile; }
const std::vector<std::string>& Device::class_warnings() const noexcept { return impl_->class_warnings; }
CompileCounts Device::compile_counts() const noexcept { return {impl_->held, impl_->compiled, impl_->from_folder}; }
std::string Device::warning() const { return impl_->folder.warning(); }

Result<Executable> Device::prepare(const Plan& plan, const PrepareOptions& options) {
  if (auto fine = backend::check_prepared(plan, impl_->profile, impl_->profile_hash, options); !fine)
    return std::unexpected(fine.error());
  // All checks of a step, made before anything is compiled.
  std::vector<KernelText> texts;
  for (const Step& step : plan.steps) {
    auto text = kernel_text(step, impl_->sources);
    if (!text) return std::unexpected(text.error());
    const std::size_t maps = step.tensor_maps.size();
    if (maps > kMostTensorMaps || step.push.size() + maps * sizeof(api::TensorMap) > kMostPushBytes)
      return fail(ErrorKind::limit_exceeded, "push bytes and tensor maps",
                  fmt::format("{} and {}", step.push.size(), maps),
                  fmt::format("at most {} bytes together, at most {} maps", kMostPushBytes, kMostTensorMaps));
    texts.push_back(std::move(*text));
  }
  const ContextScope scope(*impl_->driver, impl_->context);
  if (scope.status() != api::kSuccess)
    return std::unexpected(driver_error(*impl_->driver, "cuCtxPushCurrent", scope.status()));
  auto ready = std::make_shared<Executable::Impl>();
  ready->driver = impl_->driver;
  ready->context = impl_->context;
  ready->operands = plan.operands;
  ready->accessed = backend::accessed_ranges(plan, 0, plan.steps.size());
  ready->plan_id = plan.id;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    auto step = impl_->ready_step(plan.steps[i], texts[i]);
    if (!step) return std::unexpected(step.error());
    ready->steps.push_back(std::move(*step));
  }
  Executable out;
  out.impl_ = std::move(ready);
  return out;
}

Result<std::vector<Executable>> Device::prepare(std::span<const Plan> plans, unsigned threads,
                                                const PrepareOptions& options) {
  return backend::prepare_all<Executable>(plans, threads, [&](const Plan& plan) { return prepare(plan, options); });
}

}  // namespace sectile::cuda
