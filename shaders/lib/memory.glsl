// Global memory accesses by address: 1 to 16 bytes, values held in 32-bit words.
// The variant defines ELEMENT_BYTES (1, 2, 4, 8, 16) and WIDE (64-bit offsets).
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#if ELEMENT_BYTES <= 2 && !defined(WORD_ACCESS)
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#endif
#if ELEMENT_BYTES == 1 && !defined(WORD_ACCESS)
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#endif
#ifdef WIDE
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#define offset_t int64_t
#else
#define offset_t int
#endif

// Arrays are members of the block and are indexed there: indexing the reference itself would emit Int64.
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Ref16 { uvec4 x[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Ref8 { uvec2 x[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Ref4 { uint x[]; };
#define SECTILE_REFS
#if ELEMENT_BYTES <= 2 && !defined(WORD_ACCESS)
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Ref2 { uint16_t x[]; };
#define SECTILE_REF2
#endif
#if ELEMENT_BYTES == 1 && !defined(WORD_ACCESS)
layout(buffer_reference, std430, buffer_reference_align = 1) buffer Ref1 { uint8_t x[]; };
#define SECTILE_REF1
#endif

// Element offset to access index. Offsets are never negative, so a shift is enough; a signed division would need a
// correction.
#if ELEMENT_BYTES == 1
#define ELEMENT_SHIFT 0
#elif ELEMENT_BYTES == 2
#define ELEMENT_SHIFT 1
#elif ELEMENT_BYTES == 4
#define ELEMENT_SHIFT 2
#elif ELEMENT_BYTES == 8
#define ELEMENT_SHIFT 3
#else
#define ELEMENT_SHIFT 4
#endif
#define SHIFT_OF(bytes) ((bytes) == 16 ? 4 - ELEMENT_SHIFT : (bytes) == 8 ? 3 - ELEMENT_SHIFT : \
                         (bytes) == 4 ? 2 - ELEMENT_SHIFT : (bytes) == 2 ? 1 - ELEMENT_SHIFT : 0)

#ifdef WIDE
// 64-bit offsets are added to the address: glslang indexes arrays by 32 bits.
#define AT(Ref, base, at, bytes) Ref(packUint2x32(base) + uint64_t(at) * ELEMENT_BYTES).x[0]
#else
#define AT(Ref, base, at, bytes) Ref(base).x[(at) >> SHIFT_OF(bytes)]
#endif

// Loads `bytes` bytes from element `at`. `bytes` is a power of two from ELEMENT_BYTES to 16, constant after
// specialization. Shorter values are returned in the low bits of word 0.
uvec4 load_bytes(uvec2 base, offset_t at, const uint bytes) {
  if (bytes == 16u) return AT(Ref16, base, at, 16);
#if ELEMENT_BYTES <= 8
  if (bytes == 8u) return uvec4(AT(Ref8, base, at, 8), 0u, 0u);
#endif
#if ELEMENT_BYTES <= 4
  if (bytes == 4u) return uvec4(AT(Ref4, base, at, 4), 0u, 0u, 0u);
#endif
#if ELEMENT_BYTES <= 2 && !defined(WORD_ACCESS)
  if (bytes == 2u) return uvec4(uint(AT(Ref2, base, at, 2)), 0u, 0u, 0u);
#endif
#if ELEMENT_BYTES == 1 && !defined(WORD_ACCESS)
  if (bytes == 1u) return uvec4(uint(AT(Ref1, base, at, 1)), 0u, 0u, 0u);
#endif
  return uvec4(0u);
}

void store_bytes(uvec2 base, offset_t at, const uint bytes, uvec4 v) {
  if (bytes == 16u) AT(Ref16, base, at, 16) = v;
#if ELEMENT_BYTES <= 8
  if (bytes == 8u) AT(Ref8, base, at, 8) = v.xy;
#endif
#if ELEMENT_BYTES <= 4
  if (bytes == 4u) AT(Ref4, base, at, 4) = v.x;
#endif
#if ELEMENT_BYTES <= 2 && !defined(WORD_ACCESS)
  if (bytes == 2u) AT(Ref2, base, at, 2) = uint16_t(v.x);
#endif
#if ELEMENT_BYTES == 1 && !defined(WORD_ACCESS)
  if (bytes == 1u) AT(Ref1, base, at, 1) = uint8_t(v.x);
#endif
}
