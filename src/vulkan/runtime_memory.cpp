#include "runtime_memory.hpp"

#include "queue_lock.hpp"

#include "runtime_instance.hpp"

#include <fmt/format.h>

// All that vk_mem_alloc.h includes, so that it is not declared in our namespace.
#include <vulkan/vulkan.h>
#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <utility>

// VMA is compiled in this file alone, in a namespace: an app may link its own VMA of another version.
#define VMA_IMPLEMENTATION
#define VMA_CALL_PRE static
#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 1
#define VMA_STATS_STRING_ENABLED 0
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
namespace sectile::vulkan::vma {
#include <vk_mem_alloc.h>
}
#pragma GCC diagnostic pop

namespace sectile::vulkan {
namespace {

constexpr std::uint64_t kLeastAlignment = 256;  // promised by Buffer::address()

VkBufferCreateInfo buffer_info(std::uint64_t bytes) {
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = std::max<std::uint64_t>(bytes, 16);  // Vulkan has no empty buffers
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  return info;
}

vma::VmaAllocation as_allocation(void* allocation) { return static_cast<vma::VmaAllocation>(allocation); }

}  // namespace

struct Memory::Allocator {
  vma::VmaAllocator handle = nullptr;
  ~Allocator() {
    if (handle != nullptr) vma::vmaDestroyAllocator(handle);
  }
};

BufferState::~BufferState() { memory.release(*this); }

Memory::Memory(const MemoryContext& context, std::unique_ptr<Allocator> allocator)
    : context_(context), allocator_(std::move(allocator)) {}
Memory::~Memory() = default;

Result<std::unique_ptr<Memory>> Memory::make(const MemoryContext& context) {
  auto allocator = std::make_unique<Allocator>();
  vma::VmaVulkanFunctions functions{};
  functions.vkGetInstanceProcAddr = context.get_instance_proc_addr;
  functions.vkGetDeviceProcAddr = context.get_device_proc_addr;
  vma::VmaAllocatorCreateInfo info{};
  info.flags = vma::VMA_ALLOCATOR_CREATE_BUFFER_DEVICE_ADDRESS_BIT;
  info.physicalDevice = context.physical_device;
  info.device = context.device;
  info.instance = context.instance;
  info.pVulkanFunctions = &functions;
  info.vulkanApiVersion = VK_API_VERSION_1_3;
  const VkResult result = vma::vmaCreateAllocator(&info, &allocator->handle);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vmaCreateAllocator", result));
  return std::unique_ptr<Memory>(new Memory(context, std::move(allocator)));
}

void Memory::release(BufferState& state) noexcept {
  // The buffer is destroyed before its memory; a sparse buffer's pieces are then freed together.
  if (state.buffer != VK_NULL_HANDLE) context_.table->vkDestroyBuffer(context_.device, state.buffer, nullptr);
  for (void* allocation : state.allocations) vma::vmaFreeMemory(allocator_->handle, as_allocation(allocation));
  if (state.imported != VK_NULL_HANDLE) context_.table->vkFreeMemory(context_.device, state.imported, nullptr);
}

// Where the process may have no more memory, lavapipe (Mesa 26.1.6) reports success and gives the address -1, which
// mmap returned, plus an offset. So an address that no buffer can have is taken for a refused allocation.
VkResult Memory::take_address(BufferState& state, MemoryPlace place) noexcept {
  constexpr std::uint64_t kLeastMapAlignment = 64;  // the specification's minMemoryMapAlignment
  VkBufferDeviceAddressInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  info.buffer = state.buffer;
  state.address = context_.table->vkGetBufferDeviceAddress(context_.device, &info);
  const bool mapped =
      place != MemoryPlace::host ||
      (state.mapped != nullptr && reinterpret_cast<std::uintptr_t>(state.mapped) % kLeastMapAlignment == 0);
  if (mapped && state.address != 0 && state.address % kLeastAlignment == 0) return VK_SUCCESS;
  release(state);
  state.buffer = VK_NULL_HANDLE;
  state.imported = VK_NULL_HANDLE;
  state.allocations.clear();
  state.mapped = nullptr;
  state.address = 0;
  return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

VkResult Memory::make_plain(BufferState& state, std::uint64_t bytes, MemoryPlace place) {
  const VkBufferCreateInfo info = buffer_info(bytes);
  vma::VmaAllocationCreateInfo wanted{};
  if (place == MemoryPlace::host) {
    wanted.usage = vma::VMA_MEMORY_USAGE_AUTO_PREFER_HOST;
    wanted.flags = vma::VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT | vma::VMA_ALLOCATION_CREATE_MAPPED_BIT;
    wanted.requiredFlags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  } else {
    wanted.usage = vma::VMA_MEMORY_USAGE_AUTO_PREFER_DEVICE;
  }
  // VMA obeys the device's limit. Some drivers allocate more, so a large buffer is requested from the driver directly.
  if (info.size > context_.largest_allocation) wanted.flags |= vma::VMA_ALLOCATION_CREATE_DEDICATED_MEMORY_BIT;
  vma::VmaAllocation allocation = nullptr;
  vma::VmaAllocationInfo got{};
  state.allocations.reserve(1);
  const VkResult result = vma::vmaCreateBufferWithAlignment(allocator_->handle, &info, &wanted, kLeastAlignment,
                                                            &state.buffer, &allocation, &got);
  if (result != VK_SUCCESS) return result;
  state.allocations.push_back(allocation);
  state.mapped = static_cast<std::byte*>(got.pMappedData);
  return take_address(state, place);
}

VkResult Memory::allocate_pieces(BufferState& state, const VkMemoryRequirements& requirements,
                                 std::vector<VkSparseMemoryBind>& binds) {
  // Pieces of a GiB at most, whole multiples of the sparse block.
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 30;
  const std::uint64_t most = std::min(kPiece, context_.largest_allocation);
  const std::uint64_t piece = std::max(requirements.alignment, most / requirements.alignment * requirements.alignment);
  vma::VmaAllocationCreateInfo wanted{};
  wanted.flags = vma::VMA_ALLOCATION_CREATE_DEDICATED_MEMORY_BIT;
  wanted.preferredFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  const std::uint64_t pieces = (requirements.size + piece - 1) / piece;
  state.allocations.reserve(pieces);
  binds.reserve(pieces);
  for (std::uint64_t at = 0; at < requirements.size; at += piece) {
    VkMemoryRequirements part = requirements;
    part.size = std::min(piece, requirements.size - at);
    vma::VmaAllocation allocation = nullptr;
    vma::VmaAllocationInfo got{};
    const VkResult result = vma::vmaAllocateMemory(allocator_->handle, &part, &wanted, &allocation, &got);
    if (result != VK_SUCCESS) return result;
    state.allocations.push_back(allocation);
    binds.push_back({at, part.size, got.deviceMemory, got.offset, 0});
  }
  return VK_SUCCESS;
}

Result<void> Memory::bind_pieces(const BufferState& state, const std::vector<VkSparseMemoryBind>& binds) {
  VkFenceCreateInfo fence_info{};
  fence_info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  VkFence fence = VK_NULL_HANDLE;
  VkResult result = context_.table->vkCreateFence(context_.device, &fence_info, nullptr, &fence);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkCreateFence", result));
  const VkSparseBufferMemoryBindInfo buffer{state.buffer, static_cast<std::uint32_t>(binds.size()), binds.data()};
  VkBindSparseInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO;
  info.bufferBindCount = 1;
  info.pBufferBinds = &buffer;
  const char* call = "vkQueueBindSparse";
  {
    const QueueLock locked(*context_.queue_callbacks);
    result = context_.table->vkQueueBindSparse(context_.sparse_queue, 1, &info, fence);
  }
  if (result == VK_SUCCESS) {
    call = "vkWaitForFences";
    result = context_.table->vkWaitForFences(context_.device, 1, &fence, VK_TRUE, UINT64_MAX);
  }
  context_.table->vkDestroyFence(context_.device, fence, nullptr);
  if (result != VK_SUCCESS) return std::unexpected(device_error(call, result));
  return {};
}

Result<void> Memory::make_sparse(BufferState& state, std::uint64_t bytes) {
  VkBufferCreateInfo info = buffer_info(bytes);
  info.flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT;
  VkResult result = context_.table->vkCreateBuffer(context_.device, &info, nullptr, &state.buffer);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkCreateBuffer (sparse)", result));
  VkMemoryRequirements requirements{};
  context_.table->vkGetBufferMemoryRequirements(context_.device, state.buffer, &requirements);
  std::vector<VkSparseMemoryBind> binds;
  result = allocate_pieces(state, requirements, binds);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkAllocateMemory (sparse)", result));
  if (auto bound = bind_pieces(state, binds); !bound) return bound;
  state.sparse = true;
  result = take_address(state, MemoryPlace::device);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkGetBufferDeviceAddress (sparse)", result));
  return {};
}

Result<std::unique_ptr<BufferState>> Memory::make_buffer(std::uint64_t bytes, MemoryPlace place) {
  if (bytes > context_.largest_buffer)
    return fail(ErrorKind::limit_exceeded, "buffer", fmt::format("{} bytes", bytes),
                fmt::format("at most {} bytes", context_.largest_buffer));
  auto state = std::make_unique<BufferState>(*this);
  state->size = bytes;
  const bool large = bytes > context_.largest_allocation;
  VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  if (!large || !context_.enforce_largest_allocation) result = make_plain(*state, bytes, place);
  if (result == VK_SUCCESS) return state;
  if (large && place == MemoryPlace::device && context_.sparse_queue != VK_NULL_HANDLE) {
    if (auto made = make_sparse(*state, bytes); !made) return std::unexpected(made.error());
    return state;
  }
  Error error = device_error("vkAllocateMemory", result);
  error.value += fmt::format(", {} bytes", bytes);
  if (large)
    error.limit =
        fmt::format("at most {} bytes in one allocation, and no sparse binding{}", context_.largest_allocation,
                    place == MemoryPlace::device ? " on this device" : " of host memory");
  return std::unexpected(std::move(error));
}

VkResult Memory::import_into(BufferState& state, void* pages, std::uint64_t bytes, std::uint32_t types) {
  VkImportMemoryHostPointerInfoEXT import{};
  import.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
  import.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  import.pHostPointer = pages;
  VkMemoryAllocateFlagsInfo flags{};
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.pNext = &import;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.pNext = &flags;
  info.allocationSize = bytes;
  VkResult result = VK_ERROR_INVALID_EXTERNAL_HANDLE;
  // Prefers coherent memory: there is no flush.
  for (const VkMemoryPropertyFlags wanted : {VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, VkMemoryPropertyFlagBits{}}) {
    for (std::uint32_t i = 0; i < context_.types.memoryTypeCount && result != VK_SUCCESS; ++i) {
      if ((types >> i & 1u) == 0 || (context_.types.memoryTypes[i].propertyFlags & wanted) != wanted) continue;
      info.memoryTypeIndex = i;
      result = context_.table->vkAllocateMemory(context_.device, &info, nullptr, &state.imported);
    }
  }
  if (result != VK_SUCCESS) return result;
  return context_.table->vkBindBufferMemory(context_.device, state.buffer, state.imported, 0);
}

Result<std::unique_ptr<BufferState>> Memory::import_pages(void* pages, std::uint64_t bytes) {
  auto state = std::make_unique<BufferState>(*this);
  state->size = bytes;
  VkExternalMemoryBufferCreateInfo external{};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  VkBufferCreateInfo info = buffer_info(bytes);
  info.pNext = &external;
  VkResult result = context_.table->vkCreateBuffer(context_.device, &info, nullptr, &state->buffer);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkCreateBuffer", result));

  VkMemoryRequirements requirements{};
  context_.table->vkGetBufferMemoryRequirements(context_.device, state->buffer, &requirements);
  VkMemoryHostPointerPropertiesEXT pointer{};
  pointer.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
  result = context_.table->vkGetMemoryHostPointerPropertiesEXT(
      context_.device, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, pages, &pointer);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkGetMemoryHostPointerPropertiesEXT", result));
  if (requirements.size > bytes)
    return fail(ErrorKind::too_small, "imported pages", fmt::format("{} bytes", bytes),
                fmt::format("{} bytes", requirements.size));
  result = import_into(*state, pages, bytes, requirements.memoryTypeBits & pointer.memoryTypeBits);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkAllocateMemory (imported pages)", result));
  state->mapped = static_cast<std::byte*>(pages);
  result = take_address(*state, MemoryPlace::host);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkGetBufferDeviceAddress (imported pages)", result));
  return state;
}

Result<std::unique_ptr<BufferState>> Memory::import(void* pages, std::uint64_t bytes) {
  const std::uint64_t align = context_.import_alignment;
  if (align == 0)
    return fail(ErrorKind::unsupported, "imported pages", "no VK_EXT_external_memory_host", "a device that has it");
  const auto at = reinterpret_cast<std::uintptr_t>(pages);
  if (at % align != 0)
    return fail(ErrorKind::misaligned, "imported pages", fmt::format("{:#x}", at),
                fmt::format("a multiple of {}", align));
  if (bytes % align != 0 || bytes == 0)
    return fail(ErrorKind::misaligned, "imported pages", fmt::format("{} bytes", bytes),
                fmt::format("a multiple of {}", align));
  // SwiftShader (chromium 140 to 149) has the extension and imports pages, but
  // vkGetPhysicalDeviceExternalBufferProperties does not report it. The layer's message is right, and the import
  // works.
  constexpr const char* kUnreported[] = {"VUID-VkBufferCreateInfo-pNext-00920",
                                         "VUID-VkImportMemoryWin32HandleInfoKHR-handleType-09861"};
  const MutedMessages mute(context_.import_unreported ? std::span<const char* const>(kUnreported)
                                                      : std::span<const char* const>());
  return import_pages(pages, bytes);
}

Buffer::Buffer(std::unique_ptr<BufferState> state) noexcept : state_(std::move(state)) {}
Buffer::Buffer() noexcept = default;
Buffer::~Buffer() = default;
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;
VkBuffer Buffer::handle() const noexcept { return state_ ? state_->buffer : VK_NULL_HANDLE; }
VkDeviceAddress Buffer::address() const noexcept { return state_ ? state_->address : 0; }
std::uint64_t Buffer::size() const noexcept { return state_ ? state_->size : 0; }
std::byte* Buffer::mapped() const noexcept { return state_ ? state_->mapped : nullptr; }
bool Buffer::sparse() const noexcept { return state_ && state_->sparse; }

}  // namespace sectile::vulkan
