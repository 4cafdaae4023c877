// The pipelines of one device, each made once and shared by all plans that need the same one.
#pragma once

#include "functions.hpp"

#include "backend/made_once.hpp"

#include <sectile/plan.hpp>
#include <sectile/vulkan.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace sectile::vulkan {

// All that shapes the code. Push bytes do not, so plans with different ids share pipelines.
struct PipelineKey {
  std::array<std::uint64_t, 2> module{};
  std::vector<Constant> constants;           // sorted by id
  std::uint32_t required_subgroup_size = 0;  // 0: none
  std::uint32_t push_bytes = 0;              // the pipeline layout has push constants alone
  auto operator<=>(const PipelineKey&) const = default;
};

// Owned by Pipelines; trim() does not remove it while another owner holds it.
struct Pipeline {
  VkPipeline handle = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
};

struct PipelineContext {
  DeviceFunctions functions;
  VkDevice device = VK_NULL_HANDLE;
  VkPipelineCache cache = VK_NULL_HANDLE;
  const VkAllocationCallbacks* callbacks = nullptr;
  bool capture_statistics = false;
  bool names = false;  // VK_EXT_debug_utils is enabled: each pipeline gets its kernel's name
};

// Thread-safe. Different keys compile at the same time; for the same key one thread compiles and the others wait.
class Pipelines {
 public:
  explicit Pipelines(const PipelineContext& context) : context_(context) {}
  ~Pipelines();
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;

  // Adds its counts to `info`. `kernel`: for the name alone. Errors: device.
  Result<std::shared_ptr<const Pipeline>> get(const PipelineKey& key, std::span<const std::uint32_t> words,
                                              const KernelName& kernel, PrepareInfo& info);
  // Null where there is none yet.
  std::shared_ptr<const Pipeline> find(const PipelineKey& key) { return pipelines_.find(key); }
  PipelineCounts counts() const;
  std::size_t trim();
  const PipelineContext& context() const noexcept { return context_; }

 private:
  Result<VkPipelineLayout> layout(std::uint32_t push_bytes);
  Result<VkPipeline> make(const PipelineKey& key, std::span<const std::uint32_t> words, VkPipelineLayout layout,
                          std::optional<bool>& hit) const;
  void name(VkPipeline pipeline, const PipelineKey& key, const KernelName& kernel) const;

  PipelineContext context_;
  backend::MadeOnce<PipelineKey, Pipeline> pipelines_;
  mutable std::mutex mutex_;  // guards all below; never held while compiling
  std::map<std::uint32_t, VkPipelineLayout> layouts_;
  PipelineCounts counts_;
};

}  // namespace sectile::vulkan
