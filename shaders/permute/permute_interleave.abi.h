// Interface of permute_interleave: axes of a few elements change places around a long one, P, in registers.
// The source is SOURCES streams, each a sequence of records of SRC_RUN elements, one record a step of P; the
// destination is TARGETS streams of records of DST_RUN elements. Where SWAP is 1, element d of a record of
// target b is element b of a record of source d; otherwise it is element d of source b. What the source does
// not have is zero.
// Axis 0 is P, counted in blocks of STEPS steps, its strides in elements a block. STEPS records are whole accesses
// of LOAD_BYTES in the source and of STORE_BYTES in the destination.
// Axis 1 has one step: its source stride is the distance of the source's streams, its destination stride that
// of the destination's. The rest are batches.
#ifndef SECTILE_PERMUTE_INTERLEAVE_ABI_H
#define SECTILE_PERMUTE_INTERLEAVE_ABI_H

#include "lib/permute.abi.h"

#define PERMUTE_INTERLEAVE_SPEC_STEPS 8          // of P, an invocation
#define PERMUTE_INTERLEAVE_SPEC_SOURCES 9
#define PERMUTE_INTERLEAVE_SPEC_SRC_RUN 10
#define PERMUTE_INTERLEAVE_SPEC_TARGETS 11
#define PERMUTE_INTERLEAVE_SPEC_DST_RUN 12
#define PERMUTE_INTERLEAVE_SPEC_SWAP 13
#define PERMUTE_INTERLEAVE_SPEC_LOAD_BYTES 14
#define PERMUTE_INTERLEAVE_SPEC_STORE_BYTES 15

// An invocation holds SOURCES * SRC_RUN * STEPS elements, in at most so many words.
#define PERMUTE_INTERLEAVE_MAX_WORDS 96
#define PERMUTE_INTERLEAVE_OWN_WORDS 0

#endif
