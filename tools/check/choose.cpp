// What a generated case runs: which problem, as for which device, by which candidates.
#include "check.hpp"
#include "operation.hpp"

#include "device/quirks.hpp"

#include "reference/extra_rows.hpp"
#include "reference/random.hpp"
#include "reference/siblings.hpp"

#include <sectile/planner.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace sectile::tools {
namespace {

// One of them.
std::string drawn(const CheckOptions& options, const std::vector<std::string>& candidates, std::uint64_t index) {
  const auto hash = [&](std::string_view name) {
    std::uint64_t place = options.seed ^ reference::mix(index);
    for (const char letter : name) place = reference::mix(place ^ static_cast<std::uint64_t>(letter));
    return place;
  };
  // A stem first: that of many rows is drawn no more often than others.
  return *std::ranges::max_element(candidates, {}, [&](const std::string& candidate) {
    return std::pair(hash(std::string_view(candidate).substr(0, candidate.find(' '))), hash(candidate));
  });
}

// Kernels for devices that die of them (dies_of_far_rows): lanes have 64-bit offsets that were two words, or that the
// driver makes of two.
bool joins_words(const Candidate& candidate) {
  constexpr std::array<std::string_view, 3> kStems = {"permute_realign ", "permute_ragged ", "permute_fused_ragged "};
  const auto is = [&](std::string_view stem) { return candidate.name.starts_with(stem); };
  return candidate.name.ends_with(" far") || (candidate.detail.contains(".wide") && std::ranges::any_of(kStems, is));
}

}  // namespace

bool dies_of_far_rows(const DeviceProfile& profile) {
  return std::ranges::any_of(detail::quirks_for(profile), [](const detail::Quirk& quirk) {
    return quirk.avoid == "address of two words that differs from lane to lane";
  });
}

bool passes_filter(std::string_view filter, std::string_view candidate) {
  const bool without = filter.starts_with('!');
  return candidate.contains(filter.substr(without ? 1 : 0)) != without;
}

CheckCase check_case(const CheckOptions& options, std::uint64_t index) {
  if (options.big) return {.problem = big_case(index), .candidate = {}};
  if (options.problem.empty()) return generate_case(options.operation, options.seed, index, options.words);
  return {parse_problem(options.problem).value_or(Problem{}),
          {},
          options.without_dot,
          options.multiprocessors,
          options.few_pipelines,
          options.max_scratch_bytes,
          options.without_workgroup8};
}

Problem case_problem(const CheckOptions& options, std::uint64_t index) { return check_case(options, index).problem; }

DeviceProfile planned_device(const CheckCase& wanted, DeviceProfile profile) {
  if (wanted.without_dot) profile.integer_dot_product = false;
  if (wanted.without_workgroup8) profile.workgroup8 = false;
  if (wanted.multiprocessors != 0) profile.multiprocessors = wanted.multiprocessors;
  return profile;
}

PlanOptions planned_with(const CheckOptions& options, const CheckCase& wanted, const std::string& candidate) {
  return {.force = candidate,
          .max_scratch_bytes = wanted.max_scratch_bytes,
          .few_pipelines = options.few_pipelines || wanted.few_pipelines};
}

std::vector<std::string> candidates_to_run(const CheckOptions& options, std::uint64_t index, const CheckCase& wanted,
                                           const Plan& plan, const DeviceProfile& profile) {
  std::string chosen;
  std::vector<std::string> others;
  const bool no_joined = dies_of_far_rows(profile);
  for (const Candidate& candidate : plan.candidates) {
    if (candidate.chosen)
      chosen = candidate.name;
    else if (candidate.refusal.empty() && !(no_joined && joins_words(candidate)))
      others.push_back(candidate.name);
  }
  if (device_list(options.device).size() > 1) return {chosen};  // operands then stand alike on all devices
  if (!options.all_candidates && !wanted.candidate.empty()) {
    others.push_back(chosen);
    const std::string beginning = wanted.candidate + " ";
    std::erase_if(others, [&](const std::string& name) {
      return name != wanted.candidate && !(name + " ").starts_with(beginning);
    });
    // The candidate's name may begin others' names.
    if (std::ranges::find(others, wanted.candidate) != others.end()) others = {wanted.candidate};
    // A CPU device spends its time on compiling: other cases run what is chosen.
    if (!others.empty() && profile.kind == DeviceKind::cpu) return {drawn(options, others, index)};
    std::erase(others, chosen);
  }
  if (!options.all_candidates && !others.empty()) others = {drawn(options, others, index)};
  others.insert(others.begin(), chosen);
  return others;
}

std::vector<Problem> siblings_of(const CheckOptions& options, std::uint64_t index, const Plan& plan,
                                 const DeviceProfile& profile, const PlanOptions& forced) {
  return reference::siblings(plan, profile, forced, reference::mix(options.seed) ^ index, options.siblings);
}

}  // namespace sectile::tools
