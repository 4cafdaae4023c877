// The shape of permute_box's boxes. Tests use this header too.
#pragma once

#include "strategy.hpp"

#include <array>

namespace sectile::detail {

inline constexpr int kMaxBoxed = 3;  // PERMUTE_BOX_AXES

struct BoxRow {
  std::uint32_t run_s, run_d;  // desired bytes of a contiguous run in the source and in the destination
  std::uint32_t workgroup;
  std::uint32_t unroll;  // loads in flight
  std::uint32_t access;  // maximum bytes of one access
};

struct Box {
  int boxed = 0;
  std::array<int, kMaxBoxed> axis{};  // nest axes in the source's order
  std::array<std::uint32_t, kMaxBoxed> size{1, 1, 1}, last{1, 1, 1}, count{1, 1, 1};
  std::array<int, kMaxBoxed> order{};  // boxed axes (0..boxed-1) in the destination's order
  std::uint32_t elements = 1;
  std::uint32_t load_vector = 1, store_vector = 1;
  std::uint32_t padding_shift = 31, padding = 0;
  std::uint32_t shared_words = 0;
};

// Returns false with a reason if the row gives no box for the nest.
bool build_box(const PermuteContext& c, const BoxRow& row, Box& box, Refusal& refusal);

// A workgroup's bank conflicts.
std::uint64_t box_conflicts(const PermuteContext& c, const BoxRow& row, const Box& box, bool all);

}  // namespace sectile::detail
