// Writes the plans of all problems of a file on all built-in targets, as JSON, one a line: platform_plans PROBLEMS OUT.
// Every eighth one with all candidates and their costs. Two systems write the same bytes.
#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

using namespace sectile;

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::vector<std::string> problems;
  std::ifstream in(argv[1], std::ios::binary);
  for (std::string line; std::getline(in, line);) problems.push_back(line);
  std::ofstream out(argv[2], std::ios::binary);
  std::size_t count = 0, planned = 0;
  for (const std::string_view target : builtin_target_names()) {
    const auto profile = builtin_target(target);
    if (!profile) return 1;
    for (const std::string& text : problems) {
      const auto problem = parse_problem(text);
      if (!problem) return 1;
      const auto plan = make_plan(*problem, *profile, {.explain = count++ % 8 == 0, .force = {}});
      out << (plan ? to_json(*plan) : plan.error().message()) << "\n";
      planned += plan.has_value();
    }
  }
  out.close();
  if (!out) return 1;
  std::printf("%zu problems on targets, %zu plans\n", count, planned);
  return 0;
}
