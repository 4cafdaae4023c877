// A file of the planner's candidates that were measured to be the fastest. `sectile tune` writes it, and a program
// gives it to make_plan (PlanOptions::tuned) or Planner. Planning does not need it.
#pragma once

#include <sectile/error.hpp>
#include <sectile/planner.hpp>
#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sectile {

// The outcome of measuring a problem's candidates.
struct TunedChoice {
  std::string candidate;               // the winner's whole name
  std::int64_t picoseconds = 0;        // of one run; a median
  std::string model;                   // the candidate that the cost model chooses
  std::int64_t model_picoseconds = 0;  // of that one, measured in turn with the winner
  std::uint32_t measured = 0;          // number of candidates, including the planner's own
  bool operator==(const TunedChoice&) const = default;
};

// A candidate's measured time.
struct MeasuredCandidate {
  std::string name;
  std::int64_t picoseconds = 0;
};

// The fastest candidate. The first one is the planner's own choice, and wins unless another is faster by more than
// kTunedMarginPermille, the spread of samples within a run. Empty where the list is empty or a time is not above 0.
inline constexpr std::int64_t kTunedMarginPermille = 10;
std::optional<TunedChoice> fastest_of(std::span<const MeasuredCandidate> measured);

// Choices by planner version, profile and problem. Lookups are safe from several threads; put() and save() are not.
class TuneStore final : public TunedChoices {
 public:
  // A missing file is an empty store. So is one that is truncated, damaged, foreign or of another format, and
  // warning() says why: a broken store loses its choices, and nothing else fails.
  static TuneStore load(const std::string& path);
  std::string_view warning() const noexcept { return warning_; }

  // Finds choices of this planner version alone: another version's candidates may differ under the same names.
  const TunedChoice* find(const Problem& problem, std::string_view profile_hash) const;
  std::string candidate(const Problem& problem, std::string_view profile_hash) const override;
  // Number of problems with a choice for the profile and this planner version.
  std::size_t size(std::string_view profile_hash) const;

  void put(const Problem& problem, const std::string& profile_hash, TunedChoice choice);
  // Reads the file again, adds the choices that put() was given, writes a new file beside it and renames it over the
  // old one, under a lock. Choices that others (devices, planner versions, processes) stored stay. The folder must
  // exist. Errors: as check_place; io.
  Result<void> save(const std::string& path);

  // Whether save() would write there: the path is free, or has a store of this format, even a damaged one. Other
  // files, and stores of a newer format, are never replaced. Errors: parse (such a file), io (no folder, or not a
  // regular file).
  static Result<void> check_place(const std::string& path);

 private:
  using Choices = std::map<std::string, TunedChoice, std::less<>>;                     // by the problem's JSON
  using Groups = std::map<std::pair<std::string, std::string>, Choices, std::less<>>;  // by planner version and profile
  struct Stored {
    Groups groups;
    std::string warning;      // why the file was ignored
    bool replaceable = true;  // nothing is there, or a store of this format, be it damaged
  };
  static Stored read(const std::string& path);
  static Result<void> refuse_others(const std::string& path, const Stored& stored);
  static void put_into(Groups& groups, const Groups& others);
  const Choices* group(std::string_view profile_hash) const;

  Groups known_, fresh_;  // fresh_: not in the file yet
  std::string warning_;
};

}  // namespace sectile
