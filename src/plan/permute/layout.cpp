#include "layout.hpp"

#include "base/arithmetic.hpp"
#include "checks.hpp"
#include "layout_pair.hpp"
#include "placement.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace sectile::detail {

Result<Layout> parse_layout(std::string_view text, std::string_view what) {
  const auto refuse = [&](std::string_view want) {
    return fail(ErrorKind::invalid_problem, std::string(what), std::string(text), std::string(want));
  };
  Layout layout;
  std::uint32_t upper = 0, blocked = 0;  // one bit a letter
  for (std::size_t at = 0; at < text.size();) {
    if (layout.rank == kMaxRank) return fail(ErrorKind::invalid_problem, "rank", std::string(text), "at most 16 axes");
    std::int64_t block = 0;
    const std::size_t number = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      if (mul_overflow(block, 10, &block) || add_overflow(block, text[at] - '0', &block))
        return fail(ErrorKind::overflow, std::string(what), std::string(text), "blocks below 2^63");
    if (at == text.size()) return refuse("a lower-case letter behind the block's size");
    const char c = text[at++];
    if (c >= 'A' && c <= 'Z') {
      if (at - 1 != number) return refuse("a lower-case letter behind the block's size");
      const std::uint32_t bit = 1u << (c - 'A');
      if ((upper & bit) != 0) return refuse("each upper-case letter once");
      upper |= bit;
      layout.axes[static_cast<std::size_t>(layout.rank++)] = {c, 0};
    } else if (c >= 'a' && c <= 'z') {
      if (block == 0 || text[number] == '0') return refuse("a size of at least 1 before a lower-case letter");
      blocked |= 1u << (c - 'a');
      layout.axes[static_cast<std::size_t>(layout.rank++)] = {static_cast<char>(c - 'a' + 'A'), block};
    } else {
      return refuse("letters, and numbers before lower-case letters");
    }
  }
  if (layout.rank == 0) return refuse("at least one axis");
  if ((blocked & ~upper) != 0) return refuse("an upper-case letter for each lower-case one");
  return layout;
}

namespace {

bool is_zero(std::int64_t size) { return size == 0; }

// The source axis (by axes) or letter (by layouts) of a stage's vector, and the vector's length.
Result<int> vector_axis(const PermuteProblem& p, const Geometry& g, std::string_view what, const std::string& text,
                        std::int64_t& length) {
  const bool by_layout = !p.src_layout.empty() || !p.dst_layout.empty();
  if (text.empty()) return -1;
  int at = -1;
  if (by_layout) {
    if (text.size() == 1) at = letter_index(g, text[0]);
  } else {
    for (int a = 0; a < g.src_rank; ++a)
      if (text == std::to_string(a)) at = a;
  }
  if (at < 0)
    return fail(ErrorKind::invalid_problem, std::string(what), text,
                by_layout ? "an upper-case letter of " + p.src_layout
                          : "an axis of the source, 0 to " + std::to_string(g.src_rank - 1));
  length = by_layout ? g.letter[static_cast<std::size_t>(at)].extent : p.shape[static_cast<std::size_t>(at)];
  // The index and the byte offset have 32 bits.
  if (length >= std::int64_t{1} << 29)
    return fail(ErrorKind::unsupported, std::string(what), std::to_string(length),
                "a vector of at most 2^29 - 1 elements");
  return at;
}

Result<void> shape_by_axes(const PermuteProblem& p, Geometry& g) {
  const auto refuse = [&] {
    std::string text;
    for (const int axis : p.axes) text += (text.empty() ? "" : ",") + std::to_string(axis);
    return fail(ErrorKind::invalid_problem, "axes", text.empty() ? "none" : text,
                "a permutation of 0.." + std::to_string(g.src_rank - 1));
  };
  if (!p.extents.empty())
    return fail(ErrorKind::invalid_problem, "extent", std::string(1, p.extents.front().first), "extents need a layout");
  if (p.axes.size() != p.shape.size()) return refuse();
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < p.axes.size(); ++i) {
    const int axis = p.axes[i];
    if (axis < 0 || axis >= g.src_rank || (seen >> axis & 1u) != 0) return refuse();
    seen |= 1u << axis;
    g.dst_shape[i] = p.shape[static_cast<std::size_t>(axis)];
  }
  g.dst_rank = g.src_rank;
  return {};
}

void loops_by_axes(const PermuteProblem& p, Geometry& g, int scale, int bias) {
  g.digits = g.dst_rank;
  for (std::size_t i = 0; i < p.axes.size(); ++i)
    g.digit[i].loop = {.extent = g.dst_shape[i],
                       .src_stride = g.src_strides[static_cast<std::size_t>(p.axes[i])],
                       .dst_stride = g.dst_strides[i],
                       .add_stride = g.add_strides[i],
                       .scale_step = p.axes[i] == scale ? 1 : 0,
                       .bias_step = p.axes[i] == bias ? 1 : 0};
}

// Loops over partial blocks count more elements than the operands have; that count must not overflow either.
Result<void> check_count(const PermuteProblem& p, const Geometry& g) {
  std::int64_t count = std::max(size_bytes(p.type), size_bytes(out_type(p)));
  for (int i = 0; i < g.digits; ++i)
    if (mul_overflow(count, g.digit[static_cast<std::size_t>(i)].loop.extent, &count)) return too_large(p, "dst");
  return {};
}

// Strides and bytes of all operands; the destination's elements are distinct.
Result<void> place_operands(const PermuteProblem& p, std::span<const std::int64_t> dst, Geometry& g) {
  const OperandSide src_side{"src", p.src_strides, p.src_offset, p.type},
      dst_side{"dst", p.dst_strides, p.dst_offset, out_type(p)}, add_side{"add", p.stage.add_strides, 0, out_type(p)};
  if (auto ok = place_operand(p, p.shape, src_side, g.src_strides, g.src_bytes); !ok) return ok;
  if (auto ok = place_operand(p, dst, dst_side, g.dst_strides, g.dst_bytes); !ok) return ok;
  if (p.stage.add)
    if (auto ok = place_operand(p, dst, add_side, g.add_strides, g.add_bytes); !ok) return ok;
  return check_distinct(p, dst, g.dst_strides);
}

}  // namespace

Result<Geometry> geometry(const PermuteProblem& p) {
  const auto failed = [](Error& error) { return std::unexpected(std::move(error)); };
  Geometry g;
  if (auto ok = check_scalars(p); !ok) return failed(ok.error());
  g.src_rank = static_cast<int>(p.shape.size());
  const bool by_layout = !p.src_layout.empty() || !p.dst_layout.empty();
  LayoutPair layouts(p);
  if (auto ok = by_layout ? layouts.shape(g) : shape_by_axes(p, g); !ok) return failed(ok.error());
  if (auto ok = check_strides(p, g.dst_rank); !ok) return failed(ok.error());
  if (auto ok = check_stage(p, g.dst_rank); !ok) return failed(ok.error());
  auto scale = vector_axis(p, g, "scale", p.stage.scale, g.scale_length);
  if (!scale) return failed(scale.error());
  auto bias = vector_axis(p, g, "bias", p.stage.bias, g.bias_length);
  if (!bias) return failed(bias.error());
  const std::span<const std::int64_t> dst(g.dst_shape.data(), static_cast<std::size_t>(g.dst_rank));
  g.empty = std::ranges::any_of(p.shape, is_zero) || std::ranges::any_of(dst, is_zero);
  if (g.empty) return g;
  if (auto ok = place_operands(p, dst, g); !ok) return failed(ok.error());
  if (by_layout) {
    if (auto ok = layouts.loops(g, *scale, *bias); !ok) return failed(ok.error());
  } else {
    loops_by_axes(p, g, *scale, *bias);
  }
  if (auto ok = check_count(p, g); !ok) return failed(ok.error());
  return g;
}

Result<LoopNest> loop_nest(const PermuteProblem& problem) {
  auto made = geometry(problem);
  if (!made) return std::unexpected(std::move(made.error()));
  const Geometry& g = *made;
  LoopNest nest;
  nest.src_offset = problem.src_offset;
  nest.dst_offset = problem.dst_offset;
  nest.empty = g.empty;
  if (g.empty) return nest;
  const auto digits = std::span(g.digit.data(), static_cast<std::size_t>(g.digits));
  nest.axes.reserve(digits.size());
  for (const Geometry::Digit& digit : digits) nest.axes.push_back(digit.loop);
  for (int at = 0; at < g.letters; ++at) {
    const Geometry::Letter& letter = g.letter[static_cast<std::size_t>(at)];
    if (letter.covered <= letter.extent) continue;
    Bound bound{
        .coef = std::vector<std::int64_t>(digits.size()), .read_limit = letter.extent, .write_limit = letter.written};
    for (std::size_t i = 0; i < digits.size(); ++i)
      if (digits[i].letter == at) bound.coef[i] = digits[i].weight;
    nest.bounds.push_back(std::move(bound));
  }
  return nest;
}

}  // namespace sectile::detail
