//! variant f16
//! variant f16.staged-a -DSTAGED_A
//! variant f16.staged-b -DSTAGED_B
//! variant f16.staged -DSTAGED_A -DSTAGED_B
//! variant i8 -DINTEGER
//! variant i8.staged-a -DINTEGER -DSTAGED_A
//! variant i8.staged-b -DINTEGER -DSTAGED_B
//! variant i8.staged -DINTEGER -DSTAGED_A -DSTAGED_B
// Products by warpgroups on sm_90a: one warpgroup copies the operands' steps of K to workgroup memory, the others
// multiply them there. The copying warpgroup is as many steps ahead as there are stages, also across the ends of tiles.
// Method: CUTLASS's warp-specialized persistent kernels, cooperative and "ping-pong", in which warpgroups take turns at
// tiles and one multiplies while another stores.
// f16: f16 and bf16, with f32 sums. i8: int8, with int sums. Rows and columns beyond the operands are zeros.
#include "lib/cuda.cuh"
#include "gemm/gemm.cuh"
#include "gemm/matmul_wgmma.abi.h"
#include "gemm/epilogue.cuh"
#include "gemm/fragments.cuh"
#include "lib/tma.cuh"
#include "lib/pipeline.cuh"
#include "lib/wgmma.cuh"

constexpr uint kSubM = sectile_constant(MATMUL_WGMMA_SPEC_SUB_M, 64u);
constexpr uint kConsumers = sectile_constant(MATMUL_WGMMA_SPEC_CONSUMERS, 1u);
constexpr uint kPingpong = sectile_constant(MATMUL_WGMMA_SPEC_PINGPONG, 0u);
constexpr uint kStages = sectile_constant(MATMUL_WGMMA_SPEC_STAGES, 2u);
constexpr uint kClusterM = sectile_constant(MATMUL_WGMMA_SPEC_CLUSTER_M, 1u);
constexpr uint kClusterN = sectile_constant(MATMUL_WGMMA_SPEC_CLUSTER_N, 1u);
constexpr uint kClusterK = sectile_constant(MATMUL_WGMMA_SPEC_CLUSTER_K, 1u);
constexpr bool kSwapped = sectile_constant(MATMUL_WGMMA_SPEC_SWAPPED, 0u) != 0u;
constexpr uint kResident = sectile_constant(MATMUL_WGMMA_SPEC_RESIDENT, 1u);
constexpr uint kCluster = kClusterM * kClusterN * kClusterK;
// Warpgroups that have rows of the tile of their own, and how many have the same.
constexpr uint kRowGroups = kPingpong != 0u ? 1u : (kSwapped ? kTileN : kTileM) / kSubM;
constexpr uint kSlices = kPingpong != 0u ? 1u : kConsumers / kRowGroups;

constexpr uint kElementBytes = kType == SECTILE_TYPE_I8 ? 1u : 2u;
constexpr bool kAlongKA = kTransA == 0u, kAlongKB = kTransB == 1u;
// Along K in workgroup memory: int8 is turned on the way there.
constexpr bool kRowsA = kAlongKA || kElementBytes == 1u, kRowsB = kAlongKB || kElementBytes == 1u;
constexpr uint kLine = MATMUL_WGMMA_LINE;
// B's 4-bit weights are copied as they are, and become f16 or bf16 in registers: gemm/wgmma_weights.cuh.
constexpr uint kPacking = sectile_constant(MATMUL_WGMMA_SPEC_PACKED_B, 0u);
constexpr bool kPackedB = kPacking != 0u, kPartialBlocks = kPacking == 2u;
// Lines along K of a step. Of packed weights a step has more than one: what a step costs besides is then less.
constexpr uint kLineK = kLine / kElementBytes, kLineParts = kPackedB ? kTileK / kLineK : 1u;
constexpr uint kBytesA = kTileM * kLine * kLineParts;
constexpr uint kBytesB = kPackedB ? MATMUL_WGMMA_PACKED_BYTES(kTileN, kLineParts) : kTileN * kLine;
constexpr uint kStepBytes = kBytesA + kBytesB;
constexpr uint kWarpgroup = MATMUL_WGMMA_WARPGROUP;

struct Cluster {
  uint id, count;          // of this cluster, and how many there are
  uint m, n, k;            // this workgroup's place in it
};
__device__ __forceinline__ Cluster this_cluster() {
  const uint rank = kCluster > 1u ? cluster_rank() : 0u;
  return {group_id() / kCluster, gridDim.x * gridDim.y * gridDim.z / kCluster, rank % kClusterM,
          rank / kClusterM % kClusterN, rank / (kClusterM * kClusterN)};
}

// The tile of this workgroup among those of cluster tile `id`. One beyond the result's last is computed, and not
// stored: the others of the cluster need its copies.
__device__ __forceinline__ bool locate(const GemmPush& push, const Cluster& cluster, uint id, Tile& t) {
  if (!locate_tile_of(push, id, kTileM * kClusterM, kTileN * kClusterN, t)) return false;
  t.m += cluster.m * kTileM;
  t.n += cluster.n * kTileN;
  if (kClusterK > 1u) {
    const uint steps = (t.k_end - min(t.k, t.k_end) + kTileK - 1u) / kTileK;
    const uint each = (steps + kClusterK - 1u) / kClusterK * kTileK;
    const uint end = t.k_end;
    t.k = min(t.k + cluster.k * each, end);
    t.k_end = min(t.k + each, end);
  }
  return true;
}
__device__ __forceinline__ uint steps_of(const Tile& t) {
  return t.k < t.k_end ? (t.k_end - t.k + kTileK - 1u) / kTileK : 0u;
}

// The stages, and the barriers behind them. Of a stage the first is complete when its operands are there, the second
// when they have been multiplied.
struct Stages {
  uint memory, barriers, own;   // own: what invocations keep of the steps in flight
  uint index, parity;           // of the stage that comes next
};
__device__ __forceinline__ uint full_of(const Stages& s) { return s.barriers + 16u * s.index; }
__device__ __forceinline__ uint empty_of(const Stages& s) { return s.barriers + 16u * s.index + 8u; }
__device__ __forceinline__ uint a_of(const Stages& s) { return s.memory + s.index * kStepBytes; }
__device__ __forceinline__ uint b_of(const Stages& s) { return s.memory + s.index * kStepBytes + kBytesA; }
// The stage that comes `count` steps later, at most as many as there are stages.
__device__ __forceinline__ void next_stage(Stages& s, const uint count = 1u) {
  s.index += count;
  if (s.index >= kStages) {
    s.index -= kStages;
    s.parity ^= 1u;
  }
}
__device__ __forceinline__ void skip_stages(Stages& s, uint steps) {
  s.index += steps;
  s.parity ^= s.index / kStages & 1u;
  s.index %= kStages;
}

#include "gemm/wgmma_copy.cuh"

// ---- products

// Sums of kSubM rows, 64 of them at a time.
constexpr uint kColumns = kSwapped ? kTileM : kTileN;   // of a product
constexpr uint kParts = kSubM / 64u, kSums = kColumns / 2u;
using Sums = acc_t[SECTILE_SIZE_UP_TO(kParts, 2u)][SECTILE_SIZE_UP_TO(kSums, 128u)];
constexpr uint kStepProducts = kLine / 32u;             // products of 32 bytes along K
// The operand whose rows are the products' rows, and the one whose rows are their columns.
constexpr bool kFirstAlong = kSwapped ? kRowsB : kRowsA, kSecondAlong = kSwapped ? kRowsA : kRowsB;
constexpr uint kAcrossLine = MATMUL_WGMMA_ACROSS(kColumns) * kElementBytes;
constexpr uint64 kLayoutFirst = kFirstAlong ? operand_layout(kLine, 0u) : operand_layout(kLine, kLineK * kLine);
constexpr uint64 kLayoutSecond =
    kSecondAlong ? operand_layout(kLine, 0u) : operand_layout(kAcrossLine, kLineK * kAcrossLine);

// Makes the sums zeros. By the first products themselves (their `continued`) it would cost less, but the compiler would
// take the sums of one tile for what the next one's begin with, and spill.
__device__ __forceinline__ void clear(Sums& sums) {
#pragma unroll
  for (uint p = 0u; p < kParts; ++p)
#pragma unroll
    for (uint i = 0u; i < kSums; ++i) sums[p][i] = 0;
}
__device__ __forceinline__ void pin(Sums& sums) {
#pragma unroll
  for (uint p = 0u; p < kParts; ++p) pin_sums(sums[p]);
}
// Multiplies the tile's steps. `row`: the first of the warpgroup's rows in the tile. `steps`: its own, at least one.
__device__ __forceinline__ void multiply_steps(Stages& stages, const Cluster& cluster, uint row, uint steps,
                                               Sums& sums) {
  const uint from = row * kLine;   // also of blocks of 64 rows across K: each has 64 lines
  Stages done = stages;
  const auto multiply_step = [&] {
    await_phase(full_of(stages), stages.parity);
    pin(sums);
    begin_products();
    const uint64 a = operand_at(kLayoutFirst, (kSwapped ? b_of(stages) : a_of(stages)) + from),
                 b = operand_at(kLayoutSecond, kSwapped ? a_of(stages) : b_of(stages));
#pragma unroll
    for (uint k = 0u; k < kStepProducts; ++k)
#pragma unroll
      for (uint p = 0u; p < kParts; ++p) {
        const uint along_a = kFirstAlong ? 32u * k + 64u * kLine * p : 16u * kLine * k + kLineK * kLine * p;
        const uint along_b = kSecondAlong ? 32u * k : 16u * kAcrossLine * k;
        SECTILE_WITH(add_products, kType, kColumns, !kFirstAlong, !kSecondAlong)
        (sums[p], a + (along_a >> 4), b + (along_b >> 4), 1u);
      }
    commit_products();
    pin(sums);
    next_stage(stages, kSlices);
  };
  multiply_step();
#pragma unroll 1
  while (--steps != 0u) {
    multiply_step();
    SECTILE_WITH(await_products, 1u)();   // those of the step before have read their stage
    release(done, cluster);
    next_stage(done, kSlices);
  }
  SECTILE_WITH(await_products, 0u)();
  pin(sums);
  release(done, cluster);
}

#ifndef INTEGER
// The same of packed weights, which are the products' rows. `left`: of K, from the first step's first k on. While a
// block's products run the next blocks are converted. Products read registers until they are waited for: a block's
// words are written when those of the step before have been multiplied.
// Method: CUTLASS's main loop for mixed types (sm90_mma_tma_gmma_rs_warpspecialized_mixed_input).
__device__ __forceinline__ void multiply_packed_steps(const GemmPush& push, Stages& stages, const Cluster& cluster,
                                                      uint row, int left, uint steps, Sums& sums) {
  Stages done = stages;
  bool first = true;
  PackedBlock blocks[2];
  PackedScales scales;
  const uint lead = 8u * scale_lead(push, packed_line(row));   // in bits; lines 8 apart have the same
  uint words[SECTILE_SIZE_UP_TO(kStepBlocks, 8u)][8];
  const auto multiply_step = [&](const bool last) {
    const uint64 a = operand_at(kLayoutSecond, a_of(stages));
    PackedScales following = scales;
#pragma unroll
    for (uint block = 0u; block < kStepBlocks; ++block) {
      const bool ends = block + 1u == kStepBlocks;
      if (!ends) load_packed_block(stages, row, block + 1u, blocks[(block + 1u) % 2u]);
      SECTILE_WITH(await_products, kStepBlocks - 1u)();
      if (ends && !first) {
        // The products of the step before are done.
        __syncwarp();   // orders all lanes' loads of its stage before the arrival of one
        release(done, cluster);
      }
      if (ends) done = stages;
      if (ends && !last) {
        next_stage(stages, kSlices);
        await_phase(full_of(stages), stages.parity);
        load_packed_block(stages, row, 0u, blocks[0]);
        load_packed_scales(stages, row, lead, following);
      }
      convert_packed_block(blocks[block % 2u], scales, block, left, words[block]);
      pin_words(words[block]);
      begin_products();
#pragma unroll
      for (uint k = 0u; k < 2u; ++k) {
        const uint line = block % 2u * 2u + k;   // of the part's products
        SECTILE_WITH(add_products_of_words, kType, kColumns, !kSecondAlong)
        (sums[0], words[block] + 4u * k,
         a + ((block / 2u * kTileM * kLine + (kSecondAlong ? 32u * line : 16u * kAcrossLine * line)) >> 4));
      }
      commit_products();
    }
    scales = following;
    left -= int(kSlices * kTileK);
    first = false;
  };
  await_phase(full_of(stages), stages.parity);
  load_packed_block(stages, row, 0u, blocks[0]);
  load_packed_scales(stages, row, lead, scales);
  pin(sums);
#pragma unroll 1
  while (--steps != 0u) multiply_step(false);
  multiply_step(true);
  next_stage(stages, kSlices);
  SECTILE_WITH(await_products, 0u)();
  pin(sums);
  __syncwarp();   // orders all lanes' loads of the last stage before the arrival of one
  release(done, cluster);
}
#endif

// ---- results

// A lane's sums of a part of 64 rows are stored in shares of 8: of blocks of 32 columns, of which the last may have
// fewer, one of the lane's two rows; or, swapped, of 16 columns both rows.
constexpr uint kBlocks = (kColumns + 31u) / 32u;
constexpr uint kShares = kSwapped ? kColumns / 16u : 2u * kBlocks;
__device__ __forceinline__ uint columns_of(uint b) { return min(kColumns - 32u * b, 32u); }
// Row r of the two of part p.
__device__ __forceinline__ uint row_of(uint p, uint r) {
  return 64u * p + threadIdx.x % kWarpgroup / 32u * 16u + 8u * r + threadIdx.x % 32u / 4u;
}

// Where a share of part p lies. `row`: the first of the warpgroup's rows in the tile.
__device__ __forceinline__ Eight eight_of(const Tile& t, uint row, uint p, uint share) {
  if (kSwapped) return eight_rows(t.m + 16u * share, t.n + row + row_of(p, 0u) - threadIdx.x % 32u / 4u);
  return eight_columns(t.m + row + row_of(p, share / kBlocks), t.n + share % kBlocks * 32u,
                       columns_of(share % kBlocks));
}
__device__ __forceinline__ void gather_eight(acc_t (&v)[8]) {
  static_assert(!kSwapped || kWidthD == 8u || kWidthD == 1u);
  if (kSwapped) gather_rows(v);
  else gather_columns(v);
}

__device__ __forceinline__ void take_eight(const Sums& sums, uint p, const uint share, acc_t (&v)[8]) {
#pragma unroll
  for (uint j = 0u; j < 8u; ++j) {
    const uint sum = kSwapped ? 8u * share + swapped_sum(j)
                              : 4u * (share % kBlocks * 4u + j / 2u) + share / kBlocks * 2u + j % 2u;
    v[j] = sum < kSums ? sums[p][sum % kSums] : acc_t(0);
  }
}

// The epilogue before the lanes trade: see kOutPairs. Several shares are in flight at a time: of each block both rows,
// which have the same columns. An activation's own registers leave room for one.
constexpr bool kOneShare = kActivation > SECTILE_ACTIVATION_RELU;
__device__ __forceinline__ constexpr uint row_of_share(const uint share) {
  return kOneShare ? share / kBlocks : share % 2u;
}
__device__ __forceinline__ constexpr uint block_of_share(const uint share) {
  return kOneShare ? share % kBlocks : share / 2u;
}
__device__ __forceinline__ void store_sums_in_pairs(const GemmPush& push, const Tile& t, uint row, const Sums& sums) {
  const Target target = target_of(push, t);
  constexpr uint together = kOneShare ? 1u : 4u;
#pragma unroll
  for (uint p = 0u; p < kParts; ++p)
#pragma unroll
    for (uint first = 0u; first < 2u * kBlocks; first += together) {
      uint w[together][4];
#pragma unroll
      for (uint i = 0u; i < together; ++i) {
        const uint share = first + i, r = row_of_share(share), b = block_of_share(share);
        if (share >= 2u * kBlocks) continue;
        acc_t v[8];
        take_eight(sums, p, r * kBlocks + b, v);
        finish_pairs(push, target, t.m + row + row_of(p, r), t.n + 32u * b, v, columns_of(b), w[i]);
      }
#pragma unroll
      for (uint i = 0u; i < together; ++i) {
        const uint share = first + i;
        if (share < 2u * kBlocks)
          store_pairs(push, target, eight_of(t, row, p, row_of_share(share) * kBlocks + block_of_share(share)), w[i]);
      }
    }
}

__device__ __forceinline__ void store_sums(const GemmPush& push, const Tile& t, uint row, const Sums& sums) {
  const Target target = target_of(push, t);
  constexpr uint together = kHasAddends ? 4u : 1u;   // shares whose addends are in flight at a time
#pragma unroll
  for (uint p = 0u; p < kParts; ++p)
#pragma unroll
    for (uint first = 0u; first < kShares; first += together) {
      EightAddends addends[together];
#pragma unroll
      for (uint i = 0u; i < together; ++i)
        if (first + i < kShares) addends[i] = load_eight_addends(push, target, eight_of(t, row, p, first + i));
#pragma unroll
      for (uint i = 0u; i < together; ++i) {
        const uint share = first + i;
        if (share >= kShares) continue;
        acc_t v[8];
        take_eight(sums, p, share, v);
        gather_eight(v);
        store_eight(push, target, eight_of(t, row, p, share), v, addends[i]);
      }
    }
}

// Adds up what slices and the workgroups along K have summed. The participants are the warpgroups that have the same
// rows and columns of the result. A unit is a share. Each participant adds up and stores every
// kParticipants-th unit, and sends its own sums of all others to those who store them. They are received where the
// stages were: a workgroup has one tile.
// Method: reduce-scatter (Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH",
// 2005) by asynchronous stores to the workgroup memory of the cluster (PTX ISA, "st.async").
constexpr uint kParticipants = kClusterK * kSlices;
constexpr bool kAdded = kParticipants > 1u;
constexpr uint kUnits = kParts * kShares, kOwnUnits = MATMUL_WGMMA_OWN_UNITS(kColumns, kSubM, kParticipants);
constexpr uint kUnitWords = MATMUL_WGMMA_UNIT_WORDS;   // of a lane
// Bytes of a unit of all row groups, and what this workgroup receives.
constexpr uint kUnitBytes = kRowGroups * kWarpgroup * kUnitWords * 4u;
__device__ __forceinline__ uint received_bytes(const Cluster& cluster) {
  uint units = 0u;
#pragma unroll
  for (uint s = 0u; s < kSlices; ++s) units += (kUnits + kParticipants - 1u - cluster.k * kSlices - s) / kParticipants;
  return units * (kParticipants - 1u) * kUnitBytes;
}
__device__ __forceinline__ uint sums_barrier_of(const Stages& s) { return s.barriers + 16u * kStages; }

// Where `to` receives its unit `i` from `from`, at its workgroup.
__device__ __forceinline__ uint received_at(const Stages& stages, uint from, uint to, const uint i, uint row_group) {
  const uint sender = from < to ? from : from - 1u;
  return stages.memory + ((to % kSlices * (kParticipants - 1u) + sender) * kOwnUnits + i) * kUnitBytes +
         row_group * kWarpgroup * kUnitWords * 4u + threadIdx.x % kWarpgroup * 16u;
}
__device__ __forceinline__ void send_unit(const Stages& stages, const Cluster& cluster, uint place, uint to,
                                          const acc_t (&v)[8]) {
#pragma unroll
  for (uint j = 0u; j < kUnitWords; j += 4u) {
    const uvec4 words = {{word_of(v[j]), word_of(v[j + 1u]), word_of(v[j + 2u]), word_of(v[j + 3u])}};
    const uint at = place + j * kWarpgroup * 4u;
    if (kClusterK > 1u)
      send_words(at, rank_of(cluster.m, cluster.n, to / kSlices), sums_barrier_of(stages), words);
    else store_place(at, 16u, words);
  }
}
__device__ __forceinline__ void add_unit(uint place, acc_t (&v)[8]) {
#pragma unroll
  for (uint j = 0u; j < kUnitWords; j += 4u) {
    const uvec4 words = load_place(place + j * kWarpgroup * 4u, 16u);
#pragma unroll
    for (uint e = 0u; e < 4u; ++e) v[j + e] = plus(v[j + e], acc_of(words[e]));
  }
}

__device__ __forceinline__ void store_added(const GemmPush& push, const Tile& t, const Cluster& cluster,
                                            const Stages& stages, uint row, const Sums& sums, uint consumer) {
  static_assert(!kAdded || kSwapped || kColumns % 32u == 0u);
  static_assert(!kAdded || MATMUL_WGMMA_RECEIVED_BYTES(kColumns, kSubM, kRowGroups, kParticipants, kSlices) <=
                               kStages * kStepBytes);
  const uint own = cluster.k * kSlices + consumer / kRowGroups, row_group = consumer % kRowGroups;
  // orders all products' reads of the stages, which are done, before what is sent there by any participant
  if (kClusterK > 1u) meet_cluster();
  else named_barrier(kConsumersBarrier, kConsumers * kWarpgroup);
  acc_t mine[kOwnUnits][8];
#pragma unroll
  for (uint i = 0u; i < kOwnUnits; ++i)
#pragma unroll
    for (uint to = 0u; to < kParticipants; ++to) {
      const uint unit = i * kParticipants + to;
      if (unit >= kUnits) continue;
      acc_t v[8];
      take_eight(sums, unit / kShares, unit % kShares, v);
#pragma unroll
      for (uint j = 0u; j < 8u; ++j)
        if (to == own) mine[i][j] = v[j];
      if (to != own) send_unit(stages, cluster, received_at(stages, own, to, i, row_group), to, v);
    }
  const Target target = target_of(push, t);
  constexpr uint together = kHasAddends ? 4u : 1u;   // units whose addends are in flight at a time
#pragma unroll
  for (uint first = 0u; first < kOwnUnits; first += together) {
    EightAddends addends[together];
    Eight at[together];
#pragma unroll
    for (uint i = 0u; i < together; ++i) {
      const uint unit = (first + i) * kParticipants + own;
      at[i] = eight_of(t, row, unit / kShares, unit % kShares);
      if (first + i >= kOwnUnits || unit >= kUnits) at[i].stored = false;
      addends[i] = load_eight_addends(push, target, at[i]);
    }
    if (first == 0u) {
      // orders what the others have sent before its loads
      if (kClusterK > 1u) await_phase_of_cluster(sums_barrier_of(stages), 0u);
      else named_barrier(kConsumersBarrier, kConsumers * kWarpgroup);
    }
#pragma unroll
    for (uint i = 0u; i < together; ++i) {
      if (first + i >= kOwnUnits || (first + i) * kParticipants + own >= kUnits) continue;
#pragma unroll
      for (uint from = 0u; from < kParticipants; ++from)
        if (from != own) add_unit(received_at(stages, from, own, first + i, row_group), mine[(first + i) % kOwnUnits]);
      gather_eight(mine[(first + i) % kOwnUnits]);
      store_eight(push, target, at[i], mine[(first + i) % kOwnUnits], addends[i]);
    }
  }
}

__device__ __forceinline__ void consume(const GemmPush& push, const Cluster& cluster, Stages stages, uint consumer) {
  const uint row = kPingpong != 0u ? 0u : consumer % kRowGroups * kSubM;
  uint turn = 0u;
  Tile t;
  // A warpgroup multiplies when the other one has multiplied the tile before: otherwise it would wait for a phase of a
  // barrier that is two or more ahead, and take an earlier one for it.
  if (kPingpong != 0u && consumer == 1u) come_to_barrier(kFirstTurn, kTurn);
  for (uint id = cluster.id; locate(push, cluster, id, t); id += cluster.count) {
    uint steps = steps_of(t);
    if (kPingpong != 0u && turn++ % kConsumers != consumer) {
      skip_stages(stages, steps);
      continue;
    }
    Sums sums;
    if (kPingpong != 0u) named_barrier(kFirstTurn + consumer, kTurn);   // orders the other's steps before these
    clear(sums);
    const uint slice = kSlices > 1u ? consumer / kRowGroups : 0u;
    static_assert(kStages % kSlices == 0u);   // so that a slice's warpgroup comes to each phase of its stages
    if (kSlices > 1u) {
      skip_stages(stages, slice);
      steps = (steps + kSlices - 1u - slice) / kSlices;
    }
    if (steps != 0u) {
#ifndef INTEGER
      SECTILE_IF_CONSTEXPR (kPackedB)
        multiply_packed_steps(push, stages, cluster, row, int(t.k_end - t.k - slice * kTileK), steps, sums);
      else
#endif
        multiply_steps(stages, cluster, row, steps, sums);
    }
    if (kPingpong != 0u) come_to_barrier(kFirstTurn + (consumer ^ 1u), kTurn);
    SECTILE_IF_CONSTEXPR (kAdded) store_added(push, t, cluster, stages, row, sums, consumer);
    else SECTILE_IF_CONSTEXPR (kOutPairs && !kSwapped) store_sums_in_pairs(push, t, row, sums);
    else store_sums(push, t, row, sums);
  }
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, kResident)
    sectile_main(const __grid_constant__ GemmPush push MAP_PARAMETERS) {
  const uint start = warp_uniform(requested_memory()), barriers = start + kStages * kStepBytes;
  Stages stages{start, barriers, barriers + MATMUL_WGMMA_BARRIER_BYTES(kStages), 0u, 0u};
  const Cluster cluster = this_cluster();
  if (threadIdx.x == 0u) {
    prefetch_maps(MAP_POINTERS);
    for (uint i = 0u; i < kStages; ++i) {
      make_barrier(stages.barriers + 16u * i, kFillers);
      make_barrier(stages.barriers + 16u * i + 8u, kReleases);
    }
    if (kClusterK > 1u) {
      make_barrier(sums_barrier_of(stages), 1u);
      arrive_expecting(sums_barrier_of(stages), received_bytes(cluster));
    }
    publish_barriers();
  }
  // orders the making of the barriers before their use, by other workgroups too (those along K meet in store_added)
  if (kClusterM * kClusterN > 1u) meet_cluster();
  else __syncthreads();
  if (threadIdx.x < kWarpgroup) {
    SECTILE_WITH(keep_registers, kProducerRegisters)();
    produce(push, cluster, stages MAP_ARGUMENTS);
    if (kClusterK > 1u) meet_cluster();   // that of store_added
  } else {
    SECTILE_WITH(take_registers, kConsumerRegisters)();
    consume(push, cluster, stages, warp_uniform(threadIdx.x / kWarpgroup - 1u));
  }
  // The memory of a workgroup stays until the others' copies and arrivals are done. It waits itself for sums.
  if (kClusterM * kClusterN > 1u) meet_cluster();
}
#undef MAP_A_PARAMETER   // all variants are one source where they are emulated
#undef MAP_A_POINTER
#undef MAP_B_PARAMETER
#undef MAP_B_POINTER
