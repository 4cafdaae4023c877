// Where a run is. The step's axes but the first count runs, in the destination's order.

// First element of a run, by its number in the destination's order; `follows`: the next run is the next one along
// axis 1. `sum`: of the bound.
struct Run {
  offset_t from, to;
  bool follows;
  int sum;
};
__device__ __forceinline__ Run locate_run(const PermutePush& push, uint number) {
  Run run = {};
#pragma unroll
  for (uint a = 1u; a < kAxes; ++a) {
    const uint digit = take_digit(push, number, a);
    run.from += offset_t(digit) * src_stride(push, a);
    run.to += offset_t(digit) * dst_stride(push, a);
    if (a == 1u) run.follows = digit + 1u < axis_count(push, 1u);
    if (kReadBounds != 0u) run.sum += int(digit) * bound_coefficient(push, 0u, a);
  }
  return run;
}
