// What matmul_simt loads of its operands, and how. gemm/simt.glsl has the rest. Include after gemm/epilogue.glsl.
#include "gemm/side.glsl"

layout(constant_id = MATMUL_SIMT_SPEC_ROWS) const uint kRows = 8u;
layout(constant_id = MATMUL_SIMT_SPEC_COLUMNS) const uint kColumns = 8u;
layout(constant_id = MATMUL_SIMT_SPEC_LANES_M) const uint kLanesM = 8u;
layout(constant_id = MATMUL_SIMT_SPEC_LANES_N) const uint kLanesN = 4u;
layout(constant_id = MATMUL_SIMT_SPEC_VECTOR) const uint kVector = 4u;
layout(constant_id = MATMUL_SIMT_SPEC_STRIDED) const uint kStrided = 1u;
layout(constant_id = MATMUL_SIMT_SPEC_STAGES) const uint kStages = 2u;
layout(constant_id = MATMUL_SIMT_SPEC_PREFETCH) const uint kPrefetch = 1u;
layout(constant_id = MATMUL_SIMT_SPEC_FETCHERS) const uint kFetchers = 128u;
layout(constant_id = MATMUL_SIMT_SPEC_INTERLEAVED) const uint kInterleaved = 1u;
layout(constant_id = MATMUL_SIMT_SPEC_PAD_A) const uint kPadA = 0u;
layout(constant_id = MATMUL_SIMT_SPEC_PAD_B) const uint kPadB = 0u;
layout(constant_id = MATMUL_SIMT_SPEC_GROUP_A) const uint kGroupA = 1u;
layout(constant_id = MATMUL_SIMT_SPEC_GROUP_B) const uint kGroupB = 1u;
layout(constant_id = MATMUL_SIMT_SPEC_CHECKED) const uint kChecked = 0u;
layout(constant_id = MATMUL_SIMT_SPEC_PAIRED) const uint kPaired = 0u;

#ifdef INTEGER
#define staged4 ivec4
const uint kPacked = 4u;       // values along K per word of workgroup memory
#else
#define staged4 vec4
const uint kPacked = 1u;
#endif
const uint kDepth = kTileK / kPacked;

// Position of an item in its tile: a row of A or a column of B, and the first of its elements along K.
struct Item {
  uint across, k;
};

const bool kAlongKA = kTransA == 0u, kAlongKB = kTransB == 1u;
#ifdef GATHERED_WORDS
const bool kIsGatheredA = kGatheredSide == 0u, kIsGatheredB = kGatheredSide != 0u;
#else
const bool kIsGatheredA = false, kIsGatheredB = false;
#define Place uint             // what an invocation keeps of an item from step to step
#endif

#define SIDE(a, b) a
#include "gemm/simt_side.glsl"
#undef SIDE
#define SIDE(a, b) b
#include "gemm/simt_side.glsl"
#undef SIDE

// What the loop knows of an operand. A kernel of which one is gathered (GATHERED_WORDS) has functions by these names.
// `k`: the step's first. Macros, since NVIDIA's compiler makes slow code of numbers that pass through functions in
// functions: a kernel without a prefetch took 1.6 times as long.
#ifndef GATHERED_WORDS
#define start_of_a(t) stored_start_a(t)
#define start_of_b(t) stored_start_b(t)
#define step_of_a() stored_step_a()
#define step_of_b() stored_step_b()
#define place_of_a(t, item) stored_place_a(t, item)
#define place_of_b(t, item) stored_place_b(t, item)
#define fetch_item_a(base, item, place, k, left, tail) fetch_stored_a(base, place, (item).k, left, tail)
#define fetch_item_b(base, item, place, k, left, tail) fetch_stored_b(base, place, (item).k, left, tail)
// A has a scale along K, B has quantized formats.
#define convert_item_a(t, item, place, raw, k, inside, v) convert_a(raw, (k) + (item).k, inside, v)
#define convert_item_b(t, item, place, raw, k, inside, v) \
  convert_b(raw, (k) + (item).k, across_of_b(t, item), inside, v)
#endif
