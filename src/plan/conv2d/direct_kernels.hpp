// What the kernels that are no GEMM share: conv2d_direct, conv2d_depthwise, conv2d_lanes, and Winograd's transforms.
#pragma once

#include "context.hpp"
#include "kernel_words.hpp"
#include "plan/gemm/step_words.hpp"

#include <sectile/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sectile::detail {

// Whether the device has the accesses that a step of the config makes.
bool narrow_accesses_fit(const Conv2dContext& c, const DirectConfig& d, Refusal& refusal);

// A step in the making, over slices of the plan's operands.
class DirectStep {
 public:
  DirectStep(const DirectConfig& config, std::span<const OperandSlice> slices);

  // The kernel's own words, after those that every stream begins with.
  template <class Words>
  void add(const Words& words) {
    words.pack(words_, constants_of(config_));
  }
  // The step. `a`, `b` and `d`: the slices whose addresses precede the words; there need be no `b`. Errors: as
  // make_plan.
  Result<Step> finish(const DeviceProfile& profile, std::string_view a, std::string_view b, std::string_view d);

 private:
  static GemmConstants constants_of(const DirectConfig& d) { return {.kEpilogue = d.epilogue, .kBType = d.types.b}; }
  WordAddress address(std::string_view slice) const;

  const DirectConfig& config_;
  std::span<const OperandSlice> slices_;
  StepWords words_;
};

// Thousandths of the cache lines, of 128 bytes each, that the elements of a subgroup's lanes, `apart` bytes apart, lie
// in.
std::uint64_t line_thousandths(const Conv2dContext& c, std::uint64_t apart);

// A config of conv2d_direct, conv2d_depthwise or conv2d_lanes: everything but its own constants, widths and workgroups.
DirectConfig direct_config(const Conv2dContext& c, const char* stem);
// Its step.
Result<Step> direct_step(const Conv2dContext& c, const DirectConfig& d);
// Refuses an image, or weights, that a kernel's 32-bit byte offsets do not reach.
bool direct_offsets_fit(const Conv2dContext& c, Refusal& refusal);

// The widest access of Y that C and the residual allow too, in elements, at most `most`: along channels, or along the
// pixels of an image. `align`: what the first element of each is aligned to.
std::uint32_t result_width(const Conv2dProblem& p, bool along_channels, std::uint32_t align, std::uint32_t most);

}  // namespace sectile::detail
