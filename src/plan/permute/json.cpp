// A permute's fields for JSON and the hash.
#include "operation.hpp"
#include "plan/fields.hpp"

namespace sectile::detail {

namespace {

void each_permute_field(auto& p, auto&& visit) {
  const PermuteProblem left_out;
  visit("activation", p.stage.activation, left_out.stage.activation);
  visit("activation_last", p.stage.activation_last, left_out.stage.activation_last);
  visit("add", p.stage.add, left_out.stage.add);
  visit("add_strides", p.stage.add_strides, left_out.stage.add_strides);
  visit("alpha", p.stage.alpha, left_out.stage.alpha);
  visit("axes", p.axes, left_out.axes);
  visit("bias", p.stage.bias, left_out.stage.bias);
  visit("dst_align", p.dst_align, left_out.dst_align);
  visit("dst_layout", p.dst_layout, left_out.dst_layout);
  visit("dst_offset", p.dst_offset, left_out.dst_offset);
  visit("dst_strides", p.dst_strides, left_out.dst_strides);
  visit("extents", p.extents, left_out.extents);
  visit("high", p.stage.high, left_out.stage.high);
  visit("low", p.stage.low, left_out.stage.low);
  visit("operation", OperationName{Operation<PermuteProblem>::kName});
  visit("out", p.stage.out, left_out.stage.out);
  visit("scale", p.stage.scale, left_out.stage.scale);
  visit("shape", p.shape);
  visit("slope", p.stage.slope, left_out.stage.slope);
  visit("src_align", p.src_align, left_out.src_align);
  visit("src_layout", p.src_layout, left_out.src_layout);
  visit("src_offset", p.src_offset, left_out.src_offset);
  visit("src_strides", p.src_strides, left_out.src_strides);
  visit("type", p.type);
}

}  // namespace

void Operation<PermuteProblem>::write(JsonWriter& w, const PermuteProblem& problem) {
  w.begin('{');
  each_permute_field(problem, FieldWriter(w));
  w.end('}');
}

Result<Problem> Operation<PermuteProblem>::read(const nlohmann::json& value, const std::string& what) {
  JsonObject object(value, what);
  PermuteProblem problem;
  each_permute_field(problem, FieldReader(object, what));
  if (auto ok = object.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return problem;
}

std::size_t Operation<PermuteProblem>::hash(const PermuteProblem& problem) {
  FieldHash hash;
  each_permute_field(problem, hash);
  return hash.value();
}

}  // namespace sectile::detail
