//! variant f16_f16 -DBYTES_AB=2 -DTYPE_AB=float16_t -DVIA_AB=float -DTYPE_CD=float16_t -DVIA_CD=float
//! variant f16_f32 -DBYTES_AB=2 -DTYPE_AB=float16_t -DVIA_AB=float -DTYPE_CD=float -DVIA_CD=float
//! variant bf16_bf16 -DBYTES_AB=2 -DBFLOAT=1 -DTYPE_AB=bfloat16_t -DVIA_AB=float -DTYPE_CD=bfloat16_t -DVIA_CD=float
//! variant bf16_f32 -DBYTES_AB=2 -DBFLOAT=1 -DTYPE_AB=bfloat16_t -DVIA_AB=float -DTYPE_CD=float -DVIA_CD=float
//! variant s8_s32 -DBYTES_AB=1 -DTYPE_AB=int8_t -DVIA_AB=int -DTYPE_CD=int -DVIA_CD=int
//! variant u8_u32 -DBYTES_AB=1 -DUNSIGNED=1 -DTYPE_AB=uint8_t -DVIA_AB=uint -DTYPE_CD=uint -DVIA_CD=uint
// Canary for workgroup-scope cooperative matrices (VK_NV_cooperative_matrix2): row-major and column-major by address,
// and through tensor layouts, unclamped and clamped.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "canary/canary.glsl"
#extension GL_NV_cooperative_matrix2 : require

// The tensor dimensions are smaller than the matrices by `cut` rows and columns.
void multiply_tensors(uint path, uint cut) {
  coopmat<TYPE_AB, gl_ScopeWorkgroup, kM, kK, gl_MatrixUseA> a;
  coopmat<TYPE_AB, gl_ScopeWorkgroup, kK, kN, gl_MatrixUseB> b;
  coopmat<TYPE_CD, gl_ScopeWorkgroup, kM, kN, gl_MatrixUseAccumulator> c;
  tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> of_a =
      createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
  tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> of_b = of_a;
  tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> of_c = of_a;
  of_a = setTensorLayoutDimensionNV(of_a, kM - cut, kK - cut);
  of_b = setTensorLayoutDimensionNV(of_b, kK - cut, kN - cut);
  of_c = setTensorLayoutDimensionNV(of_c, kM - cut, kN - cut);
  // The row pitch is that of the full matrix.
  of_a = setTensorLayoutStrideNV(of_a, kK, 1u);
  of_b = setTensorLayoutStrideNV(of_b, kN, 1u);
  of_c = setTensorLayoutStrideNV(of_c, kN, 1u);
  of_a = sliceTensorLayoutNV(of_a, 0u, kM, 0u, kK);
  of_b = sliceTensorLayoutNV(of_b, 0u, kK, 0u, kN);
  of_c = sliceTensorLayoutNV(of_c, 0u, kM, 0u, kN);
  coopMatLoadTensorNV(a, RefAB(push.a_rows).x, 0, of_a);
  coopMatLoadTensorNV(b, RefAB(push.b_rows).x, 0, of_b);
  coopMatLoadTensorNV(c, RefCD(push.c_rows).x, 0, of_c);
  c = coopMatMulAdd(a, b, c);
  coopMatStoreTensorNV(c, RefCD(d_of(path)).x, 0, of_c);
}

void main() {
  make_operands();
  workgroup_barrier();
  MULTIPLY_ROWS(gl_ScopeWorkgroup)
  MULTIPLY_COLUMNS(gl_ScopeWorkgroup)
  multiply_tensors(CANARY_TENSOR, 0u);
  multiply_tensors(CANARY_CLAMPED, CANARY_CUT);
}
