// Doubles are added, multiplied and divided in a fixed order, without fused operations (cmake/Tools.cmake), so that the
// same measurements give the same numbers with any compiler.
#include "regression.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace sectile::tools {

namespace {

constexpr std::size_t kFolds = 5;
constexpr std::array kShrinkages = {0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0};

// A column of the regression: a table's constant, one of its slopes, or a row's offset.
struct Column {
  detail::CostTable table = {};
  std::size_t feature = 0;
  enum { constant, slope, offset } kind = constant;
  std::uint32_t row = 0;
  double mean = 0;   // of a slope's feature
  double drawn = 1;  // how strongly it is drawn to 0
};

struct Entry {
  std::size_t column = 0;
  double value = 0;
};

// The samples as sparse rows of the regression, centred by problem: choices rest on the differences between a problem's
// candidates. What is common to them counts for a part of this. Without that, kernels which are mostly measured beside
// others of their own table would have any level: those for depthwise convolutions had a quarter of their time, and the
// planner chose one where others were 21 times faster.
class Design {
 public:
  Design(const Samples& samples, const detail::CostModel& model, const std::function<bool(detail::CostTable)>& free)
      : samples_(samples), free_(free) {
    for (const Sample& sample : samples.all) {
      const std::int64_t cost = std::max<std::int64_t>(sample.candidate.cost(model), 1);
      features_.push_back(sample.candidate.features(cost));
      left_.push_back(static_cast<double>(sample.log_time - estimate_now(sample, model) - log_scale(sample)) / 1024);
    }
    add_columns();
    common_.resize(samples.problems.size());
    for (std::size_t p = 0; p < samples.problems.size(); ++p) centre(p);
  }

  std::size_t size() const { return columns_.size(); }
  const Column& column(std::size_t i) const { return columns_[i]; }

  // The coefficients that fit the problems for which `taken` is true.
  template <class Taken>
  std::vector<double> solve(double shrinkage, Taken&& taken) const {
    const std::size_t n = columns_.size();
    std::vector<double> a(n * n, 0), b(n, 0);
    for (std::size_t p = 0; p < samples_.problems.size(); ++p) {
      if (!taken(p)) continue;
      const SampledProblem& problem = samples_.problems[p];
      const Common& common = common_[p];
      for (const Entry& x : common.entries) {
        b[x.column] += common.weight * x.value * common.left;
        for (const Entry& y : common.entries) a[x.column * n + y.column] += common.weight * x.value * y.value;
      }
      for (std::size_t i = problem.first; i < problem.first + problem.count; ++i) {
        const double weight = static_cast<double>(samples_.all[i].weight) / 1000;
        for (const Entry& x : centred_[i]) {
          b[x.column] += weight * x.value * left_centred_[i];
          for (const Entry& y : centred_[i]) a[x.column * n + y.column] += weight * x.value * y.value;
        }
      }
    }
    for (std::size_t i = 0; i < n; ++i) a[i * n + i] += shrinkage * columns_[i].drawn + 1e-6;
    solve_cholesky(a, b);
    return b;
  }

  // The weighted squared error of a problem, and its weight.
  std::pair<double, double> error(std::size_t p, const std::vector<double>& coefficients) const {
    const SampledProblem& problem = samples_.problems[p];
    double sum = 0, weights = 0;
    for (std::size_t i = problem.first; i < problem.first + problem.count; ++i) {
      const double weight = static_cast<double>(samples_.all[i].weight) / 1000;
      double left = left_centred_[i];
      for (const Entry& x : centred_[i]) left -= x.value * coefficients[x.column];
      sum += weight * left * left;
      weights += weight;
    }
    return {sum, weights};
  }

 private:
  static detail::CostTable table_of(const Sample& s) { return s.candidate.table; }

  void add_columns() {
    std::map<std::pair<detail::CostTable, std::uint32_t>, std::size_t> rows;
    std::map<detail::CostTable, std::vector<std::size_t>> tables;  // the samples of each
    for (std::size_t i = 0; i < samples_.all.size(); ++i) tables[table_of(samples_.all[i])].push_back(i);
    for (const auto& [table, own] : tables) {
      if (!free_(table)) continue;
      constants_[table] = columns_.size();
      columns_.push_back({.table = table, .kind = Column::constant, .drawn = 0.1});
      const std::size_t features = detail::feature_names(table).size();
      for (std::size_t f = 0; f < features; ++f) {
        double sum = 0;
        for (const std::size_t i : own) sum += static_cast<double>(features_[i][f]) / 1024;
        columns_.push_back(
            {.table = table, .feature = f, .kind = Column::slope, .mean = sum / static_cast<double>(own.size())});
      }
    }
    for (const Sample& sample : samples_.all) {
      const std::pair key{sample.candidate.row_table, sample.candidate.row};
      if (rows.contains(key) || !free_(key.first)) continue;
      rows[key] = columns_.size();
      columns_.push_back({.table = key.first, .kind = Column::offset, .row = key.second});
    }
    for (std::size_t i = 0; i < samples_.all.size(); ++i) {
      const Sample& sample = samples_.all[i];
      std::vector<Entry> entries;
      if (free_(table_of(sample))) {
        const std::size_t first = constants_[table_of(sample)];
        const std::size_t features = detail::feature_names(table_of(sample)).size();
        entries.push_back({first, 1});
        for (std::size_t f = 0; f < features; ++f)
          entries.push_back(
              {first + 1 + f, static_cast<double>(features_[i][f]) / 1024 - columns_[first + 1 + f].mean});
      }
      if (const auto row = rows.find({sample.candidate.row_table, sample.candidate.row}); row != rows.end())
        entries.push_back({row->second, 1});
      plain_.push_back(std::move(entries));
    }
    centred_.resize(samples_.all.size());
    left_centred_.resize(samples_.all.size());
  }

  void centre(std::size_t p) {
    const SampledProblem& problem = samples_.problems[p];
    std::map<std::size_t, double> mean;
    double left = 0, weights = 0;
    for (std::size_t i = problem.first; i < problem.first + problem.count; ++i) {
      const double weight = static_cast<double>(samples_.all[i].weight) / 1000;
      weights += weight;
      left += weight * left_[i];
      for (const Entry& x : plain_[i]) mean[x.column] += weight * x.value;
    }
    for (auto& [column, sum] : mean) {
      sum /= weights;
      common_[p].entries.push_back({column, sum});
    }
    common_[p].left = left / weights;
    common_[p].weight = weights / static_cast<double>(kTogether);
    for (std::size_t i = problem.first; i < problem.first + problem.count; ++i) {
      left_centred_[i] = left_[i] - left / weights;
      std::map<std::size_t, double> own;
      for (const auto& [column, sum] : mean) own[column] = -sum;
      for (const Entry& x : plain_[i]) own[x.column] += x.value;
      for (const auto& [column, value] : own) centred_[i].push_back({column, value});
    }
  }

  const Samples& samples_;
  const std::function<bool(detail::CostTable)>& free_;
  std::vector<detail::Features> features_;
  std::vector<double> left_, left_centred_;
  std::vector<Column> columns_;
  std::map<detail::CostTable, std::size_t> constants_;
  std::vector<std::vector<Entry>> plain_, centred_;
  struct Common {  // a problem's means
    std::vector<Entry> entries;
    double left = 0, weight = 0;
  };
  std::vector<Common> common_;
};

std::int32_t rounded(double value) {
  constexpr double kMost = 16000;
  return static_cast<std::int32_t>(std::floor(std::clamp(value, -kMost, kMost) + 0.5));
}

void write_coefficients(const Design& design, const std::vector<double>& coefficients, detail::ClassRows& rows) {
  std::map<detail::CostTable, double> constants;
  for (std::size_t i = 0; i < design.size(); ++i) {
    const Column& column = design.column(i);
    const auto table = static_cast<std::size_t>(column.table);
    switch (column.kind) {
      case Column::constant:
        constants[column.table] += coefficients[i] * 1024;
        break;
      case Column::slope:
        rows.corrections[table].slope[column.feature] += rounded(coefficients[i] * 1024);
        constants[column.table] -= coefficients[i] * column.mean * 1024;
        break;
      case Column::offset:
        if (column.row < rows.rows[table].size())
          rows.rows[table][column.row].offset += rounded(coefficients[i] * 1024);
        break;
    }
  }
  for (const auto& [table, constant] : constants)
    rows.corrections[static_cast<std::size_t>(table)].constant += rounded(constant);
}

// A row without a measurement, in a table that has some, is taken for slower than its estimate: nothing speaks for it.
void hold_back_unmeasured(const Samples& samples, detail::ClassRows& rows,
                          const std::function<bool(detail::CostTable)>& free) {
  constexpr std::int32_t kSlower = 512;  // 1.41 times as long
  std::map<detail::CostTable, std::set<std::uint32_t>> measured;
  for (const Sample& sample : samples.all)
    if (samples.problems[sample.problem].part == RawPart::fit)
      measured[sample.candidate.row_table].insert(sample.candidate.row);
  for (const auto& [table, own] : measured) {
    if (!free(table)) continue;
    auto& all = rows.rows[static_cast<std::size_t>(table)];
    for (std::uint32_t row = 0; row < all.size(); ++row)
      if (!own.contains(row)) all[row].offset = kSlower;
  }
}

}  // namespace

void solve_cholesky(std::vector<double>& a, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    double diagonal = a[j * n + j];
    for (std::size_t k = 0; k < j; ++k) diagonal -= a[j * n + k] * a[j * n + k];
    const double root = std::sqrt(diagonal);
    a[j * n + j] = root;
    for (std::size_t i = j + 1; i < n; ++i) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = sum / root;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
}

RegressionResult fit_corrections(const Samples& samples, const detail::CostModel& model, detail::ClassRows& rows,
                                 const std::function<bool(detail::CostTable)>& free, Corrections from) {
  RegressionResult result;
  const Design design(samples, model, free);
  std::vector<std::size_t> fold(samples.problems.size());
  std::size_t next = 0;
  for (std::size_t p = 0; p < fold.size(); ++p)
    fold[p] = samples.problems[p].part == RawPart::fit ? next++ % kFolds : kFolds;
  if (next < kFolds) return result;
  const std::vector<double> none(design.size(), 0);
  const auto held_out = [&](double shrinkage) {
    double sum = 0, weights = 0;
    for (std::size_t f = 0; f < kFolds; ++f) {
      const auto coefficients =
          shrinkage == 0 ? none
                         : design.solve(shrinkage, [&](std::size_t p) { return fold[p] != f && fold[p] != kFolds; });
      for (std::size_t p = 0; p < fold.size(); ++p) {
        if (fold[p] != f) continue;
        const auto [error, weight] = design.error(p, coefficients);
        sum += error;
        weights += weight;
      }
    }
    return weights > 0 ? sum / weights : 0;
  };
  // What lessens the squared error by less than a fiftieth may be rounding: estimates are integers.
  constexpr double kWorth = 0.98;
  double least = held_out(0);
  result.plain = std::sqrt(least);
  for (const double shrinkage : kShrinkages) {
    const double error = held_out(shrinkage);
    if (error >= least || error > kWorth * result.plain * result.plain) continue;
    least = error;
    result.shrinkage = shrinkage;
  }
  result.error = std::sqrt(least);
  if (result.shrinkage > 0)
    write_coefficients(design, design.solve(result.shrinkage, [&](std::size_t p) { return fold[p] != kFolds; }), rows);
  if (from == Corrections::none) hold_back_unmeasured(samples, rows, free);
  // All of an operation's candidates alike: then estimates are times.
  if (std::ranges::all_of(samples.all, [&](const Sample& s) { return free(s.candidate.table); })) {
    std::int64_t sum = 0, weights = 0;
    for (const Sample& sample : samples.all) {
      if (samples.problems[sample.problem].part != RawPart::fit) continue;
      sum += sample.weight * (sample.log_time - estimate_now(sample, model) - log_scale(sample));
      weights += sample.weight;
    }
    const auto common = static_cast<std::int32_t>(sum / std::max<std::int64_t>(weights, 1));
    for (std::size_t t = 0; t < detail::kCostTables; ++t)
      if (free(static_cast<detail::CostTable>(t))) rows.corrections[t].constant += common;
  }
  return result;
}

}  // namespace sectile::tools
