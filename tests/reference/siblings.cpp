#include "siblings.hpp"

#include "extra_rows.hpp"
#include "permute.hpp"
#include "random.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace sectile::reference {
namespace {

constexpr int kDraws = 300;                  // of which those are kept that need no further pipeline
constexpr std::size_t kKept = 4;             // times as many as are wanted: of these the best are taken
constexpr std::int64_t kMostWork = 200'000;  // multiplications, or elements moved

constexpr std::array<std::string_view, static_cast<std::size_t>(Side::kCount)> kNames = {"source align",
                                                                                         "other align",
                                                                                         "result align",
                                                                                         "odd height",
                                                                                         "odd width",
                                                                                         "odd pair",
                                                                                         "odd inputs",
                                                                                         "odd outputs",
                                                                                         "images",
                                                                                         "odd images",
                                                                                         "paddings",
                                                                                         "wide padding",
                                                                                         "strides",
                                                                                         "dilations",
                                                                                         "unreached",
                                                                                         "multiplier",
                                                                                         "parts",
                                                                                         "one pixel",
                                                                                         "source pitch",
                                                                                         "result pitch",
                                                                                         "read pitch",
                                                                                         "odd m",
                                                                                         "odd n",
                                                                                         "odd k",
                                                                                         "one row",
                                                                                         "one column",
                                                                                         "short k",
                                                                                         "batches",
                                                                                         "broadcast",
                                                                                         "a pitch",
                                                                                         "b pitch",
                                                                                         "d pitch",
                                                                                         "odd batches",
                                                                                         "odd source",
                                                                                         "odd destination",
                                                                                         "odd outer",
                                                                                         "short axis",
                                                                                         "source rows",
                                                                                         "destination rows",
                                                                                         "source offset",
                                                                                         "destination offset",
                                                                                         "surplus"};

constexpr Side kConv2dSides[] = {
    Side::source_align, Side::other_align,  Side::result_align, Side::odd_height, Side::odd_width, Side::odd_pair,
    Side::odd_inputs,   Side::odd_outputs,  Side::images,       Side::odd_images, Side::paddings,  Side::wide_padding,
    Side::strides,      Side::dilations,    Side::unreached,    Side::multiplier, Side::parts,     Side::one_pixel,
    Side::source_pitch, Side::result_pitch, Side::read_pitch};
constexpr Side kMatmulSides[] = {Side::source_align, Side::other_align, Side::result_align, Side::odd_m,
                                 Side::odd_n,        Side::odd_k,       Side::one_row,      Side::one_column,
                                 Side::short_k,      Side::batches,     Side::broadcast,    Side::a_pitch,
                                 Side::b_pitch,      Side::d_pitch,     Side::odd_batches,  Side::read_pitch};
constexpr Side kPermuteSides[] = {Side::source_align,       Side::result_align,     Side::odd_source,
                                  Side::odd_destination,    Side::odd_outer,        Side::short_axis,
                                  Side::source_rows,        Side::destination_rows, Side::source_offset,
                                  Side::destination_offset, Side::surplus};

// One line an operation, as the functions of a problem below: one without them does not compile.
std::span<const Side> sides_listed(std::type_identity<Conv2dProblem>) { return kConv2dSides; }
std::span<const Side> sides_listed(std::type_identity<MatmulProblem>) { return kMatmulSides; }
std::span<const Side> sides_listed(std::type_identity<PermuteProblem>) { return kPermuteSides; }

class Found {
 public:
  void add(Side side, bool is) { sides_ |= is ? bit(side) : 0; }
  Sides sides() const { return sides_; }

 private:
  Sides sides_ = 0;
};

bool odd(std::int64_t n) { return n % 2 != 0; }
bool pitched(std::int64_t pitch, std::int64_t packed) { return pitch != 0 && pitch != packed; }
bool element_aligned(std::uint32_t align, DType type) { return align == size_bytes(type) && align < 16; }

std::int64_t block_of(ImageLayout layout) {
  return layout == ImageLayout::nchw4c ? 4 : layout == ImageLayout::nchw8c ? 8 : 1;
}
// Elements from pixel to pixel or from image to image, where they are packed.
std::int64_t packed_pitch(ImageLayout layout, std::int64_t channels, std::int64_t pixels) {
  return layout == ImageLayout::nhwc ? channels : up(channels, block_of(layout)) * pixels;
}
std::int64_t image_step(ImageLayout layout, std::int64_t pitch, std::int64_t channels, std::int64_t pixels) {
  const std::int64_t step = pitch != 0 ? pitch : packed_pitch(layout, channels, pixels);
  return layout == ImageLayout::nhwc ? step * pixels : step;
}

// Whether some row of windows lies in the padding alone.
bool all_padding(std::int64_t before, std::int64_t after, std::int64_t size, std::int64_t out, std::int64_t filter,
                 std::int64_t stride, std::int64_t dilation) {
  const std::int64_t reach = dilation * (filter - 1);
  return before > reach || (after > 0 && (out - 1) * stride - before >= size);
}

Sides sides_in(const Conv2dProblem& p, const Plan& plan) {
  Found found;
  const ImageSize out = output_size(p).value_or(ImageSize{});
  const std::int64_t pixels = out.height * out.width;
  found.add(Side::source_align, element_aligned(p.x_align, p.x_type));
  found.add(Side::other_align, element_aligned(p.w_align, p.w_type));
  found.add(Side::result_align, element_aligned(p.y_align, p.out));
  found.add(Side::odd_height, odd(out.height) && out.height > 1);
  found.add(Side::odd_width, odd(out.width) && out.width > 1);
  found.add(Side::odd_pair, odd(out.width) && out.width > 1 && !odd(out.height));
  found.add(Side::odd_inputs, odd(p.c / p.groups) && p.c / p.groups > 1);
  found.add(Side::odd_outputs, odd(p.k));
  found.add(Side::images, p.n > 1);
  const bool x_odd = odd(image_step(p.x_layout, p.x_pitch, p.c, p.h * p.w));
  const bool y_odd = odd(image_step(p.y_layout, p.y_pitch, p.k, pixels));
  found.add(Side::odd_images, p.n > 1 && x_odd && y_odd);
  const std::array pads = {p.pad_top, p.pad_left, p.pad_bottom, p.pad_right};
  found.add(Side::paddings, std::set(pads.begin(), pads.end()).size() == 4);
  found.add(Side::wide_padding,
            all_padding(p.pad_top, p.pad_bottom, p.h, out.height, p.r, p.stride_h, p.dilation_h) ||
                all_padding(p.pad_left, p.pad_right, p.w, out.width, p.s, p.stride_w, p.dilation_w));
  found.add(Side::strides, p.stride_h != p.stride_w && out.height > 1 && out.width > 1);
  found.add(Side::dilations, p.dilation_h != p.dilation_w && p.r > 1 && p.s > 1);
  const auto left = [](std::int64_t size, std::int64_t before, std::int64_t after, std::int64_t reach,
                       std::int64_t stride) { return (size + before + after - reach - 1) % stride; };
  found.add(Side::unreached, p.stride_h * p.stride_w > 1 &&
                                 (left(p.h, p.pad_top, p.pad_bottom, p.dilation_h * (p.r - 1), p.stride_h) > 0 ||
                                  left(p.w, p.pad_left, p.pad_right, p.dilation_w * (p.s - 1), p.stride_w) > 0));
  found.add(Side::multiplier, p.groups == p.c && p.groups > 1 && p.k > p.c);
  const auto last = plan.steps.empty() ? std::string() : plan.steps.back().kernel.stem;
  const auto same = std::ranges::count_if(plan.steps, [&](const Step& step) { return step.kernel.stem == last; });
  found.add(Side::parts, last == "conv2d_winograd_output" && same > 1);
  found.add(Side::one_pixel, pixels == 1);
  found.add(Side::source_pitch, pitched(p.x_pitch, packed_pitch(p.x_layout, p.c, p.h * p.w)));
  const std::int64_t packed = packed_pitch(p.y_layout, p.k, pixels);
  found.add(Side::result_pitch, pitched(p.y_pitch, packed));
  found.add(Side::read_pitch, pitched(p.c_pitch, packed) || pitched(p.r_pitch, packed));
  return found.sides();
}

Sides sides_in(const MatmulProblem& p, const Plan&) {
  Found found;
  found.add(Side::source_align, element_aligned(p.a_align, p.a_type));
  found.add(Side::other_align, element_aligned(p.b_align, p.b_type));
  found.add(Side::result_align, element_aligned(p.d_align, p.out));
  found.add(Side::odd_m, odd(p.m) && p.m > 1);
  found.add(Side::odd_n, odd(p.n) && p.n > 1);
  found.add(Side::odd_k, odd(p.k) && p.k > 1);
  found.add(Side::one_row, p.m == 1);
  found.add(Side::one_column, p.n == 1);
  found.add(Side::short_k, p.k > 0 && p.k < 8);
  found.add(Side::batches, p.batch > 1);
  found.add(Side::broadcast, p.batch > 1 && (p.a_batch == 0 || p.b_batch == 0));
  found.add(Side::a_pitch, pitched(p.lda, p.transpose_a ? p.m : p.k));
  found.add(Side::b_pitch, pitched(p.ldb, p.transpose_b ? p.k : p.n));
  found.add(Side::d_pitch, pitched(p.ldd, p.n));
  found.add(Side::read_pitch, pitched(p.ldc, p.n) || pitched(p.ldr, p.n));
  const auto apart = [](std::int64_t batch) { return batch > 0 && odd(batch); };
  found.add(Side::odd_batches, p.batch > 1 && apart(p.d_batch) && (apart(p.a_batch) || apart(p.b_batch)));
  return found.sides();
}

// Whether rows are further apart than they are long.
bool rows_apart(const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& shape) {
  if (strides.size() != shape.size()) return false;
  std::int64_t packed = 1;
  for (std::size_t a = shape.size(); a-- > 0; packed *= shape[a])
    if (shape[a] > 1 && strides[a] > packed) return true;
  return false;
}

Sides sides_in(const PermuteProblem& p, const Plan&) {
  Found found;
  const auto shape = PermuteDefinition(p).dst_shape();
  found.add(Side::source_align, element_aligned(p.src_align, p.type));
  found.add(Side::result_align, element_aligned(p.dst_align, out_type(p)));
  found.add(Side::odd_source, odd(p.shape.back()) && p.shape.back() > 1);
  found.add(Side::odd_destination, odd(shape.back()) && shape.back() > 1);
  const std::span outer(p.shape.begin(), p.shape.end() - 1);
  found.add(Side::odd_outer, std::ranges::any_of(outer, [](std::int64_t n) { return n > 1 && odd(n); }));
  found.add(Side::short_axis, std::ranges::find(p.shape, 1) != p.shape.end());
  found.add(Side::source_rows, rows_apart(p.src_strides, p.shape));
  found.add(Side::destination_rows, rows_apart(p.dst_strides, shape));
  found.add(Side::source_offset, odd(p.src_offset));
  found.add(Side::destination_offset, odd(p.dst_offset));
  const auto elements = [](const std::vector<std::int64_t>& of) {
    return std::accumulate(of.begin(), of.end(), std::int64_t{1}, std::multiplies<>());
  };
  found.add(Side::surplus, !p.extents.empty() || elements(p.shape) != elements(shape));
  return found.sides();
}

// What a pipeline is made of.
using Pipeline =
    std::tuple<KernelName, std::vector<Constant>, std::array<std::uint32_t, 3>, std::uint32_t, std::size_t>;
std::set<Pipeline> pipelines_of(const Plan& plan) {
  std::set<Pipeline> out;
  for (const Step& step : plan.steps)
    out.emplace(step.kernel, step.constants, step.workgroup, step.required_subgroup_size, step.push.size());
  return out;
}

std::int64_t work_of(const Conv2dProblem& p) {
  const auto out = output_size(p);
  if (!out || p.groups == 0) return kMostWork + 1;
  const std::int64_t image = p.n * p.c * p.h * p.w;
  return std::max(image, p.n * p.k * out->height * out->width * (p.c / p.groups) * p.r * p.s);
}
std::int64_t work_of(const MatmulProblem& p) { return p.batch * p.m * p.n * std::max<std::int64_t>(p.k, 1); }
std::int64_t work_of(const PermuteProblem& p) {
  std::int64_t elements = 4;  // as much as multiplications
  for (const std::int64_t size : p.shape) elements *= size;
  return elements;
}

// The pairs of sides that problems have met.
class SidePairs {
 public:
  void add(Sides sides) {
    for (std::size_t i = 0; i < kNames.size(); ++i)
      if ((sides >> i & 1) != 0) met_[i] |= sides;
    alone_ |= sides;
  }
  // How many are new. A side that none has met counts as many of them.
  int fresh(Sides sides) const {
    int count = 16 * std::popcount(sides & ~alone_);
    for (std::size_t i = 0; i < kNames.size(); ++i)
      if ((sides >> i & 1) != 0) count += std::popcount(sides & ~met_[i]);
    return count;
  }

 private:
  std::array<Sides, kNames.size()> met_{};
  Sides alone_ = 0;
};

}  // namespace

std::string_view name_of(Side side) noexcept { return kNames[static_cast<std::size_t>(side)]; }

Sides sides_of(const Problem& problem, const Plan& plan) {
  return std::visit([&](const auto& p) { return sides_in(p, plan); }, problem);
}

Sides sides_of_operation(std::string_view operation) {
  Sides sides = 0;
  const auto add = [&]<class P>(std::type_identity<P> type) {
    if (operation != operation_of(Problem(P()))) return;
    for (const Side side : sides_listed(type)) sides |= bit(side);
  };
  [&]<class... P>(std::type_identity<std::variant<P...>>) {
    (add(std::type_identity<P>()), ...);
  }(std::type_identity<Problem>());
  return sides;
}

std::vector<Problem> siblings(const Plan& plan, const DeviceProfile& profile, const PlanOptions& options,
                              std::uint64_t seed, std::size_t most) {
  if (plan.steps.empty() || most == 0) return {};
  const std::set<Pipeline> there = pipelines_of(plan);
  struct Drawn {
    Problem problem;
    Sides sides = 0;
  };
  std::vector<Drawn> fit;
  for (std::uint64_t i = 0; i < kDraws && fit.size() < kKept * most; ++i) {
    const Problem problem = redrawn(plan.problem, mix(seed) ^ i);
    if (problem == plan.problem || !validate(problem)) continue;
    const std::int64_t work = std::visit([](const auto& p) { return work_of(p); }, problem);
    if (work == 0 || work > kMostWork) continue;
    const auto other = plan_with_extra_rows(problem, profile, options);
    if (!other || other->steps.empty()) continue;
    const std::set<Pipeline> needed = pipelines_of(*other);
    if (std::ranges::includes(there, needed)) fit.push_back({problem, sides_of(problem, *other)});
  }
  // Each time the one that meets most pairs of sides for the first time.
  SidePairs met;
  met.add(sides_of(plan.problem, plan));
  std::vector<Problem> out;
  while (out.size() < most && !fit.empty()) {
    const auto best = std::ranges::max_element(fit, {}, [&](const Drawn& drawn) { return met.fresh(drawn.sides); });
    met.add(best->sides);
    out.push_back(std::move(best->problem));
    fit.erase(best);
  }
  return out;
}

}  // namespace sectile::reference
