#include "samples.hpp"

#include <sectile/problem.hpp>

#include <algorithm>
#include <charconv>
#include <map>

namespace sectile::tools {

namespace {

// The number after a word of the text; 0 where the word is not there.
std::uint32_t number_after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return 0;
  std::uint32_t number = 0;
  const char* const begin = text.data() + at + word.size();
  return std::from_chars(begin, text.data() + text.size(), number).ec == std::errc() ? number : 0;
}

// The square of its rate beside the fastest's: what is four times slower says little about choices.
std::int64_t weight_of(std::int64_t best, std::int64_t ps) {
  const std::int64_t part = std::max<std::int64_t>(1, best * 1000 / ps);
  return std::max<std::int64_t>(part * part / 1000, 60);
}

}  // namespace

detail::MeasuredSplits splits_of(std::string_view text) {
  detail::MeasuredSplits measured;
  measured.splits = std::max(1u, number_after(text, " splits="));
  measured.tail_rows = number_after(text, " tail=");
  if (measured.tail_rows != 0) measured.tail_splits = std::max(1u, number_after(text, " rows in "));
  return measured;
}

std::int32_t correction_now(const Sample& sample, const detail::CostModel& model) {
  const detail::CostedCandidate& c = sample.candidate;
  return detail::correction_of(model.rows->correction(c.table), model.row(c.row_table, c.row),
                               c.features(c.cost(model)));
}

std::int32_t log_scale(const Sample& sample) {
  // `scale` is a ratio of integers below 2^40.
  const double scale = sample.candidate.scale;
  if (scale >= 1) return detail::log2_1024(static_cast<std::uint64_t>(scale * 1048576.0)) - 20 * 1024;
  return -(detail::log2_1024(static_cast<std::uint64_t>(1048576.0 / scale)) - 20 * 1024);
}

std::int32_t estimate_now(const Sample& sample, const detail::CostModel& model) {
  const std::int64_t cost = std::max<std::int64_t>(sample.candidate.cost(model), 1);
  return detail::log2_1024(static_cast<std::uint64_t>(cost)) + correction_now(sample, model);
}

Result<Samples> samples_of(const RawCalibration& raw, const std::string& operation, const DeviceProfile& profile) {
  Samples samples;
  for (const RawProblem& measured : raw.problems) {
    if (measured.operation != operation) continue;
    const auto problem = parse_problem(measured.problem);
    if (!problem) return std::unexpected(problem.error());
    std::map<std::string, const RawCandidate*, std::less<>> by_name;
    std::int64_t best = 0;
    for (const RawCandidate& candidate : measured.candidates) {
      if (candidate.ps == 0) continue;
      by_name[candidate.name] = &candidate;
      best = best == 0 ? candidate.ps : std::min(best, candidate.ps);
    }
    if (by_name.empty()) continue;
    const auto splits = [&](const std::string& name) {
      const auto found = by_name.find(name);
      return found == by_name.end() ? detail::MeasuredSplits() : splits_of(found->second->detail);
    };
    auto costed = detail::costed_candidates(*problem, profile, {.splits = splits});
    if (!costed) return std::unexpected(costed.error());
    SampledProblem own{.operation = operation,
                       .group = measured.group,
                       .text = measured.problem,
                       .part = measured.part,
                       .first = samples.all.size()};
    for (detail::CostedCandidate& candidate : *costed) {
      const auto found = by_name.find(candidate.name);
      if (found == by_name.end()) continue;
      const RawCandidate& time = *found->second;
      samples.all.push_back({.problem = samples.problems.size(),
                             .candidate = std::move(candidate),
                             .ps = time.ps,
                             .log_time = detail::log2_1024(static_cast<std::uint64_t>(time.ps)),
                             .weight = weight_of(best, time.ps)});
      by_name.erase(found);
    }
    for (const auto& [name, candidate] : by_name) samples.skipped.push_back(measured.problem + ": " + name);
    own.count = samples.all.size() - own.first;
    if (own.count != 0) samples.problems.push_back(std::move(own));
  }
  return samples;
}

}  // namespace sectile::tools
