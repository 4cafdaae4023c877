// Convolutions that need no gathered operand: filters of one element, and those that add up nothing.
#include "context.hpp"

#include <algorithm>

namespace sectile::detail {

void batch_images(MatmulProblem& m, const Conv2dProblem& p) {
  const ImageSize out = size_of_output(p);
  m.m = out.height * out.width;
  m.batch = p.n;
  m.a_batch = strides_of(stored_x(p)).image;
  m.b_batch = 0;
  m.d_batch = strides_of(stored_y(p)).image;
  m.r_batch = strides_of(stored_r(p)).image;
  if (!p.c_is_d) m.c_batch = strides_of(stored_c(p)).image;
}

namespace {

// The groups of one image whose channels are rows of the result.
void batch_groups(MatmulProblem& m, const Conv2dProblem& p) {
  m.m = p.k / p.groups;
  m.batch = p.groups;
  m.b_batch = group_step(p, strides_of(stored_x(p)));
  m.d_batch = m.r_batch = m.m * m.n;
  if (!p.c_is_d) m.c_batch = m.d_batch;
}

bool blocked(ImageLayout layout) { return block_of(layout) > 1; }

}  // namespace

std::optional<PlainMatmul> as_matmul(const Conv2dProblem& p) {
  const bool padded = p.pad_top != 0 || p.pad_left != 0 || p.pad_bottom != 0 || p.pad_right != 0;
  if (p.r != 1 || p.s != 1 || p.stride_h != 1 || p.stride_w != 1 || padded) return std::nullopt;
  if (blocked(p.x_layout) || blocked(p.y_layout) || p.x_bias || p.x_relu) return std::nullopt;
  const bool image_is_b = p.y_layout == ImageLayout::nchw, nchw = p.x_layout == ImageLayout::nchw;
  // A matmul scales A along K and has 8-bit weights as B, of one batch each.
  if ((p.x_scale || p.w_format == WeightFormat::q8) && (image_is_b || p.groups > 1)) return std::nullopt;
  if (p.groups > 1 && p.n > 1 && (image_is_b || nchw)) return std::nullopt;
  PlainMatmul plain{.problem = product_of(p, image_is_b ? PerAxis::row : PerAxis::column), .image_is_b = image_is_b};
  MatmulProblem& m = plain.problem;
  set_sizes(m, p, {.image_is_b = image_is_b, .along_pixels = nchw});
  if (nchw) (image_is_b ? m.ldb : m.lda) = p.h * p.w;
  if (image_is_b && p.groups > 1) batch_groups(m, p);
  if (!image_is_b && p.groups == 1 && (nchw || m.m > kMostSize)) batch_images(m, p);
  m.acc = p.acc;
  m.a_scale = p.x_scale;
  plain.vectors_batched = p.groups > 1 && (p.bias || p.scale);
  if (greatest_size(m) > kMostSize) return std::nullopt;
  return plain;
}

std::optional<PlainMatmul> as_epilogue(const Conv2dProblem& problem) {
  if ((sum_length(problem) != 0 && problem.alpha != 0) || blocked(problem.y_layout)) return std::nullopt;
  Conv2dProblem p = problem;
  p.c = 0;
  p.groups = 1;  // without products there are none
  const bool image_is_b = p.y_layout == ImageLayout::nchw;
  PlainMatmul plain{.problem = product_of(p, image_is_b ? PerAxis::row : PerAxis::column), .image_is_b = image_is_b};
  MatmulProblem& m = plain.problem;
  m.a_type = m.b_type = m.type;
  m.b_format = WeightFormat::plain;
  set_sizes(m, p, {.image_is_b = image_is_b});
  if (!image_is_b && m.m > kMostSize) batch_images(m, p);
  m.lda = m.ldb = 0;
  m.transpose_a = m.transpose_b = false;
  m.a_align = m.b_align = 16;
  if (greatest_size(m) > kMostSize) return std::nullopt;
  return plain;
}

Result<void> plan_plain(Job& job, const PlainMatmul& matmul) {
  Plan plan;
  plan.problem = job.plan.problem;
  Job own{job.profile, job.options, plan};
  if (auto made = plan_matmul(own, matmul.problem, {.vectors_batched = matmul.vectors_batched, .sizes_vary = false});
      !made)
    return made;
  std::vector<Part> parts;
  for (const PlanOperand& operand : plan.operands) {
    const std::string_view name = operand.name;
    if (name == "scratch") {
      job.plan.operands.push_back(operand);
      parts.push_back(whole_part(job.plan.operands, name, name));
      continue;
    }
    const std::string_view theirs = name == "a"         ? (matmul.image_is_b ? "w" : "x")
                                    : name == "b"       ? (matmul.image_is_b ? "x" : "w")
                                    : name == "d"       ? "y"
                                    : name == "b.scale" ? "w.scale"
                                    : name == "a.scale" ? "x.scale"
                                                        : name;
    parts.push_back(whole_part(job.plan.operands, theirs, name));
  }
  place(plan.steps, parts);
  job.plan.steps = std::move(plan.steps);
  job.plan.candidates = std::move(plan.candidates);
  job.plan.choice.candidate = std::move(plan.choice.candidate);
  job.chose = own.chose;
  job.cost = own.cost;
  job.fallback = own.fallback;
  return {};
}

}  // namespace sectile::detail
