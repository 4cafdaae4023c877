// Steps of the kernels that are no GEMM. They share a GEMM's types, epilogue and way of pushing words
// (plan/gemm/kernel_step.hpp).
#include "direct_kernels.hpp"
#include "gemms.hpp"
#include "image.hpp"
#include "plan/activation.hpp"
#include "steps.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace sectile::detail {

namespace {

std::string variant_of(const DirectConfig& d) {
  if (d.narrow) return d.base;
  return d.base + (needs_narrow(d.types, d.widths, d.epilogue, true) ? ".narrow" : "");
}

// What a GEMM's kernels have and these have not. Kept so that plans stay as they are, to go with the next change of
// choices.
constexpr Constant kReserved[] = {{GEMM_SPEC_TRANS_A, 0}, {GEMM_SPEC_TRANS_B, 0}, {GEMM_SPEC_GROUP_M, 1},
                                  {GEMM_SPEC_TILE_M, 1},  {GEMM_SPEC_TILE_N, 1},  {GEMM_SPEC_TILE_K, 1}};

constexpr GemmConstants kAll = kAllGemmWords;
constexpr std::uint32_t kShared =
    size_of<GemmAddressWords>(kAll) + size_of<Conv2dPrologueWords>({.kPrologue = ~0u}) + kMostActivationParameters;
static_assert(kShared <= GEMM_PUSH_WORDS, "addresses and the activation's parameters are always pushed");
static_assert(kShared + size_of<Conv2dDirectWords>(kAll) <= GEMM_MOST_WORDS);
static_assert(kShared + size_of<Conv2dWinogradInputWords>(kAll) <= GEMM_MOST_WORDS);
// These have no prologue, and constants for as many words as a GEMM.
static_assert(kShared + size_of<Conv2dWinogradOutputWords>(kAll) <= GEMM_MAX_WORDS);
static_assert(kShared + size_of<Conv2dWinogradFilterWords>(kAll) <= GEMM_MAX_WORDS);

}  // namespace

std::uint64_t line_thousandths(const Conv2dContext& c, std::uint64_t apart) {
  const std::uint64_t lanes = Walk(c.profile).lanes();
  return std::clamp<std::uint64_t>(lanes * apart * 1000 / 128, 1000, lanes * 1000);
}

bool narrow_accesses_fit(const Conv2dContext& c, const DirectConfig& d, Refusal& refusal) {
  return narrow_accesses_fit(c.profile, variant_of(d), d.types.integer(), refusal);
}

DirectStep::DirectStep(const DirectConfig& config, std::span<const OperandSlice> slices)
    : config_(config), slices_(slices) {
  add(GemmAddressWords{.c_address = address("c"),
                       .bias_address = address("bias"),
                       .scale_address = address("scale"),
                       .residual_address = address("residual"),
                       .b_scale_address = address("w.scale"),
                       .a_scale_address = WordAddress{kNoOperand}});
  Conv2dPrologueWords{.x_scale_address = address("x.scale"), .x_bias_address = address("x.bias")}.pack(
      words_, {.kPrologue = config.prologue});
  add(GemmActivationWords{.activation_parameter = config.activation.word});
}

WordAddress DirectStep::address(std::string_view slice) const {
  const auto at = std::ranges::find(slices_, slice, &OperandSlice::name);
  // What has no bytes is not read: X and W without input channels, or an image without pixels.
  if (at == slices_.end() || at->bytes == 0) return {kNoOperand};
  return {static_cast<std::uint32_t>(at - slices_.begin())};
}

Result<Step> DirectStep::finish(const DeviceProfile& profile, std::string_view a, std::string_view b,
                                std::string_view d) {
  Step& step = words_.step;
  step.kernel = {config_.stem, variant_of(config_)};
  step.workgroup = {config_.workgroup, 1, 1};
  auto grid = kernel_grid(profile, config_.groups);
  if (!grid) return std::unexpected(grid.error());
  step.grid = *grid;
  step.constants.assign(std::begin(kReserved), std::end(kReserved));
  add_constants(step, profile, config_.workgroup, config_.types, config_.widths, config_.epilogue);
  config_.own.append_to(step.constants);
  const std::pair<std::size_t, std::string_view> first[] = {
      {offsetof(GemmPush, a), a}, {offsetof(GemmPush, b), b}, {offsetof(GemmPush, d), d}};
  std::vector<AddressSlot> addresses;
  for (const auto& [at, slice] : first)
    if (const WordAddress to = address(slice); to.operand != kNoOperand)
      addresses.push_back({static_cast<std::uint32_t>(at), to.operand, 0});
  step.addresses.insert(step.addresses.begin(), addresses.begin(), addresses.end());
  words_.finish(as_operands(slices_), address(d).operand);
  place(std::span(&step, 1), slices_);
  return std::move(step);
}

std::uint32_t result_width(const Conv2dProblem& p, bool along_channels, std::uint32_t align, std::uint32_t most) {
  const ImageSize out = size_of_output(p);
  const std::int64_t pixels = out.height * out.width;
  const auto width = [&](const StoredImage& image) {
    const ImageStrides at = strides_of(image);
    return widest_access(type_code(p.out), most, align, along_channels ? at.pixel : pixels, p.n > 1 ? at.image : 0,
                         along_channels ? p.k : pixels);
  };
  std::uint32_t widest = width(stored_y(p));
  if (reads_c(p)) widest = std::min(widest, width(stored_c(p)));
  if (p.residual) widest = std::min(widest, width(stored_r(p)));
  return widest;
}

DirectConfig direct_config(const Conv2dContext& c, const char* stem) {
  const Conv2dProblem& p = c.problem;
  DirectConfig d;
  d.stem = stem;
  d.base = p.type == DType::i8 ? "i8" : "f32";
  d.types = {.type = type_code(p.type),
             .a = type_code(p.x_type),
             .b = type_code(p.w_type, p.w_format),
             .out = type_code(p.out)};
  d.epilogue = epilogue_bits(epilogue_of(p, PerAxis::column)) | GEMM_EPILOGUE_BATCHED;
  d.prologue = prologue_bits(p);
  d.activation = activation_parameters(activation_words(p), p.out == DType::i32);
  d.add(CONV2D_SPEC_R, static_cast<std::uint32_t>(p.r));
  d.add(CONV2D_SPEC_S, static_cast<std::uint32_t>(p.s));
  d.add(CONV2D_SPEC_BLOCK, static_cast<std::uint32_t>(block_of(p.x_layout)));
  d.add(CONV2D_SPEC_PROLOGUE, d.prologue);
  return d;
}

Result<Step> direct_step(const Conv2dContext& c, const DirectConfig& d) {
  const Conv2dProblem& p = c.problem;
  std::vector<OperandSlice> slices;
  for (const char* name : {"x", "w", "y", "w.scale", "c", "bias", "scale", "residual", "x.scale", "x.bias"}) {
    if (operand_index(c.operands, name) == c.operands.size()) continue;
    slices.push_back(whole_slice(c.operands, name, name));
    const bool factor = slices.size() <= 2;           // X or W
    if (p.c == 0 && factor) slices.back().bytes = 0;  // not read, see without_products()
  }
  const ImageStrides x = strides_of(stored_x(p)), y = strides_of(stored_y(p)), before = strides_of(stored_c(p)),
                     residual = strides_of(stored_r(p));
  const auto number = [](std::int64_t n) { return static_cast<std::uint32_t>(n); };
  const auto stride = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  DirectStep step(d, slices);
  step.add(Conv2dDirectWords{.size_p = number(c.out.height),
                             .output_channels = number(p.k),
                             .group_inputs = number(p.c / p.groups),
                             .alpha = p.alpha,
                             .x_pitch = number(x.pixel),
                             .group_outputs = number(p.k / p.groups),
                             .y_pitch = number(y.pixel),
                             .c_pitch = number(before.pixel),
                             .beta = p.beta,
                             .residual_pitch = number(residual.pixel),
                             .images = number(p.n),
                             .x_image = stride(x.image),
                             .reserved = stride(0),
                             .y_image = stride(y.image),
                             .c_image = stride(before.image),
                             .residual_image = stride(residual.image),
                             .pushed_relu = 0u,
                             .size_h = number(p.h),
                             .size_w = number(p.w),
                             .size_q = number(c.out.width),
                             .padding = u16x2(p.pad_top, p.pad_left),
                             .filter_stride = u16x2(p.stride_h, p.stride_w),
                             .dilation = u16x2(p.dilation_h, p.dilation_w)});
  return step.finish(c.profile, "x", "w", "y");
}

bool direct_offsets_fit(const Conv2dContext& c, Refusal& refusal) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  const auto& p = c.problem;
  const auto spans = [&](const char* what, const StoredImage& image, DType type) {
    const ImageStrides at = strides_of(image);
    const std::int64_t planes = at.block == 0 ? 1 : (image.c + at.block - 1) / at.block;
    const std::int64_t bytes = (at.block == 0 ? image.h * image.w * at.pixel : planes * at.plane) * size_bytes(type);
    return bytes < kLimit || refusal.no("an image of {} has {} bytes, beyond 2^31", what, bytes);
  };
  if (!spans("x", stored_x(p), p.x_type) || !spans("y", stored_y(p), p.out)) return false;
  if (p.beta != 0 && !spans("c", stored_c(p), p.out)) return false;
  if (p.residual && !spans("residual", stored_r(p), p.out)) return false;
  // validate() has found that W has less than 2^63 elements.
  const std::int64_t weights = p.k * (p.c / p.groups) * p.r * p.s;
  return weights < kLimit / 4 || refusal.no("{} weights, at most 2^29 - 1", weights);
}

}  // namespace sectile::detail
