#include "operation.hpp"

#include "plan/operation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sectile::tools {

BenchRow BenchOperation::row(const Problem& problem) const { return {.name = print(problem), .problem = problem}; }

nlohmann::json BenchOperation::describe(const Problem& problem) const {
  return nlohmann::json::parse(to_json(problem));
}

// The rate is to be a multiple of the best rival's, where the row says which.
Goal BenchOperation::goal(const RowResult& result) const {
  const double least = result.on_cuda ? result.row.goal_cuda : result.row.goal_vulkan;
  if (least <= 0) return {};
  Goal goal{.text = fmt::format(">= {:.2f}", least), .of = "the best rival", .least = least, .met = {}};
  const auto rival = result.best_rival();
  if (rival && !result.contenders.empty() && result.own().time.median > 0)
    goal.met = rival->second / result.own().time.median >= least;
  return goal;
}

std::string BenchOperation::compare(const Problem&, std::span<const std::byte> first,
                                    std::span<const std::byte> other) const {
  const auto differ = std::ranges::mismatch(first, other);
  if (differ.in1 == first.end() && differ.in2 == other.end()) return {};
  return fmt::format("differs from the planner's own choice at byte {}", differ.in1 - first.begin());
}

const BenchOperation& bench_operation(const Problem& problem) {
  return std::visit([]<class P>(const P&) -> const BenchOperation& { return bench_operation(std::type_identity<P>()); },
                    problem);
}

const BenchOperation* bench_operation(std::string_view name) {
  return detail::with_operation<const BenchOperation*>(
      name, [](auto type) { return &bench_operation(type); }, []() -> const BenchOperation* { return nullptr; });
}

std::vector<std::string> bench_operations() {
  std::vector<std::string> names;
  detail::each_operation([&](auto operation) { names.emplace_back(operation.kName); });
  return names;
}

std::string preset_names(std::vector<std::string> more) {
  std::vector<std::string> names;
  for (const std::string& operation : bench_operations())
    for (const std::string_view preset : bench_operation(operation)->presets()) names.emplace_back(preset);
  names.insert(names.end(), more.begin(), more.end());
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

std::optional<std::vector<BenchRow>> preset_rows(std::string_view name, bool large) {
  for (const std::string& operation : bench_operations())
    if (auto rows = bench_operation(operation)->preset(name, large)) return rows;
  return std::nullopt;
}

}  // namespace sectile::tools
