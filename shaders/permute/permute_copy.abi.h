// Interface of permute_copy: a contiguous copy.
#ifndef SECTILE_PERMUTE_COPY_ABI_H
#define SECTILE_PERMUTE_COPY_ABI_H

#include "lib/abi.h"

struct PermuteCopyPush {
  SECTILE_ADDRESS src;
  SECTILE_ADDRESS dst;
  SECTILE_UINT bytes_lo, bytes_hi;   // bytes to copy, a multiple of the variant's element
  SECTILE_UINT groups;               // workgroups with work; a folded grid may have more
};

#define PERMUTE_COPY_SPEC_WIDTH 8     // bytes per access: 1, 2, 4, 8 or 16
#define PERMUTE_COPY_SPEC_UNROLL 9    // accesses per invocation

#endif
