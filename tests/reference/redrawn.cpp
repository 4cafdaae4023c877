// Other sizes, paddings, strides and pitches for a problem whose types, layouts and operands stay.
#include "siblings.hpp"

#include "permute.hpp"
#include "pick.hpp"
#include "random.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace sectile::reference {
namespace {

// A kernel's constants depend on some of a problem's numbers: on what vectors need, and on those for which there is no
// room among pushed words, which are the last ones. So each kind of numbers is drawn anew, or stays, by a coin.
enum Kind : std::uint8_t { kImages, kChannels, kWindows, kPixels, kPitches, kAlignments, kKinds };

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed), unit_(one_of<std::int64_t>(random_, {1, 1, 2, 4, 8})) {
    stays_ = random_.below(1u << kKinds);
    odd_ = random_.one_in(4);
  }

  Random& random() { return random_; }
  bool now() { return random_.one_in(2); }
  bool stays(Kind kind) const { return (stays_ >> kind & 1) != 0; }
  // What vectors take as often as what they do not.
  std::int64_t size(std::int64_t most) {
    switch (random_.below(6)) {
      case 0:
        return unit_ * random_.between(1, std::max<std::int64_t>(most / unit_, 1));
      case 1:
      case 2:
        return std::min<std::int64_t>(one_of<std::int64_t>(random_, {1, 3, 5, 7, 9, 15, 17, 31, 33}), most);
      default:
        return 8 * random_.between(1, std::max<std::int64_t>(most / 8, 1));
    }
  }
  // Images and batches an odd number of elements apart, where that is up to pitches.
  bool odd_pitches() const { return odd_; }
  std::int64_t pitch(std::int64_t packed) {
    if (odd_) return packed % 2 != 0 ? 0 : packed + 1 + 2 * random_.between(0, 3);
    if (now()) return 0;
    return random_.one_in(3) ? packed + 1 + 2 * random_.between(0, 3)
                             : up(packed + random_.between(1, 9), now() ? 8 : unit_);
  }
  std::uint32_t align(std::uint32_t was, DType type) {
    return random_.one_in(2) ? was : random_.one_in(4) ? 16u : size_bytes(type);
  }

 private:
  Random random_;
  std::int64_t unit_;
  std::uint64_t stays_ = 0;
  bool odd_ = false;
};

// ---- convolutions

void draw_channels(Conv2dProblem& p, Draw& draw) {
  if (draw.stays(kChannels)) return;
  const std::int64_t groups = std::max<std::int64_t>(p.groups, 1);
  std::int64_t group_c = p.c / groups, group_k = p.k / groups;
  if (groups > 1 && group_c == 1) {
    p.groups = std::max<std::int64_t>(draw.size(40), 2);
    if (group_k > 1) group_k = draw.random().between(2, 4);
  } else {
    if (draw.now()) group_c = draw.size(std::min<std::int64_t>(std::max<std::int64_t>(group_c, 9), 80));
    if (draw.now()) group_k = draw.size(40);
  }
  p.c = p.groups * group_c;
  p.k = p.groups * group_k;
}

void draw_windows(Conv2dProblem& p, Draw& draw) {
  Random& random = draw.random();
  if (!draw.stays(kWindows) && p.r * p.s > 1 && random.one_in(3)) {
    p.r = random.between(1, 4);
    p.s = random.between(1, 5);
  }
  if (!draw.stays(kWindows) && draw.now()) {
    p.stride_h = random.between(1, 3);
    p.stride_w = random.between(1, 3);
  }
  if (!draw.stays(kWindows) && random.one_in(3)) {
    p.dilation_h = random.between(1, 3);
    p.dilation_w = random.between(1, 3);
  }
  if (p.r * p.s > 1 && random.between(0, 3) > 0) {
    std::vector<std::int64_t> pads = {0, 1, 2, 3};
    if (random.one_in(4)) pads[static_cast<std::size_t>(random.below(4))] = random.between(4, 6);
    shuffle(pads, random);
    if (random.one_in(4)) pads = {1, 1, 1, 1};
    p.pad_top = pads[0];
    p.pad_left = pads[1];
    p.pad_bottom = pads[2];
    p.pad_right = pads[3];
  }
}

// The image's size along an axis, for so many rows or columns of the result and now and then some that none reads.
std::int64_t image_side(std::int64_t out, std::int64_t stride, std::int64_t reach, std::int64_t pads, Random& random) {
  const std::int64_t size = (out - 1) * stride + reach + 1 - pads;
  return std::max<std::int64_t>(size, 1) + (random.one_in(2) ? 0 : random.between(0, stride - 1));
}

void draw(Conv2dProblem& p, Draw& draw) {
  Random& random = draw.random();
  const ImageSize was = output_size(p).value_or(ImageSize{1, 1});
  if (!draw.stays(kImages)) p.n = random.between(draw.odd_pitches() ? 2 : 1, 3);
  draw_channels(p, draw);
  draw_windows(p, draw);
  const bool one_pixel = random.one_in(8);
  const auto side = [&](std::int64_t before) -> std::int64_t {
    if (draw.stays(kPixels)) return std::max<std::int64_t>(before, 1);
    return one_pixel ? 1 : draw.now() ? random.between(1, 13) : draw.size(13);
  };
  const std::int64_t height = side(was.height), width = side(was.width);
  p.h = image_side(height, p.stride_h, p.dilation_h * (p.r - 1), p.pad_top + p.pad_bottom, random);
  p.w = image_side(width, p.stride_w, p.dilation_w * (p.s - 1), p.pad_left + p.pad_right, random);
  const auto out = output_size(p);
  if (!out) return;
  const auto pitch = [&](ImageLayout layout, std::int64_t channels, std::int64_t pixels) {
    const std::int64_t block = layout == ImageLayout::nchw4c ? 4 : layout == ImageLayout::nchw8c ? 8 : 1;
    return draw.pitch(layout == ImageLayout::nhwc ? channels : up(channels, block) * pixels);
  };
  if (!draw.stays(kPitches)) {
    const std::int64_t pixels = out->height * out->width;
    p.x_pitch = pitch(p.x_layout, p.c, p.h * p.w);
    p.y_pitch = pitch(p.y_layout, p.k, pixels);
    p.c_pitch = p.beta != 0 && !p.c_is_d ? pitch(p.y_layout, p.k, pixels) : 0;
    p.r_pitch = p.residual ? pitch(p.y_layout, p.k, pixels) : 0;
  }
  if (draw.stays(kAlignments)) return;
  p.x_align = draw.align(p.x_align, p.x_type);
  p.w_align = draw.align(p.w_align, p.w_type);
  p.y_align = draw.align(p.y_align, p.out);
}

// ---- matmuls

struct Rows {
  std::int64_t rows, columns;
  bool source;
};

void draw_steps(const Rows& of, std::int64_t batch, Draw& draw, std::int64_t& ld, std::int64_t& step) {
  ld = draw.pitch(of.columns);
  step = MatmulProblem::kPacked;
  if (batch < 2) return;
  Random& random = draw.random();
  const std::int64_t packed = of.rows * (ld == 0 ? of.columns : ld);
  switch (random.below(4)) {
    case 0:
      step = packed + 1 - packed % 2 + 2 * random.between(0, 4);
      break;
    case 1:
      step = up(packed + random.between(0, 9), 8);
      break;
    case 2:
      if (of.source) step = 0;
      break;
    default:
      break;
  }
}

void draw(MatmulProblem& p, Draw& draw) {
  Random& random = draw.random();
  if (draw.now()) p.m = random.one_in(5) ? 1 : draw.size(50);
  if (draw.now()) p.n = random.one_in(5) ? 1 : draw.size(50);
  // Kernels of long sums keep them.
  if (draw.now()) p.k = p.k < 200 || random.one_in(4) ? draw.size(70) : p.k + random.between(-8, 8);
  if (!draw.stays(kImages)) p.batch = p.batch == 1 && draw.now() ? 1 : random.between(2, 3);
  const Rows a{p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, true};
  const Rows b{p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, true};
  const Rows d{p.m, p.n, false};
  draw_steps(a, p.batch, draw, p.lda, p.a_batch);
  draw_steps(b, p.batch, draw, p.ldb, p.b_batch);
  if (p.b_format == WeightFormat::q4) {
    p.ldb = up(p.k, 32) + 32 * random.between(0, 1);
    p.b_batch = p.batch > 1 && draw.now() ? 0 : MatmulProblem::kPacked;
  }
  draw_steps(d, p.batch, draw, p.ldd, p.d_batch);
  p.ldc = p.ldr = 0;
  p.c_batch = p.r_batch = MatmulProblem::kPacked;
  if (p.beta != 0 && !p.c_is_d) draw_steps({p.m, p.n, true}, p.batch, draw, p.ldc, p.c_batch);
  if (p.residual) draw_steps({p.m, p.n, true}, p.batch, draw, p.ldr, p.r_batch);
  if (draw.stays(kAlignments)) return;
  p.a_align = draw.align(p.a_align, p.a_type);
  p.b_align = draw.align(p.b_align, p.b_type);
  p.d_align = draw.align(p.d_align, p.out);
}

// ---- permutes

// The letters of a layout, one an axis of the shape.
std::string letters_of(const std::string& layout) {
  std::string out;
  for (const char c : layout)
    if (c < '0' || c > '9') out += c;
  return out;
}

// Sizes of axes that no block fixes. True sizes of blocked axes fill their last block in part.
void draw_shape(PermuteProblem& p, Draw& draw) {
  Random& random = draw.random();
  const std::string letters = letters_of(p.src_layout);
  for (std::size_t a = 0; a < p.shape.size(); ++a) {
    const bool block = a < letters.size() && letters[a] >= 'a' && letters[a] <= 'z';
    if (block || p.shape[a] == 0 || !draw.now()) continue;
    switch (random.below(4)) {
      case 0:
        p.shape[a] += random.between(-1, 1);
        break;
      case 1:
        p.shape[a] = p.shape[a] * random.between(1, 3) / 2;
        break;
      case 2:
        p.shape[a] = random.one_in(4) ? 1 : 2 * random.between(1, 20) + 1;
        break;
      default:
        p.shape[a] = draw.size(70);
        break;
    }
    p.shape[a] = std::max<std::int64_t>(p.shape[a], 1);
  }
  for (auto& [letter, size] : p.extents) {
    std::int64_t whole = 1, block = 1;
    for (std::size_t a = 0; a < letters.size(); ++a) {
      if (letters[a] == letter) whole *= p.shape[a];
      if (letters[a] == letter - 'A' + 'a') block = p.shape[a];
    }
    size = std::max<std::int64_t>(whole * block - random.between(0, block - 1), 1);
  }
}

// Strides in the memory order of those before, with gaps now and then; those of 0 stay.
std::vector<std::int64_t> spread(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& before,
                                 Draw& draw) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  if (before.size() == shape.size())
    std::ranges::stable_sort(order, {}, [&](std::size_t axis) { return before[axis]; });
  std::vector<std::int64_t> strides(shape.size(), 1);
  std::int64_t next = 1;
  for (const std::size_t axis : order) {
    if (before.size() == shape.size() && before[axis] == 0) {
      strides[axis] = 0;
      continue;
    }
    strides[axis] = next;
    next *= std::max<std::int64_t>(shape[axis], 1);
    if (shape[axis] > 1 && draw.random().one_in(3)) next += draw.random().between(1, 9);
  }
  return strides;
}

std::vector<std::int64_t> strides_for(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& before,
                                      Draw& draw) {
  if (before.empty() && draw.random().one_in(2)) return {};
  return spread(shape, before, draw);
}

void draw(PermuteProblem& p, Draw& draw) {
  Random& random = draw.random();
  draw_shape(p, draw);
  PermuteProblem packed = p;
  packed.src_strides = packed.dst_strides = packed.stage.add_strides = {};
  if (!validate(packed)) return;
  const auto shape = PermuteDefinition(packed).dst_shape();
  p.src_strides = strides_for(p.shape, p.src_strides, draw);
  p.dst_strides = strides_for(shape, p.dst_strides, draw);
  if (!p.stage.add_strides.empty()) p.stage.add_strides = spread(shape, p.stage.add_strides, draw);
  if (draw.now()) p.src_offset = draw.now() ? 2 * random.between(0, 20) + 1 : 0;
  if (draw.now()) p.dst_offset = draw.now() ? 2 * random.between(0, 20) + 1 : 0;
  if (draw.stays(kAlignments)) return;
  p.src_align = draw.align(p.src_align, p.type);
  p.dst_align = draw.align(p.dst_align, out_type(p));
}

}  // namespace

Problem redrawn(const Problem& problem, std::uint64_t seed) {
  Problem out = problem;
  Draw numbers(seed);
  std::visit([&](auto& p) { draw(p, numbers); }, out);
  return out;
}

}  // namespace sectile::reference
