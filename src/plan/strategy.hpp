// The interface of a strategy: a kernel's table of rows, and for each row whether it is admissible, its config and its
// estimate.
#pragma once

#include "cost/numbers.hpp"
#include "named_constant.hpp"
#include "refusal.hpp"

#include <sectile/plan.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sectile::detail {

constexpr Eligibility last_resort_if(bool yes) noexcept {
  return yes ? Eligibility::last_resort : Eligibility::candidate;
}

// Context: a problem on a device, with the type `Estimate`. Config: a candidate's parameters, from which its step is
// made.
template <class Context, class Config>
struct Strategy {
  const char* stem;
  CostTable costs;
  std::uint32_t rows;
  bool (*applicable)(const Context&, std::uint32_t row, Refusal&);
  Config (*make)(const Context&, std::uint32_t row);
  typename Context::Estimate (*estimate)(const Context&, std::uint32_t row, const Config&);
  Eligibility (*eligibility)(const Context&, std::uint32_t row);  // of an admissible row
  std::string (*print)(const Context&, std::uint32_t row);        // the candidate's name after the stem
  std::span<const NamedConstant> named = {};                      // constants that a plan's text names
  std::uint32_t (*extra)(const Context&) = nullptr;  // rows besides these: a problem's table, extra_rows.hpp
  // The name without what follows from the problem alone. A candidate can be forced by it too.
  std::string (*short_print)(const Context&, std::uint32_t row) = nullptr;
  // Rows that have left the table, behind it: nothing ever chose them. Where extra rows are asked for they are there to
  // be measured, so that figures of other versions stay comparable.
  std::uint32_t retired = 0;

  std::uint32_t rows_for(const Context& c) const {
    return rows + (c.with_retired() ? retired : 0) + (extra != nullptr ? extra(c) : 0);
  }
  Eligibility eligibility_of(const Context& c, std::uint32_t row) const {
    return row >= rows && row - rows < retired ? Eligibility::measured_only : eligibility(c, row);
  }
};

// A row of a table, or of those behind it (Strategy::retired).
template <class Row, std::size_t N, std::size_t R>
constexpr const Row& row_in(const Row (&table)[N], const Row (&retired)[R], std::uint32_t row) {
  return row < N ? table[row] : retired[row - N];
}

// The names of a table's rows, without the stem.
template <class Row, std::size_t N, class Print>
std::vector<std::string> names_of(const Row (&table)[N], Print&& print) {
  std::vector<std::string> names;
  names.reserve(N);
  for (const Row& row : table) names.push_back(print(row));
  return names;
}

// The reasons of refused rows, and how many rows have each.
class RefusalCount {
 public:
  void add(const std::string& reason) {
    auto& [count, text] = reasons_[without_digits(reason)];
    ++count;
    text = reason;
  }
  // One of the most frequent reasons, with its numbers.
  std::string most() const {
    const auto most = std::ranges::max_element(reasons_, {}, [](const auto& entry) { return entry.second.first; });
    return most == reasons_.end() ? std::string("its kernels are for other devices") : most->second.second;
  }

 private:
  // Rows' reasons differ in their numbers.
  static std::string without_digits(std::string text) {
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text;
  }

  std::map<std::string, std::pair<int, std::string>> reasons_;
};

// Whether no row competes: all are refused, or no candidates. `into` may be null.
template <class Context, class Config>
bool count_refusals(const Strategy<Context, Config>& strategy, const Context& context, RefusalCount* into) {
  for (std::uint32_t row = 0; row < strategy.rows_for(context); ++row) {
    Refusal refusal(true);
    if (strategy.applicable(context, row, refusal)) {
      if (strategy.eligibility_of(context, row) == Eligibility::candidate) return false;
    } else if (into != nullptr) {
      into->add(refusal.reason);
    }
  }
  return true;
}

// Up to N values in order, without an allocation. Throws std::out_of_range for more, which is a bug in a strategy.
template <class T, std::size_t N>
class FixedList {
 public:
  void add(const T& value) { values_.at(size_++) = value; }
  std::span<const T> all() const noexcept { return {values_.data(), size_}; }
  void append_to(std::vector<T>& out) const { out.insert(out.end(), all().begin(), all().end()); }
  const T& back() const { return values_.at(size_ - 1); }

 private:
  std::array<T, N> values_{};
  std::size_t size_ = 0;
};

}  // namespace sectile::detail
