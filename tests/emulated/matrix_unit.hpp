// What kernels see of shaders/lib/mma.cuh on the host: matrix loads, matrix products, asynchronous copies. Each lane of
// a warp comes to each of them. CMake includes it for the kernels that include that file.
#pragma once

#include "kernel.hpp"

#include <algorithm>
#include <array>

namespace sectile::emulated {

// Of products of a warpgroup (warpgroup_unit.hpp): their elements' type, their columns, and which operands lie across
// K.
constexpr unsigned kWarpgroupLanes = 128;
struct ProductShape {
  unsigned type = 0, columns = 0;
  bool across_a = false, across_b = false;
  bool words_a = false;  // A is in registers
  bool operator==(const ProductShape&) const = default;
};

// Words of each lane of this invocation's warp, once all have handed theirs in.
using Words = std::array<unsigned, 6>;
const Words* exchange(const Words& words);

// An asynchronous copy's bytes stay outside workgroup memory until their invocation waits for them.
void note_copy(unsigned char* to, const std::array<unsigned char, 16>& data, unsigned bytes);
void note_copy(unsigned to, const std::array<unsigned char, 16>& data, unsigned bytes);  // to requested memory
void end_copy_group();
void await_copy_groups(unsigned but);

// Stores to the workgroup memory that the launch requested, at an address of it.
void store_requested(unsigned address, const void* data, unsigned bytes);

// A byte of a kernel's workgroup memory.
class WorkgroupAddress {
 public:
  WorkgroupAddress(Shared<unsigned char>& memory, unsigned byte) : memory_(&memory), byte_(byte) {}
  WorkgroupAddress operator+(unsigned bytes) const { return {*memory_, byte_ + bytes}; }
  unsigned char* access(unsigned bytes, const Where& where) const {
    unsigned char* const at = &memory_->at(byte_, where);
    if (tracing) widen_word(at, bytes);
    return at;
  }

 private:
  Shared<unsigned char>* memory_;
  unsigned byte_;
};

#define SECTILE_SHARED_BYTES(name, count)                                                 \
  Shared<unsigned char> name##_bytes{*this, count};                                       \
  unsigned char& name(unsigned byte, unsigned more = 0, Where where = Where::current()) { \
    return name##_bytes.at(byte + more, where);                                           \
  }                                                                                       \
  WorkgroupAddress workgroup_address(unsigned char&) { return {name##_bytes, 0}; }

// Lane l has the address of row l % 8 of matrix l / 8.
inline std::array<Words, kWarp> rows_of_matrices(WorkgroupAddress row, const Where& where) {
  constexpr unsigned kRow = 16;
  Words own{};
  std::memcpy(own.data(), row.access(kRow, where), kRow);
  std::array<Words, kWarp> rows;
  std::copy_n(exchange(own), kWarp, rows.begin());
  return rows;
}
inline void load_matrices(unsigned* v, WorkgroupAddress row, Where where = Where::current()) {
  const auto rows = rows_of_matrices(row, where);
  const unsigned lane = threadIdx.x % kWarp;
  for (unsigned j = 0; j < 4; ++j) v[j] = rows[8 * j + lane / 4][lane % 4];
}
inline void load_transposed_matrices(unsigned* v, WorkgroupAddress row, Where where = Where::current()) {
  const auto rows = rows_of_matrices(row, where);
  const unsigned lane = threadIdx.x % kWarp, column = lane / 4;
  const auto element = [&](unsigned matrix, unsigned r) {
    return rows[8 * matrix + r][column / 2] >> (16 * (column % 2)) & 0xffffu;
  };
  for (unsigned j = 0; j < 4; ++j) v[j] = element(j, 2 * (lane % 4)) | element(j, 2 * (lane % 4) + 1) << 16;
}

// Adds the products of a warp's words to this lane's sums: of rows lane / 4 and, with two `rows`, lane / 4 + 8, and of
// columns 2 * (lane % 4) and the next. `halves`: of K. product(a word of A, a word of B): the sum of its products.
template <class Sum, class Product>
void add_products(Sum* c, const unsigned* a, const unsigned* b, unsigned halves, unsigned rows, Product product) {
  Words own{};  // A's, then B's
  for (unsigned h = 0; h < halves; ++h) {
    for (unsigned r = 0; r < rows; ++r) own[2 * h + r] = a[rows * h + r];
    own[4 + h] = b[h];
  }
  const Words* const all = exchange(own);  // no other exchange before they are read
  const unsigned lane = threadIdx.x % kWarp;
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned e = 0; e < 2; ++e) {
      auto sum = product(0u, 0u);
      for (unsigned h = 0; h < halves; ++h)
        for (unsigned t = 0; t < 4; ++t)
          sum += product(all[lane / 4 * 4 + t][2 * h + r], all[(2 * (lane % 4) + e) * 4 + t][4 + h]);
      c[2 * r + e] = static_cast<Sum>(c[2 * r + e] + static_cast<Sum>(sum));
    }
}

inline double f16_dot(unsigned a, unsigned b) {
  return double{half_to_float(a & 0xffffu)} * half_to_float(b & 0xffffu) +
         double{half_to_float(a >> 16)} * half_to_float(b >> 16);
}
inline double bf16_products(unsigned a, unsigned b) {
  return double{__uint_as_float(a << 16)} * __uint_as_float(b << 16) +
         double{__uint_as_float(a & 0xffff0000u)} * __uint_as_float(b & 0xffff0000u);
}
inline unsigned s8_products(unsigned a, unsigned b) {
  return static_cast<unsigned>(__dp4a(static_cast<int>(a), static_cast<int>(b), 0));
}
// Two f16 sums in each word.
inline void add_products_f16(unsigned* c, const unsigned* a, const unsigned* b, unsigned halves) {
  std::array<float, 4> sums{};
  add_products(sums.data(), a, b, halves, 2, f16_dot);
  for (unsigned r = 0; r < 2; ++r)
    c[r] = float_to_half(half_to_float(c[r] & 0xffffu) + sums[2 * r]) |
           float_to_half(half_to_float(c[r] >> 16) + sums[2 * r + 1]) << 16;
}
inline void add_products_s8(int* c, const unsigned* a, const unsigned* b, unsigned halves, unsigned rows) {
  std::array<unsigned, 4> sums{};
  for (unsigned i = 0; i < 2 * rows; ++i) sums[i] = static_cast<unsigned>(c[i]);
  add_products(sums.data(), a, b, halves, rows, s8_products);
  for (unsigned i = 0; i < 2 * rows; ++i) c[i] = static_cast<int>(sums[i]);
}

inline void mma_f16(float* c, const unsigned* a, const unsigned* b) { add_products(c, a, b, 2, 2, f16_dot); }
inline void mma_bf16(float* c, const unsigned* a, const unsigned* b) { add_products(c, a, b, 2, 2, bf16_products); }
inline void mma_f16_f16(unsigned* c, const unsigned* a, const unsigned* b) { add_products_f16(c, a, b, 2); }
inline void mma_s8(int* c, const unsigned* a, const unsigned* b) { add_products_s8(c, a, b, 2, 2); }
inline void mma_f16_75(float* c, const unsigned* a, unsigned b) { add_products(c, a, &b, 1, 2, f16_dot); }
inline void mma_f16_f16_75(unsigned* c, const unsigned* a, unsigned b) { add_products_f16(c, a, &b, 1); }
inline void mma_s8_75(int* c, unsigned a, unsigned b) { add_products_s8(c, &a, &b, 1, 1); }

// The first byte of a load or copy that is inside the step's ranges. A word of 4 bytes may begin in front of an operand
// that is not aligned to 4. Notes what may not be.
unsigned first_inside(const unsigned char* source, unsigned read, unsigned bytes, const Where& where);
// The first `read` of `bytes` bytes, and zeros behind them.
inline std::array<unsigned char, 16> part_of(const unsigned char* source, unsigned read, unsigned bytes,
                                             const Where& where) {
  if (read > bytes) refuse("a copy reads more bytes than it writes");
  std::array<unsigned char, 16> data{};
  for (unsigned i = read != 0 ? first_inside(source, read, bytes, where) : 0; i < read; ++i) data[i] = source[i];
  return data;
}
inline unsigned load_word_part(unsigned long long from, int end, unsigned unit, Where where = Where::current()) {
  if (end > 0 && end < 4 && static_cast<unsigned>(end) % unit != 0) refuse("a word ends inside an element");
  const unsigned read = end >= 4 ? 4 : end >= 2 ? 2 : end == 1 ? 1 : 0;
  const auto* const source = reinterpret_cast<const unsigned char*>(from);
  unsigned word = 0;
  std::memcpy(&word, part_of(source, read, sizeof word, where).data(), sizeof word);
  return word;
}

inline void start_copy(WorkgroupAddress to, unsigned long long from, unsigned bytes, unsigned read,
                       Where where = Where::current()) {
  unsigned char* const place = to.access(bytes, where);
  note_copy(place, part_of(reinterpret_cast<const unsigned char*>(from), read, bytes, where), bytes);
}

}  // namespace sectile::emulated
