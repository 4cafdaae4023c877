// Division by a number that is not known beforehand, and by which several numbers are divided: n * d < 2^32.
struct Divisor {
  uint d, multiplier;
};
Divisor divisor_of(uint d) { return Divisor(d, 0xffffffffu / d + 1u); }
uint divide(uint n, Divisor by) {
  uint high, low;
  umulExtended(n, by.multiplier, high, low);
  return by.d == 1u ? n : high;
}
