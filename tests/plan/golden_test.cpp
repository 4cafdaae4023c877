// The golden record: the plans of some 300 problems on every built-in target, one line each. A change of structure
// leaves it word for word; a change of choices is a commit of its own with the difference. `tools/dev golden` writes
// the record.
#include <sectile/planner.hpp>
#include <sectile/profile.hpp>
#include "reference/extra_rows.hpp"
#include "support/paths.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace sectile;

namespace {

constexpr std::size_t kMostShown = 10;  // differences of one target

// With sanitizers planning takes twenty times as long, so that build tests every 16th problem.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kEach = 16;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr std::size_t kEach = 16;
#else
constexpr std::size_t kEach = 1;
#endif
#else
constexpr std::size_t kEach = 1;
#endif

std::string folder() { return test::source_folder() + "/tests/plan/golden/"; }

// "cuda:sm_90a" as a file's name.
std::string file_of(std::string_view target) {
  std::string name(target);
  for (char& c : name)
    if (c == ':') c = '-';
  return folder() + name + ".txt";
}

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// FNV-1a of the values that the line does not print.
std::uint32_t hash_of(std::uint32_t hash, std::uint64_t value) {
  for (int i = 0; i < 8; ++i, value >>= 8) hash = (hash ^ static_cast<std::uint32_t>(value & 0xff)) * 16777619u;
  return hash;
}

std::string line_of(const Problem& problem, const DeviceProfile& profile) {
  const auto plan = make_plan(problem, profile);
  if (!plan) return fmt::format("refused: {}", name(plan.error().kind));
  const std::string& chosen = plan->choice.candidate;
  std::uint32_t hash = 2166136261u;
  for (const Step& step : plan->steps) {
    for (const Constant& constant : step.constants) hash = hash_of(hash_of(hash, constant.id), constant.value);
    for (const std::uint8_t byte : step.push) hash = hash_of(hash, byte);
  }
  for (const PlanOperand& operand : plan->operands) hash = hash_of(hash, operand.bytes);
  return fmt::format("{}: {} [{:08x}]", chosen.empty() ? "nothing" : chosen, print(*plan), hash);
}

}  // namespace

TEST_CASE("plans are those of the golden record") {
  const bool write = std::getenv("SECTILE_WRITE_GOLDEN") != nullptr;
  const auto problems = lines_of(text_of(folder() + "problems.txt"));
  REQUIRE(problems.size() >= 290);
  for (const std::string_view target : builtin_target_names()) {
    const DeviceProfile profile = builtin_target(target).value();
    const auto kept = lines_of(text_of(file_of(target)));
    if (!write) REQUIRE_MESSAGE(kept.size() == problems.size(), file_of(target));
    std::string record;
    for (std::size_t i = 0, shown = 0; i < problems.size() && shown < kMostShown; i += write ? 1 : kEach) {
      const auto problem = parse_problem(problems[i]);
      REQUIRE_MESSAGE(problem.has_value(), problems[i]);
      const std::string line = line_of(*problem, profile);
      record += line + "\n";
      if (write || line == kept[i]) continue;
      ++shown;
      FAIL_CHECK(fmt::format("{}: {}\n  kept:    {}\n  planned: {}", target, problems[i], kept[i], line));
    }
    if (write) std::ofstream(file_of(target), std::ios::binary) << record;
  }
  if (write) MESSAGE("written; review the difference before you commit it");
}

// Benchmarks and tests ask for extra rows, those among them that have left their tables.
TEST_CASE("extra rows change no choice, and can be forced alone where they are asked for") {
  const auto problems = lines_of(text_of(folder() + "problems.txt"));
  for (const char* target : {"nvidia-hopper", "cuda:sm_90a", "lavapipe"}) {
    const DeviceProfile profile = builtin_target(target).value();
    for (std::size_t i = 0; i < problems.size(); i += kEach) {
      const Problem problem = parse_problem(problems[i]).value();
      const auto plain = make_plan(problem, profile), with = reference::plan_with_extra_rows(problem, profile, {});
      REQUIRE(plain.has_value() == with.has_value());
      if (plain) CHECK_MESSAGE(plain->choice.candidate == with->choice.candidate, target, ": ", problems[i]);
    }
  }
  struct Retired {
    const char *problem, *row, *target = "nvidia-hopper";
  };
  for (const Retired& r : {Retired{"permute f32 8192x4096 axes=0,1", "permute_copy u1 wg512"},
                           Retired{"permute u8 4096x4096 axes=1,0", "permute_tile 64x64 v4x4 s16 wg128"},
                           Retired{"permute u8 4096x4096 axes=1,0", "permute_block 64x64 v8x8 s8 wg16"},
                           Retired{"permute u8 82x427x640x3 axes=0,2,1,3", "permute_runs 16x16 of 4x4 l16 s4 wg256"},
                           Retired{"permute u8 4096x4096 axes=1,0", "permute_tma 128x128 wg128", "cuda:sm_90a"}}) {
    CAPTURE(r.row);
    const Problem problem = parse_problem(r.problem).value();
    const DeviceProfile profile = builtin_target(r.target).value();
    const PlanOptions forced{.explain = false, .force = r.row};
    CHECK(!make_plan(problem, profile, forced).has_value());
    const auto plan = reference::plan_with_extra_rows(problem, profile, forced);
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    CHECK(plan->choice.candidate == r.row);
  }
}

// Benchmarks and `explain` use explained plans; applications use plain ones. Both must be equal.
TEST_CASE("explaining changes no choice") {
  const auto problems = lines_of(text_of(folder() + "problems.txt"));
  for (const char* target : {"nvidia-hopper", "cuda:sm_90a", "lavapipe"}) {
    const DeviceProfile profile = builtin_target(target).value();
    for (std::size_t i = 0; i < problems.size(); i += kEach) {
      CAPTURE(target);
      CAPTURE(problems[i]);
      const Problem problem = parse_problem(problems[i]).value();
      const auto plain = make_plan(problem, profile);
      auto explained = make_plan(problem, profile, {.explain = true});
      REQUIRE(plain.has_value() == explained.has_value());
      if (!plain) continue;
      for (const Candidate& candidate : explained->candidates)
        if (candidate.chosen) CHECK(candidate.name == plain->choice.candidate);
      explained->candidates.clear();
      explained->cost_model.clear();
      CHECK(to_json(*explained) == to_json(*plain));
    }
  }
}

TEST_CASE("an explanation begins with the choice and names what does not compete") {
  const std::string small_copy = "permute f32 64x48 axes=0,1";
  for (const std::string& text :
       {small_copy, std::string("permute u8 82x427x640x3 axes=0,2,1,3"), std::string("matmul f16 nt 512x512x512")}) {
    const auto plan =
        make_plan(parse_problem(text).value(), builtin_target("nvidia-hopper").value(), {.explain = true});
    REQUIRE(plan.has_value());
    const auto lines = lines_of(explain(*plan));
    REQUIRE(lines.size() > 4);
    CHECK(lines[2].starts_with(fmt::format("{} candidates: ", plan->candidates.size())));
    CHECK(
        lines[2].ends_with("estimates by model nvidia-hopper, measured on NVIDIA H200, driver NVIDIA 580.159.04, "
                           "2026-11-27 to 29"));
    CHECK(lines[3].starts_with("  * " + plan->choice.candidate + ": "));
    CHECK(lines[3].find(" us; ") != std::string::npos);
    std::string marks;  // candidates by cost (c), then rows that do not compete (f), then refused ones (r)
    double last = 0;
    for (std::size_t i = 4; i < lines.size(); ++i) {
      if (lines[i].starts_with("      ")) continue;
      const bool refused = lines[i].starts_with("  - "),
                 competes = lines[i].find(": last resort, ") == std::string::npos &&
                            lines[i].find(": measured only, ") == std::string::npos;
      marks += refused ? 'r' : competes ? 'c' : 'f';
      if (marks.back() != 'c') continue;
      const double cost = std::stod(lines[i].substr(lines[i].find(": ") + 2));
      CHECK(cost >= last);
      CHECK(cost < 1e6);  // a second
      last = cost;
    }
    CHECK(std::ranges::is_sorted(marks));
    CHECK((marks.find('f') != std::string::npos) == text.starts_with("permute"));
    CHECK(marks.find('r') != std::string::npos);
  }
}
