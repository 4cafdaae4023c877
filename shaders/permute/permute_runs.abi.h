// Interface of permute_runs: short runs that stay whole, of any length, change places: a matrix whose element is RUN
// units. A unit is ELEMENT_BYTES (1, 2 or 4) bytes; strides count units, so that wider elements are runs of words.
// One of axes 0 and 1 is S, along which the source's runs lie side by side, the other D, along which the destination's
// do: S is axis 0, or axis 1 where SWAP is 1. Their counts are of tiles, their strides those of a run.
// A workgroup moves TILE_S x (TILE_D - HALO) runs, an invocation blocks of BLOCK_S x BLOCK_D: it reads the runs of
// BLOCK_D source rows as words, shifted so that the first run begins a word, and joins the runs of each column into
// words. Where STAGED is 1 these go through workgroup memory, otherwise they are stored at once.
// Source rows that begin anywhere: LOAD_BYTES is 0, aligned words are read and shifted. Otherwise rows of the source
// consist of whole accesses of LOAD_BYTES.
// Destination rows that begin anywhere: SHIFT is 1. A tile then writes the accesses of STORE_BYTES that begin inside of
// it, rounded down, so its first one holds bytes of the HALO runs in front (which it reads, too); what a row's first and
// last access share with others is written in units. The last tile has room left for the rounding, and may hold no run.
// Own words: runs of the last tile along S, the same along D, the source's units from the nest's first (one stride).
#ifndef SECTILE_PERMUTE_RUNS_ABI_H
#define SECTILE_PERMUTE_RUNS_ABI_H

#include "lib/permute.abi.h"

#define PERMUTE_RUNS_SPEC_RUN 8
#define PERMUTE_RUNS_SPEC_TILE_S 9         // runs
#define PERMUTE_RUNS_SPEC_TILE_D 10        // runs, the halo's among them
#define PERMUTE_RUNS_SPEC_BLOCK_S 11
#define PERMUTE_RUNS_SPEC_BLOCK_D 12
#define PERMUTE_RUNS_SPEC_LOAD_BYTES 13
#define PERMUTE_RUNS_SPEC_STORE_BYTES 14
#define PERMUTE_RUNS_SPEC_SHIFT 15
#define PERMUTE_RUNS_SPEC_HALO 16          // runs; 0 where nothing is staged
#define PERMUTE_RUNS_SPEC_STAGED 17
#define PERMUTE_RUNS_SPEC_SKEW 18          // words of padding after every BLOCK_S rows of workgroup memory
#define PERMUTE_RUNS_SPEC_SWAP 19

// An invocation holds the runs of a block's rows, and of those in front that the first word needs, in so many words.
#define PERMUTE_RUNS_MAX_WORDS 160

#endif
