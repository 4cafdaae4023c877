// Problem + device profile -> plan. Pure: no device, clock, file or environment; the same input gives
// the same plan on every machine.
#pragma once

#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/problem.hpp>
#include <sectile/profile.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace sectile {

struct PlanOptions {
  bool explain = false;        // keep every candidate, with its counts or the constraint that it failed
  std::string force = {};      // take this candidate (its whole name, or its stem alone) or fail; for tests and tuning
};

std::string_view planner_version() noexcept;

// Errors: as validate(); unsupported (with the reasons of all candidates); limit_exceeded.
Result<Plan> make_plan(const Problem& problem, const DeviceProfile& profile, const PlanOptions& options = {});

// A planner that remembers. Safe from several threads. A hit takes no heap allocation.
class Planner {
 public:
  explicit Planner(DeviceProfile profile);
  ~Planner();
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;

  const DeviceProfile& profile() const noexcept;
  Result<std::shared_ptr<const Plan>> plan(const Problem& problem);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A text for people: each candidate with its counts and cost, or why it was refused.
std::string explain(const Plan& plan);

}  // namespace sectile
