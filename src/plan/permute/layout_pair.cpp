#include "layout_pair.hpp"

#include "base/arithmetic.hpp"
#include "placement.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string>
#include <utility>

namespace sectile::detail {

namespace {

std::size_t rank(int n) { return static_cast<std::size_t>(n); }

Result<Chain> chain_of(const Layout& layout, char letter, std::string_view text) {
  Chain chain;
  for (int pass = 0; pass < 2; ++pass)  // the upper-case axis is outermost at any position
    for (int i = 0; i < layout.rank; ++i) {
      const LayoutAxis& axis = layout.axes[static_cast<std::size_t>(i)];
      if (axis.letter == letter && (axis.block == 0) == (pass == 0))
        chain.axis[static_cast<std::size_t>(chain.count++)] = i;
    }
  std::int64_t weight = 1;
  for (int i = chain.count - 1; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    chain.weight[at] = weight;
    const std::int64_t block = layout.axes[static_cast<std::size_t>(chain.axis[at])].block;
    if (block != 0 && mul_overflow(weight, block, &weight))
      return fail(ErrorKind::overflow, "layout", std::string(text), "blocks whose product is below 2^63");
  }
  return chain;
}

// The stride in one operand of a step of `weight`. It is a step along the axis with the greatest weight up to `weight`.
bool stride_at(const Chain& chain, std::span<const std::int64_t> strides, std::int64_t weight, std::int64_t& out) {
  for (int i = 0; i < chain.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (chain.weight[at] <= weight)
      return !mul_overflow(weight / chain.weight[at], strides[static_cast<std::size_t>(chain.axis[at])], &out);
  }
  return false;
}

constexpr std::size_t kMostWeights = 2 * std::size_t{kMaxRank};

struct LetterWeights {
  int count = 0;
  std::array<std::int64_t, kMostWeights> value{};  // descending, each a multiple of the next
};

std::unexpected<Error> layout_error(const PermuteProblem& p, ErrorKind kind, std::string_view want) {
  return fail(kind, "layout", p.src_layout + ":" + p.dst_layout, std::string(want));
}

// The weights of both sides' axes, without duplicates: loops with these weights visit both layouts.
Result<LetterWeights> common_weights(const PermuteProblem& p, const Chain& src, const Chain& dst) {
  LetterWeights all;
  for (const Chain* chain : {&src, &dst})
    for (int i = 0; i < chain->count; ++i)
      all.value[static_cast<std::size_t>(all.count++)] = chain->weight[static_cast<std::size_t>(i)];
  const auto end = all.value.begin() + all.count;
  std::sort(all.value.begin(), end, std::greater<>{});
  all.count = static_cast<int>(std::unique(all.value.begin(), end) - all.value.begin());
  for (int i = 1; i < all.count; ++i)
    if (all.value[static_cast<std::size_t>(i) - 1] % all.value[static_cast<std::size_t>(i)] != 0)
      return layout_error(p, ErrorKind::unsupported, "block sizes that divide one another");
  return all;
}

}  // namespace

int letter_index(const Geometry& g, char name) {
  for (int i = 0; i < g.letters; ++i)
    if (g.letter[rank(i)].name == name) return i;
  return -1;
}

Result<void> LayoutPair::check_extents() const {
  char last = 0;
  for (const auto& extent : p_.extents) {
    const char letter = extent.first;
    const bool known = std::ranges::any_of(std::span(src_.axes.data(), rank(src_.rank)),
                                           [letter](const LayoutAxis& axis) { return axis.letter == letter; });
    if (!known)
      return fail(ErrorKind::invalid_problem, "extent", std::string(1, letter), "a letter of " + p_.src_layout);
    if (letter <= last)
      return fail(ErrorKind::invalid_problem, "extent", std::string(1, letter), "each letter once, sorted");
    last = letter;
  }
  return {};
}

// Adds the letter of source axis `outer` with its size and its padded size in the destination.
Result<void> LayoutPair::add_letter(Geometry& g, int outer) {
  const char name = src_.axes[rank(outer)].letter;
  auto src = chain_of(src_, name, p_.src_layout);
  if (!src) return std::unexpected(std::move(src.error()));
  auto dst = chain_of(dst_, name, p_.dst_layout);
  if (!dst) return std::unexpected(std::move(dst.error()));
  for (int i = 1; i < src->count; ++i) {
    const int axis = src->axis[rank(i)];
    if (p_.shape[rank(axis)] != src_.axes[rank(axis)].block)
      return fail(ErrorKind::invalid_problem, "shape", sizes_text(p_.shape),
                  std::to_string(src_.axes[rank(axis)].block) + " for axis " + std::to_string(axis) + ", as in " +
                      p_.src_layout);
  }
  Geometry::Letter letter{.name = name};
  std::int64_t whole = 0;
  if (mul_overflow(p_.shape[rank(outer)], src->weight[0], &whole)) return too_large(p_, "src");
  letter.extent = whole;
  for (const auto& [key, size] : p_.extents)
    if (key == name) letter.extent = size;
  const bool split = src->count > 1;
  if (letter.extent < (split ? 0 : whole) || letter.extent > whole)
    return fail(
        ErrorKind::invalid_problem, "extent", std::string(1, name) + ":" + std::to_string(letter.extent),
        split ? "0 to " + std::to_string(whole) : std::to_string(whole) + ", as the source does not split this axis");
  const std::int64_t block = dst->count == 0 ? 1 : dst->weight[0];
  const std::int64_t blocks = letter.extent / block + (letter.extent % block != 0 ? 1 : 0);
  if (mul_overflow(blocks, block, &letter.written)) return too_large(p_, "dst");
  g.letter[rank(g.letters)] = letter;
  src_chain_[rank(g.letters)] = *src;
  dst_chain_[rank(g.letters)] = *dst;
  ++g.letters;
  return {};
}

Result<void> LayoutPair::shape(Geometry& g) {
  if (!p_.axes.empty())
    return fail(ErrorKind::invalid_problem, "axes", "given with a layout", "either axes or a layout");
  auto src = parse_layout(p_.src_layout, "src layout");
  if (!src) return std::unexpected(std::move(src.error()));
  auto dst = parse_layout(p_.dst_layout, "dst layout");
  if (!dst) return std::unexpected(std::move(dst.error()));
  src_ = *src;
  dst_ = *dst;
  if (src_.rank != g.src_rank)
    return fail(ErrorKind::invalid_problem, "shape", sizes_text(p_.shape),
                std::to_string(src_.rank) + " sizes, as the layout " + p_.src_layout + " has");
  g.dst_rank = dst_.rank;
  if (auto ok = check_extents(); !ok) return ok;
  for (int i = 0; i < src_.rank; ++i)
    if (src_.axes[rank(i)].block == 0)
      if (auto ok = add_letter(g, i); !ok) return ok;
  for (int i = 0; i < dst_.rank; ++i) {
    const LayoutAxis& axis = dst_.axes[rank(i)];
    const int at = letter_index(g, axis.letter);
    if (at < 0) return layout_error(p_, ErrorKind::invalid_problem, "the same upper-case letters on both sides");
    g.dst_shape[rank(i)] = axis.block != 0 ? axis.block : g.letter[rank(at)].written / dst_chain_[rank(at)].weight[0];
  }
  for (int at = 0; at < g.letters; ++at)
    if (dst_chain_[rank(at)].count == 0)
      return layout_error(p_, ErrorKind::invalid_problem, "the same upper-case letters on both sides");
  return {};
}

// Makes the loops of each destination axis, outermost first: one for each of its letter's weights from this axis' own
// up to that of the enclosing axis.
Result<void> LayoutPair::loops(Geometry& g, int scale, int bias) const {
  std::array<LetterWeights, kMaxRank> weights;
  std::array<std::array<std::int64_t, kMostWeights>, kMaxRank> extents{};
  for (int at = 0; at < g.letters; ++at) {
    auto all = common_weights(p_, src_chain_[rank(at)], dst_chain_[rank(at)]);
    if (!all) return std::unexpected(std::move(all.error()));
    weights[rank(at)] = *all;
    Geometry::Letter& letter = g.letter[rank(at)];
    bool within_one = true;  // all enclosing loops have extent 1, so this one can stop at the end
    letter.covered = 1;
    for (int i = 0; i < all->count; ++i) {
      const std::int64_t weight = all->value[rank(i)];
      const std::int64_t needed = (letter.written - 1) / weight + 1;
      const std::int64_t whole = i == 0 ? needed : all->value[rank(i - 1)] / weight;
      const std::int64_t extent = within_one ? std::min(whole, needed) : whole;
      extents[rank(at)][rank(i)] = extent;
      std::int64_t reach = 0;
      if (mul_overflow(extent - 1, weight, &reach) || add_overflow(letter.covered, reach, &letter.covered))
        return too_large(p_, "dst");
      within_one = within_one && extent == 1;
    }
  }
  for (int axis = 0; axis < dst_.rank; ++axis) {
    const int at = letter_index(g, dst_.axes[rank(axis)].letter);
    const Chain& chain = dst_chain_[rank(at)];
    const auto here = rank(
        static_cast<int>(std::find(chain.axis.begin(), chain.axis.begin() + chain.count, axis) - chain.axis.begin()));
    for (int i = 0; i < weights[rank(at)].count; ++i) {
      const std::int64_t weight = weights[rank(at)].value[rank(i)];
      if (weight < chain.weight[here] || (here > 0 && weight >= chain.weight[here - 1])) continue;
      if (g.digits == kMaxRank)
        return fail(ErrorKind::invalid_problem, "rank", p_.src_layout + ":" + p_.dst_layout,
                    "at most 16 axes after splitting");
      Geometry::Digit digit{.loop = {.extent = extents[rank(at)][rank(i)]}, .weight = weight, .letter = at};
      if (digit.loop.extent > 1 && !stride_at(src_chain_[rank(at)], g.src_strides, weight, digit.loop.src_stride))
        return too_large(p_, "src");
      if (digit.loop.extent > 1 && !stride_at(chain, g.dst_strides, weight, digit.loop.dst_stride))
        return too_large(p_, "dst");
      if (digit.loop.extent > 1 && p_.stage.add && !stride_at(chain, g.add_strides, weight, digit.loop.add_stride))
        return too_large(p_, "add");
      if (digit.loop.extent > 1 && at == scale) digit.loop.scale_step = weight;
      if (digit.loop.extent > 1 && at == bias) digit.loop.bias_step = weight;
      g.digit[rank(g.digits++)] = digit;
    }
  }
  int bounds = 0;
  for (int at = 0; at < g.letters; ++at) bounds += g.letter[rank(at)].covered > g.letter[rank(at)].extent ? 1 : 0;
  if (bounds > kMaxBounds)
    return layout_error(p_, ErrorKind::unsupported, "at most 2 axes whose blocks do not divide them");
  return {};
}

}  // namespace sectile::detail
