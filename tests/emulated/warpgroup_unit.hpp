// What kernels see of shaders/lib/tma.cuh, pipeline.cuh, copy.cuh and wgmma.cuh on the host: copies of boxes, barriers
// with phases, clusters, products of warpgroups. CMake includes it for the kernels that include lib/wgmma.cuh.
//
// What it keeps to: phases by parity, so that a wait for a phase two ahead passes early; bytes that a barrier expects;
// stores that are not published before copies and products read them; products that read workgroup memory as late as
// they may, when they are waited for, and copies that land early or late (set_order()). What a copy goes to cannot be
// read, by anybody, from its beginning on. What it does not show: warps of
// a warpgroup that run apart between a wait for products and the next one; the order of memory accesses that a barrier
// of a cluster has or has not; registers that a warpgroup has given up.
#pragma once

#include "matrix_unit.hpp"

namespace sectile::emulated {

// The first address of requested memory. Each of its bytes has one, as on the GPU.
constexpr unsigned kRequestedMemory = 1024;
unsigned requested_memory();

// The address in a line's own order of 16-byte chunks, by which it is stored.
inline unsigned swizzled(unsigned address, unsigned line) { return address ^ (address / 128 % (line / 16)) * 16; }

// ---- barriers

void make_barrier(unsigned barrier, unsigned arrivals);
void publish_barriers();
void arrive_expecting(unsigned barrier, unsigned bytes);
void arrive_at(unsigned barrier, unsigned rank);
void arrive(unsigned barrier);
void await_phase(unsigned barrier, unsigned parity);
inline void await_phase_of_cluster(unsigned barrier, unsigned parity) { await_phase(barrier, parity); }
void come_to_barrier(unsigned number, unsigned invocations);
void named_barrier(unsigned number, unsigned invocations);

// ---- clusters

unsigned cluster_rank();
void meet_cluster();
void send_words(unsigned address, unsigned rank, unsigned barrier, std::array<unsigned, 4> words);
template <class V>
void send_words(unsigned address, unsigned rank, unsigned barrier, const V& v) {
  send_words(address, rank, barrier, std::array<unsigned, 4>{v[0], v[1], v[2], v[3]});
}

// ---- warps

inline void __syncwarp() { exchange(0u); }  // NOLINT(bugprone-reserved-identifier): CUDA's own name
inline unsigned warp_uniform(unsigned v) {
  if (exchange(v)[0] != v) refuse("a warp's lanes have different values of what they have in common");
  return v;
}
void trade_registers(unsigned count, bool takes);
inline auto keep_registers_with(unsigned count) {
  return [count] { trade_registers(count, false); };
}
inline auto take_registers_with(unsigned count) {
  return [count] { trade_registers(count, true); };
}

// ---- copies

inline void prefetch_map(const TensorMap*) {}
// `c`: of the box's first element; `ranks`: a bit for each workgroup of the cluster that gets it.
void copy_box(unsigned rank, unsigned to, const TensorMap& map, const int (&c)[5], unsigned barrier, unsigned ranks);
inline auto copy_in_with(unsigned rank) {
  return [rank](unsigned to, const TensorMap* map, const int(&c)[5], unsigned barrier) {
    copy_box(rank, to, *map, c, barrier, 1u << cluster_rank());
  };
}
inline auto copy_in_to_all_with(unsigned rank) {
  return [rank](unsigned to, const TensorMap* map, const int(&c)[5], unsigned barrier, unsigned ranks) {
    copy_box(rank, to, *map, c, barrier, ranks);
  };
}
void publish_to_copies();

inline void copy_part(unsigned to, unsigned long long from, unsigned bytes, unsigned read,
                      Where where = Where::current()) {
  if (bytes != 4 && bytes != 8 && bytes != 16) refuse("a copy is not of 4, 8 or 16 bytes");
  note_copy(to, part_of(global_pointer<const unsigned char>(from, 0), read, bytes, where), bytes);
}
inline void commit_copies() { end_copy_group(); }
inline auto await_copy_groups_with(unsigned pending) {
  return [pending] { await_copy_groups(pending); };
}
inline void arrive_when_copied(unsigned barrier) {
  end_copy_group();
  await_copy_groups(0);
  arrive(barrier);
}

// Four words that become the kernel's own type.
struct FourWords {
  unsigned w[4];
  template <class V>
  operator V() const {  // NOLINT(google-explicit-constructor)
    V v{};
    for (unsigned i = 0; i < 4; ++i) v[i] = w[i];
    return v;
  }
  unsigned operator[](unsigned i) const { return w[i]; }
};
void load_requested(unsigned address, void* data, unsigned bytes);
inline FourWords load_place(unsigned address, unsigned bytes) {
  FourWords v{};
  load_requested(address, v.w, bytes);
  return v;
}
template <class V>
void store_place(unsigned address, unsigned bytes, const V& v) {
  const std::array<unsigned, 4> words{v[0], v[1], v[2], v[3]};
  store_requested(address, words.data(), bytes);
}

// ---- products

void begin_products();
void commit_products();
void await_products(unsigned pending);
inline auto await_products_with(unsigned pending) {
  return [pending] { await_products(pending); };
}
// The order of accesses to sums and words is that of the source.
template <class Sums>
void pin_sums(Sums&) {}
template <class Words>
void pin_words(Words&) {}
// `words`: of A, if it is in registers; they too are read when the products are waited for.
void add_products(const ProductShape& shape, void* sums, std::uint64_t a, std::uint64_t b,
                  const unsigned* words = nullptr);
inline auto add_products_with(unsigned type, unsigned columns, bool across_a, bool across_b) {
  return [=]<class Sum, std::size_t count>(Sum(&sums)[count], std::uint64_t a, std::uint64_t b, unsigned continued) {
    if (continued == 0 || columns / 2 > count) refuse("products of this form are not emulated");
    if (std::is_same_v<Sum, int> != (type == SECTILE_TYPE_I8)) refuse("sums of another type than the products'");
    add_products({type, columns, across_a, across_b}, &sums, a, b);
  };
}
inline auto add_products_of_words_with(unsigned type, unsigned columns, bool across_b) {
  return [=]<std::size_t count>(float(&sums)[count], const unsigned* words, std::uint64_t b) {
    if (columns / 2 > count || type == SECTILE_TYPE_I8) refuse("products of this form are not emulated");
    add_products({type, columns, false, across_b, true}, &sums, 0, b, words);
  };
}

}  // namespace sectile::emulated
