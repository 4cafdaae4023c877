#include "kernel_parameters.hpp"

#include "permute/permute_fused.abi.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace sectile::detail {

namespace {

struct Stream {
  std::array<std::uint32_t, PERMUTE_FUSED_MAX_WORDS> word{};
  std::uint32_t count = 0, most = PERMUTE_MAX_WORDS;
  bool full = false;

  void add(std::uint32_t value) {
    if (count == most) {
      full = true;
      return;
    }
    word[count++] = value;
  }
  void add_stride(std::int64_t stride, bool wide) {
    add(static_cast<std::uint32_t>(stride));
    if (wide) add(static_cast<std::uint32_t>(static_cast<std::uint64_t>(stride) >> 32));
  }
};

// The elementwise stage's words before the axes: addresses, which record() fills in, alpha, and the activation's
// parameters.
void add_stage_before_axes(Stream& stream, const PermuteConfig& config, const Nest& nest) {
  stream.most = PERMUTE_FUSED_MAX_WORDS;
  for (const std::uint32_t bit :
       {std::uint32_t{PERMUTE_FUSED_SCALE}, std::uint32_t{PERMUTE_FUSED_BIAS}, std::uint32_t{PERMUTE_FUSED_ADD}})
    if ((config.stage & bit) != 0) stream.add_stride(0, true);
  if ((config.stage & PERMUTE_FUSED_ALPHA) != 0) stream.add(std::bit_cast<std::uint32_t>(nest.stage.alpha));
  const ActivationParameters parameters = activation_parameters(nest.stage.activation, false);
  for (std::uint32_t i = 0; i < parameters.count; ++i) stream.add(parameters.word.at(i));
}

// The elementwise stage's words after the kernel's own.
void add_stage_after_own(Stream& stream, const PermuteConfig& config, int axes) {
  const auto each = [&](auto&& add) {
    for (int a = 0; a < axes; ++a) add(config.axis[static_cast<std::size_t>(a)]);
  };
  if ((config.stage & PERMUTE_FUSED_SCALE) != 0)
    each([&](const StreamAxis& axis) { stream.add(static_cast<std::uint32_t>(axis.scale_step)); });
  if ((config.stage & (PERMUTE_FUSED_BIAS | PERMUTE_FUSED_ONE_AXIS)) == PERMUTE_FUSED_BIAS)
    each([&](const StreamAxis& axis) { stream.add(static_cast<std::uint32_t>(axis.bias_step)); });
  if ((config.stage & PERMUTE_FUSED_ADD) != 0)
    each([&](const StreamAxis& axis) { stream.add_stride(axis.add_stride, config.wide); });
}

Stream make_stream(const PermuteConfig& config, const Nest& nest, int axes) {
  Stream stream;
  if (nest.stage.present) add_stage_before_axes(stream, config, nest);
  std::array<std::uint32_t, (PERMUTE_MAX_AXES + PERMUTE_SHIFTS_PER_WORD - 1) / PERMUTE_SHIFTS_PER_WORD> shifts{};
  for (int a = 0; a < axes; ++a) {
    const auto& axis = config.axis[static_cast<std::size_t>(a)];
    const auto division = fast_division(axis.count);
    stream.add(axis.count);
    stream.add(division.multiplier);
    stream.add_stride(axis.src_stride, config.wide);
    stream.add_stride(axis.dst_stride, config.wide);
    const auto at = static_cast<std::size_t>(a);
    shifts[at / PERMUTE_SHIFTS_PER_WORD] |= division.shift << (5 * (at % PERMUTE_SHIFTS_PER_WORD));
  }
  for (int s = 0; s < (axes + PERMUTE_SHIFTS_PER_WORD - 1) / PERMUTE_SHIFTS_PER_WORD; ++s)
    stream.add(shifts[static_cast<std::size_t>(s)]);
  for (const std::uint32_t word : config.own.all()) stream.add(word);
  if (nest.stage.present) add_stage_after_own(stream, config, axes);
  const auto bounds = std::max(nest.read_bounds(), nest.write_bounds());
  const auto limit = [](std::int64_t v) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(v, INT32_MIN, INT32_MAX));
  };
  for (std::uint32_t b = 0; b < bounds; ++b) {
    for (int a = 0; a < axes; ++a)
      stream.add(static_cast<std::uint32_t>(config.axis[static_cast<std::size_t>(a)].coef[b]));
    stream.add(limit(nest.bound[b].read_limit));
    stream.add(limit(nest.bound[b].write_limit));
  }
  return stream;
}

}  // namespace

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

bool needs_wide(const Nest& nest) noexcept {
  // The limit is on bytes and not on indices: NVIDIA's driver (580.159.04) computes 32-bit byte offsets from 32-bit
  // indices, so that a 4-byte element at index 2^30 is read at offset 0 (`sectile check --big`).
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  return nest.src_span() * nest.element_bytes >= limit || nest.dst_span() * nest.dst_element_bytes >= limit ||
         nest.add_span() * nest.dst_element_bytes >= limit;
}

Result<Step> make_step(const PermuteConfig& config, const Nest& nest, const DeviceProfile& profile) {
  const int axes = axis_class(config.axes, nest.stage.present);
  const Stream stream = make_stream(config, nest, axes);
  if (stream.full) return fail(ErrorKind::limit_exceeded, "words", "more", fmt::format("{}", stream.most));

  Step step;
  const bool longer = config.wide || stream.count > PERMUTE_PUSH_WORDS;
  const char* const suffix = config.wide ? ".wide" : longer ? ".long" : "";
  step.kernel = {config.stem, config.variant != nullptr ? fmt::format("{}{}", config.variant, suffix)
                                                        : fmt::format("e{}{}", config.element_bytes, suffix)};
  step.workgroup = {config.workgroup, 1, 1};
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
  const auto range = [&](std::uint32_t operand, std::int64_t from, std::int64_t span, std::uint32_t bytes,
                         bool write = false) {
    const auto begin = static_cast<std::uint64_t>(from);
    return AccessRange{operand, begin, begin + static_cast<std::uint64_t>(span) * bytes, write};
  };
  step.accesses = {range(0, nest.src_byte_offset, nest.src_span(), nest.element_bytes),
                   range(1, nest.dst_byte_offset, nest.dst_span(), nest.dst_element_bytes, true)};
  const NestStage& stage = nest.stage;
  const auto operand = [&](std::int64_t from, std::int64_t span, std::uint32_t bytes) {
    const auto number = static_cast<std::uint32_t>(step.addresses.size());  // of the operand and of its address slot
    step.addresses.push_back({static_cast<std::uint32_t>(offsetof(PermutePush, words)) + 8 * (number - 2), number,
                              static_cast<std::uint64_t>(from)});
    step.accesses.push_back(range(number, from, span, bytes));
  };
  if (stage.scale) operand(stage.scale_byte_offset, nest.scale_span(), 4);
  if (stage.bias) operand(stage.bias_byte_offset, nest.bias_span(), 4);
  if (stage.add) operand(stage.add_byte_offset, nest.add_span(), nest.dst_element_bytes);
  return step;
}

}  // namespace sectile::detail
