// What matmul_simt loads of its operands, and how. gemm/simt.cuh has the rest. Include after gemm/epilogue.cuh.
// CUDA has no variables of an invocation outside functions: what GLSL has there is passed here.
#include "gemm/matmul_simt.abi.h"
#include "gemm/side.abi.h"

constexpr uint kRows = sectile_constant(MATMUL_SIMT_SPEC_ROWS, 8u);
constexpr uint kColumns = sectile_constant(MATMUL_SIMT_SPEC_COLUMNS, 8u);
constexpr uint kLanesM = sectile_constant(MATMUL_SIMT_SPEC_LANES_M, 8u);
constexpr uint kLanesN = sectile_constant(MATMUL_SIMT_SPEC_LANES_N, 4u);
constexpr uint kVector = sectile_constant(MATMUL_SIMT_SPEC_VECTOR, 4u);
constexpr uint kStrided = sectile_constant(MATMUL_SIMT_SPEC_STRIDED, 1u);
constexpr uint kStages = sectile_constant(MATMUL_SIMT_SPEC_STAGES, 2u);
constexpr uint kPrefetch = sectile_constant(MATMUL_SIMT_SPEC_PREFETCH, 1u);
constexpr uint kPaired = sectile_constant(MATMUL_SIMT_SPEC_PAIRED, 0u);
constexpr uint kFetchers = sectile_constant(MATMUL_SIMT_SPEC_FETCHERS, 128u);
constexpr uint kInterleaved = sectile_constant(MATMUL_SIMT_SPEC_INTERLEAVED, 1u);
constexpr uint kPadA = sectile_constant(MATMUL_SIMT_SPEC_PAD_A, 0u);
constexpr uint kPadB = sectile_constant(MATMUL_SIMT_SPEC_PAD_B, 0u);
constexpr uint kGroupA = sectile_constant(MATMUL_SIMT_SPEC_GROUP_A, 1u);
constexpr uint kGroupB = sectile_constant(MATMUL_SIMT_SPEC_GROUP_B, 1u);
constexpr uint kChecked = sectile_constant(MATMUL_SIMT_SPEC_CHECKED, 0u);

#ifdef INTEGER
constexpr uint kPacked = 4u;       // values along K per word of workgroup memory
#else
constexpr uint kPacked = 1u;
#endif
constexpr uint kDepth = kTileK / kPacked;

// Position of an item in its tile: a row of A or a column of B, and the first of its elements along K.
struct Item {
  uint across, k;
};

constexpr bool kAlongKA = kTransA == 0u, kAlongKB = kTransB == 1u;
#ifdef GATHERED_WORDS
constexpr bool kIsGatheredA = kGatheredSide == 0u, kIsGatheredB = kGatheredSide != 0u;
#else
constexpr bool kIsGatheredA = false, kIsGatheredB = false;
using Place = uint;             // what an invocation keeps of an item from step to step
#endif

#define SIDE(a, b) a
#include "gemm/simt_side.cuh"
#undef SIDE
#define SIDE(a, b) b
#include "gemm/simt_side.cuh"
#undef SIDE

// A kernel of which an operand is gathered (GATHERED_WORDS) includes these of its own here, twice: start_of(),
// step_of(), place_of(), fetch_item(), convert_item(), as at the end of gemm/simt_side.cuh.
