//! variant f16 -DCOMPONENT=float16_t -DACC=float -DBYTES=2 -DNARROW
//! variant f16.f16 -DCOMPONENT=float16_t -DACC=float16_t -DBYTES=2 -DNARROW
//! variant bf16 -DCOMPONENT=bfloat16_t -DACC=float -DBYTES=2 -DNARROW -DBF16
//! variant i8 -DCOMPONENT=int8_t -DACC=int32_t -DBYTES=1 -DNARROW -DINTEGER
// A workgroup's tile is one cooperative matrix: the driver stages operands, divides the work among subgroups and
// multiplies. Ragged edges cost only the clamping of tensor addressing: elements outside load as zeros and are not
// stored.
// Row pitches are masked to the alignment that the planner promises: without the mask the compiler does not load 16
// bytes at a time (229 against 46 TFLOP/s; NVIDIA H200, driver 580.159.04).
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int32 : require
#ifdef BF16
#extension GL_EXT_bfloat16 : require
#endif
#include "gemm/gemm.glsl"
#include "gemm/matmul_coopmat2.abi.h"
#include "gemm/epilogue.glsl"

layout(constant_id = MATMUL_COOPMAT2_SPEC_RAGGED) const uint kRagged = 0u;
layout(constant_id = MATMUL_COOPMAT2_SPEC_UNROLL) const uint kUnroll = 1u;

// A reference type states an alignment that the compiler relies on: rows of whole 16-byte chunks have a type of their
// own.
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Chunks { COMPONENT x[]; };
layout(buffer_reference, std430, buffer_reference_align = BYTES) buffer Elements { COMPONENT x[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { int x[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float x[]; };
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Halves { float16_t x[]; };
#ifdef BF16
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Brains { bfloat16_t x[]; };
#endif

#define ZEROS gl_CooperativeMatrixClampModeConstantNV
#define WHOLE gl_CooperativeMatrixClampModeUndefinedNV

const bool kVectorBatched = (kEpilogue & GEMM_EPILOGUE_VECTOR_BATCHED) != 0u;

// Epilogue of one element, as store_run() applies it in other kernels.
float finish(const in uint row, const in uint column, const in float sum, const in uint m0, const in uint n0,
             const in uvec2 c_at, const in uvec2 residual_at, const in uvec2 bias, const in uvec2 scale) {
  uint m = m0 + row, n = n0 + column;
  if (m >= size_m() || n >= size_n()) return sum;
  float c = (kHasC | kHasCIsD) != 0u ? load_out(c_at, row * (kHasC != 0u ? ldc() : ldd()) + column) : 0.0;
  float other = kHasResidual != 0u ? load_out(residual_at, row * ldr() + column) : 0.0;
  // Vectors of all batches: from the push constants, so that nothing holds their addresses.
  Target vectors;
  vectors.bias = kVectorBatched ? bias : bias_address();
  vectors.scale = kVectorBatched ? scale : scale_address();
  float v = finished_float(vectors, sum, m, n, c, other);
  // Rounded here by integers where the conversion of the matrix after it is not to be trusted: then it is exact.
  if (kOutType == SECTILE_TYPE_F16 && (kNumbers & SECTILE_NUMBERS_F16) != 0u)
    return unpackHalf2x16(half_by_integers(v)).x;
  if (kOutType == SECTILE_TYPE_BF16 && (kNumbers & SECTILE_NUMBERS_BF16) != 0u) return bf16_to_float(float_to_bf16(v));
  return v;
}
#ifdef INTEGER
int finish_int(const in uint row, const in uint column, const in int sum, const in uint m0, const in uint n0,
               const in uvec2 residual_at, const in uvec2 bias) {
  uint m = m0 + row, n = n0 + column;
  if (m >= size_m() || n >= size_n()) return sum;
  Target vectors;
  vectors.bias = kVectorBatched ? bias : bias_address();
  return finished_int(vectors, sum, m, n,
                      kHasResidual != 0u ? int(Ref4(residual_at).x[row * ldr() + column]) : 0);
}
#endif

coopmat<ACC, gl_ScopeWorkgroup, kTileM, kTileN, gl_MatrixUseAccumulator> acc;

#define LOAD(tile, width, base, slice)                                              \
  if (width * BYTES == 16u) coopMatLoadTensorNV(tile, Chunks(base).x, 0u, slice);  \
  else coopMatLoadTensorNV(tile, Elements(base).x, 0u, slice)
#define LOAD_TRANSPOSED(tile, width, base, slice)                                               \
  if (width * BYTES == 16u) coopMatLoadTensorNV(tile, Chunks(base).x, 0u, slice, transposed);  \
  else coopMatLoadTensorNV(tile, Elements(base).x, 0u, slice, transposed)

// One step: multiplies the tiles of A and B at the two addresses.
void multiply_whole(uvec2 a, uvec2 b) {
  const uint mask_a = ~(kWidthA - 1u), mask_b = ~(kWidthB - 1u);
  tensorViewNV<2, false, 1, 0> transposed = createTensorViewNV(2, false, 1, 0);
  tensorLayoutNV<2, WHOLE> rows_a = createTensorLayoutNV(2, WHOLE), rows_b = createTensorLayoutNV(2, WHOLE);
  coopmat<COMPONENT, gl_ScopeWorkgroup, kTileM, kTileK, gl_MatrixUseA> tile_a;
  coopmat<COMPONENT, gl_ScopeWorkgroup, kTileK, kTileN, gl_MatrixUseB> tile_b;
  if (kTransA == 0u) {
    rows_a = setTensorLayoutStrideNV(setTensorLayoutDimensionNV(rows_a, kTileM, kTileK), lda() & mask_a, 1u);
    LOAD(tile_a, kWidthA, a, sliceTensorLayoutNV(rows_a, 0u, kTileM, 0u, kTileK));
  } else {
    rows_a = setTensorLayoutStrideNV(setTensorLayoutDimensionNV(rows_a, kTileK, kTileM), lda() & mask_a, 1u);
    LOAD_TRANSPOSED(tile_a, kWidthA, a, sliceTensorLayoutNV(rows_a, 0u, kTileK, 0u, kTileM));
  }
  if (kTransB == 0u) {
    rows_b = setTensorLayoutStrideNV(setTensorLayoutDimensionNV(rows_b, kTileK, kTileN), ldb() & mask_b, 1u);
    LOAD(tile_b, kWidthB, b, sliceTensorLayoutNV(rows_b, 0u, kTileK, 0u, kTileN));
  } else {
    rows_b = setTensorLayoutStrideNV(setTensorLayoutDimensionNV(rows_b, kTileN, kTileK), ldb() & mask_b, 1u);
    LOAD_TRANSPOSED(tile_b, kWidthB, b, sliceTensorLayoutNV(rows_b, 0u, kTileN, 0u, kTileK));
  }
  acc = coopMatMulAdd(tile_a, tile_b, acc);
}

// The same at the edge: only left_m, left_n and left_k remain of the problem; elements beyond load as zeros.
void multiply_ragged(uvec2 a, uvec2 b, uint left_m, uint left_n, uint left_k) {
  const uint mask_a = ~(kWidthA - 1u), mask_b = ~(kWidthB - 1u);
  tensorViewNV<2, false, 1, 0> transposed = createTensorViewNV(2, false, 1, 0);
  tensorLayoutNV<2, ZEROS> rows_a = createTensorLayoutNV(2, ZEROS), rows_b = createTensorLayoutNV(2, ZEROS);
  coopmat<COMPONENT, gl_ScopeWorkgroup, kTileM, kTileK, gl_MatrixUseA> tile_a;
  coopmat<COMPONENT, gl_ScopeWorkgroup, kTileK, kTileN, gl_MatrixUseB> tile_b;
  if (kTransA == 0u) {
    rows_a = setTensorLayoutStrideNV(setTensorLayoutDimensionNV(rows_a, left_m, left_k), lda() & mask_a, 1u);
    LOAD(tile_a, kWidthA, a, sliceTensorLayoutNV(rows_a, 0u, kTileM, 0u, kTileK));
  } else {
    rows_a = setTensorLayoutStrideNV(setTensorLayoutDimensionNV(rows_a, left_k, left_m), lda() & mask_a, 1u);
    LOAD_TRANSPOSED(tile_a, kWidthA, a, sliceTensorLayoutNV(rows_a, 0u, kTileK, 0u, kTileM));
  }
  if (kTransB == 0u) {
    rows_b = setTensorLayoutStrideNV(setTensorLayoutDimensionNV(rows_b, left_k, left_n), ldb() & mask_b, 1u);
    LOAD(tile_b, kWidthB, b, sliceTensorLayoutNV(rows_b, 0u, kTileK, 0u, kTileN));
  } else {
    rows_b = setTensorLayoutStrideNV(setTensorLayoutDimensionNV(rows_b, left_n, left_k), ldb() & mask_b, 1u);
    LOAD_TRANSPOSED(tile_b, kWidthB, b, sliceTensorLayoutNV(rows_b, 0u, kTileN, 0u, kTileK));
  }
  acc = coopMatMulAdd(tile_a, tile_b, acc);
}

void main() {
  Tile t;
  if (!locate_tile(t)) return;     // whole workgroups return: workgroup-scope matrices need uniform control flow
  acc = coopmat<ACC, gl_ScopeWorkgroup, kTileM, kTileN, gl_MatrixUseAccumulator>(ACC(0));
  uvec2 a = a_address(t, t.m, t.k), b = b_address(t, t.k, t.n);
  uvec2 step_a = bytes_of(kAType, kTransA == 0u ? uvec2(kTileK, 0u) : product64(kTileK, lda()));
  uvec2 step_b = bytes_of(kBType, kTransB != 0u ? uvec2(kTileK, 0u) : product64(kTileK, ldb()));
  uint left = t.k_end - t.k;
  if (kRagged == 0u) {
    do {
      [[unroll]] for (uint u = 0u; u < kUnroll; ++u) {
        multiply_whole(a, b);
        a = add64(a, step_a);
        b = add64(b, step_b);
      }
      left -= kUnroll * kTileK;
    } while (left != 0u);
  } else {
    do {
      multiply_ragged(a, b, size_m() - t.m, size_n() - t.n, left);
      a = add64(a, step_a);
      b = add64(b, step_b);
      left -= min(left, kTileK);
    } while (left != 0u);
  }

  Target target = target_of(t);
  tensorLayoutNV<2, ZEROS> rows = createTensorLayoutNV(2, ZEROS);
  rows = setTensorLayoutStrideNV(setTensorLayoutDimensionNV(rows, size_m() - t.m, size_n() - t.n),
                                 ldd() & ~(kWidthD - 1u), 1u);
  rows = sliceTensorLayoutNV(rows, 0u, kTileM, 0u, kTileN);
#ifdef INTEGER
  if (kOutType == SECTILE_TYPE_I32) {
    if (kSplit == 0u) coopMatPerElementNV(acc, acc, finish_int, t.m, t.n, target.residual, target.bias);
    coopMatStoreTensorNV(acc, Words(target.d).x, 0u, rows);
    return;
  }
#endif
  coopmat<float, gl_ScopeWorkgroup, kTileM, kTileN, gl_MatrixUseAccumulator> values =
      coopmat<float, gl_ScopeWorkgroup, kTileM, kTileN, gl_MatrixUseAccumulator>(acc);
  if (kSplit == 0u)
    coopMatPerElementNV(values, values, finish, t.m, t.n, target.c, target.residual, target.bias, target.scale);
  if (kOutType == SECTILE_TYPE_F32) coopMatStoreTensorNV(values, Floats(target.d).x, 0u, rows);
  else if (kOutType == SECTILE_TYPE_F16) {
    coopmat<float16_t, gl_ScopeWorkgroup, kTileM, kTileN, gl_MatrixUseAccumulator> halves =
        coopmat<float16_t, gl_ScopeWorkgroup, kTileM, kTileN, gl_MatrixUseAccumulator>(values);
    coopMatStoreTensorNV(halves, Halves(target.d).x, 0u, rows);
  }
#ifdef BF16
  else {
    coopmat<bfloat16_t, gl_ScopeWorkgroup, kTileM, kTileN, gl_MatrixUseAccumulator> brains =
        coopmat<bfloat16_t, gl_ScopeWorkgroup, kTileM, kTileN, gl_MatrixUseAccumulator>(values);
    coopMatStoreTensorNV(brains, Brains(target.d).x, 0u, rows);
  }
#endif
}
