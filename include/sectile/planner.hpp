// Problem + device profile -> plan. Pure: no device, clock, file or environment; the same input gives
// the same plan on every machine.
#pragma once

#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/problem.hpp>
#include <sectile/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sectile {

// The compiled kernels that a program has, where these are not all: a pack (pack.hpp). Thread-safe.
class KernelSet {
 public:
  virtual ~KernelSet() = default;
  // Whether there is code for the step: for its kernel and constants, and for its push bytes where they are frozen.
  virtual bool has(const Step& step) const = 0;
  // The module nearest to the step, and how it differs; for errors.
  virtual std::string nearest(const Step& step) const = 0;
  // A hash of its content. It is part of the ids of plans that are made with it.
  virtual std::string_view id() const noexcept = 0;
};

// Candidates that were measured to be the fastest: a TuneStore (tune.hpp). Thread-safe.
class TunedChoices {
 public:
  virtual ~TunedChoices() = default;
  // The whole name of the candidate for this problem on the device with this profile; empty where none is known.
  virtual std::string candidate(const Problem& problem, std::string_view profile_hash) const = 0;
};

struct PlanOptions {
  bool explain = false;                // list every candidate in Plan::candidates, with its counts or its refusal
  std::string force = {};              // use this candidate (its whole name, or its stem) or fail; for tests and tuning
  const KernelSet* kernels = nullptr;  // choose only among candidates that these have code for; null: all
  // Use the measured candidate, where it still exists for the problem, is admissible, and its plan passes check_plan.
  // Otherwise, and with `force`, this has no effect. The name is then part of the plan's id, and explain marks the
  // candidate as "tuned".
  const TunedChoices* tuned = nullptr;
  // The most scratch that a plan may need; empty: no limit. What needs more is refused, or takes another way. A limit
  // is part of the plan's id.
  std::optional<std::uint64_t> max_scratch_bytes = {};
  // Matmuls and convolutions get a few kernels that serve all sizes, so that many problems share pipelines: at most 12
  // for 100 convolutions with filters of 3x3 in one type and layout. Their times grow by a few percent on average. Is
  // part of the plan's id.
  bool few_pipelines = false;
};

std::string_view planner_version() noexcept;
// Plan::profile_hash of every plan for this profile.
std::string profile_hash_of(const DeviceProfile& profile);

// Errors: as validate(); unsupported (names what the device lacks; with PlanOptions::explain every candidate's refusal
// is in Error::detail); limit_exceeded; missing (the problem can be planned, but PlanOptions::kernels has no code for
// a candidate: names the nearest).
Result<Plan> make_plan(const Problem& problem, const DeviceProfile& profile, const PlanOptions& options = {});

struct PlanReading {
  const KernelSet* kernels = nullptr;  // the pack that the plan was made with, or null
  // Use the plan as it is. Only what check_plan checks is then checked: constants, push bytes, strides and scratch
  // sizes go to the GPU as the text has them. A text that was tampered with can write outside the operands, hang the
  // device or crash the driver's compiler. For texts from a trusted source, and for plans of another planner version.
  bool trusted = false;
};

// Reads what to_json wrote. A plan is a function of its problem, profile, pack, limit of scratch and choice. So the
// problem is planned again with the candidate that the text names, and all of the plan is compared. Costs as much as
// make_plan. Errors: parse (not a plan); as validate(); missing (the plan was made with a pack, and
// PlanReading::kernels is null); invalid_plan, which names what differs: profile, planner version, pack, the first
// other part, or what check_plan refuses.
Result<Plan> plan_from_json(std::string_view text, const DeviceProfile& profile, const PlanReading& reading = {});

// A planner with a cache of the plans used last. Safe from several threads. A hit makes no heap allocation.
class Planner {
 public:
  static constexpr std::size_t kMostPlans = 4096;  // some 8 MB: a plan takes about 2 KB

  // `kernels` and `tuned` as in PlanOptions; both must outlive the planner. Entries that `tuned` gets later do not
  // change a cached plan. At most `most_plans` plans (at least 1) are cached; the least recently used one is dropped
  // first. A dropped plan stays valid for callers that hold it. `max_scratch_bytes` and `few_pipelines` as in
  // PlanOptions.
  explicit Planner(DeviceProfile profile, const KernelSet* kernels = nullptr, const TunedChoices* tuned = nullptr,
                   std::size_t most_plans = kMostPlans, std::optional<std::uint64_t> max_scratch_bytes = {},
                   bool few_pipelines = false);
  ~Planner();
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;

  const DeviceProfile& profile() const noexcept;
  Result<std::shared_ptr<const Plan>> plan(const Problem& problem);
  std::size_t remembered() const;  // number of cached plans

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Why products of f16, bf16 and int8 cannot use the device's matrix unit, as far as the profile shows: it is unknown, a
// quirk forbids it, the application has not enabled it, or no kernel uses it. Empty: the profile lists shapes.
std::string matrix_unit_remark(const DeviceProfile& profile);
// The same for a matmul's or a convolution's plan made for the profile, where the problem could use the unit. Further
// reasons: no kernel fits the listed shapes, or another one costs less. Empty where the plan uses the unit.
std::string matrix_unit_remark(const Plan& plan, const DeviceProfile& profile);
// What the plan leaves unused, and why: matrix_unit_remark's; that a permute's narrow elements move in words, for want
// of accesses of 1 and 2 bytes; and which features the application has not enabled that kernels for such a problem may
// need. Empty: nothing.
std::string plan_remark(const Plan& plan, const DeviceProfile& profile);

// A text for people: each candidate with its counts and cost, or why it was refused.
std::string explain(const Plan& plan);

}  // namespace sectile
