// Reports: figures, goals, and an HTML page that needs nothing from outside.
#include "bench.hpp"
#include "text.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sectile;
using namespace sectile::tools;

namespace {

Spread seconds(double median) {
  return {median, median * 0.98, median * 1.05, 20};
}

BenchReport sample_report() {
  BenchReport report{"A <device> & \"more\"", "driver 1", "seeds-permute", "test", 0.3, 0.25, 512, {}};
  for (const BenchRow& row : seeds_rows()) {
    RowResult result;
    result.row = row;
    const auto bytes = operand_bytes(row.problem);
    REQUIRE(bytes.has_value());
    result.src_bytes = bytes->src;
    result.dst_bytes = bytes->dst;
    const double copy = static_cast<double>(bytes->src + bytes->dst) / 3.9e12 + 2e-6;
    result.candidate = "permute_tile <32>";
    result.ours = seconds(copy * 1.03);
    result.copy_kernel = seconds(copy);
    result.copy_buffer = seconds(copy * 4);
    result.empty = seconds(2e-6);
    result.rivals = {{"eager", copy * 5}, {"inductor", copy * 1.2}, {"copy_cuda", copy * 0.9}};
    report.rows.push_back(result);
  }
  RowResult broken;
  broken.row.name = "broken";
  broken.error = "no memory";
  report.rows.push_back(broken);
  return report;
}

}  // namespace

TEST_CASE("spreadIsMedianAndPercentiles") {
  const Spread spread = spread_of({5, 1, 4, 2, 3, 6, 7, 8, 9, 10, 11});
  CHECK(spread.median == 6);
  CHECK(spread.p10 == 2);
  CHECK(spread.p90 == 10);
  CHECK(spread_of({}).samples == 0);
}

TEST_CASE("theCopyIsTheFasterOfTheTwo") {
  RowResult result;
  result.ours = seconds(1.0);
  result.copy_kernel = seconds(0.9);
  result.copy_buffer = seconds(0.8);
  result.copy_command = "vkCmdCopyBuffer";
  CHECK(result.copy_name() == "vkCmdCopyBuffer");
  CHECK(result.fraction() == doctest::Approx(0.8));
  result.rivals = {{"copy_cuda", 0.1}, {"eager", 3.0}, {"inductor", 2.0}};
  CHECK(result.best_rival()->first == "inductor");
}

TEST_CASE("goalsFollowTheSize") {
  RowResult result;
  result.copy_kernel = seconds(90e-6);
  result.copy_buffer = seconds(100e-6);
  result.empty = seconds(2e-6);
  result.ours = seconds(96e-6);  // 0.9375 of the copy
  result.src_bytes = result.dst_bytes = std::uint64_t{64} << 20;
  CHECK_FALSE(goal_of(result).met);
  result.src_bytes = result.dst_bytes = std::uint64_t{16} << 20;
  CHECK(goal_of(result).met);
  result.src_bytes = result.dst_bytes = 40000;
  result.copy_kernel = seconds(2e-6);
  result.ours = seconds(5.9e-6);
  CHECK(goal_of(result).met);
  result.ours = seconds(6.1e-6);
  CHECK_FALSE(goal_of(result).met);
}

TEST_CASE("htmlIsSelfContained") {
  const std::string html = to_html(sample_report());
  CHECK(html.size() > 10000);
  CHECK(html.find("<svg") != std::string::npos);
  for (const char* outside : {"http:", "https:", "src=", "href=", "@import", "url(", "<script", "<link", "<iframe"}) {
    CAPTURE(outside);
    CHECK(html.find(outside) == std::string::npos);
  }
  CHECK(html.find("A &lt;device&gt; &amp; &quot;more&quot;") != std::string::npos);
  CHECK(html.find("permute_tile <32>") == std::string::npos);
  CHECK(html.find("nan") == std::string::npos);
  CHECK(html.find("inf") == std::string::npos);
}

TEST_CASE("jsonHasEveryRow") {
  const BenchReport report = sample_report();
  const auto json = to_json(report);
  REQUIRE(json["rows"].size() == report.rows.size());
  CHECK(json["rows"][0]["best_rival"] == "inductor");
  CHECK(json["rows"].back()["error"] == "no memory");
  const std::string table = print_table(report);
  CHECK(table.find("broken: no memory") != std::string::npos);
}

TEST_CASE("everyPresetRowIsValidAndNamedOnce") {
  for (const char* preset : {"seeds-permute", "cpu"}) {
    std::map<std::string, int> names;
    const auto rows = preset_rows(preset);
    REQUIRE(rows.has_value());
    for (const BenchRow& row : *rows) {
      CAPTURE(row.name);
      CHECK(validate(row.problem).has_value());
      CHECK(names[row.name]++ == 0);
    }
  }
  // The rivals are told plain axes: those of NHWC->NCHW are NumPy's 0,3,1,2.
  const auto json = rows_json(seeds_rows());
  CHECK(json["rows"][0]["axes"] == nlohmann::json::array({0, 3, 1, 2}));
}

TEST_CASE("tablesAlignAndListsParse") {
  Table table({"name", "n"});
  table.add({"a", "1"});
  table.add({"bcd", "123"});
  CHECK(table.print() == "name    n\na       1\nbcd   123\n");
  std::vector<std::int64_t> list;
  CHECK(parse_list("3,-1,0", list));
  CHECK(list == std::vector<std::int64_t>{3, -1, 0});
  for (const char* bad : {"", ",", "1,", ",1", "1 2", "a", "1,,2", "99999999999999999999"})
    CHECK_FALSE(parse_list(bad, list));
}
