// conv2d_direct: one invocation an element of the result. It serves every convolution.
#include "context.hpp"
#include "direct_kernels.hpp"

#include "conv2d/conv2d_direct.abi.h"

#include <algorithm>
#include <variant>

namespace sectile::detail {

namespace conv2d_direct {
namespace {

struct Row {
  std::uint32_t workgroup;
};
constexpr Row kTable[] = {{.workgroup = 128}, {.workgroup = 64}};

// Elements of the result in memory, a block's surplus channels included.
std::uint64_t elements(const Conv2dContext& c) {
  const std::int64_t block = std::max<std::int64_t>(block_of(c.problem.y_layout), 1);
  const std::int64_t channels = (c.problem.k + block - 1) / block * block;
  return static_cast<std::uint64_t>(c.problem.n * channels * c.out.height * c.out.width);
}

// What an invocation does for its element. The lanes' elements are neighbours in memory: of one pixel in NHWC, of one
// channel in NCHW.
DirectWork work_of(const Conv2dContext& c) {
  const auto& p = c.problem;
  const auto number = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const std::uint64_t terms = number(p.c / p.groups * p.r * p.s);
  const bool channels_last = block_of(p.y_layout) != 1;
  const auto lines = [&](std::uint64_t apart) { return line_thousandths(c, apart); };
  const std::uint64_t x_bytes = size_bytes(p.x_type), w_bytes = size_bytes(p.w_type);
  const bool depthwise = p.groups == p.k;
  const std::uint64_t x_apart = channels_last ? (depthwise ? x_bytes : 0) : number(p.stride_w) * x_bytes;
  const std::uint64_t w_apart = !channels_last ? 0 : p.w_layout == FilterLayout::rsck ? w_bytes : terms * w_bytes;
  return {.multiply_adds = terms,
          .loads = terms,
          .weights = terms,
          .stores = 1,
          .rows = number(p.r),
          .x_lines = lines(x_apart),
          .y_lines = lines(w_apart)};
}

DirectConfig config_of(const Conv2dContext& c, std::uint32_t row) {
  DirectConfig d = direct_config(c, "conv2d_direct");
  d.workgroup = kTable[row].workgroup;
  d.groups = ceil_div(elements(c), d.workgroup);
  constexpr std::uint64_t kNear = std::uint64_t{1} << 31;
  const bool offset64 = elements(c) >= kNear || std::ranges::any_of(c.operands, [&](const PlanOperand& operand) {
                          return operand.role != OperandRole::scratch && operand.bytes >= kNear;
                        });
  d.add(CONV2D_DIRECT_SPEC_OUT_BLOCK, static_cast<std::uint32_t>(block_of(c.problem.y_layout)));
  d.add(CONV2D_DIRECT_SPEC_WEIGHTS, static_cast<std::uint32_t>(c.problem.w_layout));
  d.add(CONV2D_DIRECT_SPEC_OFFSET64, offset64 ? 1 : 0);
  d.table = CostTable::conv2d_direct;
  d.row = row;
  d.work = work_of(c);
  return d;
}

Conv2dConfig make(const Conv2dContext& c, std::uint32_t row) { return config_of(c, row); }
static_assert(static_cast<int>(FilterLayout::kcrs) == CONV2D_WEIGHTS_KCRS &&
              static_cast<int>(FilterLayout::krsc) == CONV2D_WEIGHTS_KRSC &&
              static_cast<int>(FilterLayout::rsck) == CONV2D_WEIGHTS_RSCK);

bool applicable(const Conv2dContext& c, std::uint32_t row, Refusal& refusal) {
  const std::uint32_t workgroup = kTable[row].workgroup;
  if (workgroup > c.limits.workgroup_invocations || workgroup > c.limits.workgroup_x)
    return refusal.no("workgroup of {} invocations, the device allows {}", workgroup, c.limits.workgroup_invocations);
  return narrow_accesses_fit(c, config_of(c, row), refusal);
}

// A subgroup's loads for one multiply-add at the start of the result, and its stores.
Conv2dContext::Estimate estimate(const Conv2dContext& c, std::uint32_t, const Conv2dConfig& config) {
  const auto& d = std::get<DirectConfig>(config);
  const auto& p = c.problem;
  const ImageStrides x = strides_of(stored_x(p));
  const std::int64_t block = block_of(p.y_layout), inner = block == 0 ? p.k : block;
  Walk walk(c.profile);
  Request image, result;
  image.bytes = size_bytes(p.x_type);
  result.bytes = size_bytes(p.out);
  const std::int64_t middle = c.out.height / 2 * c.out.width;
  for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
    const std::int64_t pixel = std::min(middle + l / inner, c.out.height * c.out.width - 1);
    const std::int64_t at_y = std::min(pixel / c.out.width * p.stride_h, p.h - 1),
                       at_x = std::min(pixel % c.out.width * p.stride_w, p.w - 1);
    // The first input channel of the output's group.
    const std::int64_t k = std::min(l % inner, p.k - 1), channel = k / (p.k / p.groups) * (p.c / p.groups);
    const std::int64_t inside = x.block == 0 ? channel : channel / x.block * x.plane + channel % x.block;
    image.address[l] = ((at_y * p.w + at_x) * x.pixel + inside) * image.bytes;
    result.address[l] = std::int64_t{l} * result.bytes;
  }
  const std::uint64_t subgroups = ceil_div(d.workgroup, walk.lanes());
  walk.load(image, subgroups);
  walk.store(result, subgroups);
  return {walk.count()};
}

Eligibility eligibility(const Conv2dContext&, std::uint32_t) { return Eligibility::candidate; }

std::string print_row(const Row& r) { return fmt::format("wg{}", r.workgroup); }
std::string print(const Conv2dContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr Conv2dStrategy kStrategy = {
    "conv2d_direct", CostTable::conv2d_direct, std::size(kTable), applicable, make, estimate, eligibility, print};

}  // namespace
}  // namespace conv2d_direct

const Conv2dStrategy kConv2dDirect = conv2d_direct::kStrategy;
std::vector<std::string> conv2d_direct_rows() { return names_of(conv2d_direct::kTable, conv2d_direct::print_row); }

}  // namespace sectile::detail
