// Problem + device profile -> plan. Pure: no device, clock, file or environment; the same input gives
// the same plan on every machine.
#pragma once

#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/problem.hpp>
#include <sectile/profile.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace sectile::detail {
struct ExtraRows;
}

namespace sectile {

// Which finished kernels there are, where that is not all of them: a pack (pack.hpp). Thread-safe.
class KernelSet {
 public:
  virtual ~KernelSet() = default;
  // Whether there is code for the step: its kernel and constants, and where push bytes are frozen in, those.
  virtual bool has(const Step& step) const = 0;
  // What comes nearest to the step, and how it differs; for errors.
  virtual std::string nearest(const Step& step) const = 0;
  // Its content's name: part of the ids of plans that were made with it.
  virtual std::string_view id() const noexcept = 0;
};

// What was measured to be best: a TuneStore (tune.hpp). Thread-safe.
class TunedChoices {
 public:
  virtual ~TunedChoices() = default;
  // The whole name of the candidate for this problem on the device with this profile; empty where nothing is known.
  virtual std::string candidate(const Problem& problem, std::string_view profile_hash) const = 0;
};

struct PlanOptions {
  bool explain = false;        // keep every candidate, with its counts or the constraint that it failed
  std::string force = {};      // take this candidate (its whole name, or its stem alone) or fail; for tests and tuning
  const KernelSet* kernels = nullptr;  // choose only among candidates that these have code for; null: no such limit
  // Take what was measured, where it is still a candidate for the problem, is admissible and passes check_plan; else,
  // and with `force`, as without it. The name is then part of the plan's id,
  // and explain's candidate says "tuned".
  const TunedChoices* tuned = nullptr;
  const detail::ExtraRows* extra = nullptr;  // candidates that Sectile's own tests and benchmarks add, to be forced
};

std::string_view planner_version() noexcept;
// Plan::profile_hash of every plan for this profile.
std::string profile_hash_of(const DeviceProfile& profile);

// Errors: as validate(); unsupported (with the reasons of all candidates); limit_exceeded; missing (the problem
// could be planned, but PlanOptions::kernels has no candidate's code: names the nearest).
Result<Plan> make_plan(const Problem& problem, const DeviceProfile& profile, const PlanOptions& options = {});

struct PlanReading {
  const KernelSet* kernels = nullptr;   // the pack that the plan was made with; null: none
  // Take the plan as it stands. Only what check_plan sees is then checked: constants, push bytes, strides and scratch sizes
  // go to the GPU as the text has them. A text that was tampered with can write outside the operands, hang the device or
  // crash the driver's compiler. For texts that nobody else can write, and for plans of another planner version.
  bool trusted = false;
};

// Reads what to_json wrote. A plan is a function of its problem, profile, pack and choice: the same problem is planned again
// with the candidate that the text names, and everything is compared. Costs as much as make_plan.
// Errors: parse (no plan); as validate(); missing (PlanReading::kernels: the plan was made with a pack and none is given);
// invalid_plan, by name: another profile, planner version or pack, the first part that differs, what check_plan refuses.
Result<Plan> plan_from_json(std::string_view text, const DeviceProfile& profile, const PlanReading& reading = {});

// A planner that remembers the plans that were asked for last. Safe from several threads. A hit takes no heap allocation.
class Planner {
 public:
  static constexpr std::size_t kMostPlans = 4096;   // some 8 MB: a plan takes about 2 KB

  // `kernels` and `tuned` as in PlanOptions; both must outlive the planner. What `tuned` learns later does not change a
  // plan that is remembered. At most `most_plans` are remembered (at least 1): the one that was not asked for longest
  // makes room. It lives on where a caller holds it, and is planned again when it is asked for again.
  explicit Planner(DeviceProfile profile, const KernelSet* kernels = nullptr, const TunedChoices* tuned = nullptr,
                   std::size_t most_plans = kMostPlans);
  ~Planner();
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;

  const DeviceProfile& profile() const noexcept;
  Result<std::shared_ptr<const Plan>> plan(const Problem& problem);
  std::size_t remembered() const;   // how many plans

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Why matmuls of f16, bf16 and int8 leave the device's matrix unit alone, as far as the profile tells: it is not known, a
// quirk forbids it, no kernel uses it. Empty: the profile lists shapes.
std::string matrix_unit_remark(const DeviceProfile& profile);
// The same of a plan that was made for the profile, where the problem could use the unit: also when no kernel fits the
// listed shapes, or another one costs less. Empty where the plan uses it.
std::string matrix_unit_remark(const Plan& plan, const DeviceProfile& profile);

// A text for people: each candidate with its counts and cost, or why it was refused.
std::string explain(const Plan& plan);

}  // namespace sectile
