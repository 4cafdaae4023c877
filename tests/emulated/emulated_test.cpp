// The CUDA kernels against the reference, on the host: problem -> planner -> kernel -> every byte compared.
#include "memory.hpp"

#include "reference/generate.hpp"
#include "reference/permute.hpp"
#include "reference/random.hpp"

#include "support/scope.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

using namespace sectile;
using emulated::admissible;
using emulated::Memory;
using emulated::plan_by;
using emulated::Tally;

namespace {

void run_plan(const Plan& plan, const Memory& src, const Memory& dst, Tally& tally) {
  const emulated::Operand operands[] = {{src.address()}, {dst.address()}};
  for (const Step& step : plan.steps) {
    tally.count(step.kernel);
    const std::string failure = emulated::run(step, operands);
    CHECK_MESSAGE(failure.empty(), step.kernel.stem << "." << step.kernel.variant << ": " << failure);
  }
}

// The problem's operands with data of its own, and what the destination has to be.
class Moved {
 public:
  Moved(const PermuteProblem& problem, std::uint64_t seed)
      : definition_(problem),
        src_(definition_.src_bytes(), problem.src_align),
        dst_(definition_.dst_bytes(), problem.dst_align),
        expected_(dst_.bytes().size(), Memory::kPoison) {
    std::vector<std::byte> data((src_.bytes().size() + 7) / 8 * 8);
    reference::fill_data(data, seed);
    std::copy_n(data.begin(), src_.bytes().size(), src_.address());
    reference::permute(definition_, src_.bytes(), expected_);
  }
  // Runs a plan, and compares the whole destination.
  void check(const Plan& plan, Tally& tally) const {
    dst_.poison();
    run_plan(plan, src_, dst_, tally);
    const auto mismatch = reference::compare(definition_, expected_, dst_.bytes());
    CHECK_MESSAGE(!mismatch.has_value(), mismatch->message());
    CHECK(dst_.guards_stand());
  }

 private:
  reference::PermuteDefinition definition_;
  Memory src_, dst_;
  std::vector<std::byte> expected_;
};

// The problem by each admissible candidate whose name begins so.
void check_candidates(const PermuteProblem& problem, const DeviceProfile& profile, std::uint64_t seed, Tally& tally,
                      std::string_view beginning = "") {
  CAPTURE(print(Problem(problem)));
  const Moved moved(problem, seed);
  for (const std::string& candidate : admissible(problem, profile)) {
    if (!candidate.starts_with(beginning)) continue;
    CAPTURE(candidate);
    moved.check(plan_by(problem, profile, candidate), tally);
  }
}

// The same for operands of gigabytes, of which few pages are touched: elements alone are compared, by the
// definition's own index arithmetic.
void check_sparse(const PermuteProblem& problem, const DeviceProfile& profile, std::uint64_t seed, Tally& tally) {
  CAPTURE(print(Problem(problem)));
  const reference::PermuteDefinition definition(problem);
  const auto shape = definition.dst_shape();
  const std::size_t element = definition.element_bytes();
  const auto each = [&](auto&& visit) {
    std::vector<std::int64_t> coordinate(shape.size(), 0);
    for (std::size_t axis = 0; axis < shape.size();) {
      visit(definition.destination_at(coordinate), definition.source_of(coordinate));
      for (axis = 0; axis < shape.size() && ++coordinate[axis] == shape[axis]; ++axis) coordinate[axis] = 0;
    }
  };
  // Without layouts there is no padding: every element of the destination has a source.
  const auto bytes_at = [&](std::span<std::byte> operand, std::int64_t at) {
    return operand.subspan(static_cast<std::size_t>(at) * element, element);
  };
  const Memory src(definition.src_bytes(), problem.src_align);
  reference::Random random(seed);
  each([&](std::int64_t, std::optional<std::int64_t> from) {
    for (std::byte& byte : bytes_at(src.bytes(), from.value())) byte = static_cast<std::byte>(random.next());
  });
  for (const std::string& candidate : admissible(problem, profile)) {
    CAPTURE(candidate);
    const Memory dst(definition.dst_bytes(), problem.dst_align);
    each([&](std::int64_t to, std::optional<std::int64_t>) {
      std::ranges::fill(bytes_at(dst.bytes(), to), Memory::kPoison);
    });
    const Plan plan = plan_by(problem, profile, candidate);
    CHECK(plan.steps[0].kernel.variant.ends_with(".wide"));
    run_plan(plan, src, dst, tally);
    std::size_t wrong = 0;
    each([&](std::int64_t to, std::optional<std::int64_t> from) {
      if (!std::ranges::equal(bytes_at(dst.bytes(), to), bytes_at(src.bytes(), from.value()))) ++wrong;
    });
    CHECK(wrong == 0);
  }
}

PermuteProblem by_layout(DType type, std::vector<std::int64_t> shape, std::string from, std::string to) {
  PermuteProblem problem;
  problem.type = type;
  problem.shape = std::move(shape);
  problem.src_layout = std::move(from);
  problem.dst_layout = std::move(to);
  return problem;
}

constexpr DType kTypes[] = {DType::b8, DType::b16, DType::b32, DType::b64, DType::b128};

PermuteProblem by_axes(DType type, std::vector<std::int64_t> shape, std::vector<int> axes) {
  PermuteProblem problem;
  problem.type = type;
  problem.shape = std::move(shape);
  problem.axes = std::move(axes);
  return problem;
}

// The same device by CUDA, without what the host does not run.
DeviceProfile by_cuda(DeviceProfile profile) {
  profile.api = Api::cuda;
  profile.cuda_architecture.reset();
  profile.async_copy = true;
  return profile;
}

// Rows so far apart that byte offsets pass 2^31, in the source or the destination.
void check_far_rows(const DeviceProfile& profile, Tally& tally) {
  for (const DType type : kTypes) {
    for (const auto& [shape, axes] : {std::pair<std::vector<std::int64_t>, std::vector<int>>{{80, 96}, {1, 0}},
                                      {{9, 20, 7}, {2, 1, 0}},    // a box
                                      {{3, 64, 3}, {0, 2, 1}},    // an interleave
                                      {{7, 9, 37}, {1, 0, 2}},    // rows
                                      {{7, 9, 3}, {1, 0, 2}}}) {  // runs
      for (const bool source : {true, false}) {
        check_sparse(reference::far_permute(type, shape, axes, source), profile, 8, tally);
      }
    }
  }
}

}  // namespace

// By CUDA, which has all rows that Vulkan has, permute_gather, and permute_ragged for elements of 8 bytes.
TEST_CASE("every candidate of generated permutes comes out right") {
  const DeviceProfile profile = by_cuda(emulated::target("nvidia-hopper"));
  Tally tally;
  const std::size_t most = test::scope<std::size_t>(300, 200, 80);
  std::size_t problems = 0;
  for (std::uint64_t index = 0; problems < most; ++index) {
    const PermuteProblem problem = reference::generate_permute(21, index);
    const reference::PermuteDefinition definition(problem);
    if (definition.empty() || definition.src_bytes() + definition.dst_bytes() > std::uint64_t{128} * 1024) continue;
    ++problems;
    check_candidates(problem, profile, index, tally);
  }
  // What the generator's problems do not reach: more than 28 words for every element size, halves and words copied
  // alone.
  for (const DType type : kTypes) {
    check_candidates(by_axes(type, {3, 2, 2, 3, 16, 2, 16}, {6, 0, 2, 4, 1, 3, 5}), profile, 1, tally);
    check_candidates(by_axes(type, {2, 3, 2, 3, 2, 32, 3}, {0, 6, 4, 2, 1, 5, 3}), profile, 2, tally);
    // Runs of three among many axes.
    check_candidates(by_axes(type, {2, 3, 2, 2, 2, 3, 7, 3}, {6, 4, 2, 5, 3, 1, 0, 7}), profile, 2, tally);
    // Rows that begin anywhere, of more words than are pushed.
    check_candidates(by_axes(type, {3, 2, 2, 3, 2, 3, 37}, {4, 0, 2, 5, 1, 3, 6}), profile, 2, tally);
    // Pixels of three channels, strided in all the other axes.
    PermuteProblem interleave = by_axes(type, {2, 2, 2, 2, 2, 16, 3}, {6, 1, 3, 0, 4, 2, 5});
    interleave.src_strides = {6000, 2900, 1400, 600, 200, 3, 1};
    check_candidates(interleave, profile, 3, tally);
    // Three channels, and a fourth of zeros; then the fourth is dropped.
    check_candidates(by_layout(type, {2, 4, 16, 3}, "NHWC", "NCHW4c"), profile, 4, tally);
    check_candidates(by_layout(type, {2, 3, 4, 16}, "NCHW", "NCHW4c"), profile, 5, tally);
    for (const char* plain : {"NHWC", "NCHW"}) {
      PermuteProblem back = by_layout(type, {2, 1, 4, 16, 4}, "NCHW4c", plain);
      back.extents = {{'C', 3}};
      check_candidates(back, profile, 6, tally);
    }
  }
  check_candidates(by_axes(DType::b64, {2, 65, 37}, {0, 2, 1}), profile, 8, tally);
  DeviceProfile no_bytes = profile;
  no_bytes.storage8 = false;
  for (const DType type : {DType::f16, DType::f32}) {
    PermuteProblem copy = by_axes(type, {4099}, {0});
    copy.dst_align = 4;
    check_candidates(copy, no_bytes, 7, tally);
  }
  check_far_rows(profile, tally);
  CHECK_MESSAGE(tally.missing("permute", {"permute_fused"}).empty(),
                "never run:" << tally.missing("permute", {"permute_fused"}));
  MESSAGE(problems << " generated problems, " << tally.runs() << " kernels run");
}

// Rows that begin anywhere, in both operands: lengths of runs, sizes beside a tile's and a block's, addresses.
TEST_CASE("runs of every length come out right") {
  const DeviceProfile profile = emulated::target("nvidia-hopper");
  Tally tally;
  constexpr std::array<std::pair<std::int64_t, std::int64_t>, 6> kSides = {
      {{61, 67}, {60, 64}, {5, 131}, {129, 3}, {17, 120}, {2, 2}}};
  std::uint64_t seed = 1;
  for (const DType type : kTypes)
    for (std::int64_t run = 2; run <= 9; ++run) {
      const auto [rows, columns] = kSides[static_cast<std::size_t>(run + size_bytes(type)) % kSides.size()];
      const std::string_view stem =
          run % 4 == 3 ? "" : "permute_runs";  // the others meet runs among generated problems
      PermuteProblem problem = by_axes(type, {2, rows, columns, run}, {0, 2, 1, 3});
      problem.src_offset = run % 4;
      problem.dst_offset = run % 3;
      problem.src_align = problem.dst_align = size_bytes(type);
      check_candidates(problem, profile, ++seed, tally, stem);
      problem.axes = {2, 1, 0, 3};
      problem.src_offset = problem.dst_offset = 0;
      problem.src_align = problem.dst_align = 16;
      problem.dst_strides = {2 * rows * run + 5, 2 * run, run, 1};
      check_candidates(problem, profile, ++seed, tally, stem);
    }
  const std::string missing = tally.missing("permute_runs") + " ";
  for (const char* variant : {"e1 ", "e2 ", "e4 "})
    CHECK_MESSAGE(missing.find(std::string("runs.") + variant) == std::string::npos, missing);
}

// The kernels for any address. Rows of the destination have parts that are neither the first nor the last, and a last
// one of any length; boxes have one to three axes of either operand's runs.
TEST_CASE("rows that begin anywhere come out right") {
  DeviceProfile profile = emulated::target("nvidia-hopper");
  Tally tally;
  std::uint64_t seed = 1;
  const auto check = [&](PermuteProblem problem, std::string_view stem) {
    problem.src_align = problem.dst_align = size_bytes(problem.type);
    problem.src_offset = static_cast<std::int64_t>(seed % 19);
    problem.dst_offset = static_cast<std::int64_t>(seed % 23);
    const bool cuda = stem == "permute_gather" || (stem == "permute_ragged" && problem.type == DType::b64);
    check_candidates(problem, cuda ? by_cuda(profile) : profile, ++seed, tally, stem);
  };
  for (const DType type : {DType::b8, DType::b16, DType::b32, DType::b64}) {
    const std::int64_t element = size_bytes(type);
    for (const std::int64_t bytes : {1531, 712, 490}) {
      check(by_axes(type, {2, bytes / element, 11}, {0, 2, 1}), "permute_ragged");
      check(by_axes(type, {bytes / element, 19}, {1, 0}), "permute_table");
      check(by_axes(type, {3, bytes / element, 25}, {2, 1, 0}), "permute_table");
      check(by_axes(type, {bytes / element, 3, 5, 7}, {3, 2, 1, 0}), "permute_table");
      check(by_axes(type, {3, bytes / element / 15, 5, 7}, {3, 1, 2, 0}), "permute_table");
    }
    // Sources whose rows are every number of bytes apart, modulo 16; columns of one tile and of several; two axes of S.
    // The last one is refused: D would have two axes.
    if (type != DType::b64) {
      for (const std::int64_t columns : {31, 34, 36, 40, 48, 333})
        check(by_axes(type, {2, 601 / element, columns}, {0, 2, 1}), "permute_gather");
      check(by_axes(type, {700 / element, 2, 7, 13}, {3, 1, 2, 0}), "permute_gather");
      check(by_axes(type, {29, 7, 133}, {2, 1, 0}), "permute_gather");
    }
    // Packed tiles of several pieces: of one axis, of two, of a D of two axes, and of no more than a column each.
    check(by_axes(type, {2, 9, 43, 11}, {0, 3, 2, 1}), "permute_ragged");
    check(by_axes(type, {10, 29, 3, 7}, {3, 2, 1, 0}), "permute_ragged");
    check(by_axes(type, {4, 3, 29, 7}, {3, 2, 1, 0}), "permute_ragged");
    check(by_axes(type, {8, 5, 128 / element}, {2, 1, 0}), "permute_ragged");
    for (const std::int64_t bytes : {16, 17, 24, 31, 65, 129}) {
      PermuteProblem problem = by_axes(type, {3, 19, (bytes + element - 1) / element}, {1, 0, 2});
      check(problem, "permute_realign");
      const std::int64_t row = problem.shape.back();
      problem.src_strides = {20 * row, row + 1, 1};
      problem.dst_strides = {3 * row + 1, row, 1};
      check(problem, "permute_realign");
    }
  }
  // Blocks of single elements are for CPUs: whole tiles, and ends of any length from a block on.
  const DeviceProfile cpu = emulated::target("lavapipe");
  for (const DType type : {DType::b16, DType::b32, DType::b64})
    for (const auto& [rows, columns] : {std::pair{37, 301}, {301, 37}, {4, 5}, {130, 7}, {17, 263}})
      check_candidates(by_axes(type, {2, rows, columns}, {0, 2, 1}), cpu, ++seed, tally, "permute_block");
  // Blocks that do not divide their axis: the last of three position axes, the second of three, the last of two.
  for (const DType type : {DType::b8, DType::b16, DType::b32})
    for (const auto& [from, to, shape, channels] :
         {std::tuple{"NCHW8c", "NCHW", std::vector<std::int64_t>{3, 3, 5, 7, 8}, 21},
          std::tuple{"NCHW8c", "NHWC", std::vector<std::int64_t>{3, 3, 5, 7, 8}, 17},
          std::tuple{"NCHW16c", "NHWC", std::vector<std::int64_t>{29, 2, 1, 1, 16}, 29}}) {
      PermuteProblem problem;
      problem.type = type;
      problem.shape = shape;
      problem.src_layout = from;
      problem.dst_layout = to;
      problem.extents = {{'C', channels}};
      check(problem, "permute_table");
    }
  // Packed tiles whose last channels are zeros, of sources that end with their last channel.
  for (const DType type : {DType::b8, DType::b16, DType::b32})
    for (const std::int64_t channels : {9, 15, 43})
      for (const char* to : {"NCHW16c", "NCHW32c"}) {
        PermuteProblem problem;
        problem.type = type;
        problem.shape = {2, channels, 9, 23};
        problem.src_layout = "NCHW";
        problem.dst_layout = to;
        check(problem, "permute_ragged");
      }
  // Short rows with gaps, whose sectors are asked for.
  for (const DType type : {DType::b8, DType::b16, DType::b32})
    for (const char* stem : {"permute_table", "permute_ragged", "permute_rows"}) {
      PermuteProblem problem = by_axes(type, {37, 29, 11}, {2, 1, 0});
      problem.dst_strides = {29 * 43 + 3, 43, 1};
      check(problem, stem);
    }
  // Rows that are so short that they are stored by single elements: many to a sector, few, and each by itself.
  for (const DType type : {DType::b8, DType::b16, DType::b32})
    for (const std::int64_t pitch : {14, 17, 61}) {
      PermuteProblem problem = by_axes(type, {13, 5, 7, 67}, {2, 3, 1, 0});
      problem.dst_strides = {67 * (5 * pitch + 3), 5 * pitch + 3, pitch, 1};
      check(problem, "permute_ragged");
      problem.axes = {2, 1, 3, 0};
      problem.dst_strides = {5 * 67 * pitch, 67 * pitch, pitch, 1};
      check(problem, "permute_ragged");
    }
  for (const DType type : {DType::b8, DType::b16, DType::b32}) {
    PermuteProblem problem = by_axes(type, {3, 269, 29}, {0, 2, 1});
    problem.dst_strides = {29 * 271 + 3, 271, 1};
    check(problem, "permute_gather");
  }
  // Single elements: runs without a gap and with some, in one segment of several parts, in several, and in short ones.
  for (const DType type : {DType::b8, DType::b16, DType::b32})
    for (const std::int64_t run : {2, 3, 7, 19, 31})
      for (const std::int64_t gap : {0, 1, 2}) {
        PermuteProblem problem = by_axes(type, {5, 11, 67, run}, {1, 0, 2, 3});
        const std::int64_t pitch = run + gap, rows = 67 * pitch;
        problem.dst_strides = {5 * rows, rows, pitch, 1};
        check(problem, "permute_elements");
        problem.dst_strides = {5 * (rows + 3) + 1, rows + 3, pitch, 1};
        check(problem, "permute_elements");
        if (gap > run) continue;
        PermuteProblem few = by_axes(type, {61, 3, 3, run}, {0, 2, 1, 3});
        few.dst_strides = {9 * pitch + 5, 3 * pitch, pitch, 1};
        check(few, "permute_elements");
      }
  profile.multiprocessors = 1;  // few places for workgroups: walks have several tiles
  for (const DType type : {DType::b8, DType::b32}) {
    check(by_axes(type, {200, 13, 11}, {0, 2, 1}), "permute_table");
    check(by_axes(type, {5, 4500, 3}, {2, 1, 0}), "permute_table");
    check(by_axes(type, {4, 39, 200, 3}, {1, 2, 0, 3}), "permute_table");
  }
  for (const char* stem : {"permute_realign", "permute_ragged", "permute_gather", "permute_table", "permute_elements"})
    for (const char* variant : {"e1 ", "e2 ", "e4 ", "e8 "})
      CHECK_MESSAGE((tally.missing(stem) + " ").find(std::string(stem) + "." + variant) == std::string::npos,
                    tally.missing(stem));
}

// Runs that end in zeros: in any word of a run, in all of it, and where a word has the ends of two runs.
TEST_CASE("zeros at the end of runs come out right") {
  const DeviceProfile profile = emulated::target("nvidia-hopper");
  Tally tally;
  std::uint64_t seed = 1;
  const auto check = [&](PermuteProblem problem, std::int64_t extent, std::int64_t offset) {
    if (extent != 0) problem.extents = {{'C', extent}};
    problem.src_align = problem.dst_align = size_bytes(problem.type);
    problem.src_offset = static_cast<std::int64_t>(seed % 5);
    problem.dst_offset = offset;
    check_candidates(problem, profile, ++seed, tally, "permute_realign");
  };
  for (const DType type : {DType::b8, DType::b16, DType::b32}) {
    const std::int64_t block = 64 / size_bytes(type);  // elements
    const std::string blocks = std::to_string(block) + "c", halves = std::to_string(block / 2) + "c";
    for (const std::int64_t offset : {0, 3, 8}) {
      for (const std::int64_t beyond : {std::int64_t{1}, block / 4, block / 2 + 1, block - 1}) {
        check(by_layout(type, {1, 3, 17, block + beyond}, "NHWC", "NCHW" + blocks), 0, offset);
        check(by_layout(type, {2, 3, 17, beyond}, "NHWC", "CHWN" + blocks), 0, offset);
      }
      // A block of the source that lies past its end.
      check(by_layout(type, {1, 1, 3, 17, block / 2}, "NCHW" + halves, "NCHW" + blocks), block / 2 - 1, offset);
    }
  }
}

// Blocks that do not divide their axis: an interior without bounds, and edges.
TEST_CASE("problems that are moved in parts come out right") {
  DeviceProfile profile = emulated::target("nvidia-hopper");
  profile.multiprocessors = 2;  // a second step pays for small problems
  Tally tally;
  std::uint64_t seed = 1;
  const auto check = [&](PermuteProblem problem, std::vector<std::pair<char, std::int64_t>> extents,
                         std::size_t steps) {
    problem.extents = std::move(extents);
    CAPTURE(print(Problem(problem)));
    const Plan plan = make_plan(problem, profile).value();
    CHECK(plan.steps.size() == steps);
    Moved(problem, ++seed).check(plan, tally);
  };
  check(by_layout(DType::b8, {1, 53, 290, 300}, "NCHW", "NCHW4c"), {}, 2);
  check(by_layout(DType::b8, {1, 290, 300, 53}, "NHWC", "NCHW4c"), {}, 2);
  check(by_layout(DType::b16, {2, 14, 150, 140, 4}, "NCHW4c", "NHWC"), {{'C', 53}}, 2);
  check(by_layout(DType::b32, {5, 111, 7, 16, 8, 8}, "OIHW8i8o", "OIHW"), {{'I', 881}, {'O', 38}}, 4);
  // No limit is left where nothing is written past it.
  check(by_layout(DType::b8, {2, 9, 80, 100, 32}, "NCHW32c", "NCHW"), {{'C', 257}}, 2);
  check(by_layout(DType::b16, {1, 4, 200, 180, 16}, "NCHW16c", "NCHW4c"), {{'C', 59}}, 3);
  // Data and zeros of short rows are one step, many zeros of long ones a step of their own.
  check(by_layout(DType::b8, {4, 65, 90, 100}, "NCHW", "NCHW64c"), {}, 2);
  check(by_layout(DType::b32, {1, 68, 90, 100}, "NCHW", "NCHW64c"), {}, 2);
  check(by_layout(DType::b8, {5, 513, 30, 33}, "NCHW", "NCHW512c"), {}, 3);
  check(by_layout(DType::b32, {1, 130, 90, 100}, "NCHW", "NCHW128c"), {}, 3);
  PermuteProblem anywhere = by_layout(DType::b8, {5, 515, 30, 33}, "NCHW", "NCHW512c");
  anywhere.src_offset = 5;
  anywhere.dst_offset = 7;
  anywhere.src_align = anywhere.dst_align = 1;
  check(anywhere, {}, 3);
}

// None of the checks above is blind.
TEST_CASE("emulation sees what is wrong") {
  const DeviceProfile profile = emulated::target("nvidia-hopper");
  const PermuteProblem problem = by_axes(DType::f32, {64, 64}, {1, 0});
  const Memory src(std::uint64_t{64} * 64 * 4, 16), dst(std::uint64_t{64} * 64 * 4, 16);
  const emulated::Operand operands[] = {{src.address()}, {dst.address()}};
  const auto plan = make_plan(problem, profile, {.force = "permute_tile"});
  REQUIRE(plan.has_value());
  const Step& good = plan->steps.at(0);
  CHECK(emulated::run(good, operands) == "");
  const auto constant = [](Step& step, std::uint32_t id) -> std::uint32_t& {
    return std::ranges::find(step.constants, id, &Constant::id)->value;
  };
  const auto says = [&](const Step& step, std::string_view what) {
    const std::string failure = emulated::run(step, operands);
    CHECK_MESSAGE(failure.find(what) != std::string::npos, failure);
  };
  Step step = good;
  step.accesses[0].end -= 4;
  says(step, "load of");
  step = good;
  step.accesses[1].begin += 4;
  says(step, "lies outside the step's ranges");
  step = good;
  step.addresses[0].byte_offset = 4;
  step.accesses[0].end += 4;
  says(step, "is misaligned");
  step = good;
  constant(step, 13) += 4;  // the skew: more workgroup memory than the step states
  says(step, "of workgroup memory");
  step = good;
  step.kernel.variant = "e3";
  says(step, "no CUDA kernel permute_tile.e3");
}
