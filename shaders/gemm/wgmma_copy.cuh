// How matmul_wgmma's first warpgroup brings the operands' steps of K to workgroup memory. Include after this kernel's
// Cluster, Tile locations and Stages.
// An operand has a tensor map, and one invocation starts copies of whole boxes; or (STAGED_A, STAGED_B) all invocations
// load it, kAhead steps before it is multiplied: rows that no tensor map takes, elements that are converted, and int8
// across K, which the products take along K only.

#ifdef STAGED_A
constexpr bool kStagedA = true;
#define MAP_A_PARAMETER
#define MAP_A_POINTER nullptr
#else
constexpr bool kStagedA = false;
#define MAP_A_PARAMETER , const __grid_constant__ TensorMap map_a
#define MAP_A_POINTER &map_a
#endif
#ifdef STAGED_B
constexpr bool kStagedB = true;
#define MAP_B_PARAMETER
#define MAP_B_POINTER nullptr
#else
constexpr bool kStagedB = false;
#define MAP_B_PARAMETER , const __grid_constant__ TensorMap map_b
#define MAP_B_POINTER &map_b
#endif
#define MAP_PARAMETERS MAP_A_PARAMETER MAP_B_PARAMETER
#define MAP_POINTERS MAP_A_POINTER, MAP_B_POINTER
#define MAP_ARGUMENTS , MAP_POINTERS

constexpr bool kStaged = kStagedA || kStagedB;
// Named barriers: of the consumers, then one for the turn of each, and of the warpgroup that copies.
constexpr uint kConsumersBarrier = 1u, kFirstTurn = 2u, kTurn = 2u * kWarpgroup, kCopiersBarrier = 4u;
constexpr uint kMapBytes =
    (kStagedA ? 0u : kBytesA) +
    (kStagedB ? 0u : kPackedB ? kTileN * MATMUL_WGMMA_PACKED_LINE(kLineParts) : kBytesB);
// Arrivals that complete a barrier: those who fill a stage, and the warps that release it. Each workgroup whose copies
// reach a stage waits until it is free.
constexpr uint kFillers = (kMapBytes != 0u ? 1u : 0u) + (kPackedB ? 32u : kStaged ? kWarpgroup : 0u);
constexpr uint kReleases =
    kWarpgroup / 32u * (kPingpong != 0u ? 1u : kConsumers / kSlices) * (kClusterM + kClusterN - 1u);

// Registers of an invocation. A multiprocessor has 65536: at the start 168 for each invocation with two consumers, and
// 128 with three. What those who copy give up the others take.
constexpr bool kTrade = kConsumers > 1u && kResident == 1u;
constexpr uint kAllRegisters = kConsumers == 3u ? 4u * 128u : 3u * 168u;
constexpr uint kProducerRegisters =
    !kTrade ? 0u : kStaged ? (kConsumers == 3u ? 80u : 104u) : kPackedB ? 56u : kConsumers == 3u ? 32u : 40u;
constexpr uint kConsumerRegisters = !kTrade ? 0u : (kAllRegisters - kProducerRegisters) / kConsumers;

__device__ __forceinline__ uint rank_of(uint m, uint n, uint k) { return (k * kClusterN + n) * kClusterM + m; }
__device__ __forceinline__ uint rank_in(const Cluster& cluster, uint m, uint n) { return rank_of(m, n, cluster.k); }
// The calling warp has read the stage: tells those whose copies fill it.
__device__ __forceinline__ void release(const Stages& stage, const Cluster& cluster) {
  const uint lane = threadIdx.x % 32u;
  if (kClusterM * kClusterN == 1u) {
    if (lane == 0u) arrive(empty_of(stage));
  } else if (lane < kClusterM + kClusterN - 1u) {
    const uint other = lane - kClusterM;   // of those along N, this workgroup left out
    const uint rank = lane < kClusterM ? rank_in(cluster, lane, cluster.n)
                                       : rank_in(cluster, cluster.m, other + (other >= cluster.n ? 1u : 0u));
    arrive_at(empty_of(stage), rank);
  }
}

// ---- tensor maps

// Their first copies then do not wait for the maps.
__device__ __forceinline__ void prefetch_maps(const TensorMap* map_a, const TensorMap* map_b) {
  if (!kStagedA) prefetch_map(map_a);
  if (!kStagedB) prefetch_map(map_b);
}

// Copies an operand's tile, or this workgroup's share of it to all that need it: workgroup number `share` of
// `together`, `to_ranks` one bit each.
__device__ __forceinline__ void copy_operand(const TensorMap* map, uint to, uint barrier, const bool along_k,
                                             const uint tile, const uint together, uint share, uint to_ranks, uint row,
                                             uint k, uint batch) {
  const auto copy = [&](uint at, uint inner, uint outer) {
    const int c[5] = {int(inner), int(outer), int(batch), 0, 0};
    if (together > 1u) SECTILE_WITH(copy_in_to_all, 3u)(at, map, c, barrier, to_ranks);
    else SECTILE_WITH(copy_in, 3u)(at, map, c, barrier);
  };
  if (along_k) {
    const uint rows = tile / together;
    copy(to + share * rows * kLine, k, row + share * rows);
    return;
  }
  const uint across = MATMUL_WGMMA_ACROSS(tile), line = across * kElementBytes, blocks = tile / across;
  const uint lines = MATMUL_WGMMA_LINES(tile, kLineK, together);
  const bool by_blocks = lines == kLineK;
  const uint own = by_blocks ? blocks / together : blocks;
#pragma unroll
  for (uint i = 0u; i < own; ++i) {
    const uint block = by_blocks ? share * own + i : i, first = by_blocks ? 0u : share * lines;
    copy(to + (block * kLineK + first) * line, row + block * across, k + first);
  }
}
__device__ __forceinline__ void copy_maps(const GemmPush& push, const Cluster& cluster, const Stages& stage,
                                          const Tile& t, uint k, const TensorMap* map_a, const TensorMap* map_b) {
  arrive_expecting(full_of(stage), kMapBytes);
  uint along_n = 0u, along_m = 0u;   // the workgroups that have A's tile too, and B's
#pragma unroll
  for (uint n = 0u; n < kClusterN; ++n) along_n |= 1u << rank_in(cluster, cluster.m, n);
#pragma unroll
  for (uint m = 0u; m < kClusterM; ++m) along_m |= 1u << rank_in(cluster, m, cluster.n);
  if (!kStagedA) {
#pragma unroll
    for (uint part = 0u; part < kLineParts; ++part)
      copy_operand(map_a, a_of(stage) + part * kTileM * kLine, full_of(stage), kAlongKA, kTileM, kClusterN, cluster.n,
                   along_n, t.m, k + part * kLineK, kBatched != 0u && a_batch(push) != 0u ? t.batch : 0u);
  }
  if (!kStagedB)
    copy_operand(map_b, b_of(stage), full_of(stage), kAlongKB, kTileN, kClusterM, cluster.m, along_m, t.n,
                 kPackedB ? k / 2u : k, kBatched != 0u && b_batch(push) != 0u ? t.batch : 0u);
}

// ---- operands that invocations load

#include "gemm/wgmma_stage.cuh"
#include "gemm/wgmma_weights.cuh"

// ---- all steps of all tiles

// A step of K of a tile, and its stage.
struct Cursor {
  Stages stage;
  uint id;
  Tile t;
  bool inside;   // false after the last
};
__device__ __forceinline__ void begin_tile(const GemmPush& push, const Cluster& cluster, Cursor& c) {
  c.inside = locate(push, cluster, c.id, c.t);
  while (c.inside && c.t.k >= c.t.k_end) {   // a split beyond the end of K
    c.id += cluster.count;
    c.inside = locate(push, cluster, c.id, c.t);
  }
}
__device__ __forceinline__ void next_step(const GemmPush& push, const Cluster& cluster, Cursor& c) {
  next_stage(c.stage);
  c.t.k += kTileK;
  if (c.t.k < c.t.k_end) return;
  c.id += cluster.count;
  begin_tile(push, cluster, c);
}

__device__ __forceinline__ void produce(const GemmPush& push, const Cluster& cluster, const Stages& stages,
                                        const TensorMap* map_a, const TensorMap* map_b) {
  Cursor ahead;
  ahead.stage = stages;
  ahead.id = cluster.id;
  begin_tile(push, cluster, ahead);
  SECTILE_IF_CONSTEXPR (kPackedB) {
    // A and the weights have tensor maps. The products' warps load the scales themselves, so that nothing is published,
    // and copies arrive when they are done: as many steps are in flight as there are stages. Warps take steps in turns,
    // which costs them less than a share of each. There are at least as many stages as warps: otherwise one could come
    // to a phase two ahead, and pass.
    uint turn = threadIdx.x / 32u;
    while (ahead.inside) {
      const ScaleSource source = scale_source(push, ahead.t);
      for (const uint id = ahead.id; ahead.inside && ahead.id == id; next_step(push, cluster, ahead)) {
        if (turn-- != 0u) continue;
        turn = kWarpgroup / 32u - 1u;
        await_phase(empty_of(ahead.stage), ahead.stage.parity ^ 1u);
        if (threadIdx.x % 32u == 0u) copy_maps(push, cluster, ahead.stage, ahead.t, ahead.t.k, map_a, map_b);
        begin_scales(ahead.stage, source, ahead.t.k);
        arrive_when_copied(full_of(ahead.stage));
      }
    }
  } else SECTILE_IF_CONSTEXPR (!kStaged) {
    if (threadIdx.x == 0u)
      for (; ahead.inside; next_step(push, cluster, ahead)) {
        await_phase(empty_of(ahead.stage), ahead.stage.parity ^ 1u);
        copy_maps(push, cluster, ahead.stage, ahead.t, ahead.t.k, map_a, map_b);
      }
    __syncwarp();
  } else {
    // The steps of `behind` are finished in the order in which they began, kAhead steps later.
    Cursor behind = ahead;
    uint begun = 0u, slot_ahead = 0u, slot_behind = 0u;
#pragma unroll 1
    while (behind.inside) {
      if (begun < kAhead) {
        if (ahead.inside) {
          if (!kStagesLast) await_phase(empty_of(ahead.stage), ahead.stage.parity ^ 1u);
          if (kMapBytes != 0u && threadIdx.x == 0u)
            copy_maps(push, cluster, ahead.stage, ahead.t, ahead.t.k, map_a, map_b);
          begin_loads(push, ahead.stage, ahead.t, slot_ahead);
          next_step(push, cluster, ahead);
        }
        commit_copies();   // also where nothing began: the count of groups says which one is finished
        slot_ahead = slot_ahead + 1u == kAhead ? 0u : slot_ahead + 1u;
        ++begun;
        continue;
      }
      SECTILE_WITH(await_copy_groups, kAhead - 1u)();
      // orders all invocations' copies of the step's lines before their loads
      if (kShiftedA || kShiftedB) named_barrier(kCopiersBarrier, kWarpgroup);
      if (kStagesLast) await_phase(empty_of(behind.stage), behind.stage.parity ^ 1u);
      finish_loads(push, behind.stage, behind.t, slot_behind);
      publish_to_copies();   // to the products, which read workgroup memory as copies do
      arrive(full_of(behind.stage));
      // orders those loads before the copies of a later step to the same place
      if (kShiftedA || kShiftedB) named_barrier(kCopiersBarrier, kWarpgroup);
      next_step(push, cluster, behind);
      slot_behind = slot_behind + 1u == kAhead ? 0u : slot_behind + 1u;
      --begun;
    }
  }
}
