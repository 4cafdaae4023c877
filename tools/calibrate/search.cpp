#include "search.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace sectile::tools {

namespace {

constexpr std::int64_t kBend = 512;  // an error beyond 2^0.5 counts by its size, not by its square: outliers

// Of an error in 1/1024.
std::int64_t loss(std::int64_t error) {
  const std::int64_t size = std::abs(error);
  return size <= kBend ? size * size / 2 : kBend * (size - kBend / 2);
}

class Search {
 public:
  Search(const Samples& samples, const detail::CostModel& model) : samples_(samples), model_(model) {
    scale_.reserve(samples.all.size());
    for (const Sample& sample : samples.all) scale_.push_back(log_scale(sample) + correction_now(sample, model));
    error_.resize(samples.all.size());
    problem_.resize(samples.problems.size());
    for (std::size_t i = 0; i < samples.all.size(); ++i) error_[i] = error_of(i);
    std::int64_t weights = 0;
    for (const Sample& sample : samples.all)
      if (samples.problems[sample.problem].part == RawPart::fit) weights += sample.weight;
    for (std::size_t p = 0; p < problem_.size(); ++p) total_ += problem_[p] = loss_of(p);
    samples_fitted_ = std::max<std::int64_t>(1, weights / 1000);
    set_least_gain();
  }

  // A number stays as it is for less than what one sample adds to the sum on average: that would fit noise.
  void set_least_gain() { least_gain_ = total_ / samples_fitted_; }

  std::int64_t total() const { return total_; }
  std::size_t evaluations() const { return evaluations_; }

  // Whether the value was better, and stays.
  bool try_value(FittedNumber& number, const std::vector<std::size_t>& affected, std::uint32_t value) {
    value = std::clamp(value, number.least, number.most);
    if (value == *number.value) return false;
    const std::uint32_t before = std::exchange(*number.value, value);
    ++evaluations_;
    kept_.clear();
    touched_.clear();
    for (const std::size_t i : affected) {
      const std::int32_t error = error_of(i);
      if (error == error_[i]) continue;
      kept_.emplace_back(i, error_[i]);
      error_[i] = error;
      const std::size_t p = samples_.all[i].problem;
      if (touched_.empty() || touched_.back().first != p) touched_.emplace_back(p, problem_[p]);
    }
    std::int64_t total = total_;
    for (const auto& [p, old] : touched_) total += (problem_[p] = loss_of(p)) - old;
    if (total < total_ - least_gain_) {
      total_ = total;
      return true;
    }
    *number.value = before;
    for (const auto& [i, error] : kept_) error_[i] = error;
    for (const auto& [p, old] : touched_) problem_[p] = old;
    return false;
  }

  std::vector<std::size_t> affected_by(const FittedNumber& number) const {
    std::vector<std::size_t> affected;
    for (std::size_t i = 0; i < samples_.all.size(); ++i) {
      const Sample& sample = samples_.all[i];
      if (samples_.problems[sample.problem].part != RawPart::fit) continue;
      const bool own = number.of_row
                           ? sample.candidate.row_table == number.row_table && sample.candidate.row == number.row
                           : std::ranges::find(number.tables, sample.candidate.table) != number.tables.end();
      if (own) affected.push_back(i);
    }
    return affected;
  }

 private:
  std::int32_t error_of(std::size_t i) const {
    const Sample& sample = samples_.all[i];
    const std::int64_t cost = std::max<std::int64_t>(sample.candidate.cost(model_), 1);
    return detail::log2_1024(static_cast<std::uint64_t>(cost)) + scale_[i] - sample.log_time;
  }
  std::int64_t loss_of(std::size_t p) const {
    const SampledProblem& problem = samples_.problems[p];
    if (problem.part != RawPart::fit) return 0;
    std::int64_t weights = 0, sum = 0;
    for (std::size_t i = problem.first; i < problem.first + problem.count; ++i) {
      weights += samples_.all[i].weight;
      sum += samples_.all[i].weight * error_[i];
    }
    const std::int64_t mean = sum / weights;
    std::int64_t total = 0;
    for (std::size_t i = problem.first; i < problem.first + problem.count; ++i)
      total += samples_.all[i].weight * loss(error_[i] - mean);
    return total + weights * loss(mean) / kTogether;
  }

  const Samples& samples_;
  const detail::CostModel& model_;
  std::vector<std::int32_t> scale_, error_;
  std::vector<std::int64_t> problem_;
  std::int64_t total_ = 0, samples_fitted_ = 1, least_gain_ = 0;
  std::size_t evaluations_ = 0;
  std::vector<std::pair<std::size_t, std::int32_t>> kept_;
  std::vector<std::pair<std::size_t, std::int64_t>> touched_;
};

// Steps as permille of a number, the widest first.
constexpr std::array<std::uint32_t, 7> kSteps = {4000, 2000, 1414, 1189, 1091, 1044, 1022};

}  // namespace

SearchResult search(const Samples& samples, const detail::CostModel& model, std::vector<FittedNumber>& numbers) {
  Search state(samples, model);
  SearchResult result;
  result.before = state.total();
  std::vector<std::vector<std::size_t>> affected;
  for (const FittedNumber& number : numbers) affected.push_back(state.affected_by(number));
  constexpr int kPasses = 4;  // of each step, at most
  for (const std::uint32_t step : kSteps) {
    for (int pass = 0; pass < kPasses; ++pass) {
      state.set_least_gain();
      const std::int64_t before = state.total();
      for (std::size_t n = 0; n < numbers.size(); ++n) {
        if (affected[n].empty()) continue;
        const auto value = [&] { return std::uint64_t{*numbers[n].value}; };
        const auto up = [&] {
          // What is added, and may be 0, takes a step of its own size too.
          const std::uint64_t least = numbers[n].least == 0 ? std::max(1u, (step - 1000) / 30) : 1;
          const std::uint64_t more = std::max(value() * step / 1000, value() + least);
          return state.try_value(numbers[n], affected[n],
                                 static_cast<std::uint32_t>(std::min<std::uint64_t>(more, numbers[n].most)));
        };
        const auto down = [&] {
          const std::uint64_t less = std::min(value() * 1000 / step, value() == 0 ? 0 : value() - 1);
          return state.try_value(numbers[n], affected[n], static_cast<std::uint32_t>(less));
        };
        if (!up() && !down()) continue;
        while (up()) {
        }
        while (down()) {
        }
      }
      // Another pass is for what changed by more than a thousandth.
      if (before - state.total() < before / 1000) break;
    }
  }
  result.after = state.total();
  result.evaluations = state.evaluations();
  return result;
}

}  // namespace sectile::tools
