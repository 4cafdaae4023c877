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
#include "lib/cuda.cuh"
#include "lib/memory.cuh"
#include "permute/permute_box.abi.h"
#define OWN_WORDS PERMUTE_BOX_WORDS
#include "permute/permute.cuh"
#include "permute/register_transpose.cuh"

constexpr uint kLoad = sectile_constant(PERMUTE_BOX_SPEC_LOAD_VECTOR, 1u);
constexpr uint kStore = sectile_constant(PERMUTE_BOX_SPEC_STORE_VECTOR, 1u);
constexpr uint kSharedWords = sectile_constant(PERMUTE_BOX_SPEC_SHARED_WORDS, 1024u);
constexpr uint kUnroll = sectile_constant(PERMUTE_BOX_SPEC_UNROLL, 4u);
constexpr uint kBoxed = PERMUTE_BOX_AXES;

// Elements smaller than a word are staged packed where each access loads whole words; otherwise each takes a word.
#if ELEMENT_BYTES < 4
constexpr bool kPacked = kLoad * ELEMENT_BYTES >= 4u;
constexpr uint kElementWords = 1u;
constexpr uint kPerWord = kPacked ? 4u / ELEMENT_BYTES : 1u;
constexpr uint kElementMask = 0xffffffffu >> (32u - 8u * ELEMENT_BYTES);
#else
constexpr bool kPacked = false;
constexpr uint kElementWords = ELEMENT_BYTES / 4u;
constexpr uint kPerWord = 1u;
constexpr uint kElementMask = 0xffffffffu;
#endif
SECTILE_SHARED(uint, staged, kSharedWords);

// n / size by multiplication.
__device__ __forceinline__ uint divide_by_size(uint n, uint multiplier) { return __umulhi(n, multiplier); }

// values[axis] for an axis that is not constant: two selects on uniform values; indexing would put the array in memory.
template <class T>
__device__ __forceinline__ T pick(uint axis, const T (&values)[PERMUTE_BOX_AXES]) {
  return axis == 0u ? values[0] : axis == 1u ? values[1] : values[2];
}

// Index in workgroup memory of word w of the box, including padding.
__device__ __forceinline__ uint padded(uint w, const uint3& staging) {
  return w + (w >> staging.x) * staging.y;
}

// Word index, before padding, of element e of the box (in the source's order).
__device__ __forceinline__ uint element_place(uint e) { return e * kElementWords / kPerWord; }

__device__ __forceinline__ void stage_word(uint w, const uint3& staging, uint value) {
  staged[padded(w, staging)] = value;
}

// Loads one staged element, returned in the low words.
__device__ __forceinline__ uvec4 unstage(uint e, const uint3& staging) {
  uvec4 v = {};
#pragma unroll
  for (uint w = 0u; w < kElementWords; ++w) v[w] = staged[padded(element_place(e) + w, staging)];
  if (kPacked) v[0] = (v[0] >> (8u * ELEMENT_BYTES * (e % kPerWord))) & kElementMask;
  return v;
}

struct Box {
  offset_t from, to;                    // first element in source and destination
  uint size[PERMUTE_BOX_AXES];          // size in the box
  uint inside[PERMUTE_BOX_AXES];        // elements inside the problem
  uint stride[PERMUTE_BOX_AXES];        // distance in the box of one step along the axis, in elements
  offset_t dst[PERMUTE_BOX_AXES];       // destination strides
  uint multiplier[PERMUTE_BOX_AXES];
  uint elements;
  int bound_at[PERMUTE_MAX_BOUNDS];     // each bound's sum at the first element
};

__device__ __forceinline__ Box locate_box(const PermutePush& push, uint id) {
  Box box;
  box.from = 0; box.to = 0;
  box.elements = 1u;
#pragma unroll
  for (uint b = 0u; b < PERMUTE_MAX_BOUNDS; ++b) box.bound_at[b] = 0;
#pragma unroll
  for (uint a = 0u; a < kAxes; ++a) {
    uint start = take_digit(push, id, a);
    if (a < kBoxed) {
      box.size[a] = box_sizes(push, a).x;
      box.inside[a] = start + 1u == axis_count(push, a) ? box_sizes(push, a).y : box.size[a];
      box.stride[a] = box.elements;
      box.elements *= box.size[a];
      box.dst[a] = dst_stride(push, a);
      box.multiplier[a] = box_multiplier(push, a);
      start *= box.size[a];
    }
    box.from += offset_t(start) * src_stride(push, a);
    box.to += offset_t(start) * dst_stride(push, a);
#pragma unroll
    for (uint b = 0u; b < kBounds; ++b) box.bound_at[b] += int(start) * bound_coefficient(push, b, a);
  }
  return box;
}

// Loads the access that starts at element e of the box; returns false where it lies outside the problem.
__device__ __forceinline__ bool load_access(const PermutePush& push, const Box& box, uint e, uvec4& value) {
  offset_t at = box.from;
  bool inside = e < box.elements;
  int bound_at[PERMUTE_MAX_BOUNDS];
#pragma unroll
  for (uint b = 0u; b < PERMUTE_MAX_BOUNDS; ++b) bound_at[b] = box.bound_at[b];
#pragma unroll
  for (uint a = 0u; a < kBoxed; ++a) {
    uint digit = e;
    if (a + 1u < kBoxed) {
      e = divide_by_size(e, box_multiplier(push, a));
      digit -= e * box.size[a];
    }
    inside = inside && digit < box.inside[a];
    at += offset_t(digit) * src_stride(push, a);
#pragma unroll
    for (uint b = 0u; b < kReadBounds; ++b) bound_at[b] += int(digit) * bound_coefficient(push, b, a);
  }
  bool reads = inside;
#pragma unroll
  for (uint b = 0u; b < kReadBounds; ++b) reads = reads && bound_at[b] < read_limit(push, b);
  value = {};
  if (reads) value = load_bytes(push.src, at, kLoad * ELEMENT_BYTES);
  return inside;
}

__device__ __forceinline__ void stage_access(uint e, const uvec4& value, const uint3& staging) {
  if (kPacked || ELEMENT_BYTES >= 4) {
#pragma unroll
    for (uint w = 0u; w < kLoad * ELEMENT_BYTES / 4u; ++w) stage_word(element_place(e) + w, staging, value[w]);
  } else {
#pragma unroll
    for (uint i = 0u; i < kLoad; ++i) stage_word(e + i, staging, element_of(value, i));
  }
}

// Inserts element i into a packed access.
__device__ __forceinline__ void insert_element(uvec4& access, const uint i, const uvec4& element) {
#if ELEMENT_BYTES >= 4
#pragma unroll
  for (uint w = 0u; w < kElementWords; ++w) access[i * kElementWords + w] = element[w];
#else
  constexpr uint per = 4u / ELEMENT_BYTES;
  access[i / per] |= element[0] << (8u * ELEMENT_BYTES * (i % per));
#endif
}

// Reorders the box's axes to the destination's order.
__device__ __forceinline__ Box in_store_order(const Box& box, uint order) {
  Box stored = box;
#pragma unroll
  for (uint place = 0u; place < kBoxed; ++place) {
    const uint a = PERMUTE_BOX_AXIS_AT(order, place);
    stored.size[place] = pick(a, box.size);
    stored.inside[place] = pick(a, box.inside);
    stored.stride[place] = pick(a, box.stride);
    stored.dst[place] = pick(a, box.dst);
    stored.multiplier[place] = pick(a, box.multiplier);
  }
  return stored;
}

// Stores the access that starts at element `o`. `o` and the axes of `box` are in the destination's order.
__device__ __forceinline__ void store_access(const PermutePush& push, const Box& box, uint o, const uint3& staging) {
  if (o >= box.elements) return;
  // o = first digit + size[0] * (second + size[1] * third)
  const uint upper = divide_by_size(o, box.multiplier[0]);
  const uint third = divide_by_size(upper, box.multiplier[1]);
  const uint digit[PERMUTE_BOX_AXES] = {o - upper * box.size[0], upper - third * box.size[1], third};
  offset_t at = box.to;
  bool inside = true;
  int bound_at[PERMUTE_MAX_BOUNDS];
#pragma unroll
  for (uint b = 0u; b < PERMUTE_MAX_BOUNDS; ++b) bound_at[b] = box.bound_at[b];
#pragma unroll
  for (uint place = 0u; place < kBoxed; ++place) {
    inside = inside && digit[place] < box.inside[place];
    at += offset_t(digit[place]) * box.dst[place];
    if (kWriteBounds > 0u) {
      const uint a = PERMUTE_BOX_AXIS_AT(staging.z, place);
#pragma unroll
      for (uint b = 0u; b < kWriteBounds; ++b) {
        const int coefficients[PERMUTE_BOX_AXES] = {bound_coefficient(push, b, 0u),
                                                    bound_coefficient(push, b, 1u),
                                                    bound_coefficient(push, b, 2u)};
        bound_at[b] += int(digit[place]) * pick(a, coefficients);
      }
    }
  }
#pragma unroll
  for (uint b = 0u; b < kWriteBounds; ++b) inside = inside && bound_at[b] < write_limit(push, b);
  if (!inside) return;
  // Within an access only the first two digits change (the planner ensures this). So element n of the plane that these
  // two span is at n * stride[0] + n / size[0] * (stride[1] - size[0] * stride[0]), without carrying digits.
  const uint n = o - third * box.size[0] * box.size[1];
  const uint base = third * box.stride[2];
  const uint carry_stride = box.stride[1] - box.size[0] * box.stride[0];
  uvec4 value = {};
#pragma unroll
  for (uint i = 0u; i < kStore; ++i) {
    const uint e = base + (n + i) * box.stride[0] + divide_by_size(n + i, box.multiplier[0]) * carry_stride;
    insert_element(value, i, unstage(e, staging));
  }
  store_bytes(push.dst, at, kStore * ELEMENT_BYTES, value);
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ PermutePush push) {
  const uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count(push)) return;
  const uint3 staging = box_staging(push);
  const Box box = locate_box(push, id);

  constexpr uint step = kWorkgroup * kUnroll;
  const uint loads = (box.elements + kLoad - 1u) / kLoad;
  for (uint base = 0u; base < loads; base += step) {
    const uint first = base + threadIdx.x;
    uvec4 value[kUnroll];
    bool inside[kUnroll];
#pragma unroll
    for (uint u = 0u; u < kUnroll; ++u) {
      inside[u] = false;
      // Small boxes leave whole warps without a load; these skip the address arithmetic.
      if (first + u * kWorkgroup < loads)
        inside[u] = load_access(push, box, (first + u * kWorkgroup) * kLoad, value[u]);
    }
#pragma unroll
    for (uint u = 0u; u < kUnroll; ++u)
      if (inside[u]) stage_access((first + u * kWorkgroup) * kLoad, value[u], staging);
  }

  __syncthreads();   // the whole box is staged before loads by other invocations

  const Box stored = in_store_order(box, staging.z);
  const uint stores = (box.elements + kStore - 1u) / kStore;
  for (uint next = threadIdx.x; next < stores; next += kWorkgroup) store_access(push, stored, next * kStore, staging);
}
