#include "raw.hpp"

#include "backend/platform.hpp"
#include "base/json_text.hpp"
#include "cli/files.hpp"

#include <sectile/problem.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

namespace sectile::tools {
namespace {

using detail::JsonObject;
using Json = nlohmann::ordered_json;

constexpr double kMostNanoseconds = 1e15;  // eleven days
constexpr double kMostSeconds = 1e6;
constexpr std::size_t kMostCandidates = 4096, kMostCopies = 64;

std::string_view part_name(RawPart part) { return part == RawPart::fit ? "fit" : "check"; }

Json nanoseconds(std::int64_t ps) {
  if (ps % 1000 == 0) return ps / 1000;
  return static_cast<double>(ps / 100) / 10;
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// ---- Reading

struct Nanoseconds {
  std::int64_t ps = 0;
};

std::optional<std::string> read_json(const nlohmann::json& value, Nanoseconds& out) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!(number >= 0 && number <= kMostNanoseconds)) return "nanoseconds from 0 to 1e15";
  out.ps = static_cast<std::int64_t>(std::llround(number * 10)) * 100;
  return {};
}

struct Seconds {
  double value = 0;
};

std::optional<std::string> read_json(const nlohmann::json& value, Seconds& out) {
  out.value = value.is_number() ? value.get<double>() : -1;
  if (!(out.value >= 0 && out.value <= kMostSeconds)) return "seconds from 0 to 1e6";
  return {};
}

// One of some words, by its place among them.
template <class T, std::size_t N>
void read_word(JsonObject& object, const std::string& what, const char* key, const std::array<T, N>& values,
               auto&& name_of, T& out) {
  std::string word;
  object.required(key, word);
  std::string known;
  for (const T value : values) {
    if (word == name_of(value)) {
      out = value;
      return;
    }
    known += (known.empty() ? "" : ", ") + std::string(name_of(value));
  }
  object.fail({ErrorKind::parse, what + "." + key, JsonObject::cut(word), known});
}

Result<RawHeader> read_header(const nlohmann::json& json) {
  // Of another version nothing else is known.
  if (json.is_object() && json.contains("calibration") && json["calibration"] != kRawVersion)
    return fail(ErrorKind::parse, "line 1.calibration", JsonObject::shown(json["calibration"]),
                std::to_string(kRawVersion) + ": measurements of this version of sectile");
  RawHeader header;
  int version = 0;
  JsonObject object(json, "line 1");
  object.required("calibration", version);
  object.required("api", header.api);
  if (header.api != "vulkan" && header.api != "cuda")
    object.fail({ErrorKind::parse, "line 1.api", JsonObject::cut(header.api), "vulkan, cuda"});
  object.required("device", header.device);
  object.required("driver", header.driver);
  object.required("planner", header.planner);
  object.required("seed", header.seed);
  object.required("date", header.date);
  object.required("command", header.command);
  const nlohmann::json* const profile = object.find("profile");
  if (profile == nullptr) object.fail({ErrorKind::parse, "line 1.profile", "not there", ""});
  if (auto done = object.finish(); !done) return std::unexpected(done.error());
  auto read = profile_from_json(profile->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (!read) {
    Error error = read.error();
    error.what = "line 1.profile: " + error.what;
    return std::unexpected(std::move(error));
  }
  header.profile = std::move(*read);
  return header;
}

Result<RawBase> read_base(const nlohmann::json& json, const std::string& line) {
  JsonObject outer(json, line);
  const nlohmann::json* const inner = outer.find("base");
  if (auto done = outer.finish(); !done) return std::unexpected(done.error());
  RawBase base;
  Nanoseconds empty;
  std::optional<Nanoseconds> second;
  JsonObject object(*inner, line + ".base");
  object.required("empty_ns", empty);
  object.each("copies", kMostCopies, [&](const nlohmann::json& item, const std::string& what) -> Result<void> {
    RawCopy copy;
    Nanoseconds time;
    JsonObject one(item, what);
    one.required("bytes", copy.bytes);
    one.required("ns", time);
    copy.ps = time.ps;
    base.copies.push_back(copy);
    return one.finish();
  });
  object.optional("second_step_ns", second);
  if (auto done = object.finish(); !done) return std::unexpected(done.error());
  base.empty_ps = empty.ps;
  if (second) base.second_step_ps = second->ps;
  return base;
}

Result<RawCandidate> read_candidate(const nlohmann::json& json, const std::string& what) {
  RawCandidate out;
  Nanoseconds time, p10, p90;
  JsonObject object(json, what);
  object.required("name", out.name);
  read_word(
      object, what, "eligibility",
      std::array{Eligibility::candidate, Eligibility::last_resort, Eligibility::measured_only},
      [](Eligibility e) { return name(e); }, out.eligibility);
  object.required("chosen", out.chosen);
  object.required("detail", out.detail);
  object.required("cost_ps", out.cost_ps);
  if (out.cost_ps < 0)
    object.fail({ErrorKind::parse, what + ".cost_ps", std::to_string(out.cost_ps), "0 or more picoseconds"});
  if (const nlohmann::json* const error = object.find("error"); error != nullptr) {
    object.required("error", out.error);
    if (out.error.empty()) object.fail({ErrorKind::parse, what + ".error", "\"\"", "what went wrong"});
  } else {
    object.required("ns", time);
    object.required("p10_ns", p10);
    object.required("p90_ns", p90);
    object.required("samples", out.samples);
    object.optional("once", out.once);
    if (time.ps == 0) object.fail({ErrorKind::parse, what + ".ns", "0", "a time above 0, or an error"});
    if (p10.ps > time.ps || time.ps > p90.ps)
      object.fail({ErrorKind::parse, what + ".ns", std::to_string(time.ps / 1000), "a time from p10_ns to p90_ns"});
    if (out.samples == 0) object.fail({ErrorKind::parse, what + ".samples", "0", "at least 1"});
  }
  if (auto done = object.finish(); !done) return std::unexpected(done.error());
  out.ps = time.ps;
  out.p10_ps = p10.ps;
  out.p90_ps = p90.ps;
  return out;
}

Result<RawProblem> read_problem(const nlohmann::json& json, const std::string& line) {
  RawProblem out;
  Seconds spent;
  std::optional<Nanoseconds> copy;
  JsonObject object(json, line);
  object.required("operation", out.operation);
  object.required("class", out.group);
  read_word(object, line, "part", std::array{RawPart::fit, RawPart::check}, part_name, out.part);
  object.required("case", out.index);
  object.required("problem", out.problem);
  object.required("spent_s", spent);
  object.optional("copy_ns", copy);
  object.required("unsteady", out.unsteady);
  object.each("candidates", kMostCandidates, [&](const nlohmann::json& item, const std::string& what) -> Result<void> {
    auto candidate = read_candidate(item, what);
    if (!candidate) return std::unexpected(candidate.error());
    out.candidates.push_back(std::move(*candidate));
    return {};
  });
  if (auto done = object.finish(); !done) return std::unexpected(done.error());
  if (out.candidates.empty()) return fail(ErrorKind::parse, line + ".candidates", "none", "at least one");
  if (!out.problem.starts_with(out.operation + " "))
    return fail(ErrorKind::parse, line + ".operation", JsonObject::cut(out.operation), "the problem's own");
  if (const auto problem = parse_problem(out.problem); !problem)
    return fail(ErrorKind::parse, line + ".problem", problem.error().message());
  out.spent = spent.value;
  if (copy) out.copy_ps = copy->ps;
  return out;
}

Result<void> read_line(RawCalibration& raw, std::string_view text, std::size_t number) {
  const std::string line = "line " + std::to_string(number);
  const auto json = detail::parse_json(text, line);
  if (!json) return std::unexpected(json.error());
  const auto keep = [](auto read, auto&& take) -> Result<void> {
    if (!read) return std::unexpected(read.error());
    take(std::move(*read));
    return {};
  };
  if (number == 1) return keep(read_header(*json), [&](RawHeader header) { raw.header = std::move(header); });
  if (json->is_object() && json->contains("base")) {
    if (raw.base) return fail(ErrorKind::parse, line + ".base", "a second one", "one in a file");
    return keep(read_base(*json, line), [&](RawBase base) { raw.base = std::move(base); });
  }
  if (json->is_object() && json->contains("begins")) {
    std::string problem;
    JsonObject object(*json, line);
    object.required("begins", problem);
    if (auto done = object.finish(); !done) return done;
    if (const auto parsed = parse_problem(problem); !parsed)
      return fail(ErrorKind::parse, line + ".begins", parsed.error().message());
    ++raw.begun[problem];
    return {};
  }
  return keep(read_problem(*json, line), [&](RawProblem problem) {
    raw.begun.erase(problem.problem);
    raw.problems.push_back(std::move(problem));
  });
}

Error io_error(const std::string& path, std::string why) {
  return {ErrorKind::io, "writing " + path, std::move(why), ""};
}

}  // namespace

std::string row_name(std::string_view candidate) {
  for (;;) {
    const auto space = candidate.rfind(' ');
    if (space == std::string_view::npos) break;
    const std::string_view word = candidate.substr(space + 1);
    if (!word.starts_with("x=") && !word.starts_with("w=") && !word.starts_with("y=")) break;
    candidate = candidate.substr(0, space);
  }
  return std::string(candidate);
}

std::string raw_path(const std::string& output) {
  return backend::text_of(backend::native_path(output).replace_extension(".raw.jsonl"));
}

std::int64_t raw_picoseconds(double seconds) { return static_cast<std::int64_t>(std::llround(seconds * 1e10)) * 100; }

Result<RawCalibration> read_raw(std::string_view text) {
  RawCalibration raw;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) break;  // it was cut off
    if (auto read = read_line(raw, text.substr(begin, end - begin), ++number); !read)
      return std::unexpected(read.error());
    begin = raw.kept_bytes = end + 1;
  }
  if (number == 0) return fail(ErrorKind::parse, "line 1", "no whole line", "the header of a calibration");
  return raw;
}

Result<void> check_same_run(const std::string& path, const RawHeader& there, const RawHeader& now) {
  const auto differ = [&](const char* what, const std::string& was, const std::string& is) {
    return fail(ErrorKind::invalid_problem, path, std::string(what) + " \"" + was + "\", now \"" + is + "\"",
                "measurements of the same " + std::string(what) + "; delete or rename the file to measure anew");
  };
  const std::array<std::tuple<const char*, std::string, std::string>, 5> parts = {{
      {"api", there.api, now.api},
      {"device", there.device, now.device},
      {"driver", there.driver, now.driver},
      {"planner", there.planner, now.planner},
      {"seed", std::to_string(there.seed), std::to_string(now.seed)},
  }};
  for (const auto& [what, was, is] : parts)
    if (was != is) return differ(what, was, is);
  return {};
}

std::string print_line(const RawHeader& header) {
  return line_of({{"calibration", kRawVersion},
                  {"api", header.api},
                  {"device", header.device},
                  {"driver", header.driver},
                  {"planner", header.planner},
                  {"seed", header.seed},
                  {"date", header.date},
                  {"command", header.command},
                  {"profile", Json::parse(to_json(header.profile))}});
}

std::string print_line(const RawBase& base) {
  Json copies = Json::array();
  for (const RawCopy& copy : base.copies) copies.push_back({{"bytes", copy.bytes}, {"ns", nanoseconds(copy.ps)}});
  Json inner = {{"empty_ns", nanoseconds(base.empty_ps)}, {"copies", std::move(copies)}};
  if (base.second_step_ps) inner["second_step_ns"] = nanoseconds(*base.second_step_ps);
  return line_of({{"base", std::move(inner)}});
}

std::string print_begin(const std::string& problem) { return line_of({{"begins", problem}}); }

std::string print_line(const RawProblem& problem) {
  Json candidates = Json::array();
  for (const RawCandidate& c : problem.candidates) {
    Json one = {{"name", c.name},
                {"eligibility", std::string(name(c.eligibility))},
                {"chosen", c.chosen},
                {"detail", c.detail},
                {"cost_ps", c.cost_ps}};
    if (!c.error.empty()) {
      one["error"] = c.error;
    } else {
      one["ns"] = nanoseconds(c.ps);
      one["p10_ns"] = nanoseconds(c.p10_ps);
      one["p90_ns"] = nanoseconds(c.p90_ps);
      one["samples"] = c.samples;
      if (c.once) one["once"] = true;
    }
    candidates.push_back(std::move(one));
  }
  Json json = {{"operation", problem.operation},
               {"class", problem.group},
               {"part", std::string(part_name(problem.part))},
               {"case", problem.index},
               {"problem", problem.problem},
               {"spent_s", std::round(problem.spent * 1e3) / 1e3}};
  if (problem.copy_ps) json["copy_ns"] = nanoseconds(*problem.copy_ps);
  json["unsteady"] = problem.unsteady;
  json["candidates"] = std::move(candidates);
  return line_of(json);
}

Result<RawWriter> RawWriter::open(const std::string& path) {
  File file(backend::open_to_append(path));
  if (!file) return std::unexpected(io_error(path, std::strerror(errno)));
  return RawWriter(path, std::move(file));
}

// The header is there whole, or no file is: a run that is killed at once leaves nothing that the next one refuses.
Result<RawWriter> RawWriter::create(const std::string& path, const RawHeader& header) {
  if (auto written = write_atomically(path, print_line(header)); !written) return std::unexpected(written.error());
  return open(path);
}

Result<RawWriter> RawWriter::go_on(const std::string& path, std::size_t kept_bytes) {
  std::error_code code;
  std::filesystem::resize_file(backend::native_path(path), kept_bytes, code);
  if (code) return std::unexpected(io_error(path, code.message()));
  return open(path);
}

Result<void> RawWriter::add(const std::string& line) {
  const bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size();
  if (!written || std::fflush(file_.get()) != 0) return std::unexpected(io_error(path_, std::strerror(errno)));
  return {};
}

}  // namespace sectile::tools
