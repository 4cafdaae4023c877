#include "conv2d.hpp"

#include "numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace sectile::reference {
namespace {

std::size_t size_of(std::int64_t n) noexcept { return static_cast<std::size_t>(n); }

// ⌊(size + padding - dilation (filter - 1) - 1) / stride⌋ + 1; refused where not positive.
std::int64_t output_size(std::int64_t size, std::int64_t padding, std::int64_t filter, std::int64_t dilation,
                         std::int64_t stride) {
  const std::int64_t last = size + padding - dilation * (filter - 1) - 1;
  if (last < 0) throw std::invalid_argument("conv2d: output size");
  return last / stride + 1;
}

// Images of `channels` channels, as a layout places them. `pitch`: from pixel to pixel in NHWC, from image to image
// otherwise.
Conv2dOperand image(DType type, ImageLayout layout, std::int64_t images, std::int64_t channels, std::int64_t height,
                    std::int64_t width, std::int64_t pitch, std::uint32_t align) {
  Conv2dOperand o{type, align, images, channels, height, width};
  if (layout == ImageLayout::nhwc) {
    o.column_step = pitch == 0 ? channels : pitch;
    if (o.column_step < channels) throw std::invalid_argument("conv2d: pitch");
    o.row_step = width * o.column_step;
    o.outer_step = height * o.row_step;
    return o;
  }
  o.block = layout == ImageLayout::nchw4c ? 4 : layout == ImageLayout::nchw8c ? 8 : 1;
  o.column_step = o.block;
  o.row_step = width * o.block;
  o.block_step = height * o.row_step;
  const std::int64_t packed = (channels + o.block - 1) / o.block * o.block_step;
  o.outer_step = pitch == 0 ? packed : pitch;
  if (o.outer_step < packed) throw std::invalid_argument("conv2d: pitch");
  return o;
}

Conv2dOperand weights(DType type, const Conv2dProblem& p, std::int64_t channels) {
  Conv2dOperand o{type, p.w_align, p.k, channels, p.r, p.s};
  switch (p.w_layout) {
    case FilterLayout::kcrs:
      o.column_step = 1;
      o.row_step = p.s;
      o.block_step = p.r * p.s;
      o.outer_step = channels * o.block_step;
      break;
    case FilterLayout::krsc:
      o.column_step = channels;
      o.row_step = p.s * channels;
      o.outer_step = p.r * o.row_step;
      break;
    case FilterLayout::rsck:
      o.block_step = p.k;
      o.column_step = channels * p.k;
      o.row_step = p.s * o.column_step;
      o.outer_step = 1;
      break;
  }
  return o;
}

Conv2dOperand vector(DType type, std::int64_t length) {
  return {type, static_cast<std::uint32_t>(element_bytes(type)), 1, length};
}

ProductPart conv2d_part(std::string_view operand) noexcept {
  if (operand == "x") return ProductPart::left;
  if (operand == "w") return ProductPart::right;
  if (operand == "x.bias") return ProductPart::left_bias;
  if (operand == "w.scale") return ProductPart::weight_scale;
  if (operand == "x.scale") return ProductPart::left_scale;
  if (operand == "scale") return ProductPart::factor;
  return operand == "y" ? ProductPart::held : ProductPart::addend;
}

}  // namespace

std::uint64_t Conv2dOperand::bytes() const noexcept {
  if (empty()) return 0;
  const std::int64_t last = (channels + block - 1) / block * block - 1;
  return static_cast<std::uint64_t>(index(outer - 1, last, height - 1, width - 1) + 1) * element_bytes(type);
}

double Conv2dOperand::at(std::span<const std::byte> data, std::int64_t index) const noexcept {
  return decode(type, data.data() + size_of(index) * element_bytes(type));
}

std::vector<std::pair<std::int64_t, std::int64_t>> Conv2dOperand::runs() const {
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  if (empty()) return runs;
  const auto all = static_cast<std::int64_t>(bytes() / element_bytes(type)), image = all - (outer - 1) * outer_step;
  const bool apart = block_step == 1 && column_step > channels;  // pixels of a slice of the channels
  if (!apart && outer_step <= image) return {{0, all}};
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t pixel = 0; pixel < (apart ? height * width : 1); ++pixel) {
      const std::int64_t first = o * outer_step + pixel * column_step;
      runs.emplace_back(first, first + (apart ? channels : image));
    }
  return runs;
}

Conv2dDefinition::Conv2dDefinition(const Conv2dProblem& problem)
    : p_(problem),
      product_{problem.type,       problem.acc,
               problem.out,        problem.groups < 1 ? 0 : problem.c / problem.groups * problem.r * problem.s,
               problem.alpha,      problem.beta,
               Activated(problem), problem.w_format} {
  const auto sized = [](std::int64_t size, std::int64_t least) {
    return size >= least && size < std::int64_t{1} << 31;
  };
  for (const std::int64_t size : {p_.n, p_.c, p_.h, p_.w, p_.k, p_.pad_top, p_.pad_left, p_.pad_bottom, p_.pad_right})
    if (!sized(size, 0)) throw std::invalid_argument("conv2d: sizes");
  for (const std::int64_t size : {p_.r, p_.s, p_.stride_h, p_.stride_w, p_.dilation_h, p_.dilation_w, p_.groups})
    if (!sized(size, 1)) throw std::invalid_argument("conv2d: filter");
  if (p_.c % p_.groups != 0 || p_.k % p_.groups != 0) throw std::invalid_argument("conv2d: groups");
  if (!empty()) {
    height_ = output_size(p_.h, p_.pad_top + p_.pad_bottom, p_.r, p_.dilation_h, p_.stride_h);
    width_ = output_size(p_.w, p_.pad_left + p_.pad_right, p_.s, p_.dilation_w, p_.stride_w);
  }
  const auto add = [this](const char* name, Conv2dOperand operand) {
    if (empty()) operand.outer = 0;
    operands_.emplace_back(name, operand);
  };
  const auto result = [&](std::int64_t pitch) {
    return image(p_.out, p_.y_layout, p_.n, p_.k, height_, width_, pitch, p_.y_align);
  };
  add("x", image(p_.x_type, p_.x_layout, p_.n, p_.c, p_.h, p_.w, p_.x_pitch, p_.x_align));
  add("w", weights(p_.w_type, p_, group_channels()));
  add("y", result(p_.y_pitch));
  if (p_.beta != 0 && !p_.c_is_d) add("c", result(p_.c_pitch));
  if (p_.bias) add("bias", vector(p_.out, p_.k));
  if (p_.scale) add("scale", vector(DType::f32, p_.k));
  if (p_.residual) add("residual", result(p_.r_pitch));
  if (p_.w_format == WeightFormat::q8) add("w.scale", vector(DType::f32, p_.c == 0 ? 0 : p_.k));
  if (p_.x_scale) add("x.scale", vector(DType::f32, p_.c));
  if (p_.x_bias) add("x.bias", vector(DType::f32, p_.c));
}

std::size_t Conv2dDefinition::size() const noexcept { return size_of(p_.n * p_.k * height_ * width_); }

bool Conv2dDefinition::has(std::string_view name) const noexcept {
  return std::ranges::any_of(operands_, [&](const auto& o) { return o.first == name; });
}

const Conv2dOperand& Conv2dDefinition::operand(std::string_view name) const {
  for (const auto& [key, operand] : operands_)
    if (key == name) return operand;
  throw std::out_of_range("conv2d has no operand " + std::string(name));
}

void Conv2dDefinition::fill(std::string_view name, std::span<std::byte> bytes, std::uint64_t seed) const {
  const Conv2dOperand& o = operand(name);
  const bool writes_only = name == "y" && !(p_.c_is_d && p_.beta != 0);
  if (o.empty() || (writes_only && o.type == DType::i32)) return;  // any bits are poison
  const ProductDataSet set(seed);
  const ProductPart part = conv2d_part(name);
  // A filter's last weight, and the last channel of an image's border, are the likeliest to be dropped.
  const auto one_in = [&](std::int64_t c, std::int64_t y, std::int64_t x) -> std::uint64_t {
    if (c != o.channels - 1) return 0;
    if (part == ProductPart::right) return y == o.height - 1 && x == o.width - 1 ? 3 : 0;
    return y == 0 || x == 0 || y == o.height - 1 || x == o.width - 1 ? 6 : 0;
  };
  const std::uint64_t own = stream_of(seed, name);
  const std::int64_t channels = (o.channels + o.block - 1) / o.block * o.block;
  for (std::int64_t n = 0; n < o.outer; ++n)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t y = 0; y < o.height; ++y)
        for (std::int64_t x = 0; x < o.width; ++x) {
          const std::int64_t index = o.index(n, c, y, x);
          const std::uint64_t word = data_word(own, static_cast<std::uint64_t>(index));
          std::byte* const at = bytes.data() + size_of(index) * element_bytes(o.type);
          if (writes_only || c >= o.channels)
            put_poison(o.type, word, at);  // times a beta of zero a NaN is still one
          else
            encode(o.type, product_.number(part, word, set, one_in(c, y, x)), at);
        }
}

void Conv2dDefinition::poison(std::string_view name, std::span<std::byte> bytes) const {
  make_nans(operand(name).type, bytes);
}

ProductFactor Conv2dDefinition::x_value(const Conv2dData& data, std::int64_t n, std::int64_t c, std::int64_t y,
                                        std::int64_t x) const {
  const Conv2dOperand& image = operands_[0].second;
  const double value = image.at(data.find("x")->second, image.index(n, c, y, x));
  const auto of_channel = [&](std::string_view name) { return operand(name).at(data.find(name)->second, c); };
  if (!p_.x_bias && !p_.x_relu)
    return p_.x_scale ? product_.scaled(value, of_channel("x.scale")) : product_.converted(value);
  return product_.shifted(value, p_.x_scale ? of_channel("x.scale") : 1, p_.x_bias ? of_channel("x.bias") : 0,
                          p_.x_relu);
}

ProductFactor Conv2dDefinition::w_value(const Conv2dData& data, std::int64_t k, std::int64_t c, std::int64_t r,
                                        std::int64_t s) const {
  const Conv2dOperand& w = operands_[1].second;
  const double value = w.at(data.find("w")->second, w.index(k, c, r, s));
  if (p_.w_format == WeightFormat::plain) return product_.converted(value);
  return product_.scaled(value, operand("w.scale").at(data.find("w.scale")->second, k));
}

ProductElement Conv2dDefinition::finish(const Conv2dData& data, std::span<const std::byte> y_before, const Place& at,
                                        const ProductSums& sums) const {
  const auto read = [&](std::string_view name) {
    const Conv2dOperand& o = operand(name);
    return o.at(data.find(name)->second, o.index(at.n, at.k, at.y, at.x));
  };
  const auto of_channel = [&](std::string_view name) { return operand(name).at(data.find(name)->second, at.k); };
  const Conv2dOperand& y = operands_[2].second;
  EpilogueNumbers numbers;
  if (p_.beta != 0) numbers.c = p_.c_is_d ? y.at(y_before, y.index(at.n, at.k, at.y, at.x)) : read("c");
  if (p_.bias) numbers.bias = of_channel("bias");
  if (p_.scale) numbers.scale = of_channel("scale");
  if (p_.residual) numbers.residual = read("residual");
  return product_.finish(sums, numbers);
}

// ---- the whole result

// Factors spelled out once.
struct Conv2dDefinition::Factors {
  std::vector<double> values, rough, flushed;  // rough: the squares of what conversions left open
  bool any_rough = false, wild = false;
  double unit = 0;  // of the values

  void resize(std::size_t size) {
    for (auto* const part : {&values, &rough, &flushed}) part->assign(size, 0.0);
  }
  void put(std::size_t at, const ProductFactor& factor, DType acc) {
    values[at] = factor.value;
    rough[at] = factor.rough * factor.rough;
    flushed[at] = factor.flushed;
    any_rough = any_rough || factor.rough > 0;
    wild = wild || factor.wild(acc);
  }
  ProductFactor at(std::size_t i) const { return {values[i], std::sqrt(rough[i]), flushed[i]}; }
};

// An image between its zeros, as far as the filters reach: [c][y][x].
struct Conv2dDefinition::Planes : Factors {
  std::int64_t height = 0, width = 0;
};

// [k][c][r][s].
struct Conv2dDefinition::Filters : Factors {};

// The sums of one image's output channel, [p][q].
struct Conv2dDefinition::Row {
  std::vector<double> sum, squares, rough, reach;  // reach: of the terms' magnitudes

  void clear(std::size_t size) {
    for (auto* const part : {&sum, &squares, &rough, &reach}) part->assign(size, 0.0);
  }
};

Conv2dDefinition::Planes Conv2dDefinition::planes_of(const Conv2dData& data, std::int64_t n) const {
  Planes out;
  out.height = (height_ - 1) * p_.stride_h + (p_.r - 1) * p_.dilation_h + 1;
  out.width = (width_ - 1) * p_.stride_w + (p_.s - 1) * p_.dilation_w + 1;
  out.resize(size_of(p_.c * out.height * out.width));
  for (std::int64_t c = 0; c < p_.c; ++c)
    for (std::int64_t y = p_.pad_top; y < std::min(out.height, p_.pad_top + p_.h); ++y)
      for (std::int64_t x = p_.pad_left; x < std::min(out.width, p_.pad_left + p_.w); ++x)
        out.put(size_of((c * out.height + y) * out.width + x), x_value(data, n, c, y - p_.pad_top, x - p_.pad_left),
                p_.acc);
  out.unit = unit_of(out.values);
  return out;
}

Conv2dDefinition::Filters Conv2dDefinition::filters_of(const Conv2dData& data) const {
  Filters out;
  out.resize(size_of(p_.k * group_channels() * p_.r * p_.s));
  std::size_t at = 0;
  for (std::int64_t k = 0; k < p_.k; ++k)
    for (std::int64_t c = 0; c < group_channels(); ++c)
      for (std::int64_t r = 0; r < p_.r; ++r)
        for (std::int64_t s = 0; s < p_.s; ++s) out.put(at++, w_value(data, k, c, r, s), p_.acc);
  out.unit = unit_of(out.values);
  return out;
}

// The sums of one output channel where factors are not all ordinary.
void Conv2dDefinition::add_terms(const Planes& planes, const Filters& filters, std::int64_t k,
                                 std::vector<ProductSums>& sums) const {
  for (std::int64_t p = 0; p < height_; ++p)
    for (std::int64_t q = 0; q < width_; ++q) {
      ProductTerms terms(p_.acc);
      std::size_t of_filter = size_of(k * group_channels() * p_.r * p_.s);
      for (std::int64_t c = 0; c < group_channels(); ++c)
        for (std::int64_t r = 0; r < p_.r; ++r)
          for (std::int64_t s = 0; s < p_.s; ++s, ++of_filter) {
            const std::int64_t y = p * p_.stride_h + r * p_.dilation_h, x = q * p_.stride_w + s * p_.dilation_w;
            const ProductFactor right = filters.at(of_filter);
            if (in_image(y - p_.pad_top, x - p_.pad_left))
              terms.add(planes.at(size_of(((first_channel(k) + c) * planes.height + y) * planes.width + x)), right);
            else
              terms.add_padding(right);
          }
      sums[size_of(p * width_ + q)] = terms.sums();
    }
}

// One output channel's filter over one channel of its group.
void Conv2dDefinition::add_channel(const Planes& planes, const Filters& filters, std::int64_t k, std::int64_t c,
                                   Row& sums) const {
  const std::int64_t plane = (first_channel(k) + c) * planes.height;
  std::size_t of_filter = size_of((k * group_channels() + c) * p_.r * p_.s);
  const bool rough = planes.any_rough || filters.any_rough;
  for (std::int64_t r = 0; r < p_.r; ++r)
    for (std::int64_t s = 0; s < p_.s; ++s, ++of_filter) {
      const double w = filters.values[of_filter], w_rough = filters.rough[of_filter];
      for (std::int64_t y = 0; y < height_; ++y) {
        const std::int64_t row = (plane + y * p_.stride_h + r * p_.dilation_h) * planes.width + s * p_.dilation_w;
        const double* const x = planes.values.data() + row;
        const double* const x_rough = planes.rough.data() + row;
        double* const sum = sums.sum.data() + y * width_;
        double* const squares = sums.squares.data() + y * width_;
        double* const reach = sums.reach.data() + y * width_;
        for (std::int64_t q = 0; q < width_; ++q) {
          const double term = x[q * p_.stride_w] * w;
          sum[q] += term;
          squares[q] += term * term;
          reach[q] += std::fabs(term);
        }
        if (!rough) continue;
        double* const open = sums.rough.data() + y * width_;
        for (std::int64_t q = 0; q < width_; ++q) {
          const double value = x[q * p_.stride_w];
          open[q] += x_rough[q * p_.stride_w] * w * w + value * value * w_rough;
        }
      }
    }
}

std::vector<ProductElement> Conv2dDefinition::result(const Conv2dData& data,
                                                     std::span<const std::byte> y_before) const {
  std::vector<ProductElement> out;
  if (empty()) return out;
  out.reserve(size());
  const Filters filters = filters_of(data);
  Row row;
  std::vector<ProductSums> sums(size_of(height_ * width_));
  for (std::int64_t n = 0; n < p_.n; ++n) {
    const Planes planes = planes_of(data, n);
    const bool rough = planes.any_rough || filters.any_rough;
    const double unit = planes.unit * filters.unit;  // all terms are multiples of it
    for (std::int64_t k = 0; k < p_.k; ++k) {
      if (planes.wild || filters.wild) {
        add_terms(planes, filters, k, sums);
      } else {
        row.clear(sums.size());
        for (std::int64_t c = 0; c < group_channels(); ++c) add_channel(planes, filters, k, c, row);
        for (std::size_t at = 0; at < sums.size(); ++at)
          sums[at] = {row.sum[at], row.squares[at], row.rough[at], !rough && product_.exact_sums(unit, row.reach[at])};
      }
      for (std::int64_t y = 0; y < height_; ++y)
        for (std::int64_t x = 0; x < width_; ++x)
          out.push_back(finish(data, y_before, {n, k, y, x}, sums[size_of(y * width_ + x)]));
    }
  }
  return out;
}

// ---- one element of it

Conv2dDefinition::Place Conv2dDefinition::place(std::size_t i) const noexcept {
  const auto at = static_cast<std::int64_t>(i);
  const std::int64_t row = at / width_, image = row / height_;
  return {image / p_.k, image % p_.k, row % height_, at % width_};
}

ProductElement Conv2dDefinition::element(const Conv2dData& data, std::span<const std::byte> y_before, std::int64_t n,
                                         std::int64_t k, std::int64_t p, std::int64_t q) const {
  ProductTerms terms(p_.acc);
  for (std::int64_t s = p_.s; s-- > 0;)
    for (std::int64_t r = p_.r; r-- > 0;)
      for (std::int64_t c = group_channels(); c-- > 0;) {
        const std::int64_t y = p * p_.stride_h - p_.pad_top + r * p_.dilation_h;
        const std::int64_t x = q * p_.stride_w - p_.pad_left + s * p_.dilation_w;
        if (in_image(y, x))
          terms.add(x_value(data, n, first_channel(k) + c, y, x), w_value(data, k, c, r, s));
        else
          terms.add_padding(w_value(data, k, c, r, s));
      }
  return finish(data, y_before, {n, k, p, q}, terms.sums());
}

ProductElement Conv2dDefinition::element(const Conv2dData& data, std::span<const std::byte> y_before,
                                         std::size_t i) const {
  const Place at = place(i);
  return element(data, y_before, at.n, at.k, at.y, at.x);
}

std::vector<std::size_t> Conv2dDefinition::corners() const {
  const std::int64_t shape[] = {p_.n, p_.k, height_, width_};
  return corners_of(shape);
}

ProductPlaces Conv2dDefinition::places() const {
  const Conv2dOperand& y = operands_[2].second;
  ProductPlaces places{y.type,
                       [this, &y](std::size_t i) {
                         const Place at = place(i);
                         return y.index(at.n, at.k, at.y, at.x);
                       },
                       [this](std::size_t i) {
                         const Place at = place(i);
                         return fmt::format("y[{},{},{},{}]", at.n, at.k, at.y, at.x);
                       },
                       {}};
  for (std::int64_t k = y.channels; k % y.block != 0; ++k)
    for (std::int64_t n = 0; n < y.outer; ++n)
      for (std::int64_t row = 0; row < y.height; ++row)
        for (std::int64_t x = 0; x < y.width; ++x) places.zeros.push_back(y.index(n, k, row, x));
  return places;
}

std::optional<ProductMismatch> compare(const Conv2dDefinition& definition, std::span<const ProductElement> want,
                                       std::span<const std::byte> before, std::span<const std::byte> got) {
  return compare(definition.places(), want, before, got);
}

}  // namespace sectile::reference
