#include "cover_conv2d.hpp"

#include "random.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace sectile::reference {
// One compilation takes several coverings, each with a kKernel of its own.
namespace conv2d_levels {
namespace {

enum Factor : std::uint8_t {
  kKernel,
  kType,
  kXLayout,
  kYLayout,
  kWLayout,
  kFilter,
  kStride,
  kDilation,
  kPadding,
  kGroups,
  kRagged,
  kDepth,
  kBatch,
  kXStored,
  kWStored,
  kOut,
  kActivation,
  kBias,
  kScale,
  kResidual,
  kC,
  kAlpha,
  kPrologue,
  kPitch,
  kUnit,
  kAlign,
  kFactors
};

// Levels, by factor. Those of kKernel are the rows of kKernels; layouts' are the enumerations'.
enum Layout : std::uint8_t { kNchw, kNhwc, kNchw4c, kNchw8c };
enum Filter : std::uint8_t { k1x1, k3x3, k2x5, k7x7 };
enum Numbers : std::uint8_t {
  kNone,
  kEqual,
  kDifferent
};  // of strides, dilations and paddings; none: 1, or no padding
enum Groups : std::uint8_t { kOneGroup, kSomeGroups, kDepthwise, kMultiplied };
enum Ragged : std::uint8_t { kWhole, kRaggedPixels, kRaggedChannels, kAllRagged };
enum Depth : std::uint8_t { kFewChannels, kSomeChannels, kSplit };
enum WStored : std::uint8_t { kWSame = kSame, kWOther = kOther, kWQ8 };
enum Prologue : std::uint8_t { kNoPrologue, kScaled, kAllOfIt, kPartOfIt };

constexpr const char* kFactorNames[kFactors] = {
    "kernel", "type",     "x layout", "y layout", "w layout", "filter", "stride", "dilation", "padding",
    "groups", "ragged",   "depth",    "batch",    "x",        "w",      "out",    "act",      "bias",
    "scale",  "residual", "c",        "alpha",    "prologue", "pitch",  "unit",   "align"};
constexpr std::uint8_t kLevels[kFactors] = {0, 5, 4, 4, 3, 4, 3, 3, 3, 4, 4, 3, 2,
                                            2, 3, 4, 5, 2, 2, 2, 3, 2, 4, 3, 3, 2};

// gemm_a: the image is the product's A, and the result NHWC; gemm_b: its B, and the result NCHW. gemm_p: as gemm_b,
// with an image that is loaded in chunks of 8 pixels.
enum class Family : std::uint8_t { direct, depthwise, lanes, winograd, gemm_a, gemm_b, gemm_p, matmul, any };

struct Kernel {
  Family family;
  const char* candidate;
  unsigned cost;  // of a pipeline's compilation by lavapipe, in hundredths of a second
  bool matrix_unit = false, no_dot = false;

  bool gemm() const { return family == Family::gemm_a || family == Family::gemm_b || family == Family::gemm_p; }
};

constexpr Kernel kKernels[] = {
    {Family::direct, "conv2d_direct", 15},
    {Family::depthwise, "conv2d_depthwise", 20},
    {Family::lanes, "conv2d_lanes", 60},
    {Family::winograd, "conv2d_winograd 32x32x16 4x4", 120},
    {Family::gemm_a, "conv2d_simt 32x32x16 4x4", 60},
    {Family::gemm_b, "conv2d_simt 32x32x16 4x4", 60},
    {Family::gemm_a, "conv2d_simt 32x32x16 4x4", 120, false, true},
    {Family::gemm_a, "conv2d_coopmat 16x32x16 8x16 serial", 60, true},
    {Family::gemm_b, "conv2d_coopmat 16x32x16 8x16 serial", 60, true},
    {Family::gemm_a, "conv2d_coopmat 16x16x16 8x16", 90, true},
    {Family::gemm_b, "conv2d_coopmat 16x16x16 8x16", 90, true},
    {Family::gemm_a, "conv2d_coopmat 16x16x16 8x16 pipelined", 110, true},
    {Family::gemm_b, "conv2d_coopmat 16x16x16 8x16 pipelined", 110, true},
    {Family::gemm_p, "conv2d_coopmat 32x32x48 8x16 serial", 70, true},
    {Family::matmul, "", 60},
    {Family::any, "", 60},
};

// ---- what excludes what

bool kernel_clash(const SetLevels& s) {
  if (s.row[kKernel] == kUnset) return false;
  const Kernel& k = kKernels[s.row[kKernel]];
  if (k.matrix_unit && (s.is(kType, kF32) || s.is(kType, kBF16))) return true;
  if (k.no_dot && s.other(kType, kI8)) return true;
  if (!k.gemm() && s.is(kDepth, kSplit)) return true;
  const bool by_channel = s.is(kGroups, kDepthwise) || s.is(kGroups, kMultiplied);
  switch (k.family) {
    case Family::depthwise:
      return s.is(kGroups, kOneGroup) || s.is(kGroups, kSomeGroups) || s.above(kXLayout, kNhwc) ||
             s.above(kYLayout, kNhwc) || (s.is(kXLayout, kNchw) && s.is(kYLayout, kNhwc)) ||
             (s.is(kXLayout, kNhwc) && s.is(kYLayout, kNchw));
    case Family::lanes:
      return s.is(kType, kI8);
    case Family::winograd:
      return s.other(kType, kF32) || s.other(kFilter, k3x3) || s.other(kStride, kNone) || s.other(kDilation, kNone) ||
             s.other(kGroups, kOneGroup) || s.above(kXLayout, kNhwc) || s.above(kYLayout, kNhwc) ||
             s.is(kWStored, kWQ8);
    case Family::gemm_a:
      return by_channel || s.other(kYLayout, kNhwc);
    case Family::gemm_b:
      return s.other(kGroups, kOneGroup) || s.other(kYLayout, kNchw);
    case Family::gemm_p:
      // Rows of the image and whole images begin at multiples of 16 bytes.
      return s.other(kGroups, kOneGroup) || s.other(kYLayout, kNchw) || s.other(kXLayout, kNchw) ||
             s.other(kWLayout, 0) || s.other(kType, kF16) || s.other(kXStored, kSame) ||
             s.other(kPrologue, kNoPrologue) || s.other(kFilter, k3x3) || s.other(kStride, kNone) || s.is(kAlign, 1) ||
             s.is(kPitch, 2) || (s.is(kPitch, 1) && s.other(kUnit, 2)) || s.other(kWStored, kWSame);
    case Family::matmul:
      return by_channel || s.other(kFilter, k1x1) || s.other(kStride, kNone) || s.other(kPadding, kNone) ||
             s.above(kPrologue, kScaled) || s.above(kXLayout, kNhwc) || s.above(kYLayout, kNhwc);
    default:
      return false;
  }
}

bool type_clash(const SetLevels& s) {
  if (s.is(kOut, kOutI32)) {
    if (s.other(kType, kI8) || s.other(kScale, 0) || s.other(kC, 0) || s.other(kAlpha, 0)) return true;
    if (s.above(kActivation, 1)) return true;
  }
  return s.is(kType, kI8) && (s.other(kXStored, kSame) || s.other(kWStored, kWSame) || s.other(kPrologue, kNoPrologue));
}

bool clash(const LevelRow& row) {
  const SetLevels s{row};
  const bool by_channel = s.is(kGroups, kDepthwise) || s.is(kGroups, kMultiplied);
  if (by_channel && s.other(kDepth, kFewChannels)) return true;
  if (s.is(kDepth, kSplit) && (s.other(kBatch, 0) || s.other(kGroups, kOneGroup))) return true;
  // Few channels are no multiple of anything; a depthwise problem's are many, each a sum of its own.
  if (s.is(kDepth, kFewChannels) && s.other(kUnit, 0) && (s.is(kGroups, kOneGroup) || s.is(kGroups, kSomeGroups)))
    return true;
  // An element at a time, for whatever reason: the code is the same, and compiles slowest.
  if (s.other(kUnit, 0) && (s.is(kPitch, 2) || s.is(kAlign, 1))) return true;
  return type_clash(s) || kernel_clash(s);
}

// Where accesses have 4 bytes at least: problems of floats.
bool words_clash(const LevelRow& row) {
  const SetLevels s{row};
  if (s.other(kType, kF32) || s.other(kOut, kOutF32) || s.other(kXStored, kSame) || s.other(kWStored, kWSame))
    return true;
  return s.row[kKernel] != kUnset && (kKernels[s.row[kKernel]].matrix_unit || kKernels[s.row[kKernel]].no_dot);
}

// ---- from levels to a problem

void set_types(Conv2dProblem& p, const LevelRow& row, Random& random) {
  p.x_type = p.w_type = p.type;
  if (row[kXStored] == kOther) p.x_type = other_float(p.type, random);
  if (row[kWStored] == kWOther) p.w_type = other_float(p.type, random);
  if (row[kWStored] != kWQ8) return;
  p.w_format = WeightFormat::q8;
  p.w_type = DType::i8;
}

void set_stages(Conv2dProblem& p, const LevelRow& row, Random& random) {
  p.bias = row[kBias] != 0;
  p.scale = row[kScale] != 0;
  p.residual = row[kResidual] != 0;
  const auto type = static_cast<CoverType>(row[kType]);
  set_numbers(p, {type, static_cast<CoverOut>(row[kOut]), row[kActivation], row[kAlpha], row[kC]}, random);
  const bool part = row[kPrologue] == kPartOfIt, first = random.one_in(2);
  p.x_scale = row[kPrologue] == kScaled || row[kPrologue] == kAllOfIt;
  p.x_bias = row[kPrologue] == kAllOfIt || (part && first);
  p.x_relu = row[kPrologue] == kAllOfIt || (part && !first);
}

void set_filter(Conv2dProblem& p, const LevelRow& row) {
  constexpr std::array<std::pair<int, int>, 4> kFilters = {{{1, 1}, {3, 3}, {2, 5}, {7, 7}}};
  constexpr std::array<std::pair<int, int>, 3> kStrides = {{{1, 1}, {2, 2}, {1, 3}}},
                                               kDilations = {{{1, 1}, {2, 2}, {3, 1}}};
  std::tie(p.r, p.s) = kFilters[row[kFilter]];
  std::tie(p.stride_h, p.stride_w) = kStrides[row[kStride]];
  std::tie(p.dilation_h, p.dilation_w) = kDilations[row[kDilation]];
  if (row[kPadding] == kEqual) {
    p.pad_top = p.pad_bottom = std::max<std::int64_t>(p.dilation_h * (p.r - 1) / 2, 1);
    p.pad_left = p.pad_right = std::max<std::int64_t>(p.dilation_w * (p.s - 1) / 2, 1);
  } else if (row[kPadding] == kDifferent) {
    p.pad_top = 2;
    p.pad_bottom = 1;
    p.pad_right = 3;
  }
}

// A result whose rows are as long as the image's, which the filter moves by two pixels at most.
void set_equal_rows(Conv2dProblem& p, Random& random) {
  const std::int64_t reach = p.dilation_w * (p.s - 1);
  p.pad_left = random.between(std::max<std::int64_t>(reach - 2, 0), std::min<std::int64_t>(reach, 2));
  p.pad_right = reach - p.pad_left;
}

// Elements of a result's axis that are a whole tile, or a multiple of the unit that is none.
std::int64_t side(std::int64_t tile, std::int64_t unit, bool ragged, Random& random) {
  if (!ragged) return tile * random.between(1, 2);
  return unit * (2 * random.between(1, std::max<std::int64_t>(12 / unit, 1)) + 1);
}

void set_sizes(Conv2dProblem& p, const LevelRow& row, Random& random) {
  const bool chunks = kKernels[row[kKernel]].family == Family::gemm_p;
  if (chunks) set_equal_rows(p, random);
  const std::int64_t unit = std::array{1, 4, 8}[row[kUnit]];
  const bool pixels = row[kRagged] == kRaggedPixels || row[kRagged] == kAllRagged;
  const bool channels = row[kRagged] == kRaggedChannels || row[kRagged] == kAllRagged;
  const bool split = row[kDepth] == kSplit;
  const bool large = p.r * p.s > 10;
  p.n = row[kBatch] == 0 ? 1 : large ? 2 : random.between(2, 3);
  const std::int64_t height = pixels ? 3 : 4;
  const std::int64_t width = chunks   ? 8 * random.between(1, split ? 1 : 3)
                             : pixels ? std::min<std::int64_t>(side(8, unit, true, random), split ? 8 : 24)
                                      : 8;
  // The last rows and columns of the image that a stride does not reach.
  p.h = std::max<std::int64_t>((height - 1) * p.stride_h + p.dilation_h * (p.r - 1) + 1 - p.pad_top - p.pad_bottom, 1) +
        random.between(0, p.stride_h - 1);
  p.w = std::max<std::int64_t>((width - 1) * p.stride_w + p.dilation_w * (p.s - 1) + 1 - p.pad_left - p.pad_right, 1) +
        random.between(0, p.stride_w - 1);
  std::int64_t group_c = channels ? side(16, unit, true, random) : 16;
  std::int64_t group_k = side(split || large ? 16 : 32, unit, channels, random);
  if (row[kDepth] == kFewChannels) group_c = random.between(1, 3);
  // 27 steps or more of 16, of 64 where four bytes are multiplied at once.
  if (split) {
    const std::int64_t most = p.type == DType::i8 ? 27 * 64 : 27 * 16;
    group_c = up(most / (p.r * p.s) + 1, 16) + (channels ? unit : 0);
    group_k = std::min<std::int64_t>(group_k, 32);
  }
  switch (row[kGroups]) {
    case kOneGroup:
      break;
    case kSomeGroups:
      p.groups = large ? 2 : random.between(2, 3);
      break;
    default:
      p.groups = side(16, unit, channels, random);
      group_c = 1;
      group_k = row[kGroups] == kMultiplied ? random.between(2, 3) : 1;
      break;
  }
  p.c = p.groups * group_c;
  p.k = p.groups * group_k;
}

std::int64_t pitch_of(const LevelRow& row, Random& random, ImageLayout layout, std::int64_t channels,
                      std::int64_t pixels) {
  const std::int64_t unit = std::array{1, 4, 8}[row[kUnit]];
  if (row[kPitch] == 0) return 0;
  const std::int64_t odd = 1 + 2 * random.between(0, 2), more = unit * random.between(1, 3);
  if (layout == ImageLayout::nhwc) return row[kPitch] == 1 ? up(channels, unit) + more : channels + odd;
  const std::int64_t block = layout == ImageLayout::nchw4c ? 4 : layout == ImageLayout::nchw8c ? 8 : 1;
  const std::int64_t whole = up(channels, block) * pixels;
  // A slice of the channels, or images apart.
  return row[kPitch] == 1 ? up(whole + block * pixels, unit) : whole + odd;
}

void set_pitches(Conv2dProblem& p, const LevelRow& row, Random& random) {
  const std::int64_t height = (p.h + p.pad_top + p.pad_bottom - p.dilation_h * (p.r - 1) - 1) / p.stride_h + 1;
  const std::int64_t width = (p.w + p.pad_left + p.pad_right - p.dilation_w * (p.s - 1) - 1) / p.stride_w + 1;
  const auto result = [&] { return pitch_of(row, random, p.y_layout, p.k, height * width); };
  p.x_pitch = pitch_of(row, random, p.x_layout, p.c, p.h * p.w);
  p.y_pitch = result();
  if (p.beta != 0 && !p.c_is_d) p.c_pitch = result();
  if (p.residual) p.r_pitch = result();
}

// Scratch for one image of Winograd's algorithm: several are then computed in parts, those of small siblings at once.
std::uint64_t winograd_scratch(const Conv2dProblem& p) {
  const ImageSize out = output_size(p).value_or(ImageSize{});
  const auto padded = [](std::int64_t size) { return up(size, 4); };
  const std::int64_t inputs = padded(p.c), outputs = padded(p.k);
  const std::int64_t tiles = padded(up(out.height, 2) / 2 * (up(out.width, 2) / 2));
  // 16 planes of f32, of the filters, the image and the sums.
  return static_cast<std::uint64_t>(up(64 * inputs * outputs, 256) + up(64 * inputs * tiles, 256) +
                                    64 * outputs * tiles);
}

CoveringConv2d made(const LevelRow& row) {
  Random random(seed_of(row));
  const Kernel& kernel = kKernels[row[kKernel]];
  CoveringConv2d out{{}, kernel.candidate, kernel.no_dot, row[kDepth] == kSplit ? 64u : 0u, {}};
  Conv2dProblem& p = out.problem;
  p.x_layout = static_cast<ImageLayout>(row[kXLayout]);
  p.y_layout = static_cast<ImageLayout>(row[kYLayout]);
  p.w_layout = static_cast<FilterLayout>(row[kWLayout]);
  set_stages(p, row, random);
  set_types(p, row, random);
  set_filter(p, row);
  set_sizes(p, row, random);
  set_pitches(p, row, random);
  if (kernel.family == Family::winograd && p.n > 1) out.max_scratch_bytes = winograd_scratch(p);
  const bool aligned = row[kAlign] == 0;
  p.x_align = element_align(p.x_type, aligned);
  p.w_align = element_align(p.w_type, aligned);
  p.y_align = element_align(p.out, aligned);
  return out;
}

// What pipelines' compilation takes, in hundredths of a second.
unsigned cost_of(const LevelRow& row) {
  const Kernel& kernel = kKernels[row[kKernel]];
  unsigned cost = kernel.cost;
  if (kernel.gemm() && row[kUnit] == 0) cost += cost / 2;
  if (kernel.gemm() && (row[kXStored] != kSame || row[kPrologue] != kNoPrologue)) cost = cost * 4 / 3;
  if (kernel.gemm() && row[kWStored] != kWSame) cost = cost * 4 / 3;
  if (kernel.matrix_unit && row[kXLayout] == kNchw) cost += 10;  // a step that permutes X
  return cost + (row[kDepth] == kSplit ? 10 : 0);
}

}  // namespace
}  // namespace conv2d_levels

CoverRules conv2d_cover_rules(Accesses accesses) {
  CoverRules rules;
  rules.levels.assign(std::begin(conv2d_levels::kLevels), std::end(conv2d_levels::kLevels));
  rules.levels[conv2d_levels::kKernel] = static_cast<std::uint8_t>(std::size(conv2d_levels::kKernels));
  const bool words = accesses == Accesses::words;
  rules.clash = [words](const LevelRow& row) {
    return conv2d_levels::clash(row) || (words && conv2d_levels::words_clash(row));
  };
  rules.cost = conv2d_levels::cost_of;
  return rules;
}

std::vector<LevelRow> covering_conv2d_rows(std::uint64_t seed, Accesses accesses) {
  return covering_rows(conv2d_cover_rules(accesses), mix(seed ^ 0x636f766572u));  // "cover"
}

// Chosen by hand: kernels that few rows are for, without what takes the room of pushed words, so that most siblings fit
// (siblings.hpp).
constexpr std::pair<const char*, const char*> kFixedConv2ds[] = {
    {"conv2d f32 nchw 2x18x7x9 k=21 r=3x3 p=1 epi=bias+relu", "conv2d_winograd 32x32x16 4x4"},
    {"conv2d f32 nchw 3x8x6x8 k=8 r=3x3 p=2,1,0,3 beta=0.5 epi=residual", "conv2d_winograd 32x32x16 4x4"},
    {"conv2d f32 nhwc 3x16x7x9 k=20 r=3x3 p=1 weights=rsck beta=0.5 epi=residual", "conv2d_winograd 32x32x16 4x4"},
    {"conv2d f32 nhwc:nchw 2x9x6x8 k=7 r=3x3 x=f16 w=bf16 out=f16 pro=scale+bias+relu", "conv2d_winograd 32x32x16 4x4"},
    {"conv2d f32 nhwc 2x12x9x10 k=12 r=3x3 p=1 g=12 epi=bias+relu", "conv2d_depthwise"},
    {"conv2d f32 nchw 2x6x7x9 k=12 r=3x3 p=1 g=6 epi=bias", "conv2d_depthwise"},
    {"conv2d f32 nchw 2x6x7x8 k=6 r=3x3 p=1 g=6", "conv2d_depthwise"},
    {"conv2d f32 nhwc 2x5x7x9 k=6 r=3x3 p=1", "conv2d_direct"},
    {"conv2d f32 nhwc 2x5x7x9 k=8 r=3x3 p=1", "conv2d_lanes"},
    {"conv2d f32 nchw 2x5x7x9 k=9 r=3x3 p=1", "conv2d_simt 32x32x16 4x4"},
    {"conv2d f32 nchw 2x5x7x9 k=9 r=3x3 p=1 epi=residual", "conv2d_simt 32x32x16 4x4"},
    {"conv2d f32 nhwc 2x5x7x9 k=9 r=3x3 p=1", "conv2d_simt 32x32x16 4x4"},
    {"conv2d f32 nchw4c 2x6x7x9 k=12 r=3x3 d=2,1 p=1 g=6", "conv2d_lanes"},
    {"conv2d f32 nchw4c 2x8x3x3 k=8 r=3x3", "conv2d_lanes"},
    {"conv2d f16 nchw 2x5x7x9 k=9 r=3x3 p=1", "conv2d_coopmat 16x32x16 8x16 serial"},
    {"conv2d f16 nhwc 2x5x7x9 k=9 r=3x3 p=1", "conv2d_coopmat 16x32x16 8x16 serial"},
    {"conv2d f16 nchw4c 2x5x7x9 k=9 r=3x3 p=1 x.align=2 y.align=2", "conv2d_coopmat 16x32x16 8x16 serial"},
    {"conv2d f32 nhwc 2x8x3x3 k=8 r=3x3 weights=krsc", "conv2d_winograd 32x32x16 4x4"},
    {"conv2d f32 nhwc 3x9x7x9 k=7 r=3x3 p=1 weights=krsc", "conv2d_winograd 32x32x16 4x4"},
};

const std::vector<CoveringConv2d>& covering_conv2ds(std::uint64_t seed, Accesses accesses) {
  static std::map<std::pair<std::uint64_t, Accesses>, std::vector<CoveringConv2d>> made_once;
  auto& cases = made_once[{seed, accesses}];
  if (!cases.empty()) return cases;
  cases = covering_cases(seed, accesses, covering_conv2d_rows, conv2d_levels::made);
  if (accesses == Accesses::words) return cases;
  for (const auto& [text, candidate] : kFixedConv2ds) {
    CoveringConv2d c{std::get<Conv2dProblem>(parse_problem(text).value()), candidate};
    if (c.candidate.starts_with("conv2d_winograd") && c.problem.n > 1)
      c.max_scratch_bytes = conv2d_levels::winograd_scratch(c.problem);
    c.all_pipelines = true;
    cases.push_back(std::move(c));
  }
  return cases;
}

std::string conv2d_level_name(std::uint8_t factor, std::uint8_t level) {
  return level_text(conv2d_levels::kFactorNames[factor], level,
                    factor == conv2d_levels::kKernel ? conv2d_levels::kKernels[level].candidate : nullptr);
}

}  // namespace sectile::reference
