// What the tests of the emulated kernels share: operands' memory, the planner's candidates, what has run.
#pragma once

#include "emulated.hpp"
#include "reference/extra_rows.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::emulated {

// An operand's memory: it begins at a multiple of `align` and of nothing more, poisoned, guards on both sides. Pages
// that nobody touches cost nothing, so that operands of gigabytes can be had.
class Memory {
 public:
  Memory(std::uint64_t bytes, std::uint32_t align) : bytes_(bytes) {
    size_ = bytes + 4 * kPage;
    base_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(base_ != MAP_FAILED);
    begin_ = static_cast<std::byte*>(base_) + kPage + align;
  }
  ~Memory() { munmap(base_, size_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::byte* address() const { return begin_; }
  std::span<std::byte> bytes() const { return {begin_, bytes_}; }
  std::span<std::byte> with_guards() const { return {begin_ - kGuard, bytes_ + 2 * kGuard}; }
  void poison() const { std::ranges::fill(with_guards(), kPoison); }
  bool guards_stand() const {
    const auto all = with_guards();
    const auto poisoned = [](std::byte b) { return b == kPoison; };
    return std::ranges::all_of(all.first(kGuard), poisoned) && std::ranges::all_of(all.last(kGuard), poisoned);
  }
  static constexpr std::byte kPoison{0xCD};

 private:
  static constexpr std::size_t kPage = 4096, kGuard = 64;
  void* base_ = nullptr;
  std::uint64_t size_ = 0, bytes_ = 0;
  std::byte* begin_ = nullptr;
};

inline DeviceProfile target(const char* name) {
  auto profile = builtin_target(name);
  REQUIRE(profile.has_value());
  profile->workgroup8.reset();  // CUDA reads bytes of workgroup memory without it, and has no variants for it
  return std::move(*profile);
}

// Whether a candidate's operands are packed by a permute first: packed_test.cpp runs them. Behind it the kernels are
// those of the candidates without.
inline bool packs(std::string_view candidate) { return candidate.find(" pack=") != candidate.npos; }

inline std::vector<std::string> admissible(const Problem& problem, const DeviceProfile& profile) {
  const auto plan = reference::plan_with_extra_rows(problem, profile, {.explain = true});
  REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
  std::vector<std::string> names;
  for (const Candidate& candidate : plan->candidates)
    if (candidate.refusal.empty() && !packs(candidate.name)) names.push_back(candidate.name);
  return names;
}

// How often each kernel has run.
class Tally {
 public:
  void count(const KernelName& kernel) { ++runs_[{kernel.stem, kernel.variant}]; }
  std::size_t runs() const {
    std::size_t sum = 0;
    for (const auto& [kernel, runs] : runs_) sum += runs;
    return sum;
  }
  // Kernels whose stem begins so that have never run, but for those that begin with one of `except`.
  std::string missing(std::string_view stems, std::initializer_list<std::string_view> except = {}) const {
    std::string names;
    for (const auto& row : kernels())
      if (row.stem.starts_with(stems) &&
          std::ranges::none_of(except, [&](std::string_view stem) { return row.stem.starts_with(stem); }) &&
          !runs_.contains({std::string(row.stem), std::string(row.variant)}))
        names += fmt::format(" {}.{}", row.stem, row.variant);
    return names;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> runs_;
};

inline Plan plan_by(const Problem& problem, const DeviceProfile& profile, const std::string& candidate) {
  auto plan = reference::plan_with_extra_rows(problem, profile, {.force = candidate});
  REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
  return std::move(*plan);
}

// The candidate of that name with what is claimed of it.
inline Candidate claim_of(const Problem& problem, const DeviceProfile& profile, std::string_view name) {
  const auto plan = make_plan(problem, profile, {.explain = true});
  REQUIRE(plan.has_value());
  const auto candidate = std::ranges::find(plan->candidates, name, &Candidate::name);
  REQUIRE_MESSAGE(candidate != plan->candidates.end(), name);
  return *candidate;
}

}  // namespace sectile::emulated
