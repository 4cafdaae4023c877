// A general matrix multiplication as the kernels compute it, whoever asks for it: D = epilogue(alpha A B + beta C).
#pragma once

#include <sectile/problem.hpp>

#include <cstdint>

namespace sectile::detail {

// Elements from row to row, and from batch to batch. All are effective: none stands for a packed one.
struct GemmStrides {
  std::int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0, ldr = 0;
  std::int64_t a_batch = 0, b_batch = 0, c_batch = 0, d_batch = 0, r_batch = 0;
  bool operator==(const GemmStrides&) const = default;
};

// The largest leading dimension that kernels take.
inline constexpr std::int64_t kMostLd = (std::int64_t{1} << 31) - 1;

// What a kernel makes of a sum before it stores it, whether the sum is a GEMM's or not.
struct GemmEpilogue {
  float alpha = 1, beta = 0;
  bool c_is_d = false;
  PerAxis scale = PerAxis::none, bias = PerAxis::none;
  bool vectors_batched = false;  // each batch has its own bias and scale, M (by row) or N elements apart
  Activation activation = Activation::none;
  float slope = 0, low = 0, high = 0;
  bool residual = false;
  bool activation_last = false;
};

// Fields that MatmulProblem has too mean the same here. Where an operand is no stored matrix (operand.hpp), its
// transpose says which side its accesses run along, and its leading dimension is not read.
struct Gemm : GemmEpilogue {
  DType type = DType::f32;
  DType a_type = DType::f32, b_type = DType::f32;
  WeightFormat b_format = WeightFormat::plain;
  DType acc = DType::f32, out = DType::f32;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool transpose_a = false, transpose_b = false;
  GemmStrides at;
  bool a_scale = false;
  std::uint32_t a_align = 16, b_align = 16, d_align = 16;
};

inline bool reads_c(const GemmEpilogue& g) noexcept { return g.beta != 0; }
// No product reaches the result: A and B are not read.
inline bool reads_no_product(const Gemm& g) noexcept { return g.k == 0 || g.alpha == 0; }
inline bool is_empty(const Gemm& g) noexcept { return g.m == 0 || g.n == 0 || g.batch == 0; }

}  // namespace sectile::detail
