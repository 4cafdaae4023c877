// Interface of permute_table: a tile is a box of the problem that has long runs in both operands, at any address. A
// workgroup moves several tiles whose runs begin at the same bytes of a 16-byte word in the source and of a sector in
// the destination, so what an invocation loads and stores of a tile is worked out once.
//
// The axes of a run in the destination ("positions", innermost first) are at most three, the last of which may be cut
// into parts; those of a run in the source that are not among them ("columns", innermost first) also at most three, the
// last of which may be cut. Axis 0 counts the parts of the last position axis, axis 1 those of the last column axis.
// The other position axes and column axes are whole, and stand in the kernel's own words; they have size 1 where fewer
// are enough. A position axis may belong to a run of the source too ("shared").
//
// The tile's runs of the source are rows of workgroup memory. A row's axes are the position axes that are not shared. A
// row is staged as the aligned 16-byte words that hold it.
//
// Position axes may be a layout's blocks that do not divide their axis: those past the limit have no place in the
// destination. Then `inner_sizes` or `cut_extent` says how many positions there are: 32 channels of 3 blocks are 65.
//
// An invocation stores aligned accesses of 8 bytes. Its table, in registers, has for each of them the offset in the
// destination, the positions of the access that are the tile's, and where each element is in workgroup memory. The last
// is made of a list of positions, which stands there before a tile is staged.
// A tile's part of a destination run begins and ends at a 32-byte sector, wherever the run is, so no sector is written
// by two tiles. For that it loads a few indices of the cut axis more.
//
// A workgroup walks along one of the axes, whose count is that of the walks. A step is as many tiles, so that the
// addresses of a walk's tiles differ by whole words and sectors.
#ifndef SECTILE_PERMUTE_TABLE_ABI_H
#define SECTILE_PERMUTE_TABLE_ABI_H

#include "permute/permute.abi.h"

#define PERMUTE_TABLE_SPEC_LOADS 8     // 16-byte words of a tile that an invocation loads
#define PERMUTE_TABLE_SPEC_STORES 9    // accesses of 8 bytes that it stores at once
#define PERMUTE_TABLE_SPEC_INNER 10    // position axes, and column axes, in the kernel's own words: 0 to 2
#define PERMUTE_TABLE_SPEC_AHEAD 11    // 1: the next tile's words are loaded while a tile is stored

// Whether an invocation of the CUDA kernel, with 32-bit offsets, has enough with 102 registers; others have 128.
#define PERMUTE_TABLE_FEW_REGISTERS(bytes, inner, stores) \
  ((stores) <= 6u && ((bytes) != 2u || (inner) != 0u))

// Bits of `schedule.y`.
#define PERMUTE_TABLE_SHARED 1u        // << i: position axis i is shared
#define PERMUTE_TABLE_CUT_FIRST 8u     // column axis 0 is the one of axis 1, and the last has size 1
#define PERMUTE_TABLE_LIMITED_INNER 32u   // fewer positions of the first two axes than their sizes say
#define PERMUTE_TABLE_LIMITED_LAST 64u    // and of all axes, of which the last is not cut
#define PERMUTE_TABLE_SCATTERED 16u    // neighbouring words of 16 bytes change places: strides of a power of two in a
                                       // row meet few banks twice

// Where 16-byte word `k` of row `row` is in workgroup memory, in words of 16 bytes: rows have `words`, and after the
// `positions` rows of an access comes one of padding, so that rows that are read at once are in different banks.
#define PERMUTE_TABLE_UNIT(row, k, words, positions) \
  ((row) * (words) + ((positions) > 1u ? (row) / (positions) : 0u) + (k))
// Where the word is then (`mask`: 7 in a scattered tile, else 0), and by how many 32-bit words, modulo 4, its elements
// of less than 8 bytes are rotated: else words a multiple of eight apart would be in the same banks.
#define PERMUTE_TABLE_SCATTER(unit, mask) ((unit) ^ ((unit) >> 3u & (mask)))
#define PERMUTE_TABLE_TURN(unit, mask) ((unit) >> 3u ^ ((unit) >> 5u & (mask)))

// Where position `i` of a run is listed, in 32-bit words: invocations that read every eighth one meet different banks.
#define PERMUTE_TABLE_POSITION(i) ((i) + ((i) >> 3u))

#define PERMUTE_TABLE_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                                                            \
  WORD(u16x2, part, shifts)                  /* indices of the last position axis: of a part, and that a tile loads */ \
  WORD(uint, cut_extent, part)               /* of the last position axis; limited: positions of a run */              \
  WORD(uint, column_extent, cut_extent)      /* of the last column axis */                                             \
  WORD(u16x2, staging, column_extent)        /* 16-byte words of a row; indices of the last column axis of a tile */   \
  WORD(u8x2u16, schedule, staging)           /* the walk's axis; bits; most tiles of a walk */                         \
  WORD(uint, walk_end, schedule)             /* tiles along the walk's axis */                                         \
  WORD(stride, source_elements, walk_end)    /* end of the source, from its first element on */                        \
  WORDS_IF(uint, inner_sizes, source_elements, kInner != 0u, kInner)   /* 16 bits: position axis i, column axis i */   \
  WORDS_IF(stride, position_src, inner_sizes, kInner != 0u, kInner)                                                    \
  WORDS_IF(stride, column_src, position_src, kInner != 0u, kInner)                                                     \
  WORDS_IF(stride, column_dst, column_src, kInner != 0u, kInner)

#endif
