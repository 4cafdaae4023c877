#include "kernel_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace sectile::detail {

namespace {

// The words of a step, in their order.
struct Stream {
  std::array<std::uint32_t, PERMUTE_FUSED_MAX_WORDS> word{};
  std::uint32_t count = 0, most = PERMUTE_MAX_WORDS;
  bool offset64 = false, full = false;
  std::vector<AddressSlot> addresses;

  void add(std::uint32_t value) {
    if (count == most) {
      full = true;
      return;
    }
    word[count++] = value;
  }
  // record() fills it in.
  void add_address(const WordAddress& address) {
    addresses.push_back(
        {static_cast<std::uint32_t>(offsetof(PermutePush, words)) + 4 * count, address.operand, address.byte_offset});
    add(0);
    add(0);
  }
};

// One value of each axis.
template <class T>
struct EachAxis {
  std::array<T, PERMUTE_MAX_AXES> value{};
  EachAxis(const PermuteConfig& config, auto&& of) {
    for (std::size_t a = 0; a < value.size(); ++a) value[a] = static_cast<T>(of(config.axis[a]));
  }
};

// The plan's operand that has this part of the stage. Operands 0 and 1 are the source and the destination.
std::uint32_t operand_number(const NestStage& stage, std::uint32_t bit) {
  std::uint32_t number = 2;
  if (bit > PERMUTE_FUSED_SCALE && stage.scale) ++number;
  if (bit > PERMUTE_FUSED_BIAS && stage.bias) ++number;
  return number;
}

// The elementwise stage's words before the axes.
void add_stage_before_axes(Stream& stream, const NestStage& stage, const PermuteConstants& constants) {
  stream.most = PERMUTE_FUSED_MAX_WORDS;
  const auto address = [&](std::uint32_t bit, std::int64_t byte_offset) {
    return WordAddress{operand_number(stage, bit), static_cast<std::uint64_t>(byte_offset)};
  };
  const ActivationParameters parameters = activation_parameters(stage.activation, false);
  const auto parameter = std::bit_cast<std::array<float, 2>>(parameters.word);
  PermuteFusedFirstWords{.scale_address = address(PERMUTE_FUSED_SCALE, stage.scale_byte_offset),
                         .bias_address = address(PERMUTE_FUSED_BIAS, stage.bias_byte_offset),
                         .add_address = address(PERMUTE_FUSED_ADD, stage.add_byte_offset),
                         .alpha = stage.alpha,
                         .activation_parameter = parameter}
      .pack(stream, constants);
}

// The elementwise stage's words after the kernel's own.
void add_stage_after_own(Stream& stream, const PermuteConfig& config, const PermuteConstants& constants) {
  const EachAxis<std::uint32_t> scale(config, [](const StreamAxis& axis) { return axis.scale_step; });
  const EachAxis<std::uint32_t> bias(config, [](const StreamAxis& axis) { return axis.bias_step; });
  const EachAxis<std::int64_t> add(config, [](const StreamAxis& axis) { return axis.add_stride; });
  PermuteFusedLastWords{.scale_step = scale.value, .own_bias_step = bias.value, .add_stride = add.value}.pack(
      stream, constants);
}

void add_bounds(Stream& stream, const PermuteConfig& config, const Nest& nest, const PermuteConstants& constants) {
  const auto bounds = nest.checked_bounds();
  const auto limit = [](std::int64_t v) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(v, INT32_MIN, INT32_MAX));
  };
  for (std::uint32_t b = 0; b < bounds; ++b) {
    const EachAxis<std::int32_t> coefficient(config, [&](const StreamAxis& axis) { return axis.coef[b]; });
    PermuteBoundWords{.bound_coefficient = coefficient.value,
                      .read_limit = limit(nest.bound[b].read_limit),
                      .write_limit = limit(nest.bound[b].write_limit)}
        .pack(stream, constants);
  }
}

Stream make_stream(const PermuteConfig& config, const Nest& nest, int axes, const DeviceProfile& profile) {
  const PermuteConstants constants{.kAxes = static_cast<std::uint32_t>(axes), .kStage = config.stage};
  Stream stream;
  stream.offset64 = config.offset64;
  if (nest.stage.present) add_stage_before_axes(stream, nest.stage, constants);
  std::array<std::uint32_t, (PERMUTE_MAX_AXES + PERMUTE_SHIFTS_PER_WORD - 1) / PERMUTE_SHIFTS_PER_WORD> shifts{};
  for (std::uint32_t a = 0; a < constants.kAxes; ++a) {
    const StreamAxis& axis = config.axis[a];
    const auto division = fast_division(axis.count);
    PermuteAxisWords{.axis_count = axis.count,
                     .axis_multiplier = division.multiplier,
                     .src_stride = axis.src_stride,
                     .dst_stride = axis.dst_stride}
        .pack(stream);
    shifts[a / PERMUTE_SHIFTS_PER_WORD] |= division.shift << (5 * (a % PERMUTE_SHIFTS_PER_WORD));
  }
  if (has_slow_gaps(nest, profile)) shifts[0] |= PERMUTE_GAPS;
  PermuteShiftWords{.shifts = shifts}.pack(stream, constants);
  for (const std::uint32_t word : config.own.all()) stream.add(word);
  if (nest.stage.present) add_stage_after_own(stream, config, constants);
  add_bounds(stream, config, nest, constants);
  return stream;
}

}  // namespace

bool has_slow_gaps(const Nest& nest, const DeviceProfile& profile) {
  constexpr std::int64_t kLongRow = 4096;  // bytes
  if (profile.vendor != "nvidia" || nest.stage.present) return false;
  const DestinationRow row = destination_row(nest);
  const std::int64_t bytes = row.elements * nest.dst_element_bytes;
  if (row.axes == nest.rank || bytes > kLongRow) return false;
  // An axis that follows more closely is that of a limit: the row is shorter than its axes say.
  if (nest.axis[static_cast<std::size_t>(row.axes)].dst_stride < row.elements) return false;
  return bytes % PERMUTE_SECTOR != 0 || nest.alignment(Side::dst, row.along) < PERMUTE_SECTOR;
}

FastDivision fast_division(std::uint32_t d) noexcept {
  const auto shift = static_cast<std::uint32_t>(std::bit_width(d - 1));
  const std::uint64_t excess = (std::uint64_t{1} << shift) - d;
  return {static_cast<std::uint32_t>((excess << 32) / d + 1), shift};
}

void PermuteConfig::add_axis(const NestAxis& from, std::uint32_t count) {
  axis.at(static_cast<std::size_t>(axes++)) = {count,           from.src_stride, from.dst_stride, from.coef,
                                               from.add_stride, from.scale_step, from.bias_step};
}

int axis_class(int axes, bool staged) noexcept {
  // 5 axes are the most that fit the push constants with any kernel's own words. Most kernels pay for a surplus axis
  // once per workgroup. With a stage's words, 3 axes nearly always fit.
  if (staged && axes <= 3) return 3;
  return axes <= 5 ? 5 : axes;
}

bool needs_offset64(const Nest& nest) noexcept {
  // The limit is on bytes and not on indices: NVIDIA's driver (580.159.04) computes 32-bit byte offsets from 32-bit
  // indices, so that a 4-byte element at index 2^30 is read at offset 0 (`sectile check --big`).
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  return nest.src_span() * nest.element_bytes >= limit || nest.dst_span() * nest.dst_element_bytes >= limit ||
         nest.add_span() * nest.dst_element_bytes >= limit;
}

bool nearly_needs_offset64(const Nest& nest) noexcept {
  constexpr std::int64_t limit = (std::int64_t{1} << 31) - (1 << 16);
  return std::max(nest.src_span() * nest.element_bytes, nest.dst_span() * nest.dst_element_bytes) >= limit;
}

bool exceeds_push(int axes, int own_words, std::uint32_t bounds) noexcept {
  const int shifts = (axes + PERMUTE_SHIFTS_PER_WORD - 1) / PERMUTE_SHIFTS_PER_WORD;
  return axes * 4 + shifts + own_words + static_cast<int>(bounds) * (axes + 2) > PERMUTE_PUSH_WORDS;
}

int pushed_axes(int own_words, std::uint32_t bounds) noexcept {
  int axes = 1;
  while (!exceeds_push(axes + 1, own_words, bounds)) ++axes;
  return axes;
}

int pushed_class(int axes, int own_words, std::uint32_t bounds) noexcept {
  const int common = axis_class(axes);
  return exceeds_push(axes, own_words, bounds) ? common : std::min(common, pushed_axes(own_words, bounds));
}

Result<Step> make_step(const PermuteConfig& config, const Nest& nest, const DeviceProfile& profile) {
  const int axes =
      config.least_axes != 0 ? std::max(config.axes, config.least_axes) : axis_class(config.axes, nest.stage.present);
  const Stream stream = make_stream(config, nest, axes, profile);
  if (stream.full) return fail(ErrorKind::limit_exceeded, "words", "more", fmt::format("{}", stream.most));

  Step step;
  const bool longer = config.offset64 || stream.count > PERMUTE_PUSH_WORDS;
  const char* const suffix = config.offset64 ? ".wide" : longer ? ".long" : "";
  step.kernel = {config.stem, config.variant != nullptr ? fmt::format("{}{}", config.variant, suffix)
                                                        : fmt::format("e{}{}", config.element_bytes, suffix)};
  step.workgroup = {config.workgroup, 1, 1};
  step.required_subgroup_size = config.required_subgroup_size;
  auto grid = fold_grid(config.groups, profile);
  if (!grid) return std::unexpected(grid.error());
  step.grid = *grid;
  step.workgroup_memory_bytes = config.workgroup_memory_bytes;

  const std::uint32_t pushed = std::min<std::uint32_t>(stream.count, PERMUTE_PUSH_WORDS);
  step.constants.reserve(5 + config.constants.all().size() + (stream.count - pushed));
  step.constants = {{SECTILE_SPEC_WORKGROUP, config.workgroup},
                    {PERMUTE_SPEC_AXES, static_cast<std::uint32_t>(axes)},
                    {PERMUTE_SPEC_READ_BOUNDS, nest.read_bounds()},
                    {PERMUTE_SPEC_WRITE_BOUNDS, nest.write_bounds()}};
  if (longer) step.constants.insert(step.constants.begin() + 2, {PERMUTE_SPEC_PUSHED, PERMUTE_PUSH_WORDS});
  config.constants.append_to(step.constants);
  for (std::uint32_t w = pushed; w < stream.count; ++w)
    step.constants.push_back({PERMUTE_SPEC_WORD0 + w, stream.word[w]});
  if (nest.stage.present) {
    const DType out = nest.stage.out;
    const std::uint32_t numbers = integer_numbers(profile, out == DType::f16, out == DType::bf16);
    if (numbers != 0) step.constants.push_back({SECTILE_SPEC_NUMBERS, numbers});
  }

  PermutePush push{};
  std::copy_n(stream.word.begin(), pushed, push.words);
  step.push.resize(sizeof push);
  std::memcpy(step.push.data(), &push, sizeof push);
  step.addresses = {{offsetof(PermutePush, src), 0, static_cast<std::uint64_t>(nest.src_byte_offset)},
                    {offsetof(PermutePush, dst), 1, static_cast<std::uint64_t>(nest.dst_byte_offset)}};
  step.addresses.insert(step.addresses.end(), stream.addresses.begin(), stream.addresses.end());
  const auto range = [&](std::uint32_t operand, std::int64_t from, std::int64_t span, std::uint32_t bytes,
                         bool write = false) {
    const auto begin = static_cast<std::uint64_t>(from);
    return AccessRange{operand, begin, begin + static_cast<std::uint64_t>(span) * bytes, write};
  };
  step.accesses = {range(0, nest.src_byte_offset, nest.src_span(), nest.element_bytes),
                   range(1, nest.dst_byte_offset, nest.dst_span(), nest.dst_element_bytes, true)};
  const NestStage& stage = nest.stage;
  const auto reads = [&](std::uint32_t bit, std::int64_t from, std::int64_t span, std::uint32_t bytes) {
    step.accesses.push_back(range(operand_number(stage, bit), from, span, bytes));
  };
  if (stage.scale) reads(PERMUTE_FUSED_SCALE, stage.scale_byte_offset, nest.scale_span(), 4);
  if (stage.bias) reads(PERMUTE_FUSED_BIAS, stage.bias_byte_offset, nest.bias_span(), 4);
  if (stage.add) reads(PERMUTE_FUSED_ADD, stage.add_byte_offset, nest.add_span(), nest.dst_element_bytes);
  return step;
}

}  // namespace sectile::detail
