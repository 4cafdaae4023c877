// A matmul's words and numbers: text, JSON, where its operands' elements lie, and what of it makes no sense. Private to
// src/plan.
#pragma once

#include "base/text_tokens.hpp"

#include <sectile/problem.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sectile::detail {

// A problem of this type and nothing else: what all other words stand for where they are left out.
MatmulProblem matmul_defaults(DType type) noexcept;

// Names as the problem string and JSON spell them; "" for `plain` and `none`.
std::string_view format_name(WeightFormat format) noexcept;
std::string_view activation_name(Activation activation) noexcept;

// Elements from row to row as stored, and from one batch's matrix to the next: what 0 and kPacked stand for. Where C is
// what D held, its strides are D's. Numbers beyond 63 bits, which validate() refuses wherever they count, are cut there.
struct MatmulStrides {
  std::int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0, ldr = 0;
  std::int64_t a_batch = 0, b_batch = 0, c_batch = 0, d_batch = 0, r_batch = 0;
  bool operator==(const MatmulStrides&) const = default;
};
MatmulStrides effective(const MatmulProblem& problem) noexcept;

inline bool reads_c(const MatmulProblem& p) noexcept { return p.beta != 0; }
// No element of D is there.
inline bool is_empty(const MatmulProblem& p) noexcept { return p.m == 0 || p.n == 0 || p.batch == 0; }

}  // namespace sectile::detail
