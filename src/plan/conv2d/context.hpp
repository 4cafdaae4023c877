// Types and functions that the convolution strategies share.
#pragma once

#include "plan/activation.hpp"
#include "plan/gemm/context.hpp"
#include "plan/gemm/kernel_step.hpp"
#include "plan/job.hpp"
#include "plan/operand_slice.hpp"
#include "problem.hpp"

#include "conv2d/conv2d.abi.h"

#include <sectile/planner.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sectile::detail {

// Steps before and after a GEMM, as their cost follows from them.
struct ExtraSteps {
  std::uint32_t permutes = 0, transforms = 0;  // how many
  std::int64_t permutes_cost = 0;              // picoseconds of the permutes alone
  std::uint64_t transformed_bytes = 0;         // that the transforms read and write
};

// A GEMM that a problem is computed as.
struct Conv2dGemm {
  std::unique_ptr<GemmContext> context;     // none where `refusal` says why
  std::vector<OperandSlice> parts;          // operands of the GEMM
  std::vector<Step> pre_steps, post_steps;  // permutes or transforms into scratch and out of it
  const char* extra_steps = "permutes";     // what these are
  ExtraSteps extra;                         // what these cost
  std::uint64_t scratch_bytes = 0;          // that they take
  // The images may be computed in parts, one after another in the same scratch. All of this is the first part's. The
  // others have the same steps but the first `filter_transform_steps`, whose cost is not in `extra`.
  std::vector<std::uint64_t> parts_after;  // the first image of each of the others
  std::vector<std::uint64_t> image_bytes;  // from an image to the next one, of each of the plan's operands
  std::size_t filter_transform_steps = 0;
  ExtraSteps filter_transform;
  std::string suffix;             // of candidates' names: " x=nhwc w=krsc"
  std::string refusal;            // why it cannot be computed; empty: it can
  bool simt_last_resort = false;  // conv2d_simt has it only for explanations, and where it is forced
};

// What an invocation of a kernel that is no GEMM does, and the cache lines of its subgroup's accesses.
struct DirectWork {
  std::uint64_t multiply_adds = 0, loads = 0, weights = 0, stores = 0;
  std::uint64_t rows = 0;  // of the filter: each waits for its loads
  // Thousandths of the lines of a load and a store; conv2d_direct's second is of the weights.
  std::uint64_t x_lines = 0, y_lines = 0;
  std::uint64_t wanted = 1, computed = 1;  // outputs, and those that are computed for them
};

// A kernel that is no GEMM: a candidate by itself, or a transform around a GEMM. A is X, B is W, D is Y, or
// what a transform has in their places.
struct DirectConfig {
  const char* stem = "";
  std::string base = "f32";  // the variant; ".narrow" is appended if accesses of 1 or 2 bytes are needed
  bool narrow = false;       // all variants of the kernel have such accesses
  KernelTypes types;
  KernelWidths widths;
  std::uint32_t epilogue = 0, prologue = 0;  // GEMM_EPILOGUE bits, CONV2D_PROLOGUE bits
  ActivationParameters activation;
  std::uint32_t workgroup = 128;
  std::uint64_t groups = 0;
  FixedList<Constant, 12> own;  // the kernel's constants
  // These are for the cost.
  CostTable table = CostTable::conv2d_direct;
  std::uint32_t row = 0;
  DirectWork work;

  void add(std::uint32_t id, std::uint32_t value) { own.add({id, value}); }
};

// A GEMM's candidate: a row of a table.
struct Conv2dGemmConfig {
  const Conv2dGemm* gemm = nullptr;
  const GemmStrategy* rows = nullptr;
  std::uint32_t row = 0;
  GemmConfig config;
};

// A candidate's parameters.
using Conv2dConfig = std::variant<Conv2dGemmConfig, DirectConfig>;

// What costs depend on besides the candidate.
struct ConvolutionWork {
  const DeviceProfile& profile;
  std::uint64_t multiply_adds = 0, bytes = 0;  // of the problem; of all its operands

  bool cpu() const noexcept { return profile.kind == DeviceKind::cpu; }
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
  ConvolutionWork work;
  std::vector<std::unique_ptr<Conv2dGemm>> gemms;  // for the strategies of rows.cpp
  std::vector<const Conv2dGemm*> of_simt, of_coopmat, of_winograd;

  bool cpu() const noexcept { return profile.kind == DeviceKind::cpu; }
  bool with_retired() const noexcept { return extra != nullptr && extra->retired; }
};

using Conv2dStrategy = Strategy<Conv2dContext, Conv2dConfig>;

extern const Conv2dStrategy kConv2dSimt, kConv2dCoopmat, kConv2dWinograd, kConv2dDepthwise, kConv2dLanes, kConv2dDirect;

// Names of the tables' rows, see cost_rows().
std::vector<std::string> conv2d_depthwise_rows(), conv2d_lanes_rows(), conv2d_direct_rows();

Conv2dContext conv2d_context(const Conv2dProblem& problem, const DeviceProfile& profile, const PlanOptions& options,
                             std::span<const PlanOperand> operands, const ExtraRows* extra = nullptr);

}  // namespace sectile::detail
