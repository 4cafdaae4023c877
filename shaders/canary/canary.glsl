// What the canary kernels share: their operands and buffers. The variant defines TYPE_AB and TYPE_CD.
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require
#if BYTES_AB == 1
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#else
#extension GL_EXT_shader_16bit_storage : require
#endif
#ifdef BFLOAT
#extension GL_EXT_bfloat16 : require
#elif BYTES_AB == 2
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#endif
#include "canary/canary.abi.h"

layout(local_size_x_id = SECTILE_SPEC_WORKGROUP, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = SECTILE_SPEC_WORKGROUP) const uint kWorkgroup = 32u;
layout(constant_id = CANARY_SPEC_M) const uint kM = 16u;
layout(constant_id = CANARY_SPEC_N) const uint kN = 16u;
layout(constant_id = CANARY_SPEC_K) const uint kK = 16u;
layout(push_constant, std430) uniform Push { CanaryPush push; };

// workgroupcoherent: invocations write elements that the matrix loads of others read.
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer RefAB { workgroupcoherent TYPE_AB x[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer RefCD { workgroupcoherent TYPE_CD x[]; };

// The host evaluates the same function.
uint noise(uint matrix, uint at) {
  uint h = at * 2654435761u ^ matrix * 0x9E3779B9u ^ push.seed * 0x85EBCA6Bu;
  h = (h ^ h >> 15) * 0x2C1B3C6Du;
  h = (h ^ h >> 12) * 0x297A2D39u;
  return h ^ h >> 15;
}
#ifdef UNSIGNED
#define NUMBER(matrix, at) int(noise(matrix, at) % 3u)
#else
#define NUMBER(matrix, at) (int(noise(matrix, at) % 5u) - 2)
#endif
// Conversions go through VIA_*: a bfloat16 can only be constructed from a float.
#define TO_AB(number) TYPE_AB(VIA_AB(number))
#define TO_CD(number) TYPE_CD(VIA_CD(number))

uvec2 d_of(uint path) {
  uint carry;
  uint lo = uaddCarry(push.d.x, path * push.d_bytes, carry);
  return uvec2(lo, push.d.y + carry);
}

// Execution and memory barrier: all writes of the workgroup are visible to all of its invocations afterwards.
void workgroup_barrier() {
  controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                 gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}

void make_operands() {
  for (uint at = gl_LocalInvocationIndex; at < kM * kK; at += kWorkgroup) {
    TYPE_AB value = TO_AB(NUMBER(CANARY_A, at));
    RefAB(push.a_rows).x[at] = value;
    RefAB(push.a_columns).x[at % kK * kM + at / kK] = value;
  }
  for (uint at = gl_LocalInvocationIndex; at < kK * kN; at += kWorkgroup) {
    TYPE_AB value = TO_AB(NUMBER(CANARY_B, at));
    RefAB(push.b_rows).x[at] = value;
    RefAB(push.b_columns).x[at % kN * kK + at / kN] = value;
  }
  for (uint at = gl_LocalInvocationIndex; at < kM * kN; at += kWorkgroup) {
    TYPE_CD value = TO_CD(NUMBER(CANARY_C, at));
    RefCD(push.c_rows).x[at] = value;
    RefCD(push.c_columns).x[at % kN * kM + at / kN] = value;
    for (uint path = 0u; path < CANARY_PATHS; ++path) RefCD(d_of(path)).x[at] = TO_CD(CANARY_POISON);
  }
}

// D = A * B + C. Each matrix is given as an array and a row pitch (column pitch where column-major).
#define MULTIPLY(scope, layout, a_from, lda, b_from, ldb, c_from, d_to, ldc)                \
  {                                                                                         \
    coopmat<TYPE_AB, scope, kM, kK, gl_MatrixUseA> a;                                       \
    coopmat<TYPE_AB, scope, kK, kN, gl_MatrixUseB> b;                                       \
    coopmat<TYPE_CD, scope, kM, kN, gl_MatrixUseAccumulator> c;                             \
    coopMatLoad(a, a_from, 0, lda, layout);                                                 \
    coopMatLoad(b, b_from, 0, ldb, layout);                                                 \
    coopMatLoad(c, c_from, 0, ldc, layout);                                                 \
    c = coopMatMulAdd(a, b, c);                                                             \
    coopMatStore(c, d_to, 0, ldc, layout);                                                  \
  }

#define MULTIPLY_ROWS(scope)                                                                \
  MULTIPLY(scope, gl_CooperativeMatrixLayoutRowMajor, RefAB(push.a_rows).x, kK, RefAB(push.b_rows).x, kN, \
           RefCD(push.c_rows).x, RefCD(d_of(CANARY_BY_ROWS)).x, kN)
#define MULTIPLY_COLUMNS(scope)                                                             \
  MULTIPLY(scope, gl_CooperativeMatrixLayoutColumnMajor, RefAB(push.a_columns).x, kM, RefAB(push.b_columns).x, kK, \
           RefCD(push.c_columns).x, RefCD(d_of(CANARY_BY_COLUMNS)).x, kM)
