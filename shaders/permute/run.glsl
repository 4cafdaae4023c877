// Where a run is. The step's axes but the first count runs, in the destination's order.

// First element of a run, by its number in the destination's order; `follows`: the next run is the next one along
// axis 1. `sum`: of the bound.
struct Run {
  offset_t from, to;
  bool follows;
  int sum;
};
Run locate_run(uint number) {
  Run run;
  run.from = 0;
  run.to = 0;
  run.sum = 0;
  [[unroll]] for (uint a = 1u; a < kAxes; ++a) {
    const uint digit = take_digit(number, a);
    run.from += offset_t(digit) * src_stride(a);
    run.to += offset_t(digit) * dst_stride(a);
    if (a == 1u) run.follows = digit + 1u < axis_count(1u);
    if (kReadBounds != 0u) run.sum += int(digit) * bound_coefficient(0u, a);
  }
  return run;
}
