// Division by a number that is not known beforehand, and by which several numbers are divided: n * d < 2^32.
struct Divisor {
  uint d, multiplier;
};
__device__ __forceinline__ Divisor divisor_of(uint d) { return {d, 0xffffffffu / d + 1u}; }
__device__ __forceinline__ uint divide(uint n, Divisor by) { return by.d == 1u ? n : __umulhi(n, by.multiplier); }
