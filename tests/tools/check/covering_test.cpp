// The chosen cases of `sectile check`: every pair of levels that can be is met, by problems that are valid and by the
// candidates that they are for.
#include "check/operation.hpp"
#include "reference/cover_conv2d.hpp"
#include "reference/cover_matmul.hpp"
#include "reference/cover_permute.hpp"
#include "reference/extra_rows.hpp"
#include "reference/generate.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

using namespace sectile;
using namespace sectile::reference;

namespace {

// The pairs of levels that no row has, and that some row could have: told, and counted.
std::size_t possible_pairs(const CoverRules& rules, std::span<const LevelRow> rows, int tries,
                           std::string (*level_name)(std::uint8_t, std::uint8_t)) {
  std::size_t possible = 0;
  for (const LevelPair& pair : uncovered(rules, rows)) {
    LevelRow fixed(rules.levels.size(), kUnset);
    fixed[pair.first] = pair.first_level;
    fixed[pair.second] = pair.second_level;
    if (random_row(rules, fixed, 99, tries).empty()) continue;
    ++possible;
    MESSAGE(level_name(pair.first, pair.first_level) << " with " << level_name(pair.second, pair.second_level));
  }
  return possible;
}

template <class P>
Result<Plan> plan_of(const CoveringProduct<P>& c, DeviceProfile profile) {
  if (c.without_dot) profile.integer_dot_product = false;
  if (c.multiprocessors != 0) profile.multiprocessors = c.multiprocessors;
  return reference::plan_with_extra_rows(c.problem, profile,
                                         {.force = c.candidate, .max_scratch_bytes = c.max_scratch_bytes});
}

}  // namespace

TEST_CASE("a covering array meets all pairs that can be") {
  CoverRules rules;
  rules.levels = {2, 3, 4, 3};
  rules.clash = [](const LevelRow& row) { return row[0] == 1 && row[2] == 3; };  // kUnset is neither
  rules.cost = [](const LevelRow&) { return 1u; };
  const auto rows = covering_rows(rules, 7);
  CHECK(rows.size() <= 16);
  CHECK(rows == covering_rows(rules, 7));
  CHECK(uncovered(rules, rows) == std::vector{LevelPair{0, 1, 2, 3}});
  // Without its last row some pair is missing: rows are made around open ones.
  CHECK(uncovered(rules, std::span(rows).first(rows.size() - 1)).size() > 1);
}

TEST_CASE("matmuls to check meet every pair of levels that can be") {
  for (const auto& [accesses, target] :
       {std::pair(Accesses::any, "lavapipe"), std::pair(Accesses::words, "swiftshader")}) {
    CAPTURE(std::string(target));
    const CoverRules rules = matmul_cover_rules(accesses);
    const auto rows = covering_matmul_rows(1, accesses);
    for (const LevelRow& row : rows) CHECK_FALSE(rules.clash(row));
    CHECK(possible_pairs(rules, rows, accesses == Accesses::any ? 400 : 20, matmul_level_name) == 0);
    const DeviceProfile profile = builtin_target(target).value();
    std::size_t wanted = 0, split = 0;
    for (const CoveringMatmul& c : covering_matmuls(1, accesses)) {
      CAPTURE(print(Problem(c.problem)));
      CAPTURE(c.candidate);
      REQUIRE(validate(c.problem).has_value());
      const auto plan = plan_of(c, profile);
      REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
      // A tail that is split, and a split of K, which the planner may find too dear.
      if (c.multiprocessors == 2) CHECK(plan->steps.size() == 3);
      if (c.multiprocessors != 64) continue;
      ++wanted;
      split += plan->steps.size() == 2 ? 1 : 0;
    }
    CHECK(wanted >= 10);
    MESSAGE(rows.size() << " matmuls, " << wanted << " for splits");
    CHECK(split * 20 >= wanted * 17);
  }
}

TEST_CASE("convolutions to check meet every pair of levels that can be") {
  for (const Accesses accesses : {Accesses::any, Accesses::words}) {
    const CoverRules rules = conv2d_cover_rules(accesses);
    const auto rows = covering_conv2d_rows(1, accesses);
    for (const LevelRow& row : rows) CHECK_FALSE(rules.clash(row));
    CHECK(possible_pairs(rules, rows, accesses == Accesses::any ? 400 : 20, conv2d_level_name) == 0);
    std::int64_t most = 0;
    for (const CoveringConv2d& c : covering_conv2ds(1, accesses)) {
      CAPTURE(print(Problem(c.problem)));
      const auto size = output_size(c.problem);
      REQUIRE_MESSAGE(size.has_value(), size.error().message());
      const auto& p = c.problem;
      most = std::max(most, p.n * p.k * size->height * size->width * (p.c / p.groups) * p.r * p.s);
    }
    MESSAGE(rows.size() << " convolutions, at most " << most << " multiplications");
    CHECK(most < 10'000'000);
  }
}

TEST_CASE("a device without accesses of 1 and 2 bytes has any number of cases") {
  const DeviceProfile profile = builtin_target("swiftshader").value();
  for (const char* operation : {"matmul", "conv2d"}) {
    std::set<std::string> problems;
    for (std::uint64_t index = 0; index < 300; ++index) {
      const Problem problem = tools::generate_case(operation, 43435, index, true).problem;
      CHECK_MESSAGE(reference::plan_with_extra_rows(problem, profile, {}).has_value(), print(problem));
      problems.insert(print(problem));
    }
    CHECK_MESSAGE(problems.size() >= 290, operation << ": " << problems.size());
  }
}

TEST_CASE("permutes to check meet every pair of levels of their pool") {
  std::set<std::uint32_t> met, possible;
  for (const CoveringPermute& c : covering_permutes(1))
    for (const std::uint32_t pair : permute_pairs(c.problem)) met.insert(pair);
  for (std::uint64_t index = 0; index < 6000; ++index)
    for (const std::uint32_t pair :
         permute_pairs(index % 4 == 3 ? generate_elementwise(1, index) : generate_permute(1, index)))
      possible.insert(pair);
  std::size_t missing = 0;
  for (const std::uint32_t pair : possible) missing += met.contains(pair) ? 0 : 1;
  CHECK(missing == 0);
  CHECK(possible.size() > 2000);
  CHECK(covering_permutes(1).size() <= 287);  // with those that reach each kernel
  MESSAGE(covering_permutes(1).size() << " permutes, " << met.size() << " pairs");
}
