// Builds a permute step and its parameter words (shaders/permute/permute.abi.h).
#pragma once

#include "kernel_words.hpp"
#include "nest.hpp"
#include "plan/access/limits.hpp"
#include "plan/strategy.hpp"

#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace sectile::detail {

// n / d == (umulhi(n, multiplier) + n) >> shift for every n below 2^31.
// Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994, figure 4.1.
struct FastDivision {
  std::uint32_t multiplier = 0;
  std::uint32_t shift = 0;
};
FastDivision fast_division(std::uint32_t d) noexcept;  // 1 <= d < 2^31

constexpr std::uint32_t divide(std::uint32_t n, FastDivision f) noexcept {
  const auto high = static_cast<std::uint32_t>((std::uint64_t{n} * f.multiplier) >> 32);
  return (high + n) >> f.shift;
}

// n / d == umulhi(n, multiplier) for n * d < 2^32 and d >= 2.
constexpr std::uint32_t small_multiplier(std::uint32_t d) noexcept {
  return static_cast<std::uint32_t>(((std::uint64_t{1} << 32) + d - 1) / d);
}

// One axis in the parameter words: its number of steps (tiles or elements) and the strides of a step.
struct StreamAxis {
  std::uint32_t count = 1;
  std::int64_t src_stride = 0, dst_stride = 0;
  std::array<std::int64_t, kMaxBounds> coef{};
  std::int64_t add_stride = 0, scale_step = 0, bias_step = 0;  // elementwise stage
};

struct PermuteConfig;

// Makes the step of a config over a nest: constants, push constants, addresses, ranges, and the grid folded to the
// profile's limits. Words that do not fit the push constants become specialization constants.
Result<Step> make_step(const PermuteConfig& config, const Nest& nest, const DeviceProfile& profile);

// A candidate's parameters, from which its step is made.
struct PermuteConfig {
  const char* stem = "";
  std::uint32_t element_bytes = 4;
  const char* variant = nullptr;  // without ".wide" or ".long"; null: "e<element_bytes>"
  bool offset64 = false;
  std::array<StreamAxis, kMaxRank> axis{};
  int axes = 0;
  int least_axes = 0;                 // that a step is made for; 0: axis_class() says
  FixedList<std::uint32_t, 24> own;   // the kernel's own words, packed
  std::uint32_t stage = 0;            // PERMUTE_FUSED_* bits
  FixedList<Constant, 16> constants;  // the kernel's own constants
  std::uint32_t workgroup = 64, required_subgroup_size = 0;
  std::uint64_t groups = 1;
  std::uint32_t workgroup_memory_bytes = 0;
  Result<Step> (*step)(const PermuteConfig&, const Nest&, const DeviceProfile&) = make_step;
  std::uint64_t bank_conflicts = 0;  // of one workgroup, sampled when the padding was chosen

  void add_axis(const NestAxis& from, std::uint32_t count);
  // The kernel's own words. `offset64` is set before.
  template <class Words, class... Constants>
  void set_own(const Words& words, const Constants&... constants_of_words) {
    WordList<24> sink{{}, offset64};
    words.pack(sink, constants_of_words...);
    own = sink.list;
  }
  void add_constant(std::uint32_t id, std::uint32_t value) { constants.add({id, value}); }
};

// Rounds the number of axes up to one of a few classes, so that problems of similar rank share a pipeline.
int axis_class(int axes, bool staged = false) noexcept;

// The nest's byte offsets reach 2^31 and need 64 bits.
bool needs_offset64(const Nest& nest) noexcept;
// The same for a kernel whose offsets may lie up to 64 KiB beyond the nest's.
bool nearly_needs_offset64(const Nest& nest) noexcept;
// A step has more words than are pushed. A kernel without .long variants takes its .wide one then: takes_wide().
bool exceeds_push(int axes, int own_words, std::uint32_t bounds = 0) noexcept;
// The most axes that do not, beside a kernel's own words: a step is made for as many, so that steps share pipelines.
int pushed_axes(int own_words, std::uint32_t bounds = 0) noexcept;
// What a step of such a kernel is made for: axis_class(), or fewer axes where the words of only so many are pushed.
int pushed_class(int axes, int own_words, std::uint32_t bounds) noexcept;

// Destination rows so short that the sectors at their ends count, with gaps behind them, on a GPU that reads such
// sectors one by one (gaps.cuh; there rows of 512 bytes gain 8 %, so long ones next to nothing).
bool has_slow_gaps(const Nest& nest, const DeviceProfile& profile);

}  // namespace sectile::detail
