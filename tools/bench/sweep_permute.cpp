// A sweep's permutes, class by class.
#include "permute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace sectile::tools {

namespace {

constexpr std::array<SweepClass, 10> kPermuteClasses = {{
    {'a', "aligned", "2-D and batched transposes, sides multiples of 64"},
    {'b', "transpose", "2-D and batched transposes, arbitrary sides, half of them odd"},
    {'c', "nhwc", "NHWC to NCHW and back, 1 to 2048 channels, arbitrary images"},
    {'d', "attention", "BxTxHxD, BxHxTxD and BxHxDxT, D of 32 to 256"},
    {'e', "runs", "innermost axis kept, runs of 1 to 64 bytes"},
    {'f', "rows", "innermost axis kept, longer runs"},
    {'g', "small", "both innermost axes of 2 to 40"},
    {'h', "ranks", "ranks 4 to 8, arbitrary order and sizes"},
    {'i', "blocked", "blocked layouts, with and without surplus"},
    {'j', "strided", "slices of larger tensors, align = the element"},
}};
constexpr std::array<std::string_view, 5> kPermuteTypes = {"u8", "f16", "f32", "f64", "c128"};

using reference::Random;
using Sizes = std::vector<std::int64_t>;

// A problem as a function of its sizes: its neighbour is the same function of others.
struct Shape {
  Sizes sizes;
  std::function<PermuteProblem(const Sizes&)> make;
};

// What is left of `all` for one size when the others are `sizes`; at least 1.
std::int64_t rest_of(double all, std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t size : sizes) all /= static_cast<double>(size);
  return std::max<std::int64_t>(1, std::llround(all));
}

Shape by_axes(Sizes sizes, std::vector<int> axes) {
  return {std::move(sizes), [axes = std::move(axes)](const Sizes& s) {
            PermuteProblem p;
            p.shape = s;
            p.axes = axes;
            return p;
          }};
}

Shape transposes(double all, bool aligned, Random& random) {
  const std::int64_t batch = random.one_in(2) ? 1 : draw_size(random, 2, 256);
  const auto most = static_cast<std::int64_t>(all / static_cast<double>(batch) / 64);
  std::int64_t rows = 0, columns = 0;
  if (aligned) {
    rows = 64 * draw_size(random, 1, std::max<std::int64_t>(1, most / 64));
    columns = 64 * std::max<std::int64_t>(1, std::llround(all / static_cast<double>(batch * rows * 64)));
  } else {
    rows = draw_size(random, 64, std::max<std::int64_t>(64, most));
    rows = random.one_in(2) ? rows | 1 : rows & ~std::int64_t{1};
    columns = std::max<std::int64_t>(64, rest_of(all, {batch, rows}));
    columns = random.one_in(2) ? columns | 1 : columns & ~std::int64_t{1};
  }
  return batch == 1 ? by_axes({rows, columns}, {1, 0}) : by_axes({batch, rows, columns}, {0, 2, 1});
}

// Images in one layout or the other: the sizes are N, C, H, W.
Sizes images(double all, Random& random, std::int64_t channels) {
  const std::int64_t height = draw_size(random, 7, 1024), width = draw_size(random, 7, 1024);
  return {rest_of(all, {channels, height, width}), channels, height, width};
}

Shape nhwc(double all, Random& random) {
  const bool back = random.one_in(2);
  return {images(all, random, draw_size(random, 1, 2048)), [back](const Sizes& s) {
            PermuteProblem p;
            p.shape = back ? Sizes{s[0], s[1], s[2], s[3]} : Sizes{s[0], s[2], s[3], s[1]};
            p.src_layout = back ? "NCHW" : "NHWC";
            p.dst_layout = back ? "NHWC" : "NCHW";
            return p;
          }};
}

Shape attention(double all, Random& random) {
  const std::int64_t depth = 8 * draw_size(random, 4, 32), tokens = draw_size(random, 16, 16384),
                     heads = draw_size(random, 1, 128);
  const std::int64_t batch = rest_of(all, {depth, tokens, heads});
  switch (random.below(4)) {
    case 0:
      return by_axes({batch, tokens, heads, depth}, {0, 2, 1, 3});  // BTHD to BHTD
    case 1:
      return by_axes({batch, heads, tokens, depth}, {0, 2, 1, 3});  // and back
    case 2:
      return by_axes({batch, tokens, heads, depth}, {0, 2, 3, 1});  // BTHD to BHDT
    default:
      return by_axes({batch, heads, depth, tokens}, {0, 3, 1, 2});  // and back
  }
}

// Runs that stay whole: the axes in front of them change places.
Shape kept(double all, std::int64_t run, std::int64_t least, Random& random) {
  const double runs = all / static_cast<double>(run);
  const auto most = [&](double parts) {
    return std::max(least, static_cast<std::int64_t>(runs / parts / static_cast<double>(least)));
  };
  switch (random.below(5)) {
    case 0: {
      const std::int64_t a = draw_size(random, least, most(1));
      return by_axes({a, rest_of(runs, {a}), run}, {1, 0, 2});
    }
    case 1: {
      const std::int64_t n = draw_size(random, 2, 256), a = draw_size(random, least, most(static_cast<double>(n)));
      return by_axes({n, a, rest_of(runs, {n, a}), run}, {0, 2, 1, 3});
    }
    default:
      break;
  }
  const std::int64_t a = draw_size(random, least, most(static_cast<double>(least))),
                     b = draw_size(random, least, most(static_cast<double>(a)));
  const std::int64_t c = rest_of(runs, {a, b});
  switch (random.below(3)) {
    case 0:
      return by_axes({a, b, c, run}, {2, 1, 0, 3});
    case 1:
      return by_axes({a, b, c, run}, {1, 2, 0, 3});
    default:
      return by_axes({a, b, c, run}, {2, 0, 1, 3});
  }
}

Shape small(double all, Random& random) {
  const std::int64_t i = draw_size(random, 2, 40), o = draw_size(random, 2, 40);
  const std::int64_t x =
      draw_size(random, 2, std::max<std::int64_t>(2, static_cast<std::int64_t>(all / static_cast<double>(2 * i * o))));
  switch (random.below(5)) {
    case 0:
      return by_axes({o, rest_of(all, {o, i}), i}, {2, 1, 0});
    case 1:
      return by_axes({o, x, rest_of(all, {o, x, i}), i}, {3, 2, 1, 0});
    case 2:
      return by_axes({o, x, rest_of(all, {o, x, i}), i}, {3, 1, 2, 0});
    case 3:
      return by_axes({x, o, rest_of(all, {x, o, i}), i}, {0, 3, 2, 1});
    default:
      return by_axes({rest_of(all, {o, i}), o, i}, {0, 2, 1});
  }
}

Shape ranks(double all, Random& random) {
  const auto rank = static_cast<std::size_t>(random.between(4, 8));
  std::vector<double> weights(rank);
  for (double& weight : weights) weight = 1 + static_cast<double>(random.below(1000));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  Sizes sizes;
  for (const double weight : weights)
    sizes.push_back(std::max<std::int64_t>(2, std::llround(std::exp2(std::log2(all) * weight / sum))));
  const auto largest = std::ranges::max_element(sizes);
  double others = 1;
  for (const std::int64_t& size : sizes)
    if (&size != &*largest) others *= static_cast<double>(size);
  *largest = std::max<std::int64_t>(2, std::llround(all / others));
  std::vector<int> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  do {
    for (std::size_t i = rank - 1; i > 0; --i) std::swap(axes[i], axes[random.below(i + 1)]);
  } while (std::ranges::is_sorted(axes));
  return by_axes(std::move(sizes), std::move(axes));
}

// The source's shape where its layout splits axes: blocks that are not full count as whole ones.
Sizes blocked_shape(const std::string& layout, const std::string& letters, const Sizes& sizes) {
  Sizes shape;
  for (std::size_t at = 0; at < layout.size(); ++at) {
    if (layout[at] >= '0' && layout[at] <= '9') {
      std::int64_t block = 0;
      while (layout[at] >= '0' && layout[at] <= '9') block = 10 * block + (layout[at++] - '0');
      shape.push_back(block);
      continue;
    }
    std::int64_t size = sizes[letters.find(layout[at])], block = 1;
    for (std::size_t k = 0, number = 0; k < layout.size(); ++k) {  // the letter's own blocks
      if (layout[k] >= '0' && layout[k] <= '9')
        number = 10 * number + static_cast<std::size_t>(layout[k] - '0');
      else {
        if (layout[k] == layout[at] - 'A' + 'a') block *= static_cast<std::int64_t>(number);
        number = 0;
      }
    }
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a block's size stands in front of its letter
    shape.push_back((size + block - 1) / block);
  }
  return shape;
}

Shape between(std::string letters, Sizes sizes, std::string from, std::string to) {
  return {std::move(sizes), [letters = std::move(letters), from = std::move(from), to = std::move(to)](const Sizes& s) {
            PermuteProblem p;
            p.src_layout = from;
            p.dst_layout = to;
            p.shape = blocked_shape(from, letters, s);
            for (std::size_t i = 0; i < letters.size(); ++i) {
              const char lower = static_cast<char>(letters[i] - 'A' + 'a');
              if (from.find(lower) != std::string::npos) p.extents.emplace_back(letters[i], s[i]);
            }
            std::ranges::sort(p.extents);
            return p;
          }};
}

Shape blocked(double all, Random& random) {
  constexpr std::array kBlocks = {4, 8, 16, 32};
  const int block = kBlocks[random.below(4)], other = kBlocks[random.below(4)];
  const bool surplus = random.one_in(2);
  const auto channels = [&](std::int64_t low, std::int64_t high, int whole) {
    const std::int64_t c = draw_size(random, low, high);
    return surplus ? c : (c + whole - 1) / whole * whole;
  };
  const std::string tiled = fmt::format("NCHW{}c", block);
  const auto kind = random.below(6);
  if (kind == 5) {
    const std::int64_t i = channels(16, 8192, 4), side = 1 + 2 * random.between(0, 3);
    Sizes sizes = {rest_of(all, {i, side, side}), i, side, side};
    if (!surplus) sizes[0] = (sizes[0] + 7) / 8 * 8;
    return random.one_in(2) ? between("OIHW", sizes, "OIHW", "OIHW4i8o") : between("OIHW", sizes, "OIHW4i8o", "OIHW");
  }
  const Sizes sizes = images(all, random, channels(1, 2048, std::max(block, other)));
  switch (kind) {
    case 0:
      return between("NCHW", sizes, "NCHW", tiled);
    case 1:
      return between("NCHW", sizes, "NHWC", tiled);
    case 2:
      return between("NCHW", sizes, tiled, "NCHW");
    case 3:
      return between("NCHW", sizes, tiled, "NHWC");
    default:
      return between("NCHW", sizes, tiled, fmt::format("NCHW{}c", block == other ? (block == 4 ? 8 : 4) : other));
  }
}

// Row-major strides in a tensor that is larger by `margins`.
Sizes strides_in(const Sizes& shape, const Sizes& margins) {
  Sizes strides(shape.size(), 1);
  for (std::size_t i = shape.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * (shape[i] + margins[i]);
  return strides;
}

Shape strided(double all, Random& random) {
  Shape base;
  switch (random.below(4)) {
    case 0:
      base = transposes(all, false, random);
      break;
    case 1:
      base = attention(all, random);
      break;
    case 2:
      base = kept(all, draw_size(random, 1, 512), 16, random);
      break;
    default:
      base = ranks(all, random);
      break;
  }
  const auto margins = [&] {
    Sizes m;
    for (const std::int64_t size : base.sizes)
      m.push_back(random.one_in(2) ? 0 : draw_size(random, 1, std::max<std::int64_t>(1, size / 4)));
    return m;
  };
  const Sizes around_source = margins(), around_result = random.one_in(2) ? margins() : Sizes{};
  return {base.sizes, [=, make = base.make](const Sizes& s) {
            PermuteProblem p = make(s);
            p.src_strides = strides_in(p.shape, around_source);
            for (std::size_t i = 0; i < p.shape.size(); ++i) p.src_offset += around_source[i] / 2 * p.src_strides[i];
            if (around_result.empty()) return p;
            Sizes result;
            for (const int axis : p.axes) result.push_back(p.shape[static_cast<std::size_t>(axis)]);
            p.dst_strides = strides_in(result, around_result);
            for (std::size_t i = 0; i < result.size(); ++i) p.dst_offset += around_result[i] / 2 * p.dst_strides[i];
            return p;
          }};
}

Shape shape_of(char letter, double all, std::uint32_t element, Random& random) {
  switch (letter) {
    case 'a':
      return transposes(all, true, random);
    case 'b':
      return transposes(all, false, random);
    case 'c':
      return nhwc(all, random);
    case 'd':
      return attention(all, random);
    case 'e':
      return kept(all, draw_size(random, 1, 64 / element), 16, random);
    case 'f':
      return kept(all, draw_size(random, 64 / element + 1, 65536 / element), 4, random);
    case 'g':
      return small(all, random);
    case 'h':
      return ranks(all, random);
    case 'i':
      return blocked(all, random);
    default:
      return strided(all, random);
  }
}

// Of the larger operand, the surplus of blocks counted and the gaps of strided operands not.
double larger_operand(const PermuteProblem& p) {
  double bytes = size_bytes(p.type);
  for (const std::int64_t size : p.shape) bytes *= static_cast<double>(size);
  const auto result = operand_bytes(p);
  return p.src_strides.empty() && p.dst_strides.empty() && result ? std::max(bytes, static_cast<double>(result->dst))
                                                                  : bytes;
}

}  // namespace

std::span<const SweepClass> permute_classes() { return kPermuteClasses; }
std::span<const std::string_view> permute_types() { return kPermuteTypes; }

std::optional<Drawn> draw_permute(char letter, std::string_view type, double least, double most, Random& random) {
  const DType dtype = parse_dtype(type).value();
  const std::uint32_t element = size_bytes(dtype);
  const double bytes = least * std::exp2(static_cast<double>(random.next() >> 11) * 0x1p-53 * std::log2(most / least));
  const Shape shape = shape_of(letter, bytes / element, element, random);
  const auto made = [&](const Sizes& sizes) {
    PermuteProblem p = shape.make(sizes);
    p.type = dtype;
    if (letter == 'j') p.src_align = p.dst_align = element;
    return p;
  };
  const PermuteProblem problem = made(shape.sizes);
  const double moved = larger_operand(problem);
  if (moved < least || moved > most || !validate(Problem(problem))) return std::nullopt;
  Drawn drawn{problem};
  Sizes rounded = shape.sizes;
  for (std::int64_t& size : rounded) size = neighbour_size(size);
  if (rounded != shape.sizes) drawn.neighbour = made(rounded);
  return drawn;
}

}  // namespace sectile::tools
