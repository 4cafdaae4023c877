#include "cover_matmul.hpp"

#include "random.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <span>
#include <utility>

namespace sectile::reference {
namespace {

enum Factor : std::uint8_t {
  kKernel,
  kType,
  kTransposed,
  kRagged,
  kDepth,
  kSplit,
  kBatch,
  kAStored,
  kBStored,
  kOut,
  kActivation,
  kBias,
  kScale,
  kResidual,
  kC,
  kAlpha,
  kPitch,
  kUnit,
  kAlign,
  kFactors
};

// Levels, by factor. Those of kKernel are the rows of kKernels.
enum Ragged : std::uint8_t { kWhole, kRaggedM, kRaggedN, kRaggedK, kAllRagged };
enum Depth : std::uint8_t { kPartOfAStep, kOneStep, kTwoSteps, kMoreSteps };
enum Batch : std::uint8_t { kOne, kPacked, kShared, kSideBySide, kApart };
enum AStored : std::uint8_t { kASame = kSame, kAOther = kOther, kAScaled };
enum BStored : std::uint8_t { kBSame = kSame, kBOther = kOther, kBQ8, kBQ4 };

constexpr const char* kFactorNames[kFactors] = {"kernel", "type",  "transposed", "ragged", "depth", "split", "batch",
                                                "a",      "b",     "out",        "act",    "bias",  "scale", "residual",
                                                "c",      "alpha", "pitch",      "unit",   "align"};
constexpr std::uint8_t kLevels[kFactors] = {0, 5, 4, 5, 4, 2, 5, 3, 4, 4, 5, 3, 3, 2, 3, 2, 3, 4, 2};

enum class Family : std::uint8_t { coopmat, simt, matvec, direct, any };

struct Kernel {
  Family family;
  const char* candidate;
  std::int64_t tile_m, tile_n, tile_k;  // matvec: its thin side alone
  unsigned cost;                        // of a pipeline's compilation by lavapipe, in hundredths of a second
  bool splits = false;
  bool half_sums = false, whole_k = false, no_dot = false, tail = false;
};

constexpr Kernel kKernels[] = {
    {Family::coopmat, "matmul_coopmat 16x16x16 8x16", 16, 16, 16, 75, true},
    {Family::coopmat, "matmul_coopmat 16x16x16 8x16 peeled acc=f16", 16, 16, 16, 80, true, true},
    {Family::coopmat, "matmul_coopmat 16x16x16 8x16 pipelined", 16, 16, 16, 95, true},
    {Family::coopmat, "matmul_coopmat 16x16x16 8x16 pipelined-l2", 16, 16, 16, 95, false, false, true},
    {Family::coopmat, "matmul_coopmat 16x32x16 8x16 serial", 16, 32, 16, 50, true},
    {Family::coopmat, "matmul_coopmat 32x32x32 16x32 serial slice-k=2", 32, 32, 32, 120, true},
    {Family::simt, "matmul_simt 32x32x16 4x4", 32, 32, 16, 45, true},
    {Family::simt, "matmul_simt 32x32x16 4x4 checked", 32, 32, 16, 45, true},
    {Family::simt, "matmul_simt 32x32x16 4x4 one buffer", 32, 32, 16, 45, true},
    {Family::simt, "matmul_simt 32x32x16 4x4", 32, 32, 16, 110, true, false, false, true},
    {Family::simt, "matmul_simt 32x32x16 4x4", 32, 32, 16, 60, false, false, false, false, true},
    {Family::matvec, "matvec", 1, 0, 256, 20, true},
    {Family::matvec, "matvec", 3, 0, 256, 25, true},
    {Family::matvec, "matvec", 13, 0, 256, 45, true},
    {Family::matvec, "matvec", 0, 1, 256, 20, true},
    {Family::matvec, "matvec", 0, 3, 256, 25, true},
    {Family::matvec, "matvec", 0, 13, 256, 45, true},
    {Family::direct, "matmul_direct 8x4", 8, 32, 64, 10, true},
    {Family::direct, "matmul_direct 1x1", 8, 32, 32, 8},
    {Family::direct, "matmul_direct 1x1 far", 8, 32, 2, 8},
    {Family::any, "", 32, 32, 32, 70},
};

// ---- what excludes what

bool kernel_clash(const SetLevels& s) {
  if (s.row[kKernel] == kUnset) return false;
  const Kernel& k = kKernels[s.row[kKernel]];
  const bool coopmat = k.family == Family::coopmat;
  if (coopmat && (s.is(kType, kF32) || s.is(kType, kBF16))) return true;
  if (k.half_sums && s.other(kType, kF16Sums)) return true;
  // How operands are converted is no matter of the loop: the short one does it, which compiles fastest. Nor is what
  // follows the loop.
  const bool long_loop = coopmat && k.tile_m == 16 && k.tile_n == 16;
  if (long_loop && (s.is(kActivation, 1) || s.is(kActivation, 3))) return true;
  if (long_loop && (s.other(kAStored, kASame) || s.is(kBStored, kBQ8) || s.is(kBStored, kBQ4))) return true;
  if (long_loop && s.is(kBStored, kBOther) && s.is(kAlign, 1)) return true;
  if (k.no_dot && s.other(kType, kI8)) return true;
  if (!k.splits && s.is(kSplit, 1)) return true;
  // Where all accesses of int8 have 4 bytes a module of its own runs, on devices with narrower ones too.
  if (k.family == Family::matvec && s.is(kOut, kOutI32))
    if (s.is(kUnit, 0) || s.is(kUnit, 1) || s.is(kPitch, 2) || s.is(kAlign, 1)) return true;
  if (k.tail && (s.other(kBatch, kOne) || s.other(kDepth, kMoreSteps))) return true;
  if (k.whole_k)  // and accesses of 4 bytes
    return s.is(kUnit, 0) || (s.is(kUnit, 1) && s.is(kType, kI8)) || s.is(kRagged, kRaggedK) ||
           s.is(kRagged, kAllRagged) || s.other(kDepth, kMoreSteps) || s.other(kBatch, kOne) ||
           s.other(kAStored, kASame) || s.other(kBStored, kBSame) || s.other(kPitch, 0) || s.is(kAlign, 1);
  const bool sixteen = k.family == Family::matvec && std::max(k.tile_m, k.tile_n) > 4;
  return sixteen && s.is(kBStored, kBQ4);
}

bool type_clash(const SetLevels& s) {
  if (s.is(kOut, kOutI32)) {
    if (s.other(kType, kI8) || s.other(kScale, 0) || s.other(kC, 0) || s.other(kAlpha, 0)) return true;
    if (s.above(kActivation, 1)) return true;
  }
  if (s.is(kType, kI8) && (s.other(kAStored, kASame) || s.other(kBStored, kBSame))) return true;
  // K x N is no layout of 4-bit elements.
  return s.is(kBStored, kBQ4) && (s.is(kTransposed, 0) || s.is(kTransposed, 2));
}

bool clash(const LevelRow& row) {
  const SetLevels s{row};
  if (s.is(kDepth, kPartOfAStep) && (s.is(kRagged, kWhole) || s.is(kRagged, kRaggedM) || s.is(kRagged, kRaggedN)))
    return true;
  if (s.is(kSplit, 1) && s.other(kDepth, kMoreSteps)) return true;
  // An element at a time, for whatever reason: the code is the same, and compiles slowest.
  if (s.other(kUnit, 0) && (s.is(kPitch, 2) || s.is(kAlign, 1))) return true;
  return type_clash(s) || kernel_clash(s);
}

// Where accesses have 4 bytes at least: what cannot be a run of so many, whatever the sizes. See words_suffice().
bool words_clash(const LevelRow& row) {
  const SetLevels s{row};
  const bool half_out = s.is(kOut, kOutF16) || s.is(kOut, kOutBF16);
  const bool narrow = s.other(kType, kF32) || half_out || s.other(kAStored, kASame) || s.other(kBStored, kBSame);
  if (s.is(kBStored, kBQ4) || (half_out && s.other(kBias, 0)) || (narrow && s.is(kUnit, 0))) return true;
  if (s.is(kUnit, 1) && (s.is(kType, kI8) || s.is(kBStored, kBQ8))) return true;
  if (s.row[kKernel] == kUnset) return false;
  // No such device has a matrix unit, and one kernel loads an element at a time.
  const Family family = kKernels[s.row[kKernel]].family;
  return family == Family::coopmat || (family == Family::direct && narrow);
}

// ---- from levels to a problem

void set_types(MatmulProblem& p, const LevelRow& row, Random& random) {
  p.a_type = p.b_type = p.type;
  if (row[kAStored] == kAOther) p.a_type = other_float(p.type, random);
  if (row[kBStored] == kBOther) p.b_type = other_float(p.type, random);
  p.a_scale = row[kAStored] == kAScaled;
  if (row[kBStored] < kBQ8) return;
  p.b_format = row[kBStored] == kBQ8 ? WeightFormat::q8 : WeightFormat::q4;
  p.b_type = DType::i8;
}

std::int64_t matvec_k(std::int64_t tile_k, const LevelRow& row) {
  // Its steps have 32 lanes with runs of 8 in 4 rounds; across, far fewer.
  return row[kSplit] != 0 ? std::int64_t{28} * 1024 : tile_k * row[kDepth];
}

void set_sizes(MatmulProblem& p, const LevelRow& row, Random& random) {
  const Kernel& k = kKernels[row[kKernel]];
  const std::int64_t unit = std::int64_t{1} << row[kUnit];
  const auto ragged = [&](Ragged side) { return row[kRagged] == side || row[kRagged] == kAllRagged; };
  // Whole tiles, and a part of one where the side is ragged: a multiple of the unit, and not of twice that.
  const auto side = [&](std::int64_t tile, std::int64_t most, bool part) {
    const std::int64_t whole = tile * random.between(part ? 0 : 1, most);
    if (!part) return whole;
    const std::int64_t odd = unit * (2 * random.between(0, std::max<std::int64_t>(1, tile / unit / 2) - 1) + 1);
    return whole + std::min(odd, tile > unit ? tile - unit : unit);
  };
  const std::int64_t most = row[kSplit] != 0 ? 1 : 2;
  const bool one_tile = row[kSplit] != 0;
  const auto matrix_side = [&](std::int64_t tile, bool part) {
    const std::int64_t size = side(tile, most, part);
    return one_tile ? std::min(size, part && size > tile ? size - tile : size) : size;
  };
  if (k.family == Family::matvec) {
    const std::int64_t wide = 16 + 16 * random.between(1, 3) + (ragged(k.tile_m != 0 ? kRaggedN : kRaggedM) ? unit : 0);
    p.m = k.tile_m != 0 ? k.tile_m : wide;
    p.n = k.tile_n != 0 ? k.tile_n : wide;
  } else {
    p.m = k.tail ? 2 * k.tile_m + side(k.tile_m, 0, true) : matrix_side(k.tile_m, ragged(kRaggedM));
    p.n = k.tail ? k.tile_n : matrix_side(k.tile_n, ragged(kRaggedN));
    if (k.tail && ragged(kRaggedN)) p.n = side(k.tile_n, 0, true);
  }
  const std::int64_t tile_k = k.tile_k * (p.type == DType::i8 && k.family == Family::simt ? 4 : 1);
  std::int64_t steps = row[kDepth] == kMoreSteps ? random.between(3, 5) : row[kDepth];
  if (k.tail) steps = 64;
  if (row[kSplit] != 0) steps = random.between(26, 40);
  p.k = k.family == Family::matvec ? matvec_k(k.tile_k, row) : steps * tile_k;
  if (ragged(kRaggedK)) p.k += side(tile_k, 0, true);
}

// Steps of an operand of `rows` rows of `columns`.
void set_steps(const LevelRow& row, Random& random, std::int64_t batch, std::int64_t rows, std::int64_t columns,
               bool source, std::int64_t& ld, std::int64_t& step) {
  const std::int64_t unit = std::int64_t{1} << row[kUnit];
  if (row[kPitch] == 1) ld = up(columns, unit) + unit * random.between(1, 3);
  if (row[kPitch] == 2) ld = columns + 1 + 2 * random.between(0, 2);
  const std::int64_t reach = rows * (ld == 0 ? columns : ld);
  switch (row[kBatch]) {
    case kShared:
      if (source && !random.one_in(3)) step = 0;
      break;
    case kSideBySide:
      step = up(columns, unit);
      ld = batch * step;
      break;
    case kApart:
      step = up(reach, unit) + unit * random.between(1, 3);
      break;
    default:
      break;
  }
}

void set_strides(MatmulProblem& p, const LevelRow& row, Random& random) {
  const auto steps = [&](bool transposed, std::int64_t rows, std::int64_t columns, bool source, std::int64_t& ld,
                         std::int64_t& step) {
    if (transposed) std::swap(rows, columns);
    set_steps(row, random, p.batch, rows, columns, source, ld, step);
  };
  steps(p.transpose_a, p.m, p.k, true, p.lda, p.a_batch);
  steps(false, p.m, p.n, false, p.ldd, p.d_batch);
  if (p.beta != 0 && !p.c_is_d) steps(false, p.m, p.n, true, p.ldc, p.c_batch);
  if (p.residual) steps(false, p.m, p.n, true, p.ldr, p.r_batch);
  if (p.b_format != WeightFormat::q4) return steps(p.transpose_b, p.k, p.n, true, p.ldb, p.b_batch);
  if (p.k % 32 != 0 || row[kPitch] != 0) p.ldb = up(p.k, 32) + (row[kPitch] != 0 ? 32 : 0);
  if (p.batch > 1 && row[kBatch] == kShared) p.b_batch = 0;
  if (p.batch > 1 && row[kBatch] == kApart) p.b_batch = p.n * up(p.k + 32, 32) + 32;
}

CoveringMatmul made(const LevelRow& row) {
  Random random(seed_of(row));
  const Kernel& kernel = kKernels[row[kKernel]];
  CoveringMatmul out{{}, kernel.candidate, kernel.no_dot, kernel.tail ? 2u : row[kSplit] != 0 ? 64u : 0u};
  MatmulProblem& p = out.problem;
  p.transpose_a = row[kTransposed] >= 2;
  p.transpose_b = row[kTransposed] % 2 != 0;
  constexpr std::array kAxes = {PerAxis::none, PerAxis::row, PerAxis::column};
  p.bias = kAxes[row[kBias]];
  p.scale = kAxes[row[kScale]];
  p.residual = row[kResidual] != 0;
  const auto type = static_cast<CoverType>(row[kType]);
  set_numbers(p, {type, static_cast<CoverOut>(row[kOut]), row[kActivation], row[kAlpha], row[kC]}, random);
  set_types(p, row, random);
  p.batch = row[kBatch] == kOne ? 1 : random.between(2, 3);
  set_sizes(p, row, random);
  set_strides(p, row, random);
  const bool aligned = row[kAlign] == 0;
  p.a_align = element_align(p.a_type, aligned);
  p.b_align = element_align(p.b_type, aligned);
  p.d_align = element_align(p.out, aligned);
  return out;
}

// ---- devices without accesses of 1 and 2 bytes

// Whether runs of the operand's elements of 4 bytes or more are aligned in every row of every batch.
bool has_words(DType type, std::uint32_t align, std::int64_t ld, std::int64_t step, std::int64_t columns,
               std::int64_t batch) {
  const std::uint32_t bytes = element_align(type, false);
  if (bytes >= 4) return true;
  const std::int64_t width = 4 / bytes, pitch = ld == 0 ? columns : ld;
  const bool far = batch <= 1 || step == MatmulProblem::kPacked || step % width == 0;
  return align % 4 == 0 && columns % width == 0 && pitch % width == 0 && far;
}

bool words_suffice(const CoveringMatmul& made) {
  const MatmulProblem& p = made.problem;
  if (p.b_format == WeightFormat::q4) return false;
  const bool single = made.candidate.starts_with("matmul_direct");  // an element at a time
  for (const DType type : {p.a_type, p.b_type, p.out})
    if (single && element_align(type, false) < 4) return false;
  if (p.bias != PerAxis::none && element_align(p.out, false) < 4) return false;
  return has_words(p.a_type, p.a_align, p.lda, p.a_batch, p.transpose_a ? p.m : p.k, p.batch) &&
         has_words(p.b_type, p.b_align, p.ldb, p.b_batch, p.transpose_b ? p.k : p.n, p.batch) &&
         has_words(p.out, p.d_align, p.ldd, p.d_batch, p.n, p.batch) &&
         (p.beta == 0 || p.c_is_d || has_words(p.out, p.d_align, p.ldc, p.c_batch, p.n, p.batch)) &&
         (!p.residual || has_words(p.out, p.d_align, p.ldr, p.r_batch, p.n, p.batch));
}

// What a pipeline's compilation takes, in hundredths of a second. lavapipe's takes longer the more loads there are.
unsigned any_cost(const LevelRow& row) {
  const Kernel& kernel = kKernels[row[kKernel]];
  unsigned cost = kernel.cost;
  if (kernel.family != Family::direct) {
    if (row[kUnit] == 0) cost *= 2;
    if (row[kAStored] != kASame) cost = cost * 4 / 3;
    if (row[kBStored] != kBSame) cost = cost * 4 / 3;
  }
  return cost + (row[kSplit] != 0 || kernel.tail ? 10 : 0);
}

// SwiftShader optimizes the module first, whatever its constants.
unsigned word_cost(const LevelRow& row) {
  const Kernel& kernel = kKernels[row[kKernel]];
  const unsigned cost = kernel.family == Family::direct ? 60 : kernel.family == Family::matvec ? 140 : 250;
  return cost + (row[kSplit] != 0 || kernel.tail ? 60 : 0);
}

}  // namespace

CoverRules matmul_cover_rules(Accesses accesses) {
  CoverRules rules;
  rules.levels.assign(std::begin(kLevels), std::end(kLevels));
  rules.levels[kKernel] = static_cast<std::uint8_t>(std::size(kKernels));
  const bool words = accesses == Accesses::words;
  rules.clash = [words](const LevelRow& row) { return clash(row) || (words && words_clash(row)); };
  if (words) rules.valid = [](const LevelRow& row) { return words_suffice(made(row)); };
  rules.cost = words ? word_cost : any_cost;
  return rules;
}

std::vector<LevelRow> covering_matmul_rows(std::uint64_t seed, Accesses accesses) {
  return covering_rows(matmul_cover_rules(accesses), mix(seed ^ 0x636f766572u));  // "cover"
}

const std::vector<CoveringMatmul>& covering_matmuls(std::uint64_t seed, Accesses accesses) {
  return covering_cases(seed, accesses, covering_matmul_rows, made);
}

std::string matmul_level_name(std::uint8_t factor, std::uint8_t level) {
  return level_text(kFactorNames[factor], level, factor == kKernel ? kKernels[level].candidate : nullptr);
}

}  // namespace sectile::reference
