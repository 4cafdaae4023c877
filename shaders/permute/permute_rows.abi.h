// Interface of permute_rows: the innermost axis stays innermost. Also the fallback for any problem that no other kernel
// takes: elements are gathered in the destination's order, axis 0 innermost.
#ifndef SECTILE_PERMUTE_ROWS_ABI_H
#define SECTILE_PERMUTE_ROWS_ABI_H

#include "permute/permute.abi.h"

#define PERMUTE_ROWS_SPEC_UNROLL 8    // elements per invocation

#endif
