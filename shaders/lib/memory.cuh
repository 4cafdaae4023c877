// Global memory accesses by address: 1 to 16 bytes, values held in 32-bit words.
// The variant defines ELEMENT_BYTES (1, 2, 4, 8, 16) and WIDE (64-bit offsets).

// Signed, so that the compiler can move a constant part of an offset into the load's or store's immediate offset.
#ifdef WIDE
using offset_t = long long;
#else
using offset_t = int;
#endif

// Pointer to element `at`. The index is widened before it is scaled: byte offsets may exceed 2^32 where element offsets
// do not.
template <class T>
__device__ __forceinline__ T* element_at(SectileAddress base, offset_t at) {
  return global_pointer<T>(uint64(base.hi) << 32 | base.lo, uint64(at) * ELEMENT_BYTES);
}

// The address of element `at`.
__device__ __forceinline__ SectileAddress address_at(SectileAddress base, offset_t at) {
  const uint64 address = (uint64(base.hi) << 32 | base.lo) + uint64(at) * ELEMENT_BYTES;
  return {uint(address), uint(address >> 32)};
}

// Loads `bytes` bytes from element `at`. `bytes` is a power of two from ELEMENT_BYTES to 16, constant after
// specialization. Shorter values are returned in the low bits of word 0. The kernel must not write the source: __ldg
// uses the read-only path.
__device__ __forceinline__ uvec4 load_bytes(SectileAddress base, offset_t at, const uint bytes) {
  if (bytes == 16u) return words_of(__ldg(element_at<const uint4>(base, at)));
#if ELEMENT_BYTES <= 8
  if (bytes == 8u) return words_of(__ldg(element_at<const uint2>(base, at)));
#endif
#if ELEMENT_BYTES <= 4
  if (bytes == 4u) return words_of(__ldg(element_at<const uint>(base, at)));
#endif
#if ELEMENT_BYTES <= 2 && !defined(WORD_ACCESS)
  if (bytes == 2u) return words_of(uint(__ldg(element_at<const unsigned short>(base, at))));
#endif
#if ELEMENT_BYTES == 1 && !defined(WORD_ACCESS)
  if (bytes == 1u) return words_of(uint(__ldg(element_at<const unsigned char>(base, at))));
#endif
  return {};
}

__device__ __forceinline__ void store_bytes(SectileAddress base, offset_t at, const uint bytes, const uvec4& v) {
  if (bytes == 16u) store_global(element_at<uint4>(base, at), make_uint4(v[0], v[1], v[2], v[3]));
#if ELEMENT_BYTES <= 8
  if (bytes == 8u) store_global(element_at<uint2>(base, at), make_uint2(v[0], v[1]));
#endif
#if ELEMENT_BYTES <= 4
  if (bytes == 4u) store_global(element_at<uint>(base, at), v[0]);
#endif
#if ELEMENT_BYTES <= 2 && !defined(WORD_ACCESS)
  if (bytes == 2u) store_global(element_at<unsigned short>(base, at), static_cast<unsigned short>(v[0]));
#endif
#if ELEMENT_BYTES == 1 && !defined(WORD_ACCESS)
  if (bytes == 1u) store_global(element_at<unsigned char>(base, at), static_cast<unsigned char>(v[0]));
#endif
}
