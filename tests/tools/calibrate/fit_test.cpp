// The fit of a class: from times that a known class gives back to its choices, and what it is made of.
#include "calibrate/fit.hpp"
#include "calibrate/regression.hpp"
#include "calibrate/samples.hpp"
#include "calibrate/search.hpp"
#include "tools/run_command.hpp"

#include "plan/cost/device_class.hpp"
#include "plan/cost/number_names.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

using namespace sectile;
using namespace sectile::test;
using namespace sectile::tools;

namespace {

void add_candidate(RawProblem& problem, const Candidate& c) {
  RawCandidate& measured = problem.candidates.emplace_back();
  measured.name = c.name;
  measured.detail = c.detail;
  measured.eligibility = c.eligibility;
  measured.cost_ps = measured.ps = c.cost;
  measured.samples = 9;
}

// Measurements of permutes as a device would give them on which the built-in class holds true to the picosecond.
RawCalibration true_measurements(const DeviceProfile& profile) {
  RawCalibration raw;
  raw.header.api = "vulkan";
  raw.header.profile = profile;
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    const int rows = 500 + static_cast<int>(random() % 9000), columns = 500 + static_cast<int>(random() % 9000);
    const char* const types[] = {"u8", "f16", "f32", "f64"};
    RawProblem problem;
    problem.operation = "permute";
    problem.group = "b transpose";
    problem.problem = fmt::format("permute {} {}x{} axes=1,0", types[i % 4], rows / 8 * 8, columns / 8 * 8);
    problem.part = i % 4 == 1 ? RawPart::check : RawPart::fit;
    const auto plan = make_plan(parse_problem(problem.problem).value(), profile, {.explain = true});
    REQUIRE(plan.has_value());
    for (const Candidate& c : plan->candidates)
      if (c.refusal.empty()) add_candidate(problem, c);
    raw.problems.push_back(std::move(problem));
  }
  return raw;
}

DeviceClass scrambled_class(const DeviceProfile& profile) {
  DeviceClass c = *device_class_of(profile);
  std::mt19937 random(5);
  const auto scale = [&](std::uint32_t& number) {
    const std::uint32_t quarters = 1 + static_cast<std::uint32_t>(random() % 16);
    number = std::max(1u, number * quarters / 4);
  };
  detail::for_each_permute_gpu(c.numbers.permute,
                               [&](const char*, std::uint32_t& number, const detail::NumberRule&) { scale(number); });
  for (std::size_t t = 0; t < static_cast<std::size_t>(detail::CostTable::matmul_coopmat); ++t) {
    c.rows.corrections[t] = {};
    for (detail::RowNumbers& row : c.rows.rows[t]) row.offset = 0;
  }
  return c;
}

// Time of the choices over that of the fastest, of the problems that are checked: geometric mean.
double mean_regret(const Samples& samples, const detail::CostModel& model) {
  double sum = 0, count = 0;
  for (const SampledProblem& problem : samples.problems) {
    if (problem.part != RawPart::check) continue;
    const auto own = std::span(samples.all).subspan(problem.first, problem.count);
    const auto by_estimate = [&](const Sample& s) { return estimate_now(s, model); };
    const Sample& chosen = *std::ranges::min_element(own, {}, by_estimate);
    const Sample& best = *std::ranges::min_element(own, {}, &Sample::ps);
    sum += std::log(static_cast<double>(chosen.ps) / static_cast<double>(best.ps));
    ++count;
  }
  REQUIRE(count > 10);
  return std::exp(sum / count);
}

struct Fitted {
  double before = 0, after = 0;
  detail::ClassNumbers numbers;
  detail::ClassRows rows;
};

Fitted fit_permutes(const RawCalibration& raw, DeviceProfile profile) {
  DeviceClass c = scrambled_class(profile);
  const auto samples = samples_of(raw, "permute", profile);
  REQUIRE(samples.has_value());
  REQUIRE(samples->skipped.empty());
  detail::CostModel model{c.numbers, &c.rows, "scrambled", {}, {}, 0};
  Fitted out;
  out.before = mean_regret(*samples, model);
  std::vector<FittedNumber> numbers;
  detail::for_each_permute_gpu(
      model.permute, [&](const char* name, std::uint32_t& number, const detail::NumberRule& rule) {
        numbers.push_back({.name = name,
                           .value = &number,
                           .least = rule.least,
                           .tables = {detail::CostTable::permute_copy, detail::CostTable::permute_rows,
                                      detail::CostTable::permute_tile, detail::CostTable::permute_block,
                                      detail::CostTable::permute_box, detail::CostTable::permute_words}});
      });
  const SearchResult found = search(*samples, model, numbers);
  CHECK(found.after < found.before);
  const RegressionResult regression = fit_corrections(*samples, model, c.rows, [](detail::CostTable) { return true; });
  CHECK(regression.error <= regression.plain);
  out.after = mean_regret(*samples, model);
  out.numbers = model;
  out.rows = c.rows;
  return out;
}

// A candidate that is estimated at 2^20 picoseconds and takes 2^log_time / 1024.
Sample estimated_sample(std::size_t problem, detail::CostTable table, std::int32_t log_time, std::int64_t weight) {
  Sample sample;
  sample.problem = problem;
  sample.candidate.table = sample.candidate.row_table = table;
  sample.candidate.cost = [](const detail::CostModel&) { return std::int64_t{1} << 20; };
  sample.candidate.features = [](std::int64_t) { return detail::Features{}; };
  sample.log_time = log_time;
  sample.weight = weight;
  return sample;
}

}  // namespace

// As kernels for depthwise convolutions are: measured beside each other, and beside others only where they are slow.
TEST_CASE("kernels that are measured beside others of their own table have estimates that are times") {
  constexpr auto kOne = detail::CostTable::conv2d_depthwise, kOther = detail::CostTable::conv2d_simt;
  constexpr std::int32_t kEstimate = 20 * 1024, kSlow = kEstimate + 2 * 1024;
  Samples samples;
  for (std::size_t p = 0; p < 41; ++p) {
    const std::size_t first = samples.all.size();
    if (p == 40) {
      samples.all.push_back(estimated_sample(p, kOne, kSlow, 60));
      samples.all.push_back(estimated_sample(p, kOther, kEstimate, 1000));
    } else {
      const bool slow = p % 2 == 0;
      for (int i = 0; i < 4; ++i)
        samples.all.push_back(estimated_sample(p, slow ? kOne : kOther, slow ? kSlow : kEstimate, 1000));
    }
    samples.problems.push_back({.operation = "conv2d",
                                .group = {},
                                .text = {},
                                .part = RawPart::fit,
                                .first = first,
                                .count = samples.all.size() - first});
  }
  DeviceClass c = detail::base_class(Api::vulkan, false);
  for (auto& correction : c.rows.corrections) correction = {};
  for (auto& table : c.rows.rows)
    for (detail::RowNumbers& row : table) row.offset = 0;
  const detail::CostModel model{c.numbers, &c.rows, "none", {}, {}, 0};
  const auto regression = fit_corrections(samples, model, c.rows, [](detail::CostTable) { return true; });
  CHECK(regression.shrinkage > 0);
  for (const Sample& sample : samples.all) CHECK(std::abs(estimate_now(sample, model) - sample.log_time) < 300);
}

TEST_CASE("a fit finds the choices of the class that the times come from, and the same numbers each time") {
  const DeviceProfile profile = builtin_target("nvidia-hopper").value();
  const RawCalibration raw = true_measurements(profile);
  const Fitted fitted = fit_permutes(raw, profile), again = fit_permutes(raw, profile);
  CHECK(fitted.before > 1.05);
  CHECK(fitted.after < 1.05);
  CHECK(fitted.numbers.permute.byte == again.numbers.permute.byte);
  CHECK(fitted.numbers.permute.instruction == again.numbers.permute.instruction);
  CHECK(fitted.rows.corrections == again.rows.corrections);
}

TEST_CASE("a class that was measured stays where measurements say no better, and not where they do") {
  const Folder folder;
  RawCalibration raw = true_measurements(builtin_target("nvidia-hopper").value());
  const auto fitted = [&](const DeviceClass& start) {
    raw.header.profile.device_class = std::make_shared<const DeviceClass>(start);
    CalibrateOptions options;
    options.output = folder.path("c.json");
    REQUIRE(fit_and_write(raw, options) == 0);
    auto read = device_class_from_json(read_file(options.output));
    REQUIRE_MESSAGE(read.has_value(), read.error().message());
    return **read;
  };
  const auto& known = *device_class_of(builtin_target("nvidia-hopper").value());
  const DeviceClass kept = fitted(known);
  CHECK(kept.rows.corrections == known.rows.corrections);
  CHECK(kept.numbers.permute.byte == known.numbers.permute.byte);
  REQUIRE(kept.notes.size() == 1);
  CHECK(kept.notes[0].first == "permute");
  CHECK(kept.notes[0].second.starts_with("numbers of nvidia-hopper with an addition: NVIDIA H200"));
  const DeviceClass wrong = scrambled_class(builtin_target("nvidia-hopper").value());
  const DeviceClass anew = fitted(wrong);
  CHECK(anew.notes.empty());
  CHECK(anew.id != wrong.id);
  // It chooses as the class does that the times come from.
  const auto samples = samples_of(raw, "permute", raw.header.profile);
  REQUIRE(samples.has_value());
  const auto regret = [&](const DeviceClass& c) {
    return mean_regret(*samples, {c.numbers, &c.rows, "of the test", {}, {}, 0});
  };
  CHECK(regret(wrong) > 1.05);
  CHECK(regret(anew) < 1.05);
}

TEST_CASE("how a GEMM was divided is read from an explanation's detail") {
  const auto whole = splits_of("wg=256 groups=264 shared=20480 registers=248");
  CHECK(whole.splits == 1);
  CHECK(whole.tail_rows == 0);
  CHECK(splits_of("wg=256 groups=264 registers=2 splits=11 permutes=2").splits == 11);
  const auto tail = splits_of("wg=128 registers=160 tail=64 rows in 4 splits permutes=2");
  CHECK(tail.splits == 1);
  CHECK(tail.tail_rows == 64);
  CHECK(tail.tail_splits == 4);
}

TEST_CASE("a system of equations is solved") {
  // A = L L^T with L = {2; 1 3; -1 2 4}.
  std::vector<double> a = {4, 2, -2, 2, 10, 5, -2, 5, 21}, b = {8, 31, 31};
  solve_cholesky(a, b);
  std::vector<double> sums;
  for (int row = 0; row < 3; ++row) {
    const double full[3][3] = {{4, 2, -2}, {2, 10, 5}, {-2, 5, 21}};
    sums.push_back(full[row][0] * b[0] + full[row][1] * b[1] + full[row][2] * b[2]);
  }
  CHECK(sums[0] == doctest::Approx(8));
  CHECK(sums[1] == doctest::Approx(31));
  CHECK(sums[2] == doctest::Approx(31));
}
