#include "layout.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
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
      if (__builtin_mul_overflow(block, 10, &block) || __builtin_add_overflow(block, text[at] - '0', &block))
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

// The axes of one letter in the source or the destination, outermost first: the upper-case axis, then its blocks from
// left to right. A step along an axis advances the letter's index by the axis' weight.
struct Chain {
  int count = 0;
  std::array<int, kMaxRank> axis{};
  std::array<std::int64_t, kMaxRank> weight{};
};

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
    if (block != 0 && __builtin_mul_overflow(weight, block, &weight))
      return fail(ErrorKind::overflow, "layout", std::string(text), "blocks whose product is below 2^63");
  }
  return chain;
}

// The stride in one operand of a step of `weight`. It is a step along the axis with the greatest weight up to `weight`.
bool stride_at(const Chain& chain, std::span<const std::int64_t> strides, std::int64_t weight, std::int64_t& out) {
  for (int i = 0; i < chain.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (chain.weight[at] <= weight)
      return !__builtin_mul_overflow(weight / chain.weight[at], strides[static_cast<std::size_t>(chain.axis[at])],
                                     &out);
  }
  return false;
}

constexpr std::size_t kMostWeights = 2 * std::size_t{kMaxRank};

struct Weights {
  int count = 0;
  std::array<std::int64_t, kMostWeights> value{};  // descending, each a multiple of the next
};

std::unexpected<Error> layout_error(const PermuteProblem& p, ErrorKind kind, std::string_view want) {
  return fail(kind, "layout", p.src_layout + ":" + p.dst_layout, std::string(want));
}

// The weights of both sides' axes, without duplicates: loops with these weights visit both layouts.
Result<Weights> common_weights(const PermuteProblem& p, const Chain& src, const Chain& dst) {
  Weights all;
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

std::string sizes_text(std::span<const std::int64_t> sizes) {
  std::string text;
  for (const std::int64_t size : sizes) {
    if (!text.empty()) text += 'x';
    text += std::to_string(size);
  }
  return text;
}

bool is_zero(std::int64_t size) {
  return size == 0;
}

Result<void> check_stage_type(std::string_view what, DType type) {
  constexpr DType kNumbers[] = {DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32};
  if (std::ranges::find(kNumbers, type) != std::end(kNumbers)) return {};
  return fail(ErrorKind::invalid_problem, std::string(what), std::string(name(type)),
              "f32, f16, bf16, i8, u8 or i32 for an elementwise stage");
}

class Analysis {
 public:
  explicit Analysis(const PermuteProblem& problem) : p_(problem) {}

  Result<Geometry> run() {
    if (auto ok = check_scalars(); !ok) return std::unexpected(std::move(ok.error()));
    const bool by_layout = !p_.src_layout.empty() || !p_.dst_layout.empty();
    if (auto ok = by_layout ? shape_by_layout() : shape_by_axes(); !ok) return std::unexpected(std::move(ok.error()));
    if (auto ok = check_stride_lists(); !ok) return std::unexpected(std::move(ok.error()));
    if (auto ok = check_stage(); !ok) return std::unexpected(std::move(ok.error()));
    if (auto ok = find_vectors(by_layout); !ok) return std::unexpected(std::move(ok.error()));
    const std::span<const std::int64_t> dst(g_.dst_shape.data(), rank(g_.dst_rank));
    g_.empty = std::ranges::any_of(p_.shape, is_zero) || std::ranges::any_of(dst, is_zero);
    if (g_.empty) return g_;
    const Side src_side{"src", p_.src_strides, p_.src_offset, p_.type},
        dst_side{"dst", p_.dst_strides, p_.dst_offset, out_type(p_)};
    if (auto ok = place(p_.shape, src_side, g_.src_strides, g_.src_bytes); !ok)
      return std::unexpected(std::move(ok.error()));
    if (auto ok = place(dst, dst_side, g_.dst_strides, g_.dst_bytes); !ok)
      return std::unexpected(std::move(ok.error()));
    if (p_.stage.add)
      if (auto ok = place(dst, {"add", p_.stage.add_strides, 0, out_type(p_)}, g_.add_strides, g_.add_bytes); !ok)
        return std::unexpected(std::move(ok.error()));
    if (auto ok = check_distinct(dst); !ok) return std::unexpected(std::move(ok.error()));
    if (auto ok = by_layout ? loops_by_layout() : loops_by_axes(); !ok) return std::unexpected(std::move(ok.error()));
    return g_;
  }

 private:
  static std::size_t rank(int n) { return static_cast<std::size_t>(n); }

  Result<void> check_scalars() {
    if (p_.shape.empty() || p_.shape.size() > kMaxRank)
      return fail(ErrorKind::invalid_problem, "rank", std::to_string(p_.shape.size()), "1 to 16");
    if (std::ranges::any_of(p_.shape, [](std::int64_t n) { return n < 0; }))
      return fail(ErrorKind::invalid_problem, "shape", sizes_text(p_.shape), "sizes of at least 0");
    g_.src_rank = static_cast<int>(p_.shape.size());
    for (const auto& [key, align, type] : {std::tuple{"src.align", p_.src_align, p_.type},
                                           std::tuple{"dst.align", p_.dst_align, out_type(p_)}})
      if (align < size_bytes(type) || align > 4096 || (align & (align - 1)) != 0)
        return fail(ErrorKind::invalid_problem, key, std::to_string(align),
                    "a power of two from " + std::to_string(size_bytes(type)) + " to 4096");
    for (const auto& [key, offset] : {std::pair{"src.offset", p_.src_offset}, std::pair{"dst.offset", p_.dst_offset}})
      if (offset < 0) return fail(ErrorKind::invalid_problem, key, std::to_string(offset), "at least 0");
    return {};
  }

  Result<void> check_stage() const {
    const ElementwiseStage& stage = p_.stage;
    if (has_stage(p_)) {
      if (auto ok = check_stage_type("type", p_.type); !ok) return ok;
      if (auto ok = check_stage_type("out", out_type(p_)); !ok) return ok;
    }
    if (!std::isfinite(stage.alpha))
      return fail(ErrorKind::invalid_problem, "alpha", std::to_string(stage.alpha), "a finite number");
    if (!stage.add && !stage.add_strides.empty())
      return fail(ErrorKind::invalid_problem, "add", "strides without an operand", "the operand as well");
    if (stage.add && !stage.add_strides.empty() && stage.add_strides.size() != rank(g_.dst_rank))
      return fail(ErrorKind::invalid_problem, "add", sizes_text(stage.add_strides),
                  std::to_string(g_.dst_rank) + " strides");
    if (std::ranges::any_of(stage.add_strides, [](std::int64_t s) { return s < 0; }))
      return fail(ErrorKind::invalid_problem, "add", sizes_text(stage.add_strides), "strides of at least 0");
    return {};
  }

  // The source axis (by axes) or letter (by layouts) of a stage's vector, and the vector's length.
  Result<int> vector_axis(std::string_view what, const std::string& text, bool by_layout, std::int64_t& length) const {
    if (text.empty()) return -1;
    int at = -1;
    if (by_layout) {
      if (text.size() == 1) at = letter_index(text[0]);
    } else {
      for (int a = 0; a < g_.src_rank; ++a)
        if (text == std::to_string(a)) at = a;
    }
    if (at < 0)
      return fail(ErrorKind::invalid_problem, std::string(what), text,
                  by_layout ? "an upper-case letter of " + p_.src_layout
                            : "an axis of the source, 0 to " + std::to_string(g_.src_rank - 1));
    length = by_layout ? g_.letter[rank(at)].extent : p_.shape[rank(at)];
    // The index and the byte offset have 32 bits.
    if (length >= std::int64_t{1} << 29)
      return fail(ErrorKind::unsupported, std::string(what), std::to_string(length),
                  "a vector of at most 2^29 - 1 elements");
    return at;
  }

  Result<void> find_vectors(bool by_layout) {
    auto scale = vector_axis("scale", p_.stage.scale, by_layout, g_.scale_length);
    if (!scale) return std::unexpected(std::move(scale.error()));
    auto bias = vector_axis("bias", p_.stage.bias, by_layout, g_.bias_length);
    if (!bias) return std::unexpected(std::move(bias.error()));
    scale_axis_ = *scale;
    bias_axis_ = *bias;
    return {};
  }

  Result<void> shape_by_axes() {
    const auto refuse = [&] {
      std::string text;
      for (const int axis : p_.axes) text += (text.empty() ? "" : ",") + std::to_string(axis);
      return fail(ErrorKind::invalid_problem, "axes", text.empty() ? "none" : text,
                  "a permutation of 0.." + std::to_string(g_.src_rank - 1));
    };
    if (!p_.extents.empty())
      return fail(ErrorKind::invalid_problem, "extent", std::string(1, p_.extents.front().first),
                  "extents need a layout");
    if (p_.axes.size() != p_.shape.size()) return refuse();
    std::uint32_t seen = 0;
    for (std::size_t i = 0; i < p_.axes.size(); ++i) {
      const int axis = p_.axes[i];
      if (axis < 0 || axis >= g_.src_rank || (seen >> axis & 1u) != 0) return refuse();
      seen |= 1u << axis;
      g_.dst_shape[i] = p_.shape[rank(axis)];
    }
    g_.dst_rank = g_.src_rank;
    return {};
  }

  Result<void> loops_by_axes() {
    g_.digits = g_.dst_rank;
    for (std::size_t i = 0; i < p_.axes.size(); ++i)
      g_.digit[i].loop = {g_.dst_shape[i], g_.src_strides[rank(p_.axes[i])], g_.dst_strides[i], g_.add_strides[i],
                          p_.axes[i] == scale_axis_ ? 1 : 0, p_.axes[i] == bias_axis_ ? 1 : 0};
    return check_count();
  }

  Result<void> shape_by_layout() {
    if (!p_.axes.empty())
      return fail(ErrorKind::invalid_problem, "axes", "given with a layout", "either axes or a layout");
    auto src = parse_layout(p_.src_layout, "src layout");
    if (!src) return std::unexpected(std::move(src.error()));
    auto dst = parse_layout(p_.dst_layout, "dst layout");
    if (!dst) return std::unexpected(std::move(dst.error()));
    src_ = *src;
    dst_ = *dst;
    if (src_.rank != g_.src_rank)
      return fail(ErrorKind::invalid_problem, "shape", sizes_text(p_.shape),
                  std::to_string(src_.rank) + " sizes, as the layout " + p_.src_layout + " has");
    g_.dst_rank = dst_.rank;
    if (auto ok = check_extents(); !ok) return ok;
    for (int i = 0; i < src_.rank; ++i)
      if (src_.axes[rank(i)].block == 0)
        if (auto ok = add_letter(i); !ok) return ok;
    for (int i = 0; i < dst_.rank; ++i) {
      const LayoutAxis& axis = dst_.axes[rank(i)];
      const int at = letter_index(axis.letter);
      if (at < 0) return layout_error(p_, ErrorKind::invalid_problem, "the same upper-case letters on both sides");
      g_.dst_shape[rank(i)] =
          axis.block != 0 ? axis.block : g_.letter[rank(at)].written / dst_chain_[rank(at)].weight[0];
    }
    for (int at = 0; at < g_.letters; ++at)
      if (dst_chain_[rank(at)].count == 0)
        return layout_error(p_, ErrorKind::invalid_problem, "the same upper-case letters on both sides");
    return {};
  }

  int letter_index(char name) const {
    for (int i = 0; i < g_.letters; ++i)
      if (g_.letter[rank(i)].name == name) return i;
    return -1;
  }

  Result<void> check_extents() const {
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
  Result<void> add_letter(int outer) {
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
    if (__builtin_mul_overflow(p_.shape[rank(outer)], src->weight[0], &whole)) return too_large("src");
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
    if (__builtin_mul_overflow(blocks, block, &letter.written)) return too_large("dst");
    g_.letter[rank(g_.letters)] = letter;
    src_chain_[rank(g_.letters)] = *src;
    dst_chain_[rank(g_.letters)] = *dst;
    ++g_.letters;
    return {};
  }

  Result<void> check_stride_lists() const {
    if (!p_.src_strides.empty() && p_.src_strides.size() != p_.shape.size())
      return fail(ErrorKind::invalid_problem, "src.strides", sizes_text(p_.src_strides),
                  std::to_string(p_.shape.size()) + " strides");
    if (!p_.dst_strides.empty() && p_.dst_strides.size() != rank(g_.dst_rank))
      return fail(ErrorKind::invalid_problem, "dst.strides", sizes_text(p_.dst_strides),
                  std::to_string(g_.dst_rank) + " strides");
    if (std::ranges::any_of(p_.src_strides, [](std::int64_t s) { return s < 0; }))
      return fail(ErrorKind::invalid_problem, "src.strides", sizes_text(p_.src_strides), "strides of at least 0");
    if (std::ranges::any_of(p_.dst_strides, [](std::int64_t s) { return s <= 0; }))
      return fail(ErrorKind::invalid_problem, "dst.strides", sizes_text(p_.dst_strides), "strides of at least 1");
    return {};
  }

  std::unexpected<Error> too_large(std::string_view side) const {
    return fail(ErrorKind::overflow, std::string(side) + " size",
                sizes_text(p_.shape) + " " + std::string(name(p_.type)), "less than 2^63 bytes");
  }

  // An operand's strides, offset and type.
  struct Side {
    std::string_view name;
    std::span<const std::int64_t> strides;   // none: row-major
    std::int64_t offset = 0;
    DType type = DType::f32;
  };

  // Computes an operand's strides, and the bytes up to the end of its last element.
  Result<void> place(std::span<const std::int64_t> shape, const Side& side, std::array<std::int64_t, kMaxRank>& strides,
                     std::uint64_t& bytes) const {
    std::int64_t packed = 1, last = side.offset;
    for (std::size_t i = shape.size(); i-- > 0;) {
      strides[i] = side.strides.empty() ? packed : side.strides[i];
      std::int64_t reach = 0;
      if (__builtin_mul_overflow(packed, shape[i], &packed) ||
          __builtin_mul_overflow(shape[i] - 1, strides[i], &reach) || __builtin_add_overflow(last, reach, &last))
        return too_large(side.name);
    }
    std::int64_t end = 0;
    if (__builtin_add_overflow(last, 1, &end) || __builtin_mul_overflow(end, std::int64_t{size_bytes(side.type)}, &end))
      return too_large(side.name);
    bytes = static_cast<std::uint64_t>(end);
    return {};
  }

  // Refuses two destination elements at one address: the result would depend on the order of writes.
  Result<void> check_distinct(std::span<const std::int64_t> shape) const {
    if (p_.dst_strides.empty()) return {};
    std::array<std::pair<std::int64_t, std::int64_t>, kMaxRank> by_stride;  // stride, extent
    std::size_t count = 0;
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (shape[i] > 1) by_stride[count++] = {g_.dst_strides[i], shape[i]};
    std::sort(by_stride.begin(), by_stride.begin() + static_cast<std::ptrdiff_t>(count));
    const std::span axes(by_stride.data(), count);
    std::int64_t reach = 0;
    const bool nested = std::ranges::all_of(axes, [&](const auto& axis) {
      const bool beyond = axis.first > reach;
      reach += (axis.second - 1) * axis.first;  // place() has computed the same sum without overflow
      return beyond;
    });
    if (nested || distinct_by_search(axes)) return {};
    return fail(ErrorKind::overlap, "dst.strides", sizes_text(p_.dst_strides),
                "strides at which no two elements of " + sizes_text(shape) + " share an address");
  }

  static bool distinct_by_search(std::span<const std::pair<std::int64_t, std::int64_t>> axes);
  Result<void> loops_by_layout();
  Result<void> check_count() const;

  const PermuteProblem& p_;
  Geometry g_;
  Layout src_, dst_;
  std::array<Chain, kMaxRank> src_chain_{}, dst_chain_{};
  int scale_axis_ = -1, bias_axis_ = -1;   // of the source, or a letter
};

// Exact for two axes, and for few elements. Returns false, which refuses the strides, for more of both.
bool Analysis::distinct_by_search(std::span<const std::pair<std::int64_t, std::int64_t>> axes) {
  if (axes.size() == 2) {  // the smallest solution of i*a == j*b is i = b/g, j = a/g
    const std::int64_t g = std::gcd(axes[0].first, axes[1].first);
    return axes[1].first / g >= axes[0].second || axes[0].first / g >= axes[1].second;
  }
  constexpr std::int64_t kMostElements = 1 << 14;
  std::int64_t count = 1;
  for (const auto& axis : axes)
    if (__builtin_mul_overflow(count, axis.second, &count) || count > kMostElements) return false;
  std::vector<std::int64_t> addresses{0};
  addresses.reserve(static_cast<std::size_t>(count));
  for (const auto& [stride, extent] : axes) {
    const std::size_t before = addresses.size();
    for (std::int64_t i = 1; i < extent; ++i)
      for (std::size_t at = 0; at < before; ++at) addresses.push_back(addresses[at] + i * stride);
  }
  std::ranges::sort(addresses);
  return std::ranges::adjacent_find(addresses) == addresses.end();
}

// Makes the loops of each destination axis, outermost first: one for each of its letter's weights from this axis' own
// up to that of the enclosing axis.
Result<void> Analysis::loops_by_layout() {
  std::array<Weights, kMaxRank> weights;
  std::array<std::array<std::int64_t, kMostWeights>, kMaxRank> extents{};
  for (int at = 0; at < g_.letters; ++at) {
    auto all = common_weights(p_, src_chain_[rank(at)], dst_chain_[rank(at)]);
    if (!all) return std::unexpected(std::move(all.error()));
    weights[rank(at)] = *all;
    Geometry::Letter& letter = g_.letter[rank(at)];
    bool within_one = true;  // all enclosing loops have extent 1, so this one can stop at the end
    letter.covered = 1;
    for (int i = 0; i < all->count; ++i) {
      const std::int64_t weight = all->value[rank(i)];
      const std::int64_t needed = (letter.written - 1) / weight + 1;
      const std::int64_t whole = i == 0 ? needed : all->value[rank(i - 1)] / weight;
      const std::int64_t extent = within_one ? std::min(whole, needed) : whole;
      extents[rank(at)][rank(i)] = extent;
      std::int64_t reach = 0;
      if (__builtin_mul_overflow(extent - 1, weight, &reach) ||
          __builtin_add_overflow(letter.covered, reach, &letter.covered))
        return too_large("dst");
      within_one = within_one && extent == 1;
    }
  }
  for (int axis = 0; axis < dst_.rank; ++axis) {
    const int at = letter_index(dst_.axes[rank(axis)].letter);
    const Chain& chain = dst_chain_[rank(at)];
    const auto here = rank(
        static_cast<int>(std::find(chain.axis.begin(), chain.axis.begin() + chain.count, axis) - chain.axis.begin()));
    for (int i = 0; i < weights[rank(at)].count; ++i) {
      const std::int64_t weight = weights[rank(at)].value[rank(i)];
      if (weight < chain.weight[here] || (here > 0 && weight >= chain.weight[here - 1])) continue;
      if (g_.digits == kMaxRank)
        return fail(ErrorKind::invalid_problem, "rank", p_.src_layout + ":" + p_.dst_layout,
                    "at most 16 axes after splitting");
      Geometry::Digit digit{.loop = {.extent = extents[rank(at)][rank(i)]}, .weight = weight, .letter = at};
      if (digit.loop.extent > 1 && !stride_at(src_chain_[rank(at)], g_.src_strides, weight, digit.loop.src_stride))
        return too_large("src");
      if (digit.loop.extent > 1 && !stride_at(chain, g_.dst_strides, weight, digit.loop.dst_stride))
        return too_large("dst");
      if (digit.loop.extent > 1 && p_.stage.add && !stride_at(chain, g_.add_strides, weight, digit.loop.add_stride))
        return too_large("add");
      if (digit.loop.extent > 1 && at == scale_axis_) digit.loop.scale_step = weight;
      if (digit.loop.extent > 1 && at == bias_axis_) digit.loop.bias_step = weight;
      g_.digit[rank(g_.digits++)] = digit;
    }
  }
  int bounds = 0;
  for (int at = 0; at < g_.letters; ++at) bounds += g_.letter[rank(at)].covered > g_.letter[rank(at)].extent ? 1 : 0;
  if (bounds > kMaxBounds)
    return layout_error(p_, ErrorKind::unsupported, "at most 2 axes whose blocks do not divide them");
  return check_count();
}

// Loops over partial blocks count more elements than the operands have; that count must not overflow either.
Result<void> Analysis::check_count() const {
  std::int64_t count = std::max(size_bytes(p_.type), size_bytes(out_type(p_)));
  for (int i = 0; i < g_.digits; ++i)
    if (__builtin_mul_overflow(count, g_.digit[rank(i)].loop.extent, &count)) return too_large("dst");
  return {};
}

}  // namespace

Result<Geometry> geometry(const PermuteProblem& problem) {
  return Analysis(problem).run();
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
