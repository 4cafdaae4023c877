// Checks that a backend can run a plan safely: launches, addresses, ranges, barriers, device limits.
#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include "plan/refusal.hpp"

#include "base/arithmetic.hpp"
#include "lib/abi.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace sectile {

namespace {

// These bound the checker's work on an untrusted plan: it compares every pair of ranges between two barriers.
constexpr std::size_t kMostSteps = 64, kMostRanges = 64, kMostMaps = 8, kMostConstants = 1024;

// Workgroups of a cluster: 8 on each device that has clusters, 16 where the device allows it for a kernel.
constexpr std::uint32_t kMostCluster = 16;

std::unexpected<Error> refuse(std::size_t step, std::string_view what, std::string value, std::string limit = {}) {
  return fail(ErrorKind::invalid_plan, "step " + std::to_string(step) + " " + std::string(what), std::move(value),
              std::move(limit));
}

std::string range_text(const Plan& plan, const AccessRange& range) {
  return (range.write ? "write of " : "read of ") + plan.operands[range.operand].name + " [" +
         std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
}

bool conflict(const AccessRange& a, const AccessRange& b) {
  return a.operand == b.operand && (a.write || b.write) && a.begin < b.end && b.begin < a.end;
}

Result<void> check_operands(const Plan& plan) {
  for (const PlanOperand& operand : plan.operands) {
    if (operand.name.empty()) return fail(ErrorKind::invalid_plan, "operand", "without a name");
    if (!std::has_single_bit(operand.align))
      return fail(ErrorKind::invalid_plan, operand.name + " align", std::to_string(operand.align), "a power of two");
  }
  return {};
}

Result<void> check_cluster(const Step& step, std::size_t at) {
  std::uint32_t together = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint32_t side = step.cluster[i];
    if (side < 1 || side > kMostCluster || (together *= side) > kMostCluster)
      return refuse(at, "cluster", "side " + std::to_string(i) + " of " + std::to_string(side),
                    "1 to " + std::to_string(kMostCluster) + " workgroups together");
    if (step.grid[i] % side != 0)
      return refuse(at, "grid", std::to_string(step.grid[i]), "a multiple of the cluster's " + std::to_string(side));
  }
  return {};
}

Result<void> check_launch(const Step& step, std::size_t at) {
  if (step.kernel.stem.empty()) return refuse(at, "kernel", "without a name");
  for (std::size_t i = 0; i < 3; ++i) {
    if (step.workgroup[i] == 0) return refuse(at, "workgroup", "0", "at least 1");
    if (step.grid[i] == 0) return refuse(at, "grid", "0", "at least 1");
    // Every kernel's size in y and z is 1.
    if (i > 0 && step.workgroup[i] != 1)
      return refuse(at, i == 1 ? "workgroup size y" : "workgroup size z", std::to_string(step.workgroup[i]), "1");
  }
  if (step.constants.size() > kMostConstants)
    return refuse(at, "constants", std::to_string(step.constants.size()), "at most " + std::to_string(kMostConstants));
  const auto out_of_order = [](const Constant& a, const Constant& b) { return a.id >= b.id; };
  if (std::ranges::adjacent_find(step.constants, out_of_order) != step.constants.end())
    return refuse(at, "constants", "not sorted by id", "each id once, ascending");
  // The kernel takes its size in x from constant 0. The limits are checked against step.workgroup: both must agree.
  const auto size = std::ranges::find(step.constants, std::uint32_t{SECTILE_SPEC_WORKGROUP}, &Constant::id);
  if (size == step.constants.end() || size->value != step.workgroup[0])
    return refuse(at, "constant 0", size == step.constants.end() ? "not there" : std::to_string(size->value),
                  "the workgroup's size, " + std::to_string(step.workgroup[0]));
  if (step.push.size() % 4 != 0) return refuse(at, "push bytes", std::to_string(step.push.size()), "a multiple of 4");
  return check_cluster(step, at);
}

Result<void> check_addresses(const Plan& plan, const Step& step, std::size_t at) {
  if (step.addresses.size() > kMostRanges)
    return refuse(at, "addresses", std::to_string(step.addresses.size()), "at most " + std::to_string(kMostRanges));
  for (std::size_t i = 0; i < step.addresses.size(); ++i) {
    const AddressSlot& slot = step.addresses[i];
    if (slot.operand >= plan.operands.size())
      return refuse(at, "address", "of operand " + std::to_string(slot.operand),
                    std::to_string(plan.operands.size()) + " operands");
    if (slot.push_offset % 8 != 0 || step.push.size() < 8 || slot.push_offset > step.push.size() - 8)
      return refuse(at, "address", "at push offset " + std::to_string(slot.push_offset),
                    "a multiple of 8 inside " + std::to_string(step.push.size()) + " push bytes");
    const PlanOperand& operand = plan.operands[slot.operand];
    if (slot.byte_offset > operand.bytes)
      return refuse(at, "address", operand.name + " + " + std::to_string(slot.byte_offset),
                    "inside its " + std::to_string(operand.bytes) + " bytes");
    const auto bytes = step.push.begin() + slot.push_offset;
    if (std::any_of(bytes, bytes + 8, [](std::uint8_t byte) { return byte != 0; }))
      return refuse(at, "address", "push bytes at " + std::to_string(slot.push_offset), "zeros until it is recorded");
    for (std::size_t j = 0; j < i; ++j)
      if (step.addresses[j].push_offset == slot.push_offset)
        return refuse(at, "address", "two at push offset " + std::to_string(slot.push_offset));
    // Ordering is proved from the ranges alone, so an operand whose address is passed needs a range.
    if (std::ranges::none_of(step.accesses, [&](const AccessRange& range) { return range.operand == slot.operand; }))
      return refuse(at, "address", "of " + operand.name, "a range that it accesses");
  }
  return {};
}

Result<void> check_ranges(const Plan& plan, const Step& step, std::size_t at) {
  if (step.accesses.size() > kMostRanges)
    return refuse(at, "ranges", std::to_string(step.accesses.size()), "at most " + std::to_string(kMostRanges));
  for (std::size_t i = 0; i < step.accesses.size(); ++i) {
    const AccessRange& range = step.accesses[i];
    if (range.operand >= plan.operands.size())
      return refuse(at, "range", "of operand " + std::to_string(range.operand),
                    std::to_string(plan.operands.size()) + " operands");
    const PlanOperand& operand = plan.operands[range.operand];
    if (range.begin >= range.end || range.end > operand.bytes)
      return refuse(at, "range", range_text(plan, range), "inside its " + std::to_string(operand.bytes) + " bytes");
    if (range.write && operand.role == OperandRole::source)
      return refuse(at, "range", range_text(plan, range), "no write to a source");
    if (std::ranges::none_of(step.addresses, [&](const AddressSlot& slot) { return slot.operand == range.operand; }))
      return refuse(at, "range", range_text(plan, range), "an address of " + operand.name);
    for (std::size_t j = 0; j < i; ++j)
      if (conflict(step.accesses[j], range))
        return refuse(at, "ranges", range_text(plan, step.accesses[j]) + " and " + range_text(plan, range),
                      "no conflict inside a step");
  }
  return {};
}

// The requirements of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, in the manual's words for layouts that are
// not interleaved. Here: the numbers that stand for themselves.
Result<void> check_map_kind(const TensorMap& map, std::size_t at) {
  const auto is_power = [](std::uint32_t n, std::uint32_t least, std::uint32_t most) {
    return std::has_single_bit(n) && n >= least && n <= most;
  };
  const std::size_t rank = map.dims.size();
  if (rank < 1 || rank > 5 || map.strides.size() != rank - 1)
    return refuse(at, "tensor map", std::to_string(rank) + " dimensions", "1 to 5, one stride fewer");
  if (!is_power(map.element_bytes, 1, 8))
    return refuse(at, "tensor map", std::to_string(map.element_bytes) + "-byte elements", "1, 2, 4 or 8");
  if (map.swizzle_bytes != 0 && !is_power(map.swizzle_bytes, 32, 128))
    return refuse(at, "tensor map", "swizzle of " + std::to_string(map.swizzle_bytes) + " bytes", "0, 32, 64 or 128");
  const std::uint32_t filled = map.fill == TensorFill::zeros     ? map.element_bytes
                               : map.fill == TensorFill::nan_f32 ? 4
                                                                 : 2;
  if (map.element_bytes != filled)
    return refuse(at, "tensor map", std::to_string(map.element_bytes) + "-byte elements",
                  std::to_string(filled) + " bytes, as the NaNs that it is filled with");
  // The encoder ignores the innermost one.
  const auto outside = [](std::uint32_t stride) { return stride < 1 || stride > 8; };
  if (!map.element_strides.empty() && (map.element_strides.size() != rank || map.element_strides[0] != 1 ||
                                       std::ranges::any_of(map.element_strides, outside)))
    return refuse(at, "tensor map", std::to_string(map.element_strides.size()) + " element strides",
                  "one for each dimension, 1 to 8, of the innermost 1; or none");
  return {};
}

// What one copy takes of a map whose dimensions are checked.
Result<void> check_map_copy(const TensorMap& map, std::size_t at) {
  // Of an sm_90 or sm_100 workgroup's memory. The driver refuses a copy of more.
  constexpr std::uint64_t kMostBytes = 227 * 1024;
  std::uint64_t row = 0, rows = 1;
  if (map.im2col) {
    const Im2col& im2col = *map.im2col;
    const std::size_t rank = map.dims.size();
    if (rank < 3 || !map.box.empty() || im2col.lower.size() != rank - 2 || im2col.upper.size() != rank - 2)
      return refuse(at, "tensor map", "im2col of " + std::to_string(rank) + " dimensions",
                    "3 to 5, two fewer corners each, no box");
    // The manual's ranges: the more numbers a corner has, the fewer bits are left for each.
    const std::int32_t end = std::array{32768, 128, 16}[rank - 3];
    for (std::size_t i = 0; i < rank - 2; ++i) {
      const std::int32_t lower = im2col.lower[i], upper = im2col.upper[i];
      if (lower < -end || lower >= end || upper < -end || upper >= end)
        return refuse(at, "tensor map", "pixel box from " + std::to_string(lower) + " to " + std::to_string(upper),
                      std::to_string(-end) + " to " + std::to_string(end - 1));
      if (static_cast<std::int64_t>(map.dims[i + 1]) + upper - lower < 1)
        return refuse(at, "tensor map", "pixel box from " + std::to_string(lower) + " to " + std::to_string(upper),
                      "a pixel of dimension " + std::to_string(i + 1) + " in it");
    }
    if (im2col.channels_per_pixel < 1 || im2col.channels_per_pixel > 256 || im2col.pixels_per_column < 1 ||
        im2col.pixels_per_column > 1024)
      return refuse(at, "tensor map",
                    std::to_string(im2col.channels_per_pixel) + " channels of " +
                        std::to_string(im2col.pixels_per_column) + " pixels",
                    "1 to 256 channels, 1 to 1024 pixels");
    row = std::uint64_t{im2col.channels_per_pixel} * map.element_bytes;
    rows = im2col.pixels_per_column;
  } else {
    if (map.box.size() != map.dims.size())
      return refuse(at, "tensor map", "box of " + std::to_string(map.box.size()) + " sides", "one for each dimension");
    for (std::size_t i = 0; i < map.box.size(); ++i) {
      if (map.box[i] < 1 || map.box[i] > 256)
        return refuse(at, "tensor map", "box side " + std::to_string(i), "1 to 256 elements");
      if (i > 0) rows *= detail::ceil_div(map.box[i], map.element_strides.empty() ? 1 : map.element_strides[i]);
    }
    row = std::uint64_t{map.box[0]} * map.element_bytes;
  }
  if (row % 16 != 0 || (map.swizzle_bytes != 0 && row > map.swizzle_bytes))
    return refuse(at, "tensor map", "box rows of " + std::to_string(row) + " bytes",
                  "a multiple of 16, no more than the swizzle");
  if (row * rows > kMostBytes)
    return refuse(at, "tensor map", "copies of " + std::to_string(row * rows) + " bytes",
                  "at most " + std::to_string(kMostBytes));
  return {};
}

// Of the encoder's requirements those of the tensor in its operand, and that the step's ranges cover every element.
Result<void> check_tensor_map(const Plan& plan, const Step& step, const TensorMap& map, std::size_t at) {
  if (map.operand >= plan.operands.size())
    return refuse(at, "tensor map", "of operand " + std::to_string(map.operand),
                  std::to_string(plan.operands.size()) + " operands");
  if (auto ok = check_map_kind(map, at); !ok) return ok;
  if (map.byte_offset % 16 != 0 || plan.operands[map.operand].align % 16 != 0)
    return refuse(at, "tensor map", "byte offset " + std::to_string(map.byte_offset), "16-byte alignment");
  const std::size_t rank = map.dims.size();
  std::uint64_t end = map.element_bytes;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::uint64_t stride = i == 0 ? map.element_bytes : map.strides[i - 1];
    if (map.dims[i] < 1 || map.dims[i] > std::uint64_t{1} << 32)
      return refuse(at, "tensor map", "dimension " + std::to_string(i), "1 to 2^32 elements");
    if (i > 0 && (stride % 16 != 0 || stride >= std::uint64_t{1} << 40))
      return refuse(at, "tensor map", "stride " + std::to_string(stride), "a multiple of 16 below 2^40");
    std::uint64_t reach = 0;
    if (detail::mul_overflow(map.dims[i] - 1, stride, &reach) || detail::add_overflow(end, reach, &end))
      return refuse(at, "tensor map", "beyond 2^64 bytes");
  }
  if (auto ok = check_map_copy(map, at); !ok) return ok;
  if (detail::add_overflow(end, map.byte_offset, &end)) return refuse(at, "tensor map", "beyond 2^64 bytes");
  const auto covers = [&](const AccessRange& range) {
    return range.operand == map.operand && range.begin <= map.byte_offset && end <= range.end;
  };
  const auto range = std::ranges::find_if(step.accesses, covers);
  // A copy to memory stores 16 bytes at a time, also where the map ends inside them (seen on an H200, 580.159.04).
  if (range != step.accesses.end() && range->write && map.dims[0] * map.element_bytes % 16 != 0)
    return refuse(at, "tensor map", "rows of " + std::to_string(map.dims[0] * map.element_bytes) + " bytes, written",
                  "a multiple of 16");
  if (range == step.accesses.end())
    return refuse(at, "tensor map", "bytes up to " + std::to_string(end) + " of " + plan.operands[map.operand].name,
                  "inside a range that the step accesses");
  return {};
}

// `open`: the first step that may still be running when step `at` starts.
Result<void> check_order(const Plan& plan, std::size_t open, std::size_t at) {
  for (std::size_t before = open; before < at; ++before)
    for (const AccessRange& a : plan.steps[before].accesses)
      for (const AccessRange& b : plan.steps[at].accesses)
        if (conflict(a, b))
          return refuse(at, "ordering",
                        range_text(plan, b) + " after step " + std::to_string(before) + "'s " + range_text(plan, a),
                        "a barrier before it");
  return {};
}

std::unexpected<Error> exceeded(std::size_t step, std::string_view what, std::uint64_t value, std::uint64_t limit) {
  return fail(ErrorKind::limit_exceeded, std::string(what), std::to_string(value) + " in step " + std::to_string(step),
              "at most " + std::to_string(limit));
}

// The minimums of every Vulkan 1.3 device (the specification's Required Limits), for fields without a value.
constexpr std::uint32_t kLeastWorkgroupMemory = 16384, kLeastSize = 128, kLeastInvocations = 128, kLeastPush = 128,
                        kLeastGrid = 65535;

Result<void> check_subgroup(const Step& step, const DeviceProfile& profile, std::size_t at) {
  const std::uint32_t size = step.required_subgroup_size;
  if (size == 0) return {};
  const auto refuse_size = [&](std::string want) {
    return fail(ErrorKind::limit_exceeded, "required subgroup size",
                std::to_string(size) + " in step " + std::to_string(at), std::move(want));
  };
  if (!std::has_single_bit(size)) return refuse_size("a power of two");
  if (!profile.min_subgroup_size || !profile.max_subgroup_size)
    return refuse_size("none: the profile lists no subgroup sizes");
  const std::uint32_t least = *profile.min_subgroup_size, most = *profile.max_subgroup_size;
  // A device with a single size runs that size, even if it does not support required sizes.
  if (!profile.required_subgroup_size.value_or(false) && least != most)
    return refuse_size("none: the device does not support a required subgroup size");
  if (size < least || size > most) return refuse_size(std::to_string(least) + " to " + std::to_string(most));
  if (step.workgroup[0] % size != 0)
    return fail(ErrorKind::limit_exceeded, "workgroup size x",
                std::to_string(step.workgroup[0]) + " in step " + std::to_string(at),
                "a multiple of the subgroup size " + std::to_string(size));
  return {};
}

Result<void> check_limits(const Step& step, const DeviceProfile& profile, std::size_t at) {
  constexpr std::string_view kGrid[] = {"grid x", "grid y", "grid z"};
  // CUDA allows more workgroup memory if it is requested at launch.
  const std::uint32_t memory = std::max(profile.workgroup_memory_bytes.value_or(kLeastWorkgroupMemory),
                                        profile.max_dynamic_workgroup_memory_bytes.value_or(0));
  if (step.workgroup_memory_bytes > memory)
    return exceeded(at, "workgroup memory", step.workgroup_memory_bytes, memory);
  const auto grids = profile.max_grid.value_or(std::array{kLeastGrid, kLeastGrid, kLeastGrid});
  for (std::size_t i = 0; i < 3; ++i)
    if (step.grid[i] > grids[i]) return exceeded(at, kGrid[i], step.grid[i], grids[i]);
  // In y and z it is 1: so the size in x is the number of invocations.
  const std::uint32_t longest = profile.max_workgroup_size ? (*profile.max_workgroup_size)[0] : kLeastSize;
  if (step.workgroup[0] > longest) return exceeded(at, "workgroup size x", step.workgroup[0], longest);
  const std::uint32_t most = profile.max_workgroup_invocations.value_or(kLeastInvocations);
  if (step.workgroup[0] > most) return exceeded(at, "workgroup invocations", step.workgroup[0], most);
  const std::uint32_t push = profile.max_push_bytes.value_or(kLeastPush);
  if (step.push.size() > push) return exceeded(at, "push bytes", step.push.size(), push);
  if (!step.addresses.empty() && !profile.buffer_device_address.value_or(true))
    return fail(ErrorKind::limit_exceeded, "buffer device address", "used in step " + std::to_string(at),
                "a device that has it");
  if (!step.tensor_maps.empty() && !profile.tensor_maps.value_or(false))
    return fail(ErrorKind::limit_exceeded, "tensor maps", "used in step " + std::to_string(at),
                "a device that has them");
  // Clusters came with sm_90, as tensor maps did.
  if (step.cluster != kNoCluster && profile.cuda_architecture.value_or(0) < 90)
    return fail(ErrorKind::limit_exceeded, "cluster", "used in step " + std::to_string(at), "CUDA on sm_90 or later");
  return check_subgroup(step, profile, at);
}

}  // namespace

Result<void> check_plan(const Plan& plan) {
  if (auto ok = check_operands(plan); !ok) return ok;
  if (plan.steps.size() > kMostSteps)
    return fail(ErrorKind::invalid_plan, "steps", std::to_string(plan.steps.size()),
                "at most " + std::to_string(kMostSteps));
  std::size_t open = 0;
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    const Step& step = plan.steps[at];
    if (auto ok = check_launch(step, at); !ok) return ok;
    if (auto ok = check_addresses(plan, step, at); !ok) return ok;
    if (auto ok = check_ranges(plan, step, at); !ok) return ok;
    if (step.tensor_maps.size() > kMostMaps)
      return refuse(at, "tensor maps", std::to_string(step.tensor_maps.size()), "at most " + std::to_string(kMostMaps));
    for (const TensorMap& map : step.tensor_maps)
      if (auto ok = check_tensor_map(plan, step, map, at); !ok) return ok;
    if (step.barrier_before) open = at;
    if (auto ok = check_order(plan, open, at); !ok) return ok;
  }
  return {};
}

Result<void> check_plan(const Plan& plan, const DeviceProfile& profile) {
  if (auto ok = check_plan(plan); !ok) return ok;
  for (std::size_t at = 0; at < plan.steps.size(); ++at)
    if (auto ok = check_limits(plan.steps[at], profile, at); !ok) return ok;
  return {};
}

}  // namespace sectile
