// What CI's checks on lavapipe meet: each kernel with each thing that makes a problem hard, by the cases and their
// siblings. Plans alone: no driver runs here.
#include "check/check.hpp"
#include "check/operation.hpp"
#include "reference/extra_rows.hpp"
#include "reference/siblings.hpp"
#include "support/paths.hpp"
#include "support/scope.hpp"

#include "permute/permute_runs.abi.h"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::tools;
using reference::Side;
using reference::Sides;

namespace {

// `sectile check` on lavapipe as cmake/Tests.cmake runs it.
struct Command {
  std::uint64_t permutes = 0, matmuls = 0, conv2ds = 0;
  unsigned siblings = 0;
};
Command command_of_ci() {
  std::ifstream file(test::source_folder() + "/cmake/Tests.cmake");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  std::smatch found;
  REQUIRE(std::regex_search(all, found, std::regex(R"(sectile_check\(lavapipe llvmpipe (\d+) (\d+) (\d+) )")));
  Command out{std::stoull(found[1]), std::stoull(found[2]), std::stoull(found[3]), 0};
  REQUIRE(std::regex_search(all, found, std::regex(R"(--siblings (\d+))")));
  out.siblings = static_cast<unsigned>(std::stoul(found[1]));
  return out;
}

// What each kernel of an operation's cases and their siblings met.
struct Met {
  std::map<std::string, Sides> sides;
  std::map<std::string, std::size_t> problems;
  std::size_t rows_before_blocks = 0;  // problems
};

// Whether blocks of permute_runs begin in the middle of a word, in a tile that has others before it along either axis:
// then the row before a block supplies the word's first bytes.
bool has_rows_before_blocks(const Problem& problem, const Step& step) {
  if (step.kernel.stem != "permute_runs") return false;
  std::map<std::uint32_t, std::uint32_t> constants;
  for (const Constant& constant : step.constants) constants[constant.id] = constant.value;
  if (constants[PERMUTE_RUNS_SPEC_STAGED] != 0 || constants[PERMUTE_RUNS_SPEC_SHIFT] == 0 ||
      constants[PERMUTE_RUNS_SPEC_RUN] < 5)
    return false;
  // The two longest axes are those that move.
  auto sizes = std::get<PermuteProblem>(problem).shape;
  std::ranges::sort(sizes, std::greater<>());
  const auto tile = std::max(constants[PERMUTE_RUNS_SPEC_TILE_S], constants[PERMUTE_RUNS_SPEC_TILE_D]);
  return sizes.size() >= 2 && sizes[1] > static_cast<std::int64_t>(tile);
}

void add(Met& met, const Problem& problem, const Plan& plan) {
  for (const Step& step : plan.steps) met.rows_before_blocks += has_rows_before_blocks(problem, step) ? 1 : 0;
  std::set<std::string> stems;
  std::string kind;
  if (const auto* p = std::get_if<Conv2dProblem>(&problem))
    kind = p->x_layout == ImageLayout::nchw   ? " of planes"
           : p->x_layout == ImageLayout::nhwc ? " of pixels"
                                              : " of blocks";
  for (const Step& step : plan.steps) stems.insert(step.kernel.stem + kind);
  for (const std::string& stem : stems) {
    met.sides[stem] |= reference::sides_of(problem, plan);
    ++met.problems[stem];
  }
}

Met met_by(const std::string& operation, std::uint64_t cases, unsigned siblings) {
  const DeviceProfile device = builtin_target("lavapipe").value();
  CheckOptions options;
  options.operation = operation;
  options.siblings = siblings;
  Met met;
  for (std::uint64_t index = 0; index < cases; ++index) {
    const CheckCase given = check_case(options, index);
    const DeviceProfile profile = planned_device(given, device);
    PlanOptions all = planned_with(options, given, "");
    all.explain = true;
    const auto explained = reference::plan_with_extra_rows(given.problem, profile, all);
    if (!explained || explained->steps.empty()) continue;
    for (const std::string& candidate : candidates_to_run(options, index, given, *explained, device)) {
      if (operation == "permute" && !given.candidate.empty())
        CHECK_MESSAGE(candidate.starts_with(given.candidate), print(given.problem)
                                                                  << " is not for " << given.candidate);
      const PlanOptions forced = planned_with(options, given, candidate);
      const auto plan = reference::plan_with_extra_rows(given.problem, profile, forced);
      REQUIRE(plan.has_value());
      add(met, given.problem, *plan);
      for (const Problem& problem : siblings_of(options, index, *plan, profile, forced)) {
        const auto other = reference::plan_with_extra_rows(problem, profile, forced);
        REQUIRE(other.has_value());
        add(met, problem, *other);
      }
    }
  }
  return met;
}

// What a kernel's problems never have, and why. `stem`: or what it begins with.
struct Exception {
  std::string_view stem;
  std::vector<Side> sides;
  std::string_view why;
};

// Every kernel whose name begins with `stem` has met every side, or is excepted; no exception is met, or idle.
void check_met(const std::string& operation, const Met& met, std::string_view beginning,
               const std::vector<Exception>& exceptions) {
  std::set<const Exception*> used;
  for (const auto& [stem, sides] : met.sides) {
    if (!stem.starts_with(beginning)) continue;
    Sides excepted = 0;
    for (const Exception& e : exceptions) {
      if (!stem.starts_with(e.stem)) continue;
      used.insert(&e);
      for (const Side side : e.sides) excepted |= reference::bit(side);
    }
    std::string missing, needless;
    for (unsigned i = 0; i < static_cast<unsigned>(Side::kCount); ++i) {
      const Sides one = reference::bit(static_cast<Side>(i));
      const std::string name = " \"" + std::string(reference::name_of(static_cast<Side>(i))) + "\"";
      if ((reference::sides_of_operation(operation) & ~excepted & ~sides & one) != 0) missing += name;
      if ((sides & excepted & one) != 0) needless += name;
    }
    CHECK_MESSAGE(missing.empty(), stem << " (" << met.problems.at(stem) << " problems) does not meet" << missing);
    // What is met by chance, though no kernel has it to promise.
    if (!needless.empty()) MESSAGE(stem << " is excepted and meets" << needless);
    CHECK_MESSAGE(met.problems.at(stem) >= 20, stem << " has " << met.problems.at(stem) << " problems");
    MESSAGE(stem << ": " << met.problems.at(stem) << " problems");
  }
  for (const Exception& e : exceptions) CHECK_MESSAGE(used.contains(&e), std::string(e.stem) << ": no such kernel");
}

}  // namespace

TEST_CASE("every operation lists what makes its problems hard") {
  for (const std::string& operation : checked_operations())
    CHECK_MESSAGE(reference::sides_of_operation(operation) != 0, operation);
  CHECK(reference::sides_of_operation("no operation") == 0);
}

TEST_CASE("convolutions' kernels meet everything that makes a problem hard") {
  if (test::kSanitized) return;  // some 50,000 plans; the release tests make them
  const Command ci = command_of_ci();
  check_met(
      "conv2d", met_by("conv2d", ci.conv2ds, ci.siblings), "conv2d_",
      {{"conv2d_coopmat", {Side::parts, Side::multiplier}, "Winograd's alone has parts; depthwise has its kernel"},
       {"conv2d_simt", {Side::parts, Side::multiplier}, "the same"},
       {"conv2d_direct", {Side::parts}, "Winograd's alone has parts"},
       {"conv2d_lanes", {Side::parts}, "the same"},
       {"conv2d_depthwise", {Side::parts, Side::odd_inputs}, "and a group has one channel"},
       {"conv2d_winograd",
        {Side::strides, Side::dilations, Side::unreached, Side::multiplier},
        "it is refused: F(2x2, 3x3) has stride 1 and one group"}});
}

TEST_CASE("matmuls' kernels meet everything that makes a problem hard") {
  if (test::kSanitized) return;  // some 50,000 plans; the release tests make them
  const Command ci = command_of_ci();
  check_met("matmul", met_by("matmul", ci.matmuls, ci.siblings), "mat",
            {{"matmul_reduce", {Side::short_k}, "a short sum is not split"}});
}

TEST_CASE("permutes' kernels meet everything that makes a problem hard") {
  if (test::kSanitized) return;  // some 50,000 plans; the release tests make them
  const Command ci = command_of_ci();
  const Met met = met_by("permute", ci.permutes, ci.siblings);
  MESSAGE(met.rows_before_blocks << " problems have rows before blocks of long runs");
  CHECK(met.rows_before_blocks >= 3);
  check_met("permute", met, "permute_",
            {{"permute_runs", {Side::surplus}, "runs are whole"},
             {"permute_block", {Side::surplus}, "a block must divide its axis"},
             {"permute_fused_ragged", {Side::surplus}, "the same"},
             {"permute_copy",
              {Side::source_rows, Side::destination_rows, Side::surplus},
              "what is copied is contiguous, in whatever order its axes stand"}});
}
