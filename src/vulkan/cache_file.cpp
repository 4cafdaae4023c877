#include <sectile/vulkan.hpp>

#include "functions.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace sectile::vulkan {
namespace {

// Before the driver's bytes. Little-endian hosts only, as all that Vulkan runs on; a foreign byte order
// is a foreign file.
struct Header {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t vendor_id;
  std::uint32_t device_id;
  std::uint32_t driver_version;
  std::array<std::uint8_t, VK_UUID_SIZE> cache_uuid;
  std::uint64_t bytes;     // of the driver's data, which is all of the rest
  std::uint64_t checksum;  // XXH3 over the driver's data
};
static_assert(sizeof(Header) == 56, "written as it stands, so without gaps");
constexpr std::array<char, 8> kMagic = {'S', 'E', 'C', 'T', 'I', 'L', 'E', 'P'};
constexpr std::uint32_t kVersion = 1;

// No pipeline cache is this large; a file that is, is not ours.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;

class File {
 public:
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  explicit operator bool() const noexcept { return descriptor_ >= 0; }
  int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

bool read_all(int file, void* to, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t got = ::read(file, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int file, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const ssize_t put = ::write(file, at, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    at += put;
    bytes -= static_cast<std::size_t>(put);
  }
  return true;
}

Header header_for(const VkPhysicalDeviceProperties& p, std::span<const std::byte> data) {
  Header header{kMagic,          kVersion, p.vendorID,  p.deviceID,
                p.driverVersion, {},       data.size(), XXH3_64bits(data.data(), data.size())};
  std::memcpy(header.cache_uuid.data(), p.pipelineCacheUUID, VK_UUID_SIZE);
  return header;
}

// Why this header's data cannot be used; empty where it can.
std::string objection(const Header& header, const VkPhysicalDeviceProperties& p, std::uint64_t file_bytes) {
  if (header.magic != kMagic) return "not a pipeline cache of Sectile's";
  if (header.version != kVersion) return fmt::format("format {} (this is format {})", header.version, kVersion);
  if (header.vendor_id != p.vendorID || header.device_id != p.deviceID ||
      std::memcmp(header.cache_uuid.data(), p.pipelineCacheUUID, VK_UUID_SIZE) != 0)
    return "of another device or driver";
  if (header.driver_version != p.driverVersion)
    return fmt::format("of driver version {:#x} (this is {:#x})", header.driver_version, p.driverVersion);
  if (header.bytes != file_bytes - sizeof(Header))
    return fmt::format("truncated: {} bytes of {}", file_bytes, header.bytes + sizeof(Header));
  return {};
}

// The driver's data from the file; empty, with a warning where the file is there and cannot be used.
std::vector<std::byte> load(const std::string& path, const VkPhysicalDeviceProperties& p, std::string& warning) {
  const auto ignore = [&](std::string_view why) {
    warning = fmt::format("pipeline cache {} ignored: {}", path, why);
    return std::vector<std::byte>();
  };
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno == ENOENT ? std::vector<std::byte>() : ignore(std::strerror(errno));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return ignore(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return ignore("not a regular file");
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes > kMostBytes) return ignore(fmt::format("{} bytes", bytes));
  Header header{};
  if (bytes < sizeof(Header)) return ignore(fmt::format("truncated: {} bytes", bytes));
  if (!read_all(file.get(), &header, sizeof(Header))) return ignore("cannot be read");
  if (const std::string why = objection(header, p, bytes); !why.empty()) return ignore(why);
  std::vector<std::byte> data(header.bytes);
  if (!read_all(file.get(), data.data(), data.size())) return ignore("cannot be read");
  if (XXH3_64bits(data.data(), data.size()) != header.checksum) return ignore("checksum does not match");
  return data;
}

std::unexpected<Error> io_error(const std::string& path, std::string_view what) {
  return fail(ErrorKind::io, path, fmt::format("{}: {}", what, std::strerror(errno)));
}

// A file in the making: gone again unless it was renamed.
struct Temporary {
  std::string path;
  bool kept = false;
  ~Temporary() {
    if (!kept) ::unlink(path.c_str());
  }
};

Result<void> sync_folder(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const File file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder; the rename is atomic all the same.
  if (file && ::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS) return io_error(folder, "fsync");
  return {};
}

Result<void> save_atomically(const std::string& path, const Header& header, std::span<const std::byte> data) {
  // Two savers at once, in one process or in several, never share a temporary file; the last rename wins.
  static std::atomic<unsigned> serial{0};
  const std::string name = fmt::format("{}.{}.{}.part", path, ::getpid(), serial++);
  const File file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return io_error(name, "open");
  Temporary temporary{name};
  if (!write_all(file.get(), &header, sizeof(header)) || !write_all(file.get(), data.data(), data.size()))
    return io_error(name, "write");
  if (::fsync(file.get()) != 0) return io_error(name, "fsync");
  if (::rename(name.c_str(), path.c_str()) != 0) return io_error(path, "rename");
  temporary.kept = true;
  return sync_folder(path);
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

  const auto data = load(impl->path, impl->properties, impl->warning);
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

VkPipelineCache PipelineCacheFile::cache() const noexcept {
  return impl_->cache;
}
std::size_t PipelineCacheFile::loaded_bytes() const noexcept {
  return impl_->loaded;
}
std::string_view PipelineCacheFile::warning() const noexcept {
  return impl_->warning;
}

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
  return save_atomically(impl_->path, header_for(impl_->properties, data), data);
}

}  // namespace sectile::vulkan
