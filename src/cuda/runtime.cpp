#include "runtime.hpp"

#include "profile.hpp"

#include "backend/selector.hpp"

#include <fmt/format.h>

#include <utility>

namespace sectile::cuda {
namespace {

Result<DeviceEntry> entry_of(const api::Driver& driver, int index) {
  api::Ordinal device = 0;
  if (auto got = SECTILE_CUDA_CALL(driver, cuDeviceGet, &device, index); !got) return std::unexpected(got.error());
  auto profile = describe_device(driver, device);
  if (!profile) return std::unexpected(profile.error());
  DeviceEntry out;
  out.index = static_cast<std::uint32_t>(index);
  out.architecture = cuda_architecture_name(*profile);
  out.name = std::move(profile->name);
  out.uuid = std::move(profile->uuid);
  out.driver = std::move(profile->driver);
  return out;
}

Result<std::vector<DeviceEntry>> entries_of(const StartedDriver& started) {
  std::vector<DeviceEntry> out;
  for (int i = 0; i < started.devices; ++i) {
    auto entry = entry_of(*started.driver, i);
    if (!entry) return std::unexpected(entry.error());
    out.push_back(std::move(*entry));
  }
  return out;
}

Result<std::size_t> chosen(std::string_view selector, std::span<const DeviceEntry> entries) {
  if (entries.empty()) return fail(ErrorKind::missing, "CUDA device", "none", "a device that the driver sees");
  if (selector.empty()) return std::size_t{0};
  std::vector<backend::Selectable> devices;
  devices.reserve(entries.size());
  for (const DeviceEntry& entry : entries) devices.push_back({entry.name, entry.uuid, entry.architecture});
  return backend::select("cuda:", selector, devices);
}

Result<void> check_range(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes) {
  if (!buffer) return fail(ErrorKind::missing, "buffer", "empty");
  if (offset <= buffer.size() && bytes <= buffer.size() - offset) return {};
  return fail(ErrorKind::too_small, "buffer", fmt::format("{} bytes", buffer.size()),
              fmt::format("offset {} + {} bytes", offset, bytes));
}

}  // namespace

Result<std::vector<DeviceEntry>> list_devices() {
  const auto started = started_driver();
  if (!started) return std::unexpected(started.error());
  return entries_of(*started);
}

// ---- memory

Buffer::~Buffer() {
  if (address_ == 0) return;
  // Its Runtime still exists, and so the driver is loaded.
  if (const auto loaded = driver()) {
    const ContextScope scope(**loaded, context_);
    if (scope.status() == api::kSuccess) (*loaded)->cuMemFree_v2(address_);
  }
}
Buffer::Buffer(Buffer&& other) noexcept
    : address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)),
      context_(std::exchange(other.context_, nullptr)) {}
Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(context_, other.context_);
  return *this;
}

// ---- the runtime

Runtime::Impl::~Impl() {
  if (context == nullptr) return;
  {
    const ContextScope scope(*driver, context);
    if (scope.status() == api::kSuccess) {
      if (stream != nullptr) driver->cuStreamSynchronize(stream);
      device.reset();
      for (const api::Event event : {begin, end})
        if (event != nullptr) driver->cuEventDestroy_v2(event);
      if (stream != nullptr) driver->cuStreamDestroy_v2(stream);
    }
  }
  driver->cuDevicePrimaryCtxRelease_v2(ordinal);
}

Result<void> Runtime::Impl::wait() const { return SECTILE_CUDA_CALL(*driver, cuStreamSynchronize, stream); }

Result<void> Runtime::Impl::inside(const std::function<Result<void>()>& work) const {
  const ContextScope scope(*driver, context);
  if (scope.status() != api::kSuccess)
    return std::unexpected(driver_error(*driver, "cuCtxPushCurrent", scope.status()));
  return work();
}

Runtime::Runtime(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Runtime::~Runtime() = default;
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;

Result<Runtime> Runtime::open(std::string_view selector, const RuntimeOptions& options) {
  const auto started = started_driver();
  if (!started) return std::unexpected(started.error());
  auto entries = entries_of(*started);
  if (!entries) return std::unexpected(entries.error());
  const auto index = chosen(selector, *entries);
  if (!index) return std::unexpected(index.error());

  auto impl = std::make_unique<Impl>();
  const api::Driver& driver = *started->driver;
  impl->driver = &driver;
  impl->entry = std::move((*entries)[*index]);
  auto made = SECTILE_CUDA_CALL(driver, cuDeviceGet, &impl->ordinal, static_cast<int>(*index));
  if (made) made = SECTILE_CUDA_CALL(driver, cuDevicePrimaryCtxRetain, &impl->context, impl->ordinal);
  if (!made) return std::unexpected(made.error());
  made = impl->inside([&]() -> Result<void> {
    // A separate stream: the null stream would wait for all other streams of the process.
    auto done = SECTILE_CUDA_CALL(driver, cuStreamCreate, &impl->stream, api::kStreamNonBlocking);
    for (api::Event* event : {&impl->begin, &impl->end})
      if (done) done = SECTILE_CUDA_CALL(driver, cuEventCreate, event, api::kEventDefault);
    return done;
  });
  if (!made) return std::unexpected(made.error());
  auto device = Device::adopt({.context = impl->context,
                               .cubin_folder = options.cubin_folder,
                               .sources = options.sources,
                               .device_class = options.device_class});
  if (!device) return std::unexpected(device.error());
  impl->device.emplace(std::move(*device));
  return Runtime(std::move(impl));
}

// NOLINTBEGIN(bugprone-unchecked-optional-access): open() gives every runtime its device
Device& Runtime::device() noexcept { return *impl_->device; }
const DeviceProfile& Runtime::profile() const noexcept { return impl_->device->profile(); }
// NOLINTEND(bugprone-unchecked-optional-access)
const DeviceEntry& Runtime::entry() const noexcept { return impl_->entry; }
Context Runtime::context() const noexcept { return impl_->context; }
Stream Runtime::stream() const noexcept { return impl_->stream; }

Result<Buffer> Runtime::make_buffer(std::uint64_t bytes) {
  if (bytes == 0) return fail(ErrorKind::too_small, "buffer", "0 bytes", "at least 1");
  Buffer out;
  api::Address address = 0;
  auto made = impl_->inside([&] { return SECTILE_CUDA_CALL(*impl_->driver, cuMemAlloc_v2, &address, bytes); });
  if (!made) {
    made.error().value += fmt::format(" ({} bytes)", bytes);
    return std::unexpected(made.error());
  }
  out.address_ = address;
  out.bytes_ = bytes;
  out.context_ = impl_->context;
  return out;
}

Result<void> Runtime::upload(const Buffer& buffer, std::uint64_t offset, std::span<const std::byte> bytes) {
  if (auto fine = check_range(buffer, offset, bytes.size()); !fine) return fine;
  if (bytes.empty()) return {};
  return impl_->inside([&]() -> Result<void> {
    auto done = SECTILE_CUDA_CALL(*impl_->driver, cuMemcpyHtoDAsync_v2, buffer.address() + offset,
                                  static_cast<const void*>(bytes.data()), bytes.size(), impl_->stream);
    return done ? impl_->wait() : done;
  });
}

Result<void> Runtime::download(const Buffer& buffer, std::uint64_t offset, std::span<std::byte> bytes) {
  if (auto fine = check_range(buffer, offset, bytes.size()); !fine) return fine;
  if (bytes.empty()) return {};
  return impl_->inside([&]() -> Result<void> {
    auto done = SECTILE_CUDA_CALL(*impl_->driver, cuMemcpyDtoHAsync_v2, static_cast<void*>(bytes.data()),
                                  buffer.address() + offset, bytes.size(), impl_->stream);
    return done ? impl_->wait() : done;
  });
}

Result<void> Runtime::fill(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word) {
  if (auto fine = check_range(buffer, offset, bytes); !fine) return fine;
  if (offset % 4 != 0 || bytes % 4 != 0)
    return fail(ErrorKind::misaligned, "fill", fmt::format("offset {}, {} bytes", offset, bytes), "multiples of 4");
  if (bytes == 0) return {};
  return impl_->inside([&]() -> Result<void> {
    auto done =
        SECTILE_CUDA_CALL(*impl_->driver, cuMemsetD32Async, buffer.address() + offset, word, bytes / 4, impl_->stream);
    return done ? impl_->wait() : done;
  });
}

Result<void> Runtime::run_and_wait(const LaunchFunction& launch) {
  return impl_->inside([&]() -> Result<void> {
    const auto launched = launch(impl_->stream);
    // Always waits: kernels launched before the error still run.
    const auto waited = impl_->wait();
    return launched ? waited : launched;
  });
}

Result<void> Runtime::launch_copy(Stream stream, std::uint64_t dst, std::uint64_t src, std::uint64_t bytes) const {
  if (bytes == 0) return {};
  return impl_->inside(
      [&] { return SECTILE_CUDA_CALL(*impl_->driver, cuMemcpyDtoDAsync_v2, dst, src, bytes, stream); });
}

}  // namespace sectile::cuda
