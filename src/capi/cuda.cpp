// The C interface: an app's own CUDA context. Without SECTILE_CUDA every function says that there is no CUDA here.
#include "handles.hpp"

#if SECTILE_HAS_CUDA
#include <sectile/cuda.hpp>
#endif

using namespace sectile;
using capi::given;
using capi::guarded;

#if SECTILE_HAS_CUDA

struct SectileCudaDevice {
  cuda::Device device;
  SectileProfile profile = {};
  SectileLog log = {};
};

struct SectileCudaExecutable {
  cuda::Executable executable;
};

SectileStatus sectile_cuda_profile(int ordinal, SectileProfile** profile) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(profile, "profile"); !r) return r;
    auto made = cuda::profile(ordinal);
    if (!made) return std::unexpected(made.error());
    *profile = new SectileProfile{.profile = std::move(*made)};
    return {};
  });
}

SectileStatus sectile_cuda_device_create(const SectileCudaAdoption* adoption, SectileCudaDevice** device) {
  return guarded([&]() -> Result<void> {
    const auto read = capi::read(adoption, "adoption");
    if (!read) return std::unexpected(read.error());
    if (auto r = given(device, "device"); !r) return r;
    auto device_class = capi::class_of(read->device_class);
    if (!device_class) return std::unexpected(device_class.error());
    auto adopted = cuda::Device::adopt({.context = read->context,
                                        .cubin_folder = read->cubin_folder == nullptr ? "" : read->cubin_folder,
                                        .device_class = std::move(*device_class)});
    if (!adopted) return std::unexpected(adopted.error());
    auto made = std::make_unique<SectileCudaDevice>(std::move(*adopted));
    made->profile.profile = made->device.profile();
    made->log = read->log;
    for (const std::string& warning : made->device.class_warnings())
      capi::tell(made->log, SECTILE_LOG_WARNING, warning);
    *device = made.release();
    return {};
  });
}

void sectile_cuda_device_destroy(SectileCudaDevice* device) { delete device; }

const SectileProfile* sectile_cuda_device_profile(const SectileCudaDevice* device) { return &device->profile; }

SectileStatus sectile_cuda_prepare(SectileCudaDevice* device, const SectilePlan* const* plans, uint32_t count,
                                   uint32_t threads, uint32_t any_profile, SectileCudaExecutable** executables) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(device, "device"); !r) return r;
    const PrepareOptions options{.any_profile = any_profile != 0};
    auto done = capi::prepare(
        plans, count, executables, device->log, [&](const Plan& plan) { return device->device.prepare(plan, options); },
        [&](std::span<const Plan> all) { return device->device.prepare(all, threads, options); });
    capi::tell(device->log, SECTILE_LOG_WARNING, device->device.warning());
    return done;
  });
}

void sectile_cuda_executable_destroy(SectileCudaExecutable* executable) { delete executable; }

SectileStatus sectile_cuda_launch(CUstream_st* stream, const SectileCudaExecutable* executable,
                                  const SectileOperandAddress* operands, uint32_t count) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(executable, "executable"); !r) return r;
    capi::Addresses addresses;
    const auto read = addresses.read(operands, count);
    if (!read) return std::unexpected(read.error());
    return cuda::launch(stream, executable->executable, *read);
  });
}

#else

namespace {

SectileStatus no_cuda() {
  return guarded([]() -> Result<void> {
    return fail(ErrorKind::unsupported, "CUDA", "not in this library", "a build with SECTILE_CUDA");
  });
}

}  // namespace

// None of them exists: no function makes one.
struct SectileCudaDevice {};
struct SectileCudaExecutable {};

SectileStatus sectile_cuda_profile(int, SectileProfile**) { return no_cuda(); }
SectileStatus sectile_cuda_device_create(const SectileCudaAdoption*, SectileCudaDevice**) { return no_cuda(); }
void sectile_cuda_device_destroy(SectileCudaDevice*) {}
const SectileProfile* sectile_cuda_device_profile(const SectileCudaDevice*) { return nullptr; }
SectileStatus sectile_cuda_prepare(SectileCudaDevice*, const SectilePlan* const*, uint32_t, uint32_t, uint32_t,
                                   SectileCudaExecutable**) {
  return no_cuda();
}
void sectile_cuda_executable_destroy(SectileCudaExecutable*) {}
SectileStatus sectile_cuda_launch(CUstream_st*, const SectileCudaExecutable*, const SectileOperandAddress*, uint32_t) {
  return no_cuda();
}

#endif
