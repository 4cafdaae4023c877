//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
// Moves short runs element by element. Wide accesses would leave a run's ends in pieces, and each piece is a write of
// its own to a sector of the L2; here a sector is one. Where runs are in the source is listed in workgroup memory
// first: an element's run is a division away. permute_elements.abi.h says what a workgroup moves.
#include "lib/cuda.cuh"
#include "lib/memory.cuh"
#include "lib/unaligned.cuh"
#include "permute/permute_elements.abi.h"
#define OWN_WORDS PERMUTE_ELEMENTS_WORDS
#include "permute/permute.cuh"
#include "permute/gaps.cuh"
#include "permute/run.cuh"

constexpr uint kUnroll = sectile_constant(PERMUTE_ELEMENTS_SPEC_UNROLL, 8u);
constexpr uint kLeastPitch = sectile_constant(PERMUTE_ELEMENTS_SPEC_PITCH, 2u);
constexpr uint kAtOnce = PERMUTE_ELEMENTS_AT_ONCE;
constexpr uint kSector = PERMUTE_SECTOR / ELEMENT_BYTES;  // elements
constexpr uint kPart = kUnroll * kWorkgroup;              // of a workgroup

SECTILE_SHARED(offset_t, listed, PERMUTE_ELEMENTS_RUNS(kPart, kLeastPitch));   // where runs begin in the source

// The run of the segment's element `n`, gaps counted.
__device__ __forceinline__ uint run_of(const PermutePush& push, uint n) {
  return (__umulhi(n, pitch_multiplier(push)) + n) >> pitch_shift(push);
}

// Asks for the sectors of the part, of which few are whole. `begin`: the part's first element, of the segment.
__device__ __forceinline__ void ask_for_part(const PermutePush& push, SectileAddress base, offset_t to, int begin,
                                             int end) {
#pragma unroll 1
  for (uint i = threadIdx.x; i < kPart / kSector; i += kWorkgroup) {
    const int sector = begin + int(i * kSector);
    uint first = uint(sector < 0 ? 0 : sector);
    const uint run_begin = run_of(push, first) * pitch(push);
    if (first - run_begin >= run(push)) first = run_begin + pitch(push);   // in a gap: the next run's first element
    if (int(first) < end && int(first) < sector + int(kSector)) ask_for_sector(base, to + offset_t(first));
  }
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ PermutePush push) {
  uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so the barrier is reached by all
  if (id >= id_count(push)) return;
  const SectileAddress base = rounded_down(push.dst, PERMUTE_SECTOR);
  const bool one_segment = id_count(push) == axis_count(push, 0u);
  const uint part = take_digit(push, id, 0u), first_run = id * segment_runs(push);
  offset_t to = lead_of(push.dst, PERMUTE_SECTOR);   // the segment's first element
  if (!one_segment) to += locate_run(push, first_run).to;
  // The part, in elements of the segment: it begins at a sector, before the segment's first element perhaps.
  const int begin = int(part * kPart) - int(uint(to) & (kSector - 1u));
  const int end = int(segment_runs(push) * pitch(push) - (pitch(push) - run(push)));
  if (begin >= end) return;   // whole workgroups too
  const uint first = run_of(push, uint(begin < 0 ? 0 : begin)),
             last = run_of(push, uint(min(begin + int(kPart), end) - 1));
#pragma unroll 1
  for (uint i = threadIdx.x; i <= last - first; i += kWorkgroup)
    listed[i] = locate_run(push, first_run + first + i).from;
  if (has_gaps(push)) ask_for_part(push, base, to, begin, end);
  __syncthreads();   // all runs are listed before they are read by other invocations
  // From here on elements count from the first listed run's begin.
  const uint stop = uint(end - int(first * pitch(push)));
  const int start = begin - int(first * pitch(push));
  const int most = min(int(kPart), int(stop) - start);   // elements of the part
#pragma unroll 1
  for (int step = 0; step < most; step += int(kAtOnce * kWorkgroup)) {
    const uint u = uint(step) + threadIdx.x;
    uvec4 v[kAtOnce];
    bool stored[kAtOnce];
#pragma unroll
    for (uint k = 0u; k < kAtOnce; ++k) {
      const uint n = uint(start) + u + k * kWorkgroup;   // before the segment: more than it has
      const uint number = __umulhi(n, pitch_inverse(push)), inside = n - number * pitch(push);
      stored[k] = n < stop && inside < run(push);
      // What is not stored is loaded from some run, so that all loads are under way before a store waits for one.
      const offset_t from = listed[min(number, last - first)] + offset_t(min(inside, run(push) - 1u));
      v[k] = load_bytes(push.src, from, ELEMENT_BYTES);
    }
    const SectileAddress out = address_at(base, to + offset_t(begin + int(u)));
#pragma unroll
    for (uint k = 0u; k < kAtOnce; ++k)
      if (stored[k]) store_bytes(out, offset_t(k * kWorkgroup), ELEMENT_BYTES, v[k]);
  }
}
