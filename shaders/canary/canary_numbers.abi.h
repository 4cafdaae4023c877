// Interface of the canary's kernels for numbers: each invocation makes an input from its index, computes as the
// library's kernels do, and writes CANARY_NUMBERS_WORDS words, each combined with the seed by exclusive or.
#ifndef SECTILE_CANARY_NUMBERS_ABI_H
#define SECTILE_CANARY_NUMBERS_ABI_H

#include "lib/abi.h"

#ifdef GL_core_profile
#define CANARY_FUNCTION
#elif defined(__CUDACC__)
#define CANARY_FUNCTION inline __device__
#else
#define CANARY_FUNCTION inline
#endif

struct CanaryNumbersPush {
  SECTILE_ADDRESS words;
  SECTILE_UINT seed;    // clears what an earlier run left in the same memory
};

#define CANARY_NUMBERS_WORDS 2
#define CANARY_NUMBERS_FLOATS 11520   // inputs of the kinds that take floats: 80 exponents, 144 fractions each
#define CANARY_NUMBERS_DOTS 512

// Input `i` as the bits of an f32. Fractions are ties, and their neighbours, of a rounding at any bit, below even and
// odd places. Exponents are those around f16's range one by one, and others up to infinity and NaN.
CANARY_FUNCTION SECTILE_UINT canary_float(SECTILE_UINT i) {
  SECTILE_UINT exponent = i / 144u, pattern = i % 144u, bit = pattern / 6u, fraction = 1u << bit;
  exponent = exponent < 64u ? 94u + exponent : 17u * (exponent - 64u);
  if (pattern % 6u > 2u) fraction |= 0x2AAAAAu & ~((2u << bit) - 1u);
  fraction = (fraction + pattern % 3u + 0x7fffffu) & 0x7fffffu;
  return (i & 1u) << 31u | exponent << 23u | fraction;
}

// Four bytes of a dot product; the first ones are the ends of their range.
CANARY_FUNCTION SECTILE_UINT canary_bytes(SECTILE_UINT i, SECTILE_UINT side) {
  if (i < 4u) return ((i >> side) & 1u) != 0u ? 0x80808080u : 0x7f7f7f7fu;
  SECTILE_UINT h = i * 2654435761u ^ (side + 1u) * 0x9E3779B9u;
  h = (h ^ h >> 15u) * 0x2C1B3C6Du;
  h = (h ^ h >> 12u) * 0x297A2D39u;
  return h ^ h >> 15u;
}

#endif
