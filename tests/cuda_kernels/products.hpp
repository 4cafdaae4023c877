// The steps of matmuls and convolutions that are compiled.
//
// A tile without a matrix unit takes seconds of a core, so most combinations are left out: what the planner chooses is
// compiled for two architectures, the small kernels' candidates and every row of the tiles with other problems on
// others, by turns. SECTILE_ALL_KERNELS or SECTILE_THOROUGH, where it is set, leaves none out.
#pragma once

#include "compiling.hpp"
#include "reference/extra_rows.hpp"

#include "gemm/gemm.abi.h"

#include <sectile/planner.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::test {

class ProductSteps {
 public:
  void add(const Step& step, std::size_t architecture) {
    // Those of permutes before and after a convolution are compiled as permutes'.
    if (step.kernel.stem.starts_with("permute")) return;
    Constants shaping;
    for (const Constant& constant : step.constants)
      if (constant.id < GEMM_SPEC_WORD0) shaping.push_back(constant);
    combinations_[architecture].try_emplace({step.kernel, shaping}, step);
  }
  void add(const Problem& problem, const DeviceProfile& profile, std::size_t architecture,
           const std::string& force = {}) {
    const auto plan = reference::plan_with_extra_rows(problem, profile, {.force = force});
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    for (const Step& step : plan->steps) add(step, architecture);
  }
  std::vector<Job> jobs() const {
    std::vector<Job> out;
    for (std::size_t i = 0; i < kArchitectures.size(); ++i)
      for (const auto& [kernel, step] : combinations_[i]) out.push_back({&step, kArchitectures[i]});
    return out;
  }

 private:
  std::array<Combinations, kArchitectures.size()> combinations_;
};

// `tile`: the stem whose rows are compiled by turns.
inline ProductSteps product_steps(std::span<const char* const> problems, std::string_view tile) {
  const bool all = all_kernels();
  constexpr std::size_t kTurns = 9;
  ProductSteps steps;
  for (std::size_t a = 0; a < kArchitectures.size(); ++a) {
    const std::size_t place = place_of(a);
    const auto profile = builtin_target("cuda:" + std::string(kArchitectures[a]));
    REQUIRE(profile.has_value());
    for (std::size_t p = 0; p < problems.size(); ++p) {
      CAPTURE(problems[p]);
      if (!all && !has_turn(a, p)) continue;
      const auto problem = parse_problem(problems[p]);
      REQUIRE_MESSAGE(problem.has_value(), problem.error().message());
      if (all || place == p % kPlaces || place == (p + 3) % kPlaces) steps.add(*problem, *profile, a);
      const auto explained = reference::plan_with_extra_rows(*problem, *profile, {.explain = true});
      REQUIRE_MESSAGE(explained.has_value(), explained.error().message());
      for (std::size_t c = 0; c < explained->candidates.size(); ++c) {
        const Candidate& candidate = explained->candidates[c];
        if (!candidate.refusal.empty() || candidate.name.starts_with("matmul_mma ") ||
            candidate.name.starts_with("matmul_wgmma "))
          continue;  // these have tests of their own
        CAPTURE(candidate.name);
        const bool turn = candidate.name.starts_with(tile)
                              ? (c + p) % kTurns == 0 && (c + p / kTurns * 3) % kPlaces == place
                              : (c + p) % kPlaces == place;
        if (all || turn) steps.add(*problem, *profile, a, candidate.name);
      }
    }
  }
  return steps;
}

}  // namespace sectile::test
