// Interface of permute_ragged: tiles of a transpose whose rows begin at any address in both operands.
// Axis 0 counts tiles along D, the destination's innermost axis, axis 1 those along S, the source's; both are
// contiguous there. A tile has TILE_D indices of D and RUN_BYTES of S. Its part of each row of the destination begins
// and ends at a sector, wherever the row is, so that no sector is written by two tiles; for that it loads a sector's
// indices of D more.
#ifndef SECTILE_PERMUTE_RAGGED_ABI_H
#define SECTILE_PERMUTE_RAGGED_ABI_H

#include "permute/permute.abi.h"

#define PERMUTE_RAGGED_SPEC_TILE_D 8      // indices of D; whole sectors
#define PERMUTE_RAGGED_SPEC_RUN_BYTES 9   // of the source, a multiple of 16
#define PERMUTE_RAGGED_SPEC_LANES_D 10    // invocations side by side along D

// Workgroup memory has the tile column by column, in words of 32 bits: the words of a column, from a column to the next,
// the words more from the columns of 16 bytes of a row to those of the next 16, and all. Columns begin 8 or 24 banks apart, and those of the next 16 bytes of a row in other banks, so that neither a
// subgroup's stores of a few rows nor its loads of a few columns wait for each other.
#define PERMUTE_RAGGED_COLUMN_WORDS(tile_d, bytes) ((tile_d) * (bytes) / 4u + PERMUTE_SECTOR / 4u)
#define PERMUTE_RAGGED_PITCH(tile_d, bytes)       \
  (PERMUTE_RAGGED_COLUMN_WORDS(tile_d, bytes) +   \
   (24u - PERMUTE_RAGGED_COLUMN_WORDS(tile_d, bytes) % 16u) % 16u)
#define PERMUTE_RAGGED_SKEW(run_bytes) (512u / (run_bytes))
#define PERMUTE_RAGGED_SHARED_WORDS(tile_d, run_bytes, bytes) \
  ((run_bytes) / (bytes) * PERMUTE_RAGGED_PITCH(tile_d, bytes) + (run_bytes) / 16u * PERMUTE_RAGGED_SKEW(run_bytes))

#define PERMUTE_RAGGED_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                                            \
  WORD(uint, extent_d, shifts)                                                                          \
  WORD(uint, extent_s, extent_d)                                                                        \
  WORD(stride, source_elements, extent_s)   /* end of the source, from its first element on */

#endif
