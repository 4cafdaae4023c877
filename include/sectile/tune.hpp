// Which of the planner's candidates were measured to be the fastest, in a file: what `sectile tune` writes and a program
// gives to make_plan (PlanOptions::tuned) or Planner. Nothing of it is needed to plan.
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

// What measuring a problem's candidates found.
struct TunedChoice {
  std::string candidate;                  // the winner's whole name
  std::int64_t picoseconds = 0;           // of one run of it: a median
  std::string model;                      // what the planner takes by its costs
  std::int64_t model_picoseconds = 0;     // of that, measured in turn with the winner
  std::uint32_t measured = 0;             // how many candidates there were, with the planner's own
  bool operator==(const TunedChoice&) const = default;
};

// A candidate's measured time.
struct MeasuredCandidate {
  std::string name;
  std::int64_t picoseconds = 0;
};

// The fastest; the first, which is the planner's own choice, where none is faster by more than samples of one run differ
// (kTunedMarginPermille). Nothing where the list is empty or a time is not above 0.
inline constexpr std::int64_t kTunedMarginPermille = 10;
std::optional<TunedChoice> fastest_of(std::span<const MeasuredCandidate> measured);

// Choices by planner version, profile and problem. Looking up is safe from several threads, put() and save() are not.
class TuneStore final : public TunedChoices {
 public:
  // A file that is not there is an empty store. One that is truncated, garbage, foreign or of another format is too, and
  // warning() says why: a broken store costs no more than what it could have told.
  static TuneStore load(const std::string& path);
  std::string_view warning() const noexcept { return warning_; }

  // Only what this planner's version measured is found: another's candidates may be others by the same name.
  const TunedChoice* find(const Problem& problem, std::string_view profile_hash) const;
  std::string candidate(const Problem& problem, std::string_view profile_hash) const override;
  // How many problems are known for the profile and this planner's version.
  std::size_t size(std::string_view profile_hash) const;

  void put(const Problem& problem, const std::string& profile_hash, TunedChoice choice);
  // Reads the file again, puts what put() was given into it and writes it whole beside the old one, then over it, under a
  // lock: what other devices, planners and processes stored stays. The folder must be there. Errors: check_place's, io.
  Result<void> save(const std::string& path);

  // Whether save() would write there: nothing is there, or a store of this format, be it damaged. A file that is something
  // else, or a newer format's, is never replaced. Errors: parse (such a file), io (no folder, or no
  // regular file).
  static Result<void> check_place(const std::string& path);

 private:
  using Choices = std::map<std::string, TunedChoice, std::less<>>;                     // by the problem's JSON
  using Groups = std::map<std::pair<std::string, std::string>, Choices, std::less<>>;  // by planner version and profile
  struct Stored {
    Groups groups;
    std::string warning;        // why the file was ignored
    bool replaceable = true;    // nothing is there, or a store of this format, be it damaged
  };
  static Stored read(const std::string& path);
  static Result<void> refuse_others(const std::string& path, const Stored& stored);
  static void put_into(Groups& groups, const Groups& others);
  const Choices* group(std::string_view profile_hash) const;

  Groups known_, fresh_;   // fresh_: what is not in the file yet
  std::string warning_;
};

}  // namespace sectile
