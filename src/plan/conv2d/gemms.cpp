// Which GEMMs a convolution can be computed as: the image as A or B, read where it lies or repacked to NHWC, the
// weights where they lie or repacked to KRSC, the result where it belongs or as NHWC in scratch.
#include "gemms.hpp"
#include "image.hpp"
#include "plan/activation.hpp"
#include "steps.hpp"
#include "winograd.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sectile::detail {

namespace {

// A problem as a mapping has it.
struct View {
  const Conv2dProblem& problem;
  const GemmMapping& mapping;

  StoredImage x() const { return seen(stored_x(problem), mapping.x_nhwc); }
  StoredImage y() const { return seen(stored_y(problem), mapping.y_nhwc); }
  StoredImage c() const { return seen(stored_c(problem), mapping.y_nhwc); }
  StoredImage r() const { return seen(stored_r(problem), mapping.y_nhwc); }
  FilterLayout w() const { return mapping.w_krsc ? FilterLayout::krsc : filter_layout(problem); }

  static StoredImage seen(StoredImage image, bool nhwc) {
    if (!nhwc) return image;
    image.layout = ImageLayout::nhwc;
    image.pitch = 0;
    return image;
  }
};

std::uint64_t image_bytes(const StoredImage& image, DType type) {
  return static_cast<std::uint64_t>(image.n * image.h * image.w * image.c) * size_bytes(type);
}

// Between an image's layout and NHWC without gaps.
PermuteProblem permute_of(const StoredImage& image, DType type, bool to_nhwc) {
  const ImageStrides at = strides_of(image);
  PermuteProblem p;
  p.type = type;
  const std::int64_t block = at.block, blocks = (image.c + block - 1) / block;
  const std::vector<std::int64_t> shape = block == 1 ? std::vector{image.n, image.c, image.h, image.w}
                                                     : std::vector{image.n, blocks, image.h, image.w, block};
  std::vector<std::int64_t> strides{at.image, at.plane, image.w * block, block};
  if (block > 1) strides.push_back(1);
  const std::string layout = fmt::format("NCHW{}c", block);
  p.shape = to_nhwc ? shape : std::vector{image.n, image.h, image.w, image.c};
  (to_nhwc ? p.src_strides : p.dst_strides) = strides;
  if (block == 1) {
    p.axes = to_nhwc ? std::vector{0, 2, 3, 1} : std::vector{0, 3, 1, 2};
  } else {
    p.src_layout = to_nhwc ? layout : "NHWC";
    p.dst_layout = to_nhwc ? "NHWC" : layout;
    if (to_nhwc) p.extents = {{'C', image.c}};
  }
  return p;
}

struct Maker {
  const Conv2dContext& c;
  Conv2dGemm& gemm;
  Result<void> failed = {};

  void permute(PermuteProblem problem, const OperandSlice& from, const OperandSlice& to, std::vector<Step>& steps) {
    problem.src_align = from.align;
    problem.dst_align = to.align;
    if (auto made = add_permute(c, problem, from, to, steps, gemm.extra); !made && failed)
      failed = std::unexpected(made.error());
  }
  // Adds the operand; if `repacked`, by a permute before the GEMM, after it, or both.
  void image(const StoredImage& image, DType type, std::string_view as, bool repacked, bool before,
             bool after = false) {
    const OperandSlice whole = whole_slice(c.operands, image.name, as);
    if (!repacked) {
      gemm.parts.push_back(whole);
      return;
    }
    const OperandSlice nhwc = add_scratch(c, gemm, as, image_bytes(image, type));
    if (before) permute(permute_of(image, type, true), whole, nhwc, gemm.pre_steps);
    if (after) permute(permute_of(image, type, false), nhwc, whole, gemm.post_steps);
    gemm.parts.push_back(nhwc);
  }
  void weights(std::string_view as, bool repacked) {
    const OperandSlice whole = whole_slice(c.operands, "w", as);
    if (!repacked) {
      gemm.parts.push_back(whole);
      return;
    }
    const OperandSlice krsc = add_scratch(c, gemm, as, whole.bytes);
    const auto& p = c.problem;
    PermuteProblem problem;
    problem.type = p.w_type;
    problem.shape = {p.k, p.c / p.groups, p.r * p.s};
    problem.axes = {0, 2, 1};
    permute(problem, whole, krsc, gemm.pre_steps);
    gemm.parts.push_back(krsc);
  }
  void whole(std::string_view name, std::string_view as, bool present) {
    if (present) gemm.parts.push_back(whole_slice(c.operands, name, as));
  }
};

// Empty, or why a kernel's numbers do not hold the problem's.
std::string refusal_of(const Conv2dProblem& p, const Gemm& gemm, const GemmMapping& mapping) {
  constexpr std::int64_t kMostFilter = 32;
  if (p.r + p.s > kMostFilter)
    return fmt::format("the filter's height and width are {} together, the kernel has bits for {}", p.r + p.s,
                       kMostFilter);
  if (const std::int64_t most = greatest_size(gemm); most > kMostSize)
    return fmt::format("a size or a stride of {}, the kernel's numbers hold 2^31 - 1", most);
  const std::int64_t block = block_of(p.x_layout), channels = p.c / p.groups;
  if (block > 1 && !mapping.x_nhwc && channels % block != 0 && p.groups > 1)
    return fmt::format("groups of {} channels begin inside blocks of {}", channels, block);
  return {};
}

// Empty, or why conv2d_coopmat cannot load the image in chunks of 8 pixels, which the filter moves by two at most
// (shaders/conv2d/pixel_chunks.glsl).
std::string refusal_of_chunks(const Conv2dProblem& p, const PlanOptions& options, bool image_is_b) {
  constexpr std::int64_t kChunk = 8, kMostMoved = 2;
  if (!image_is_b) return "the image is not B: the result is not NCHW, there are groups, or weights are q8";
  if (options.few_pipelines) return "it would need pipelines of its own";
  const ImageStrides at = strides_of(stored_x(p));
  const std::int64_t columns = size_of_output(p).width, right = (p.s - 1) * p.dilation_w - p.pad_left;
  if (at.block != 1) return "the image is not contiguous along pixels";
  if (p.x_type != p.type || size_bytes(p.type) != 2) return "the image is not f16 or bf16, as the products are";
  if (p.w_layout != FilterLayout::kcrs && p.r * p.s > 1 && p.c > 1) return "the weights are not KCRS";
  if (p.x_scale || p.x_bias || p.x_relu) return "the image has a prologue";
  if (p.stride_w != 1) return fmt::format("a stride of {} along a row", p.stride_w);
  if (p.w % kChunk != 0 || columns % kChunk != 0 || columns > p.w)
    return fmt::format("rows of {} pixels for {} outputs", p.w, columns);
  if (p.pad_left > kMostMoved || right > kMostMoved)
    return fmt::format("the filter reaches {} pixels to the left and {} to the right", p.pad_left, right);
  if (p.x_align % 16 != 0 || (p.n > 1 && at.image % kChunk != 0)) return "rows do not begin at multiples of 16 bytes";
  return {};
}

std::string suffix_of(const GemmMapping& mapping) {
  return fmt::format("{}{}{}{}", mapping.along_pixels ? " pixels" : "", mapping.x_nhwc ? " x=nhwc" : "",
                     mapping.w_krsc ? " w=krsc" : "", mapping.y_nhwc ? " y=nhwc" : "");
}

// One pipeline for a GEMM alone, with a bias, with relu, and with both, for one image and for several. Not with
// groups, whose numbers fill the push constants. And not always: NVIDIA's compiler then allots registers differently
// (f32 2x320x64x64 3x3 by 128x128x8: 592 -> 651 us; f16 and small tiles 0 to 5 %; H200, driver 580.159.04).
void push_epilogue(GemmContext& c, const GemmMapping& mapping) {
  constexpr std::uint32_t kBias = GEMM_EPILOGUE_BIAS_ROW | GEMM_EPILOGUE_BIAS_COLUMN;
  constexpr std::uint32_t kRelu = static_cast<std::uint32_t>(Activation::relu) << GEMM_EPILOGUE_ACTIVATION_SHIFT;
  const std::uint32_t batched = mapping.image_is_b ? GEMM_EPILOGUE_BATCHED : 0u;
  if ((c.epilogue & ~(kBias | kRelu | batched)) != 0 || (c.epilogue >> GEMM_EPILOGUE_ACTIVATION_SHIFT) > 1) return;
  // A bias of 2 bytes an element needs accesses of 2 bytes, which the problem without one may not.
  if (type_bytes(c.out_type) < 4 && !c.profile.storage16.value_or(false)) return;
  c.epilogue =
      (mapping.image_is_b ? GEMM_EPILOGUE_BIAS_ROW : GEMM_EPILOGUE_BIAS_COLUMN) | GEMM_EPILOGUE_PUSHED | batched;
}

void use_few_pipelines(GemmContext& c, const GemmMapping& mapping) {
  c.few_pipelines = true;
  push_epilogue(c, mapping);
  // A width that only some problems allow would need pipelines of its own.
  // Rows are channels, and a row has as many elements as the result has pixels.
  if (mapping.image_is_b || c.width_d * type_bytes(c.out_type) < 16) c.width_d = 1;
}

std::unique_ptr<Conv2dGemm> make_gemm(const Conv2dContext& c, const GemmMapping& mapping) {
  const Conv2dProblem& p = c.problem;
  auto gemm = std::make_unique<Conv2dGemm>();
  gemm->suffix = suffix_of(mapping);
  Gemm m = gemm_for(p, mapping.image_is_b ? PerAxis::row : PerAxis::column);
  const View view{p, mapping};
  set_sizes(m, p, mapping);
  if (gemm->refusal = refusal_of(p, m, mapping); !gemm->refusal.empty()) return gemm;
  Maker make{c, *gemm};
  const std::string_view image = mapping.image_is_b ? "b" : "a", weights = mapping.image_is_b ? "a" : "b";
  make.image(stored_x(p), p.x_type, image, mapping.x_nhwc, true);
  make.weights(weights, mapping.w_krsc);
  make.image(stored_y(p), p.out, "d", mapping.y_nhwc, reads_c(p) && p.c_is_d, true);
  if (reads_c(p) && !p.c_is_d) make.image(stored_c(p), p.out, "c", mapping.y_nhwc, true);
  make.whole("bias", "bias", p.bias);
  make.whole("scale", "scale", p.scale);
  if (p.residual) make.image(stored_r(p), p.out, "residual", mapping.y_nhwc, true);
  make.whole("w.scale", "b.scale", p.w_format == WeightFormat::q8);
  make.whole("x.scale", "x.scale", p.x_scale);
  make.whole("x.bias", "x.bias", p.x_bias);
  if (!make.failed) {
    gemm->refusal = "its permute: " + make.failed.error().message();
    return gemm;
  }
  const auto& limit = c.options.max_scratch_bytes;
  if (limit && gemm->scratch_bytes > *limit) {
    gemm->refusal = fmt::format("needs {} bytes of scratch, the caller allows {}", gemm->scratch_bytes, *limit);
    return gemm;
  }
  const std::uint32_t x_align = mapping.x_nhwc ? kScratchAlign : p.x_align,
                      w_align = mapping.w_krsc ? kScratchAlign : p.w_align;
  m.a_align = mapping.image_is_b ? w_align : x_align;
  m.b_align = mapping.image_is_b ? x_align : w_align;
  if (mapping.y_nhwc) m.d_align = kScratchAlign;
  m.vectors_batched = p.groups > 1 && (p.bias || p.scale);
  auto image_operand = gathered_image(p, {.at = strides_of(view.x()),
                                          .is_b = mapping.image_is_b,
                                          .along_pixels = mapping.along_pixels,
                                          .in_chunks = mapping.in_chunks,
                                          .align = x_align,
                                          .few_pipelines = c.options.few_pipelines});
  gemm->context = std::make_unique<GemmContext>(gemm_context(m, c.profile, c.extra, std::move(image_operand)));
  if (c.options.few_pipelines) use_few_pipelines(*gemm->context, mapping);
  return gemm;
}

// For explain: a mapping by which conv2d_coopmat cannot compute the problem.
void add_refused(Conv2dContext& c, const GemmMapping& mapping, const std::string& refusal) {
  auto gemm = std::make_unique<Conv2dGemm>();
  gemm->suffix = suffix_of(mapping);
  gemm->refusal = refusal;
  c.of_coopmat.push_back(gemm.get());
  c.gemms.push_back(std::move(gemm));
}

}  // namespace

FilterLayout filter_layout(const Conv2dProblem& p) {
  return p.w_layout == FilterLayout::kcrs && (p.r * p.s == 1 || p.c == p.groups) ? FilterLayout::krsc : p.w_layout;
}

GemmEpilogue epilogue_of(const Conv2dProblem& p, PerAxis channels) {
  GemmEpilogue e;
  e.alpha = p.alpha;
  e.beta = p.beta;
  e.c_is_d = p.c_is_d;
  e.scale = p.scale ? channels : PerAxis::none;
  e.bias = p.bias ? channels : PerAxis::none;
  set_activation(e, activation_words(p));
  e.residual = p.residual;
  return e;
}

Gemm gemm_for(const Conv2dProblem& p, PerAxis channels) {
  Gemm m;
  m.type = p.type;
  m.a_type = channels == PerAxis::column ? p.x_type : p.w_type;
  m.b_type = channels == PerAxis::column ? p.w_type : p.x_type;
  if (channels == PerAxis::column) m.b_format = p.w_format;
  // The kernels keep f16 sums in f32, which acc=f16 allows.
  m.acc = p.acc == DType::f16 ? DType::f32 : p.acc;
  m.out = p.out;
  static_cast<GemmEpilogue&>(m) = epilogue_of(p, channels);
  m.a_align = channels == PerAxis::column ? p.x_align : p.w_align;
  m.b_align = channels == PerAxis::column ? p.w_align : p.x_align;
  m.d_align = p.y_align;
  return m;
}

void set_sizes(Gemm& m, const Conv2dProblem& p, const GemmMapping& mapping) {
  const View view{p, mapping};
  const ImageStrides x = strides_of(view.x()), y = strides_of(view.y()), c = strides_of(view.c()),
                     r = strides_of(view.r());
  const ImageSize out = size_of_output(p);
  const std::int64_t pixels = out.height * out.width, length = sum_length(p), outputs = p.k / p.groups;
  const bool rsck = view.w() == FilterLayout::rsck;
  const std::int64_t w_ld = rsck ? p.k : length, w_batch = p.groups == 1 ? 0 : rsck ? outputs : outputs * length;
  m.k = length;
  if (mapping.image_is_b) {
    m.m = p.k;
    m.n = pixels;
    m.batch = p.n;
    m.transpose_a = rsck;
    m.transpose_b = !mapping.along_pixels;
    m.at.lda = w_ld;
    m.at.ldb = x.pixel;
    m.at.ldc = m.at.ldd = m.at.ldr = pixels;
    m.at.a_batch = w_batch;
    m.at.b_batch = x.image;
    m.at.c_batch = c.image;
    m.at.d_batch = y.image;
    m.at.r_batch = r.image;
  } else {
    m.m = p.n * pixels;
    m.n = outputs;
    m.batch = p.groups;
    m.transpose_a = mapping.along_pixels;
    m.transpose_b = !rsck;
    m.at.lda = x.pixel;
    m.at.ldb = w_ld;
    m.at.ldc = c.pixel;
    m.at.ldd = y.pixel;
    m.at.ldr = r.pixel;
    m.at.a_batch = group_step(p, x);
    m.at.b_batch = w_batch;
    m.at.c_batch = m.at.d_batch = m.at.r_batch = outputs;
  }
  if (p.c_is_d) {
    m.at.ldc = m.at.ldd;
    m.at.c_batch = m.at.d_batch;
  }
}

std::int64_t greatest_size(const Gemm& m) noexcept {
  return std::max({m.m, m.n, m.k, m.batch, m.at.lda, m.at.ldb, m.at.ldc, m.at.ldd, m.at.ldr});
}

// Where a result is NCHW its rows are channels and the image is B. Groups are batches, and so are images: with both,
// the image is A, whose batches are groups. Weights of 8 bits are B.
void add_gemms(Conv2dContext& c) {
  const Conv2dProblem& p = c.problem;
  const bool quantized = p.w_format == WeightFormat::q8;
  if (p.groups > 1 && quantized) return;  // the scales would be batched
  GemmMapping mapping;
  mapping.image_is_b = p.y_layout == ImageLayout::nchw && p.groups == 1 && !quantized;
  mapping.y_nhwc = !mapping.image_is_b && p.y_layout != ImageLayout::nhwc;
  const bool kcrs = filter_layout(p) == FilterLayout::kcrs, nchw = p.x_layout == ImageLayout::nchw;
  const bool split_blocks = block_of(p.x_layout) > 1 && p.groups > 1 && p.c / p.groups % block_of(p.x_layout) != 0;
  const auto add = [&](const GemmMapping& one, bool simt, bool coopmat, bool explained = false) {
    c.gemms.push_back(make_gemm(c, one));
    c.gemms.back()->simt_last_resort = explained;
    if (simt) c.of_simt.push_back(c.gemms.back().get());
    if (coopmat) c.of_coopmat.push_back(c.gemms.back().get());
  };
  GemmMapping channels = mapping;
  channels.x_nhwc = nchw || split_blocks;
  channels.w_krsc = kcrs;
  GemmMapping pixels = mapping;
  pixels.along_pixels = true;
  const bool unit = p.type != DType::f32;  // matrix units multiply shorter types
  if (nchw) {
    const std::string refusal = unit ? refusal_of_chunks(p, c.options, mapping.image_is_b) : "";
    pixels.in_chunks = unit && refusal.empty();
    add(pixels, true, pixels.in_chunks);
    if (!refusal.empty() && c.options.explain) add_refused(c, pixels, refusal);
  }
  if (!nchw || unit) add(channels, !nchw || !c.options.force.empty() || c.options.explain, unit, nchw);
  c.gemms.push_back(winograd_gemm(c));
  // A refused one is for explanations and errors.
  if (c.gemms.back()->refusal.empty() || c.options.explain || !c.options.force.empty())
    c.of_winograd.push_back(c.gemms.back().get());
  // Without scratch.
  if (!nchw && (channels.x_nhwc || channels.w_krsc) && !split_blocks) add(pixels, true, false);
}

}  // namespace sectile::detail
