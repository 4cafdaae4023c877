// The distribution that sweeps are drawn from. docs/reference/sweep.md describes it for readers; nothing here is changed,
// reweighted or added, or figures of different days are no longer of the same problems.
#include "sweep.hpp"

#include "sweep_draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sectile::tools {
namespace {

constexpr std::array<SweepClass, 10> kPermuteClasses = {{
    {'a', "aligned", "2-D and batched transposes, sides multiples of 64"},
    {'b', "transpose", "2-D and batched transposes, arbitrary sides, half of them odd"},
    {'c', "nhwc", "NHWC to NCHW and back, 1 to 2048 channels, arbitrary images"},
    {'d', "attention", "BxTxHxD, BxHxTxD and BxHxDxT, D of 32 to 256"},
    {'e', "runs", "innermost axis kept, runs of 1 to 64 bytes"},
    {'f', "rows", "innermost axis kept, longer runs"},
    {'g', "small", "both innermost axes of 2 to 40"},
    {'h', "ranks", "ranks 4 to 8, arbitrary order and sizes"},
    {'i', "blocked", "blocked layouts, with and without surplus"},
    {'j', "strided", "slices of larger tensors, align = the element"},
}};
constexpr std::array<std::string_view, 5> kPermuteTypes = {"u8", "f16", "f32", "f64", "c128"};

constexpr std::array<SweepClass, 8> kMatmulClasses = {{
    {'a', "aligned", "squares of 256 to 8192, multiples of 64"},
    {'b', "square", "squares of 256 to 8192, arbitrary"},
    {'c', "rows32", "1 to 32 rows against widths of 1024 to 32768"},
    {'d', "rows512", "33 to 512 rows against the same"},
    {'e', "rows8192", "513 to 8192 rows against the same"},
    {'f', "long-k", "K of 16384 to 1000000, result within 512x2048"},
    {'g', "batch", "batches of 8 to 2048, sizes of 16 to 512"},
    {'h', "epilogue", "d and e with bias, activation and residual"},
}};
constexpr std::array<std::string_view, 7> kMatmulTypes = {"f32", "f16", "bf16", "f16acc", "i8", "q8", "q4"};

constexpr double kSpan = 16;        // between the smallest and the largest operand of a permute
constexpr double kMostBytes = 8e9;  // of a matmul's operands together
constexpr int kTries = 100000;

template <class T>
std::string list_of(const T& items, auto&& text) {
  std::string list;
  for (const auto& item : items) list += (list.empty() ? "" : ", ") + text(item);
  return list;
}

// The first case at or behind `try`s that fits: the same for the same arguments.
Result<SweepCase> draw_case(const SweepOptions& options, std::size_t cls, std::size_t type, std::size_t index) {
  const bool permute = options.operation == "permute";
  reference::Random random(reference::mix(options.seed) ^ reference::mix((permute ? 1u : 2u) + 16 * cls) ^
                           reference::mix(index + 1));
  for (int i = 0; i < kTries; ++i) {
    SweepCase drawn;
    if (permute) {
      const double least = 1e6 * (options.min_mb > 0 ? options.min_mb : options.cpu ? 4 : 32);
      auto made = draw_permute(kPermuteClasses[cls].letter, kPermuteTypes[type], least, kSpan * least, random);
      if (!made) continue;
      drawn.problem = std::move(made->problem);
      if (made->neighbour) drawn.neighbour = std::move(*made->neighbour);
    } else {
      const double most = options.max_gflop > 0 ? options.max_gflop : options.cpu ? 2 : 0;
      auto made = draw_matmul(kMatmulClasses[cls].letter, kMatmulTypes[type], most * 1e9, kMostBytes, random);
      if (!made) continue;
      drawn.problem = made->problem;
      if (made->neighbour) drawn.neighbour = *made->neighbour;
    }
    const SweepClass& c = sweep_classes(options.operation)[cls];
    drawn.group = fmt::format("{} {}", c.letter, c.name);
    drawn.type = sweep_types(options.operation)[type];
    return drawn;
  }
  return fail(ErrorKind::limit_exceeded, "sweep", fmt::format("class {}", sweep_classes(options.operation)[cls].letter),
              "a problem within --min-mb or --max-gflop");
}

}  // namespace

std::span<const SweepClass> sweep_classes(std::string_view operation) {
  if (operation == "permute") return kPermuteClasses;
  if (operation == "matmul") return kMatmulClasses;
  return {};
}

std::span<const std::string_view> sweep_types(std::string_view operation) {
  if (operation == "permute") return kPermuteTypes;
  if (operation == "matmul") return kMatmulTypes;
  return {};
}

Result<std::vector<SweepCase>> sweep_cases(const SweepOptions& options) {
  const auto classes = sweep_classes(options.operation);
  const auto types = sweep_types(options.operation);
  if (classes.empty()) return fail(ErrorKind::missing, "--sweep", options.operation, "permute or matmul");
  const auto is_class = [&](const SweepClass& c) {
    return options.only_class == c.name || options.only_class == std::string_view(&c.letter, 1);
  };
  const auto is_type = [&](std::string_view t) { return options.only_type == t; };
  if (!options.only_class.empty() && std::ranges::none_of(classes, is_class))
    return fail(ErrorKind::missing, "--class", options.only_class,
                list_of(classes, [](const SweepClass& c) { return fmt::format("{} {}", c.letter, c.name); }));
  if (!options.only_type.empty() && std::ranges::none_of(types, is_type))
    return fail(ErrorKind::missing, "--type", options.only_type,
                list_of(types, [](std::string_view t) { return std::string(t); }));
  std::vector<SweepCase> cases;
  for (std::size_t i = 0, seen = 0; cases.size() < options.cases; ++i) {
    const std::size_t cls = i % classes.size(), index = i / classes.size(), type = index % types.size();
    if (!options.only_class.empty() && !is_class(classes[cls])) continue;
    if (!options.only_type.empty() && !is_type(types[type])) continue;
    if (seen++ < options.first) continue;
    auto drawn = draw_case(options, cls, type, index);
    if (!drawn) return std::unexpected(drawn.error());
    cases.push_back(std::move(*drawn));
  }
  return cases;
}

}  // namespace sectile::tools
