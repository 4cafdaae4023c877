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
};

PipelineCacheFile::PipelineCacheFile(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
PipelineCacheFile::~PipelineCacheFile() = default;
PipelineCacheFile::PipelineCacheFile(PipelineCacheFile&&) noexcept = default;
PipelineCacheFile& PipelineCacheFile::operator=(PipelineCacheFile&&) noexcept = default;

Result<PipelineCacheFile> PipelineCacheFile::open(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                                                  VkPhysicalDevice physical_device, VkDevice device, std::string path,
                                                  const VkAllocationCallbacks* allocation_callbacks) {
  const auto functions = load_instance_functions(get_instance_proc_addr, instance);
  if (!functions) return std::unexpected(functions.error());
  if (physical_device == VK_NULL_HANDLE) return fail(ErrorKind::missing, "VkPhysicalDevice", "null");
  const auto device_functions = load_device_functions(*functions, device);
  if (!device_functions) return std::unexpected(device_functions.error());

  auto impl = std::make_unique<Impl>();
  impl->functions = *device_functions;
  impl->device = device;
  impl->callbacks = allocation_callbacks;
  impl->path = std::move(path);
  functions->vkGetPhysicalDeviceProperties(physical_device, &impl->properties);

  const Identity ours = identity_of(impl->properties);
  const auto [data, warning, foreign] =
      backend::read_framed(impl->path, frame_of(ours), [&](auto found) { return objection(ours, found); });
  impl->warning = warning;
  VkResult result = impl->create(data);
  if (result == VK_SUCCESS) {
    impl->loaded = data.size();
  } else if (!data.empty()) {
    impl->warning = fmt::format("pipeline cache {} ignored: the driver refuses it", impl->path);
    result = impl->create({});
  }
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkCreatePipelineCache", result));
  return PipelineCacheFile(std::move(impl));
}

VkPipelineCache PipelineCacheFile::cache() const noexcept { return impl_->cache; }
std::size_t PipelineCacheFile::loaded_bytes() const noexcept { return impl_->loaded; }
std::string_view PipelineCacheFile::warning() const noexcept { return impl_->warning; }

Result<void> PipelineCacheFile::save() {
  std::vector<std::byte> data;
  VkResult result = VK_INCOMPLETE;
  while (result == VK_INCOMPLETE) {  // another thread may add a pipeline between the two calls
    std::size_t bytes = 0;
    result = impl_->functions.vkGetPipelineCacheData(impl_->device, impl_->cache, &bytes, nullptr);
    if (result != VK_SUCCESS) break;
    data.resize(bytes);
    result = impl_->functions.vkGetPipelineCacheData(impl_->device, impl_->cache, &bytes, data.data());
    data.resize(bytes);
  }
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkGetPipelineCacheData", result));
  const Identity ours = identity_of(impl_->properties);
  return backend::write_framed(impl_->path, frame_of(ours), data);
}

}  // namespace sectile::vulkan
