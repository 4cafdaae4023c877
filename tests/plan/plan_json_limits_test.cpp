// JSON of plans and problems at the limits of what reads it: a value at a limit is read, the next one is
// refused by its path.
#include "helpers.hpp"
#include "made_up.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <utility>

using namespace sectile;

namespace {

std::string plan_message(const nlohmann::json& json) {
  const auto plan = plan_from_json(json.dump(), test::gpu(), {.trusted = true});
  return plan ? "" : plan.error().message();
}

std::string problem_message(const std::string& text) {
  const auto problem = problem_from_json(text);
  return problem ? "" : problem.error().message();
}

}  // namespace

TEST_CASE("each list of a plan's JSON has at most so many items") {
  Plan plan = made_up::two_steps();
  plan.steps[0].tensor_maps = {{0, 0, 4, {32, 32}, {128}, {32, 8}, 128}};
  plan.candidates.resize(1);
  const auto whole = nlohmann::json::parse(to_json(plan));
  struct List {
    std::string pointer, name;
    std::size_t most;
  };
  const List lists[] = {{"/steps", "plan.steps", 64},
                        {"/operands", "plan.operands", 64},
                        {"/candidates", "plan.candidates", 4096},
                        {"/steps/0/accesses", "plan.steps.accesses", 1024},
                        {"/steps/0/addresses", "plan.steps.addresses", 1024},
                        {"/steps/0/constants", "plan.steps.constants", 1024},
                        {"/steps/0/tensor_maps", "plan.steps.tensor_maps", 1024}};
  for (const List& one : lists)
    for (const std::size_t count : {one.most, one.most + 1}) {
      nlohmann::json changed = whole;
      nlohmann::json& list = changed.at(nlohmann::json::json_pointer(one.pointer));
      const nlohmann::json item = list.at(0);
      list = nlohmann::json::array_t(count, item);
      // With as many as are read, check_plan may refuse the plan for another reason.
      const std::string said = plan_message(changed);
      const std::string many =
          fmt::format("parse: {}: an array of {} (want an array of at most {})", one.name, count, one.most);
      CHECK_MESSAGE((said == many) == (count > one.most), said);
      CHECK_MESSAGE(said.starts_with("parse: ") == (count > one.most), said);
    }
}

TEST_CASE("numbers of JSON are those that their fields hold") {
  const std::pair<const char*, const char*> fields[] = {{"axes", "[-2147483648]"},
                                                        {"axes", "[2147483647]"},
                                                        {"src_align", "0"},
                                                        {"src_align", "4294967295"},
                                                        {"src_offset", "-9223372036854775808"},
                                                        {"src_offset", "9223372036854775807"}};
  const std::pair<const char*, const char*> beyond[] = {{"axes", "[-2147483649]"},
                                                        {"axes", "[2147483648]"},
                                                        {"src_align", "-1"},
                                                        {"src_align", "4294967296"},
                                                        {"src_offset", "-9223372036854775809"},
                                                        {"src_offset", "9223372036854775808"}};
  const auto said = [](const char* key, const char* value) {
    return problem_message(fmt::format(R"({{"operation":"permute","type":"f32","shape":[2],"{}":{}}})", key, value));
  };
  for (const auto& [key, value] : fields) CHECK_MESSAGE(said(key, value) == "", value);
  for (const auto& [key, value] : beyond)
    CHECK_MESSAGE(said(key, value).starts_with(fmt::format("parse: problem.{}: ", key)), value);
  const auto whole = nlohmann::json::parse(to_json(made_up::two_steps()));
  for (const char* bytes : {"18446744073709551615", "18446744073709551616", "-1"}) {
    nlohmann::json changed = whole;
    changed["operands"][0]["bytes"] = nlohmann::json::parse(bytes);
    const bool fits = std::string(bytes) == "18446744073709551615";
    CHECK_MESSAGE(plan_message(changed).starts_with("parse: plan.operands.bytes: ") != fits, bytes);
  }
  for (const std::size_t sizes : {2u, 3u, 4u}) {
    nlohmann::json changed = whole;
    changed["steps"][0]["grid"] = nlohmann::json::array_t(sizes, 8);
    CHECK((plan_message(changed) ==
           fmt::format("parse: plan.steps.grid: an array of {} (want an array of 3)", sizes)) == (sizes != 3));
  }
  // The characters beside the digits, and half a byte.
  for (const char* push : {"", "09", "af", "0", "0/", "0:", "0`", "0g", "0A"}) {
    nlohmann::json changed = whole;
    changed["steps"][0]["push"] = push;
    const std::string text = push;
    const bool digits = text.empty() || text == "09" || text == "af";
    CHECK_MESSAGE(plan_message(changed).starts_with("parse: plan.steps.push: ") != digits, text);
  }
}

TEST_CASE("JSON has at most 64 MiB and 64 levels") {
  const auto nested = [](std::size_t levels) {
    return problem_message(std::string(levels, '[') + std::string(levels, ']'));
  };
  CHECK(nested(64) == "parse: problem: an array of 1 (want an object)");
  CHECK(nested(65) == "parse: problem: nested too deeply at byte 64 (want at most 64 levels)");
  // Arrays side by side are one level, and brackets in a string are none.
  std::string side_by_side = "[";
  for (int i = 0; i < 100; ++i) side_by_side += "[],";
  CHECK(problem_message(side_by_side + "{}]") == "parse: problem: an array of 101 (want an object)");
  CHECK(problem_message(R"({"operation":")" + std::string(100, '[') + R"("})")
            .starts_with("parse: problem.operation: [[["));
  std::string text(std::size_t{64} << 20, 'x');
  CHECK(problem_message(text) == "parse: problem: not JSON");
  text += 'x';
  CHECK(problem_message(text) == "parse: problem: 67108865 bytes (want at most 64 MiB of JSON)");
}

TEST_CASE("errors show 60 bytes of what JSON says, and whole letters") {
  const auto said = [](const std::string& operation) {
    return problem_message(R"({"operation":")" + operation + R"("})");
  };
  const std::string shown(60, 'x');
  CHECK(said(shown).starts_with("parse: problem.operation: " + shown + " (want "));
  CHECK(said(shown + "x").starts_with("parse: problem.operation: " + shown + "... (want "));
  const std::string accented = "\xc3\xa9";
  CHECK(
      said(shown.substr(2) + accented).starts_with("parse: problem.operation: " + shown.substr(2) + accented + " (w"));
  CHECK(said(shown.substr(1) + accented).starts_with("parse: problem.operation: " + shown.substr(1) + "... (want "));
}

TEST_CASE("extents of JSON have one letter from A to Z each") {
  for (const char* key : {"A", "Z", "@", "[", "a", "", "AB"}) {
    const std::string text =
        fmt::format(R"({{"operation":"permute","type":"f32","shape":[2],"extents":{{"{}":1}}}})", key);
    const bool fine = std::string(key) == "A" || std::string(key) == "Z";
    CHECK_MESSAGE(problem_message(text).starts_with("parse: problem.extents") != fine, key);
  }
}
