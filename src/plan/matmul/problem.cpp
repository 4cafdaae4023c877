#include "problem.hpp"
#include "operation.hpp"
#include "plan/product/matrix.hpp"
#include "plan/product/product.hpp"

#include <limits>

namespace sectile::detail {

namespace {

PlacedMatrix stored_a(const MatmulProblem& p) noexcept {
  return {"a", "lda", p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, p.lda, p.a_batch};
}
PlacedMatrix stored_b(const MatmulProblem& p) noexcept {
  return {"b", "ldb", p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, p.ldb, p.b_batch};
}
PlacedMatrix stored_c(const MatmulProblem& p) noexcept { return {"c", "ldc", p.m, p.n, p.ldc, p.c_batch}; }
PlacedMatrix stored_d(const MatmulProblem& p) noexcept { return {"d", "ldd", p.m, p.n, p.ldd, p.d_batch}; }
PlacedMatrix stored_r(const MatmulProblem& p) noexcept { return {"residual", "ldr", p.m, p.n, p.ldr, p.r_batch}; }

Result<void> check_sizes(const MatmulProblem& p) {
  constexpr std::int64_t kMostSize = std::numeric_limits<std::int32_t>::max();
  for (const auto& [what, size] :
       {std::pair("M", p.m), std::pair("N", p.n), std::pair("K", p.k), std::pair("batch", p.batch)})
    if (size < 0 || size > kMostSize)
      return fail(ErrorKind::invalid_problem, what, std::to_string(size), "0 to 2147483647");
  return {};
}

Result<void> check_q4(const MatmulProblem& p) {
  if (p.b_format != WeightFormat::q4) return {};
  if (!p.transpose_b) return fail(ErrorKind::invalid_problem, "b", "q4 stored K x N", "q4 transposed (nt or tt)");
  const PlacedMatrix b = stored_b(p);
  if (ld_of(b) % 32 != 0)
    return fail(ErrorKind::invalid_problem, "ldb", std::to_string(ld_of(b)), "a multiple of 32 for q4");
  // Packed ones are multiples of ldb, or do not fit 64 bits: then extent() says so.
  if (p.batch > 1 && b.batch != MatmulProblem::kPacked && b.batch % 32 != 0)
    return fail(ErrorKind::invalid_problem, "b.batch", std::to_string(b.batch), "a multiple of 32 for q4");
  return {};
}

Result<void> check(const MatmulProblem& p) {
  if (auto ok = check_types({p.type, "a", "b", p.a_type, p.b_type, p.b_format, p.acc, p.out}); !ok) return ok;
  if (auto ok = check_sizes(p); !ok) return ok;
  const bool scale = p.scale != PerAxis::none;
  if (auto ok = check_numbers(
          {p.type, p.out, p.alpha, p.beta, scale, activation_words(p), p.residual, p.a_scale ? "scale" : ""});
      !ok)
    return ok;
  for (const PlacedMatrix& s : {stored_a(p), stored_b(p), stored_c(p), stored_d(p), stored_r(p)})
    if (auto ok = check_strides(s); !ok) return ok;
  if (p.c_is_d && p.ldc != 0) return fail(ErrorKind::invalid_problem, "ldc", std::to_string(p.ldc), "none: C is D");
  if (p.c_is_d && p.c_batch != MatmulProblem::kPacked)
    return fail(ErrorKind::invalid_problem, "c.batch", std::to_string(p.c_batch), "none: C is D");
  if (auto ok = check_q4(p); !ok) return ok;
  if (auto ok = check_align("a.align", p.a_align, size_bytes(p.a_type)); !ok) return ok;
  if (auto ok = check_align("b.align", p.b_align, size_bytes(p.b_type)); !ok) return ok;
  return check_align("d.align", p.d_align, size_bytes(p.out));
}

}  // namespace

MatmulProblem matmul_defaults(DType type) noexcept {
  MatmulProblem p;
  p.type = p.a_type = p.b_type = p.out = type;
  if (type == DType::i8) p.acc = p.out = DType::i32;
  return p;
}

GemmStrides effective(const MatmulProblem& p) noexcept {
  GemmStrides s;
  s.lda = ld_of(stored_a(p));
  s.ldb = ld_of(stored_b(p));
  s.ldd = ld_of(stored_d(p));
  s.ldr = ld_of(stored_r(p));
  s.a_batch = batch_of(stored_a(p));
  s.b_batch = batch_of(stored_b(p));
  s.d_batch = batch_of(stored_d(p));
  s.r_batch = batch_of(stored_r(p));
  s.ldc = p.c_is_d ? s.ldd : ld_of(stored_c(p));
  s.c_batch = p.c_is_d ? s.d_batch : batch_of(stored_c(p));
  return s;
}

Result<std::vector<OperandSpec>> Operation<MatmulProblem>::operands(const MatmulProblem& p) {
  if (auto ok = check(p); !ok) return std::unexpected(std::move(ok.error()));
  std::vector<OperandSpec> operands;
  Result<void> failed;
  const std::int64_t batches = is_empty(p) ? 0 : p.batch;
  const auto add = [&](const PlacedMatrix& s, std::int64_t bits, std::uint32_t align, bool written = false) {
    auto bytes = extent(s, batches, bits);
    if (!bytes && failed) failed = std::unexpected(std::move(bytes.error()));
    operands.push_back({std::string(s.name), written, bytes.value_or(0), align});
  };
  // A vector that all batches share.
  const auto add_vector = [&](std::string_view name, std::int64_t length, std::uint32_t element, std::int64_t rows = 1,
                              std::int64_t ld = 0) {
    auto bytes = extent({name, name, rows, length, ld, 0}, batches == 0 ? 0 : 1, std::int64_t{8} * element);
    if (!bytes && failed) failed = std::unexpected(std::move(bytes.error()));
    operands.push_back({std::string(name), false, bytes.value_or(0), element});
  };
  const std::uint32_t out = size_bytes(p.out);
  const auto per_axis = [&](PerAxis axis) { return axis == PerAxis::row ? p.m : p.n; };
  add(stored_a(p), std::int64_t{8} * size_bytes(p.a_type), p.a_align);
  add(stored_b(p), p.b_format == WeightFormat::q4 ? 4 : std::int64_t{8} * size_bytes(p.b_type), p.b_align);
  add(stored_d(p), std::int64_t{8} * out, p.d_align, true);
  if (reads_c(p) && !p.c_is_d) add(stored_c(p), std::int64_t{8} * out, p.d_align);
  if (p.bias != PerAxis::none) add_vector("bias", per_axis(p.bias), out);
  if (p.scale != PerAxis::none) add_vector("scale", per_axis(p.scale), 4);
  if (p.residual) add(stored_r(p), std::int64_t{8} * out, p.d_align);
  if (p.b_format == WeightFormat::q8) add_vector("b.scale", p.k == 0 ? 0 : p.n, 4);
  // The scales of a row of B are contiguous; from row to row they are ldb / 32 apart.
  if (p.b_format == WeightFormat::q4) add_vector("b.scale", (p.k + 31) / 32, 2, p.n, ld_of(stored_b(p)) / 32);
  if (p.a_scale) add_vector("a.scale", p.k, 4);
  if (!failed) return std::unexpected(std::move(failed.error()));
  if (auto ok = check_batches_distinct(stored_d(p), batches); !ok) return std::unexpected(std::move(ok.error()));
  return operands;
}

Result<void> Operation<MatmulProblem>::validate(const MatmulProblem& p) {
  auto listed = operands(p);
  if (!listed) return std::unexpected(std::move(listed.error()));
  return {};
}

}  // namespace sectile::detail
