// A and B are loaded alike. What is the same for both is written once, in a file that is included twice: with
// SIDE(a, b) defined as a for A's side, and as b for B's. GLSL has no templates. CUDA has a struct for it (Side in
// gemm/simt_fetch.cuh).
// Left: a name in such a file. Right: what it is on A's side, and on B's.
#ifndef SECTILE_GEMM_SIDE_GLSL
#define SECTILE_GEMM_SIDE_GLSL

#define kSideType SIDE(kAType, kBType)
#define kWidth SIDE(kWidthA, kWidthB)
#define kTile SIDE(kTileM, kTileN)                // rows of A, columns of B
#define kAlongK SIDE(kAlongKA, kAlongKB)          // runs lie along K, otherwise across it: along M or N
#define kPitch SIDE(kPitchA, kPitchB)             // of the staged tile's rows
#define kLoads SIDE(kLoadsA, kLoadsB)             // loads of an invocation in a step
#define stored_start SIDE(stored_start_a, stored_start_b)
#define stored_step SIDE(stored_step_a, stored_step_b)
#define start_of SIDE(start_of_a, start_of_b)
#define step_of SIDE(step_of_a, step_of_b)
#define prefetched SIDE(prefetched_a, prefetched_b)

// matmul_simt: gemm/simt_side, gemm/simt_stage, conv2d/simt_side
#define kIsGathered SIDE(kIsGatheredA, kIsGatheredB)
#define kStage SIDE(kStageA, kStageB)
#define kSpan SIDE(kSpanA, kSpanB)
#define kSpanK SIDE(kSpanKA, kSpanKB)
#define kItems SIDE(kItemsA, kItemsB)
#define kLoadGroup SIDE(kLoadGroupA, kLoadGroupB)
#define staged_side SIDE(staged_a, staged_b)
#define places SIDE(places_a, places_b)
#define item_of SIDE(item_of_a, item_of_b)
#define has_item SIDE(has_item_a, has_item_b)
#define across_of SIDE(across_of_a, across_of_b)
#define stored_place SIDE(stored_place_a, stored_place_b)
#define fetch_stored SIDE(fetch_stored_a, fetch_stored_b)
#define place_of SIDE(place_of_a, place_of_b)
#define fetch_item SIDE(fetch_item_a, fetch_item_b)
#define convert_item SIDE(convert_item_a, convert_item_b)
#define stage_item SIDE(stage_item_a, stage_item_b)

#endif
