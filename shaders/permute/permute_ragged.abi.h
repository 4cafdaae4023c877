// Interface of permute_ragged: tiles of a transpose whose rows begin at any address in both operands.
// Axis 0 counts tiles along D, the destination's innermost axis, axis 1 those along S, the source's; both are
// contiguous there. Where an axis is short, up to three that follow each other without a gap are one: their index is
// that of the destination's (the source's) run, the inner ones stand in the kernel's own words, innermost first, the
// outermost one's stride is that of axis 0 (1). No axis belongs to both.
//
// A tile has TILE_D indices of D and RUN_BYTES of S. Its part of each row of the destination begins and ends at a
// sector, wherever the row is, so that no sector is written by two tiles; for that it loads a sector's indices of D
// more. A packed tile has all indices of D, and the destination's rows follow each other without a gap along the
// outermost axis of S. It has all indices of the inner axes of S and some of the outermost one, so that its part of the
// destination is a piece for each index of the inner axes. Pieces are contiguous, and only their first and last sectors
// are shared with other tiles. Where rows have gaps behind them, as long ones along all of the outermost axis of S, its
// elements are stored one by one. Its indices of D from a limit on are zeros and not read: a layout's block that does
// not divide its axis.
#ifndef SECTILE_PERMUTE_RAGGED_ABI_H
#define SECTILE_PERMUTE_RAGGED_ABI_H

#include "permute/permute.abi.h"

#define PERMUTE_RAGGED_SPEC_TILE_D 8      // indices of D; whole sectors
#define PERMUTE_RAGGED_SPEC_RUN_BYTES 9   // of the source, a multiple of 16
#define PERMUTE_RAGGED_SPEC_LANES_D 10    // invocations side by side along D
#define PERMUTE_RAGGED_SPEC_PACKED 11     // not 0: the tile is packed; PERMUTE_RAGGED_GAPS: its rows have gaps
#define PERMUTE_RAGGED_GAPS 2u
#define PERMUTE_RAGGED_SPEC_INNER 12      // inner axes of D, and of S; those that are missing have size 1

// Indices of D that a tile loads.
#define PERMUTE_RAGGED_ROWS(tile_d, bytes, packed) ((tile_d) + ((packed) ? 0u : PERMUTE_SECTOR / (bytes)))

// Workgroup memory has the tile column by column, in words of 32 bits: from a column to the next, the words more from
// the columns of 16 bytes of a row to those of the next 16, the words before the first column, and all. Columns begin 8
// or 24 banks apart, and those of the next 16 bytes of a row in other banks, so that neither a subgroup's stores of a
// few rows nor its loads of a few columns wait for each other; a packed tile's loads are along a column. Accesses that
// begin before a column or end after it read a word before it and two after it.
#define PERMUTE_RAGGED_PITCH(rows, bytes, packed) \
  ((rows) * (bytes) / 4u + ((packed) ? 0u : (24u - (rows) * (bytes) / 4u % 16u) % 16u))
#define PERMUTE_RAGGED_SKEW(run_bytes) (512u / (run_bytes))
#define PERMUTE_RAGGED_LEAD 1u
#define PERMUTE_RAGGED_SHARED_WORDS(rows, run_bytes, bytes, packed)                             \
  (PERMUTE_RAGGED_LEAD + (run_bytes) / (bytes) * PERMUTE_RAGGED_PITCH(rows, bytes, packed) +   \
   (run_bytes) / 16u * PERMUTE_RAGGED_SKEW(run_bytes) + 2u)

#define PERMUTE_RAGGED_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                                                           \
  WORD(uint, extent_d, shifts)                                                                                         \
  WORD(uint, extent_s, extent_d)                                                                                       \
  WORD(uint, s_first, extent_s)          /* 1: neighbouring workgroups' tiles are neighbours along S, else along D */  \
  WORD(stride, source_elements, s_first) /* end of the source, from its first element on */                            \
  WORD_IF(uint, tile_s, source_elements, kPacked != 0u, 0u)              /* columns of a packed tile */                \
  WORD_IF(uint, limit_d, tile_s, kPacked != 0u, 0u)                      /* indices of D that a packed tile reads */   \
  WORDS_IF(uint, inner_sizes, limit_d, kInner != 0u, kInner)             /* 16 bits: of D, of S */                     \
  WORDS_IF(uint, multiplier_d, inner_sizes, kInner != 0u, kInner)        /* of the division by a size */               \
  WORDS_IF(uint, multiplier_s, multiplier_d, kInner != 0u, kInner)                                                     \
  WORDS_IF(stride, inner_src, multiplier_s, kInner != 0u, kInner)        /* of D in the source */                      \
  WORDS_IF(stride, inner_dst, inner_src, kInner != 0u, kInner)           /* of S in the destination */

#endif
