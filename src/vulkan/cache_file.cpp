#include <sectile/vulkan.hpp>

#include "functions.hpp"

#include "backend/framed_file.hpp"

#include <fmt/format.h>

#include <cstring>

namespace sectile::vulkan {
namespace {

// The device and driver of a file's pipelines; part of the file's header.
struct Identity {
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  std::uint32_t driver_version = 0;
  std::array<std::uint8_t, VK_UUID_SIZE> cache_uuid{};
};
static_assert(sizeof(Identity) == 28, "written as it stands, so without gaps");

Identity identity_of(const VkPhysicalDeviceProperties& p) {
  Identity out{p.vendorID, p.deviceID, p.driverVersion, {}};
  std::memcpy(out.cache_uuid.data(), p.pipelineCacheUUID, VK_UUID_SIZE);
  return out;
}

backend::Frame frame_of(const Identity& identity) {
  // A pipeline cache is smaller than 4 GiB; a larger file is not one.
  return {"pipeline cache",
          {'S', 'E', 'C', 'T', 'I', 'L', 'E', 'P'},
          1,
          std::as_bytes(std::span(&identity, 1)),
          std::uint64_t{1} << 32};
}

std::string objection(const Identity& ours, std::span<const std::byte> found) {
  Identity theirs;
  std::memcpy(&theirs, found.data(), sizeof(theirs));
  if (theirs.vendor_id != ours.vendor_id || theirs.device_id != ours.device_id || theirs.cache_uuid != ours.cache_uuid)
    return "of another device or driver";
  if (theirs.driver_version != ours.driver_version)
    return fmt::format("of driver version {:#x} (this is {:#x})", theirs.driver_version, ours.driver_version);
  return {};
}

}  // namespace

struct PipelineCacheFile::Impl {
  DeviceFunctions functions;
  VkPhysicalDeviceProperties properties{};
  VkDevice device = VK_NULL_HANDLE;
  const VkAllocationCallbacks* callbacks = nullptr;
  std::string path;
  std::string warning;
  std::size_t loaded = 0;
  VkPipelineCache cache = VK_NULL_HANDLE;

  ~Impl() {
    if (cache != VK_NULL_HANDLE) functions.vkDestroyPipelineCache(device, cache, callbacks);
  }
  VkResult create(std::span<const std::byte> data) {
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = data.size();
    info.pInitialData = data.data();
    return functions.vkCreatePipelineCache(device, &info, callbacks, &cache);
  }
  // Makes the cache of what was read; of nothing where the driver refuses that.
  Result<void> fill(const backend::FramedBytes& read, std::string_view name);
  Result<std::vector<std::byte>> data() const;
};

PipelineCacheFile::PipelineCacheFile(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
PipelineCacheFile::~PipelineCacheFile() = default;
PipelineCacheFile::PipelineCacheFile(PipelineCacheFile&&) noexcept = default;
PipelineCacheFile& PipelineCacheFile::operator=(PipelineCacheFile&&) noexcept = default;

namespace {

// The functions, and the device whose pipelines the cache is for.
Result<std::unique_ptr<PipelineCacheFile::Impl>> make_impl(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                                           VkInstance instance, VkPhysicalDevice physical_device,
                                                           VkDevice device, const VkAllocationCallbacks* callbacks) {
  const auto functions = load_instance_functions(get_instance_proc_addr, instance);
  if (!functions) return std::unexpected(functions.error());
  if (physical_device == VK_NULL_HANDLE) return fail(ErrorKind::missing, "VkPhysicalDevice", "null");
  const auto device_functions = load_device_functions(*functions, device);
  if (!device_functions) return std::unexpected(device_functions.error());
  auto impl = std::make_unique<PipelineCacheFile::Impl>();
  impl->functions = *device_functions;
  impl->device = device;
  impl->callbacks = callbacks;
  functions->vkGetPhysicalDeviceProperties(physical_device, &impl->properties);
  return impl;
}

}  // namespace

Result<void> PipelineCacheFile::Impl::fill(const backend::FramedBytes& read, std::string_view name) {
  warning = read.warning;
  VkResult result = create(read.bytes);
  if (result == VK_SUCCESS) {
    loaded = read.bytes.size();
  } else if (!read.bytes.empty()) {
    warning = fmt::format("pipeline cache {} ignored: the driver refuses it", name);
    result = create({});
  }
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkCreatePipelineCache", result));
  return {};
}

Result<PipelineCacheFile> PipelineCacheFile::open(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                                                  VkPhysicalDevice physical_device, VkDevice device, std::string path,
                                                  const VkAllocationCallbacks* allocation_callbacks) {
  auto impl = make_impl(get_instance_proc_addr, instance, physical_device, device, allocation_callbacks);
  if (!impl) return std::unexpected(impl.error());
  (*impl)->path = std::move(path);
  const Identity ours = identity_of((*impl)->properties);
  const auto read =
      backend::read_framed((*impl)->path, frame_of(ours), [&](auto found) { return objection(ours, found); });
  if (auto filled = (*impl)->fill(read, (*impl)->path); !filled) return std::unexpected(filled.error());
  return PipelineCacheFile(std::move(*impl));
}

Result<PipelineCacheFile> PipelineCacheFile::from_bytes(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                                        VkInstance instance, VkPhysicalDevice physical_device,
                                                        VkDevice device, std::span<const std::byte> bytes,
                                                        const VkAllocationCallbacks* allocation_callbacks) {
  auto impl = make_impl(get_instance_proc_addr, instance, physical_device, device, allocation_callbacks);
  if (!impl) return std::unexpected(impl.error());
  const Identity ours = identity_of((*impl)->properties);
  constexpr std::string_view name = "from the caller";
  backend::FramedBytes read;
  if (!bytes.empty())
    read = backend::read_framed(bytes, name, frame_of(ours), [&](auto found) { return objection(ours, found); });
  if (auto filled = (*impl)->fill(read, name); !filled) return std::unexpected(filled.error());
  return PipelineCacheFile(std::move(*impl));
}

VkPipelineCache PipelineCacheFile::cache() const noexcept { return impl_->cache; }
std::size_t PipelineCacheFile::loaded_bytes() const noexcept { return impl_->loaded; }
std::string_view PipelineCacheFile::warning() const noexcept { return impl_->warning; }

Result<std::vector<std::byte>> PipelineCacheFile::Impl::data() const {
  std::vector<std::byte> out;
  VkResult result = VK_INCOMPLETE;
  while (result == VK_INCOMPLETE) {  // another thread may add a pipeline between the two calls
    std::size_t bytes = 0;
    result = functions.vkGetPipelineCacheData(device, cache, &bytes, nullptr);
    if (result != VK_SUCCESS) break;
    out.resize(bytes);
    result = functions.vkGetPipelineCacheData(device, cache, &bytes, out.data());
    out.resize(bytes);
  }
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkGetPipelineCacheData", result));
  return out;
}

Result<std::vector<std::byte>> PipelineCacheFile::bytes() const {
  const auto data = impl_->data();
  if (!data) return std::unexpected(data.error());
  const Identity ours = identity_of(impl_->properties);
  return backend::framed(frame_of(ours), *data);
}

Result<void> PipelineCacheFile::save() {
  if (impl_->path.empty()) return fail(ErrorKind::missing, "path", "none", "PipelineCacheFile::open");
  const auto data = impl_->data();
  if (!data) return std::unexpected(data.error());
  const Identity ours = identity_of(impl_->properties);
  return backend::write_framed(impl_->path, frame_of(ours), *data);
}

}  // namespace sectile::vulkan
