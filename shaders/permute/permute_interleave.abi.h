// Interface of permute_interleave: small axes trade places around a long axis P, in registers; e.g. pixels of three
// channels to planes and back.
// The source is SOURCES streams. A stream is a sequence of records of SRC_RUN elements, one record per step of P. The
// destination is TARGETS streams of records of DST_RUN elements. Where SWAP is 1, element d of a record of target b is
// element b of a record of source d; otherwise it is element d of a record of source b. Elements that the source lacks
// are zero.
// Axis 0 is P, counted in blocks of STEPS steps; its strides are in elements per block. STEPS records are a whole
// number of accesses of LOAD_BYTES in the source and of STORE_BYTES in the destination.
// Axis 1 has count 1; its source stride is the distance between source streams, its destination stride the distance
// between destination streams. The remaining axes are batches.
#ifndef SECTILE_PERMUTE_INTERLEAVE_ABI_H
#define SECTILE_PERMUTE_INTERLEAVE_ABI_H

#include "permute/permute.abi.h"

#define PERMUTE_INTERLEAVE_SPEC_STEPS 8          // steps of P per invocation
#define PERMUTE_INTERLEAVE_SPEC_SOURCES 9
#define PERMUTE_INTERLEAVE_SPEC_SRC_RUN 10
#define PERMUTE_INTERLEAVE_SPEC_TARGETS 11
#define PERMUTE_INTERLEAVE_SPEC_DST_RUN 12
#define PERMUTE_INTERLEAVE_SPEC_SWAP 13
#define PERMUTE_INTERLEAVE_SPEC_LOAD_BYTES 14
#define PERMUTE_INTERLEAVE_SPEC_STORE_BYTES 15

// Maximum number of 32-bit words that the SOURCES * SRC_RUN * STEPS elements of an invocation may take.
#define PERMUTE_INTERLEAVE_MAX_WORDS 96

#endif
