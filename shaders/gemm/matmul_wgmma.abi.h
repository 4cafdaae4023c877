// Interface of matmul_wgmma (CUDA, sm_90a): a warpgroup that copies operands to workgroup memory, and warpgroups that
// multiply them. A workgroup computes one tile after another, in steps of the whole grid. Where CONSUMERS times SUB_M
// is more than the tile has rows (columns with SWAPPED), warpgroups have the same rows: they take steps of K in turns,
// and their sums are added at the end (slice-K).
//
// Tensor maps: A's, then B's, of those that the tensor memory accelerator copies, as (the contiguous axis, the other
// axis, batches). An operand that all batches share has one batch. With PACKED_B the elements of B's are bytes.
//
// Workgroup memory, in STAGES steps of K: A's tile, then B's. A step has MATMUL_WGMMA_LINE bytes along K, with PACKED_B
// one, two or four times as many of A: one part after another. An operand that is contiguous along K lies in rows of a
// line each. One that is contiguous across K lies in blocks of MATMUL_WGMMA_ACROSS(tile) rows, a line for each k. Lines
// are swizzled.
#ifndef SECTILE_MATMUL_WGMMA_ABI_H
#define SECTILE_MATMUL_WGMMA_ABI_H

#include "gemm/gemm.abi.h"

// Rows of a warpgroup's products, 64 or 128: rows of the result or, with SWAPPED, columns of it
#define MATMUL_WGMMA_SPEC_SUB_M 16
#define MATMUL_WGMMA_SPEC_CONSUMERS 17  // warpgroups that multiply
#define MATMUL_WGMMA_SPEC_PINGPONG 18   // 1: each has tiles of its own; 0: they share a tile, SUB_M rows each
#define MATMUL_WGMMA_SPEC_STAGES 19
#define MATMUL_WGMMA_SPEC_CLUSTER_M 20  // workgroups of a cluster along M, which copy B's tile together
#define MATMUL_WGMMA_SPEC_CLUSTER_N 21  // along N, which copy A's tile together
#define MATMUL_WGMMA_SPEC_CLUSTER_K 22  // along K, which add up their sums
// Steps in flight of an operand that has no tensor map. Less than STAGES where they have stages from their beginning
// on, because a step's stage is free when the next step's products have begun
#define MATMUL_WGMMA_SPEC_AHEAD 23
#define MATMUL_WGMMA_SPEC_RESIDENT 24   // workgroups that a multiprocessor holds
// 1: the products are those of the transposed operands, B times A. A product has 64 rows and any multiple of 16
// columns, so that few rows of A are not padded to 64
#define MATMUL_WGMMA_SPEC_SWAPPED 25

// 1: rows (or k) of the operand begin at no multiple of 4 bytes. WIDTH_A, WIDTH_B: the elements of an item
#define MATMUL_WGMMA_SPEC_SHIFTED_A 26
#define MATMUL_WGMMA_SPEC_SHIFTED_B 27
// 1: 4-bit weights are copied as they are, and the warps that multiply them (SWAPPED) convert them in registers; both
// operands have tensor maps. 2: K may end inside a block of 32
#define MATMUL_WGMMA_SPEC_PACKED_B 28

#define MATMUL_WGMMA_LINE 128u   // bytes along K of a step
#define MATMUL_WGMMA_WARPGROUP 128u
// Rows of a block of an operand of 2 bytes that is contiguous across K.
#define MATMUL_WGMMA_ACROSS(tile) ((tile) % 64u == 0u ? 64u : (tile) % 32u == 0u ? 32u : 16u)
// Of a tile that so many workgroups copy together each copies a share of the blocks or, where they cannot be shared, of
// each block's lines.
#define MATMUL_WGMMA_BLOCKS(tile) ((tile) / MATMUL_WGMMA_ACROSS(tile))
#define MATMUL_WGMMA_LINES(tile, tile_k, together) \
  (MATMUL_WGMMA_BLOCKS(tile) % (together) == 0u ? (tile_k) : (tile_k) / (together))
// Bytes of an access of so many elements.
#define MATMUL_WGMMA_ACCESS_BYTES(type, elements)                                                         \
  ((type) == SECTILE_TYPE_Q4 ? (elements) / 2u                                                            \
                             : (elements) * ((type) == SECTILE_TYPE_F32                              ? 4u \
                                             : (type) == SECTILE_TYPE_F16 || (type) == SECTILE_TYPE_BF16 ? 2u : 1u))
// Items of an invocation, of so many elements each, of a step of an operand. TURNED: 16 k of four rows at a time.
#define MATMUL_WGMMA_ITEMS(tile, run, element_bytes, turned)   \
  ((turned) ? ((tile) * 2u + 127u) / 128u * 16u                \
            : (tile) * MATMUL_WGMMA_LINE / ((run) * (element_bytes)) / MATMUL_WGMMA_WARPGROUP)
// Of what is shifted: lines that are contiguous in global memory, bytes of each, and bytes that the workgroup keeps.
#define MATMUL_WGMMA_SOURCES(tile, tile_k, along_k, turned) \
  ((turned) ? (tile_k) : (along_k) ? (tile) : MATMUL_WGMMA_BLOCKS(tile) * (tile_k))
#define MATMUL_WGMMA_SOURCE_BYTES(type, tile, tile_k, along_k, turned) \
  MATMUL_WGMMA_ACCESS_BYTES(type, (turned) ? (tile) : (along_k) ? (tile_k) : MATMUL_WGMMA_ACROSS(tile))
#define MATMUL_WGMMA_KEPT_BYTES(sources, bytes) (((sources) * ((bytes) + 4u) + 15u) / 16u * 16u)
// Bytes of a step of so many rows of packed weights, TILE_K being 64 * parts: 32 * parts of each row, then each row's
// scales. A multiple of 1024.
#define MATMUL_WGMMA_PACKED_LINE(parts) (32u * (parts))
#define MATMUL_WGMMA_SCALES_LINE(parts) ((parts) == 4u ? 32u : 16u)
#define MATMUL_WGMMA_PACKED_BYTES(tile, parts) \
  ((tile) * (MATMUL_WGMMA_PACKED_LINE(parts) + MATMUL_WGMMA_SCALES_LINE(parts)))
// Bytes behind the stages: a pair of barriers for each, and one for the sums that are received.
#define MATMUL_WGMMA_BARRIER_BYTES(stages) (16u * (stages) + 16u)
// Sums of the same rows by several warpgroups, the participants, are added up in units: 8 sums of a lane. Each
// participant receives those of its units from all others. COLUMNS: of the products, a multiple of 32; SWAPPED: of 16.
// RECEIVED_BYTES: the most bytes that a workgroup receives, which has SLICES of the participants.
#define MATMUL_WGMMA_UNIT_WORDS 8u
#define MATMUL_WGMMA_OWN_UNITS(columns, sub_m, participants) \
  (((sub_m) / 64u * ((columns) / 16u) + (participants) - 1u) / (participants))
#define MATMUL_WGMMA_RECEIVED_BYTES(columns, sub_m, row_groups, participants, slices) \
  ((slices) * ((participants) - 1u) * MATMUL_WGMMA_OWN_UNITS(columns, sub_m, participants) * (row_groups) * \
   MATMUL_WGMMA_WARPGROUP * MATMUL_WGMMA_UNIT_WORDS * 4u)

#endif
