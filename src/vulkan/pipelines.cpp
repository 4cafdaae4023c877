#include "pipelines.hpp"

namespace sectile::vulkan {
namespace {

// The structs that a chain of create infos points to.
struct Specialization {
  std::vector<VkSpecializationMapEntry> entries;
  std::vector<std::uint32_t> values;
  VkSpecializationInfo info{};

  explicit Specialization(const std::vector<Constant>& constants) {
    for (const Constant& constant : constants) {
      entries.push_back(
          {constant.id, static_cast<std::uint32_t>(values.size() * sizeof(std::uint32_t)), sizeof(std::uint32_t)});
      values.push_back(constant.value);
    }
    info.mapEntryCount = static_cast<std::uint32_t>(entries.size());
    info.pMapEntries = entries.data();
    info.dataSize = values.size() * sizeof(std::uint32_t);
    info.pData = values.data();
  }
  Specialization(const Specialization&) = delete;
  Specialization& operator=(const Specialization&) = delete;
};

}  // namespace

Pipelines::~Pipelines() {
  pipelines_.for_each([this](const Pipeline& pipeline) {
    context_.functions.vkDestroyPipeline(context_.device, pipeline.handle, context_.callbacks);
  });
  for (const auto& [bytes, layout] : layouts_)
    context_.functions.vkDestroyPipelineLayout(context_.device, layout, context_.callbacks);
}

Result<VkPipelineLayout> Pipelines::layout(std::uint32_t push_bytes) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = layouts_.find(push_bytes); found != layouts_.end()) return found->second;
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes};
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.pushConstantRangeCount = push_bytes == 0 ? 0 : 1;
  info.pPushConstantRanges = &range;
  // Makes the entry first: if memory ran out after the driver's call, the handle would leak.
  VkPipelineLayout& place = layouts_[push_bytes];
  const VkResult result = context_.functions.vkCreatePipelineLayout(context_.device, &info, context_.callbacks, &place);
  if (result == VK_SUCCESS) return place;
  layouts_.erase(push_bytes);
  return std::unexpected(device_error("vkCreatePipelineLayout", result));
}

Result<VkPipeline> Pipelines::make(const PipelineKey& key, std::span<const std::uint32_t> words,
                                   VkPipelineLayout layout, std::optional<bool>& hit) const {
  const Specialization specialization(key.constants);
  VkShaderModuleCreateInfo module_info{};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = words.size_bytes();
  module_info.pCode = words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  const auto& f = context_.functions;
  VkResult result = f.vkCreateShaderModule(context_.device, &module_info, context_.callbacks, &module);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkCreateShaderModule", result));

  VkPipelineCreationFeedback whole{}, stage{};
  VkPipelineCreationFeedbackCreateInfo feedback{};
  feedback.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO;
  feedback.pPipelineCreationFeedback = &whole;
  feedback.pipelineStageCreationFeedbackCount = 1;
  feedback.pPipelineStageCreationFeedbacks = &stage;

  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup{};
  subgroup.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
  subgroup.requiredSubgroupSize = key.required_subgroup_size;

  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.pNext = &feedback;
  if (context_.capture_statistics) info.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
  info.layout = layout;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &specialization.info;
  if (key.required_subgroup_size != 0) {
    info.stage.pNext = &subgroup;
    info.stage.flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  VkPipeline pipeline = VK_NULL_HANDLE;
  result = f.vkCreateComputePipelines(context_.device, context_.cache, 1, &info, context_.callbacks, &pipeline);
  f.vkDestroyShaderModule(context_.device, module, context_.callbacks);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkCreateComputePipelines", result));
  if ((whole.flags & VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT) != 0)
    hit = (whole.flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT) != 0;
  return pipeline;
}

// "permute_tile.e2 0=256 3=64": the kernel and its constants. A name that the layer cannot keep is none.
void Pipelines::name(VkPipeline pipeline, const PipelineKey& key, const KernelName& kernel) const {
  std::string text = kernel.stem + "." + kernel.variant;
  for (const Constant& constant : key.constants)
    text += " " + std::to_string(constant.id) + "=" + std::to_string(constant.value);
  VkDebugUtilsObjectNameInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT;
  info.objectType = VK_OBJECT_TYPE_PIPELINE;
  info.objectHandle = reinterpret_cast<std::uint64_t>(pipeline);
  info.pObjectName = text.c_str();
  context_.functions.vkSetDebugUtilsObjectNameEXT(context_.device, &info);
}

Result<std::shared_ptr<const Pipeline>> Pipelines::get(const PipelineKey& key, std::span<const std::uint32_t> words,
                                                       const KernelName& kernel, PrepareInfo& info) {
  const auto pipeline_layout = layout(key.push_bytes);
  if (!pipeline_layout) return std::unexpected(pipeline_layout.error());
  std::optional<bool> hit;
  auto got = pipelines_.get(key, [&]() -> Result<std::shared_ptr<const Pipeline>> {
    auto pipeline = std::make_shared<Pipeline>();
    const auto made = make(key, words, *pipeline_layout, hit);
    if (!made) return std::unexpected(made.error());
    *pipeline = {*made, *pipeline_layout};
    if (context_.names) name(*made, key, kernel);
    // Counted while others wait for this key, so that the count includes every pipeline that a caller has.
    const std::scoped_lock counting(mutex_);
    ++counts_.live;
    ++counts_.created;
    if (hit.value_or(false)) ++counts_.cache_hits;
    counts_.last_hit_cache = hit;
    return pipeline;
  });
  if (!got) return std::unexpected(got.error());
  ++(got->made ? info.pipelines_created : info.pipelines_shared);
  if (hit.value_or(false)) ++info.cache_hits;
  return std::move(got->value);
}

PipelineCounts Pipelines::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

std::size_t Pipelines::trim() {
  return pipelines_.trim([this](const Pipeline& pipeline) {
    context_.functions.vkDestroyPipeline(context_.device, pipeline.handle, context_.callbacks);
    const std::scoped_lock lock(mutex_);
    --counts_.live;
  });
}

}  // namespace sectile::vulkan
