//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
// Moves short runs element by element. Wide accesses would leave a run's ends in pieces, and each piece is a write of
// its own to a sector of the L2; here a sector is one. Where runs are in the source is listed in workgroup memory
// first: an element's run is a division away. permute_elements.abi.h says what a workgroup moves.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/memory.glsl"
#include "lib/unaligned.glsl"
#include "permute/permute_elements.abi.h"
#define OWN_WORDS PERMUTE_ELEMENTS_WORDS
#include "permute/permute.glsl"
#include "permute/gaps.glsl"
#include "permute/run.glsl"

layout(constant_id = PERMUTE_ELEMENTS_SPEC_UNROLL) const uint kUnroll = 8u;
layout(constant_id = PERMUTE_ELEMENTS_SPEC_PITCH) const uint kLeastPitch = 2u;
const uint kAtOnce = PERMUTE_ELEMENTS_AT_ONCE;
const uint kSector = PERMUTE_SECTOR / ELEMENT_BYTES;  // elements
const uint kPart = kUnroll * kWorkgroup;              // of a workgroup

shared offset_t listed[PERMUTE_ELEMENTS_RUNS(kPart, kLeastPitch)];   // where runs begin in the source

// The run of the segment's element `n`, gaps counted.
uint run_of(uint n) {
  uint high, low;
  umulExtended(n, pitch_multiplier(), high, low);
  return (high + n) >> pitch_shift();
}

// Asks for the sectors of the part, of which few are whole. `begin`: the part's first element, of the segment. Returns
// 0.
uint ask_for_part(uvec2 base, offset_t to, int begin, int end) {
  uint nothing = 0u;
  [[dont_unroll]] for (uint i = gl_LocalInvocationID.x; i < kPart / kSector; i += kWorkgroup) {
    const int sector = begin + int(i * kSector);
    uint first = uint(max(sector, 0));
    const uint run_begin = run_of(first) * pitch();
    if (first - run_begin >= run()) first = run_begin + pitch();   // in a gap: the next run's first element
    if (int(first) < end && int(first) < sector + int(kSector)) nothing |= ask_for_sector(base, to + offset_t(first));
  }
  return nothing;
}

void main() {
  uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so the barrier is reached by all
  if (id >= id_count()) return;
  const uvec2 base = rounded_down(push.dst, PERMUTE_SECTOR);
  const bool one_segment = id_count() == axis_count(0u);
  const uint part = take_digit(id, 0u), first_run = id * segment_runs();
  offset_t to = lead_of(push.dst, PERMUTE_SECTOR);   // the segment's first element
  if (!one_segment) to += locate_run(first_run).to;
  // The part, in elements of the segment: it begins at a sector, before the segment's first element perhaps.
  const int begin = int(part * kPart) - int(uint(to) & (kSector - 1u));
  const int end = int(segment_runs() * pitch() - (pitch() - run()));
  if (begin >= end) return;   // whole workgroups too
  const uint first = run_of(uint(max(begin, 0))), last = run_of(uint(min(begin + int(kPart), end) - 1));
  [[dont_unroll]] for (uint i = gl_LocalInvocationID.x; i <= last - first; i += kWorkgroup)
    listed[i] = locate_run(first_run + first + i).from;
  if (has_gaps()) to += offset_t(ask_for_part(base, to, begin, end));
  barrier();   // all runs are listed before they are read by other invocations
  // From here on elements count from the first listed run's begin.
  const uint stop = uint(end - int(first * pitch()));
  const int start = begin - int(first * pitch());
  const int most = min(int(kPart), int(stop) - start);   // elements of the part
  [[dont_unroll]] for (int step = 0; step < most; step += int(kAtOnce * kWorkgroup)) {
    const uint u = uint(step) + gl_LocalInvocationID.x;
    uvec4 v[kAtOnce];
    bool stored[kAtOnce];
    [[unroll]] for (uint k = 0u; k < kAtOnce; ++k) {
      const uint n = uint(start) + u + k * kWorkgroup;   // before the segment: more than it has
      uint number, low;
      umulExtended(n, pitch_inverse(), number, low);
      const uint inside = n - number * pitch();
      stored[k] = n < stop && inside < run();
      // What is not stored is loaded from some run, so that all loads are under way before a store waits for one.
      v[k] = load_bytes(push.src, listed[min(number, last - first)] + offset_t(min(inside, run() - 1u)), ELEMENT_BYTES);
    }
    [[unroll]] for (uint k = 0u; k < kAtOnce; ++k)
      if (stored[k])
        store_bytes(base, to + offset_t(begin + int(u + k * kWorkgroup)), ELEMENT_BYTES, v[k]);
  }
}
