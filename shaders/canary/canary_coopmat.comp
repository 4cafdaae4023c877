//! variant f16_f16 -DBYTES_AB=2 -DTYPE_AB=float16_t -DVIA_AB=float -DTYPE_CD=float16_t -DVIA_CD=float
//! variant f16_f32 -DBYTES_AB=2 -DTYPE_AB=float16_t -DVIA_AB=float -DTYPE_CD=float -DVIA_CD=float
//! variant bf16_bf16 -DBYTES_AB=2 -DBFLOAT=1 -DTYPE_AB=bfloat16_t -DVIA_AB=float -DTYPE_CD=bfloat16_t -DVIA_CD=float
//! variant bf16_f32 -DBYTES_AB=2 -DBFLOAT=1 -DTYPE_AB=bfloat16_t -DVIA_AB=float -DTYPE_CD=float -DVIA_CD=float
//! variant s8_s32 -DBYTES_AB=1 -DTYPE_AB=int8_t -DVIA_AB=int -DTYPE_CD=int -DVIA_CD=int
//! variant u8_u32 -DBYTES_AB=1 -DUNSIGNED=1 -DTYPE_AB=uint8_t -DVIA_AB=uint -DTYPE_CD=uint -DVIA_CD=uint
// Canary for subgroup-scope cooperative matrices: loads and stores by address and through workgroup memory, row-major
// and column-major.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "canary/canary.glsl"

shared TYPE_AB shared_a[kM * kK];
shared TYPE_AB shared_b[kK * kN];
shared TYPE_CD shared_c[kM * kN];

#define MULTIPLY_SHARED(path, layout, a_from, lda, b_from, ldb, c_from, ldc)                               \
  {                                                                                                       \
    for (uint at = gl_LocalInvocationIndex; at < kM * kK; at += kWorkgroup) shared_a[at] = a_from[at];    \
    for (uint at = gl_LocalInvocationIndex; at < kK * kN; at += kWorkgroup) shared_b[at] = b_from[at];    \
    for (uint at = gl_LocalInvocationIndex; at < kM * kN; at += kWorkgroup) shared_c[at] = c_from[at];    \
    workgroup_barrier();                                                                                            \
    MULTIPLY(gl_ScopeSubgroup, layout, shared_a, lda, shared_b, ldb, shared_c, RefCD(d_of(path)).x, ldc)   \
    workgroup_barrier();                                                                                            \
  }

void main() {
  make_operands();
  workgroup_barrier();
  MULTIPLY_ROWS(gl_ScopeSubgroup)
  MULTIPLY_COLUMNS(gl_ScopeSubgroup)
  MULTIPLY_SHARED(CANARY_SHARED_ROWS, gl_CooperativeMatrixLayoutRowMajor, RefAB(push.a_rows).x, kK,
                  RefAB(push.b_rows).x, kN, RefCD(push.c_rows).x, kN)
  MULTIPLY_SHARED(CANARY_SHARED_COLUMNS, gl_CooperativeMatrixLayoutColumnMajor, RefAB(push.a_columns).x, kM,
                  RefAB(push.b_columns).x, kK, RefCD(push.c_columns).x, kM)
}
