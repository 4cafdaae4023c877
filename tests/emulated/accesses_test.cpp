// What the planner claims of a permute's accesses (Candidate::interior and edge) against what the emulated kernel does:
// one workgroup is traced and counted by counts.hpp. matmul_accesses_test.cpp has the same of matmuls.
#include "counts.hpp"
#include "memory.hpp"

#include "support/scope.hpp"

#include "permute/permute_fused_ragged.abi.h"
#include "permute/permute_ragged.abi.h"
#include "permute/permute_rows.abi.h"
#include "plan/permute/kernel_words.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <span>

using namespace sectile;
using namespace sectile::emulated;

namespace {

// ---- which workgroup a claim speaks of

// The stream of words that permute/permute.abi.h describes.
class Words {
 public:
  explicit Words(const Step& step)
      : wide_(step.kernel.variant.ends_with(".wide")), constants_{.kAxes = constant_of(step, PERMUTE_SPEC_AXES)} {
    std::uint32_t pushed = PERMUTE_PUSH_WORDS;
    if (wide_ || step.kernel.variant.ends_with(".long")) pushed = constant_of(step, PERMUTE_SPEC_PUSHED);
    for (std::uint32_t k = 0; k < pushed; ++k)
      std::memcpy(&word_[k], step.push.data() + offsetof(PermutePush, words) + std::size_t{4} * k, 4);
    for (const Constant& constant : step.constants)
      if (constant.id >= PERMUTE_SPEC_WORD0 && constant.id < PERMUTE_SPEC_WORD0 + word_.size())
        word_.at(constant.id - PERMUTE_SPEC_WORD0) = constant.value;
    if (step.kernel.stem.starts_with("permute_fused")) {
      constants_.kStage = constant_of(step, PERMUTE_FUSED_SPEC_STAGE);
      first_ = detail::size_of<detail::PermuteFusedFirstWords>(constants_);
    }
  }
  std::uint32_t axes() const { return constants_.kAxes; }
  std::uint32_t count(std::uint32_t axis) const {
    return detail::PermuteAxisWordsReader{{}, from(first_ + axis * axis_words()), wide_}.axis_count();
  }
  // The kernel's own words.
  std::span<const std::uint32_t> own() const {
    return from(first_ + axes() * axis_words() + detail::size_of<detail::PermuteShiftWords>(constants_));
  }

 private:
  std::uint32_t axis_words() const { return detail::size_of<detail::PermuteAxisWords>({}, wide_); }
  std::span<const std::uint32_t> from(std::uint32_t k) const { return std::span(word_).subspan(k); }
  bool wide_;
  detail::PermuteConstants constants_;
  std::array<std::uint32_t, PERMUTE_FUSED_MAX_WORDS> word_{};
  std::uint32_t first_ = 0;
};

struct Groups {
  std::uint64_t interior = 0, edge = 0;
  bool whole = true;  // the interior one: no element of it lies outside the problem
};

// Ids that are invocations': the middle workgroup, and the last.
Groups groups_of_ids(std::uint64_t ids, std::uint64_t each) {
  const std::uint64_t groups = (ids + each - 1) / each;
  return {groups / 2, groups - 1, groups > 2};
}

// Ids that are tiles': the middle tile along the tiled axes, and the last, at the first index of all others.
Groups groups_of_tiles(const Words& words, std::uint32_t tiled) {
  Groups groups;
  std::uint64_t scale = 1;
  for (std::uint32_t a = 0; a < tiled; ++a) {
    const std::uint64_t count = words.count(a);
    groups.interior += (count - 1) / 2 * scale;
    groups.edge += (count - 1) * scale;
    groups.whole = groups.whole && count > 1;
    scale *= count;
  }
  return groups;
}

// The same where ids walk squares of `side` x `side` tiles: the squares are axes 2 (along S) and 3 (along D).
Groups groups_of_squares(const Words& words) {
  const std::uint64_t side = words.count(0);
  const bool swap = detail::PermuteTileWordsReader{{}, words.own()}.d_first() != 0;
  const auto id = [&](std::uint64_t s, std::uint64_t d) {
    const std::uint64_t inside = swap ? d % side + s % side * side : s % side + d % side * side;
    return inside + side * side * (s / side + words.count(2) * (d / side));
  };
  const std::uint64_t tiles_s = words.count(2) * side, tiles_d = words.count(3) * side;
  return {id((tiles_s - 1) / 2, (tiles_d - 1) / 2), id(tiles_s - 1, tiles_d - 1), true};
}

Groups groups_of(const Step& step, const std::string& candidate) {
  const std::string& stem = step.kernel.stem;
  if (stem == "permute_copy") {
    PermuteCopyPush push;
    std::memcpy(&push, step.push.data(), sizeof push);
    const std::uint32_t groups = detail::PermuteCopyWordsReader{{}, push.words}.groups();
    return {0, groups - 1, groups > 1};
  }
  const Words words(step);
  std::uint64_t ids = 1;
  for (std::uint32_t a = 0; a < words.axes(); ++a) ids *= words.count(a);
  if (stem == "permute_rows")
    return groups_of_ids(ids, std::uint64_t{step.workgroup[0]} * constant_of(step, PERMUTE_ROWS_SPEC_UNROLL));
  if (stem == "permute_words" || stem == "permute_fused" || stem == "permute_interleave" || stem == "permute_realign")
    return groups_of_ids(ids, step.workgroup[0]);
  if (stem == "permute_box") {
    const detail::PermuteBoxWordsReader box{{}, words.own()};
    std::uint32_t boxed = 0;
    while (boxed < PERMUTE_BOX_AXES && box.box_sizes(boxed).x > 1) ++boxed;
    Groups groups = groups_of_tiles(words, boxed);
    groups.whole = true;  // a box of a whole axis has all of it
    return groups;
  }
  if (stem == "permute_ragged" || stem == "permute_fused_ragged") {
    const bool fused = stem == "permute_fused_ragged";
    const detail::RaggedConstants constants{
        .kInner = constant_of(step, fused ? PERMUTE_FUSED_RAGGED_SPEC_INNER : PERMUTE_RAGGED_SPEC_INNER),
        .kPacked = constant_of(step, fused ? PERMUTE_FUSED_RAGGED_SPEC_PACKED : PERMUTE_RAGGED_SPEC_PACKED)};
    const std::uint64_t tiles_d = words.count(0), tiles_s = words.count(1);
    const bool s_first = detail::PermuteRaggedWordsReader{constants, words.own()}.s_first() != 0;
    const auto id = [&](std::uint64_t d, std::uint64_t s) { return s_first ? s + d * tiles_s : d + s * tiles_d; };
    return {id((tiles_d - 1) / 2, (tiles_s - 1) / 2), id(tiles_d - 1, tiles_s - 1), tiles_d > 2 && tiles_s > 1};
  }
  if (candidate.find(" g") != std::string::npos) return groups_of_squares(words);
  return groups_of_tiles(words, 2);
}

// ---- what claims promise

// Fields as in kFields. `part`: of a workgroup that reaches out of the problem.
struct Promise {
  std::string_view stem;
  Claims whole, part;
  bool first_subgroup = false;  // counts are those of the first subgroup, as if all did the same
};
constexpr Claim S{}, L{Claim::Kind::at_least}, X{Claim::Kind::none};
// Requests of a part: the walk counts those that have no active lane.
constexpr Promise kPromises[] = {
    // An edge is not counted: the claim is that of a whole workgroup, whose last elements need no requests of their
    // own.
    {"permute_copy", {}, {L, L, L, L, X, X, S}},
    {"permute_rows", {}, {S, S, S, S, L, L, S}},
    // Bank conflicts are those of a whole tile.
    {"permute_tile", {}, {S, S, S, S, S, L, L}},
    // The first column of the blocks is counted for all, whose rows may begin elsewhere in a transaction. Blocks that
    // lie
    // outside are not loaded at all, where the walk has them load their last row.
    {"permute_block", {S, within(334), S, S, S, S, S}, {L, L, L, L, L, L, S}},
    {"permute_box", {}, {S, S, S, S, L, L, L}},
    {"permute_fused", {}, {}, true},
    {"permute_fused_block", {}, {S, S, S, S, L, L, S}},
    {"permute_interleave", {}, {L, L, L, L, L, L, S}},
    // Transactions are those of the tile's rows, which requests share (compared with the workgroup's different ones),
    // in
    // eight of their places relative to a transaction; where each invocation reads what is in front of its block, rows
    // are
    // counted more than once. Full ones are of the rows' own bytes. An edge is not counted.
    {"permute_runs", {within(60), within(60), X, X, S, S, S}, {X, X, X, X, X, X, X}},
    {"permute_runs direct", {within(400), within(300), X, X, S, S, S}, {X, X, X, X, X, X, X}},
    // Formulas of the tile's sizes. A part of a destination row is whole transactions.
    {"permute_ragged", {X, within(50), X, X, X, X, X}, {X, X, X, X, X, X, X}},
    {"permute_fused_ragged", {X, within(50), X, X, X, X, X}, {X, X, X, X, X, X, X}},
    {"permute_gather", {X, X, X, X, X, X, X}, {X, X, X, X, X, X, X}},
    {"permute_realign", {X, X, X, X, X, X, X}, {X, X, X, X, X, X, X}},
    {"permute_elements", {X, X, X, X, X, X, X}, {X, X, X, X, X, X, X}},
    {"permute_table", {X, X, X, X, X, X, X}, {X, X, X, X, X, X, X}},
    // A fixed price for devices that can do no better: no count.
    {"permute_words", {X, X, X, X, X, X, X}, {X, X, X, X, X, X, X}},
};
// Their kernels run on a GPU alone.
constexpr std::string_view kNotEmulated[] = {"permute_tma"};

const Promise* promise_of(const Candidate& candidate) {
  const std::string stem = stem_of(candidate);
  const bool direct = candidate.name.find(" direct") != std::string::npos;
  const auto* found = std::ranges::find(kPromises, direct ? stem + " direct" : stem, &Promise::stem);
  return found == std::end(kPromises) ? nullptr : found;
}

// The first subgroup's bank conflicts are counted for all. Others have the same where every row begins with a store,
// and subgroups have whole rows or parts of one.
bool conflicts_repeat(const Step& step, std::uint32_t subgroup_size) {
  const auto unit = static_cast<std::uint32_t>(step.kernel.variant[1] - '0');
  const std::uint32_t stores = constant_of(step, PERMUTE_RUNS_SPEC_TILE_D) * constant_of(step, PERMUTE_RUNS_SPEC_RUN) *
                               unit / constant_of(step, PERMUTE_RUNS_SPEC_STORE_BYTES);
  return constant_of(step, PERMUTE_RUNS_SPEC_SHIFT) == 0 &&
         (stores % subgroup_size == 0 || subgroup_size % stores == 0);
}

Claims promised(const Promise& promise, const Step& step, bool whole, bool padded, std::uint32_t subgroup_size) {
  Claims claims = whole ? promise.whole : promise.part;
  if (step.kernel.stem == "permute_runs" && !conflicts_repeat(step, subgroup_size)) claims[6] = X;
  // Elements that have no source, or no place, are counted.
  if (padded)
    for (Claim& claim : claims)
      if (claim.kind == Claim::Kind::same) claim = L;
  return claims;
}

// ---- tracing

// A problem with operands that begin where a transaction does, as the walk takes them to.
class TracedProblem {
 public:
  explicit TracedProblem(const std::string& text) : text_(text) {
    auto problem = parse_problem(text);
    REQUIRE_MESSAGE(problem.has_value(), text << ": " << problem.error().message());
    problem_ = std::move(*problem);
    const auto specs = operands_of(problem_);
    REQUIRE(specs.has_value());
    specs_ = *specs;
    for (const OperandSpec& spec : specs_)
      operands_.push_back({memories_.emplace_back(std::make_unique<Memory>(spec.bytes, 4096))->address()});
  }
  const std::string& text() const { return text_; }
  const Problem& problem() const { return problem_; }

  // The accesses of a workgroup, but for those of scale and bias, which the walk does not count.
  std::vector<Access> trace(const Step& step, std::uint64_t group, bool vectors = false) const {
    std::vector<Access> accesses;
    const std::string failure = emulated::trace(step, operands_, group, accesses);
    CHECK_MESSAGE(failure.empty(), failure);
    if (vectors) return accesses;
    std::erase_if(accesses, [&](const Access& access) {
      for (std::size_t i = 0; i < specs_.size(); ++i) {
        const auto begin = reinterpret_cast<std::uintptr_t>(operands_[i].address);
        if ((specs_[i].name == "scale" || specs_[i].name == "bias") && access.address >= begin &&
            access.address < begin + specs_[i].bytes)
          return true;
      }
      return false;
    });
    return accesses;
  }

 private:
  std::string text_;
  Problem problem_;
  std::vector<OperandSpec> specs_;
  std::vector<std::unique_ptr<Memory>> memories_;
  std::vector<Operand> operands_;
};

// Neighbouring words that a lane reads one after the other as one access, where that is aligned: compilers join such
// reads (ncu counts no conflict for permute_tile 32x32 of 4x1, which two reads of 4 bytes would have).
void join_reads(std::vector<Access>& accesses, std::uint32_t bytes) {
  std::map<std::uint32_t, std::size_t> last;  // of an invocation
  std::vector<bool> joined(accesses.size());
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const Access& access = accesses[i];
    if (access.kind != Access::Kind::workgroup || access.barriers == 0) continue;
    const auto before = last.find(access.invocation);
    if (before != last.end()) {
      Access& first = accesses[before->second];
      if (first.address % bytes == 0 && first.address + first.bytes == access.address &&
          first.bytes + access.bytes <= bytes) {
        first.bytes += access.bytes;
        joined[i] = true;
        continue;
      }
    }
    last[access.invocation] = i;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < accesses.size(); ++i)
    if (!joined[i]) accesses[kept++] = accesses[i];
  accesses.resize(kept);
}

AccessCount found_of(const Promise& promise, const Step& step, std::vector<Access> accesses,
                     const DeviceProfile& profile) {
  if (promise.stem == "permute_tile") join_reads(accesses, constant_of(step, PERMUTE_TILE_SPEC_STORE_BYTES));
  AccessCount found = promise.first_subgroup ? count_of_first(accesses, profile, step.workgroup[0], step.workgroup[0])
                                             : count_of(accesses, profile);
  if (step.kernel.stem == "permute_runs") {
    found.load_transactions = different_transactions(accesses, Access::Kind::load, profile);
    found.store_transactions = different_transactions(accesses, Access::Kind::store, profile);
  }
  return found;
}

struct Tallies {
  std::map<std::string, std::size_t> whole, part;  // comparisons by stem
};

void compare(const TracedProblem& c, const DeviceProfile& profile, std::size_t every, std::size_t from,
             Tallies& tallies) {
  const bool padded = c.text().find("NCHW4c") != std::string::npos || c.text().find("NCHW8c") != std::string::npos;
  CAPTURE(c.text());
  const auto plan = make_plan(c.problem(), profile, {.explain = true});
  REQUIRE(plan.has_value());
  for (std::size_t i = 0; i < plan->candidates.size(); ++i) {
    const Candidate& candidate = plan->candidates[i];
    const Promise* promise = promise_of(candidate);
    if (!candidate.refusal.empty() || promise == nullptr || i % every != from % every) continue;
    CAPTURE(candidate.name);
    const Plan forced = plan_by(c.problem(), profile, candidate.name);
    REQUIRE(forced.steps.size() == 1);
    const Step& step = forced.steps[0];
    // Subgroups are taken to be full: see kDeviations.
    if (step.workgroup[0] < profile.subgroup_size.value()) continue;
    const Groups groups = groups_of(step, candidate.name);
    for (const bool interior : {true, false}) {
      const bool whole = interior && groups.whole;
      ++(whole ? tallies.whole : tallies.part)[std::string(promise->stem)];
      const auto found = found_of(*promise, step, c.trace(step, interior ? groups.interior : groups.edge), profile);
      const auto wrong = disagreement(promised(*promise, step, whole, padded, profile.subgroup_size.value()),
                                      interior ? candidate.interior : candidate.edge, found);
      CHECK_MESSAGE(wrong.empty(), std::string(interior ? whole ? "interior: " : "interior, not whole: " : "edge: ")
                                       << wrong);
    }
  }
}

// ---- claims that are wrong, with what is found: a row fails when either changes

struct Deviation {
  const char* why;
  std::uint32_t subgroup_size;
  const char* problem;
  const char* candidate;
  bool interior, vectors;      // scale and bias counted in
  AccessCount claimed, found;  // in the order of AccessCount
};
constexpr Deviation kDeviations[] = {
    {"an edge is not counted",
     32,
     "permute b32 100000 axes=0",
     "permute_copy u1 wg256",
     false,
     false,
     {128, 128, 128, 128, 8, 8, 0},
     {84, 84, 84, 84, 6, 6, 0}},
    {"the operands' offsets are left out",
     32,
     "permute b32 100000 axes=0 src.offset=3 dst.offset=1",
     "permute_copy u1 wg256",
     true,
     false,
     {32, 32, 32, 32, 8, 8, 0},
     {40, 40, 32, 32, 8, 8, 0}},
    {"elements without a source are loaded",
     32,
     "permute b8 2x13x7x9 layout=NCHW:NCHW8c",
     "permute_rows u4 wg256",
     true,
     false,
     {279, 31, 31, 31, 32, 32, 0},
     {227, 31, 31, 31, 31, 31, 0}},
    {"elements without a source are loaded",
     32,
     "permute b8 2x13x7x9 layout=NCHW:NCHW8c",
     "permute_box 768x768 a16 u4 wg128",
     true,
     false,
     {32, 32, 32, 32, 32, 32, 31},
     {26, 32, 26, 32, 26, 32, 31}},
    {"elements without a source are loaded",
     32,
     "permute u8 2x420x640x3 layout=NHWC:NCHW4c out=f32",
     "permute_fused v8 wg128",
     true,
     false,
     {52, 256, 16, 64, 16, 16, 0},
     {36, 256, 12, 64, 12, 16, 0}},
    {"scale and bias are left out",
     32,
     "permute u8 2x420x640x3 layout=NHWC:NCHW out=f16 scale=C bias=C",
     "permute_fused v8 wg128",
     true,
     true,
     {768, 64, 32, 64, 32, 4, 0},
     {776, 64, 64, 64, 40, 4, 0}},
    {"conflicts are those of a whole tile",
     32,
     "permute b8 516x771 axes=1,0",
     "permute_tile 64x64 v1x4 s4 wg256",
     false,
     false,
     {128, 3, 128, 2, 128, 32, 32},
     {128, 3, 128, 2, 128, 2, 0}},
    {"blocks outside the problem are loaded",
     32,
     "permute b16 515x770 axes=1,0",
     "permute_block 32x32 v1x1 s2 wg64",
     false,
     false,
     {32, 6, 64, 3, 32, 32, 0},
     {3, 6, 3, 3, 3, 3, 0}},
    {"the first column of the blocks stands for all",
     8,
     "permute b16 520x776 axes=1,0 src.strides=800x1 src.offset=16 dst.offset=8",
     "permute_block 32x32 v8x8 s16 wg8",
     true,
     false,
     {64, 128, 64, 64, 16, 16, 0},
     {64, 96, 64, 64, 16, 16, 0}},
    {"a workgroup is taken to be whole subgroups",
     32,
     "permute b8 512x768 axes=1,0",
     "permute_block 128x64 v16x16 s16 wg8 lanes-d",
     true,
     false,
     {256, 256, 256, 256, 16, 16, 0},
     {256, 256, 256, 256, 64, 64, 0}},
    {"add is read outside the problem, at the last row inside",
     32,
     "permute f16 40x640x330 axes=0,2,1 add=packed out=f32",
     "permute_fused_block 8x16 wg128 swap",
     false,
     false,
     {416, 80, 144, 80, 96, 32, 0},
     {464, 80, 192, 80, 96, 32, 0}},
    {"an edge is not counted",
     32,
     "permute b8 3x40000x3 axes=0,2,1",
     "permute_interleave p16 wg128",
     false,
     false,
     {384, 192, 192, 192, 12, 12, 0},
     {228, 114, 114, 114, 9, 9, 0}},
    {"rows begin anywhere",
     32,
     "permute b8 2x301x503x5 axes=0,2,1,3",
     "permute_runs 16x16 of 4x4 l16 s8 wg256 d-first",
     true,
     false,
     {696, 640, 640, 576, 192, 70, 210},
     {704, 608, 768, 560, 192, 70, 342}},
    {"an edge is not counted, and has no conflicts",
     32,
     "permute b8 2x301x503x5 axes=0,2,1,3",
     "permute_runs 16x16 of 4x4 l16 s8 wg256 d-first",
     false,
     false,
     {696, 640, 640, 576, 192, 70, 0},
     {282, 236, 768, 327, 192, 172, 36}},
    {"the tile has more rows than the problem",
     32,
     "permute b8 5x131x129x6 axes=2,1,0,3",
     "permute_runs 16x16 of 4x4 l16 s8 wg256 d-first",
     true,
     false,
     {824, 120, 768, 64, 224, 90, 462},
     {65, 120, 896, 196, 224, 196, 192}},
    {"a price and no count",
     32,
     "permute b8 515x770 axes=1,0",
     "permute_words wg64",
     true,
     false,
     {248, 8, 8, 8, 64, 2, 0},
     {248, 11, 32, 10, 8, 4, 0}},
};

DeviceProfile with_subgroups_of(std::uint32_t size, DeviceKind kind) {
  DeviceProfile profile = emulated::target("cuda:sm_90a");
  profile.kind = kind;
  profile.subgroup_size = profile.min_subgroup_size = profile.max_subgroup_size = size;
  return profile;
}

}  // namespace

TEST_CASE("claims of permutes are what kernels do") {
  // Rows for CPU devices have workgroups of 8.
  const DeviceProfile profiles[] = {with_subgroups_of(32, DeviceKind::discrete), with_subgroups_of(8, DeviceKind::cpu),
                                    with_subgroups_of(64, DeviceKind::discrete)};
  constexpr const char* kShapes[] = {"1000003 axes=0",
                                     "512x768 axes=1,0",
                                     "515x770 axes=1,0",
                                     "513x771 axes=1,0",
                                     "520x776 axes=1,0 src.strides=800x1 src.offset=16 dst.offset=8",
                                     "16x640x512 axes=1,0,2",
                                     "48x63x67 axes=2,0,1",
                                     "90x20x7 axes=2,1,0",
                                     "70x9x30 axes=1,0,2",
                                     "5x131x129x6 axes=2,1,0,3",
                                     "3x40000x3 axes=0,2,1",
                                     "2x4x40960 axes=0,2,1",
                                     "40960x3 axes=1,0",
                                     "2x300x500x3 axes=0,2,1,3",
                                     "2x301x503x5 axes=0,2,1,3",
                                     "3x2x2x3x16x2x16 axes=6,0,2,4,1,3,5",
                                     "512x640 axes=0,1 src.strides=0x1",
                                     "2x4x1600x3 layout=NHWC:NCHW4c",
                                     "2x13x70x9 layout=NCHW:NCHW8c",
                                     "2x1x4x1600x4 layout=NCHW4c:NHWC extent=C:3"};
  constexpr const char* kFused[] = {"permute f32 300x517 axes=1,0 out=f16 alpha=0.5",
                                    "permute f32 512x640 axes=1,0 out=f16 alpha=0.5",
                                    "permute u8 2x420x640x3 layout=NHWC:NCHW out=f16 scale=C bias=C",
                                    "permute f16 40x640x320 axes=0,2,1 add=packed out=f32",
                                    "permute f32 640x128x640 axes=2,1,0 add=packed out=i8",
                                    "permute f16 20x20x90x40 axes=0,2,1,3 alpha=2 out=bf16",
                                    "permute f32 2x3x400x400 layout=NCHW:NHWC out=u8",
                                    "permute u8 2x420x640x3 layout=NHWC:NCHW4c out=f32"};
  Tallies tallies;
  std::size_t from = 0;
  const std::size_t every = test::scope<std::size_t>(1, 2, 12);
  const auto by_all = [&](const std::string& text) {
    const TracedProblem c(text);
    for (const DeviceProfile& profile : profiles) compare(c, profile, every, from++, tallies);
  };
  for (const char* shape : kShapes)
    for (const char* type : {"b8", "b16", "b32", "b64", "b128"}) by_all(std::string("permute ") + type + " " + shape);
  for (const char* text : kFused) by_all(text);
  for (const Promise& promise : kPromises) {
    CAPTURE(std::string(promise.stem));
    CHECK(tallies.whole[std::string(promise.stem)] >= 3);
    CHECK(tallies.part[std::string(promise.stem)] >= 3);
  }
}

TEST_CASE("claims of permutes that are wrong stay as they are") {
  for (const Deviation& row : kDeviations) {
    CAPTURE(std::string(row.why));
    CHECK(row.claimed != row.found);
    const TracedProblem c(row.problem);
    const DeviceProfile profile =
        with_subgroups_of(row.subgroup_size, row.subgroup_size == 8 ? DeviceKind::cpu : DeviceKind::discrete);
    CAPTURE(std::string(row.problem));
    CAPTURE(std::string(row.candidate));
    const Candidate candidate = claim_of(c.problem(), profile, row.candidate);
    const Plan forced = plan_by(c.problem(), profile, row.candidate);
    const Step& step = forced.steps.at(0);
    const Groups groups = groups_of(step, row.candidate);
    const auto found = found_of(*promise_of(candidate), step,
                                c.trace(step, row.interior ? groups.interior : groups.edge, row.vectors), profile);
    const std::string claims = disagreement({}, row.interior ? candidate.interior : candidate.edge, row.claimed);
    CHECK_MESSAGE(claims.empty(), "the claim is another: " << claims);
    const std::string finds = disagreement({}, row.found, found);
    CHECK_MESSAGE(finds.empty(), "the kernel does otherwise: " << finds);
  }
}

// Every strategy of permutes is compared here or listed as one that cannot be.
TEST_CASE("every permute strategy is emulated or listed") {
  std::set<std::string> stems;
  for (const char* text : {"permute f32 512x768 axes=1,0", "permute f32 512x768 axes=1,0 out=f16"}) {
    const auto plan = make_plan(*parse_problem(text), with_subgroups_of(32, DeviceKind::discrete), {.explain = true});
    REQUIRE(plan.has_value());
    for (const Candidate& candidate : plan->candidates) {
      const std::string stem = stem_of(candidate);
      stems.insert(stem);
      const bool emulated = std::ranges::any_of(kernels(), [&](const KernelRow& row) { return row.stem == stem; });
      const bool listed = std::ranges::find(kNotEmulated, stem) != std::end(kNotEmulated);
      CAPTURE(stem);
      CHECK(emulated == (promise_of(candidate) != nullptr));
      CHECK(emulated != listed);
    }
  }
  for (const Promise& promise : kPromises)
    CHECK(stems.contains(std::string(promise.stem.substr(0, promise.stem.find(' ')))));
  for (const std::string_view stem : kNotEmulated) CHECK(stems.contains(std::string(stem)));
}
