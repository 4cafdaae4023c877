// Interface of permute_gather: a tile is a box of the problem that has long runs in both operands, at any address.
//
// The axes of a run in the destination ("positions", innermost first) are at most three, the last of which may be cut
// into parts; those of a run in the source that are not among them ("columns", innermost first) also at most three, the
// last of which may be cut. Axis 0 counts the parts of the last position axis, axis 1 those of the last column axis.
// The other position axes and column axes are whole, and stand in the kernel's own words; they have size 1 where fewer
// are enough. A position axis may belong to a run of the source too ("shared").
//
// The tile's runs of the source are rows of workgroup memory. A row's axes are the position axes that are not shared.
// Each row is staged from its first whole word on, so that its words keep their place in the source's words of 4 bytes;
// an element that does not fill a word begins at the same byte of a word as in the source.
//
// A table in workgroup memory has, for each column, where its first whole access begins in the destination and what of
// it is the tile's.
//
// Workgroup memory is read by teams of lanes. A lane has the same positions of the run of every column: it collects
// them from the rows, and the next lane's first ones complete the access that it stores. A window is the positions of a
// team.
// A tile's part of a destination run begins and ends at a 32-byte sector, wherever the run is, so no sector is written
// by two tiles. For that it loads a few indices of the cut axis more.
#ifndef SECTILE_PERMUTE_GATHER_ABI_H
#define SECTILE_PERMUTE_GATHER_ABI_H

#include "permute/permute.abi.h"

#define PERMUTE_GATHER_SPEC_UNROLL 8         // loads of an invocation in flight
#define PERMUTE_GATHER_SPEC_SHARED_WORDS 9   // 32-bit words of workgroup memory
#define PERMUTE_GATHER_SPEC_TEAM 10          // lanes of a team; divides the subgroup
#define PERMUTE_GATHER_SPEC_TURN 11          // 1: the columns' innermost axis is contiguous in the source, and a lane
                                             // takes a word of columns at once
#define PERMUTE_GATHER_SPEC_INNER 12         // position axes, and column axes, in the kernel's own words: 0 to 2
#define PERMUTE_GATHER_SPEC_COLUMNS 13       // most columns of a tile
#define PERMUTE_GATHER_SPEC_LOADS 14         // words of 16 bytes that are loaded of a row, a power of two; 0: as many
                                             // as it takes

// Bits of `schedule.y`.
#define PERMUTE_GATHER_SHARED 1u             // << i: position axis i is shared
#define PERMUTE_GATHER_CUT_FIRST 8u          // column axis 0 is the one of axis 1, and the last has size 1

#define PERMUTE_GATHER_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                                                           \
  WORD(u16x2, part, shifts)                  /* indices of the last position axis: of a part, and that a tile loads */ \
  WORD(uint, cut_extent, part)               /* of the last position axis */                                           \
  WORD(uint, column_extent, cut_extent)      /* of the last column axis */                                             \
  WORD(u16x2, staging, column_extent)        /* words from row to row of workgroup memory; indices of the last column  \
                                                axis of a tile */                                                      \
  WORD(u8x2u16, schedule, staging)           /* teams that share a window; bits; windows */                            \
  WORD(stride, source_elements, schedule)    /* end of the source, from its first element on */                        \
  WORD_IF(uint, position_sizes, source_elements, kInner != 0u, 0x10001u)     /* 16 bits each */                        \
  WORDS_IF(stride, position_src, position_sizes, kInner != 0u, kInner)                                                 \
  WORD_IF(uint, column_sizes, position_src, kInner != 0u, 0x10001u)                                                    \
  WORDS_IF(stride, column_src, column_sizes, kInner != 0u, kInner)                                                     \
  WORDS_IF(stride, column_dst, column_src, kInner != 0u, kInner)

#endif
