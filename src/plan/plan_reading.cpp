// Reads a plan from JSON, plans the problem again and compares the two.
#include "cost/model.hpp"
#include "job.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace sectile {

namespace {

std::unexpected<Error> refuse(std::string what, std::string value, std::string want) {
  return fail(ErrorKind::invalid_plan, "plan JSON: " + std::move(what), std::move(value), std::move(want));
}

// The first difference, as a path into the JSON: "steps.1.push".
std::string difference(const Plan& a, const Plan& b) {
  const auto left = nlohmann::json::parse(to_json(a), nullptr, false),
             right = nlohmann::json::parse(to_json(b), nullptr, false);
  // Parsing fails if a profile's name is not UTF-8.
  if (left.is_discarded() || right.is_discarded()) return "profile_name";
  const auto patch = nlohmann::json::diff(left, right);
  if (patch.empty()) return "its text";
  std::string path = patch.front().at("path").get<std::string>();
  if (path.starts_with('/')) path.erase(0, 1);
  for (char& c : path)
    if (c == '/') c = '.';
  return path;
}

// Checks that the plan was made for this profile, by this planner version and with this pack.
Result<void> check_origin(const Plan& plan, const DeviceProfile& profile, const std::string& profile_hash,
                          const KernelSet* kernels) {
  if (plan.planner_version != planner_version())
    return refuse("planner version", plan.planner_version,
                  std::string(planner_version()) + ", or PlanReading::trusted");
  if (plan.profile_hash != profile_hash)
    return refuse("profile", plan.profile_name + " (" + plan.profile_hash + ")",
                  profile.name + " (" + profile_hash + ")");
  if (const std::string own = detail::cost_model_id(profile); plan.device_class != own)
    return refuse("device class", plan.device_class, own);
  const std::string given = kernels == nullptr ? "" : std::string(kernels->id());
  if (plan.choice.kernels == given) return {};
  if (given.empty()) return fail(ErrorKind::missing, "plan JSON: pack", "none given", plan.choice.kernels);
  return refuse("pack", plan.choice.kernels.empty() ? "none" : plan.choice.kernels, given);
}

}  // namespace

Result<Plan> plan_from_json(std::string_view text, const DeviceProfile& profile, const PlanReading& reading) {
  auto plan = detail::parse_plan(text);
  if (!plan) return plan;
  if (auto ok = check_plan(*plan, profile); !ok) return std::unexpected(ok.error());
  if (reading.trusted) return plan;
  const std::string hash = profile_hash_of(profile);
  if (auto ok = check_origin(*plan, profile, hash, reading.kernels); !ok) return std::unexpected(ok.error());
  PlanOptions options{.explain = !plan->candidates.empty(), .force = {}, .kernels = reading.kernels};
  options.max_scratch_bytes = plan->choice.max_scratch_bytes;
  options.few_pipelines = plan->choice.few_pipelines;
  if (plan->choice.by == ChosenBy::force) options.force = plan->choice.asked;
  auto again = plan->choice.by == ChosenBy::tuned
                   ? detail::plan_tuned(plan->problem, profile, hash, options, plan->choice.asked)
                   : detail::plan_as(plan->problem, profile, hash, options, false);
  if (!again) {
    Error error = again.error();
    error.what = "plan JSON: planned again: " + error.what;
    return std::unexpected(std::move(error));
  }
  if (*again != *plan)
    return refuse(difference(*again, *plan), "not what the planner makes of the problem", "a plan as to_json wrote it");
  return again;
}

}  // namespace sectile
