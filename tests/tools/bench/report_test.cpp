// Reports: figures, goals, and an HTML page that needs nothing from outside.
#include "bench/operation.hpp"
#include "bench/page.hpp"
#include "cli/text.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace sectile;
using namespace sectile::tools;

namespace {

Spread seconds(double median) { return {median, median * 0.98, median * 1.05, 20}; }

// One row with its own plan timed.
RowResult timed_row(const BenchRow& row, double seconds_of_it) {
  RowResult result;
  result.row = row;
  ContenderTime own{.label = "planned",
                    .problem = print(row.problem),
                    .candidate = "permute_tile <32>",
                    .plan = {},
                    .statistics = {},
                    .error = {},
                    .chosen = true,
                    .work = bench_operation(row.problem).work(row.problem),
                    .time = seconds(seconds_of_it)};
  result.contenders.push_back(std::move(own));
  return result;
}

RowResult broken_row(const char* name, const char* error) {
  RowResult broken;
  broken.row.name = name;
  broken.error = error;
  return broken;
}

std::vector<BenchRow> rows_of_preset(const char* name) {
  auto rows = preset_rows(name);
  REQUIRE(rows.has_value());
  return *rows;
}

BenchReport sample_report() {
  BenchReport report{
      "A <device> & \"more\"",       "driver 1", "seeds-permute", "test", 0.3, 0.25, 512, {}, "2026-11-23T12:34Z",
      "sectile bench --html 'a <b>'"};
  for (const BenchRow& row : rows_of_preset("seeds-permute")) {
    const double copy = bench_operation(row.problem).work(row.problem).bytes() / 3.9e12 + 2e-6;
    RowResult result = timed_row(row, copy * 1.03);
    result.copy_kernel = seconds(copy);
    result.copy_buffer = seconds(copy * 4);
    result.empty = seconds(2e-6);
    result.rivals = {{"eager", copy * 5}, {"inductor", copy * 1.2}, {"copy_cuda", copy * 0.9}};
    report.rows.push_back(result);
  }
  report.rows.push_back(broken_row("broken", "no memory"));
  return report;
}

BenchReport sample_matmuls() {
  BenchReport report{"A <device>",
                     "driver & 2",
                     "dietcode",
                     "test",
                     0.3,
                     0.25,
                     512,
                     {},
                     "2026-11-23T12:34Z",
                     "sectile bench --rivals 'r<1>.json'"};
  for (const BenchRow& row : rows_of_preset("dietcode")) {
    const double best = bench_operation(row.problem).work(row.problem).operations / 3e13 + 5e-6;
    RowResult result;
    for (const char* label : {"planned", "planned, rounded up", "cost 1234"}) {
      RowResult one = timed_row(row, best * (1 + 0.1 * static_cast<double>(result.contenders.size())));
      one.contenders[0].label = label;
      one.contenders[0].candidate = std::string("matmul_simt <") + label + ">";
      one.contenders[0].listed = std::string_view(label) == "cost 1234";
      if (result.contenders.empty())
        result = one;
      else
        result.contenders.push_back(one.contenders[0]);
    }
    result.rivals = {{"torch <eager>", best * 1.3}, {"cutlass", best * 1.1}};
    report.rows.push_back(result);
  }
  report.rows[0].row.goal_vulkan = 1.05;
  report.rows[1].row.goal_vulkan = 2;
  report.rows[1].unsteady = true;
  report.rows[2].contenders[1].time = {};
  report.rows[2].contenders[1].error = "WRONG <RESULT>";
  report.rows[3].rivals.clear();
  RowResult broken = broken_row("broken <row>", "no <memory>");
  broken.row.problem = report.rows[0].row.problem;
  report.rows.push_back(broken);
  return report;
}

// Nothing that a browser would fetch or run, and no figure that is none.
void check_self_contained(const std::string& html) {
  for (const char* outside :
       {"http:", "https:", "src=", "href=", "@import", "url(", "<script", "<link", "<iframe", "nan", "inf"}) {
    CAPTURE(std::string(outside));
    CHECK(html.find(outside) == std::string::npos);
  }
}

void check_has(const std::string& html, std::initializer_list<const char*> texts) {
  for (const char* text : texts) {
    CAPTURE(std::string(text));
    CHECK(html.find(text) != std::string::npos);
  }
}

std::size_t count(const std::string& html, std::string_view text) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = html.find(text, at)) != std::string::npos; at += text.size()) ++found;
  return found;
}

}  // namespace

TEST_CASE("spread is median and percentiles") {
  const Spread spread = spread_of({5, 1, 4, 2, 3, 6, 7, 8, 9, 10, 11});
  CHECK(spread.median == 6);
  CHECK(spread.p10 == 2);
  CHECK(spread.p90 == 10);
  CHECK(spread_of({}).samples == 0);
}

TEST_CASE("the copy is the faster of the two") {
  RowResult result = timed_row(row_of_text("permute f32 8x6 axes=1,0").value(), 1.0);
  result.copy_kernel = seconds(0.9);
  result.copy_buffer = seconds(0.8);
  result.copy_command = "vkCmdCopyBuffer";
  CHECK(result.copy_name() == "vkCmdCopyBuffer");
  CHECK(result.fraction() == doctest::Approx(0.8));
  result.rivals = {{"copy_cuda", 0.1}, {"eager", 3.0}, {"inductor", 2.0}};
  CHECK(result.best_rival()->first == "inductor");
}

TEST_CASE("goals follow the size") {
  RowResult result = timed_row(row_of_text("permute f32 8x6 axes=1,0").value(), 96e-6);  // 0.9375 of the copy
  result.copy_kernel = seconds(90e-6);
  result.copy_buffer = seconds(100e-6);
  result.empty = seconds(2e-6);
  Work& work = result.contenders[0].work;
  work.read = work.written = 64 << 20;
  CHECK(goal_of(result).text == ">= 0.95");
  CHECK(goal_of(result).met == false);
  work.read = work.written = 16 << 20;
  CHECK(goal_of(result).met == true);
  work.read = work.written = 40000;
  result.copy_kernel = seconds(2e-6);
  result.contenders[0].time = seconds(5.9e-6);
  CHECK(goal_of(result).met == true);
  result.contenders[0].time = seconds(6.1e-6);
  CHECK(goal_of(result).met == false);
}

TEST_CASE("HTML is self contained") {
  BenchReport report = sample_report();
  report.rows[4].contenders[0].time = seconds(1);
  const std::string html = to_html(page_of(report));
  CHECK(html.size() > 10000);
  check_self_contained(html);
  check_has(html, {"<svg", "A &lt;device&gt; &amp; &quot;more&quot;", "driver 1", "2026-11-23T12:34Z", "'a &lt;b&gt;'",
                   "no memory", "&gt;= 0.95 ", "not met", "copy kernel", "inductor", "MiB</text>", "width=device-width",
                   "prefers-color-scheme:dark"});
  CHECK(html.find("permute_tile <32>") == std::string::npos);
  CHECK(html.find(">unsteady<") == std::string::npos);
  // A whisker for each row that was timed; rivals tell one time only.
  CHECK(count(html, "class=\"w\"") == rows_of_preset("seeds-permute").size());
  report.rows[3].unsteady = true;
  CHECK(count(to_html(page_of(report)), ">unsteady<") == 2);  // its bars and its figures
}

TEST_CASE("HTML of matmuls is self contained") {
  const BenchReport report = sample_matmuls();
  const std::string html = to_html(page_of(report));
  check_self_contained(html);
  for (const RowResult& result : report.rows) CHECK(html.find(markup_text(result.row.name)) != std::string::npos);
  check_has(html, {"A &lt;device&gt;", "driver &amp; 2", "2026-11-23T12:34Z", "'r&lt;1&gt;.json'", "TFLOP/s",
                   "operations a byte", "torch &lt;eager&gt;", "cutlass", "planned, rounded up",
                   "matmul_simt &lt;cost 1234&gt;", "WRONG &lt;RESULT&gt;", "broken &lt;row&gt;", "no &lt;memory&gt;",
                   "Rate relative to the best rival", "&gt;= 1.05 of the best rival <span class=\"good\">met<",
                   "&gt;= 2.00 of the best rival <span class=\"bad mark\">not met<"});
  CHECK(count(html, ">unsteady<") == 2);
  CHECK(count(html, "class=\"w\"") == 3 * 6 - 1);
  for (const char* raw : {"<device>", "<eager>", "<1>", "<RESULT>", "<row>", "<memory>", "<cost"}) {
    CAPTURE(std::string(raw));
    CHECK(html.find(raw) == std::string::npos);
  }
}

TEST_CASE("matmuls without rivals are relative to their own best") {
  BenchReport report = sample_matmuls();
  for (RowResult& result : report.rows) result.rivals.clear();
  const Page page = page_of(report);
  REQUIRE(page.parts.size() == 1);
  CHECK(page.parts[0].reference_name.empty());
  CHECK(page.parts[0].rows[0].reference_seconds == 0);
  CHECK_FALSE(page.parts[0].rows[0].goal_met.has_value());
  const std::string html = to_html(page);
  check_self_contained(html);
  check_has(html, {"Rate relative to each row's best", "&gt;= 1.05"});
  CHECK(html.find("met<") == std::string::npos);
}

TEST_CASE("HTML without rows is whole") {
  for (const std::string& html : {to_html(page_of(BenchReport())), to_html(Page())}) {
    check_self_contained(html);
    check_has(html, {"<!doctype html>", "There are no rows.", "</html>"});
  }
  BenchReport failed;
  failed.rows.emplace_back().error = "no device";
  const std::string html = to_html(page_of(failed));
  check_self_contained(html);
  check_has(html, {"no device"});
  CHECK(html.find("<svg") == std::string::npos);
}

TEST_CASE("pages of odd contents are whole") {
  Page page;
  PagePart& part = page.parts.emplace_back();
  page.title = page.command = page.device = page.driver = page.notes = part.title = part.reference_name =
      "</style><b onclick=\"x\">";
  part.work_unit = part.x_label = part.y_label = part.ceiling_name = "</svg><i>";
  part.ceiling = {{0, 1}, {1, 0}, {2, 3}};
  page.tables = {{"<u>", {"<a>", "b"}, {{"1"}, {"<td>", "2", "3"}, {}}}};
  page.histograms = {{"<hr>", {"<0.5", ">0.5", "too many"}, {3, 0}}, {"empty", {}, {}}};
  PageSeries odd, one;
  odd.name = one.name = "<s>";
  odd.kernel = "<k>";
  one.seconds = one.p10 = one.p90 = 1e-3;
  PageRow row;
  row.name = "<p>";
  row.group = "<g>";
  row.detail = "<d>";
  row.goal = "<o>";
  row.series = {odd};
  part.rows = {row, row};
  part.rows[1].series = {one, one};
  part.rows[1].work = 1;
  part.rows[1].intensity_or_bytes = 1;
  const std::string html = to_html(page);
  check_self_contained(html);
  check_has(html, {"not timed", "&lt;p&gt;", "&lt;g&gt;", "&lt;0.5"});
  for (const char* raw : {"</style><b", "<i>", "<u>", "<a>", "<hr>", "<0.5", "<s>", "<k>", "<g>", "<d>", "<o>"}) {
    CAPTURE(std::string(raw));
    CHECK(html.find(raw) == std::string::npos);
  }
  CHECK(count(html, "<h1>") == 1);
}

TEST_CASE("a page of numbers without bound is drawn and has no end missing") {
  Page page;
  PagePart& part = page.parts.emplace_back();
  part.ceiling = {{1, 1e-308}, {1e308, 1e308}};
  part.ceiling_name = "the ceiling";
  for (const double seconds : {1e308, 1e-308, 1.0}) {
    PageRow row;
    row.work = row.intensity_or_bytes = 1;
    row.series = {PageSeries{.name = "one", .seconds = seconds, .kernel = {}, .error = {}}};
    part.rows.push_back(row);
  }
  const std::string html = to_html(page);  // once without an end: the axis began at 0
  check_self_contained(html);
  CHECK(html.find("the ceiling") == std::string::npos);
}

TEST_CASE("a legend names what is drawn and an option is not broken after its dashes") {
  BenchReport report = sample_report();
  report.command = "sectile bench --min-time 1";
  CHECK(count(to_html(page_of(report)), "</svg> the copy<") == 1);
  report.rows.resize(1);  // one size has one point of the copy's
  const std::string html = to_html(page_of(report));
  CHECK(count(html, "</svg> the copy<") == 0);
  CHECK(count(html, "class=\"ceiling\" x1") == 0);
  check_has(html, {"sectile bench <span class=\"o\">--min-time</span> 1", ".o{display:inline-block"});
}

TEST_CASE("a note that two operations share stands once") {
  BenchReport report = sample_matmuls();
  report.rows.push_back(timed_row(row_of_text("conv2d f32 nhwc 1x16x16x16 k=8 r=3x3").value(), 1e-3));
  const Page page = page_of(report);
  REQUIRE(page.parts.size() == 2);
  CHECK(count(page.notes, "are two operations") == 1);
}

TEST_CASE("JSON has every row") {
  const BenchReport report = sample_report();
  const auto json = to_json(report);
  REQUIRE(json["rows"].size() == report.rows.size());
  CHECK(json["rows"][0]["best_rival"] == "inductor");
  CHECK(json["rows"].back()["error"] == "no memory");
  CHECK(json["date"] == report.date);
  CHECK(json["command"] == report.command);
  CHECK(to_json(sample_matmuls())["command"] == sample_matmuls().command);
  const std::string table = print_table(report);
  CHECK(table.find("broken: no memory") != std::string::npos);
}

// Figures that have no unit in common stand in tables and parts of a page of their own.
TEST_CASE("operations share one report") {
  BenchReport report = sample_matmuls();
  for (RowResult& result : sample_report().rows)
    if (result.error.empty()) report.rows.push_back(std::move(result));
  const Page page = page_of(report);
  REQUIRE(page.parts.size() == 2);
  CHECK(page.parts[0].work_unit == "GB/s");
  CHECK(page.parts[1].work_unit == "TFLOP/s");
  CHECK(page.parts[0].rows.size() + page.parts[1].rows.size() == report.rows.size());
  const std::string html = to_html(page);
  check_self_contained(html);
  check_has(html, {"permute: Rate relative to the copy", "matmul: Rate relative to the best rival", "permute: Roofline",
                   "matmul: Roofline"});
  const std::string table = print_table(report);
  CHECK(count(table, "TFLOP/s") == 1);
  CHECK(count(table, "copy GB/s") == 1);
  CHECK(table.find("broken <row>: no <memory>") != std::string::npos);
  const auto json = to_json(report);
  CHECK(json["rows"].front()["contenders"].size() == 3);
  CHECK(json["rows"].front()["contenders"][0].contains("flops"));
  CHECK(json["rows"].front()["goal"] == 1.05);
  CHECK_FALSE(json["rows"].front().contains("copy_kernel"));
  CHECK(json["rows"].back().contains("copy_kernel"));
  CHECK(json["rows"].back()["contenders"].size() == 1);
}

TEST_CASE("candidates are listed fastest first and failures last") {
  RowResult result = timed_row(row_of_text("permute f32 8x6 axes=1,0").value(), 3e-6);
  for (const auto& [name, time, error] :
       {std::tuple("broken", 0.0, "no memory"), std::tuple("fast", 1e-6, ""), std::tuple("slow", 5e-6, "")}) {
    ContenderTime other = result.contenders[0];
    other.chosen = false;
    other.candidate = name;
    other.error = error;
    other.time = seconds(time);
    result.contenders.push_back(other);
  }
  CHECK(result.candidates().empty());  // without --all-candidates
  for (ContenderTime& time : result.contenders) time.listed = true;
  std::vector<std::string> names;
  for (const ContenderTime* candidate : result.candidates()) names.push_back(candidate->candidate);
  CHECK(names == std::vector<std::string>{"fast", "permute_tile <32>", "slow", "broken"});
  BenchReport report;
  report.rows.push_back(result);
  CHECK(to_json(report)["rows"][0]["candidates"][3]["error"] == "no memory");
  CHECK(print_candidates(result).find("no memory") != std::string::npos);
}

// Rivals' figures are known by a row's name: two problems never share one.
TEST_CASE("a rows short name says all of its problem") {
  const auto name = [](const std::string& text) { return row_of_text(text).value().name; };
  CHECK(name("permute f32 8x6 axes=1,0") == "8x6 (1,0) f32");
  CHECK(name("permute f16 1x8x6x4 layout=NHWC:NCHW") == "1x8x6x4 NHWC->NCHW f16");
  for (const char* text : {"permute f32 8x6 axes=1,0 src.strides=9x1", "permute f32 8x6 axes=1,0 dst.offset=5",
                           "permute f32 8x6 axes=1,0 src.align=4", "permute f32 8x6 axes=1,0 out=f16",
                           "permute f16 1x2x7x5x8 layout=NCHW8c:NCHW4c extent=C:13", "matmul f32 nn 4x4x4"})
    CHECK(name(text) == text);
}

TEST_CASE("every preset row is valid and named once") {
  for (const char* preset : {"seeds-permute", "cpu", "images", "matmul", "matmul-units", "gemm-ladder", "dietcode",
                             "conv2d", "conv2d-fusion"}) {
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
  const auto json = rows_json(rows_of_preset("seeds-permute"));
  CHECK(json["rows"][0]["axes"] == nlohmann::json::array({0, 3, 1, 2}));
}

TEST_CASE("the matrix unit's rows on CUDA have goals, and are all of their table") {
  std::vector<std::string> names;
  for (const BenchRow& row : rows_of_preset("matmul-units")) {
    CAPTURE(row.name);
    CHECK(row.goal_cuda >= 0.8);
    CHECK(row.goal_vulkan == 0);
    names.push_back(row.name);
  }
  CHECK(names.size() == 2 * 4 * 2 + 1 + 1 + 3 * 2);
  for (const char* name :
       {"matmul f16 nn 1024x1024x1024", "matmul f16 nt 8192x8192x8192", "matmul bf16 nt 2048x2048x2048",
        "matmul i8 nt 4096x4096x4096", "matmul f16 nt 960x2304x770", "matmul f16 nt 4096x4096x4096 epi=bias+gelu",
        "matmul f16 nt 1000x4096x4096 epi=bias+residual", "matmul f16 nt 256x768x2304 epi=bias+gelu"})
    CHECK_MESSAGE(std::ranges::contains(names, name), name);
}

TEST_CASE("reports know their date and command") {
  const std::string date = utc_now(), command = command_line();
  CHECK(date.size() == 17);
  CHECK(date[10] == 'T');
  CHECK(date.back() == 'Z');
  CHECK(command.find("test_tools") != std::string::npos);
}

TEST_CASE("rivals are told all of a permutation") {
  const auto told = [](const char* text) {
    const auto problem = parse_problem(text);
    REQUIRE_MESSAGE(problem.has_value(), text);
    const BenchRow row{.name = "row", .problem = *problem};
    return rows_json({&row, 1})["rows"][0];
  };
  const auto plain = told("permute f32 8x6 axes=1,0");
  CHECK(plain["name"] == "row");
  CHECK(plain["problem"] == "permute f32 8x6 axes=1,0");
  CHECK(plain["axes"] == nlohmann::json({1, 0}));
  for (const char* key :
       {"permutation", "src_layout", "extents", "src_strides", "dst_strides", "src_offset", "src_align", "out"})
    CHECK_MESSAGE(!plain.contains(key), key);

  const auto strided = told(
      "permute f32 8x6 axes=1,0 src.strides=9x1 dst.strides=16x2 src.offset=3 dst.offset=5 src.align=4 dst.align=8");
  CHECK(strided["axes"].is_null());
  CHECK(strided["permutation"] == nlohmann::json({1, 0}));
  CHECK(strided["src_strides"] == nlohmann::json({9, 1}));
  CHECK(strided["dst_strides"] == nlohmann::json({16, 2}));
  CHECK(strided["src_offset"] == 3);
  CHECK(strided["dst_offset"] == 5);
  CHECK(strided["src_align"] == 4);
  CHECK(strided["dst_align"] == 8);

  const auto blocked = told("permute f16 8x2x7x5x8 layout=NCHW8c:NCHW4c extent=C:13");
  CHECK(blocked["axes"].is_null());
  CHECK(blocked["src_layout"] == "NCHW8c");
  CHECK(blocked["dst_layout"] == "NCHW4c");
  CHECK(blocked["extents"] == nlohmann::json{{"C", 13}});

  // Elements that are computed with are no permutation that NumPy could be timed by.
  const auto staged = told("permute f32 8x6 axes=1,0 out=i8 alpha=0.5");
  CHECK(staged["axes"].is_null());
  CHECK(staged["out"] == "i8");
}

TEST_CASE("rivals are told all of a matmul") {
  const auto told = [](const char* text) {
    const auto problem = parse_problem(text);
    REQUIRE_MESSAGE(problem.has_value(), text);
    const BenchRow row = bench_operation(*problem).row(*problem);
    return rows_json({&row, 1})["rows"][0];
  };
  const auto plain = told("matmul i8 nt 8x6x4");
  CHECK(plain["type"] == "i8");
  CHECK(plain["a_type"] == "i8");
  CHECK(plain["b_format"] == "plain");
  CHECK(plain["out"] == "i32");
  CHECK(plain["alpha"] == 1.0);
  CHECK(plain["beta"] == 0.0);
  CHECK(plain["c_is_d"] == false);
  for (const char* key : {"bias", "scale", "activation"}) CHECK_MESSAGE(plain[key] == "none", key);
  for (const char* key : {"lda", "ldb", "ldc", "ldd", "ldr", "a_batch", "d_batch"})
    CHECK_MESSAGE(!plain.contains(key), key);

  const auto full = told(
      "matmul f16 tn 8x6x4 batch=3 a=f32 b=q8 out=f32 lda=9 ldb=10 ldd=40 ldr=7 a.batch=0 d.batch=320 "
      "alpha=0.5 beta=-2 c=d epi=scale.m+bias+gelu_tanh+residual pro=scale");
  CHECK(full["a_type"] == "f32");
  CHECK(full["b_type"] == "i8");
  CHECK(full["b_format"] == "q8");
  CHECK(full["out"] == "f32");
  CHECK(full["lda"] == 9);
  CHECK(full["ldb"] == 10);
  CHECK(full["ldd"] == 40);
  CHECK(full["ldr"] == 7);
  CHECK(full["a_batch"] == 0);
  CHECK(full["d_batch"] == 320);
  CHECK(full["alpha"] == 0.5);
  CHECK(full["beta"] == -2.0);
  CHECK(full["c_is_d"] == true);
  CHECK(full["scale"] == "row");
  CHECK(full["bias"] == "column");
  CHECK(full["activation"] == "gelu_tanh");
  CHECK(told("matmul f32 nn 8x6x4 epi=residual+clamp:0:6")["activation"] == "clamp:0:6 last");
  CHECK(full["residual"] == true);
  CHECK(full["a_scale"] == true);
}

TEST_CASE("rivals are told all of a convolution") {
  const auto told = [](const char* text) {
    const auto problem = parse_problem(text);
    REQUIRE_MESSAGE(problem.has_value(), text);
    const BenchRow row = bench_operation(*problem).row(*problem);
    return rows_json({&row, 1})["rows"][0];
  };
  const auto plain = told("conv2d i8 nchw 2x6x9x8 k=4 r=3");
  CHECK(plain["operation"] == "conv2d");
  CHECK(plain["type"] == "i8");
  CHECK(plain["x_type"] == "i8");
  CHECK(plain["w_type"] == "i8");
  CHECK(plain["w_format"] == "plain");
  CHECK(plain["out"] == "i32");
  CHECK(plain["x_layout"] == "nchw");
  CHECK(plain["y_layout"] == "nchw");
  CHECK(plain["w_layout"] == "kcrs");
  CHECK(plain["groups"] == 1);
  CHECK(plain["alpha"] == 1.0);
  CHECK(plain["beta"] == 0.0);
  CHECK(plain["activation"] == "none");
  for (const char* key : {"stride", "dilation"}) CHECK_MESSAGE(plain[key] == nlohmann::json({1, 1}), key);
  CHECK(plain["pad"] == nlohmann::json({0, 0, 0, 0}));
  for (const char* key : {"c_is_d", "bias", "scale", "residual", "x_scale", "x_bias", "x_relu"})
    CHECK_MESSAGE(plain[key] == false, key);
  for (const char* key : {"x_pitch", "y_pitch", "c_pitch", "r_pitch"}) CHECK_MESSAGE(!plain.contains(key), key);

  const auto full = told(
      "conv2d f16 nhwc:nchw 2x6x19x18 k=4 r=3x2 s=2,1 p=1,2,3,4 d=1,2 g=2 weights=rsck x=f32 w=q8 out=f32 x.pitch=16 "
      "y.pitch=4000 r.pitch=5000 alpha=0.5 beta=-2 c=y epi=scale+bias+silu+residual pro=scale+bias+relu");
  CHECK(full["x_layout"] == "nhwc");
  CHECK(full["y_layout"] == "nchw");
  CHECK(full["w_layout"] == "rsck");
  CHECK(full["x_type"] == "f32");
  CHECK(full["w_type"] == "i8");
  CHECK(full["w_format"] == "q8");
  CHECK(full["out"] == "f32");
  const std::map<std::string, int> sizes = {{"n", 2}, {"c", 6}, {"h", 19}, {"w", 18}, {"k", 4}, {"r", 3}, {"s", 2}};
  for (const auto& [key, size] : sizes) CHECK_MESSAGE(full[key] == size, key);
  CHECK(full["stride"] == nlohmann::json({2, 1}));
  CHECK(full["dilation"] == nlohmann::json({1, 2}));
  CHECK(full["pad"] == nlohmann::json({1, 2, 3, 4}));
  CHECK(full["groups"] == 2);
  CHECK(full["x_pitch"] == 16);
  CHECK(full["y_pitch"] == 4000);
  CHECK(full["r_pitch"] == 5000);
  CHECK(full["activation"] == "silu");
  for (const char* key : {"c_is_d", "bias", "scale", "residual", "x_scale", "x_bias", "x_relu"})
    CHECK_MESSAGE(full[key] == true, key);
}

TEST_CASE("a convolution's work is that of its definition") {
  const auto work = [](const char* text) {
    const Problem problem = parse_problem(text).value();
    return bench_operation(problem).work(problem);
  };
  const Work plain = work("conv2d f16 nhwc 2x6x9x8 k=4 r=3x2 p=1,0,1,0");  // 9 x 7 results of 36 products
  CHECK(plain.operations == 2.0 * 2 * 4 * 9 * 7 * 36);
  CHECK(plain.read == 2.0 * (2 * 6 * 9 * 8 + 4 * 6 * 3 * 2));
  CHECK(plain.written == 2.0 * 2 * 4 * 9 * 7);
  CHECK(work("conv2d f16 nhwc 2x6x9x8 k=4 r=3x2 p=1,0,1,0 g=2").operations == plain.operations / 2);
  CHECK(work("conv2d f16 nhwc 2x6x9x8 k=4 r=3x2 p=1,0,1,0 s=2").operations == 2.0 * 2 * 4 * 5 * 4 * 36);
}

TEST_CASE("tables align and lists parse") {
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

TEST_CASE("a permute's work is what it reads and writes, not what a layout's blocks have beside it") {
  const auto work_of = [](const char* text) {
    const auto problem = parse_problem(text);
    REQUIRE(problem.has_value());
    const Work work = bench_operation(*problem).work(*problem);
    return std::pair(work.read, work.written);
  };
  CHECK(work_of("permute u8 10x3x5x7 axes=0,2,3,1") == std::pair(1050.0, 1050.0));
  CHECK(work_of("permute f16 10x3x5x7 layout=NCHW:NCHW8c") == std::pair(2100.0, 5600.0));  // zeros are written
  CHECK(work_of("permute f32 10x2x5x7x4 layout=NCHW4c:NHWC extent=C:5") == std::pair(7000.0, 7000.0));
  CHECK(work_of("permute u8 9x7 axes=1,0 src.strides=8x1 dst.strides=10x1") == std::pair(63.0, 63.0));
}
