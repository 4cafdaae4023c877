// Interface of permute_runs: a transpose whose elements are short runs of any length, which stay whole. The matrix
// element is RUN units; a unit is ELEMENT_BYTES (1, 2 or 4) bytes. Strides count units, so wider elements are runs of
// words.
// One of axes 0 and 1 is S, along which the source's runs are adjacent; the other is D, along which the destination's
// runs are adjacent. S is axis 0, or axis 1 where SWAP is 1. Their counts are of tiles, their strides those of a run.
// A workgroup moves TILE_S x (TILE_D - HALO) runs, an invocation blocks of BLOCK_S x BLOCK_D runs. The invocation loads
// the runs of BLOCK_D source rows as words, shifted so that the first run starts at a word boundary, and joins the runs
// of each column into words. Where STAGED is 1 these words go through workgroup memory, otherwise they are stored
// directly.
// Source rows without alignment: LOAD_BYTES is 0, and aligned words are loaded and shifted. Otherwise the source's rows
// consist of whole accesses of LOAD_BYTES.
// Destination rows without alignment: SHIFT is 1. A tile then writes the aligned accesses of STORE_BYTES that start in
// it, its start rounded down to an access. So its first access also holds bytes of the HALO runs before the tile, which
// the tile loads too. A row's first and last access, where it is shared with other data, is written in units. The last
// tile leaves room for the rounding, and may hold no run.
#ifndef SECTILE_PERMUTE_RUNS_ABI_H
#define SECTILE_PERMUTE_RUNS_ABI_H

#include "permute/permute.abi.h"

#define PERMUTE_RUNS_SPEC_RUN 8
#define PERMUTE_RUNS_SPEC_TILE_S 9         // runs
#define PERMUTE_RUNS_SPEC_TILE_D 10        // runs, including the halo
#define PERMUTE_RUNS_SPEC_BLOCK_S 11
#define PERMUTE_RUNS_SPEC_BLOCK_D 12
#define PERMUTE_RUNS_SPEC_LOAD_BYTES 13
#define PERMUTE_RUNS_SPEC_STORE_BYTES 14
#define PERMUTE_RUNS_SPEC_SHIFT 15
#define PERMUTE_RUNS_SPEC_HALO 16          // runs; 0 where STAGED is 0
#define PERMUTE_RUNS_SPEC_STAGED 17
#define PERMUTE_RUNS_SPEC_SKEW 18          // padding words after every BLOCK_S rows of workgroup memory
#define PERMUTE_RUNS_SPEC_SWAP 19

// Maximum number of words that an invocation holds: the runs of a block's rows, and of the rows before it that its
// first word needs.
#define PERMUTE_RUNS_MAX_WORDS 160

#define PERMUTE_RUNS_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                                                 \
  WORD(uint, last_s, shifts)            /* runs of the last tile along S */                                \
  WORD(uint, runs_d, last_s)            /* runs of all tiles along D */                                    \
  WORD(stride, source_units, runs_d)    /* end of the source, from the first unit that the axes address */

#endif
