// What a workgroup's recorded accesses cost, by the rules that src/plan/access/walk.hpp states and with none of its
// code.
#pragma once

#include "emulated.hpp"

#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace sectile::emulated {

// The accesses that a subgroup carries out as one; of `nth` of an instruction's accesses by the same invocation.
struct Request {
  Access::Kind kind = Access::Kind::load;
  std::vector<Access> lanes;  // the active ones
};

inline std::vector<Request> requests_of(std::vector<Access> accesses, std::uint32_t subgroup_size) {
  const auto subgroup = [&](const Access& a) { return a.invocation / subgroup_size; };
  std::ranges::stable_sort(accesses, {}, [](const Access& a) { return std::tuple(a.invocation, a.instruction); });
  std::vector<std::pair<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, Access>> numbered;
  std::uint32_t nth = 0;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const Access& a = accesses[i];
    nth = i > 0 && accesses[i - 1].invocation == a.invocation && accesses[i - 1].instruction == a.instruction ? nth + 1
                                                                                                              : 0;
    numbered.push_back({{subgroup(a), a.instruction, nth}, a});
  }
  std::ranges::stable_sort(numbered, {}, [](const auto& n) { return n.first; });
  std::vector<Request> requests;
  for (std::size_t i = 0; i < numbered.size(); ++i) {
    if (i == 0 || numbered[i].first != numbered[i - 1].first) requests.push_back({numbered[i].second.kind, {}});
    requests.back().lanes.push_back(numbered[i].second);
  }
  return requests;
}

inline void add_transactions(std::vector<std::uint64_t>& touched, const Access& access, std::uint64_t size) {
  for (std::uint64_t at = access.address / size; at <= (access.address + access.bytes - 1) / size; ++at)
    touched.push_back(at);
}
inline std::uint64_t different(std::vector<std::uint64_t>& numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  return numbers.size();
}

// Passes beyond the first. Neighbouring lanes whose accesses fill all banks once are served together; so are lanes that
// name one word.
inline std::uint64_t conflicts_of(const Request& request, const DeviceProfile& profile) {
  const std::uint32_t bank_bytes = profile.bank_bytes.value(), banks = profile.banks.value();
  std::set<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>> words;  // lanes' part, bank, word
  for (const Access& access : request.lanes) {
    const std::uint32_t lane = access.invocation % profile.subgroup_size.value();
    const std::uint32_t part = lane / (banks * bank_bytes / std::max(bank_bytes, access.bytes));
    for (std::uint64_t word = access.address / bank_bytes; word * bank_bytes < access.address + access.bytes; ++word)
      words.insert({part, word % banks, word});
  }
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> in_bank;
  std::map<std::uint32_t, std::uint64_t> passes;  // of a part: what its fullest bank takes
  for (const auto& [part, bank, word] : words) passes[part] = std::max(passes[part], ++in_bank[{part, bank}]);
  std::uint64_t extra = 0;
  for (const auto& [part, count] : passes) extra += count - 1;
  return extra;
}

inline AccessCount count_of(std::vector<Access> accesses, const DeviceProfile& profile) {
  AccessCount count;
  const std::uint64_t size = profile.transaction_bytes.value();
  for (const Request& request : requests_of(std::move(accesses), profile.subgroup_size.value())) {
    if (request.kind == Access::Kind::workgroup) {
      count.bank_conflicts += conflicts_of(request, profile);
      continue;
    }
    const bool load = request.kind == Access::Kind::load;
    std::vector<std::uint64_t> touched;
    std::uint64_t bytes = 0;
    for (const Access& access : request.lanes) {
      bytes += access.bytes;
      add_transactions(touched, access, size);
    }
    (load ? count.load_transactions : count.store_transactions) += different(touched);
    (load ? count.ideal_load_transactions : count.ideal_store_transactions) += (bytes + size - 1) / size;
    ++(load ? count.load_requests : count.store_requests);
  }
  return count;
}

// The transactions that a workgroup touches at all, however many of its requests share them.
inline std::uint64_t different_transactions(std::span<const Access> accesses, Access::Kind kind,
                                            const DeviceProfile& profile) {
  std::vector<std::uint64_t> touched;
  for (const Access& access : accesses)
    if (access.kind == kind) add_transactions(touched, access, profile.transaction_bytes.value());
  return different(touched);
}

// What the first subgroup does, as if all did; `loading`: the invocations that load.
inline AccessCount count_of_first(std::vector<Access> accesses, const DeviceProfile& profile, std::uint32_t workgroup,
                                  std::uint32_t loading) {
  const std::uint32_t size = profile.subgroup_size.value();
  std::erase_if(accesses, [&](const Access& a) { return a.invocation >= size; });
  AccessCount count = count_of(std::move(accesses), profile);
  for (auto* n :
       {&count.store_transactions, &count.ideal_store_transactions, &count.store_requests, &count.bank_conflicts})
    *n *= (workgroup + size - 1) / size;
  for (auto* n : {&count.load_transactions, &count.ideal_load_transactions, &count.load_requests})
    *n *= (loading + size - 1) / size;
  return count;
}

// ---- a step's constants, a candidate's strategy

inline std::uint32_t constant_of(const Step& step, std::uint32_t id) {
  const auto found = std::ranges::find(step.constants, id, &Constant::id);
  return found == step.constants.end() ? 0 : found->value;
}

inline std::string stem_of(const Candidate& candidate) { return candidate.name.substr(0, candidate.name.find(' ')); }

// ---- a claim against what was found

struct Field {
  const char* name;
  std::uint64_t AccessCount::* value;
};
inline constexpr std::array<Field, 7> kFields = {{{"load transactions", &AccessCount::load_transactions},
                                                  {"store transactions", &AccessCount::store_transactions},
                                                  {"full load transactions", &AccessCount::ideal_load_transactions},
                                                  {"full store transactions", &AccessCount::ideal_store_transactions},
                                                  {"load requests", &AccessCount::load_requests},
                                                  {"store requests", &AccessCount::store_requests},
                                                  {"bank conflicts", &AccessCount::bank_conflicts}}};

// How a claim relates to what is found: the same; at least that; within so many permille of it; no claim of that kind.
struct Claim {
  enum class Kind : std::uint8_t { same, at_least, near, none } kind = Kind::same;
  std::uint32_t permille = 0;

  bool holds(std::uint64_t claimed, std::uint64_t found) const {
    switch (kind) {
      case Kind::same:
        return claimed == found;
      case Kind::at_least:
        return claimed >= found;
      case Kind::near:
        return (claimed > found ? claimed - found : found - claimed) * 1000 <= found * permille;
      case Kind::none:
        break;
    }
    return true;
  }
};
using Claims = std::array<Claim, 7>;
constexpr Claim within(std::uint32_t permille) { return {Claim::Kind::near, permille}; }

// What does not hold, as text.
inline std::string disagreement(const Claims& claims, const AccessCount& claimed, const AccessCount& found) {
  std::string text;
  for (std::size_t f = 0; f < kFields.size(); ++f)
    if (!claims[f].holds(claimed.*kFields[f].value, found.*kFields[f].value))
      text += std::string(kFields[f].name) + ": claimed " + std::to_string(claimed.*kFields[f].value) + ", found " +
              std::to_string(found.*kFields[f].value) + "; ";
  return text;
}

}  // namespace sectile::emulated
