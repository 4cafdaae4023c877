#include <sectile/tune.hpp>

#include "backend/framed_file.hpp"
#include "backend/whole_file.hpp"
#include "base/json_text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <tuple>
#include <vector>

namespace sectile {
namespace {

using detail::JsonObject;
using detail::JsonWriter;
using nlohmann::json;

constexpr std::size_t kMostGroups = 65536;

// 64 MiB hold some hundred thousand problems; a larger file is not a store.
constexpr backend::Frame kFrame = {
    "tuned choices", {'S', 'E', 'C', 'T', 'I', 'L', 'E', 'T'}, 1, {}, std::uint64_t{64} << 20};

void write(JsonWriter& w, const TunedChoice& choice) {
  w.begin('{');
  w.field("candidate", choice.candidate);
  w.field("measured", choice.measured);
  w.field("model", choice.model);
  w.field("model_picoseconds", choice.model_picoseconds);
  w.field("picoseconds", choice.picoseconds);
  w.end('}');
}

Result<TunedChoice> read_choice(const json& value, const std::string& what) {
  TunedChoice out;
  JsonObject o(value, what);
  o.required("candidate", out.candidate);
  o.required("measured", out.measured);
  o.required("model", out.model);
  o.required("model_picoseconds", out.model_picoseconds);
  o.required("picoseconds", out.picoseconds);
  if (auto ok = o.finish(); !ok) return std::unexpected(ok.error());
  if (out.candidate.empty() || out.picoseconds <= 0 || out.model_picoseconds <= 0 || out.measured == 0)
    return fail(ErrorKind::parse, what, JsonObject::shown(value), "a candidate with times above 0");
  return out;
}

Result<backend::Place> file_of(const std::string& path) {
  auto place = backend::place_of(path, backend::Streams::refused);
  if (!place) place.error().kind = ErrorKind::io;  // also for a missing folder
  return place;
}

}  // namespace

TuneStore::Stored TuneStore::read(const std::string& path) {
  const auto [bytes, why, foreign] = backend::read_framed(path, kFrame, [](auto) { return std::string(); });
  if (bytes.empty()) return {{}, why, !foreign};
  // A whole file whose content this version cannot read is not damaged.
  const auto ignored = [&](const Error& error) {
    return Stored{{}, fmt::format("{} {} ignored: {}", kFrame.what, path, error.message()), false};
  };
  const auto root = detail::parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "store");
  if (!root) return ignored(root.error());
  Groups groups;
  JsonObject o(*root, "store");
  o.each("groups", kMostGroups, [&](const json& item, const std::string& name) -> Result<void> {
    std::string planner, profile;
    JsonObject group(item, name);
    group.required("planner_version", planner);
    group.required("profile_hash", profile);
    const json* problems = group.find("problems");
    if (auto ok = group.finish(); !ok) return ok;
    if (problems == nullptr || !problems->is_object())
      return fail(ErrorKind::parse, name + ".problems", "", "an object");
    for (const auto& [problem, value] : problems->items()) {
      auto choice = read_choice(value, name + ".problems");
      if (!choice) return std::unexpected(choice.error());
      groups[{planner, profile}][problem] = std::move(*choice);
    }
    return {};
  });
  if (auto ok = o.finish(); !ok) return ignored(ok.error());
  return {std::move(groups), {}, true};
}

TuneStore TuneStore::load(const std::string& path) {
  TuneStore store;
  Stored stored = read(path);
  store.known_ = std::move(stored.groups);
  store.warning_ = std::move(stored.warning);
  return store;
}

const TuneStore::Choices* TuneStore::group(std::string_view profile_hash) const {
  const auto found = known_.find(std::pair<std::string, std::string>(planner_version(), profile_hash));
  return found == known_.end() ? nullptr : &found->second;
}

const TunedChoice* TuneStore::find(const Problem& problem, std::string_view profile_hash) const {
  const Choices* choices = group(profile_hash);
  if (choices == nullptr) return nullptr;
  const auto found = choices->find(to_json(problem));
  return found == choices->end() ? nullptr : &found->second;
}

std::string TuneStore::candidate(const Problem& problem, std::string_view profile_hash) const {
  const TunedChoice* choice = find(problem, profile_hash);
  return choice == nullptr ? std::string() : choice->candidate;
}

std::size_t TuneStore::size(std::string_view profile_hash) const {
  const Choices* choices = group(profile_hash);
  return choices == nullptr ? 0 : choices->size();
}

void TuneStore::put(const Problem& problem, const std::string& profile_hash, TunedChoice choice) {
  const std::pair key(std::string(planner_version()), profile_hash);
  const std::string text = to_json(problem);
  fresh_[key][text] = choice;
  known_[key][text] = std::move(choice);
}

void TuneStore::put_into(Groups& groups, const Groups& others) {
  for (const auto& [key, choices] : others)
    for (const auto& [problem, choice] : choices) groups[key][problem] = choice;
}

Result<void> TuneStore::check_place(const std::string& path) {
  if (auto place = file_of(path); !place) return std::unexpected(place.error());
  return refuse_others(path, read(path));
}

Result<void> TuneStore::refuse_others(const std::string& path, const Stored& stored) {
  if (stored.replaceable) return {};
  const std::string& why = stored.warning;
  const std::size_t reason = why.find("ignored: ");
  return fail(ErrorKind::parse, "store " + path, reason == std::string::npos ? why : why.substr(reason + 9),
              "a file of tuned choices in this format, or none: another's is left as it is");
}

Result<void> TuneStore::save(const std::string& path) {
  const auto place = file_of(path);
  if (!place) return std::unexpected(place.error());
  // Held until the new file is in place, so that no other process's choices are lost.
  const auto lock = backend::FileLock::take(place->path);
  if (!lock) return std::unexpected(lock.error());
  Stored stored = read(path);  // a damaged store is replaced; load() reported it
  if (auto fine = refuse_others(path, stored); !fine) return fine;
  Groups all = std::move(stored.groups);
  put_into(all, fresh_);
  JsonWriter w;
  w.begin('{');
  w.key("groups");
  w.begin('[');
  for (const auto& [key, choices] : all) {
    w.begin('{');
    w.field("planner_version", key.first);
    w.field("profile_hash", key.second);
    w.key("problems");
    w.begin('{');
    for (const auto& [problem, choice] : choices) {
      w.key(problem);
      write(w, choice);
    }
    w.end('}');
    w.end('}');
  }
  w.end(']');
  w.end('}');
  if (auto written = backend::write_framed(path, kFrame, std::as_bytes(std::span(w.text()))); !written) return written;
  put_into(known_, all);
  fresh_.clear();
  return {};
}

}  // namespace sectile
