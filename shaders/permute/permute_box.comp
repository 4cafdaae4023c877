//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e8 -DELEMENT_BYTES=8
//! variant e16 -DELEMENT_BYTES=16
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
//! variant e8.wide -DELEMENT_BYTES=8 -DWIDE -DLONG
//! variant e16.wide -DELEMENT_BYTES=16 -DWIDE -DLONG
// A box over up to three axes goes through workgroup memory: loaded in the source's order, stored in the destination's.
// Runs continue across the box's inner axes, so sides that are small, odd or innermost in both orders (7, 9, 3; the
// unsolved cases of TVM PR 14167) still give long runs.
// Method: the packed-split algorithm of cuTT (Hynninen and Lyakh 2017); the planner chooses the padding by counting
// bank conflicts.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/memory.glsl"
#include "permute/permute_box.abi.h"
#define OWN_WORDS PERMUTE_BOX_WORDS
#include "permute/permute.glsl"
#include "permute/register_transpose.glsl"

layout(constant_id = PERMUTE_BOX_SPEC_LOAD_VECTOR) const uint kLoad = 1u;
layout(constant_id = PERMUTE_BOX_SPEC_STORE_VECTOR) const uint kStore = 1u;
layout(constant_id = PERMUTE_BOX_SPEC_SHARED_WORDS) const uint kSharedWords = 1024u;
layout(constant_id = PERMUTE_BOX_SPEC_UNROLL) const uint kUnroll = 4u;
const uint kBoxed = PERMUTE_BOX_AXES;

// Elements smaller than a word are staged packed where each access loads whole words; otherwise each takes a word.
#if ELEMENT_BYTES < 4
const bool kPacked = kLoad * ELEMENT_BYTES >= 4u;
const uint kElementWords = 1u;
const uint kPerWord = kPacked ? 4u / ELEMENT_BYTES : 1u;
#else
const bool kPacked = false;
const uint kElementWords = ELEMENT_BYTES / 4u;
const uint kPerWord = 1u;
#endif
shared uint staged[kSharedWords];

// n / size by multiplication.
uint divide_by_size(uint n, uint multiplier) {
  uint high, low;
  umulExtended(n, multiplier, high, low);
  return high;
}

// values[axis] for an axis that is not constant: two selects on uniform values; indexing would put the array in memory.
#define PICK(axis, values) ((axis) == 0u ? (values)[0] : (axis) == 1u ? (values)[1] : (values)[2])

// Index in workgroup memory of word w of the box, including padding.
uint padded(uint w, uvec3 staging) { return w + (w >> staging.x) * staging.y; }

// Word index, before padding, of element e of the box (in the source's order).
uint element_place(uint e) { return e * kElementWords / kPerWord; }

void stage_word(uint w, uvec3 staging, uint value) { staged[padded(w, staging)] = value; }

// Loads one staged element, returned in the low words.
uvec4 unstage(uint e, uvec3 staging) {
  uvec4 v = uvec4(0u);
  [[unroll]] for (uint w = 0u; w < kElementWords; ++w) v[w] = staged[padded(element_place(e) + w, staging)];
  if (kPacked)
    v.x = (v.x >> (8u * ELEMENT_BYTES * (e % kPerWord))) & (0xffffffffu >> (32u - 8u * min(ELEMENT_BYTES, 4)));
  return v;
}

struct Box {
  offset_t from, to;                    // first element in source and destination
  uint size[PERMUTE_BOX_AXES];     // size in the box
  uint inside[PERMUTE_BOX_AXES];   // elements inside the problem
  uint stride[PERMUTE_BOX_AXES];     // distance in the box of one step along the axis, in elements
  offset_t dst[PERMUTE_BOX_AXES];       // destination strides
  uint multiplier[PERMUTE_BOX_AXES];
  uint elements;
  int bound_at[PERMUTE_MAX_BOUNDS];     // each bound's sum at the first element
};

Box locate_box(uint id) {
  Box box;
  box.from = 0; box.to = 0;
  box.elements = 1u;
  [[unroll]] for (uint b = 0u; b < PERMUTE_MAX_BOUNDS; ++b) box.bound_at[b] = 0;
  [[unroll]] for (uint a = 0u; a < kAxes; ++a) {
    uint start = take_digit(id, a);
    if (a < kBoxed) {
      box.size[a] = box_sizes(a).x;
      box.inside[a] = start + 1u == axis_count(a) ? box_sizes(a).y : box.size[a];
      box.stride[a] = box.elements;
      box.elements *= box.size[a];
      box.dst[a] = dst_stride(a);
      box.multiplier[a] = box_multiplier(a);
      start *= box.size[a];
    }
    box.from += offset_t(start) * src_stride(a);
    box.to += offset_t(start) * dst_stride(a);
    [[unroll]] for (uint b = 0u; b < max(kReadBounds, kWriteBounds); ++b)
      box.bound_at[b] += int(start) * bound_coefficient(b, a);
  }
  return box;
}

// Loads the access that starts at element e of the box; returns false where it lies outside the problem.
bool load_access(Box box, uint e, out uvec4 value) {
  offset_t at = box.from;
  bool inside = e < box.elements;
  bool reads = inside;
  int bound_at[PERMUTE_MAX_BOUNDS] = box.bound_at;
  [[unroll]] for (uint a = 0u; a < kBoxed; ++a) {
    uint digit = e;
    if (a + 1u < kBoxed) {
      e = divide_by_size(e, box_multiplier(a));
      digit -= e * box.size[a];
    }
    inside = inside && digit < box.inside[a];
    at += offset_t(digit) * src_stride(a);
    [[unroll]] for (uint b = 0u; b < kReadBounds; ++b)
      bound_at[b] += int(digit) * bound_coefficient(b, a);
  }
  reads = inside;
  [[unroll]] for (uint b = 0u; b < kReadBounds; ++b) reads = reads && bound_at[b] < read_limit(b);
  value = uvec4(0u);
  if (reads) value = load_bytes(push.src, at, kLoad * ELEMENT_BYTES);
  return inside;
}

void stage_access(uint e, uvec4 value, uvec3 staging) {
  if (kPacked || ELEMENT_BYTES >= 4) {
    [[unroll]] for (uint w = 0u; w < kLoad * ELEMENT_BYTES / 4u; ++w)
      stage_word(element_place(e) + w, staging, value[w]);
  } else {
    [[unroll]] for (uint i = 0u; i < kLoad; ++i) stage_word(e + i, staging, element_of(value, i));
  }
}

// Inserts element i into a packed access.
void insert_element(inout uvec4 access, const uint i, uvec4 element) {
#if ELEMENT_BYTES == 16
  access = element;
#elif ELEMENT_BYTES == 8
  if (i == 0u) access.xy = element.xy; else access.zw = element.xy;
#elif ELEMENT_BYTES == 4
  access[i] = element.x;
#else
  const uint per = 4u / ELEMENT_BYTES;
  access[i / per] |= element.x << (8u * ELEMENT_BYTES * (i % per));
#endif
}

// Reorders the box's axes to the destination's order.
Box in_store_order(Box box, uint order) {
  Box stored = box;
  [[unroll]] for (uint place = 0u; place < kBoxed; ++place) {
    uint a = PERMUTE_BOX_AXIS_AT(order, place);
    stored.size[place] = PICK(a, box.size);
    stored.inside[place] = PICK(a, box.inside);
    stored.stride[place] = PICK(a, box.stride);
    stored.dst[place] = PICK(a, box.dst);
    stored.multiplier[place] = PICK(a, box.multiplier);
  }
  return stored;
}

// Stores the access that starts at element `o`. `o` and the axes of `box` are in the destination's order.
void store_access(Box box, uint o, uvec3 staging) {
  if (o >= box.elements) return;
  // o = first digit + size[0] * (second + size[1] * third)
  uint upper = divide_by_size(o, box.multiplier[0]);
  uint third = divide_by_size(upper, box.multiplier[1]);
  uint digit[PERMUTE_BOX_AXES] = uint[PERMUTE_BOX_AXES](o - upper * box.size[0], upper - third * box.size[1], third);
  offset_t at = box.to;
  bool inside = true;
  int bound_at[PERMUTE_MAX_BOUNDS] = box.bound_at;
  [[unroll]] for (uint place = 0u; place < kBoxed; ++place) {
    inside = inside && digit[place] < box.inside[place];
    at += offset_t(digit[place]) * box.dst[place];
    if (kWriteBounds > 0u) {
      uint a = PERMUTE_BOX_AXIS_AT(staging.z, place);
      [[unroll]] for (uint b = 0u; b < kWriteBounds; ++b) {
        int coefficients[3] = int[3](bound_coefficient(b, 0u), bound_coefficient(b, 1u), bound_coefficient(b, 2u));
        bound_at[b] += int(digit[place]) * PICK(a, coefficients);
      }
    }
  }
  [[unroll]] for (uint b = 0u; b < kWriteBounds; ++b) inside = inside && bound_at[b] < write_limit(b);
  if (!inside) return;
  // Within an access only the first two digits change (the planner ensures this). So element n of the plane that these
  // two span is at n * stride[0] + n / size[0] * (stride[1] - size[0] * stride[0]), without carrying digits.
  uint n = o - third * box.size[0] * box.size[1];
  uint base = third * box.stride[2];
  uint carry_stride = box.stride[1] - box.size[0] * box.stride[0];
  uvec4 value = uvec4(0u);
  [[unroll]] for (uint i = 0u; i < kStore; ++i) {
    uint e = base + (n + i) * box.stride[0] + divide_by_size(n + i, box.multiplier[0]) * carry_stride;
    insert_element(value, i, unstage(e, staging));
  }
  store_bytes(push.dst, at, kStore * ELEMENT_BYTES, value);
}

void main() {
  uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count()) return;
  const uvec3 staging = box_staging();
  Box box = locate_box(id);

  const uint step = kWorkgroup * kUnroll;
  uint first = gl_LocalInvocationID.x;
  const uint loads = (box.elements + kLoad - 1u) / kLoad;
  do {   // tested at the bottom: lavapipe executes uniform loads of a top-tested loop once too often
    uvec4 value[kUnroll];
    bool inside[kUnroll];
    [[unroll]] for (uint u = 0u; u < kUnroll; ++u) {
      inside[u] = false;
      // Small boxes leave whole subgroups without a load; these skip the address arithmetic.
      if (first + u * kWorkgroup < loads) inside[u] = load_access(box, (first + u * kWorkgroup) * kLoad, value[u]);
    }
    [[unroll]] for (uint u = 0u; u < kUnroll; ++u)
      if (inside[u]) stage_access((first + u * kWorkgroup) * kLoad, value[u], staging);
    first += step;
  } while (first - gl_LocalInvocationID.x < loads);

  barrier();   // the whole box is staged before loads by other invocations

  Box stored = in_store_order(box, staging.z);
  const uint stores = (box.elements + kStore - 1u) / kStore;
  uint next = gl_LocalInvocationID.x;
  do {
    store_access(stored, next * kStore, staging);
    next += kWorkgroup;
  } while (next - gl_LocalInvocationID.x < stores);
}
