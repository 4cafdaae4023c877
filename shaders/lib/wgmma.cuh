// Products of a warpgroup's matrices on sm_90a: both operands in workgroup memory, sums in registers (PTX ISA,
// "wgmma.mma_async"). Include after lib/cuda.cuh and gemm/base.cuh, which has acc_t and kType.
// A lane's sums: rows 16 * warp + lane / 4 and 8 more, of each 8 columns the two from 2 * (lane % 4) on; sum
// 4 * g + 2 * r + c is column c of row r of the group g of 8 columns.

// How an operand lies in workgroup memory, in lines whose chunks of 16 bytes are swizzled as tensor maps do it. `line`:
// bytes of a line, 32, 64 or 128. Along K a line is a row, and the lines follow each other. Across K a line is one k of
// as many rows as it has; the next rows are `block` bytes further on.
__device__ __forceinline__ constexpr uint64 operand_layout(const uint line, const uint block) {
  const uint swizzle = line == 128u ? 1u : line == 64u ? 2u : 3u;
  return uint64(swizzle) << 62 | uint64(8u * line >> 4) << 32 | uint64(block >> 4) << 16;
}
__device__ __forceinline__ uint64 operand_at(const uint64 layout, uint address) {
  return layout | (address & 0x3ffffu) >> 4;
}

#ifndef SECTILE_EMULATED   // tests/emulated/warpgroup_unit.hpp has its own version of this part

// A value that a warp's lanes have in common. The compiler does not know that, but keeps the result of a shuffle in a
// uniform register: operands' places are worked out there, without a transfer before each product.
__device__ __forceinline__ uint warp_uniform(uint v) { return __shfl_sync(0xffffffffu, v, 0); }

// Orders earlier accesses to sums and to workgroup memory before the products that follow.
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Returns when at most `pending` groups of products are not finished.
template <uint pending>
__device__ __forceinline__ void await_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

#ifdef INTEGER
#define SECTILE_SUM(v) "+r"(v)
#define SECTILE_PRODUCT(n, type, names, a, b, add, across_a, across_b, ...)                                       \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #add ", 0;\n"                                                \
               "wgmma.mma_async.sync.aligned.m64n" #n "k32.s32.s8.s8 {" names "}, %" #a ", %" #b ", p;\n}"        \
               : __VA_ARGS__                                                                                      \
               : "l"(at_a), "l"(at_b), "r"(continued))
#else
#define SECTILE_SUM(v) "+f"(v)
#define SECTILE_PRODUCT(n, type, names, a, b, add, across_a, across_b, ...)                                       \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #add ", 0;\n"                                                \
               "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" names "}, %" #a ", %" #b       \
               ", p, 1, 1, %" #across_a ", %" #across_b ";\n}"                                                    \
               : __VA_ARGS__                                                                                      \
               : "l"(at_a), "l"(at_b), "r"(continued), "n"(kAcrossA), "n"(kAcrossB))
#endif
#define SECTILE_NAMES0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define SECTILE_NAMES1 "%8, %9, %10, %11, %12, %13, %14, %15"
#define SECTILE_NAMES2 "%16, %17, %18, %19, %20, %21, %22, %23"
#define SECTILE_NAMES3 "%24, %25, %26, %27, %28, %29, %30, %31"
#define SECTILE_NAMES4 "%32, %33, %34, %35, %36, %37, %38, %39"
#define SECTILE_NAMES5 "%40, %41, %42, %43, %44, %45, %46, %47"
#define SECTILE_NAMES6 "%48, %49, %50, %51, %52, %53, %54, %55"
#define SECTILE_NAMES7 "%56, %57, %58, %59, %60, %61, %62, %63"
#define SECTILE_NAMES8 "%64, %65, %66, %67, %68, %69, %70, %71"
#define SECTILE_NAMES9 "%72, %73, %74, %75, %76, %77, %78, %79"
#define SECTILE_NAMES10 "%80, %81, %82, %83, %84, %85, %86, %87"
#define SECTILE_NAMES11 "%88, %89, %90, %91, %92, %93, %94, %95"
#define SECTILE_NAMES12 "%96, %97, %98, %99, %100, %101, %102, %103"
#define SECTILE_NAMES13 "%104, %105, %106, %107, %108, %109, %110, %111"
#define SECTILE_NAMES14 "%112, %113, %114, %115, %116, %117, %118, %119"
#define SECTILE_NAMES15 "%120, %121, %122, %123, %124, %125, %126, %127"
#define SECTILE_SUMS(i)                                                                          \
  SECTILE_SUM(d[8u * (i)]), SECTILE_SUM(d[8u * (i) + 1u]), SECTILE_SUM(d[8u * (i) + 2u]),        \
      SECTILE_SUM(d[8u * (i) + 3u]), SECTILE_SUM(d[8u * (i) + 4u]), SECTILE_SUM(d[8u * (i) + 5u]), \
      SECTILE_SUM(d[8u * (i) + 6u]), SECTILE_SUM(d[8u * (i) + 7u])
// The names and the sums of so many columns.
#define SECTILE_NAMES_16 SECTILE_NAMES0
#define SECTILE_SUMS_16 SECTILE_SUMS(0)
#define SECTILE_NAMES_32 SECTILE_NAMES_16 ", " SECTILE_NAMES1
#define SECTILE_SUMS_32 SECTILE_SUMS_16, SECTILE_SUMS(1)
#define SECTILE_NAMES_48 SECTILE_NAMES_32 ", " SECTILE_NAMES2
#define SECTILE_SUMS_48 SECTILE_SUMS_32, SECTILE_SUMS(2)
#define SECTILE_NAMES_64 SECTILE_NAMES_48 ", " SECTILE_NAMES3
#define SECTILE_SUMS_64 SECTILE_SUMS_48, SECTILE_SUMS(3)
#define SECTILE_NAMES_80 SECTILE_NAMES_64 ", " SECTILE_NAMES4
#define SECTILE_SUMS_80 SECTILE_SUMS_64, SECTILE_SUMS(4)
#define SECTILE_NAMES_96 SECTILE_NAMES_80 ", " SECTILE_NAMES5
#define SECTILE_SUMS_96 SECTILE_SUMS_80, SECTILE_SUMS(5)
#define SECTILE_NAMES_112 SECTILE_NAMES_96 ", " SECTILE_NAMES6
#define SECTILE_SUMS_112 SECTILE_SUMS_96, SECTILE_SUMS(6)
#define SECTILE_NAMES_128 SECTILE_NAMES_112 ", " SECTILE_NAMES7
#define SECTILE_SUMS_128 SECTILE_SUMS_112, SECTILE_SUMS(7)
#define SECTILE_NAMES_144 SECTILE_NAMES_128 ", " SECTILE_NAMES8
#define SECTILE_SUMS_144 SECTILE_SUMS_128, SECTILE_SUMS(8)
#define SECTILE_NAMES_160 SECTILE_NAMES_144 ", " SECTILE_NAMES9
#define SECTILE_SUMS_160 SECTILE_SUMS_144, SECTILE_SUMS(9)
#define SECTILE_NAMES_176 SECTILE_NAMES_160 ", " SECTILE_NAMES10
#define SECTILE_SUMS_176 SECTILE_SUMS_160, SECTILE_SUMS(10)
#define SECTILE_NAMES_192 SECTILE_NAMES_176 ", " SECTILE_NAMES11
#define SECTILE_SUMS_192 SECTILE_SUMS_176, SECTILE_SUMS(11)
#define SECTILE_NAMES_208 SECTILE_NAMES_192 ", " SECTILE_NAMES12
#define SECTILE_SUMS_208 SECTILE_SUMS_192, SECTILE_SUMS(12)
#define SECTILE_NAMES_224 SECTILE_NAMES_208 ", " SECTILE_NAMES13
#define SECTILE_SUMS_224 SECTILE_SUMS_208, SECTILE_SUMS(13)
#define SECTILE_NAMES_240 SECTILE_NAMES_224 ", " SECTILE_NAMES14
#define SECTILE_SUMS_240 SECTILE_SUMS_224, SECTILE_SUMS(14)
#define SECTILE_NAMES_256 SECTILE_NAMES_240 ", " SECTILE_NAMES15
#define SECTILE_SUMS_256 SECTILE_SUMS_240, SECTILE_SUMS(15)

// Keeps the compiler from moving accesses to sums past here.
template <uint count>
__device__ __forceinline__ void pin_sums(acc_t (&d)[count]) {
#pragma unroll
  for (uint i = 0u; i < count; ++i) asm volatile("" : SECTILE_SUM(d[i])::"memory");
}

// Keeps the compiler from taking the words' registers for others before here: products read them until they are waited
// for.
template <uint count>
__device__ __forceinline__ void pin_words(uint (&words)[count]) {
#pragma unroll
  for (uint i = 0u; i < count; ++i) asm volatile("" : "+r"(words[i])::"memory");
}

// d = A B + (continued ? d : 0), elements of `type`: 64 rows of A, `columns` of B, 32 bytes along K of each.
template <uint type, uint columns, bool kAcrossA, bool kAcrossB>
__device__ __forceinline__ void add_products(acc_t (&d)[columns / 2u], uint64 at_a, uint64 at_b, uint continued) {
  static_assert(columns % 16u == 0u && columns <= 256u);
#define SECTILE_PRODUCT16(type) \
  SECTILE_PRODUCT(16, type, SECTILE_NAMES_16, 8, 9, 10, 11, 12, SECTILE_SUMS_16)
#define SECTILE_PRODUCT32(type) \
  SECTILE_PRODUCT(32, type, SECTILE_NAMES_32, 16, 17, 18, 19, 20, SECTILE_SUMS_32)
#define SECTILE_PRODUCT48(type) \
  SECTILE_PRODUCT(48, type, SECTILE_NAMES_48, 24, 25, 26, 27, 28, SECTILE_SUMS_48)
#define SECTILE_PRODUCT64(type) \
  SECTILE_PRODUCT(64, type, SECTILE_NAMES_64, 32, 33, 34, 35, 36, SECTILE_SUMS_64)
#define SECTILE_PRODUCT80(type) \
  SECTILE_PRODUCT(80, type, SECTILE_NAMES_80, 40, 41, 42, 43, 44, SECTILE_SUMS_80)
#define SECTILE_PRODUCT96(type) \
  SECTILE_PRODUCT(96, type, SECTILE_NAMES_96, 48, 49, 50, 51, 52, SECTILE_SUMS_96)
#define SECTILE_PRODUCT112(type) \
  SECTILE_PRODUCT(112, type, SECTILE_NAMES_112, 56, 57, 58, 59, 60, SECTILE_SUMS_112)
#define SECTILE_PRODUCT128(type) \
  SECTILE_PRODUCT(128, type, SECTILE_NAMES_128, 64, 65, 66, 67, 68, SECTILE_SUMS_128)
#define SECTILE_PRODUCT144(type) \
  SECTILE_PRODUCT(144, type, SECTILE_NAMES_144, 72, 73, 74, 75, 76, SECTILE_SUMS_144)
#define SECTILE_PRODUCT160(type) \
  SECTILE_PRODUCT(160, type, SECTILE_NAMES_160, 80, 81, 82, 83, 84, SECTILE_SUMS_160)
#define SECTILE_PRODUCT176(type) \
  SECTILE_PRODUCT(176, type, SECTILE_NAMES_176, 88, 89, 90, 91, 92, SECTILE_SUMS_176)
#define SECTILE_PRODUCT192(type) \
  SECTILE_PRODUCT(192, type, SECTILE_NAMES_192, 96, 97, 98, 99, 100, SECTILE_SUMS_192)
#define SECTILE_PRODUCT208(type) \
  SECTILE_PRODUCT(208, type, SECTILE_NAMES_208, 104, 105, 106, 107, 108, SECTILE_SUMS_208)
#define SECTILE_PRODUCT224(type) \
  SECTILE_PRODUCT(224, type, SECTILE_NAMES_224, 112, 113, 114, 115, 116, SECTILE_SUMS_224)
#define SECTILE_PRODUCT240(type) \
  SECTILE_PRODUCT(240, type, SECTILE_NAMES_240, 120, 121, 122, 123, 124, SECTILE_SUMS_240)
#define SECTILE_PRODUCT256(type) \
  SECTILE_PRODUCT(256, type, SECTILE_NAMES_256, 128, 129, 130, 131, 132, SECTILE_SUMS_256)
#define SECTILE_PRODUCTS(n)                                  \
  if constexpr (columns == n##u) {                           \
    if constexpr (type == SECTILE_TYPE_BF16) {               \
      SECTILE_PRODUCT##n("bf16");                            \
    } else {                                                 \
      SECTILE_PRODUCT##n("f16");                             \
    }                                                        \
  }
  SECTILE_PRODUCTS(16)
  SECTILE_PRODUCTS(32)
  SECTILE_PRODUCTS(48)
  SECTILE_PRODUCTS(64)
  SECTILE_PRODUCTS(80)
  SECTILE_PRODUCTS(96)
  SECTILE_PRODUCTS(112)
  SECTILE_PRODUCTS(128)
  SECTILE_PRODUCTS(144)
  SECTILE_PRODUCTS(160)
  SECTILE_PRODUCTS(176)
  SECTILE_PRODUCTS(192)
  SECTILE_PRODUCTS(208)
  SECTILE_PRODUCTS(224)
  SECTILE_PRODUCTS(240)
  SECTILE_PRODUCTS(256)
}

#ifndef INTEGER
// d += A B, elements of `type`, A from registers: a lane has of rows 16 * warp + lane / 4 and 8 more the k from
// 2 * (lane % 4) on, two in a word, then those 8 further on.
#define SECTILE_WORDS_PRODUCT(n, type, names, a0, a1, a2, a3, b, across, ...)                                          \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" names "}, {%" #a0 ", %" #a1 ", %" \
               #a2 ", %" #a3 "}, %" #b ", 1, 1, 1, %" #across ";"                                                      \
               : __VA_ARGS__                                                                                           \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(at_b), "n"(kAcrossB))
template <uint type, uint columns, bool kAcrossB>
__device__ __forceinline__ void add_products_of_words(acc_t (&d)[columns / 2u], const uint* a, uint64 at_b) {
  static_assert(columns % 16u == 0u && columns <= 256u);
#define SECTILE_WORDS_PRODUCTS(n, ...)                                                                                 \
  if constexpr (columns == n##u) {                                                                                     \
    if constexpr (type == SECTILE_TYPE_BF16) {                                                                         \
      SECTILE_WORDS_PRODUCT(n, "bf16", SECTILE_NAMES_##n, __VA_ARGS__, SECTILE_SUMS_##n);                              \
    } else {                                                                                                           \
      SECTILE_WORDS_PRODUCT(n, "f16", SECTILE_NAMES_##n, __VA_ARGS__, SECTILE_SUMS_##n);                               \
    }                                                                                                                  \
  }
  SECTILE_WORDS_PRODUCTS(16, 8, 9, 10, 11, 12, 13)
  SECTILE_WORDS_PRODUCTS(32, 16, 17, 18, 19, 20, 21)
  SECTILE_WORDS_PRODUCTS(48, 24, 25, 26, 27, 28, 29)
  SECTILE_WORDS_PRODUCTS(64, 32, 33, 34, 35, 36, 37)
  SECTILE_WORDS_PRODUCTS(80, 40, 41, 42, 43, 44, 45)
  SECTILE_WORDS_PRODUCTS(96, 48, 49, 50, 51, 52, 53)
  SECTILE_WORDS_PRODUCTS(112, 56, 57, 58, 59, 60, 61)
  SECTILE_WORDS_PRODUCTS(128, 64, 65, 66, 67, 68, 69)
  SECTILE_WORDS_PRODUCTS(144, 72, 73, 74, 75, 76, 77)
  SECTILE_WORDS_PRODUCTS(160, 80, 81, 82, 83, 84, 85)
  SECTILE_WORDS_PRODUCTS(176, 88, 89, 90, 91, 92, 93)
  SECTILE_WORDS_PRODUCTS(192, 96, 97, 98, 99, 100, 101)
  SECTILE_WORDS_PRODUCTS(208, 104, 105, 106, 107, 108, 109)
  SECTILE_WORDS_PRODUCTS(224, 112, 113, 114, 115, 116, 117)
  SECTILE_WORDS_PRODUCTS(240, 120, 121, 122, 123, 124, 125)
  SECTILE_WORDS_PRODUCTS(256, 128, 129, 130, 131, 132, 133)
}
#endif

#endif
