// The file of raw measurements: what is written is read, what is wrong is refused by its line, and what a killed run
// left is taken up.
#include "calibrate/raw.hpp"
#include "tools/run_command.hpp"

#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>

using namespace sectile;
using namespace sectile::test;
using namespace sectile::tools;

namespace {

RawHeader calibration_header() {
  return {.api = "vulkan",
          .device = "a \"card\"",
          .driver = "1.2",
          .planner = std::string(planner_version()),
          .seed = 7,
          .date = "2026-11-27T12:00Z",
          .command = "sectile calibrate -o c.json",
          .profile = builtin_target("nvidia-hopper").value()};
}

RawBase calibration_base() {
  return {.empty_ps = 1500, .copies = {{4096, 2000}, {16384, 2100}}, .second_step_ps = 900};
}

RawProblem calibration_problem() {
  return {.operation = "permute",
          .group = "b transpose",
          .problem = "permute f32 64x48 axes=1,0",
          .part = RawPart::check,
          .index = 3,
          .spent = 1.25,
          .copy_ps = 1'234'500,
          .unsteady = true,
          .candidates = {{.name = "permute_rows u1 wg256",
                          .detail = "e4 wg=256",
                          .eligibility = Eligibility::last_resort,
                          .cost_ps = 77,
                          .ps = 2'000'100,
                          .p10_ps = 1'999'900,
                          .p90_ps = 2'000'100,
                          .samples = 1,
                          .once = true,
                          .error = {}},
                         {.name = "permute_tile 32x32", .detail = "", .chosen = true, .error = "device: no"}}};
}

std::string calibration_text() {
  return print_line(calibration_header()) + print_line(calibration_base()) + print_line(calibration_problem());
}

// The error after a part of the text was replaced.
std::string refusal_with(const std::string& was, const std::string& is) {
  std::string text = calibration_text();
  const auto at = text.find(was);
  REQUIRE_MESSAGE(at != std::string::npos, was);
  text.replace(at, was.size(), is);
  const auto read = read_raw(text);
  return read ? "accepted" : read.error().message();
}

}  // namespace

TEST_CASE("raw measurements are read as they were written") {
  const std::string text = calibration_text();
  const auto read = read_raw(text);
  REQUIRE_MESSAGE(read.has_value(), read.error().message());
  CHECK(print_line(read->header) == print_line(calibration_header()));
  CHECK(read->header.profile == calibration_header().profile);
  REQUIRE(read->base.has_value());
  CHECK(*read->base == calibration_base());
  REQUIRE(read->problems.size() == 1);
  CHECK(read->problems[0] == calibration_problem());
  CHECK(read->kept_bytes == text.size());
  CHECK(text.find("\"ns\":2000.1,\"p10_ns\":1999.9") != std::string::npos);
}

TEST_CASE("times are rounded to a tenth of a nanosecond") {
  CHECK(raw_picoseconds(1e-6) == 1'000'000);
  CHECK(raw_picoseconds(1.23456e-6) == 1'234'600);
  CHECK(raw_picoseconds(1e-12) == 0);
}

TEST_CASE("raw measurements that are wrong are refused by their line") {
  CHECK(refusal_with("\"calibration\":1", "\"calibration\":2") ==
        "parse: line 1.calibration: 2 (want 1: measurements of this version of sectile)");
  CHECK(refusal_with("\"calibration\":1,", "").starts_with("parse: line 1.calibration: not there"));
  CHECK(refusal_with("\"vulkan\"", "\"metal\"") == "parse: line 1.api: metal (want vulkan, cuda)");
  CHECK(refusal_with("\"seed\":7", "\"seed\":-7").starts_with("parse: line 1.seed: -7 (want an integer from 0"));
  CHECK(refusal_with("\"profile\":{", "\"profile\":{\"x\":1,").starts_with("parse: line 1.profile: "));
  CHECK(refusal_with("\"empty_ns\":1.5", "\"empty_ns\":\"1.5\"") ==
        "parse: line 2.base.empty_ns: \"1.5\" (want nanoseconds from 0 to 1e15)");
  CHECK(refusal_with("\"ns\":2.1", "\"ns\":-2.1") ==
        "parse: line 2.base.copies.ns: -2.1 (want nanoseconds from 0 to 1e15)");
  CHECK(refusal_with("\"ns\":2000.1", "\"ns\":-1").starts_with("parse: line 3.candidates.ns: -1"));
  CHECK(refusal_with("\"ns\":2000.1", "\"ns\":0").starts_with("parse: line 3.candidates.ns: 0 (want a time above 0"));
  CHECK(refusal_with("\"p10_ns\":1999.9", "\"p10_ns\":2000.2").ends_with("(want a time from p10_ns to p90_ns)"));
  CHECK(refusal_with("\"samples\":1", "\"samples\":1.5").starts_with("parse: line 3.candidates.samples: 1.5"));
  CHECK(refusal_with("\"samples\":1", "\"samples\":0") == "parse: line 3.candidates.samples: 0 (want at least 1)");
  CHECK(refusal_with("\"last_resort\"", "\"never\"") ==
        "parse: line 3.candidates.eligibility: never (want candidate, last_resort, measured_only)");
  CHECK(refusal_with("\"cost_ps\":77", "\"cost_ps\":-1").starts_with("parse: line 3.candidates.cost_ps: -1"));
  CHECK(refusal_with("\"part\":\"check\"", "\"part\":\"test\"") == "parse: line 3.part: test (want fit, check)");
  CHECK(refusal_with("\"error\":\"device: no\"", "\"error\":\"\"").starts_with("parse: line 3.candidates.error"));
  CHECK(refusal_with("\"error\":\"device: no\"", "\"ns\":1,\"error\":\"no\"") ==
        "parse: line 3.candidates.ns: unknown key");
  CHECK(refusal_with("permute f32 64x48 axes=1,0", "permute f32 64x48 axis=1").starts_with("parse: line 3.problem: "));
  CHECK(refusal_with("\"operation\":\"permute\"", "\"operation\":\"matmul\"").starts_with("parse: line 3.operation"));
  CHECK(refusal_with("\"unsteady\":true", "\"unsteady\":1") == "parse: line 3.unsteady: 1 (want true or false)");
  CHECK(refusal_with("\"spent_s\":1.25", "\"spent_s\":-1") == "parse: line 3.spent_s: -1 (want seconds from 0 to 1e6)");
  CHECK(refusal_with("\"unsteady\":true", "\"steady\":true").starts_with("parse: line 3.unsteady: not there"));
  CHECK(refusal_with("{\"base\"", "{\"bass\"").starts_with("parse: line 2.operation: not there"));
  CHECK(refusal_with("{\"base\"", "{\"base\"\"") == "parse: line 2: not JSON");
  const auto second = read_raw(calibration_text() + print_line(calibration_base()));
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().message() == "parse: line 4.base: a second one (want one in a file)");
}

TEST_CASE("a last line that was cut off is dropped, wherever it was cut") {
  const std::string text = calibration_text();
  const std::size_t header = print_line(calibration_header()).size();
  const std::size_t base = header + print_line(calibration_base()).size();
  for (const std::size_t length : {header, header + 1, base - 1, base, base + 1, text.size() - 2, text.size() - 1}) {
    CAPTURE(length);
    const auto read = read_raw(std::string_view(text).substr(0, length));
    REQUIRE(read.has_value());
    CHECK(read->base.has_value() == (length >= base));
    CHECK(read->problems.empty());
    CHECK(read->kept_bytes == (length >= base ? base : header));
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, header - 1}) {
    const auto none = read_raw(std::string_view(text).substr(0, length));
    REQUIRE_FALSE(none.has_value());
    CHECK(none.error().message() == "parse: line 1: no whole line (want the header of a calibration)");
  }
}

TEST_CASE("a problem that began and has no line is one at which a run ended") {
  const std::string own = calibration_problem().problem, other = "permute f32 9x7 axes=1,0";
  const std::string header = print_line(calibration_header());
  const auto begun = [&](const std::string& rest) { return read_raw(header + rest).value().begun; };
  CHECK(begun(print_begin(own) + print_line(calibration_problem())).empty());
  CHECK(begun(print_begin(own) + print_begin(own) + print_line(calibration_problem())).empty());
  const auto twice = begun(print_begin(other) + print_begin(own) + print_begin(other));
  CHECK(twice.size() == 2);
  CHECK(twice.at(other) == 2);
  CHECK(twice.at(own) == 1);
  CHECK(read_raw(header + "{\"begins\":\"permute\"}\n").error().message().starts_with("parse: line 2.begins: "));
  CHECK(read_raw(header + "{\"begins\":3}\n").error().message().starts_with("parse: line 2.begins: 3"));
}

TEST_CASE("measurements are added after what a killed run left") {
  const Folder folder;
  const std::string path = folder.path("c.raw.jsonl");
  {
    auto writer = RawWriter::create(path, calibration_header());
    REQUIRE(writer.has_value());
    REQUIRE(writer->add(calibration_base()).has_value());
  }
  const std::string whole = read_file(path);
  write_file(path, whole + "{\"operation\":\"per");
  const auto kept = read_raw(read_file(path)).value();
  auto writer = RawWriter::go_on(path, kept.kept_bytes);
  REQUIRE(writer.has_value());
  REQUIRE(writer->add(calibration_problem()).has_value());
  CHECK(read_file(path) == calibration_text());
}

TEST_CASE("measurements of another device, driver or seed are refused by name") {
  const RawHeader there = calibration_header();
  CHECK(check_same_run("c.raw.jsonl", there, there).has_value());
  RawHeader later = there;
  later.date = "2026-11-28T12:00Z";
  later.command = "sectile calibrate -o ./c.json";
  CHECK(check_same_run("c.raw.jsonl", there, later).has_value());
  const auto refused = [&](auto&& change) {
    RawHeader now = there;
    change(now);
    const auto same = check_same_run("c.raw.jsonl", there, now);
    return same ? "accepted" : same.error().message();
  };
  CHECK(refused([](RawHeader& now) { now.device = "another"; }) ==
        "invalid_problem: c.raw.jsonl: device \"a \"card\"\", now \"another\" (want measurements of the same device; "
        "delete or rename the file to measure anew)");
  CHECK(refused([](RawHeader& now) { now.api = "cuda"; }).find("api \"vulkan\", now \"cuda\"") != std::string::npos);
  CHECK(refused([](RawHeader& now) { now.driver = "1.3"; }).find("driver \"1.2\", now \"1.3\"") != std::string::npos);
  CHECK(refused([](RawHeader& now) { now.planner = "x"; }).find("planner") != std::string::npos);
  CHECK(refused([](RawHeader& now) { now.seed = 8; }).find("seed \"7\", now \"8\"") != std::string::npos);
}

TEST_CASE("raw measurements lie beside the class") {
  CHECK(raw_path("h200.json") == "h200.raw.jsonl");
  CHECK(raw_path("a.b/h200.v2.json") == "a.b/h200.v2.raw.jsonl");
  CHECK(raw_path("a.b/h200") == "a.b/h200.raw.jsonl");
}

TEST_CASE("a row's name is a candidate's without the layouts that are stored first") {
  CHECK(row_name("permute_tile 64x64 v4x4 s8 wg256 swap") == "permute_tile 64x64 v4x4 s8 wg256 swap");
  CHECK(row_name("conv2d_simt 64x64x8 8x8 x=nhwc w=krsc y=nhwc") == "conv2d_simt 64x64x8 8x8");
  CHECK(row_name("conv2d_coopmat 64x64x48 32x32 pixels") == "conv2d_coopmat 64x64x48 32x32 pixels");
  CHECK(row_name("x=nhwc") == "x=nhwc");
}
