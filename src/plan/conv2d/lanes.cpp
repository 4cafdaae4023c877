// conv2d_lanes: for CPU devices. An invocation computes a block of outputs from registers alone; weights are loaded
// once for a subgroup.
#include "context.hpp"
#include "direct_kernels.hpp"

#include "conv2d/conv2d_lanes.abi.h"

#include <algorithm>
#include <variant>

namespace sectile::detail {

namespace conv2d_lanes {
namespace {

struct Row {
  std::uint32_t strip;     // outputs of a row
  std::uint32_t channels;  // output channels
};
constexpr Row kTable[] = {{.strip = 4, .channels = 16}, {.strip = 2, .channels = 16}, {.strip = 1, .channels = 16},
                          {.strip = 4, .channels = 8},  {.strip = 4, .channels = 4},  {.strip = 1, .channels = 4},
                          {.strip = 4, .channels = 1}};
// Subgroups have 4 to 16 lanes. Small, so that few are without outputs in small images.
constexpr std::uint32_t kWorkgroup = 16;
// The multiply-adds that are compiled one after another, at most: lavapipe takes 0.6 s for 192.
constexpr std::int64_t kMostUnrolled = 512;

std::int64_t items(const Conv2dContext& c, const Row& r) {
  return c.out.height * ((c.out.width + r.strip - 1) / r.strip);
}

std::int64_t blocks(const Conv2dProblem& p, const Row& r) {
  return p.groups * ((p.k / p.groups + r.channels - 1) / r.channels);
}

// CONV2D_LANES_SPEC_STEP.
std::uint32_t step_of(const Conv2dProblem& p, const Row& r) {
  const bool shared = p.s > 1 && p.dilation_w == 1 && p.stride_w <= 2 && p.s * r.strip * r.channels <= kMostUnrolled;
  return shared ? static_cast<std::uint32_t>(p.stride_w) : 0;
}

// What an invocation does for one channel and the columns of the filter that it takes at a time.
struct Work {
  std::uint64_t inputs, weights, multiply_adds;
};

Work work_of(const Conv2dProblem& p, const Row& r) {
  const std::uint64_t step = step_of(p, r), taps = step == 0 ? 1 : static_cast<std::uint64_t>(p.s);
  return {.inputs = step == 0 ? r.strip : (r.strip - 1) * step + taps,
          .weights = taps * r.channels,
          .multiply_adds = taps * r.channels * r.strip};
}

DirectConfig config_of(const Conv2dContext& c, std::uint32_t row) {
  const Row& r = kTable[row];
  const Conv2dProblem& p = c.problem;
  DirectConfig d = direct_config(c, "conv2d_lanes");
  d.workgroup = kWorkgroup;
  d.groups =
      ceil_div(static_cast<std::uint64_t>(items(c, r)), d.workgroup) * static_cast<std::uint64_t>(blocks(p, r) * p.n);
  d.add(CONV2D_LANES_SPEC_OUT_BLOCK, static_cast<std::uint32_t>(block_of(p.y_layout)));
  d.add(CONV2D_LANES_SPEC_WEIGHTS, static_cast<std::uint32_t>(p.w_layout));
  d.add(CONV2D_LANES_SPEC_STRIP, r.strip);
  d.add(CONV2D_LANES_SPEC_CHANNELS, r.channels);
  d.add(CONV2D_LANES_SPEC_STEP, step_of(p, r));
  const Work work = work_of(p, r);
  d.table = CostTable::conv2d_lanes;
  d.row = row;
  // Of an image's outputs and of those that are computed for it.
  d.work = {.multiply_adds = work.multiply_adds,
            .loads = work.inputs,
            .weights = work.weights,
            .wanted = static_cast<std::uint64_t>(c.out.height * c.out.width * p.k),
            .computed = d.groups / static_cast<std::uint64_t>(p.n) * d.workgroup * r.strip * r.channels};
  return d;
}

Conv2dConfig make(const Conv2dContext& c, std::uint32_t row) { return config_of(c, row); }

bool applicable(const Conv2dContext& c, std::uint32_t row, Refusal& refusal) {
  const Conv2dProblem& p = c.problem;
  if (!c.cpu()) return refusal.no("for CPU devices");
  if (p.type == DType::i8) return refusal.no("products of int8");
  if (p.c == 0 || p.h == 0 || p.w == 0) return refusal.no("an image without channels or pixels");
  if (kWorkgroup > c.limits.workgroup_invocations || kWorkgroup > c.limits.workgroup_x)
    return refusal.no("workgroup of {} invocations, the device allows {}", kWorkgroup, c.limits.workgroup_invocations);
  return direct_offsets_fit(c, refusal) && narrow_accesses_fit(c, config_of(c, row), refusal);
}

// A subgroup's loads of one input from the middle of the result on and of one weight, and its stores of one output.
Conv2dContext::Estimate estimate(const Conv2dContext& c, std::uint32_t row, const Conv2dConfig& config) {
  const auto& d = std::get<DirectConfig>(config);
  const Row& r = kTable[row];
  const Conv2dProblem& p = c.problem;
  const Work work = work_of(p, r);
  const ImageStrides x = strides_of(stored_x(p)), y = strides_of(stored_y(p));
  const std::int64_t strips = (c.out.width + r.strip - 1) / r.strip;
  Walk walk(c.profile);
  Request image, weight, result;
  image.bytes = size_bytes(p.x_type);
  weight.bytes = size_bytes(p.w_type);
  result.bytes = size_bytes(p.out);
  for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
    const std::int64_t line = std::min(c.out.height / 2 + l / strips, c.out.height - 1), q = l % strips * r.strip;
    const std::int64_t at_y = std::min(line * p.stride_h, p.h - 1), at_x = std::min(q * p.stride_w, p.w - 1);
    image.address[l] = (at_y * p.w + at_x) * x.pixel * image.bytes;
    weight.address[l] = 0;
    result.address[l] = (line * c.out.width + q) * y.pixel * result.bytes;
  }
  const std::uint64_t subgroups = ceil_div(d.workgroup, walk.lanes());
  walk.load(image, subgroups * work.inputs);
  walk.load(weight, subgroups * work.weights);
  walk.store(result, subgroups * r.strip * r.channels);
  return {walk.count()};
}

// Groups of one input channel are for conv2d_depthwise, wherever it takes them.
Eligibility eligibility(const Conv2dContext& c, std::uint32_t) {
  const Conv2dProblem& p = c.problem;
  return last_resort_if(p.groups > 1 && p.c == p.groups && p.x_layout == p.y_layout && block_of(p.x_layout) <= 1);
}

std::string print_row(const Row& r) { return fmt::format("{}x{}", r.strip, r.channels); }
std::string print(const Conv2dContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr Conv2dStrategy kStrategy = {
    "conv2d_lanes", CostTable::conv2d_lanes, std::size(kTable), applicable, make, estimate, eligibility, print};

}  // namespace
}  // namespace conv2d_lanes

const Conv2dStrategy kConv2dLanes = conv2d_lanes::kStrategy;
std::vector<std::string> conv2d_lanes_rows() { return names_of(conv2d_lanes::kTable, conv2d_lanes::print_row); }

}  // namespace sectile::detail
