#include "helpers.hpp"
#include "made_up.hpp"
#include "reading_back.hpp"
#include "support/paths.hpp"

#include "plan/operation.hpp"

#include <doctest/doctest.h>

#include <fstream>

using namespace sectile;

using test::parse_error;

namespace {

// As errors list them: "permute, matmul or conv2d".
std::string all_operations() {
  std::vector<std::string> names;
  detail::each_operation([&](auto operation) { names.emplace_back(operation.kName); });
  std::string text = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) text += (i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

}  // namespace

TEST_CASE("permute problems read back, and hash by every field") {
  test::check_reading_back([] { return made_up::any_permute(); });
}

TEST_CASE("prints in a fixed order and leaves defaults out") {
  CHECK(print(parse_problem("permute  f16 1x384x512x3   align=16 layout=NHWC:NCHW4c ").value()) ==
        "permute f16 1x384x512x3 layout=NHWC:NCHW4c");
  CHECK(
      print(parse_problem("permute f32 2x3 dst.align=8 src.align=8 src.offset=0 dst.offset=4 src.strides=3x1 axes=1,0")
                .value()) == "permute f32 2x3 axes=1,0 src.strides=3x1 dst.offset=4 align=8");
  CHECK(print(parse_problem("permute f32 1x2x2x4 layout=HC4h4c:HC extent=H:3,C:5").value()) ==
        "permute f32 1x2x2x4 layout=HC4h4c:HC extent=C:5,H:3");
}

TEST_CASE("layouts are read in either case of letters") {
  const auto same = [](const char* text, const char* printed) {
    const auto problem = parse_problem(text);
    REQUIRE_MESSAGE(problem.has_value(), text);
    CHECK(print(*problem) == printed);
    CHECK(validate(*problem).has_value());
  };
  same("permute f16 1x2x2x4 layout=nchw:nhwc", "permute f16 1x2x2x4 layout=NCHW:NHWC");
  same("permute f16 1x2x2x4 layout=nhwc:NCHW4C", "permute f16 1x2x2x4 layout=NHWC:NCHW4c");
  same("permute f16 64x32 layout=oi:oi4I8O2i", "permute f16 64x32 layout=OI:OI4i8o2i");
  same("permute f16 1x2x4x4x4 layout=nchw4c:nhwc extent=c:7 scale=c bias=h",
       "permute f16 1x2x4x4x4 layout=NCHW4c:NHWC extent=C:7 scale=C bias=H");
  same("conv2d f16 NHWC:NCHW4c 1x3x8x8 k=4 r=3x3 weights=KRSC",
       "conv2d f16 nhwc:nchw4c 1x3x8x8 k=4 r=3x3 weights=krsc");
  same("matmul f16 NT 4x5x6", "matmul f16 nt 4x5x6");
}

TEST_CASE("parse errors name the token and its column") {
  CHECK(all_operations().starts_with("permute, matmul"));
  CHECK(parse_error("") == "parse: operation: not there (want " + all_operations() + ")");
  CHECK(parse_error("  transpose f32") ==
        "parse: operation: \"transpose\" at column 3 (want " + all_operations() + ")");
  CHECK(parse_error("permute") == "parse: type: not there (want permute TYPE SIZES axes=... or layout=...)");
  CHECK(parse_error("permute f32") == "parse: shape: not there (want sizes, as in 2x3x4)");
  CHECK(parse_error("permute f32 2xx3") == "parse: shape: \"\" at column 15 (want an integer)");
  CHECK(parse_error("permute f32 2x3.5") == "parse: shape: \"3.5\" at column 15 (want an integer)");
  CHECK(parse_error("permute f32 2x3 axes=1,a") == "parse: axes: \"a\" at column 24 (want an integer)");
  CHECK(parse_error("permute f32 2x99999999999999999999 axes=1,0") ==
        "overflow: shape: \"99999999999999999999\" at column 15 (want a number of 64 bits)");
  CHECK(parse_error("permute f32 2x3 layout=AB") ==
        "parse: layout: \"AB\" at column 24 (want source layout, a colon, destination layout)");
  CHECK(parse_error("permute f32 2x3 extent=3:c") ==
        "parse: extent: \"3:c\" at column 24 (want a letter, a colon, a size)");
  CHECK(parse_error("permute f32 2x3 axes=1,0 axes=0,1") ==
        "parse: option: \"axes=0,1\" at column 26 (want each option once)");
  CHECK(parse_error("permute f32 2x3 align=4 src.align=8").starts_with("parse: option: \"src.align=8\" at column 25"));
  CHECK(parse_error("permute f32 2x3 pad=1").starts_with("parse: option: \"pad=1\" at column 17 (want one of axes="));
  CHECK(parse_error("permute f32 2x3 axes").starts_with("parse: option: \"axes\" at column 17"));
  CHECK(parse_error("permute f32 " + std::string(1000, '7')).size() < 200);
}

TEST_CASE("problem JSON refuses by key") {
  const auto message = [](std::string_view text) {
    auto problem = problem_from_json(text);
    return problem ? "" : problem.error().message();
  };
  CHECK(message("[1") == "parse: problem: not JSON");
  CHECK(message("[1]") == "parse: problem: an array of 1 (want an object)");
  CHECK(message("{}") == "parse: problem.operation: not there");
  CHECK(message(R"({"operation":"permute","type":"f32","shape":[2.5]})") ==
        "parse: problem.shape: an array of 1 (want an integer from -9223372036854775808 to 9223372036854775807)");
  CHECK(message(R"({"operation":"permute","type":"f32","shape":[2],"axis":[0]})") ==
        "parse: problem.axis: unknown key");
  CHECK(message(R"({"operation":"permute","type":"f32","shape":[2],"axes":[4294967296]})")
            .starts_with("parse: problem.axes"));
  CHECK(message(R"({"operation":"permute","type":"f99","shape":[2]})").starts_with("parse: problem.type: f99"));
  CHECK(message(R"({"operation":"permute","type":"f32","shape":[2],"extents":{"c":1}})") ==
        "parse: problem.extents: c (want upper-case letters)");
  CHECK(message(R"({"operation":"transpose","type":"f32","shape":[2]})") ==
        "parse: problem.operation: transpose (want " + all_operations() + ")");
  CHECK(message(std::string(100, '[')) == "parse: problem: nested too deeply at byte 64 (want at most 64 levels)");
}

TEST_CASE("documented examples are valid and print as written") {
  std::ifstream file(test::source_folder() + "/docs/reference/problem-string.md");
  int examples = 0;
  for (std::string line; std::getline(file, line);) {
    bool example = false;
    detail::each_operation(
        [&](auto operation) { example |= line.starts_with("| `" + std::string(operation.kName) + " "); });
    if (!example) continue;
    const std::string text = line.substr(3, line.find('`', 3) - 3);
    CAPTURE(text);
    const auto problem = parse_problem(text);
    REQUIRE(problem.has_value());
    CHECK(print(*problem) == text);
    CHECK(validate(*problem).has_value());
    ++examples;
  }
  CHECK(examples == 35);
}
