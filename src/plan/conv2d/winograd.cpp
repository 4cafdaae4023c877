// Winograd's F(2x2, 3x3), whose steps shaders/conv2d/conv2d_winograd.abi.h describes: the filters and the image are
// transformed into scratch, a matmul of 16 batches multiplies them there, and its sums are transformed to the result.
#include "winograd.hpp"
#include "cost.hpp"
#include "direct_kernels.hpp"
#include "gemms.hpp"
#include "image.hpp"
#include "pointwise.hpp"
#include "steps.hpp"

#include "conv2d/conv2d_winograd.abi.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace sectile::detail {

namespace conv2d_winograd {
namespace {

constexpr std::uint32_t kWorkgroup = 128;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 31;  // of U, V or S each: the kernels' offsets have 32 bits
// Images are computed in parts, one behind the other in the same scratch, where they would take more scratch than this.
// A single image may. Parts that fit the L2 gain nothing: 48, 128 and 256 MiB took 0.98 to 1.20 of the time without
// parts (12 problems, NVIDIA H100, driver 580.159.04, `sectile bench PROBLEM...`; docs/lab/2026-11.md).
constexpr std::uint64_t kWantedBytes = std::uint64_t{1} << 30;
// Behind the filters' step a part has four: the image's, the product's, its split's sum and the result's.
constexpr std::int64_t kMostParts = (kMaxSteps - 1) / 4;

void add_constants(OwnWords& words, std::uint32_t prologue, bool channels_last) {
  words.own.add({CONV2D_SPEC_PROLOGUE, prologue});
  words.own.add({CONV2D_WINOGRAD_SPEC_CHANNELS_LAST, channels_last ? 1u : 0u});
}

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

// Bytes of U, V and S, one behind the other.
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

// One of the steps beside the product.
struct Transform {
  const char* stem = "";
  Gemm gemm;
  std::uint32_t epilogue = 0;
  std::uint32_t width_a = 1, width_d = 1;
  std::uint64_t items = 0;
  std::vector<OperandSlice> parts;
};

struct Transforms {
  const Conv2dContext& c;
  const Conv2dProblem& p;  // of the first part's images
  Conv2dGemm& product;
  Sizes z;
  std::string refusal = {};

  OperandSlice scratch(std::string_view as, std::int64_t rows, std::int64_t columns) {
    return add_scratch(c, product, as, planes_bytes(rows, columns));
  }
  OperandSlice whole(std::string_view name, std::string_view as) const { return whole_slice(c.operands, name, as); }
  // The first part's images of an operand that has one for each of N.
  OperandSlice images(const StoredImage& image, DType type, std::string_view as) const {
    OperandSlice part = whole(image.name, as);
    const std::int64_t apart = strides_of(image).image * size_bytes(type);
    part.bytes -= static_cast<std::uint64_t>((c.problem.n - p.n) * apart);
    product.image_bytes.resize(c.operands.size());
    product.image_bytes[part.operand] = static_cast<std::uint64_t>(apart);
    return part;
  }
  // What the first image of any part is aligned to.
  std::uint32_t aligned(std::uint32_t align, const StoredImage& image, DType type) const {
    return p.n == c.problem.n ? align : common_align(align, strides_of(image).image * size_bytes(type));
  }

  void add(Transform& t, std::shared_ptr<const OwnWords> words, std::vector<Step>& steps) {
    t.parts.push_back({"b", 0, 0, 0});
    GemmContext context = gemm_context(t.gemm, c.profile, nullptr, std::move(words));
    context.epilogue = t.epilogue;
    GemmConfig d;
    d.stem = t.stem;
    d.tile_m = d.tile_n = d.tile_k = 1;
    d.workgroup = kWorkgroup;
    d.width_a = t.width_a;
    d.width_d = t.width_d;
    Refusal narrow(true);
    if (!narrow_accesses_fit(context, d, narrow)) {
      refusal = narrow.reason;
      return;
    }
    auto step = step_of_parts(context, d, ceil_div(t.items, kWorkgroup), t.parts);
    if (!step) {
      refusal = step.error().message();
      return;
    }
    steps.push_back(std::move(*step));
    std::uint64_t bytes = 0;
    for (const OperandSlice& part : t.parts) bytes += part.bytes;
    product.extra_steps_cost += conv2d_transform_cost(c, bytes);
  }

  void filter(const OperandSlice& u) {
    const bool krsc = p.w_layout == FilterLayout::krsc;
    Transform t{.stem = "conv2d_winograd_filter", .gemm = {}, .parts = {whole("w", "a"), u}};
    Gemm& m = t.gemm;
    m.a_type = p.w_type;
    m.m = z.rsck ? p.c : p.k;
    m.n = z.rsck ? p.k : p.c;
    m.k = z.rsck ? p.c * p.k : krsc ? p.c : 1;
    m.at.lda = z.rsck ? p.k : 9 * p.c;
    m.at.ldb = z.rsck || krsc ? 1 : 9;
    m.at.ldd = z.rsck ? z.outputs : z.inputs;
    t.items = static_cast<std::uint64_t>(z.inputs * z.outputs);
    auto words = std::make_shared<OwnWords>();
    add_constants(*words, 0, false);
    add(t, std::move(words), product.pre_steps);
  }

  void input(const OperandSlice& v) {
    const ImageStrides x = strides_of(stored_x(p));
    Transform t{.stem = "conv2d_winograd_input",
                .gemm = {},
                .epilogue = GEMM_EPILOGUE_BATCHED,
                .parts = {images(stored_x(p), p.x_type, "a"), v}};
    Gemm& m = t.gemm;
    m.a_type = p.x_type;
    m.m = z.rows;
    m.n = z.columns;
    m.k = p.c;
    m.at.lda = x.pixel;
    m.at.ldb = z.v_channels ? 1 : x.plane;
    m.at.ldd = z.v_channels ? z.inputs : z.tiles;
    m.batch = p.n;
    m.at.a_batch = x.image;
    m.at.b_batch = m.at.d_batch = 0;
    if (z.v_channels) {
      const std::uint32_t type = p.x_type == DType::f32 ? SECTILE_TYPE_F32 : SECTILE_TYPE_F16;
      t.width_a = widest_access(type, 4, p.x_align, x.pixel, c.problem.n > 1 ? x.image : 0, p.c);
    }
    t.width_d = t.width_a;
    t.items = static_cast<std::uint64_t>(z.inputs * z.tiles) / t.width_a;
    auto words = std::make_shared<OwnWords>();
    add_constants(*words, prologue_bits(p), z.v_channels);
    for (const char* name : {"x.scale", "x.bias"}) {
      if (operand_index(c.operands, name) == c.operands.size()) continue;
      words->addresses.add(name);
      t.parts.push_back(whole(name, name));
    }
    for (const std::int64_t size : {p.h, p.w}) words->list.add(static_cast<std::uint32_t>(size));
    words->list.add(pack_u16x2(p.pad_top, p.pad_left));
    add(t, std::move(words), product.pre_steps);
  }

  void output(const OperandSlice& s) {
    const GemmMapping mapping{.image_is_b = !z.s_channels};
    Transform t{.stem = "conv2d_winograd_output",
                .gemm = gemm_for(p, z.s_channels ? PerAxis::column : PerAxis::row),
                .parts = {s, images(stored_y(p), p.out, "d")}};
    Gemm& m = t.gemm;
    set_sizes(m, p, mapping);
    if (z.s_channels) batch_images(m, p);
    m.a_type = m.b_type = DType::f32;
    m.transpose_a = m.transpose_b = false;
    m.at.lda = z.s_channels ? z.outputs : z.tiles;
    m.at.ldb = m.n;
    m.at.a_batch = m.at.b_batch = 0;
    m.d_align = aligned(m.d_align, stored_y(p), p.out);
    if (reads_c(p)) m.d_align = aligned(m.d_align, stored_c(p), p.out);
    if (p.residual) m.d_align = aligned(m.d_align, stored_r(p), p.out);
    const GemmContext widths = gemm_context(m, c.profile);
    t.epilogue = widths.epilogue | GEMM_EPILOGUE_BATCHED;
    t.width_d = std::min(widths.width_d, z.s_channels ? 4u : c.out.width % 2 == 0 ? 2u : 1u);
    t.width_a = z.s_channels ? t.width_d : 1;
    t.items = static_cast<std::uint64_t>(p.n * z.rows * z.columns * p.k) / t.width_a;
    if (reads_c(p) && !p.c_is_d) t.parts.push_back(images(stored_c(p), p.out, "c"));
    if (p.bias) t.parts.push_back(whole("bias", "bias"));
    if (p.scale) t.parts.push_back(whole("scale", "scale"));
    if (p.residual) t.parts.push_back(images(stored_r(p), p.out, "residual"));
    auto words = std::make_shared<OwnWords>();
    add_constants(*words, 0, z.s_channels);
    for (const std::int64_t size : {c.out.height, c.out.width}) words->list.add(static_cast<std::uint32_t>(size));
    add(t, std::move(words), product.post_steps);
  }
};

// The 16 products.
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
  auto product = std::make_unique<Conv2dGemm>();
  if (product->refusal = refusal_of(c); !product->refusal.empty()) return product;
  Conv2dProblem part = c.problem;
  if (part.n = images_of_part(c, product->refusal); part.n == 0) return product;
  for (std::int64_t first = part.n; first < c.problem.n; first += part.n)
    product->parts_after.push_back(static_cast<std::uint64_t>(std::min(first, c.problem.n - part.n)));
  const Sizes z = sizes_of(c, part.n);
  Transforms make{c, part, *product, z};
  const std::string_view u_as = z.s_channels ? "b" : "a", v_as = z.s_channels ? "a" : "b";
  OperandSlice u = make.scratch(u_as, z.inputs, z.outputs), v = make.scratch(v_as, z.inputs, z.tiles),
               s = make.scratch("d", z.outputs, z.tiles);
  product->parts = {u, v, s};
  u.name = v.name = "d";
  s.name = "a";
  make.filter(u);
  product->filter_transform_steps = product->pre_steps.size();
  product->filter_transform_cost = std::exchange(product->extra_steps_cost, 0);
  make.input(v);
  make.output(s);
  if (product->refusal = make.refusal; !product->refusal.empty()) return product;
  product->extra_steps = "transforms";
  product->context = std::make_unique<GemmContext>(gemm_context(plane_gemm(z), c.profile, c.extra));
  product->context->sizes_vary = false;
  return product;
}

}  // namespace sectile::detail
