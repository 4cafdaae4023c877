// Types and functions that the convolution strategies share.
#pragma once

#include "plan/gemm/context.hpp"
#include "plan/gemm/cost.hpp"
#include "plan/gemm/plan.hpp"
#include "plan/gemm/split.hpp"
#include "plan/gemm/steps.hpp"
#include "plan/job.hpp"
#include "problem.hpp"

#include "lib/conv2d.abi.h"

#include <sectile/planner.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::detail {

// A part of one of the plan's operands, under the name that a matmul's or a permute's steps have for it.
struct OperandSlice {
  std::string name;           // "a"
  std::uint32_t operand = 0;  // of the plan
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t align = 16;
};

// A GEMM that a problem is computed as. Kernels without tiles give other meanings to some of its numbers
// (conv2d_direct.abi.h).
struct Conv2dGemm {
  Gemm gemm;
  std::unique_ptr<GemmContext> context;  // none where `refusal` says why
  std::vector<OperandSlice> parts;       // operands of the product
  std::vector<Step> before, after;       // permutes or transforms into scratch and out of it
  const char* extra_steps = "permutes";  // what these are
  std::int64_t extra_steps_cost = 0;     // picoseconds of these
  std::uint64_t scratch_bytes = 0;       // that they take
  // The images may be computed in parts, one behind the other in the same scratch. All of this is the first part's. The
  // others have the same steps but the first `once` ones, whose cost is not in `extra_steps_cost`.
  std::vector<std::uint64_t> parts_after;  // the first image of each of the others
  std::vector<std::uint64_t> image_bytes;  // from an image to the next one, of each of the plan's operands
  std::size_t filter_transform_steps = 0;
  std::int64_t filter_transform_cost = 0;
  std::string suffix;             // of candidates' names: " x=nhwc w=krsc"
  std::string refusal;            // why it cannot be computed; empty: it can
  bool simt_last_resort = false;  // conv2d_simt computes it only where no other product can be
};

// A candidate's parameters.
// What a workgroup of a kernel without tiles spends, where it is counted: thousandths of a multiprocessor's clocks.
struct WorkgroupClocks {
  std::uint64_t issue = 0;    // instructions
  std::uint64_t lines = 0;    // cache lines of its loads and stores
  std::uint64_t latency = 0;  // of an invocation alone, which others beside it do not hide
};

struct Conv2dConfig : GemmConfig {
  const Conv2dGemm* product = nullptr;
  std::uint64_t groups = 0;            // workgroups of a kernel whose tiles are not a matmul's; 0: as a matmul
  const GemmStrategy* rows = nullptr;  // the table of a product's candidate, and its row
  std::uint32_t row = 0;
  std::uint32_t memory_permille = 1000;         // of memory's rate that the accesses of a kernel without tiles reach
  std::optional<WorkgroupClocks> counted = {};  // in place of rate_permille
};

// A problem on a device.
struct Conv2dContext {
  struct Estimate {
    AccessCount interior;
  };

  const Conv2dProblem& problem;
  ImageSize out;
  const DeviceProfile& profile;
  const PlanOptions& options;
  const ExtraRows* extra = nullptr;
  std::span<const PlanOperand> operands;  // the plan's; the last one is the scratch
  CostModel model;
  Limits limits;
  std::vector<std::unique_ptr<Conv2dGemm>> products;  // for the strategies of gemm.cpp
  std::vector<const Conv2dGemm*> of_simt, of_coopmat, of_winograd;
  std::unique_ptr<Conv2dGemm> whole;  // for kernels without tiles of a product

  bool cpu() const noexcept { return profile.kind == DeviceKind::cpu; }
};

using Conv2dStrategy = Strategy<Conv2dContext, Conv2dConfig>;

extern const Conv2dStrategy kConv2dSimt, kConv2dCoopmat, kConv2dWinograd, kConv2dDepthwise, kConv2dLanes, kConv2dDirect;

Conv2dContext conv2d_context(const Conv2dProblem& problem, const DeviceProfile& profile, const PlanOptions& options,
                             std::span<const PlanOperand> operands, const ExtraRows* extra = nullptr);

// The parts of scratch begin at multiples of this.
inline constexpr std::uint32_t kScratchAlign = 256;
inline std::uint64_t aligned_scratch(std::uint64_t bytes) { return ceil_div(bytes, kScratchAlign) * kScratchAlign; }

// ---- products.cpp

// A matmul with the problem's types, epilogue and alignments; `channels`: where the result has the output channels.
Gemm gemm_for(const Conv2dProblem& problem, PerAxis channels);
// KRSC too where KCRS is the same: a group has one channel, or the filter one element.
FilterLayout filter_layout(const Conv2dProblem& problem);
// How a product treats the problem's operands.
struct GemmMapping {
  bool image_is_b = false, along_pixels = false;
  bool in_chunks = false;                               // along pixels, and conv2d_coopmat can load it so
  bool x_nhwc = false, w_krsc = false, y_nhwc = false;  // repacked
};
// Sets a matmul's sizes, transposes and strides. The image's leading dimension is its pixel pitch.
void set_sizes(Gemm& m, const Conv2dProblem& problem, const GemmMapping& way);
// What no size or stride of a matmul may exceed.
inline constexpr std::int64_t kMostSize = 0x7fffffff;
std::int64_t greatest_size(const Gemm& m) noexcept;
// The products that the problem can be computed as.
void add_gemms(Conv2dContext& c);

// ---- whole.cpp

// Words, addresses and constants of a kernel that has a matmul's words and gathers no operand.
struct OwnWords final : GatheredOperand {
  std::uint32_t width(std::uint32_t) const override { return 1; }
  bool offsets_fit(std::int64_t, std::int64_t, Refusal&) const override { return true; }
  std::int64_t element(std::uint32_t, std::uint32_t) const override { return -1; }
  std::int64_t elements() const override { return 0; }
  FixedList<Constant, 8> constants(std::uint32_t) const override { return own; }

  FixedList<Constant, 8> own;
};

// The problem as conv2d_direct, conv2d_depthwise and conv2d_lanes are told it.
std::unique_ptr<Conv2dGemm> whole_problem(const Conv2dContext& c);
// A config of one of them: everything but its own constants, widths and workgroups.
Conv2dConfig whole_config(const Conv2dContext& c, const char* stem);
// Refuses an image, or weights, that a kernel's 32-bit byte offsets do not reach.
bool whole_offsets_fit(const Conv2dContext& c, Refusal& refusal);

// ---- winograd.cpp

// The products of Winograd's algorithm, with its transforms before and after them.
std::unique_ptr<Conv2dGemm> winograd_gemm(const Conv2dContext& c);

// ---- image.cpp

// How a product reads the image.
struct ImageAccess {
  ImageStrides at;
  bool is_b = false;          // its batches are images, otherwise groups
  bool along_pixels = false;  // otherwise along channels
  bool in_chunks = false;     // along pixels: conv2d_coopmat can load it
  std::uint32_t align = 16;   // bytes, of the first element
  bool few_pipelines = false;
};
std::shared_ptr<const GatheredOperand> gathered_image(const Conv2dProblem& problem, const ImageAccess& reading);
// Whether the pixels of all images are columns of one matrix, where they are columns: tiles of 128 columns of each
// image for itself have 3 % more columns than the image, or more, and the kernels' numbers hold what a tile of several
// images needs.
bool flattens_images(const Conv2dProblem& problem) noexcept;
// Elements from a group's first channel to the next group's.
std::int64_t group_step(const Conv2dProblem& problem, const ImageStrides& at) noexcept;
// Appends what all kernels are told of the prologue and of paddings, strides and dilations.
std::uint32_t prologue_bits(const Conv2dProblem& problem) noexcept;
std::uint32_t pack_u16x2(std::int64_t low, std::int64_t high) noexcept;

// ---- steps.cpp

// The operand's index in the plan.
std::uint32_t operand_index(std::span<const PlanOperand> operands, std::string_view name);
// The whole of an operand of the plan.
OperandSlice whole_slice(std::span<const PlanOperand> operands, std::string_view operand, std::string_view as);
// Appends a part of so many bytes to the scratch that the product's other steps need.
OperandSlice add_scratch(const Conv2dContext& c, Conv2dGemm& product, std::string_view as, std::uint64_t bytes);
// Lets steps over `parts` access the plan's operands that these lie in.
void place(std::span<Step> steps, std::span<const OperandSlice> parts);
// Appends the steps of a permute from one part to another to `steps`, and adds its cost. Errors: as make_plan.
Result<void> add_permute(const Conv2dContext& c, const PermuteProblem& problem, const OperandSlice& from,
                         const OperandSlice& to, std::vector<Step>& steps, std::int64_t& cost);
// The step of a kernel whose words are a matmul's, with so many workgroups, over parts of the plan's operands.
Result<Step> step_of_parts(const GemmContext& c, const GemmConfig& d, std::uint64_t groups,
                           std::span<const OperandSlice> parts);
// The steps of a candidate, and the scratch that they need.
struct Conv2dSteps {
  std::vector<Step> steps;
  std::uint64_t scratch_bytes = 0;
};
Result<Conv2dSteps> conv2d_steps(const Conv2dContext& c, const Conv2dConfig& d);

// ---- cost.cpp

std::int64_t conv2d_cost(const Conv2dContext& c, const Conv2dConfig& d);

// The cost of a transform that reads and writes so many bytes.
std::int64_t conv2d_transform_cost(const Conv2dContext& c, std::uint64_t bytes);

// ---- plain.cpp

// Makes a matmul's rows, which are pixels, those of one image, and its batches the images.
void batch_images(Gemm& m, const Conv2dProblem& problem);

// A convolution that is a matmul of stored operands.
struct PointwiseGemm {
  Gemm gemm;
  bool image_is_b = false;
};
// A filter of one element, stride 1, no padding, and no prologue but a scale; where batches can be had by one stride.
std::optional<PointwiseGemm> as_matmul(const Conv2dProblem& problem);
// No product is added up: the epilogue alone. None where the result is blocked, because its surplus is written too.
std::optional<PointwiseGemm> as_epilogue(const Conv2dProblem& problem);
// Fills the job's plan, whose operands are the problem's.
Result<void> plan_pointwise(Job& job, const PointwiseGemm& matmul);

// As gemm_unit_refusal, of a convolution; `operands`: its plan's.
std::string conv2d_unit_refusal(const Conv2dProblem& problem, const DeviceProfile& profile,
                                std::span<const PlanOperand> operands);

}  // namespace sectile::detail
