// A convolution as the kernels without tiles see it: conv2d_direct.abi.h has the meaning of the
// words.
#include "direct_kernels.hpp"
#include "gemms.hpp"
#include "image.hpp"
#include "steps.hpp"

#include <algorithm>

namespace sectile::detail {

namespace {

std::shared_ptr<const OwnWords> words_of(const Conv2dProblem& p) {
  auto words = std::make_shared<OwnWords>();
  if (p.x_scale) words->addresses.add("x.scale");
  if (p.x_bias) words->addresses.add("x.bias");
  for (const std::int64_t size : {p.h, p.w, size_of_output(p).width}) words->list.add(static_cast<std::uint32_t>(size));
  words->list.add(pack_u16x2(p.pad_top, p.pad_left));
  words->list.add(pack_u16x2(p.stride_h, p.stride_w));
  words->list.add(pack_u16x2(p.dilation_h, p.dilation_w));
  words->own.add({CONV2D_SPEC_R, static_cast<std::uint32_t>(p.r)});
  words->own.add({CONV2D_SPEC_S, static_cast<std::uint32_t>(p.s)});
  words->own.add({CONV2D_SPEC_BLOCK, static_cast<std::uint32_t>(block_of(p.x_layout))});
  words->own.add({CONV2D_SPEC_PROLOGUE, prologue_bits(p)});
  return words;
}

}  // namespace

std::unique_ptr<Conv2dGemm> direct_gemm(const Conv2dContext& c) {
  const Conv2dProblem& p = c.problem;
  auto whole = std::make_unique<Conv2dGemm>();
  Gemm m = gemm_for(p, PerAxis::column);
  const ImageStrides x = strides_of(stored_x(p)), y = strides_of(stored_y(p)), before = strides_of(stored_c(p)),
                     residual = strides_of(stored_r(p));
  m.m = c.out.height;
  m.n = p.k;
  m.k = p.c / p.groups;
  m.at.lda = x.pixel;
  m.at.ldb = p.k / p.groups;
  m.at.ldd = y.pixel;
  m.at.ldc = before.pixel;
  m.at.ldr = residual.pixel;
  m.batch = p.n;
  m.at.a_batch = x.image;
  m.at.b_batch = 0;
  m.at.d_batch = y.image;
  m.at.c_batch = before.image;
  m.at.r_batch = residual.image;
  whole->context = std::make_unique<GemmContext>(gemm_context(m, c.profile, c.extra, words_of(p)));
  whole->context->epilogue |= GEMM_EPILOGUE_BATCHED;
  for (const auto& [name, as] : {std::pair{"x", "a"}, {"w", "b"}, {"y", "d"}, {"w.scale", "b.scale"}}) {
    if (operand_index(c.operands, name) == c.operands.size()) continue;
    whole->parts.push_back(whole_slice(c.operands, name, as));
    if (p.c == 0 && whole->parts.back().name != "d") whole->parts.back().bytes = 0;  // not read, see without_products()
  }
  for (const char* name : {"c", "bias", "scale", "residual", "x.scale", "x.bias"})
    if (operand_index(c.operands, name) < c.operands.size())
      whole->parts.push_back(whole_slice(c.operands, name, name));
  return whole;
}

Conv2dConfig direct_config(const Conv2dContext& c, const char* stem) {
  Conv2dConfig d;
  d.stem = stem;
  d.base = c.problem.type == DType::i8 ? "i8" : "f32";
  d.tile_m = d.tile_n = d.tile_k = 1;
  d.run_d = 1;
  d.product = c.direct.get();
  return d;
}

bool direct_offsets_fit(const Conv2dContext& c, Refusal& refusal) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  const auto& p = c.problem;
  const auto spans = [&](const char* what, const StoredImage& image, DType type) {
    const ImageStrides at = strides_of(image);
    const std::int64_t planes = at.block == 0 ? 1 : (image.c + at.block - 1) / at.block;
    const std::int64_t bytes = (at.block == 0 ? image.h * image.w * at.pixel : planes * at.plane) * size_bytes(type);
    return bytes < kLimit || refusal.no("an image of {} has {} bytes, beyond 2^31", what, bytes);
  };
  if (!spans("x", stored_x(p), p.x_type) || !spans("y", stored_y(p), p.out)) return false;
  if (p.beta != 0 && !spans("c", stored_c(p), p.out)) return false;
  if (p.residual && !spans("residual", stored_r(p), p.out)) return false;
  // validate() has found that W has less than 2^63 elements.
  const std::int64_t weights = p.k * (p.c / p.groups) * p.r * p.s;
  return weights < kLimit / 4 || refusal.no("{} weights, at most 2^29 - 1", weights);
}

}  // namespace sectile::detail
