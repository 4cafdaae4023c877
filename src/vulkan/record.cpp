#include "executable.hpp"

#include <fmt/format.h>

#include <cstring>

namespace sectile::vulkan {
namespace {

std::string hex(std::uint64_t value) {
  return fmt::format("{:#x}", value);
}

std::unexpected<Error> overlap(const ReadyPlan& executable, std::size_t a, std::size_t b,
                               std::span<const OperandAddress> operands) {
  const auto range = [&](std::size_t i) {
    return fmt::format("{} [{:#x}, {:#x})", executable.operands[i].name,
                       operands[i].address + executable.touched[i].begin,
                       operands[i].address + executable.touched[i].end);
  };
  return fail(ErrorKind::overlap, executable.operands[a].name + " and " + executable.operands[b].name,
              range(a) + ", " + range(b), "no byte shared with a written operand");
}

Result<void> check_operand(const PlanOperand& operand, const OperandAddress& given) {
  if (operand.bytes == 0) return {};  // no byte of it is touched
  if (given.address == 0) return fail(ErrorKind::missing, operand.name, "address 0");
  if ((given.address & (operand.align - 1)) != 0)
    return fail(ErrorKind::misaligned, operand.name, hex(given.address),
                fmt::format("a multiple of {}", operand.align));
  if (given.bytes != 0 && given.bytes < operand.bytes)
    return fail(ErrorKind::too_small, operand.name, fmt::format("{} bytes", given.bytes),
                fmt::format("{} bytes", operand.bytes));
  if (given.address + operand.bytes < given.address)
    return fail(ErrorKind::overflow, operand.name, hex(given.address), "an address range within 64 bits");
  return {};
}

Result<void> check_operands(const ReadyPlan& executable, std::span<const OperandAddress> operands) {
  if (operands.size() != executable.operands.size())
    return fail(ErrorKind::missing, "operand addresses", std::to_string(operands.size()),
                std::to_string(executable.operands.size()));
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (auto fine = check_operand(executable.operands[i], operands[i]); !fine) return fine;
  for (std::size_t a = 0; a < operands.size(); ++a) {
    for (std::size_t b = a + 1; b < operands.size(); ++b) {
      const Touched& x = executable.touched[a];
      const Touched& y = executable.touched[b];
      if ((!x.written && !y.written) || x.begin == x.end || y.begin == y.end) continue;
      if (operands[a].address + x.begin < operands[b].address + y.end &&
          operands[b].address + y.begin < operands[a].address + x.end)
        return overlap(executable, a, b, operands);
    }
  }
  return {};
}

// Later steps see what earlier ones wrote, and write over what those have read.
void record_barrier(VkCommandBuffer commands, const ReadyPlan& executable) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  executable.pipeline_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0,
                              1, &barrier, 0, nullptr, 0, nullptr);
}

}  // namespace

std::span<const PlanOperand> Executable::operands() const noexcept {
  return ready_ ? std::span<const PlanOperand>(ready_->operands) : std::span<const PlanOperand>();
}
std::size_t Executable::step_count() const noexcept {
  return ready_ ? ready_->steps.size() : 0;
}
std::string_view Executable::plan_id() const noexcept {
  return ready_ ? ready_->plan_id : std::string_view();
}
const PrepareInfo& Executable::info() const noexcept {
  static constexpr PrepareInfo kNothing;
  return ready_ ? ready_->info : kNothing;
}

Result<void> record(VkCommandBuffer commands, const Executable& handle, std::span<const OperandAddress> operands) {
  const ReadyPlan* executable = ExecutableAccess::get(handle);
  if (executable == nullptr) return {};
  if (auto fine = check_operands(*executable, operands); !fine) return fine;
  alignas(8) std::array<std::uint8_t, kMostPushBytes> push;
  for (const ReadyStep& step : executable->steps) {
    if (step.barrier_before) record_barrier(commands, *executable);
    executable->bind_pipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, step.pipeline->handle);
    if (!step.push.empty()) {
      std::memcpy(push.data(), step.push.data(), step.push.size());
      for (const AddressSlot& slot : step.addresses) {
        const std::uint64_t address = operands[slot.operand].address + slot.byte_offset;
        std::memcpy(push.data() + slot.push_offset, &address, sizeof(address));
      }
      executable->push_constants(commands, step.pipeline->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                 static_cast<std::uint32_t>(step.push.size()), push.data());
    }
    executable->dispatch(commands, step.grid[0], step.grid[1], step.grid[2]);
  }
  return {};
}

}  // namespace sectile::vulkan
