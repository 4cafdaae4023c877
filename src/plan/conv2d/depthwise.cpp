// conv2d_depthwise: groups of one input channel. An invocation computes a strip of outputs along a row, of a few
// adjacent channels in NHWC; it is meant to be limited by memory alone.
#include "context.hpp"
#include "direct_kernels.hpp"
#include "steps.hpp"

#include "conv2d/conv2d_depthwise.abi.h"

#include <algorithm>
#include <variant>

namespace sectile::detail {

namespace conv2d_depthwise {
namespace {

struct Row {
  std::uint32_t strip;     // outputs of a row
  std::uint32_t channels;  // output channels
  std::uint32_t workgroup;
};
// NHWC takes any row, NCHW those of one channel.
constexpr Row kTable[] = {
    {.strip = 4, .channels = 8, .workgroup = 128}, {.strip = 4, .channels = 4, .workgroup = 128},
    {.strip = 2, .channels = 4, .workgroup = 128}, {.strip = 4, .channels = 2, .workgroup = 128},
    {.strip = 8, .channels = 1, .workgroup = 128}, {.strip = 4, .channels = 1, .workgroup = 128},
    {.strip = 2, .channels = 1, .workgroup = 128}, {.strip = 1, .channels = 1, .workgroup = 64},
};

// What an invocation may keep in registers: NVIDIA and AMD have up to 255 of them.
constexpr std::int64_t kMostRegisters = 160;

// Sums, a row of the filter, and the columns of the image under it. NVRTC 13.0 spills with 4x8 and 7 columns on sm_80.
std::int64_t registers_of(const Conv2dProblem& p, const Row& r) {
  return std::min<std::int64_t>(2 * (r.strip + p.s) * r.channels + 32, 1024);
}

bool channels_last(const Conv2dContext& c) { return block_of(c.problem.x_layout) == 0; }

std::int64_t items(const Conv2dContext& c, const Row& r) {
  return c.out.height * ((c.out.width + r.strip - 1) / r.strip) * (c.problem.k / r.channels);
}

// What an invocation does.
DirectWork work_of(const Conv2dContext& c, const Row& r, const DirectConfig& d) {
  const auto& p = c.problem;
  const bool shared = p.dilation_w == 1 && p.stride_w <= 2;
  const std::uint64_t s = static_cast<std::uint64_t>(p.s), rows = static_cast<std::uint64_t>(p.r);
  const std::uint64_t columns =
      shared ? (r.strip - 1) * static_cast<std::uint64_t>(p.stride_w) + s : std::uint64_t{r.strip} * s;
  const auto lines = [&](std::uint64_t apart) { return line_thousandths(c, apart); };
  const auto number = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const std::uint64_t x_bytes = size_bytes(p.x_type), y_bytes = size_bytes(p.out);
  return {.multiply_adds = rows * s * r.strip * r.channels,
          .loads = rows * columns * (r.channels / d.widths.a),
          .weights = rows * s * (r.channels / d.widths.b),
          .stores = std::uint64_t{r.strip} * (r.channels / d.widths.d),
          .rows = rows,
          .x_lines = lines(channels_last(c) ? r.channels * x_bytes * number(p.c) / number(p.k)
                                            : r.strip * number(p.stride_w) * x_bytes),
          .y_lines = lines((channels_last(c) ? r.channels : r.strip) * y_bytes)};
}

DirectConfig config_of(const Conv2dContext& c, std::uint32_t row) {
  const Row& r = kTable[row];
  const auto& p = c.problem;
  DirectConfig d = direct_config(c, "conv2d_depthwise");
  if (d.types.integer()) {  // it has no variant without accesses of 1 byte
    d.base = "i8.narrow";
    d.narrow = true;
  }
  d.workgroup = r.workgroup;
  d.groups = ceil_div(static_cast<std::uint64_t>(items(c, r)), d.workgroup) * static_cast<std::uint64_t>(p.n);
  const ImageStrides x = strides_of(stored_x(p));
  const std::int64_t images = p.n > 1 ? x.image : 0;
  if (channels_last(c)) {
    d.widths.d = result_width(p, true, p.y_align, r.channels);
    if (p.k == p.c) d.widths.a = widest_access(d.types.a, r.channels, p.x_align, x.pixel, images, p.k);
  }
  const bool rsck = p.w_layout == FilterLayout::rsck;
  if (rsck) d.widths.b = widest_access(d.types.b, r.channels, p.w_align, p.k, 0, p.k);
  d.add(CONV2D_DEPTHWISE_SPEC_STRIP, r.strip);
  d.add(CONV2D_DEPTHWISE_SPEC_WEIGHTS, rsck ? CONV2D_WEIGHTS_RSCK : CONV2D_WEIGHTS_KCRS);
  d.add(CONV2D_DEPTHWISE_SPEC_CHANNELS, r.channels);
  d.table = CostTable::conv2d_depthwise;
  d.row = row;
  d.work = work_of(c, r, d);
  return d;
}

Conv2dConfig make(const Conv2dContext& c, std::uint32_t row) { return config_of(c, row); }

bool applicable(const Conv2dContext& c, std::uint32_t row, Refusal& refusal) {
  const Row& r = kTable[row];
  const auto& p = c.problem;
  if (p.c != p.groups || p.c == 0) return refusal.no("groups of {} input channels, needs 1", p.c / p.groups);
  if (p.h == 0 || p.w == 0) return refusal.no("an image without pixels");
  if (p.x_layout != p.y_layout || block_of(p.x_layout) > 1)
    return refusal.no("needs X and Y both in NHWC or both in NCHW");
  if (!channels_last(c) && r.channels != 1) return refusal.no("{} channels an invocation are for NHWC", r.channels);
  if (p.k % r.channels != 0) return refusal.no("{} output channels are no multiple of {}", p.k, r.channels);
  if (r.workgroup > c.limits.workgroup_invocations || r.workgroup > c.limits.workgroup_x)
    return refusal.no("workgroup of {} invocations, the device allows {}", r.workgroup, c.limits.workgroup_invocations);
  if (!direct_offsets_fit(c, refusal)) return false;
  // Kernels count an image's invocations in 32 bits.
  if (items(c, r) >= std::int64_t{1} << 31)
    return refusal.no("{} invocations an image, at most 2^31 are counted", items(c, r));
  if (const std::int64_t registers = registers_of(p, r); registers > kMostRegisters)
    return refusal.no("a row of a filter of {} columns needs {} registers, at most {} are used", p.s, registers,
                      kMostRegisters);
  return narrow_accesses_fit(c, config_of(c, row), refusal);
}

// A subgroup's loads of one column of the image from the middle of the result on, and its stores of one output each.
Conv2dContext::Estimate estimate(const Conv2dContext& c, std::uint32_t row, const Conv2dConfig& config) {
  const auto& d = std::get<DirectConfig>(config);
  const Row& r = kTable[row];
  const auto& p = c.problem;
  const ImageStrides x = strides_of(stored_x(p)), y = strides_of(stored_y(p));
  const std::int64_t strips = (c.out.width + r.strip - 1) / r.strip, chunks = p.k / r.channels;
  Walk walk(c.profile);
  Request image, result;
  image.bytes = d.widths.a * size_bytes(p.x_type);
  result.bytes = d.widths.d * size_bytes(p.out);
  for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
    const std::int64_t chunk = channels_last(c) ? l % chunks : 0, place = channels_last(c) ? l / chunks : l;
    const std::int64_t line = std::min(c.out.height / 2 + place / strips, c.out.height - 1);
    const std::int64_t q = place % strips * r.strip;
    const std::int64_t at_y = std::min(line * p.stride_h, p.h - 1), at_x = std::min(q * p.stride_w, p.w - 1);
    const std::int64_t k = chunk * r.channels;
    image.address[l] = ((at_y * p.w + at_x) * x.pixel + k / (p.k / p.groups)) * size_bytes(p.x_type);
    result.address[l] = ((line * c.out.width + q) * y.pixel + k) * size_bytes(p.out);
  }
  const std::uint64_t subgroups = ceil_div(d.workgroup, walk.lanes());
  walk.load(image, subgroups * (r.channels / d.widths.a));
  walk.store(result, subgroups * (r.channels / d.widths.d));
  return {walk.count()};
}

Eligibility eligibility(const Conv2dContext&, std::uint32_t) { return Eligibility::candidate; }

std::string print_row(const Row& r) { return fmt::format("{}x{}", r.strip, r.channels); }
std::string print(const Conv2dContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr Conv2dStrategy kStrategy = {
    "conv2d_depthwise", CostTable::conv2d_depthwise, std::size(kTable), applicable, make, estimate, eligibility, print};

}  // namespace
}  // namespace conv2d_depthwise

const Conv2dStrategy kConv2dDepthwise = conv2d_depthwise::kStrategy;
std::vector<std::string> conv2d_depthwise_rows() {
  return names_of(conv2d_depthwise::kTable, conv2d_depthwise::print_row);
}

}  // namespace sectile::detail
