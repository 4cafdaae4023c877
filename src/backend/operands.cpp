#include "operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sectile::backend {
namespace {

std::string hex(std::uint64_t value) { return fmt::format("{:#x}", value); }

Result<void> check_operand(const PlanOperand& operand, const OperandAddress& given) {
  if (operand.bytes == 0) return {};  // no byte of it is accessed
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

std::string range_text(const PlanOperand& operand, const Accessed& accessed, const OperandAddress& given) {
  return fmt::format("{} [{:#x}, {:#x})", operand.name, given.address + accessed.begin, given.address + accessed.end);
}

}  // namespace

Result<void> check_prepared(const Plan& plan, const DeviceProfile& profile, std::string_view profile_hash,
                            const PrepareOptions& options) {
  const auto of_device = [](std::string_view hash) { return hash.substr(0, kDeviceDigits); };
  if (!options.any_profile && !plan.profile_hash.empty() && of_device(plan.profile_hash) != of_device(profile_hash))
    return fail(ErrorKind::invalid_plan, "profile that the plan was made for",
                fmt::format("{} ({})", plan.profile_name, plan.profile_hash),
                fmt::format("{} ({}), the device's; or PrepareOptions::any_profile", profile.name, profile_hash));
  return check_plan(plan, profile);
}

std::vector<Accessed> accessed_ranges(const Plan& plan, std::size_t first, std::size_t end) {
  std::vector<Accessed> out(plan.operands.size());
  for (const Step& step : std::span(plan.steps).subspan(first, end - first)) {
    for (const AccessRange& range : step.accesses) {
      Accessed& t = out[range.operand];
      t.begin = t.begin == t.end ? range.begin : std::min(t.begin, range.begin);
      t.end = std::max(t.end, range.end);
      t.written = t.written || range.write;
    }
  }
  return out;
}

Result<void> check_operands(std::span<const PlanOperand> operands, std::span<const Accessed> accessed,
                            std::span<const OperandAddress> given) {
  if (given.size() != operands.size()) {
    std::string names;
    for (const PlanOperand& operand : operands) names += (names.empty() ? "" : ", ") + operand.name;
    const bool few = given.size() < operands.size();
    return fail(few ? ErrorKind::missing : ErrorKind::invalid_problem, "operand addresses",
                fmt::format("{}, {}", given.size(), few ? "too few" : "too many"),
                fmt::format("{}: {}", operands.size(), names));
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    if (auto fine = check_operand(operands[i], given[i]); !fine) return fine;
  for (std::size_t a = 0; a < given.size(); ++a) {
    for (std::size_t b = a + 1; b < given.size(); ++b) {
      const Accessed& x = accessed[a];
      const Accessed& y = accessed[b];
      if ((!x.written && !y.written) || x.begin == x.end || y.begin == y.end) continue;
      if (given[a].address + x.begin < given[b].address + y.end &&
          given[b].address + y.begin < given[a].address + x.end)
        return fail(ErrorKind::overlap, operands[a].name + " and " + operands[b].name,
                    range_text(operands[a], x, given[a]) + ", " + range_text(operands[b], y, given[b]),
                    "no byte shared with a written operand");
    }
  }
  return {};
}

void fill_push(std::span<const std::uint8_t> push, std::span<const AddressSlot> slots,
               std::span<const OperandAddress> given, std::uint8_t* to) noexcept {
  if (push.empty()) return;
  std::memcpy(to, push.data(), push.size());
  for (const AddressSlot& slot : slots) {
    const std::uint64_t address = given[slot.operand].address + slot.byte_offset;
    std::memcpy(to + slot.push_offset, &address, sizeof(address));
  }
}

}  // namespace sectile::backend
