// Permutes that meet every pair of levels that a pool of random problems has: chosen from the pool greedily, the one
// with the most new pairs first.
#include "cover_permute.hpp"

#include "activation.hpp"
#include "generate.hpp"
#include "permute.hpp"
#include "random.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::reference {
namespace {

constexpr std::uint64_t kPool = 12000;

// One permute in four computes with its elements.
PermuteProblem drawn(std::uint64_t seed, std::uint64_t index) {
  return index % 4 == 3 ? generate_elementwise(seed, index) : generate_permute(seed, index);
}

std::uint8_t log2_of(std::uint64_t n) {
  std::uint8_t log = 0;
  while (n > 1) {
    n /= 2;
    ++log;
  }
  return log;
}

std::uint8_t number_type(DType type) {
  constexpr std::array kNumbers = {DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32};
  return static_cast<std::uint8_t>(std::ranges::find(kNumbers, type) - kNumbers.begin());
}

std::uint8_t axes_kind(const PermuteProblem& p) {
  if (!p.src_layout.empty()) {
    const auto blocked = [](const std::string& layout) {
      return std::ranges::any_of(layout, [](char c) { return c >= 'a' && c <= 'z'; });
    };
    return static_cast<std::uint8_t>(4 + (blocked(p.src_layout) ? 1 : 0) + (blocked(p.dst_layout) ? 2 : 0));
  }
  if (std::ranges::is_sorted(p.axes)) return 0;
  if (p.axes.back() + 1 == static_cast<int>(p.axes.size())) return 1;
  return p.axes.size() <= 3 ? 2 : 3;
}

std::uint8_t strides_kind(const std::vector<std::int64_t>& strides) {
  if (strides.empty()) return 0;
  if (std::ranges::find(strides, 0) != strides.end()) return 1;
  return std::ranges::find(strides, 1) != strides.end() ? 2 : 3;
}

std::uint8_t ragged_kind(std::int64_t size) {
  return size % 16 == 0 ? 0 : size % 4 == 0 ? 1 : size % 2 == 0 ? 2 : size == 1 ? 3 : 4;
}

std::uint8_t offset_kind(std::int64_t offset, std::size_t element_bytes) {
  const std::int64_t bytes = offset * static_cast<std::int64_t>(element_bytes);
  return bytes == 0 ? 0 : bytes % 16 == 0 ? 1 : bytes % 4 == 0 ? 2 : 3;
}

// Bytes that stay together: none, less than an access, a few accesses, more.
std::uint8_t kept_kind(const PermuteProblem& p, std::size_t element_bytes) {
  if (!p.src_layout.empty() || p.axes.back() + 1 != static_cast<int>(p.axes.size())) return 0;
  const std::int64_t bytes = p.shape.back() * static_cast<std::int64_t>(element_bytes);
  return bytes < 16 ? 1 : bytes < 128 ? 2 : 3;
}

std::uint8_t vector_kind(const std::string& axis, const PermuteProblem& p) {
  if (axis.empty()) return 0;
  // Of the source's innermost axis, or another.
  const bool inner = p.src_layout.empty() ? axis == std::to_string(p.shape.size() - 1) : axis[0] == p.src_layout.back();
  return inner ? 1 : 2;
}

struct FixedRow {
  std::vector<std::int64_t> shape;
  std::vector<int> axes;
  std::vector<std::int64_t> strides;
  std::vector<std::string_view> stems;
};

// Of each size of elements that the stem can have.
void add_rows(std::span<const FixedRow> rows, bool anywhere, std::vector<CoveringPermute>& cases) {
  constexpr std::array<std::string_view, 3> kOfAnySize = {"permute_tile", "permute_block", "permute_box"};
  for (const DType type : {DType::b8, DType::b16, DType::b32, DType::b64, DType::b128})
    for (const FixedRow& row : rows)
      for (const std::string_view stem : row.stems) {
        const bool narrow = std::ranges::find(kOfAnySize, stem) == kOfAnySize.end() && stem != "permute_rows";
        if (type == DType::b128 && narrow) continue;                                         // of at most 8 bytes
        if (type == DType::b64 && stem == "permute_runs" && row.shape.back() > 6) continue;  // of at most 48 bytes
        if (type == DType::b64 && (stem == "permute_realign" || stem == "permute_ragged" || stem == "permute_elements"))
          continue;  // of at most 4
        PermuteProblem problem;
        problem.type = type;
        problem.shape = row.shape;
        problem.axes = row.axes;
        problem.src_strides = row.strides;
        if (anywhere) {
          problem.src_align = problem.dst_align = size_bytes(type);
          problem.src_offset = 3;
          problem.dst_offset = 5;
        }
        cases.push_back({problem, std::string(stem)});
      }
}

// So many axes that not all words are pushed, of each size of elements, by each stem that can; and short runs.
void add_long(std::vector<CoveringPermute>& cases) {
  const FixedRow rows[] = {
      {{3, 2, 2, 3, 16, 2, 16}, {6, 0, 2, 4, 1, 3, 5}, {}, {"permute_tile", "permute_box"}},
      {{2, 3, 2, 3, 2, 32, 3}, {0, 6, 4, 2, 1, 5, 3}, {}, {"permute_tile", "permute_box"}},
      {{2, 3, 2, 2, 2, 3, 7, 3}, {6, 4, 2, 5, 3, 1, 0, 7}, {}, {"permute_runs", "permute_rows"}},
      {{7, 9, 3}, {1, 0, 2}, {}, {"permute_runs"}},
      {{2, 67, 41, 5}, {0, 2, 1, 3}, {}, {"permute_runs"}},
      {{43, 70, 7}, {1, 0, 2}, {}, {"permute_runs"}},
      {{2, 2, 2, 2, 2, 16, 3}, {6, 1, 3, 0, 4, 2, 5}, {6000, 2900, 1400, 600, 200, 3, 1}, {"permute_interleave"}}};
  add_rows(rows, false, cases);
}

// The kernels for any address, which no CPU driver is given as a rule. Runs have several words; transposes have tiles
// that are neither the first nor the last of a row, and packed ones; boxes have one to three axes of either run; walks
// go along a run and along an axis that is in no run.
void add_anywhere(std::vector<CoveringPermute>& cases) {
  const FixedRow rows[] = {{{7, 9, 37}, {1, 0, 2}, {}, {"permute_realign", "permute_elements"}},
                           {{3, 19, 67}, {1, 0, 2}, {2000, 69, 1}, {"permute_realign"}},
                           {{2, 331, 35}, {0, 2, 1}, {}, {"permute_ragged"}},
                           {{5, 47, 9, 31}, {3, 2, 1, 0}, {}, {"permute_ragged"}},
                           {{3, 5, 7, 29, 11}, {4, 3, 2, 1, 0}, {}, {"permute_ragged"}},
                           {{2, 13, 37, 11}, {0, 3, 2, 1}, {}, {"permute_ragged"}},  // packed tiles in pieces
                           {{203, 131}, {1, 0}, {}, {"permute_table"}},
                           {{139, 3, 5, 7}, {3, 2, 1, 0}, {}, {"permute_table"}},
                           {{3, 301, 25}, {2, 1, 0}, {}, {"permute_table"}},
                           {{3, 67, 5, 7}, {3, 1, 2, 0}, {}, {"permute_table"}},
                           {{5, 1500, 3}, {2, 1, 0}, {}, {"permute_table"}},  // a workgroup moves several tiles
                           {{97, 64, 16}, {0, 2, 1}, {}, {"permute_table"}},  // positions a power of two apart
                           {{200, 13, 11}, {0, 2, 1}, {}, {"permute_table"}}};
  add_rows(rows, true, cases);
  // Runs with gaps behind them, in one segment and in several.
  for (const DType type : {DType::b8, DType::b16}) {
    PermuteProblem problem;
    problem.type = type;
    problem.shape = {21, 5, 47, 11};
    problem.axes = {1, 0, 2, 3};
    problem.dst_strides = {21 * 47 * 13, 47 * 13, 13, 1};
    if (type == DType::b16) problem.dst_strides = {21 * (47 * 13 + 2), 47 * 13 + 2, 13, 1};
    problem.src_align = problem.dst_align = size_bytes(type);
    problem.src_offset = 3;
    problem.dst_offset = 5;
    cases.push_back({problem, "permute_elements"});
  }
  // Transposed rows that share sectors, and such as lie by themselves.
  for (const DType type : {DType::b8, DType::b16}) {
    PermuteProblem problem;
    problem.type = type;
    problem.shape = {13, 5, 67};
    problem.axes = {2, 1, 0};
    problem.dst_strides = {5 * 17 + 3, 17, 1};
    if (type == DType::b16) problem.dst_strides = {5 * 61, 61, 1};
    problem.src_align = problem.dst_align = size_bytes(type);
    problem.src_offset = 3;
    problem.dst_offset = 5;
    cases.push_back({problem, "permute_ragged"});
  }
  // Blocks that do not divide their axis, in a box of three position axes and of two.
  for (const DType type : {DType::b8, DType::b32})
    for (const auto& [dst, channels] : {std::pair{"NCHW", 21}, std::pair{"NHWC", 17}}) {
      PermuteProblem problem;
      problem.type = type;
      problem.shape = {3, 3, 5, 7, 8};
      problem.src_layout = "NCHW8c";
      problem.dst_layout = dst;
      problem.extents = {{'C', channels}};
      problem.src_align = problem.dst_align = size_bytes(type);
      problem.src_offset = 3;
      problem.dst_offset = 5;
      cases.push_back({problem, "permute_table"});
    }
  // Runs that end in zeros, and zeros alone, some of whose words have the ends of two runs; and packed tiles whose last
  // channels are zeros.
  for (const DType type : {DType::b8, DType::b16, DType::b32}) {
    const bool blocks = type != DType::b16;
    PermuteProblem problem;
    problem.type = type;
    problem.shape = blocks ? std::vector<std::int64_t>{1, 1, 7, 11, 16} : std::vector<std::int64_t>{1, 7, 11, 35};
    problem.src_layout = blocks ? "NCHW16c" : "NHWC";
    problem.dst_layout = "NCHW32c";
    if (blocks) problem.extents = {{'C', 13}};
    problem.src_align = problem.dst_align = size_bytes(type);
    problem.src_offset = 3;
    problem.dst_offset = 5;
    cases.push_back({problem, "permute_realign"});
    problem.shape = {2, 11, 9, 23};
    problem.src_layout = "NCHW";
    problem.extents = {};
    cases.push_back({problem, "permute_ragged"});
  }
}

// Ragged transposes that compute, by the kernel for them: terms along D, along S and along neither, D and S of several
// axes, tiles that are first, inner and last ones of a row, packed tiles, and so many words that not all are pushed.
void add_ragged_stages(std::vector<CoveringPermute>& cases) {
  struct Row {
    DType from, to;
    std::vector<std::int64_t> shape;
    std::vector<int> axes;
    std::string scale, bias;
    bool add;
    std::string_view candidate;
  };
  using enum DType;
  const Row rows[] = {
      {u8, f16, {2, 331, 35}, {0, 2, 1}, "1", "2", false, "permute_fused_ragged"},
      {bf16, f32, {5, 47, 9, 31}, {3, 2, 1, 0}, "", "", false, "permute_fused_ragged"},
      {f32, i8, {2, 331, 35}, {0, 2, 1}, "", "0", true, "permute_fused_ragged"},
      {f32, f16, {3, 603, 3}, {0, 2, 1}, "2", "1", true, "permute_fused_ragged"},
      {u8, f16, {2, 11, 203}, {0, 2, 1}, "1", "2", true, "permute_fused_ragged e1 512x16 wg128 packed"},
      {f16, i8, {3, 13, 331}, {0, 2, 1}, "", "0", false, "permute_fused_ragged e2 512x16 wg128 packed"},
      {f32, f32, {2, 11, 203}, {0, 2, 1}, "2", "", true, "permute_fused_ragged e4 256x16 wg128 packed"},
      // Not all words are pushed.
      {i8, f32, {2, 3, 2, 3, 41, 37}, {2, 0, 3, 1, 5, 4}, "4", "3", true, "permute_fused_ragged"},
      {f16, i8, {2, 3, 2, 3, 41, 37}, {2, 0, 3, 1, 5, 4}, "5", "4", true, "permute_fused_ragged"},
      {f32, bf16, {2, 3, 2, 3, 41, 37}, {2, 0, 3, 1, 5, 4}, "0", "5", true, "permute_fused_ragged"},
  };
  std::int64_t offset = 0;
  for (const Row& row : rows) {
    PermuteProblem problem;
    problem.type = row.from;
    problem.shape = row.shape;
    problem.axes = row.axes;
    problem.stage.out = row.to;
    problem.stage.scale = row.scale;
    problem.stage.bias = row.bias;
    problem.stage.add = row.add;
    problem.src_align = size_bytes(row.from);
    problem.dst_align = size_bytes(row.to);
    problem.src_offset = offset % 7;
    problem.dst_offset = ++offset % 5;
    cases.push_back({problem, std::string(row.candidate)});
  }
}

// No number is rounded or too large.
bool is_exact_cast(DType from, DType to) {
  return size_bytes(from) == 1 ? size_bytes(to) != 1 : size_bytes(from) == 2 && to == DType::f32;
}

// What pairs of levels do not promise. Each cast that is not exact alone: computed numbers seldom are ties or an
// integer's ends. Records with a channel more or less than there are, of each size of elements. Each activation.
void add_fixed(std::vector<CoveringPermute>& cases) {
  constexpr std::array kNumbers = {DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32};
  for (const DType from : kNumbers)
    for (const DType to : kNumbers) {
      PermuteProblem problem;
      problem.type = from;
      problem.shape = {40, 33};
      problem.axes = {1, 0};
      problem.stage.out = to;
      if (from != to && !is_exact_cast(from, to)) cases.push_back({problem, {}});
    }
  for (std::uint8_t activation = 1; activation < kActivations; ++activation) {
    PermuteProblem problem;
    problem.shape = {40, 33};
    problem.axes = {1, 0};
    problem.stage.add = true;
    set_activation(problem.stage, activation, activation % 2 != 0);
    cases.push_back({problem, {}});
  }
  for (const DType type : {DType::b8, DType::b16, DType::b32, DType::b64})
    for (const bool packed : {true, false}) {
      PermuteProblem problem;
      problem.type = type;
      problem.shape = packed ? std::vector<std::int64_t>{2, 1, 4, 16, 4} : std::vector<std::int64_t>{2, 4, 16, 3};
      problem.src_layout = packed ? "NCHW4c" : "NHWC";
      problem.dst_layout = packed ? "NHWC" : "NCHW4c";
      if (packed) problem.extents = {{'C', 3}};
      // It reads whole records.
      cases.push_back({problem, packed ? "" : "permute_interleave"});
    }
  add_long(cases);
  add_anywhere(cases);
  add_ragged_stages(cases);
}

}  // namespace

std::vector<std::uint8_t> permute_levels(const PermuteProblem& p) {
  const PermuteDefinition definition(p);
  const auto shape = definition.dst_shape();
  std::uint64_t elements = 1;
  for (const std::int64_t size : p.shape) elements *= static_cast<std::uint64_t>(size);
  const bool stage = has_stage(p);
  const auto rank = static_cast<std::uint8_t>(p.shape.size());
  return {log2_of(definition.element_bytes()),
          static_cast<std::uint8_t>(stage ? 1 + number_type(p.type) : 0),
          static_cast<std::uint8_t>(stage ? 1 + number_type(p.stage.out.value_or(p.type)) : 0),
          static_cast<std::uint8_t>(rank <= 4   ? rank
                                    : rank <= 6 ? 5
                                    : rank <= 8 ? 6
                                                : 7),
          axes_kind(p),
          strides_kind(p.src_strides),
          strides_kind(p.dst_strides),
          static_cast<std::uint8_t>(std::min<std::uint8_t>(log2_of(p.src_align), 4)),
          static_cast<std::uint8_t>(std::min<std::uint8_t>(log2_of(p.dst_align), 4)),
          offset_kind(p.src_offset, definition.element_bytes()),
          offset_kind(p.dst_offset, definition.element_bytes()),
          ragged_kind(p.shape.back()),
          ragged_kind(shape.back()),
          kept_kind(p, definition.element_bytes()),
          static_cast<std::uint8_t>(p.extents.empty() ? 0 : 1),
          static_cast<std::uint8_t>(p.stage.alpha == 1 ? 0 : 1),
          vector_kind(p.stage.scale, p),
          vector_kind(p.stage.bias, p),
          static_cast<std::uint8_t>(!p.stage.add                  ? 0
                                    : p.stage.add_strides.empty() ? 1
                                                                  : 2),
          static_cast<std::uint8_t>(p.stage.activation == Activation::none ? 0
                                    : p.stage.activation_last              ? 2
                                                                           : 1),
          static_cast<std::uint8_t>(elements <= 64      ? 0
                                    : elements <= 4096  ? 1
                                    : elements <= 65536 ? 2
                                                        : 3)};
}

std::vector<std::uint32_t> permute_pairs(const PermuteProblem& problem) {
  const auto levels = permute_levels(problem);
  std::vector<std::uint32_t> pairs;
  for (std::uint32_t i = 0; i < levels.size(); ++i)
    for (std::uint32_t j = i + 1; j < levels.size(); ++j)
      pairs.push_back((i * 32 + j) * 256 + std::uint32_t{levels[i]} * 16 + levels[j]);
  return pairs;
}

std::span<const CoveringPermute> covering_permutes(std::uint64_t seed) {
  static std::map<std::uint64_t, std::vector<CoveringPermute>> made_once;
  auto& cases = made_once[seed];
  if (!cases.empty()) return cases;
  std::vector<std::vector<std::uint32_t>> pool;
  // What a problem of the pool adds can only shrink as others are taken: most are looked at once.
  std::priority_queue<std::pair<std::size_t, std::uint64_t>> best;
  for (std::uint64_t i = 0; i < kPool; ++i) {
    pool.push_back(permute_pairs(drawn(seed, i)));
    best.push({pool.back().size(), kPool - i});
  }
  // Bytes and a loop of its own: a sanitizer build asks this a million times, and inlines nothing.
  std::vector<std::uint8_t> met(std::size_t{32} * 32 * 256, 0);
  const std::uint8_t* is_met = met.data();
  const auto fresh = [is_met](const std::vector<std::uint32_t>& pairs) {
    std::size_t count = 0;
    for (const std::uint32_t pair : pairs) count += is_met[pair] == 0 ? 1 : 0;
    return count;
  };
  while (!best.empty()) {
    const auto [gain, place] = best.top();
    best.pop();
    const std::uint64_t index = kPool - place;
    const std::size_t now = fresh(pool[index]);
    if (now == 0) continue;
    if (now < gain) {
      best.push({now, place});
      continue;
    }
    for (const std::uint32_t pair : pool[index]) met[pair] = 1;
    cases.push_back({drawn(seed, index), {}});
  }
  add_fixed(cases);
  return cases;
}

CoveringPermute covering_permute(std::uint64_t seed, std::uint64_t index) {
  const auto cases = covering_permutes(seed);
  return index < cases.size() ? cases[static_cast<std::size_t>(index)] : CoveringPermute{drawn(seed, index), {}};
}

}  // namespace sectile::reference
