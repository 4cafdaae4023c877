// An image as one operand of a GEMM: im2col as an address computation (shaders/conv2d/conv2d.abi.h).
#include "image.hpp"
#include "gemms.hpp"
#include "kernel_words.hpp"
#include "plan/permute/kernel_parameters.hpp"

#include <algorithm>

namespace sectile::detail {

namespace {

static_assert(size_of<Conv2dGatherWords>({.kGatheredSide = 0}) <= GemmOperand::kMostWords &&
              size_of<Conv2dGatherWords>({.kGatheredSide = 1, .kFlattenedBatch = 1}) <= GemmOperand::kMostWords);

class GatheredImage final : public GatheredOperand {
 public:
  GatheredImage(const Conv2dProblem& p, const ImageAccess& reading)
      : p_(p),
        at_(reading.at),
        along_pixels_(reading.along_pixels),
        align_(reading.align),
        few_pipelines_(reading.few_pipelines),
        order_(along_pixels_ && filter_layout(p) == FilterLayout::kcrs ? CONV2D_ORDER_CRS : CONV2D_ORDER_RSC),
        channels_(static_cast<std::uint32_t>(p.c / p.groups)),
        filter_(static_cast<std::uint32_t>(p.r * p.s)),
        length_(channels_ * filter_) {
    const ImageSize out = size_of_output(p);
    columns_ = static_cast<std::uint32_t>(out.width);
    pixels_ = static_cast<std::uint32_t>(out.height * out.width);
    by_channels_ = fast_division(channels_);
    by_columns_ = fast_division(columns_);
    by_pixels_ = fast_division(pixels_);
    middle_ = static_cast<std::uint32_t>(out.height / 2) * columns_;
    // A step of K with the filter's middle; steps begin at multiples of their K.
    const std::uint32_t middle_k = order_ == CONV2D_ORDER_RSC ? filter_ / 2 * channels_ : 0;
    first_k_ = middle_k / kMostStep * kMostStep + kMostStep <= length_ ? middle_k / kMostStep * kMostStep : 0;
    is_b = reading.is_b;
    flattened_batch = is_b && !few_pipelines_ && flattens_images(p);
    simt = "conv2d_simt";
    coopmat = "conv2d_coopmat";
    coopmat_suffix = is_b ? ".b" : ".a";
    if (reading.in_chunks) {
      coopmat_suffix = ".p";
      taps_per_load = static_cast<std::uint32_t>(p.s);
      tap_constants.add({CONV2D_SPEC_PAD_LEFT, static_cast<std::uint32_t>(p.pad_left)});
      tap_constants.add({CONV2D_SPEC_DILATION_W, static_cast<std::uint32_t>(p.dilation_w)});
    }
    if (p.x_scale) addresses.add("x.scale");
    if (p.x_bias) addresses.add("x.bias");
  }

  std::uint32_t width(std::uint32_t most) const override {
    if (along_pixels_) return 1;
    const std::uint32_t bytes = size_bytes(p_.x_type);
    const std::int64_t images = p_.n > 1 ? at_.image : 0, groups = p_.groups > 1 ? group_step(p_, at_) : 0;
    std::uint32_t width = std::min(most, 16 / bytes);
    while (width > 1 && (align_ % (width * bytes) != 0 || channels_ % width != 0 || at_.pixel % width != 0 ||
                         images % width != 0 || groups % width != 0))
      width /= 2;
    return width;
  }

  std::int64_t elements() const override { return p_.h * p_.w * (is_b ? p_.c : p_.n * channels_); }

  bool offsets_fit(std::int64_t rows, std::int64_t, Refusal& refusal) const override {
    const std::int64_t bytes = size_bytes(p_.x_type), all = reach(rows);
    return all < (std::int64_t{1} << 31) / bytes ||
           refusal.no("a tile reads elements {} bytes apart, beyond 2^31", all * bytes);
  }

  // Elements from the address that a tile's offsets are relative to, to the end of all that so many rows may read.
  std::int64_t reach(std::int64_t rows) const {
    const std::int64_t image =
        at_.block == 0 ? p_.h * p_.w * at_.pixel : (channels_ + at_.block - 1) / at_.block * at_.plane;
    if (is_b && !flattened_batch) return image;
    return (std::min<std::int64_t>(p_.n, (rows - 2 + pixels_) / pixels_ + 1) - 1) * at_.image + image;
  }

  std::int64_t element(std::uint32_t row, std::uint32_t k) const override {
    std::uint32_t pixel = middle_ + row;
    const bool one = is_b && !flattened_batch;
    const std::uint32_t image = one ? 0 : divide(pixel, by_pixels_);
    pixel = one ? std::min(pixel, pixels_ - 1) : pixel - image * pixels_;
    const std::uint32_t p = divide(pixel, by_columns_), q = pixel - p * columns_;
    k += first_k_;
    if (k >= length_ || image >= p_.n) return -1;
    std::uint32_t channel = k / filter_, tap = k - channel * filter_;
    if (order_ == CONV2D_ORDER_RSC) {
      tap = divide(k, by_channels_);
      channel = k - tap * channels_;
    }
    const auto s = static_cast<std::uint32_t>(p_.s);
    const std::int64_t y = p * p_.stride_h - p_.pad_top + tap / s * p_.dilation_h;
    const std::int64_t x = q * p_.stride_w - p_.pad_left + tap % s * p_.dilation_w;
    if (y < 0 || x < 0 || y >= p_.h || x >= p_.w) return -1;
    const std::int64_t inside = at_.block == 0   ? channel
                                : at_.block == 1 ? channel * at_.plane
                                                 : channel / at_.block * at_.plane + channel % at_.block;
    return image * at_.image + inside + (y * p_.w + x) * at_.pixel;
  }

  FixedList<std::uint32_t, kMostWords> words(std::int64_t first_row) const override {
    WordList<kMostWords> sink;
    Conv2dGatherWords{.size_h = static_cast<std::uint32_t>(p_.h),
                      .size_w = static_cast<std::uint32_t>(p_.w),
                      .padding = u16x2(p_.pad_top, p_.pad_left),
                      .group_inputs = channels_,
                      .group_inputs_multiplier = by_channels_.multiplier,
                      .size_q = columns_,
                      .size_q_multiplier = by_columns_.multiplier,
                      .division_shifts = U8x2U16{by_channels_.shift, by_columns_.shift, by_pixels_.shift},
                      .size_pq = pixels_,
                      .size_pq_multiplier = by_pixels_.multiplier,
                      .image_pitch = static_cast<std::uint64_t>(at_.image),
                      .filter_stride = u16x2(p_.stride_h, p_.stride_w),
                      .dilation = u16x2(p_.dilation_h, p_.dilation_w),
                      .first_pixel = static_cast<std::uint32_t>(first_row),
                      .size_n_multiplier = by_pixels_.multiplier}
        .pack(sink, {.kGatheredSide = is_b ? 1u : 0u, .kFlattenedBatch = flattened_batch ? 1u : 0u});
    return sink.list;
  }

  FixedList<Constant, 8> constants(std::uint32_t tile_k) const override {
    const auto block = static_cast<std::uint32_t>(at_.block);
    const bool uniform =
        !few_pipelines_ && order_ == CONV2D_ORDER_RSC && channels_ % tile_k == 0 && tile_k % std::max(block, 1u) == 0;
    FixedList<Constant, 8> list;
    list.add({CONV2D_SPEC_IMAGE_SIDE, is_b ? 1u : 0u});
    list.add({CONV2D_SPEC_ORDER, order_});
    list.add({CONV2D_SPEC_R, static_cast<std::uint32_t>(p_.r)});
    list.add({CONV2D_SPEC_S, static_cast<std::uint32_t>(p_.s)});
    list.add({CONV2D_SPEC_BLOCK, block});
    list.add({CONV2D_SPEC_PROLOGUE, prologue_bits(p_)});
    list.add({CONV2D_SPEC_UNIFORM, uniform ? 1u : 0u});
    if (flattened_batch) list.add({CONV2D_SPEC_FLATTENED_BATCH, 1});
    return list;
  }

 private:
  static constexpr std::uint32_t kMostStep = 256;

  const Conv2dProblem p_;  // a copy: costs outlive the problem (costing.hpp)
  ImageStrides at_;
  bool along_pixels_;
  std::uint32_t align_;
  bool few_pipelines_;
  std::uint32_t order_, channels_, filter_, length_;
  std::uint32_t columns_ = 1, pixels_ = 1, middle_ = 0, first_k_ = 0;
  FastDivision by_channels_, by_columns_, by_pixels_;
};

}  // namespace

std::shared_ptr<const GatheredOperand> gathered_image(const Conv2dProblem& problem, const ImageAccess& reading) {
  return std::make_shared<const GatheredImage>(problem, reading);
}

bool flattens_images(const Conv2dProblem& p) noexcept {
  const ImageSize out = size_of_output(p);
  const std::int64_t pixels = out.height * out.width;
  if (p.n < 2 || pixels == 0 || (pixels + 127) / 128 * 128 * 100 < pixels * 103) return false;
  // The kernels count columns in 32 bits, and address what a tile of 256 columns reads and writes by offsets below 2^31
  // bytes: of images, and of partial sums, which are at most 32 for each element.
  constexpr std::int64_t kMostColumns = kMostSize - 256, kMostElements = std::int64_t{1} << 29, kMostSums = 32;
  const std::int64_t images = 256 / pixels + 2;
  const std::int64_t widest = std::max({strides_of(stored_x(p)).image, strides_of(stored_y(p)).image,
                                        strides_of(stored_c(p)).image, strides_of(stored_r(p)).image});
  return p.n <= kMostColumns / pixels && widest < kMostElements / images &&
         p.k < kMostElements / kMostSums / images / (pixels + 3);
}

std::int64_t group_step(const Conv2dProblem& p, const ImageStrides& at) noexcept {
  const std::int64_t channels = p.c / p.groups;
  return at.block == 0 ? channels : channels / at.block * at.plane;
}

std::uint32_t prologue_bits(const Conv2dProblem& p) noexcept {
  return (p.x_scale ? CONV2D_PROLOGUE_SCALE : 0u) | (p.x_bias ? CONV2D_PROLOGUE_BIAS : 0u) |
         (p.x_relu ? CONV2D_PROLOGUE_RELU : 0u);
}

}  // namespace sectile::detail
