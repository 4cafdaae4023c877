// Buffers with device addresses, in VMA's memory, in sparse pieces, or in the caller's own pages.
#pragma once

#include "volk.hpp"

#include <sectile/vulkan_runtime.hpp>

#include <memory>
#include <vector>

namespace sectile::vulkan {

class Memory;

struct BufferState {
  explicit BufferState(Memory& owner) : memory(owner) {}
  ~BufferState();
  BufferState(const BufferState&) = delete;
  BufferState& operator=(const BufferState&) = delete;

  Memory& memory;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceAddress address = 0;
  std::uint64_t size = 0;
  std::byte* mapped = nullptr;
  bool sparse = false;
  std::vector<void*> allocations;  // VMA's: one, or a sparse buffer's pieces
  VkDeviceMemory imported = VK_NULL_HANDLE;
};

struct MemoryContext {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  PFN_vkGetDeviceProcAddr get_device_proc_addr = nullptr;
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  const volk::VolkDeviceTable* table = nullptr;  // outlives the Memory
  VkPhysicalDeviceMemoryProperties types{};
  VkQueue sparse_queue = VK_NULL_HANDLE;            // null: no sparse binding
  const QueueCallbacks* queue_callbacks = nullptr;  // outlives the Memory
  std::uint64_t largest_buffer = 0;
  std::uint64_t largest_allocation = 0;
  bool enforce_largest_allocation = false;  // for tests: never request more than the limit
  std::uint64_t import_alignment = 0;       // 0: no import
  bool import_unreported = false;           // the driver imports pages, but does not report it for buffers
};

class Memory {
 public:
  static Result<std::unique_ptr<Memory>> make(const MemoryContext& context);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Result<std::unique_ptr<BufferState>> make_buffer(std::uint64_t bytes, MemoryPlace place);
  Result<std::unique_ptr<BufferState>> import(void* pages, std::uint64_t bytes);
  std::uint64_t import_alignment() const noexcept { return context_.import_alignment; }
  std::uint64_t largest_allocation() const noexcept { return context_.largest_allocation; }

 private:
  friend struct BufferState;
  struct Allocator;
  Memory(const MemoryContext& context, std::unique_ptr<Allocator> allocator);
  void release(BufferState& state) noexcept;
  VkResult make_plain(BufferState& state, std::uint64_t bytes, MemoryPlace place);
  Result<void> make_sparse(BufferState& state, std::uint64_t bytes);
  VkResult allocate_pieces(BufferState& state, const VkMemoryRequirements& requirements,
                           std::vector<VkSparseMemoryBind>& binds);
  Result<void> bind_pieces(const BufferState& state, const std::vector<VkSparseMemoryBind>& binds);
  Result<std::unique_ptr<BufferState>> import_pages(void* pages, std::uint64_t bytes);
  VkResult import_into(BufferState& state, void* pages, std::uint64_t bytes, std::uint32_t types);
  // Errors: the memory that the driver gave has no usable address; it is then given back.
  VkResult take_address(BufferState& state, MemoryPlace place) noexcept;

  MemoryContext context_;
  std::unique_ptr<Allocator> allocator_;
};

}  // namespace sectile::vulkan
