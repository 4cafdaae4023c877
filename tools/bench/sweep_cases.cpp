// The distribution that sweeps are drawn from. docs/reference/sweep.md describes it for readers, an operation's classes
// stand in its sweep_*.cpp; nothing of it is changed, reweighted or added, or figures of different days are no longer
// of the same problems.
#include "sweep.hpp"

#include "operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sectile::tools {
namespace {

constexpr int kTries = 100000;

template <class T>
std::string list_of(const T& items, auto&& text) {
  std::string list;
  for (const auto& item : items) list += (list.empty() ? "" : ", ") + text(item);
  return list;
}

// The first case at or behind `try`s that fits: the same for the same arguments.
Result<SweepCase> draw_case(const SweepOptions& options, const BenchOperation& operation, std::size_t cls,
                            std::size_t type, std::size_t index) {
  const SweepClass& c = operation.sweep_classes()[cls];
  const std::string_view name = operation.sweep_types()[type];
  reference::Random random(reference::mix(options.seed) ^ reference::mix(operation.sweep_stream() + 16 * cls) ^
                           reference::mix(index + 1));
  for (int i = 0; i < kTries; ++i)
    if (auto drawn = operation.draw(options, c.letter, name, random))
      return SweepCase{fmt::format("{} {}", c.letter, c.name), std::string(name), std::move(drawn->problem),
                       std::move(drawn->neighbour)};
  return fail(ErrorKind::limit_exceeded, "sweep", fmt::format("class {}", c.letter),
              "a problem within --min-mb or --max-gflop");
}

}  // namespace

std::int64_t draw_size(reference::Random& random, std::int64_t low, std::int64_t high) {
  if (high <= low) return low;
  const double u = static_cast<double>(random.next() >> 11) * 0x1p-53;
  const double from = std::log2(static_cast<double>(low)), to = std::log2(static_cast<double>(high) + 1);
  return std::clamp(static_cast<std::int64_t>(std::exp2(from + u * (to - from))), low, high);
}

std::int64_t neighbour_size(std::int64_t size) { return size > 64 ? (size + 63) / 64 * 64 : size; }

std::vector<std::string> sweep_operations() {
  std::vector<std::string> names = bench_operations();
  std::erase_if(names, [](const std::string& name) { return bench_operation(name)->sweep_classes().empty(); });
  return names;
}

Result<std::vector<SweepCase>> sweep_cases(const SweepOptions& options) {
  const BenchOperation* const operation = bench_operation(options.operation);
  if (operation == nullptr || operation->sweep_classes().empty())
    return fail(ErrorKind::missing, "--sweep", options.operation,
                list_of(sweep_operations(), [](const std::string& name) { return name; }));
  const auto classes = operation->sweep_classes();
  const auto types = operation->sweep_types();
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
    auto drawn = draw_case(options, *operation, cls, type, index);
    if (!drawn) return std::unexpected(drawn.error());
    cases.push_back(std::move(*drawn));
  }
  return cases;
}

}  // namespace sectile::tools
