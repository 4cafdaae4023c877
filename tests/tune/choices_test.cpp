// A planner with tuned choices: what it takes, and what it does not.
#include "plan/profiles.hpp"

#include <sectile/tune.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace sectile;

namespace {

const std::vector<const char*> kTexts = {"permute f32 512x512 axes=1,0", "permute f16 1x384x512x128 axes=0,3,1,2",
                                         "matmul f32 nt 960x2304x770", "matmul f16 nn 256x256x256 epi=bias+relu"};

Problem problem(const std::string& text) {
  auto parsed = parse_problem(text);
  REQUIRE(parsed.has_value());
  return *parsed;
}

Plan planned(const Problem& p, const PlanOptions& options = {}, const DeviceProfile& profile = test::gpu()) {
  auto plan = make_plan(p, profile, options);
  REQUIRE_MESSAGE(plan.has_value(), (plan ? "" : plan.error().message()));
  return *plan;
}

std::string chosen(const Plan& plan) {
  const auto found = std::ranges::find(plan.candidates, true, &Candidate::chosen);
  REQUIRE(found != plan.candidates.end());
  return found->name;
}

// An admissible candidate that the costs do not take.
std::string other_than_chosen(const Plan& plan) {
  for (const Candidate& c : plan.candidates)
    if (!c.chosen && c.refusal.empty()) return c.name;
  FAIL("one candidate alone");
  return {};
}

std::string refused(const Plan& plan) {
  for (const Candidate& c : plan.candidates)
    if (!c.refusal.empty()) return c.name;
  FAIL("no candidate is refused");
  return {};
}

TuneStore store_with(const Problem& p, const std::string& candidate, const DeviceProfile& profile = test::gpu()) {
  TuneStore store;
  store.put(p, profile_hash_of(profile), {candidate, 1, "model", 2, 2});
  return store;
}

// A pack that lacks every candidate of one stem.
struct Without final : KernelSet {
  std::string stem;
  bool has(const Step& step) const override { return step.kernel.stem != stem; }
  std::string nearest(const Step&) const override { return "nothing"; }
  std::string_view id() const noexcept override { return "without"; }
};

}  // namespace

TEST_CASE("the tuned candidate is taken") {
  for (const char* text : kTexts) {
    CAPTURE(std::string(text));
    const Problem p = problem(text);
    const Plan model = planned(p, {.explain = true});
    const std::string winner = other_than_chosen(model);
    const TuneStore store = store_with(p, winner);
    const Plan tuned = planned(p, {.tuned = &store});
    CHECK(tuned.steps == planned(p, {.force = winner}).steps);
    CHECK(tuned.profile_hash == profile_hash_of(test::gpu()));
    // By another name than the model's own plan, and than the forced one.
    CHECK(tuned.id != model.id);
    CHECK(tuned.id != planned(p, {.force = winner}).id);
    CHECK(tuned == planned(p, {.tuned = &store}));
    CHECK(plan_from_json(to_json(tuned), test::gpu()) == tuned);
    const Plan told = planned(p, {.explain = true, .tuned = &store});
    CHECK(chosen(told) == winner);
    CHECK(plan_from_json(to_json(told), test::gpu()) == told);
    CHECK(told.steps == tuned.steps);
    CHECK(told.id == tuned.id);
    CHECK(std::ranges::count(told.candidates, true, &Candidate::chosen) == 1);
    CHECK(told.candidates.size() == model.candidates.size());
    CHECK(explain(told).find("* " + winner) != std::string::npos);
    CHECK(explain(told).find("tuned") != std::string::npos);
    CHECK(explain(model).find("tuned") == std::string::npos);
    // What is forced is forced.
    CHECK(planned(p, {.force = chosen(model), .tuned = &store}) == planned(p, {.force = chosen(model)}));
  }
}

TEST_CASE("without a choice the plan is what it was") {
  const TuneStore empty, elsewhere = store_with(problem("permute f32 8x8 axes=1,0"), "permute_tile 32x32");
  const TuneStore foreign =
      store_with(problem(kTexts[0]), other_than_chosen(planned(problem(kTexts[0]), {.explain = true})), test::cpu());
  for (const char* text : kTexts) {
    const Problem p = problem(text);
    const Plan model = planned(p);
    for (const TuneStore* store : {&empty, &elsewhere, &foreign}) {
      CHECK(planned(p, {.tuned = store}) == model);
      CHECK(to_json(planned(p, {.tuned = store})) == to_json(model));
    }
  }
}

TEST_CASE("a choice that will not do any more is passed over") {
  for (const char* text : kTexts) {
    CAPTURE(std::string(text));
    const Problem p = problem(text);
    const Plan model = planned(p, {.explain = true});
    const std::string stem = model.steps[0].kernel.stem;
    for (const std::string& name : {std::string("permute_magic 7x7"), refused(model), stem, stem + " none",
                                    std::string(" "), std::string(1000, 'x') + " y"}) {
      CAPTURE(name);
      const TuneStore store = store_with(p, name);
      CHECK(planned(p, {.explain = true, .tuned = &store}) == model);
    }
  }
  // Admissible where it was measured, and no more: less workgroup memory than its tile takes.
  const Problem p = problem("permute f32 8192x8192 axes=1,0");
  DeviceProfile small = test::gpu();
  small.workgroup_memory_bytes = 2048;
  const Plan whole = planned(p, {.explain = true});
  std::string large;
  for (const Candidate& c : planned(p, {.explain = true}, small).candidates)
    for (const Candidate& w : whole.candidates)
      if (c.name == w.name && w.refusal.empty() && !c.refusal.empty()) large = w.name;
  REQUIRE_FALSE(large.empty());
  const TuneStore store = store_with(p, large, small);
  CHECK(planned(p, {.tuned = &store}, small) == planned(p, {}, small));
}

TEST_CASE("a choice that a pack lacks is passed over") {
  const Problem p = problem("permute f32 8192x8192 axes=1,0");
  const Plan model = planned(p, {.explain = true});
  std::string other;
  for (const Candidate& c : model.candidates)
    if (c.refusal.empty() && !c.name.starts_with(model.steps[0].kernel.stem + " ")) other = c.name;
  REQUIRE_FALSE(other.empty());
  Without pack;
  pack.stem = other.substr(0, other.find(' '));
  const TuneStore store = store_with(p, other);
  CHECK(planned(p, {.kernels = &pack, .tuned = &store}) == planned(p, {.kernels = &pack}));
  pack.stem = "nothing";
  CHECK(planned(p, {.kernels = &pack, .tuned = &store}).steps == planned(p, {.force = other}).steps);
}

TEST_CASE("a problem without work has no candidates") {
  for (const char* text : {"permute f32 0x8 axes=1,0", "matmul f32 nn 64x64x0", "matmul f32 nn 0x64x64"}) {
    CAPTURE(std::string(text));
    const Problem p = problem(text);
    const TuneStore store = store_with(p, "matmul_direct 1x1");
    CHECK(planned(p, {.tuned = &store}) == planned(p));
  }
}

TEST_CASE("a planner takes tuned choices") {
  const Problem p = problem(kTexts[2]);
  const TuneStore store = store_with(p, other_than_chosen(planned(p, {.explain = true})));
  Planner tuned(test::gpu(), nullptr, &store), plain(test::gpu());
  CHECK(**tuned.plan(p) == planned(p, {.tuned = &store}));
  CHECK(**plain.plan(p) == planned(p));
  CHECK(tuned.plan(p)->get() == tuned.plan(p)->get());
  CHECK(**tuned.plan(problem(kTexts[0])) == planned(problem(kTexts[0])));
}
