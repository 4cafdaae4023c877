#include "problem.hpp"
#include "operation.hpp"
#include "plan/product/product.hpp"

#include <limits>

namespace sectile::detail {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::int64_t product(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? kMost : result;
}

// A stored matrix.
struct Stored {
  std::string_view name;     // "a"
  std::string_view ld_name;  // "lda"
  std::int64_t rows = 0, columns = 0;
  std::int64_t ld = 0, batch = 0;  // as the problem says
};

Stored stored_a(const MatmulProblem& p) noexcept {
  return {"a", "lda", p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, p.lda, p.a_batch};
}
Stored stored_b(const MatmulProblem& p) noexcept {
  return {"b", "ldb", p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, p.ldb, p.b_batch};
}
Stored stored_c(const MatmulProblem& p) noexcept { return {"c", "ldc", p.m, p.n, p.ldc, p.c_batch}; }
Stored stored_d(const MatmulProblem& p) noexcept { return {"d", "ldd", p.m, p.n, p.ldd, p.d_batch}; }
Stored stored_r(const MatmulProblem& p) noexcept { return {"residual", "ldr", p.m, p.n, p.ldr, p.r_batch}; }

std::int64_t ld_of(const Stored& s) noexcept { return s.ld == 0 ? s.columns : s.ld; }
std::int64_t batch_of(const Stored& s) noexcept {
  return s.batch == MatmulProblem::kPacked ? product(s.rows, ld_of(s)) : s.batch;
}

std::string batch_name(const Stored& s) { return std::string(1, s.name[0]) + ".batch"; }

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
  const Stored b = stored_b(p);
  if (ld_of(b) % 32 != 0)
    return fail(ErrorKind::invalid_problem, "ldb", std::to_string(ld_of(b)), "a multiple of 32 for q4");
  // Packed ones are multiples of ldb, or do not fit 64 bits: then extent() says so.
  if (p.batch > 1 && b.batch != MatmulProblem::kPacked && b.batch % 32 != 0)
    return fail(ErrorKind::invalid_problem, "b.batch", std::to_string(b.batch), "a multiple of 32 for q4");
  return {};
}

Result<void> check_strides(const Stored& s) {
  if (s.ld < 0 || (s.ld != 0 && s.ld < s.columns))
    return fail(ErrorKind::invalid_problem, std::string(s.ld_name), std::to_string(s.ld),
                "0 (packed) or at least " + std::to_string(s.columns) + ", a row's elements");
  if (s.batch < MatmulProblem::kPacked)
    return fail(ErrorKind::invalid_problem, batch_name(s), std::to_string(s.batch), "at least 0");
  return {};
}

// Bytes from the operand's address to the end of its last element; `bits` is an element's size.
Result<std::uint64_t> extent(const Stored& s, std::int64_t batches, std::int64_t bits) {
  if (s.rows == 0 || s.columns == 0 || batches == 0) return 0;
  // The size in bits may take up to 66 bits.
  __extension__ using Wide = __int128;
  const Wide elements = Wide{batches - 1} * (batches > 1 ? batch_of(s) : 0) + Wide{s.rows - 1} * ld_of(s) + s.columns;
  const Wide bytes = (elements * bits + 7) / 8;
  const bool cut = batches > 1 && s.batch == MatmulProblem::kPacked && batch_of(s) == kMost;
  if (cut || bytes > kMost)
    return fail(ErrorKind::overflow, std::string(s.name) + " size",
                std::to_string(batches) + " of " + std::to_string(s.rows) + "x" + std::to_string(s.columns) +
                    ", rows " + std::to_string(ld_of(s)) + " apart",
                "less than 2^63 bytes");
  return static_cast<std::uint64_t>(bytes);
}

// Refuses two elements of the destination at one address: the result would depend on the order of writes. extent() has
// accepted D before, so no product here overflows.
Result<void> check_destination_distinct(const MatmulProblem& p) {
  const Stored d = stored_d(p);
  if (p.batch <= 1 || is_empty(p)) return {};  // ldd is at least N
  const std::int64_t ld = ld_of(d), step = batch_of(d);
  const std::int64_t matrix = (p.m - 1) * ld + p.n;
  if (step >= matrix) return {};                                   // batches one after the other
  if (step >= p.n && ld >= (p.batch - 1) * step + p.n) return {};  // rows of all batches side by side
  // Rows begin at b * step + m * ld. Two rows overlap if their beginnings are less than N apart. The loop tries every
  // difference along the shorter of the two axes, and for each the two nearest differences along the longer one.
  constexpr std::int64_t kMostDifferences = 1 << 14;
  const bool by_batch = p.batch <= p.m;
  const std::int64_t shorter = by_batch ? p.batch : p.m, longer = by_batch ? p.m : p.batch;
  const std::int64_t shorter_step = by_batch ? step : ld, longer_step = by_batch ? ld : step;
  bool distinct = step >= p.n && shorter <= kMostDifferences;
  for (std::int64_t i = 1; distinct && i < shorter; ++i) {
    const std::int64_t at = i * shorter_step;
    const std::int64_t low = std::min(at / longer_step, longer - 1), high = std::min(low + 1, longer - 1);
    distinct = std::abs(at - low * longer_step) >= p.n && std::abs(at - high * longer_step) >= p.n;
  }
  if (distinct) return {};
  return fail(ErrorKind::overlap, "d.batch", std::to_string(step),
              "a step at which no two of " + std::to_string(p.batch) + " batches of " + std::to_string(p.m) +
                  " rows, " + std::to_string(ld) + " apart, share an element");
}

Result<void> check(const MatmulProblem& p) {
  if (auto ok = check_types({p.type, "a", "b", p.a_type, p.b_type, p.b_format, p.acc, p.out}); !ok) return ok;
  if (auto ok = check_sizes(p); !ok) return ok;
  const bool scale = p.scale != PerAxis::none;
  if (auto ok = check_numbers(
          {p.type, p.out, p.alpha, p.beta, scale, activation_words(p), p.residual, p.a_scale ? "scale" : ""});
      !ok)
    return ok;
  for (const Stored& s : {stored_a(p), stored_b(p), stored_c(p), stored_d(p), stored_r(p)})
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
  const auto add = [&](const Stored& s, std::int64_t bits, std::uint32_t align, bool written = false) {
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
  if (auto ok = check_destination_distinct(p); !ok) return std::unexpected(std::move(ok.error()));
  return operands;
}

Result<void> Operation<MatmulProblem>::validate(const MatmulProblem& p) {
  auto listed = operands(p);
  if (!listed) return std::unexpected(std::move(listed.error()));
  return {};
}

}  // namespace sectile::detail
