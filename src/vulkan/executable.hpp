// The inside of an Executable: what record needs.
#pragma once

#include "pipelines.hpp"

#include "backend/operands.hpp"

#include <string>
#include <vector>

namespace sectile::vulkan {

// Push bytes are assembled on the stack while recording; no known driver allows more than 256.
inline constexpr std::size_t kMostPushBytes = 1024;

struct ReadyStep {
  std::shared_ptr<const Pipeline> pipeline;
  KernelName kernel;
  std::string label;  // empty: none
  std::array<std::uint32_t, 3> grid{};
  std::vector<std::uint8_t> push;  // padded to a multiple of 4
  std::vector<AddressSlot> addresses;
  bool barrier_before = false;
};

struct ReadyPlan {
  PFN_vkCmdBindPipeline bind_pipeline = nullptr;
  PFN_vkCmdPushConstants push_constants = nullptr;
  PFN_vkCmdDispatch dispatch = nullptr;
  PFN_vkCmdPipelineBarrier pipeline_barrier = nullptr;
  PFN_vkCmdBeginDebugUtilsLabelEXT begin_label = nullptr;  // null: no labels
  PFN_vkCmdEndDebugUtilsLabelEXT end_label = nullptr;
  std::string label;
  std::vector<PlanOperand> operands;
  // One entry for each operand: of all steps; of those before the plan's first barrier, which earlier work has to be
  // ordered with; and of those after its last one, which later work has to be ordered with.
  std::vector<backend::Accessed> accessed, accessed_first, accessed_last;
  bool orders = false;  // the plan has a barrier: all that was recorded before it is ordered with what follows it
  std::vector<ReadyStep> steps;
  std::string plan_id;
  PrepareInfo info;
};

// The only access to an Executable's inside.
struct ExecutableAccess {
  static const ReadyPlan* get(const Executable& executable) noexcept { return executable.ready_.get(); }
  static Executable make(std::shared_ptr<const ReadyPlan> ready) {
    Executable out;
    out.ready_ = std::move(ready);
    return out;
  }
};

}  // namespace sectile::vulkan
