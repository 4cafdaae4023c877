// What is done about gaps between the rows of a destination.

// Rows of the destination are short and have gaps, so that the sectors at their ends never become whole. The L2 of
// NVIDIA's GPUs reads the rest of such a sector when it writes the sector to memory, one by one; that is faster where a
// kernel asks for the sector before. H200, 2026-11-28, 16-byte stores, time of rows of 120 bytes at a pitch of 131 over
// a copy's 2.83 without and 1.67 with that, of 128 at 152 2.02 and 1.44, of 64 at 65 2.99 and 2.29, of 512 at 520 1.26
// and 1.16.
__device__ __forceinline__ bool has_gaps(const PermutePush& push) { return (shifts(push, 0u) & PERMUTE_GAPS) != 0u; }
// Asks for the sector that holds element `at`, one that the kernel stores.
__device__ __forceinline__ void ask_for_sector(SectileAddress base, offset_t at) {
  prefetch_global(element_at<const unsigned char>(base, at));
}
