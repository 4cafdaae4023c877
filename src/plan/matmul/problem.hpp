// Shared by a matmul's text, JSON, validation and planning: defaults and effective strides. Private to src/plan.
#pragma once

#include "base/text_tokens.hpp"
#include "plan/activation.hpp"
#include "plan/gemm/gemm.hpp"

#include <sectile/problem.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sectile::detail {

// A problem of this type with the defaults of all other fields.
MatmulProblem matmul_defaults(DType type) noexcept;

// Row strides and batch strides in elements, with 0 and kPacked replaced by the packed strides. If C is D, C has D's
// strides. Values that do not fit 63 bits saturate; validate() refuses them wherever they matter.
GemmStrides effective(const MatmulProblem& problem) noexcept;

// The GEMM that a matmul is.
Gemm gemm_of(const MatmulProblem& problem) noexcept;

inline bool reads_c(const MatmulProblem& p) noexcept { return p.beta != 0; }
// D has no elements.
inline bool is_empty(const MatmulProblem& p) noexcept { return p.m == 0 || p.n == 0 || p.batch == 0; }

}  // namespace sectile::detail
