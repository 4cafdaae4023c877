#include "checks.hpp"

#include "placement.hpp"
#include "plan/activation.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace sectile::detail {

namespace {

Result<void> check_stage_type(std::string_view what, DType type) {
  constexpr DType kNumbers[] = {DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32};
  if (std::ranges::find(kNumbers, type) != std::end(kNumbers)) return {};
  return fail(ErrorKind::invalid_problem, std::string(what), std::string(name(type)),
              "f32, f16, bf16, i8, u8 or i32 for an elementwise stage");
}

}  // namespace

Result<void> check_scalars(const PermuteProblem& p) {
  if (p.shape.empty() || p.shape.size() > kMaxRank)
    return fail(ErrorKind::invalid_problem, "rank", std::to_string(p.shape.size()), "1 to 16");
  if (std::ranges::any_of(p.shape, [](std::int64_t n) { return n < 0; }))
    return fail(ErrorKind::invalid_problem, "shape", sizes_text(p.shape), "sizes of at least 0");
  for (const auto& [key, align, type] :
       {std::tuple{"src.align", p.src_align, p.type}, std::tuple{"dst.align", p.dst_align, out_type(p)}})
    if (align < size_bytes(type) || align > 4096 || (align & (align - 1)) != 0)
      return fail(ErrorKind::invalid_problem, key, std::to_string(align),
                  "a power of two from " + std::to_string(size_bytes(type)) + " to 4096");
  for (const auto& [key, offset] : {std::pair{"src.offset", p.src_offset}, std::pair{"dst.offset", p.dst_offset}})
    if (offset < 0) return fail(ErrorKind::invalid_problem, key, std::to_string(offset), "at least 0");
  return {};
}

Result<void> check_strides(const PermuteProblem& p, int dst_rank) {
  if (!p.src_strides.empty() && p.src_strides.size() != p.shape.size())
    return fail(ErrorKind::invalid_problem, "src.strides", sizes_text(p.src_strides),
                std::to_string(p.shape.size()) + " strides");
  if (!p.dst_strides.empty() && p.dst_strides.size() != static_cast<std::size_t>(dst_rank))
    return fail(ErrorKind::invalid_problem, "dst.strides", sizes_text(p.dst_strides),
                std::to_string(dst_rank) + " strides");
  if (std::ranges::any_of(p.src_strides, [](std::int64_t s) { return s < 0; }))
    return fail(ErrorKind::invalid_problem, "src.strides", sizes_text(p.src_strides), "strides of at least 0");
  if (std::ranges::any_of(p.dst_strides, [](std::int64_t s) { return s <= 0; }))
    return fail(ErrorKind::invalid_problem, "dst.strides", sizes_text(p.dst_strides), "strides of at least 1");
  return {};
}

Result<void> check_stage(const PermuteProblem& p, int dst_rank) {
  const ElementwiseStage& stage = p.stage;
  if (has_stage(p)) {
    if (auto ok = check_stage_type("type", p.type); !ok) return ok;
    if (auto ok = check_stage_type("out", out_type(p)); !ok) return ok;
  }
  if (!std::isfinite(stage.alpha))
    return fail(ErrorKind::invalid_problem, "alpha", std::to_string(stage.alpha), "a finite number");
  if (auto ok = check_activation("act.last", activation_words(stage), "an operand add", stage.add); !ok) return ok;
  if (!stage.add && !stage.add_strides.empty())
    return fail(ErrorKind::invalid_problem, "add", "strides without an operand", "the operand as well");
  if (stage.add && !stage.add_strides.empty() && stage.add_strides.size() != static_cast<std::size_t>(dst_rank))
    return fail(ErrorKind::invalid_problem, "add", sizes_text(stage.add_strides),
                std::to_string(dst_rank) + " strides");
  if (std::ranges::any_of(stage.add_strides, [](std::int64_t s) { return s < 0; }))
    return fail(ErrorKind::invalid_problem, "add", sizes_text(stage.add_strides), "strides of at least 0");
  return {};
}

}  // namespace sectile::detail
