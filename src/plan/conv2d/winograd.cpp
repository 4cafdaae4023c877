// Winograd's F(2x2, 3x3), whose steps shaders/conv2d/conv2d_winograd.abi.h describes: the filters and the image are
// transformed into scratch, a GEMM of 16 batches multiplies them there, and its sums are transformed to the result.
#include "winograd.hpp"
#include "cost.hpp"
#include "direct_kernels.hpp"
#include "gemms.hpp"
#include "image.hpp"
#include "steps.hpp"

#include "conv2d/conv2d_winograd.abi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace sectile::detail {

namespace conv2d_winograd {
namespace {

constexpr std::uint32_t kWorkgroup = 128;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 31;  // of U, V or S each: the kernels' offsets have 32 bits
// Images are computed in parts, one after another in the same scratch, where they would take more scratch than this.
// A single image may. Parts that fit the L2 gain nothing: 48, 128 and 256 MiB took 0.98 to 1.20 of the time without
// parts (12 problems, NVIDIA H100, driver 580.159.04, `sectile bench PROBLEM...`; docs/lab/2026-11.md).
constexpr std::uint64_t kWantedBytes = std::uint64_t{1} << 30;
// After the filters' step a part has four: the image's, the GEMM's, its split's sum and the result's.
constexpr std::int64_t kMostParts = (kMaxSteps - 1) / 4;

// Sizes of the planes of U, V and S.
struct Sizes {
  std::int64_t rows = 0, columns = 0;               // of tiles, of an image
  std::int64_t inputs = 0, outputs = 0, tiles = 0;  // padded
  bool rsck = false;                                // U: rows are input channels
  bool v_channels = false, s_channels = false;      // contiguous in V and in S; otherwise tiles are
};

std::int64_t padded(std::int64_t size) {
  return (size + CONV2D_WINOGRAD_PAD - 1) / CONV2D_WINOGRAD_PAD * CONV2D_WINOGRAD_PAD;
}

Sizes sizes_of(const Conv2dContext& c, std::int64_t images) {
  const auto& p = c.problem;
  constexpr std::int64_t kTile = CONV2D_WINOGRAD_TILE;
  Sizes z;
  z.rows = (c.out.height + kTile - 1) / kTile;
  z.columns = (c.out.width + kTile - 1) / kTile;
  z.inputs = padded(p.c);
  z.outputs = padded(p.k);
  z.tiles = padded(images * z.rows * z.columns);
  z.rsck = p.w_layout == FilterLayout::rsck;
  z.v_channels = block_of(p.x_layout) == 0;
  z.s_channels = block_of(p.y_layout) == 0;
  return z;
}

std::uint64_t planes_bytes(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::uint64_t>(CONV2D_WINOGRAD_PLANES * rows * columns) * 4;
}

// Empty, or why the kernels do not compute the problem.
std::string refusal_of(const Conv2dContext& c) {
  const auto& p = c.problem;
  if (p.exact) return "the problem is exact";
  if (p.type != DType::f32) return "its products are f32";
  if (p.w_format != WeightFormat::plain) return "the weights are quantized";
  if (p.r != 3 || p.s != 3) return fmt::format("a filter of {}x{}, needs 3x3", p.r, p.s);
  if (p.stride_h != 1 || p.stride_w != 1 || p.dilation_h != 1 || p.dilation_w != 1) return "a stride or a dilation";
  if (p.groups != 1) return fmt::format("{} groups", p.groups);
  if (block_of(p.x_layout) > 1 || block_of(p.y_layout) > 1) return "blocks of channels";
  if (c.options.few_pipelines) return "it would need pipelines of its own";
  if (kWorkgroup > c.limits.workgroup_invocations || kWorkgroup > c.limits.workgroup_x)
    return fmt::format("workgroup of {} invocations, the device allows {}", kWorkgroup, c.limits.workgroup_invocations);
  Refusal offsets(true);
  if (!direct_offsets_fit(c, offsets)) return offsets.reason;
  return {};
}

// Bytes of U, V and S, one after another.
std::uint64_t scratch_of(const Sizes& z) {
  return aligned_scratch(planes_bytes(z.inputs, z.outputs)) + aligned_scratch(planes_bytes(z.inputs, z.tiles)) +
         planes_bytes(z.outputs, z.tiles);
}

// Their elements are numbered in 32 bits, and so are their bytes.
bool offsets_fit(const Sizes& z) {
  constexpr std::int64_t kMost = kMostBytes / 4 / CONV2D_WINOGRAD_PLANES;
  return z.inputs < kMost / z.outputs && z.tiles < kMost / std::max(z.inputs, z.outputs);
}

// What one buffer of scratch may have.
std::uint64_t most_scratch(const Conv2dContext& c) {
  constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
  return std::min({c.options.max_scratch_bytes.value_or(kNoLimit), c.profile.max_buffer_bytes.value_or(kNoLimit),
                   c.profile.max_allocation_bytes.value_or(kNoLimit)});
}

// Images of a part: as many as scratch allows. The last part begins where it ends with the last image, so it may
// compute some once more, but not where Y is read. The refusal says why there is none.
std::int64_t images_of_part(const Conv2dContext& c, std::string& refusal) {
  const std::int64_t n = c.problem.n;
  const std::uint64_t most = most_scratch(c);
  std::int64_t images = 0;
  std::uint64_t least = 0;  // of scratch, in as many parts as were tried
  for (std::int64_t parts = 1; parts <= std::min(n, kMostParts); ++parts) {
    const std::int64_t each = (n + parts - 1) / parts;
    if (c.problem.c_is_d && n % parts != 0) continue;
    const Sizes z = sizes_of(c, each);
    if (!offsets_fit(z)) continue;
    least = scratch_of(z);
    if (least > most) continue;
    images = each;
    if (least <= kWantedBytes) break;
  }
  if (images != 0) return images;
  const std::int64_t most_parts = std::min(n, kMostParts);
  refusal = least == 0 ? fmt::format("{} of {} images at a time need offsets beyond 2^31 bytes",
                                     (n + most_parts - 1) / most_parts, n)
            : c.options.max_scratch_bytes
                ? fmt::format("needs {} bytes of scratch, the caller allows {}", least, *c.options.max_scratch_bytes)
                : fmt::format("needs {} bytes of scratch, a buffer of the device has {}", least, most);
  return 0;
}

// A power of two that divides both.
std::uint32_t common_align(std::uint32_t align, std::int64_t bytes) {
  return bytes == 0 ? align : static_cast<std::uint32_t>(std::min<std::int64_t>(align, bytes & -bytes));
}

std::uint32_t number(std::int64_t n) { return static_cast<std::uint32_t>(n); }
std::uint64_t stride(std::int64_t n) { return static_cast<std::uint64_t>(n); }

// A transform's config: everything but its types, widths and number of workgroups.
DirectConfig transform_config(const char* stem, bool channels_last, std::uint32_t prologue = 0) {
  DirectConfig d;
  d.stem = stem;
  d.workgroup = kWorkgroup;
  d.prologue = prologue;
  d.add(CONV2D_SPEC_PROLOGUE, prologue);
  d.add(CONV2D_WINOGRAD_SPEC_CHANNELS_LAST, channels_last ? 1 : 0);
  return d;
}

// Makes the steps around the GEMM.
struct Transforms {
  const Conv2dContext& c;
  const Conv2dProblem& p;  // of the first part's images
  Conv2dGemm& gemm;
  Sizes z;
  std::string refusal = {};

  OperandSlice scratch(std::string_view as, std::int64_t rows, std::int64_t columns) {
    return add_scratch(c, gemm, as, planes_bytes(rows, columns));
  }
  OperandSlice whole(std::string_view name) const { return whole_slice(c.operands, name, name); }
  // The first part's images of an operand that has one for each of N.
  OperandSlice images(const StoredImage& image, DType type) const {
    OperandSlice part = whole(image.name);
    const std::int64_t apart = strides_of(image).image * size_bytes(type);
    part.bytes -= static_cast<std::uint64_t>((c.problem.n - p.n) * apart);
    gemm.image_bytes.resize(c.operands.size());
    gemm.image_bytes[part.operand] = static_cast<std::uint64_t>(apart);
    return part;
  }
  // What the first image of any part is aligned to.
  std::uint32_t aligned(std::uint32_t align, const StoredImage& image, DType type) const {
    return p.n == c.problem.n ? align : common_align(align, strides_of(image).image * size_bytes(type));
  }

  // Appends a step of `items` invocations over slices, from the first one to `to`.
  template <class Words>
  void add(DirectConfig& d, std::uint64_t items, std::span<const OperandSlice> slices, std::string_view to,
           const Words& words, std::vector<Step>& steps) {
    d.groups = ceil_div(items, kWorkgroup);
    Refusal narrow(true);
    if (!narrow_accesses_fit(c, d, narrow)) {
      refusal = narrow.reason;
      return;
    }
    DirectStep making(d, slices);
    making.add(words);
    auto step = making.finish(c.profile, slices.front().name, {}, to);
    if (!step) {
      refusal = step.error().message();
      return;
    }
    steps.push_back(std::move(*step));
    std::uint64_t bytes = 0;
    for (const OperandSlice& slice : slices) bytes += slice.bytes;
    ++gemm.extra.transforms;
    gemm.extra.transformed_bytes += bytes;
  }

  void filter(const OperandSlice& u) {
    const bool krsc = p.w_layout == FilterLayout::krsc;
    DirectConfig d = transform_config("conv2d_winograd_filter", false);
    d.types.a = type_code(p.w_type);
    const Conv2dWinogradFilterWords words{.filter_rows = number(z.rsck ? p.c : p.k),
                                          .filter_columns = number(z.rsck ? p.k : p.c),
                                          .element_step = number(z.rsck ? p.c * p.k
                                                                 : krsc ? p.c
                                                                        : 1),
                                          .reserved = 1.0f,
                                          .row_step = number(z.rsck ? p.k : 9 * p.c),
                                          .column_step = z.rsck || krsc ? 1u : 9u,
                                          .u_pitch = number(z.rsck ? z.outputs : z.inputs)};
    add(d, static_cast<std::uint64_t>(z.inputs * z.outputs), std::array{whole("w"), u}, u.name, words, gemm.pre_steps);
  }

  void input(const OperandSlice& v) {
    const ImageStrides x = strides_of(stored_x(p));
    DirectConfig d = transform_config("conv2d_winograd_input", z.v_channels, prologue_bits(p));
    d.types.a = type_code(p.x_type);
    d.epilogue = GEMM_EPILOGUE_BATCHED;
    if (z.v_channels) d.widths.a = widest_access(d.types.a, 4, p.x_align, x.pixel, c.problem.n > 1 ? x.image : 0, p.c);
    d.widths.d = d.widths.a;
    std::vector<OperandSlice> slices{images(stored_x(p), p.x_type), v};
    if (p.x_scale) slices.push_back(whole("x.scale"));
    if (p.x_bias) slices.push_back(whole("x.bias"));
    const Conv2dWinogradInputWords words{.tile_rows = number(z.rows),
                                         .tile_columns = number(z.columns),
                                         .input_channels = number(p.c),
                                         .reserved = 1.0f,
                                         .x_pitch = number(x.pixel),
                                         .channel_step = number(z.v_channels ? 1 : x.plane),
                                         .v_pitch = number(z.v_channels ? z.inputs : z.tiles),
                                         .images = number(p.n),
                                         .x_image = stride(x.image),
                                         .reserved_2 = stride(0),
                                         .reserved_3 = stride(0),
                                         .size_h = number(p.h),
                                         .size_w = number(p.w),
                                         .padding = u16x2(p.pad_top, p.pad_left)};
    add(d, static_cast<std::uint64_t>(z.inputs * z.tiles) / d.widths.a, slices, v.name, words, gemm.pre_steps);
  }

  void output(const OperandSlice& s) {
    const std::int64_t pixels = c.out.height * c.out.width;
    const ImageStrides y = strides_of(stored_y(p)), before = strides_of(stored_c(p)),
                       residual = strides_of(stored_r(p));
    DirectConfig d = transform_config("conv2d_winograd_output", z.s_channels);
    d.types.out = type_code(p.out);
    d.epilogue = epilogue_bits(epilogue_of(p, z.s_channels ? PerAxis::column : PerAxis::row)) | GEMM_EPILOGUE_BATCHED;
    d.activation = activation_parameters(activation_words(p), false);
    std::uint32_t align = aligned(p.y_align, stored_y(p), p.out);
    if (reads_c(p)) align = aligned(align, stored_c(p), p.out);
    if (p.residual) align = aligned(align, stored_r(p), p.out);
    d.widths.d = result_width(p, z.s_channels, align, z.s_channels ? 4 : c.out.width % 2 == 0 ? 2 : 1);
    d.widths.a = z.s_channels ? d.widths.d : 1;
    std::vector<OperandSlice> slices{s, images(stored_y(p), p.out)};
    if (reads_c(p) && !p.c_is_d) slices.push_back(images(stored_c(p), p.out));
    if (p.bias) slices.push_back(whole("bias"));
    if (p.scale) slices.push_back(whole("scale"));
    if (p.residual) slices.push_back(images(stored_r(p), p.out));
    const std::int64_t rows = z.s_channels ? pixels : p.k, columns = z.s_channels ? p.k : pixels;
    const auto pitch = [&](const ImageStrides& at) { return number(z.s_channels ? at.pixel : pixels); };
    const Conv2dWinogradOutputWords words{.result_rows = number(rows),
                                          .result_columns = number(columns),
                                          .reserved = number(sum_length(p)),
                                          .alpha = p.alpha,
                                          .s_pitch = number(z.s_channels ? z.outputs : z.tiles),
                                          .reserved_2 = number(columns),
                                          .y_pitch = pitch(y),
                                          .c_pitch = pitch(before),
                                          .beta = p.beta,
                                          .residual_pitch = pitch(residual),
                                          .images = number(p.n),
                                          .reserved_3 = stride(0),
                                          .reserved_4 = stride(0),
                                          .y_image = stride(y.image),
                                          .c_image = stride(before.image),
                                          .residual_image = stride(residual.image),
                                          .pushed_relu = 0u,
                                          .size_p = number(c.out.height),
                                          .size_q = number(c.out.width)};
    add(d, static_cast<std::uint64_t>(p.n * z.rows * z.columns * p.k) / d.widths.a, slices, stored_y(p).name, words,
        gemm.post_steps);
  }
};

// The GEMM of 16 batches.
Gemm plane_gemm(const Sizes& z) {
  Gemm m;
  m.k = z.inputs;
  m.batch = CONV2D_WINOGRAD_PLANES;
  const std::int64_t u = z.inputs * z.outputs, v = z.inputs * z.tiles;
  const std::int64_t u_ld = z.rsck ? z.outputs : z.inputs, v_ld = z.v_channels ? z.inputs : z.tiles;
  if (z.s_channels) {  // tiles x outputs = V U
    m.m = z.tiles;
    m.n = z.outputs;
    m.transpose_a = !z.v_channels;
    m.transpose_b = !z.rsck;
  } else {  // outputs x tiles = U V
    m.m = z.outputs;
    m.n = z.tiles;
    m.transpose_a = z.rsck;
    m.transpose_b = z.v_channels;
  }
  m.at.lda = z.s_channels ? v_ld : u_ld;
  m.at.ldb = z.s_channels ? u_ld : v_ld;
  m.at.ldd = m.n;
  m.at.a_batch = z.s_channels ? v : u;
  m.at.b_batch = z.s_channels ? u : v;
  m.at.d_batch = m.m * m.n;
  m.a_align = m.b_align = m.d_align = kScratchAlign;
  return m;
}

}  // namespace
}  // namespace conv2d_winograd

std::unique_ptr<Conv2dGemm> winograd_gemm(const Conv2dContext& c) {
  using namespace conv2d_winograd;
  auto gemm = std::make_unique<Conv2dGemm>();
  if (gemm->refusal = refusal_of(c); !gemm->refusal.empty()) return gemm;
  Conv2dProblem part = c.problem;
  if (part.n = images_of_part(c, gemm->refusal); part.n == 0) return gemm;
  for (std::int64_t first = part.n; first < c.problem.n; first += part.n)
    gemm->parts_after.push_back(static_cast<std::uint64_t>(std::min(first, c.problem.n - part.n)));
  const Sizes z = sizes_of(c, part.n);
  Transforms make{c, part, *gemm, z};
  const std::string_view u_as = z.s_channels ? "b" : "a", v_as = z.s_channels ? "a" : "b";
  OperandSlice u = make.scratch(u_as, z.inputs, z.outputs), v = make.scratch(v_as, z.inputs, z.tiles),
               s = make.scratch("d", z.outputs, z.tiles);
  gemm->parts = {u, v, s};
  u.name = "u";
  v.name = "v";
  s.name = "s";
  make.filter(u);
  gemm->filter_transform_steps = gemm->pre_steps.size();
  gemm->filter_transform = std::exchange(gemm->extra, {});
  make.input(v);
  make.output(s);
  if (gemm->refusal = make.refusal; !gemm->refusal.empty()) return gemm;
  gemm->extra_steps = "transforms";
  gemm->context = std::make_unique<GemmContext>(gemm_context(plane_gemm(z), c.profile, c.extra));
  return gemm;
}

}  // namespace sectile::detail
