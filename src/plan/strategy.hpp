// The interface of a strategy: a kernel's table of rows, and for each row whether it is admissible, its config and its
// estimate.
#pragma once

#include "named_constant.hpp"
#include "refusal.hpp"

#include <sectile/plan.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sectile::detail {

// Context: a problem on a device, with the type `Estimate`. Config: a candidate's parameters, from which its step is
// made.
template <class Context, class Config>
struct Strategy {
  const char* stem;
  std::uint32_t rows;
  bool (*applicable)(const Context&, std::uint32_t row, Refusal&);
  Config (*make)(const Context&, std::uint32_t row);
  typename Context::Estimate (*estimate)(const Context&, std::uint32_t row, const Config&);
  bool (*fallback)(const Context&, std::uint32_t row);      // taken only if no other row is admissible
  std::string (*print)(const Context&, std::uint32_t row);  // the candidate's name after the stem
  std::span<const NamedConstant> named = {};                // constants that a plan's text names
  std::uint32_t (*extra)(const Context&) = nullptr;         // rows besides these: a problem's table, extra_rows.hpp
  // The name without what follows from the problem alone. A candidate can be forced by it too.
  std::string (*short_print)(const Context&, std::uint32_t row) = nullptr;

  std::uint32_t rows_for(const Context& c) const { return rows + (extra != nullptr ? extra(c) : 0); }
};

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
