#include "generate.hpp"

#include "activation.hpp"
#include "permute.hpp"
#include "random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::reference {
namespace {

constexpr std::array kTypes = {DType::i8,  DType::u8,  DType::b8,   DType::i16, DType::f16, DType::bf16,
                               DType::b16, DType::f32, DType::i32,  DType::b32, DType::f64, DType::i64,
                               DType::c64, DType::b64, DType::c128, DType::b128};
constexpr std::array<std::int64_t, 14> kPrimes = {2, 3, 5, 7, 11, 13, 17, 31, 37, 61, 67, 127, 131, 257};

std::int64_t odd(std::int64_t n) { return n / 2 * 2 + 1; }

// Elements of an access, a sector, half a line or a line, or one more or less.
std::int64_t pick_near(Random& random, std::int64_t element) {
  constexpr std::array<std::int64_t, 4> kBytes = {16, 32, 64, 128};
  return std::max<std::int64_t>(1, kBytes[random.below(kBytes.size())] / element + random.between(-1, 1));
}

// A size of at most `limit`: even, ragged, tiny and prime ones, those beside a tile's side and beside an access of
// elements of so many bytes.
std::int64_t pick_size(Random& random, std::int64_t limit, std::int64_t element) {
  std::int64_t size = 1;
  switch (random.below(7)) {
    case 0:
      size = std::int64_t{1} << random.below(11);
      break;
    case 1:
      size = kPrimes[random.below(kPrimes.size())];
      break;
    case 2:
      size = random.between(1, 9);
      break;
    case 3:
      size = (std::int64_t{8} << random.below(6)) + random.between(-1, 1);
      break;
    case 4:
      size = 4 * random.between(1, 64);
      break;
    case 5:
      size = pick_near(random, element);
      break;
    default:
      size = random.between(1, std::max<std::int64_t>(1, std::min<std::int64_t>(limit, 1000)));
      break;
  }
  return std::clamp<std::int64_t>(size, 1, std::max<std::int64_t>(1, limit));
}

// How many elements a case may have: small ones often, as most errors show there, big ones rarely.
std::int64_t pick_budget(Random& random) {
  if (random.one_in(400)) return random.between(500'000, 3'000'000);
  const auto bits = 3 + random.below(15);
  return std::min<std::int64_t>(200'000, (std::int64_t{1} << bits) + random.between(0, std::int64_t{1} << bits));
}

std::vector<std::int64_t> pick_shape(Random& random, std::size_t rank, std::int64_t budget, std::int64_t element) {
  std::vector<std::int64_t> shape(rank, 1);
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  shuffle(order, random);
  for (std::size_t i = 0; i < rank; ++i) {
    // A high rank leaves little for each axis; otherwise the first one drawn would eat the budget.
    const std::int64_t share = rank - i > 3 ? std::min<std::int64_t>(budget, random.between(1, 12)) : budget;
    shape[order[i]] = random.one_in(8) ? 1 : pick_size(random, share, element);
    budget = std::max<std::int64_t>(1, budget / shape[order[i]]);
  }
  return shape;
}

std::vector<int> pick_axes(Random& random, std::size_t rank) {
  std::vector<int> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  switch (random.below(8)) {
    case 0:
      break;  // identity
    case 1:
      std::reverse(axes.begin(), axes.end());
      break;
    case 2: {  // neighbours that stay together
      const auto cut = random.below(rank);
      std::rotate(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(cut), axes.end());
      break;
    }
    case 3: {  // the innermost axis stays
      const int last = axes.back();
      axes.pop_back();
      shuffle(axes, random);
      axes.push_back(last);
      break;
    }
    case 4:  // two axes change places
      std::swap(axes[random.below(rank)], axes[random.below(rank)]);
      break;
    default:
      shuffle(axes, random);
      break;
  }
  return axes;
}

void make_transpose(PermuteProblem& problem, Random& random) {
  const std::int64_t budget = pick_budget(random);
  const std::int64_t batch = random.one_in(2) ? 1 : random.between(1, 5);
  // The first side drawn leaves something for the other.
  const std::int64_t element = size_bytes(problem.type);
  const std::int64_t rows = pick_size(random, std::max<std::int64_t>(2, budget / batch >> random.below(9)), element);
  const std::int64_t columns = pick_size(random, std::max<std::int64_t>(1, budget / batch / rows), element);
  const bool swapped = random.one_in(2);
  problem.shape = {swapped ? columns : rows, swapped ? rows : columns};
  problem.axes = {1, 0};
  if (batch > 1) {
    problem.shape.insert(problem.shape.begin(), batch);
    problem.axes = {0, 2, 1};
  }
}

void make_general(PermuteProblem& problem, Random& random, std::size_t rank) {
  problem.shape = pick_shape(random, rank, pick_budget(random), size_bytes(problem.type));
  problem.axes = pick_axes(random, rank);
}

// Few elements, a long axis, few elements: pixels to planes and back, channels padded and dropped.
void make_records(PermuteProblem& problem, Random& random) {
  const std::int64_t batch = random.between(1, 3), few = random.between(1, 9), many = random.between(1, 9);
  const std::int64_t pixels = 16 * random.between(1, 120) + (random.one_in(4) ? random.between(0, 8) : 0);
  if (random.one_in(2)) {
    problem.shape = {batch, few, pixels, many};
    problem.axes = {0, 3, 2, 1};
    return;
  }
  const std::int64_t block = random.one_in(2) ? 4 : 8;
  const bool packed = random.one_in(2);  // NCHW4c is the source
  problem.src_layout = packed ? fmt::format("NCHW{}c", block) : random.one_in(2) ? "NHWC" : "NCHW";
  problem.dst_layout = !packed ? fmt::format("NCHW{}c", block) : random.one_in(2) ? "NHWC" : "NCHW";
  if (packed) {
    problem.shape = {batch, 1, 1, pixels, block};
    problem.extents = {{'C', std::min(few, block)}};
  } else {
    problem.shape = problem.src_layout == "NHWC" ? std::vector<std::int64_t>{batch, 1, pixels, few}
                                                 : std::vector<std::int64_t>{batch, few, 1, pixels};
  }
}

// Rows of either operand that lie a few elements further apart than they are long, so that each begins elsewhere.
// The last `inner` axes stay together.
void add_pitches(PermuteProblem& problem, Random& random, std::size_t inner) {
  const auto pitched = [&](const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t a = shape.size() - 1; a-- > 0;) {
      strides[a] = strides[a + 1] * shape[a + 1];
      if (a + inner < shape.size()) strides[a] += random.between(0, 7);
    }
    return strides;
  };
  if (random.one_in(3)) problem.src_strides = pitched(problem.shape);
  if (random.one_in(3)) problem.dst_strides = pitched(PermuteDefinition(problem).dst_shape());
}

// A run stays whole while what is around it is transposed: pictures laid on their sides. Rows may be pitched.
void make_runs(PermuteProblem& problem, Random& random, std::int64_t run) {
  const std::int64_t element = size_bytes(problem.type), batch = random.one_in(2) ? 1 : random.between(2, 4);
  const std::int64_t rows = pick_size(random, std::max<std::int64_t>(3, 4'000 / run), element),
                     columns = pick_size(random, std::max<std::int64_t>(3, 20'000 / rows / run), element);
  problem.shape = {batch, rows, columns, run};
  problem.axes = random.one_in(3)   ? std::vector<int>{2, 0, 1, 3}
                 : random.one_in(2) ? std::vector<int>{2, 1, 0, 3}
                                    : std::vector<int>{0, 2, 1, 3};
  add_pitches(problem, random, random.one_in(4) ? 1 : 2);
}

// Of less than an access, such as pixels of three bytes.
std::int64_t pick_short_run(Random& random, std::int64_t element) {
  return random.one_in(4) ? std::max<std::int64_t>(1, random.between(9, 15) / element) : random.between(1, 9);
}

// Of an access and more: rows that no access divides, up to several lines.
std::int64_t pick_long_run(Random& random, std::int64_t element) {
  if (random.one_in(2)) return pick_near(random, element);
  return odd(random.between(16, 600) / element);
}

// A transpose with sides of an odd number of elements, long enough for several tiles along one of them.
void make_ragged(PermuteProblem& problem, Random& random) {
  const std::int64_t element = size_bytes(problem.type), batch = random.one_in(2) ? 1 : random.between(2, 3);
  const std::int64_t size = odd(random.between(random.one_in(3) ? 16 : 200, 1300) / element);
  const std::int64_t other = random.one_in(3) ? pick_size(random, 40'000 / size, element)
                                              : odd(random.between(1, std::max<std::int64_t>(1, 16'000 / size)));
  const bool swapped = random.one_in(4);  // most have the long side innermost in the destination
  problem.shape = {batch, swapped ? other : size, swapped ? size : other};
  problem.axes = random.one_in(4) ? std::vector<int>{2, 0, 1} : std::vector<int>{0, 2, 1};
  add_pitches(problem, random, 1);
}

// Short axes, odd ones mostly, around a long one: what is innermost in an operand is short, in both of them mostly.
void make_short(PermuteProblem& problem, Random& random) {
  const auto rank = static_cast<std::size_t>(random.between(3, 5));
  const std::int64_t most_half = rank == 3 ? 12 : rank == 4 ? 6 : 4;
  std::int64_t few = 1;
  for (std::size_t a = 1; a < rank; ++a) {
    problem.shape.push_back(random.one_in(4) ? random.between(2, 8) : 2 * random.between(1, most_half) + 1);
    few *= problem.shape.back();
  }
  const std::int64_t most = std::max<std::int64_t>(3, 24'000 / few);
  const auto place = static_cast<std::ptrdiff_t>(random.one_in(4) ? random.below(rank) : rank / 2);
  problem.shape.insert(problem.shape.begin() + place, random.between(1 + most / 4, most));
  problem.axes.resize(rank);
  std::iota(problem.axes.rbegin(), problem.axes.rend(), 0);
  if (random.one_in(2)) shuffle(problem.axes, random);
  add_pitches(problem, random, random.one_in(2) ? rank : 2);
}

struct LayoutKind {
  std::string_view letters;
  char blocked;  // the axis that is split most often
  char second;   // and one that is split beside it now and then
};
constexpr std::array<LayoutKind, 5> kLayouts = {
    {{"NHWC", 'C', 'N'}, {"NCHW", 'C', 'W'}, {"OIHW", 'I', 'O'}, {"NDHWC", 'C', 'N'}, {"MK", 'K', 'M'}}};
constexpr std::array<std::int64_t, 8> kBlocks = {4, 8, 16, 4, 8, 16, 2, 3};

// How one letter is split; 0: not.
struct Split {
  char letter = 0;
  std::int64_t size = 0, src = 0, dst = 0;
};

Split pick_split(Random& random, char letter, std::int64_t size) {
  Split split{letter, size, 0, 0};
  const auto kind = random.below(4);
  if (kind == 1 || kind == 2) split.src = kBlocks[random.below(kBlocks.size())];
  if (kind == 2 || kind == 3) split.dst = kBlocks[random.below(kBlocks.size())];
  // Of two blocks one must divide the other.
  if (kind == 2 && split.src % split.dst != 0 && split.dst % split.src != 0) split.dst = 2 * split.src;
  return split;
}

std::string with_block(std::string letters, char letter, std::int64_t block, Random& random) {
  if (block == 0) return letters;
  const std::string text = std::to_string(block) + static_cast<char>(letter - 'A' + 'a');
  // Nearly always innermost, as NCHW4c; now and then in front of all.
  letters.insert(random.one_in(8) ? 0 : letters.size(), text);
  return letters;
}

std::string shuffled(std::string letters, Random& random) {
  for (std::size_t i = letters.size(); i > 1; --i) std::swap(letters[i - 1], letters[random.below(i)]);
  return letters;
}

void make_layout(PermuteProblem& problem, Random& random) {
  const LayoutKind& kind = kLayouts[random.below(kLayouts.size())];
  const std::string letters(kind.letters);
  const std::int64_t element = size_bytes(problem.type);
  // The true sizes; the blocked axis does not divide half of the time.
  std::int64_t budget = std::max<std::int64_t>(64, pick_budget(random));
  const std::int64_t channels = random.one_in(2) ? 4 * random.between(1, 16) : pick_size(random, 70, element);
  budget = std::max<std::int64_t>(1, budget / channels);
  std::vector<std::int64_t> sizes(letters.size(), channels);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] == kind.blocked) continue;
    sizes[i] = pick_size(random, std::min<std::int64_t>(budget, 130), element);
    budget = std::max<std::int64_t>(1, budget / sizes[i]);
  }
  std::vector<Split> splits = {pick_split(random, kind.blocked, channels)};
  if (random.one_in(6)) splits.push_back(pick_split(random, kind.second, sizes[letters.find(kind.second)]));

  problem.src_layout = random.one_in(3) ? shuffled(letters, random) : letters;
  problem.dst_layout = shuffled(letters, random);
  for (const Split& split : splits) {
    problem.src_layout = with_block(problem.src_layout, split.letter, split.src, random);
    problem.dst_layout = with_block(problem.dst_layout, split.letter, split.dst, random);
    if (split.src != 0 && (split.size % split.src != 0 || random.one_in(4))) {
      problem.extents.emplace_back(split.letter, split.size);
    }
  }
  std::sort(problem.extents.begin(), problem.extents.end());
  const auto split_of = [&](char upper) {
    const auto found = std::find_if(splits.begin(), splits.end(), [&](const Split& s) { return s.letter == upper; });
    return found == splits.end() ? Split{} : *found;
  };
  for (const char c : problem.src_layout) {
    if (c >= '0' && c <= '9') continue;
    if (c >= 'a' && c <= 'z') {
      problem.shape.push_back(split_of(static_cast<char>(c - 'a' + 'A')).src);
    } else {
      const std::int64_t block = std::max<std::int64_t>(1, split_of(c).src);
      problem.shape.push_back((sizes[letters.find(c)] + block - 1) / block);
    }
  }
}

// Distinct elements for `shape`: axes in some memory order, each stride past the reach of those inside.
std::vector<std::int64_t> spread_strides(const std::vector<std::int64_t>& shape, Random& random, bool any_order) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});  // the last axis innermost
  if (any_order) shuffle(order, random);
  std::vector<std::int64_t> strides(shape.size(), 1);
  std::int64_t stride = random.one_in(3) ? random.between(1, 3) : 1;  // the innermost one
  std::int64_t reach = 1;                                             // after the last element so far
  for (const std::size_t axis : order) {
    const std::int64_t size = std::max<std::int64_t>(shape[axis], 1);
    strides[axis] = stride;
    reach += (size - 1) * stride;
    // Now and then the next row starts right after the last element, not a whole row further on.
    stride = random.one_in(6) ? reach : std::max(reach, size * stride);
    if (random.one_in(2)) stride += random.between(0, 9);
    if (random.one_in(4)) stride = (stride + 15) / 16 * 16;
  }
  return strides;
}

void add_strides(PermuteProblem& problem, Random& random) {
  if (random.one_in(5)) {
    problem.src_strides = spread_strides(problem.shape, random, random.one_in(3));
    for (std::int64_t& stride : problem.src_strides) {
      if (random.one_in(12)) stride = 0;  // broadcast
      if (random.one_in(24)) stride = 1;  // overlapping windows
    }
  }
  if (random.one_in(5)) {
    problem.dst_strides = spread_strides(PermuteDefinition(problem).dst_shape(), random, random.one_in(3));
  }
}

std::uint32_t pick_align(Random& random, std::uint32_t element) {
  std::uint32_t align = element;
  for (auto steps = random.below(9); steps > 0 && align < 256; --steps) align *= 2;
  return align;
}

// Where the operands begin: in one problem of three anywhere, as far as elements allow.
void add_places(PermuteProblem& problem, Random& random) {
  const std::uint32_t element = size_bytes(problem.type);
  const bool anywhere = random.one_in(3);
  if (anywhere || random.one_in(4)) problem.src_offset = random.between(0, 40);
  if (anywhere || random.one_in(4)) problem.dst_offset = random.between(0, 40);
  if (anywhere || random.one_in(2)) problem.src_align = anywhere ? element : pick_align(random, element);
  if (anywhere || random.one_in(2)) problem.dst_align = anywhere ? element : pick_align(random, element);
}

}  // namespace

PermuteProblem generate_permute(std::uint64_t seed, std::uint64_t index) {
  Random random(mix(seed) ^ mix(index + 1));
  PermuteProblem problem;
  problem.type = kTypes[random.below(kTypes.size())];
  const std::int64_t bytes = size_bytes(problem.type);
  const auto kind = random.below(100);
  bool pitched = false;  // has strides of its own, or none: others would part its runs
  if (kind < 6) {
    make_records(problem, random);
  } else if (kind < 20) {
    make_transpose(problem, random);
  } else if (kind < 42) {
    make_general(problem, random, static_cast<std::size_t>(random.between(1, 8)));
  } else if (kind < 48) {
    make_general(problem, random, static_cast<std::size_t>(random.between(9, kMaxRank)));
  } else if (kind < 68) {
    make_layout(problem, random);
  } else {
    pitched = true;
    if (kind < 75)
      make_runs(problem, random, pick_short_run(random, bytes));
    else if (kind < 82)
      make_runs(problem, random, pick_long_run(random, bytes));
    else if (kind < 94)
      make_ragged(problem, random);
    else
      make_short(problem, random);
  }
  if (random.one_in(150) && problem.src_layout.empty()) problem.shape[random.below(problem.shape.size())] = 0;
  if (!pitched || random.one_in(8)) add_strides(problem, random);
  add_places(problem, random);
  return problem;
}

PermuteProblem generate_elementwise(std::uint64_t seed, std::uint64_t index) {
  constexpr std::array kNumbers = {DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32};
  constexpr std::array kAlphas = {0.5f, -2.0f, 0.125f, 1.0f / 255, 3.0f};
  PermuteProblem problem = generate_permute(seed, index);
  Random random(mix(seed + 1) ^ mix(index + 1));
  ElementwiseStage& stage = problem.stage;
  problem.type = kNumbers[random.below(kNumbers.size())];
  const DType out = kNumbers[random.below(kNumbers.size())];
  if (!random.one_in(3)) stage.out = out;
  // The vectors' axes: numbers, or the letters of the source.
  std::vector<std::string> axes;
  for (std::size_t a = 0; a < problem.shape.size() && problem.src_layout.empty(); ++a)
    axes.push_back(std::to_string(a));
  for (const char c : problem.src_layout)
    if (c >= 'A' && c <= 'Z') axes.emplace_back(1, c);
  if (random.one_in(4)) stage.alpha = kAlphas[random.below(kAlphas.size())];
  if (random.one_in(2)) stage.scale = axes[random.below(axes.size())];
  if (random.one_in(2))
    stage.bias = random.one_in(2) && !stage.scale.empty() ? stage.scale : axes[random.below(axes.size())];
  stage.add = random.one_in(3);
  if (stage.add && random.one_in(3)) {
    stage.add_strides = spread_strides(PermuteDefinition(problem).dst_shape(), random, random.one_in(3));
    for (std::int64_t& stride : stage.add_strides)
      if (random.one_in(8)) stride = 0;
  }
  if (random.one_in(3)) {
    const std::uint64_t drawn = random.below(std::uint64_t{2} * kActivations);
    set_activation(stage, static_cast<std::uint8_t>(drawn % kActivations), stage.add && drawn >= kActivations);
  }
  if (random.one_in(40)) stage.alpha = 0;
  if (!has_stage(problem)) stage.alpha = 0.5f;
  problem.src_align = std::max(problem.src_align, size_bytes(problem.type));
  problem.dst_align = std::max(problem.dst_align, size_bytes(out_type(problem)));
  return problem;
}

PermuteProblem far_permute(DType type, std::vector<std::int64_t> shape, std::vector<int> axes, bool source) {
  PermuteProblem problem;
  problem.type = type;
  auto& strides = source ? problem.src_strides : problem.dst_strides;
  std::int64_t stride = 1;
  for (std::size_t a = shape.size(); a-- > 0;) {
    strides.insert(strides.begin(), stride);
    stride *= source ? shape[a] : shape[static_cast<std::size_t>(axes[a])];
  }
  const std::int64_t rows = source ? shape[0] : shape[static_cast<std::size_t>(axes[0])];
  strides[0] = ((std::int64_t{1} << 31) / size_bytes(type) / (rows - 1) + 65) / 64 * 64;
  problem.shape = std::move(shape);
  problem.axes = std::move(axes);
  return problem;
}

}  // namespace sectile::reference
