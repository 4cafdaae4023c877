// The distribution that sweeps are drawn from. docs/reference/sweep.md describes it for readers, an operation's classes
// stand in its sweep_*.cpp; nothing of it is changed, reweighted or added, or figures of different days are no longer
// of the same problems.
#include "sweep.hpp"

#include "operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace sectile::tools {
namespace {

constexpr int kTries = 100000;
constexpr int kTriesToAdvise = 1000;

template <class T>
std::string list_of(const T& items, auto&& text) {
  std::string list;
  for (const auto& item : items) list += (list.empty() ? "" : ", ") + text(item);
  return list;
}

std::optional<Drawn> draw(const SweepOptions& options, const BenchOperation& operation, std::size_t cls,
                          std::size_t type, std::size_t index, int tries) {
  reference::Random random(reference::mix(options.seed) ^ reference::mix(operation.sweep_stream() + 16 * cls) ^
                           reference::mix(index + 1));
  for (int i = 0; i < tries; ++i)
    if (auto drawn =
            operation.draw(options, operation.sweep_classes()[cls].letter, operation.sweep_types()[type], random))
      return drawn;
  return std::nullopt;
}

// The bound nearest to the given one, by factors of 2, with which the case is drawn; empty: none that an option takes.
std::string bound_that_serves(SweepOptions options, const BenchOperation& operation, std::size_t cls, std::size_t type,
                              std::size_t index) {
  const bool products = operation.unit().operations;
  double& bound = products ? options.max_gflop : options.min_mb;
  const double given = bound > 0 ? bound : products ? (options.cpu ? 2 : 0.001) : options.cpu ? 4 : 32;
  for (double factor = 2; factor < 1e10; factor *= 2)
    for (const double tried : {given * factor, given / factor}) {
      if (tried < 0.001 || tried > (products ? 1e6 : 1e5)) continue;
      bound = tried;
      if (draw(options, operation, cls, type, index, kTriesToAdvise))
        return fmt::format("{} {:g}", products ? "--max-gflop" : "--min-mb", tried);
    }
  return {};
}

// The first case that fits: the same for the same arguments.
Result<SweepCase> draw_case(const SweepOptions& options, const BenchOperation& operation, std::size_t cls,
                            std::size_t type, std::size_t index) {
  const SweepClass& c = operation.sweep_classes()[cls];
  const std::string_view name = operation.sweep_types()[type];
  if (auto drawn = draw(options, operation, cls, type, index, kTries))
    return SweepCase{fmt::format("{} {}", c.letter, c.name), std::string(name), std::move(drawn->problem),
                     std::move(drawn->neighbour)};
  const std::string serves = bound_that_serves(options, operation, cls, type, index);
  return fail(ErrorKind::limit_exceeded, "sweep",
              fmt::format("no problem of class {} {} with {} is within the bound", c.letter, c.name, name),
              serves.empty() ? "a problem within --min-mb or --max-gflop" : serves);
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
  // One case of each class and type, then again. Whole rounds before the first case are not counted through.
  const std::size_t round = classes.size() * types.size();
  const std::size_t of_round =
      (options.only_class.empty() ? classes.size() : 1) * (options.only_type.empty() ? types.size() : 1);
  const std::size_t rounds = options.first / of_round;
  const std::size_t most_rounds = (std::numeric_limits<std::size_t>::max() >> 1) / round;
  if (rounds > most_rounds)
    return fail(ErrorKind::limit_exceeded, "--first", std::to_string(options.first),
                fmt::format("at most {}", most_rounds * of_round + (of_round - 1)));
  std::vector<SweepCase> cases;
  for (std::size_t i = rounds * round, seen = rounds * of_round; cases.size() < options.cases; ++i) {
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
