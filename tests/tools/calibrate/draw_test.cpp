// Which problems and candidates a calibration measures.
#include "calibrate/draw.hpp"
#include "calibrate/measure.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace sectile;
using namespace sectile::tools;

namespace {

// Rows r0 to r39; the estimate grows with the number; r3 is refused, and r20 is the planner's choice.
std::vector<Candidate> calibration_candidates() {
  std::vector<Candidate> candidates(40);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    candidates[i].name = "kernel r" + std::to_string(i);
    candidates[i].cost = 100 + static_cast<std::int64_t>(i);
    if (i % 3 == 0) candidates[i].eligibility = Eligibility::last_resort;
    if (i % 7 == 0) candidates[i].eligibility = Eligibility::measured_only;
  }
  candidates[3].refusal = "no";
  candidates[20].chosen = true;
  return candidates;
}

}  // namespace

TEST_CASE("a calibration's candidates: the choice, the cheapest, and others at random") {
  const auto candidates = calibration_candidates();
  const auto drawn = draw_candidates(candidates, 16, {}, 1, "a problem");
  REQUIRE(drawn.size() == 16);
  CHECK(std::vector(drawn.begin(), drawn.begin() + 8) == std::vector<std::size_t>{20, 0, 1, 2, 4, 5, 6, 7});
  CHECK(std::set(drawn.begin(), drawn.end()).size() == 16);
  CHECK(std::ranges::find(drawn, 3u) == drawn.end());
  CHECK(draw_candidates(candidates, 16, {}, 1, "a problem") == drawn);
  CHECK(draw_candidates(candidates, 16, {}, 2, "a problem") != drawn);
  CHECK(draw_candidates(candidates, 16, {}, 1, "another") != drawn);
}

TEST_CASE("a calibration measures all candidates where they are few") {
  const auto candidates = calibration_candidates();
  const auto all = draw_candidates(candidates, 100, {}, 1, "a problem");
  CHECK(std::set(all.begin(), all.end()).size() == 39);
  CHECK(draw_candidates(candidates, 1, {}, 1, "a problem") == std::vector<std::size_t>{20});
  CHECK(draw_candidates({}, 16, {}, 1, "a problem").empty());
}

TEST_CASE("a calibration leaves out candidates with which a problem would take too long") {
  auto candidates = calibration_candidates();
  for (const std::size_t i : {37u, 38u, 39u}) candidates[i].cost = kLongestRound / 2;
  const auto drawn = draw_candidates(candidates, 100, {}, 1, "a problem");
  // One of the three, as what the others take leaves no room for two.
  CHECK(drawn.size() == 37);
  candidates[20].cost = kLongestRound + 1;
  CHECK(draw_candidates(candidates, 100, {}, 1, "a problem") == std::vector<std::size_t>{20});
}

TEST_CASE("a calibration measures one of each kernel where there is room") {
  auto candidates = calibration_candidates();
  for (const std::size_t i : {30u, 31u, 32u}) candidates[i].name = "other r" + std::to_string(i);
  candidates[35].name = "third r35";
  RowCounts measured;
  for (const std::size_t i : {30u, 31u, 32u, 35u}) measured[candidates[i].name] = 9;
  measured[candidates[31].name] = 8;
  const auto drawn = draw_candidates(candidates, 6, measured, 1, "a problem");
  REQUIRE(drawn.size() == 6);
  CHECK(std::vector(drawn.begin() + 3, drawn.begin() + 5) == std::vector<std::size_t>{31, 35});
  CHECK(std::set(drawn.begin(), drawn.end()).size() == 6);
}

TEST_CASE("rows that were measured least often come first, so that every row is measured") {
  const auto candidates = calibration_candidates();
  RowCounts measured;
  for (const Candidate& c : candidates) measured[c.name] = 2;
  measured.erase("kernel r35");
  measured["kernel r12"] = 1;
  const auto drawn = draw_candidates(candidates, 6, measured, 1, "a problem");
  REQUIRE(drawn.size() == 6);
  CHECK(drawn[3] == 35);
  CHECK(drawn[4] == 12);
  // As many problems as it takes to have each row once, and no more.
  RowCounts counts;
  std::set<std::size_t> seen;
  for (int problem = 0; problem < 5; ++problem)
    for (const std::size_t i : draw_candidates(candidates, 16, counts, 1, "problem " + std::to_string(problem))) {
      seen.insert(i);
      ++counts[row_name(candidates[i].name)];
    }
  CHECK(seen.size() == 39);
}

TEST_CASE("one problem of six is to check, and no case is left out of either part") {
  std::vector<std::uint64_t> fitted, checked;
  for (std::uint64_t position = 0; position < 60; ++position) {
    const Deal deal = deal_at(position);
    (deal.part == RawPart::fit ? fitted : checked).push_back(deal.index);
  }
  CHECK(checked.size() == 10);
  CHECK(deal_at(1).part == RawPart::check);
  for (std::uint64_t i = 0; i < fitted.size(); ++i) CHECK(fitted[i] == i);
  for (std::uint64_t i = 0; i < checked.size(); ++i) CHECK(checked[i] == i);
  CHECK(part_seed(RawPart::fit, 9) != part_seed(RawPart::check, 9));
}

TEST_CASE("what people are told of a calibration's measurements") {
  const auto problem = [](bool unsteady, const char* error) {
    RawProblem one{.operation = "permute", .group = {}, .problem = "permute u8 2x2", .copy_ps = {}, .candidates = {}};
    one.unsteady = unsteady;
    one.candidates.push_back({.name = "kernel a", .detail = {}, .error = error});
    return one;
  };
  RawCalibration raw;
  raw.problems = {problem(true, ""), problem(false, ""), problem(false, "")};
  CHECK(raw_warnings(raw).empty());
  CHECK(wrong_candidates(raw).empty());
  raw.problems.push_back(problem(true, "device: WRONG RESULT: at 3"));
  CHECK(wrong_candidates(raw) == std::vector<std::string>{"kernel a"});
  REQUIRE(raw_warnings(raw).size() == 1);
  CHECK(raw_warnings(raw)[0].starts_with("permute: the device was unsteady in 2 of 4 problems"));
  raw.problems.push_back(problem(false, "device: no memory"));
  raw.problems.push_back(problem(false, ""));
  REQUIRE(raw_warnings(raw).size() == 1);
  CHECK(raw_warnings(raw)[0] == "1 measurements failed, the first: permute u8 2x2, kernel a: device: no memory");
}
