// Convolutions that need no gathered operand: filters of one element, and those that add up nothing.
#include "pointwise.hpp"
#include "gemms.hpp"
#include "image.hpp"
#include "plan/gemm/plan.hpp"

#include <algorithm>
#include <utility>

namespace sectile::detail {

void batch_images(Gemm& m, const Conv2dProblem& p) {
  const ImageSize out = size_of_output(p);
  m.m = out.height * out.width;
  m.batch = p.n;
  m.at.a_batch = strides_of(stored_x(p)).image;
  m.at.b_batch = 0;
  m.at.d_batch = strides_of(stored_y(p)).image;
  m.at.r_batch = strides_of(stored_r(p)).image;
  m.at.c_batch = p.c_is_d ? m.at.d_batch : strides_of(stored_c(p)).image;
}

namespace {

// The groups of one image whose channels are rows of the result.
void batch_groups(Gemm& m, const Conv2dProblem& p) {
  m.m = p.k / p.groups;
  m.batch = p.groups;
  m.at.b_batch = group_step(p, strides_of(stored_x(p)));
  m.at.d_batch = m.at.r_batch = m.m * m.n;
  m.at.c_batch = m.at.d_batch;
}

bool blocked(ImageLayout layout) { return block_of(layout) > 1; }

}  // namespace

std::optional<PointwiseGemm> as_pointwise(const Conv2dProblem& p) {
  const bool padded = p.pad_top != 0 || p.pad_left != 0 || p.pad_bottom != 0 || p.pad_right != 0;
  if (p.r != 1 || p.s != 1 || p.stride_h != 1 || p.stride_w != 1 || padded) return std::nullopt;
  if (blocked(p.x_layout) || blocked(p.y_layout) || p.x_bias || p.x_relu) return std::nullopt;
  const bool image_is_b = p.y_layout == ImageLayout::nchw, nchw = p.x_layout == ImageLayout::nchw;
  // A matmul scales A along K and has 8-bit weights as B, of one batch each.
  if ((p.x_scale || p.w_format == WeightFormat::q8) && (image_is_b || p.groups > 1)) return std::nullopt;
  if (p.groups > 1 && p.n > 1 && (image_is_b || nchw)) return std::nullopt;
  PointwiseGemm plain{.gemm = gemm_for(p, image_is_b ? PerAxis::row : PerAxis::column), .image_is_b = image_is_b};
  Gemm& m = plain.gemm;
  set_sizes(m, p, {.image_is_b = image_is_b, .along_pixels = nchw});
  if (nchw) (image_is_b ? m.at.ldb : m.at.lda) = p.h * p.w;
  if (image_is_b && p.groups > 1) batch_groups(m, p);
  if (!image_is_b && p.groups == 1 && (nchw || m.m > kMostSize)) batch_images(m, p);
  m.acc = p.acc;
  m.a_scale = p.x_scale;
  m.vectors_batched = p.groups > 1 && (p.bias || p.scale);
  if (greatest_size(m) > kMostSize) return std::nullopt;
  return plain;
}

std::optional<PointwiseGemm> as_epilogue(const Conv2dProblem& problem) {
  if ((sum_length(problem) != 0 && problem.alpha != 0) || blocked(problem.y_layout)) return std::nullopt;
  Conv2dProblem p = problem;
  p.c = 0;
  p.groups = 1;  // without products there are none
  const bool image_is_b = p.y_layout == ImageLayout::nchw;
  PointwiseGemm plain{.gemm = gemm_for(p, image_is_b ? PerAxis::row : PerAxis::column), .image_is_b = image_is_b};
  Gemm& m = plain.gemm;
  m.a_type = m.b_type = m.type;
  m.b_format = WeightFormat::plain;
  set_sizes(m, p, {.image_is_b = image_is_b});
  if (!image_is_b && m.m > kMostSize) batch_images(m, p);
  m.at.lda = 0;
  m.at.ldb = m.n;
  m.transpose_a = m.transpose_b = false;
  m.a_align = m.b_align = 16;
  if (greatest_size(m) > kMostSize) return std::nullopt;
  return plain;
}

// The names that a GEMM has for a convolution's operands.
std::string_view gemm_name(std::string_view operand, bool image_is_b) {
  if (operand == "x") return image_is_b ? "b" : "a";
  if (operand == "w") return image_is_b ? "a" : "b";
  if (operand == "y") return "d";
  if (operand == "w.scale") return "b.scale";
  if (operand == "x.scale") return "a.scale";
  return operand;
}

Result<void> plan_pointwise(Job& job, const PointwiseGemm& pointwise) {
  std::vector<PlanOperand> own = std::exchange(job.plan.operands, {});
  for (const PlanOperand& operand : own) {
    job.plan.operands.push_back(operand);
    job.plan.operands.back().name = gemm_name(operand.name, pointwise.image_is_b);
  }
  auto made = plan_gemm(job, pointwise.gemm);
  // The scratch follows, if there is one.
  std::ranges::move(own, job.plan.operands.begin());
  return made;
}

}  // namespace sectile::detail
