#include "problem.hpp"
#include "base/arithmetic.hpp"
#include "operation.hpp"
#include "plan/product/product.hpp"

#include <algorithm>
#include <limits>

namespace sectile {

Result<ImageSize> output_size(const Conv2dProblem& problem) {
  if (auto ok = validate(problem); !ok) return std::unexpected(std::move(ok.error()));
  return detail::size_of_output(problem);
}

namespace detail {

namespace {

constexpr std::int64_t kMostInt = std::numeric_limits<std::int32_t>::max();

// Numbers of elements and bytes are Wide before they are known to fit 63 bits.

// Saturates far beyond 2^63. Factors are not negative.
Wide times(Wide a, Wide b) noexcept {
  constexpr Wide kCap = Wide{1} << 100;
  if (a == 0 || b == 0) return 0;
  return a > kCap / b ? kCap : a * b;
}

std::int64_t saturated(Wide number) noexcept {
  constexpr std::int64_t kMostLong = std::numeric_limits<std::int64_t>::max();
  return number > kMostLong ? kMostLong : static_cast<std::int64_t>(number);
}

std::int64_t at_least_0(std::int64_t size) noexcept { return std::max<std::int64_t>(size, 0); }

// Elements of one image without gaps, the surplus of its last block included.
Wide packed_image(const StoredImage& s) noexcept {
  const std::int64_t block = std::max<std::int64_t>(block_of(s.layout), 1);
  const Wide channels = (Wide{at_least_0(s.c)} + block - 1) / block * block;
  return times(times(channels, at_least_0(s.h)), at_least_0(s.w));
}

Wide packed_pitch(const StoredImage& s) noexcept {
  return s.layout == ImageLayout::nhwc ? Wide{at_least_0(s.c)} : packed_image(s);
}

Wide pitch_of(const StoredImage& s) noexcept { return s.pitch == 0 ? packed_pitch(s) : Wide{s.pitch}; }

std::int64_t extent_of_filter(std::int64_t size, std::int64_t dilation) noexcept { return dilation * (size - 1) + 1; }

std::int64_t steps_of(std::int64_t padded, std::int64_t filter, std::int64_t stride) noexcept {
  return padded < filter ? 0 : (padded - filter) / stride + 1;
}

Result<void> check_range(std::string_view what, std::int64_t number, std::int64_t least) {
  if (number >= least && number <= kMostInt) return {};
  return fail(ErrorKind::invalid_problem, std::string(what), std::to_string(number),
              std::to_string(least) + " to " + std::to_string(kMostInt));
}

struct NamedSize {
  std::string_view what;  // as the problem string says it
  std::int64_t number = 0, least = 0;
};

Result<void> check_sizes(const Conv2dProblem& p) {
  const NamedSize sizes[] = {
      {"N", p.n, 0},         {"C", p.c, 0},          {"H", p.h, 0},          {"W", p.w, 0},
      {"k", p.k, 0},         {"r", p.r, 1},          {"r", p.s, 1},          {"s", p.stride_h, 1},
      {"s", p.stride_w, 1},  {"p", p.pad_top, 0},    {"p", p.pad_left, 0},   {"p", p.pad_bottom, 0},
      {"p", p.pad_right, 0}, {"d", p.dilation_h, 1}, {"d", p.dilation_w, 1}, {"g", p.groups, 1},
  };
  for (const NamedSize& size : sizes)
    if (auto ok = check_range(size.what, size.number, size.least); !ok) return ok;
  if (p.c % p.groups == 0 && p.k % p.groups == 0) return {};
  return fail(ErrorKind::invalid_problem, "g", std::to_string(p.groups),
              "a divisor of C = " + std::to_string(p.c) + " and k = " + std::to_string(p.k));
}

// One axis of the image under the filter.
struct Window {
  std::string_view axis, output;  // "H", "output height"
  std::int64_t size = 0, padding = 0, filter = 0;
};

// A padded image of at most 2^31 - 1 pixels along each axis: kernels number them in 32 bits.
Result<void> check_window(const Window& window, bool empty) {
  const std::int64_t padded = window.size + window.padding;
  if (padded > kMostInt)
    return fail(ErrorKind::invalid_problem, "p", std::to_string(window.padding),
                "padding with which " + std::string(window.axis) + " = " + std::to_string(window.size) +
                    " grows to at most " + std::to_string(kMostInt));
  if (empty) return {};
  if (window.size == 0)
    return fail(ErrorKind::invalid_problem, std::string(window.axis), "0", "at least 1 where the result has elements");
  if (padded >= window.filter) return {};
  return fail(ErrorKind::invalid_problem, std::string(window.output), "not positive",
              "a filter that spans at most " + std::to_string(padded) + " pixels, which is " +
                  std::string(window.axis) + " with its padding; it spans " + std::to_string(window.filter));
}

Result<void> check_output(const Conv2dProblem& p) {
  const Window height{"H", "output height", p.h, p.pad_top + p.pad_bottom, extent_of_filter(p.r, p.dilation_h)};
  const Window width{"W", "output width", p.w, p.pad_left + p.pad_right, extent_of_filter(p.s, p.dilation_w)};
  if (auto ok = check_window(height, is_empty(p)); !ok) return ok;
  return check_window(width, is_empty(p));
}

Result<void> check_pitch(const StoredImage& s, bool written) {
  const Wide packed = packed_pitch(s);
  if (s.pitch == 0 || (s.pitch > 0 && s.pitch >= packed)) return {};
  // Below that, elements of two pixels or images of the result would share an address.
  return fail(written && s.pitch > 0 ? ErrorKind::overlap : ErrorKind::invalid_problem, std::string(s.pitch_name),
              std::to_string(s.pitch),
              "0 (packed) or at least " + std::to_string(saturated(packed)) + ", the elements of " +
                  (s.layout == ImageLayout::nhwc ? "a pixel" : "an image"));
}

std::string_view prologue_word(const Conv2dProblem& p) noexcept {
  return p.x_scale ? "scale" : p.x_bias ? "bias" : p.x_relu ? "relu" : "";
}

Result<void> check_conv2d(const Conv2dProblem& p) {
  if (p.w_format == WeightFormat::q4)
    return fail(ErrorKind::invalid_problem, "w", "q4", "q8 or an element type: weights of 4 bits are a matmul's alone");
  if (auto ok = check_types({p.type, "x", "w", p.x_type, p.w_type, p.w_format, p.acc, p.out}); !ok) return ok;
  if (auto ok = check_sizes(p); !ok) return ok;
  if (auto ok = check_output(p); !ok) return ok;
  if (auto ok =
          check_numbers({p.type, p.out, p.alpha, p.beta, p.scale, activation_words(p), p.residual, prologue_word(p)});
      !ok)
    return ok;
  if (p.c_is_d && p.c_pitch != 0)
    return fail(ErrorKind::invalid_problem, "c.pitch", std::to_string(p.c_pitch), "none: C is Y");
  if (auto ok = check_pitch(stored_x(p), false); !ok) return ok;
  if (auto ok = check_pitch(stored_y(p), true); !ok) return ok;
  if (auto ok = check_pitch(stored_c(p), false); !ok) return ok;
  if (auto ok = check_pitch(stored_r(p), false); !ok) return ok;
  if (auto ok = check_align("x.align", p.x_align, size_bytes(p.x_type)); !ok) return ok;
  if (auto ok = check_align("w.align", p.w_align, size_bytes(p.w_type)); !ok) return ok;
  return check_align("y.align", p.y_align, size_bytes(p.out));
}

Result<std::uint64_t> bytes_of(std::string_view name, Wide elements, std::uint32_t element, auto&& describe) {
  const Wide bytes = times(elements, element);
  if (bytes > std::numeric_limits<std::int64_t>::max())
    return fail(ErrorKind::overflow, std::string(name) + " size", describe(), "less than 2^63 bytes");
  return static_cast<std::uint64_t>(bytes);
}

// To the end of the last element; a block's surplus channels are elements too.
Result<std::uint64_t> bytes_of(const StoredImage& s, std::uint32_t element) {
  if (s.n == 0 || s.c == 0 || s.h == 0 || s.w == 0) return 0;
  const Wide pitch = pitch_of(s);
  const Wide elements = s.layout == ImageLayout::nhwc ? times(times(times(s.n, s.h), s.w) - 1, pitch) + s.c
                                                      : times(s.n - 1, pitch) + packed_image(s);
  return bytes_of(s.name, elements, element, [&] {
    return std::to_string(s.n) + " of " + std::to_string(s.c) + "x" + std::to_string(s.h) + "x" + std::to_string(s.w) +
           (s.layout == ImageLayout::nhwc ? ", pixels " : ", images ") + std::to_string(saturated(pitch)) + " apart";
  });
}

Wide filter_elements(const Conv2dProblem& p) noexcept { return times(times(p.c / p.groups, p.r), p.s); }

// Collects operands; the first error is kept.
struct OperandList {
  bool empty = false;  // none is accessed
  std::vector<OperandSpec> operands = {};
  Result<void> failed = {};

  void add(std::string_view name, Result<std::uint64_t> bytes, std::uint32_t align, bool written = false) {
    if (empty) bytes = 0;
    if (!bytes && failed) failed = std::unexpected(std::move(bytes.error()));
    operands.push_back({std::string(name), written, bytes.value_or(0), align});
  }
  void add(const StoredImage& s, std::uint32_t element, std::uint32_t align, bool written = false) {
    add(s.name, empty ? 0 : bytes_of(s, element), align, written);
  }
  // One element a channel: fewer than 2^31.
  void add_vector(std::string_view name, std::int64_t length, std::uint32_t element) {
    add(name, static_cast<std::uint64_t>(length) * element, element);
  }
};

}  // namespace

Conv2dProblem conv2d_defaults(DType type) noexcept {
  Conv2dProblem p;
  p.type = p.x_type = p.w_type = p.out = type;
  if (type == DType::i8) p.acc = p.out = DType::i32;
  return p;
}

std::string_view layout_name(ImageLayout layout) noexcept { return kImageLayouts[std::to_underlying(layout)]; }

std::string_view layout_name(FilterLayout layout) noexcept { return kFilterLayouts[std::to_underlying(layout)]; }

std::int64_t block_of(ImageLayout layout) noexcept {
  constexpr std::int64_t kBlocks[] = {1, 0, 4, 8};
  return kBlocks[std::to_underlying(layout)];
}

StoredImage stored_x(const Conv2dProblem& p) noexcept {
  return {"x", "x.pitch", p.x_layout, p.n, p.c, p.h, p.w, p.x_pitch};
}

StoredImage stored_y(const Conv2dProblem& p) noexcept {
  const ImageSize size = size_of_output(p);
  return {"y", "y.pitch", p.y_layout, p.n, p.k, size.height, size.width, p.y_pitch};
}

StoredImage stored_c(const Conv2dProblem& p) noexcept {
  StoredImage image = stored_y(p);
  image.name = "c";
  image.pitch_name = "c.pitch";
  if (!p.c_is_d) image.pitch = p.c_pitch;
  return image;
}

StoredImage stored_r(const Conv2dProblem& p) noexcept {
  StoredImage image = stored_y(p);
  image.name = "residual";
  image.pitch_name = "r.pitch";
  image.pitch = p.r_pitch;
  return image;
}

ImageStrides strides_of(const StoredImage& s) noexcept {
  const Wide pitch = pitch_of(s), pixels = times(at_least_0(s.h), at_least_0(s.w));
  const std::int64_t block = block_of(s.layout);
  if (s.layout == ImageLayout::nhwc) return {saturated(times(pixels, pitch)), 0, saturated(pitch), block};
  return {saturated(pitch), saturated(times(pixels, block)), block, block};
}

ImageSize size_of_output(const Conv2dProblem& p) noexcept {
  return {steps_of(p.h + p.pad_top + p.pad_bottom, extent_of_filter(p.r, p.dilation_h), p.stride_h),
          steps_of(p.w + p.pad_left + p.pad_right, extent_of_filter(p.s, p.dilation_w), p.stride_w)};
}

std::int64_t sum_length(const Conv2dProblem& p) noexcept { return saturated(filter_elements(p)); }

Result<std::vector<OperandSpec>> Operation<Conv2dProblem>::operands(const Conv2dProblem& p) {
  if (auto ok = check_conv2d(p); !ok) return std::unexpected(std::move(ok.error()));
  OperandList list{.empty = is_empty(p)};
  const std::uint32_t out = size_bytes(p.out);
  list.add(stored_x(p), size_bytes(p.x_type), p.x_align);
  const Wide filters = times(p.k, filter_elements(p));
  list.add("w",
           bytes_of("w", filters, size_bytes(p.w_type),
                    [&] {
                      return std::to_string(p.k) + " of " + std::to_string(p.c / p.groups) + "x" + std::to_string(p.r) +
                             "x" + std::to_string(p.s);
                    }),
           p.w_align);
  list.add(stored_y(p), out, p.y_align, true);
  if (reads_c(p) && !p.c_is_d) list.add(stored_c(p), out, p.y_align);
  if (p.bias) list.add_vector("bias", p.k, out);
  if (p.scale) list.add_vector("scale", p.k, 4);
  if (p.residual) list.add(stored_r(p), out, p.y_align);
  if (p.w_format == WeightFormat::q8) list.add_vector("w.scale", p.c == 0 ? 0 : p.k, 4);
  if (p.x_scale) list.add_vector("x.scale", p.c, 4);
  if (p.x_bias) list.add_vector("x.bias", p.c, 4);
  if (!list.failed) return std::unexpected(std::move(list.failed.error()));
  return std::move(list.operands);
}

Result<void> Operation<Conv2dProblem>::validate(const Conv2dProblem& p) {
  auto listed = operands(p);
  if (!listed) return std::unexpected(std::move(listed.error()));
  return {};
}

}  // namespace detail

}  // namespace sectile
