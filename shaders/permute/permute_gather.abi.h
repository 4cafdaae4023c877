// Interface of permute_gather: ragged transposes whose tiles are copied to workgroup memory as they lie, by
// asynchronous copies of aligned 16-byte words, and whose stores gather their elements there.
//
// Axes, runs and the kernel's own words are those of permute_ragged's packed tiles (permute_ragged.abi.h), but for D,
// which is one axis. A tile's part of each row of the destination begins and ends at a sector.
//
// A row of the source keeps its address modulo 16 in workgroup memory. Rows are in PERMUTE_GATHER_GROUPS groups, each
// of every so many-th row, so that the rows of an access are in different groups. From a row of a group to the next
// there are PERMUTE_GATHER_ROW bytes: as many as in the source, modulo 16.
#ifndef SECTILE_PERMUTE_GATHER_ABI_H
#define SECTILE_PERMUTE_GATHER_ABI_H

#include "permute/permute_ragged.abi.h"

#define PERMUTE_GATHER_SPEC_TILE_D 8    // indices of D; whole sectors
#define PERMUTE_GATHER_SPEC_WORDS 9     // of 16 bytes: what a row may have of the tile
#define PERMUTE_GATHER_SPEC_LANES_D 10  // invocations side by side along D
#define PERMUTE_GATHER_SPEC_INNER 11    // inner axes of S; those that are missing have size 1

#define PERMUTE_GATHER_ROWS(tile_d, bytes) ((tile_d) + PERMUTE_SECTOR / (bytes))   // that a tile loads

// Bytes are not grouped: an access has eight, and to find the group of each takes longer than banks that are shared.
#define PERMUTE_GATHER_GROUPS(bytes) ((bytes) == 1u ? 1u : 8u / (bytes))

// `stride`: bytes from a row of the source to the next. Where rows of a group would be a multiple of 128 bytes apart,
// an access's rows would be in the same banks.
#define PERMUTE_GATHER_PHASE(bytes, stride) ((stride) * PERMUTE_GATHER_GROUPS(bytes) % 16u)
#define PERMUTE_GATHER_ROW(words, bytes, stride) \
  (16u * (words) + (PERMUTE_GATHER_PHASE(bytes, stride) != 0u ? PERMUTE_GATHER_PHASE(bytes, stride) : 16u))
#define PERMUTE_GATHER_GROUP(rows, words, bytes, stride)                                                        \
  ((PERMUTE_GATHER_ROW(words, bytes, stride) * ((rows) / PERMUTE_GATHER_GROUPS(bytes)) + 15u) / 16u * 16u +     \
   (stride) % 16u)
// The most that any stride needs; an access that begins in the last row reads a word more.
#define PERMUTE_GATHER_SHARED_BYTES(rows, words, bytes)                                                         \
  (((16u * (words) + 16u) * ((rows) / PERMUTE_GATHER_GROUPS(bytes)) + 16u) * PERMUTE_GATHER_GROUPS(bytes) + 32u)

#endif
