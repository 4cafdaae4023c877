// Which rows are timed, and what rivals read of them.
#include "operation.hpp"

#include <sectile/planner.hpp>

#include <algorithm>

namespace sectile::tools {

Result<void> check_timed(const Problem& problem) {
  const auto operands = operands_of(problem);
  if (!operands) return std::unexpected(operands.error());
  for (const OperandSpec& operand : *operands)
    if (operand.written && operand.bytes == 0)
      return fail(ErrorKind::invalid_problem, "shape", print(problem),
                  "at least one element in the result: there is nothing to time");
  return {};
}

Result<BenchRow> row_of_text(const std::string& text) {
  const auto problem = parse_problem(text);
  if (!problem) return std::unexpected(problem.error());
  if (auto valid = validate(*problem); !valid) return std::unexpected(valid.error());
  if (auto timed = check_timed(*problem); !timed) return std::unexpected(timed.error());
  return bench_operation(*problem).row(*problem);
}

Result<std::vector<BenchRow>> rows_of(const BenchOptions& options, const std::vector<std::string>& more) {
  std::vector<BenchRow> rows;
  if (!options.preset.empty()) {
    auto preset = preset_rows(options.preset, options.large);
    if (!preset) return fail(ErrorKind::missing, "preset", options.preset, preset_names(more));
    rows = std::move(*preset);
  }
  for (const std::string& text : options.problems) {
    auto row = row_of_text(text);
    if (!row) return std::unexpected(row.error());
    rows.push_back(std::move(*row));
  }
  const bool none = rows.empty();
  std::erase_if(rows, [&](const BenchRow& row) { return row.name.find(options.only) == std::string::npos; });
  if (none) return fail(ErrorKind::missing, "rows", "none", "a problem, or --preset " + preset_names(more));
  if (rows.empty())
    return fail(ErrorKind::missing, "--only", options.only, "a part of a row's name, as --list shows them");
  return rows;
}

nlohmann::json rows_json(std::span<const BenchRow> rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const BenchRow& row : rows) {
    nlohmann::json object = bench_operation(row.problem).describe(row.problem);
    object.update({{"name", row.name}, {"problem", print(row.problem)}});
    list.push_back(std::move(object));
  }
  return {{"rows", list}};
}

}  // namespace sectile::tools
