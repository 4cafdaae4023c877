// Further problems for the kernels of a case. A CPU driver compiles a kernel for seconds and runs a small problem in
// milliseconds; sizes, paddings, strides and pitches are pushed. So a kernel that was compiled for one problem is
// given hard ones too.
#pragma once

#include <sectile/plan.hpp>
#include <sectile/planner.hpp>
#include <sectile/problem.hpp>
#include <sectile/profile.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace sectile::reference {

// What makes a problem hard. A bit each; the names tell which operations have them.
enum class Side : std::uint8_t {
  // All: promised alignment of one element, where an element is smaller than 16 bytes.
  source_align,
  other_align,  // of weights or B
  result_align,
  // Convolutions. Sizes are the result's unless said otherwise.
  odd_height,
  odd_width,
  odd_pair,  // an even image of rows of an odd width: a pair of pixels crosses from one row into the next
  odd_inputs,
  odd_outputs,
  images,
  odd_images,    // several images, each an odd number of elements apart
  paddings,      // four different ones
  wide_padding,  // a row or column of the result that sees nothing but padding
  strides,       // another along height than along width
  dilations,
  unreached,   // the last row or column of the image is read by no window
  multiplier,  // more than one output of each group of a depthwise convolution
  parts,       // images in parts, because scratch is limited
  one_pixel,
  source_pitch,
  result_pitch,
  read_pitch,  // of C or the residual
  // Matmuls.
  odd_m,
  odd_n,
  odd_k,
  one_row,
  one_column,
  short_k,  // less than a step of any kernel
  batches,
  broadcast,  // one matrix for all batches
  a_pitch,
  b_pitch,
  d_pitch,
  odd_batches,  // an odd number of elements apart
  // Permutes.
  odd_source,  // the innermost axis of the source, or of the destination
  odd_destination,
  odd_outer,    // some other axis, of more than one element
  short_axis,   // an axis of one element
  source_rows,  // rows further apart than they are long
  destination_rows,
  source_offset,  // that is no multiple of two elements
  destination_offset,
  surplus,  // of a blocked axis
  kCount,
};
using Sides = std::uint64_t;
constexpr Sides bit(Side side) noexcept { return Sides{1} << static_cast<unsigned>(side); }
std::string_view name_of(Side side) noexcept;
// `plan`: of the problem; it tells whether images are in parts.
Sides sides_of(const Problem& problem, const Plan& plan);
Sides sides_of_operation(std::string_view operation);  // those that an operation's problems may have

// Problems of the same kind as the plan's, for which a plan with the same options (one that forces the candidate) needs
// no pipeline that the plan has not: at most so many, small, and together hard in many ways.
std::vector<Problem> siblings(const Plan& plan, const DeviceProfile& profile, const PlanOptions& options,
                              std::uint64_t seed, std::size_t most);

// A problem of the same types, layouts and operands, and other sizes, paddings, strides and pitches; may be invalid.
Problem redrawn(const Problem& problem, std::uint64_t seed);

}  // namespace sectile::reference
