// A matmul's fields for JSON and the hash.
#include "operation.hpp"
#include "plan/product/fields.hpp"
#include "problem.hpp"

namespace sectile::detail {

template <>
struct Words<PerAxis> {
  static std::string_view of(PerAxis axis) {
    return axis == PerAxis::row ? "row" : axis == PerAxis::column ? "column" : "";
  }
  static Result<void> read(std::string_view word, PerAxis& out) {
    static constexpr PerAxis all[] = {PerAxis::row, PerAxis::column};
    return read_one_of<PerAxis>(all, of, word, "row or column", out);
  }
};

namespace {

void each_matmul_field(auto& p, auto&& visit) {
  const MatmulProblem left_out = matmul_defaults(p.type);
  Weights b{p.b_type, p.b_format};
  const Weights plain{left_out.b_type, left_out.b_format};
  visit("a", p.a_type, left_out.a_type);
  visit("a_align", p.a_align, left_out.a_align);
  visit("a_batch", p.a_batch, left_out.a_batch);
  visit("a_scale", p.a_scale, left_out.a_scale);
  visit("acc", p.acc, left_out.acc);
  visit("activation", p.activation, left_out.activation);
  visit("activation_last", p.activation_last, left_out.activation_last);
  visit("alpha", p.alpha, left_out.alpha);
  visit("b", b, plain);
  visit("b_align", p.b_align, left_out.b_align);
  visit("b_batch", p.b_batch, left_out.b_batch);
  visit("batch", p.batch, left_out.batch);
  visit("beta", p.beta, left_out.beta);
  visit("bias", p.bias, left_out.bias);
  visit("c_batch", p.c_batch, left_out.c_batch);
  visit("c_is_d", p.c_is_d, left_out.c_is_d);
  visit("d_align", p.d_align, left_out.d_align);
  visit("d_batch", p.d_batch, left_out.d_batch);
  visit("high", p.high, left_out.high);
  visit("k", p.k);
  visit("lda", p.lda, left_out.lda);
  visit("ldb", p.ldb, left_out.ldb);
  visit("ldc", p.ldc, left_out.ldc);
  visit("ldd", p.ldd, left_out.ldd);
  visit("ldr", p.ldr, left_out.ldr);
  visit("low", p.low, left_out.low);
  visit("m", p.m);
  visit("n", p.n);
  visit("operation", OperationName{Operation<MatmulProblem>::kName});
  visit("out", p.out, left_out.out);
  visit("r_batch", p.r_batch, left_out.r_batch);
  visit("residual", p.residual, left_out.residual);
  visit("scale", p.scale, left_out.scale);
  visit("slope", p.slope, left_out.slope);
  visit("transpose_a", p.transpose_a, left_out.transpose_a);
  visit("transpose_b", p.transpose_b, left_out.transpose_b);
  visit("type", p.type);
}

}  // namespace

void Operation<MatmulProblem>::write(JsonWriter& w, const MatmulProblem& problem) {
  w.begin('{');
  each_matmul_field(problem, FieldWriter(w));
  w.end('}');
}

Result<Problem> Operation<MatmulProblem>::read(const nlohmann::json& value, const std::string& what) {
  // Left out, they are packed: kPacked has no number in JSON.
  for (const char* key : {"a_batch", "b_batch", "c_batch", "d_batch", "r_batch"}) {
    const auto found = value.find(key);
    if (found != value.end() && found->is_number_integer() && !found->is_number_unsigned() &&
        found->get<std::int64_t>() < 0)
      return fail(ErrorKind::parse, what + "." + key, JsonObject::shown(*found),
                  "at least 0; packed where it is left out");
  }
  return read_by_type(value, what, matmul_defaults, [](auto& p, auto&& visit) { each_matmul_field(p, visit); });
}

std::size_t Operation<MatmulProblem>::hash(const MatmulProblem& problem) {
  FieldHash hash;
  each_matmul_field(problem, hash);
  return hash.value();
}

}  // namespace sectile::detail
