// Interface of permute_copy: contiguous bytes from one operand to the other.
#ifndef SECTILE_PERMUTE_COPY_ABI_H
#define SECTILE_PERMUTE_COPY_ABI_H

#include "lib/abi.h"

struct PermuteCopyPush {
  SECTILE_ADDRESS src;
  SECTILE_ADDRESS dst;
  SECTILE_UINT bytes_lo, bytes_hi;   // how many bytes in all, a multiple of the variant's element
  SECTILE_UINT groups;               // workgroups that have work; the folded grid may hold more
};

#define PERMUTE_COPY_SPEC_WIDTH 8     // bytes an access: 1, 2, 4, 8 or 16
#define PERMUTE_COPY_SPEC_UNROLL 9    // accesses an invocation

#endif
