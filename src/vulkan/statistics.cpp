#include "device.hpp"
#include "executable.hpp"

#include <fmt/format.h>

namespace sectile::vulkan {
namespace {

std::string value_text(const VkPipelineExecutableStatisticKHR& statistic) {
  switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      return statistic.value.b32 != VK_FALSE ? "true" : "false";
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      return std::to_string(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
      return std::to_string(statistic.value.u64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
      return fmt::format("{}", statistic.value.f64);
    default:
      return {};
  }
}

Result<std::vector<Statistic>> read_statistics(const PipelineContext& context, VkPipeline pipeline,
                                               std::uint32_t index) {
  VkPipelineExecutableInfoKHR info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
  info.pipeline = pipeline;
  info.executableIndex = index;
  const auto get = context.functions.vkGetPipelineExecutableStatisticsKHR;
  std::uint32_t count = 0;
  VkResult result = get(context.device, &info, &count, nullptr);
  VkPipelineExecutableStatisticKHR empty{};
  empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
  std::vector<VkPipelineExecutableStatisticKHR> rows(count, empty);
  if (result == VK_SUCCESS) result = get(context.device, &info, &count, rows.data());
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkGetPipelineExecutableStatisticsKHR", result));
  rows.resize(count);
  std::vector<Statistic> out;
  out.reserve(rows.size());
  for (const auto& row : rows) out.push_back({row.name, value_text(row), row.description});
  return out;
}

Result<void> read_pipeline(const PipelineContext& context, const ReadyStep& step, std::vector<StepStatistics>& out) {
  VkPipelineInfoKHR info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR;
  info.pipeline = step.pipeline->handle;
  const auto get = context.functions.vkGetPipelineExecutablePropertiesKHR;
  std::uint32_t count = 0;
  VkResult result = get(context.device, &info, &count, nullptr);
  VkPipelineExecutablePropertiesKHR empty{};
  empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR;
  std::vector<VkPipelineExecutablePropertiesKHR> executables(count, empty);
  if (result == VK_SUCCESS) result = get(context.device, &info, &count, executables.data());
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkGetPipelineExecutablePropertiesKHR", result));
  executables.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    auto statistics = read_statistics(context, info.pipeline, i);
    if (!statistics) return std::unexpected(statistics.error());
    out.push_back({step.kernel, executables[i].name, executables[i].subgroupSize, std::move(*statistics)});
  }
  return {};
}

}  // namespace

Result<std::vector<StepStatistics>> Device::statistics(const Executable& executable) const {
  const PipelineContext& context = impl_->pipelines.context();
  if (!impl_->features.has(Feature::executable_statistics))
    return fail(ErrorKind::unsupported, "executable statistics", impl_->profile.name,
                "a device with VK_KHR_pipeline_executable_properties enabled");
  if (!context.capture_statistics)
    return fail(ErrorKind::unsupported, "executable statistics", "not enabled", "Adoption::executable_statistics");
  std::vector<StepStatistics> out;
  if (const ReadyPlan* ready = ExecutableAccess::get(executable))
    for (const ReadyStep& step : ready->steps)
      if (auto done = read_pipeline(context, step, out); !done) return std::unexpected(done.error());
  return out;
}

}  // namespace sectile::vulkan
