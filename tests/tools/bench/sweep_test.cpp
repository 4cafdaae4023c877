// The problems that sweeps draw, and what is made of their times.
#include "bench/sweep.hpp"
#include "bench/operation.hpp"
#include "reference/extra_rows.hpp"
#include "support/paths.hpp"
#include "tools/run_command.hpp"

#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::test;
using namespace sectile::tools;

namespace {

std::vector<std::string> texts(const std::vector<SweepCase>& cases) {
  std::vector<std::string> list;
  list.reserve(cases.size());
  for (const SweepCase& c : cases) list.push_back(print(c.problem));
  return list;
}

std::vector<SweepCase> drawn(const std::string& operation, std::size_t cases, const char* cls = "",
                             const char* type = "", std::size_t first = 0) {
  SweepOptions options;
  options.operation = operation;
  options.seed = 11;
  options.cases = cases;
  options.first = first;
  options.only_class = cls;
  options.only_type = type;
  return sweep_cases(options).value();
}

std::int64_t innermost_of_result(const PermuteProblem& p) { return p.shape[static_cast<std::size_t>(p.axes.back())]; }

void check_permute(char letter, const PermuteProblem& p) {
  const auto bytes = operand_bytes(p).value();
  const std::int64_t element = size_bytes(p.type);
  const auto all = [&](auto&& holds) { return std::ranges::all_of(p.shape, holds); };
  if (letter != 'j') {
    CHECK(std::max(bytes.src, bytes.dst) >= 32e6);
    CHECK(std::max(bytes.src, bytes.dst) <= 512e6);
  }
  if (letter == 'a' || letter == 'b') {
    const std::size_t sides = p.shape.size() - 2;
    REQUIRE((p.axes == std::vector<int>{1, 0} || p.axes == std::vector<int>{0, 2, 1}));
    for (std::size_t i = sides; i < p.shape.size(); ++i) {
      CHECK(p.shape[i] >= 64);
      if (letter == 'a') CHECK(p.shape[i] % 64 == 0);
    }
  }
  if (letter == 'c') {
    CHECK(p.src_layout != p.dst_layout);
    CHECK(p.shape[p.src_layout.find('C')] <= 2048);
  }
  if (letter == 'd') {
    CHECK(p.shape.size() == 4);
    CHECK(std::ranges::any_of(p.shape, [](std::int64_t size) { return size >= 32 && size <= 256 && size % 8 == 0; }));
  }
  if (letter == 'e' || letter == 'f') {
    CHECK(p.axes.back() == static_cast<int>(p.shape.size()) - 1);
    CHECK((letter == 'e') == (p.shape.back() * element <= 64));
  }
  if (letter == 'g') {
    CHECK(p.axes.back() != static_cast<int>(p.shape.size()) - 1);
    for (const std::int64_t size : {p.shape.back(), innermost_of_result(p)}) CHECK((size >= 2 && size <= 40));
  }
  if (letter == 'h') {
    CHECK((p.shape.size() >= 4 && p.shape.size() <= 8));
    CHECK(all([](std::int64_t size) { return size >= 2; }));
    CHECK_FALSE(std::ranges::is_sorted(p.axes));
  }
  if (letter == 'i') CHECK((p.src_layout + p.dst_layout).find_first_of("0123456789") != std::string::npos);
  if (letter == 'j') {
    CHECK_FALSE(p.src_strides.empty());
    CHECK(p.src_align == size_bytes(p.type));
    CHECK(p.dst_align == size_bytes(p.type));
  }
}

void check_matmul(char letter, const MatmulProblem& p) {
  const auto in = [](std::int64_t value, std::int64_t low, std::int64_t high) { return value >= low && value <= high; };
  if (letter == 'a') CHECK((p.m == p.n && p.n == p.k && p.m % 64 == 0 && in(p.m, 256, 8192)));
  if (letter == 'b') CHECK((p.m == p.n && p.n == p.k && in(p.m, 256, 8192)));
  if (letter == 'c') CHECK(in(p.m, 1, 32));
  if (letter == 'd') CHECK(in(p.m, 33, 512));
  if (letter == 'e') CHECK(in(p.m, 513, 8192));
  if (letter == 'h') CHECK((in(p.m, 33, 8192) && p.bias != PerAxis::none));
  if (letter == 'c' || letter == 'd' || letter == 'e' || letter == 'h')
    CHECK((in(p.n, 1024, 32768) && in(p.k, 1024, 32768)));
  if (letter == 'f') CHECK((in(p.k, 16384, 1000000) && p.m <= 512 && p.n <= 2048));
  if (letter == 'g') CHECK((in(p.batch, 8, 2048) && in(p.m, 16, 512) && in(p.n, 16, 512) && in(p.k, 16, 512)));
  if (letter != 'g') CHECK(p.batch == 1);
}

void check_conv2d(char letter, const std::string& type, const Conv2dProblem& p) {
  const auto in = [](std::int64_t value, std::int64_t low, std::int64_t high) { return value >= low && value <= high; };
  const bool nhwc = type == "f16-nhwc", depthwise = p.groups == p.c;
  CHECK(p.type == (type == "f32-nchw" ? DType::f32 : DType::f16));
  CHECK(p.x_layout == (nhwc ? ImageLayout::nhwc : ImageLayout::nchw));
  CHECK(p.y_layout == p.x_layout);
  CHECK(p.w_layout == (nhwc ? FilterLayout::krsc : FilterLayout::kcrs));
  CHECK(p.acc == DType::f32);
  const auto filter = [&](std::int64_t side, std::int64_t stride, std::int64_t pad) {
    return p.r == side && p.s == side && p.stride_h == stride && p.stride_w == stride && p.pad_top == pad &&
           p.pad_left == pad && p.pad_bottom == pad && p.pad_right == pad;
  };
  if (letter != 'd' && letter != 'h') CHECK(p.h == p.w);
  if (letter != 'g' && letter != 'h') CHECK((p.dilation_h == 1 && p.dilation_w == 1));
  if (letter == 'a') {
    CHECK((filter(3, 1, 1) || filter(3, 2, 1) || filter(1, 1, 0) || filter(1, 2, 0)));
    CHECK((p.groups == 1 && in(p.h, 5, 96) && in(p.c, 64, 2048) && in(p.k, 64, 2048)));
  }
  if (letter == 'b') {
    CHECK((filter(3, 1, 1) || filter(3, 2, 1) || filter(1, 1, 0)));
    CHECK((p.c % 320 == 0 && p.k % 320 == 0 && p.c <= 2560 && p.k <= 1280 && in(p.h, 16, 96) && p.n <= 8));
  }
  if (letter == 'c') CHECK(((filter(7, 1, 3) && depthwise) || filter(1, 1, 0) || filter(2, 2, 0)));
  if (letter == 'd') {
    CHECK((filter(3, 1, 1) || filter(3, 2, 1) || filter(1, 1, 0)));
    CHECK((in(p.h, 5, 160) && in(p.w, 5, 160) && in(p.c, 64, 1024) && in(p.k, 18, 1024)));
  }
  if (letter == 'e') CHECK((in(p.c, 1, 4) && p.c != 2 && in(p.k, 16, 1280) && in(p.h, 160, 640)));
  if (letter == 'f') {
    CHECK((depthwise && (p.k == p.c || p.k == 2 * p.c) && p.c % 8 == 0 && in(p.c, 16, 1536)));
    CHECK((in(p.r, 3, 7) && p.r % 2 == 1 && in(p.h, 7, 224)));
    CHECK((filter(p.r, 1, p.r / 2) || filter(p.r, 2, p.r / 2)));
  }
  if (letter == 'g') CHECK((filter(3, 1, p.dilation_h) && in(p.dilation_h, 2, 24) && p.dilation_w == p.dilation_h));
  if (letter == 'h') CHECK((in(p.c, 1, 700) && in(p.k, 1, 700) && in(p.h, 5, 300) && in(p.w, 5, 300)));
  if (!p.bias) CHECK((p.activation == Activation::none && !p.residual));
}

// A neighbour contains its problem, and has no size above 64 that is no multiple of it.
void check_neighbour(const SweepCase& c) {
  if (!c.neighbour) return;
  CHECK(validate(*c.neighbour).has_value());
  if (const auto* p = std::get_if<MatmulProblem>(&c.problem)) {
    const auto& around = std::get<MatmulProblem>(*c.neighbour);
    for (const auto& [mine, rounded] :
         {std::pair(p->m, around.m), std::pair(p->n, around.n), std::pair(p->k, around.k)})
      CHECK(rounded == (mine > 64 ? (mine + 63) / 64 * 64 : mine));
    CHECK(around.batch == p->batch);
    return;
  }
  if (const auto* p = std::get_if<Conv2dProblem>(&c.problem)) {
    const auto& around = std::get<Conv2dProblem>(*c.neighbour);
    const auto rounded = [](std::int64_t size) { return size > 64 ? (size + 63) / 64 * 64 : size; };
    const bool depthwise = p->groups == p->c && p->groups > 1;
    Conv2dProblem want = *p;
    want.h = rounded(p->h);
    want.w = rounded(p->w);
    want.groups = depthwise ? rounded(p->c) : p->groups;
    want.c = depthwise ? want.groups : rounded(p->c / p->groups) * p->groups;
    want.k = depthwise ? p->k / p->c * want.groups : rounded(p->k / p->groups) * p->groups;
    CHECK(around == want);
    CHECK(around != *p);
    return;
  }
  const auto& p = std::get<PermuteProblem>(c.problem);
  const auto& around = std::get<PermuteProblem>(*c.neighbour);
  CHECK(p.axes == around.axes);
  REQUIRE(p.shape.size() == around.shape.size());
  const bool split = p.src_layout.find_first_of("0123456789") != std::string::npos;
  for (std::size_t i = 0; i < p.shape.size(); ++i) {
    CHECK(around.shape[i] >= p.shape[i]);
    if (!split) CHECK(around.shape[i] == (p.shape[i] > 64 ? (p.shape[i] + 63) / 64 * 64 : p.shape[i]));
  }
}

SweepRow row(const char* group, const char* problem, double ours, double copy) {
  SweepRow r;
  r.group = group;
  r.type = "f32";
  r.problem = problem;
  r.candidate = "kernel";
  r.ours = ours;
  r.copy = copy;
  r.bytes = 1e6;
  return r;
}

SweepReport report_of(std::vector<SweepRow> rows) {
  return {.operation = "permute",
          .device = "a <device>",
          .driver = "1",
          .planner = "4",
          .date = "2026-11-23T12:00Z",
          .command = "sectile bench --sweep permute",
          .seed = 5,
          .bytes_per_second = 1e12,
          .rows = std::move(rows)};
}

}  // namespace

// Figures of different days are to be of the same problems: this list does not change.
TEST_CASE("a sweep draws the same problems everywhere") {
  SweepOptions options;
  options.seed = 1;
  options.cases = 10;
  options.operation = "permute";
  CHECK(texts(sweep_cases(options).value()) ==
        std::vector<std::string>{
            "permute u8 100x768x6144 axes=0,2,1", "permute u8 78x219x2669 axes=0,2,1",
            "permute u8 4669x234x137x1 layout=NHWC:NCHW", "permute u8 8732x92x1x248 axes=0,2,1,3",
            "permute u8 833x26x2111x6 axes=2,0,1,3", "permute u8 15x892x57x115 axes=0,2,1,3",
            "permute u8 25x20x32563x11 axes=3,2,1,0", "permute u8 9x3x338x183x102 axes=3,0,2,4,1",
            "permute u8 928x1x26x310x32 layout=NCHW32c:NCHW8c extent=C:32",
            // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one problem in two lines
            "permute u8 20x44x14x20x9x5x12 axes=1,3,5,4,6,0,2 src.strides=11200000x224000x14000x700x70x14x1 "
            "dst.strides=6804000x272160x34020x3780x315x15x1 src.offset=11886001 dst.offset=7382340 align=1"});
  options.cases = 16;
  options.operation = "matmul";
  CHECK(texts(sweep_cases(options).value()) ==
        std::vector<std::string>{
            "matmul f32 nn 2304x2304x2304", "matmul f32 nn 266x266x266", "matmul f32 tn 17x2368x25344",
            "matmul f32 nt 93x32128x1024", "matmul f32 tt 952x8192x2944", "matmul f32 tn 54x600x495578",
            "matmul f32 tn 376x83x50 batch=260", "matmul f32 tn 786x2560x1792 epi=bias+gelu",
            "matmul f16 tn 7424x7424x7424", "matmul f16 nt 551x551x551", "matmul f16 nt 13x2560x5824",
            "matmul f16 tt 153x3072x11200", "matmul f16 nn 760x3136x18432", "matmul f16 nn 472x275x157562",
            "matmul f16 nn 266x24x344 batch=60", "matmul f16 nt 7524x6208x4864 epi=bias+residual"});
  options.operation = "conv2d";
  CHECK(texts(sweep_cases(options).value()) ==
        std::vector<std::string>{
            "conv2d f16 nhwc 15x512x28x28 k=1024 r=1x1 s=2 weights=krsc",
            "conv2d f16 nhwc 1x1280x24x24 k=1280 r=3x3 p=1 weights=krsc",
            "conv2d f16 nhwc 8x192x56x56 k=384 r=2x2 s=2 weights=krsc epi=bias",
            "conv2d f16 nhwc 2x128x10x7 k=36 r=1x1 weights=krsc",
            "conv2d f16 nhwc 36x3x288x288 k=16 r=3x3 s=2 p=1 weights=krsc epi=bias+relu",
            "conv2d f16 nhwc 2x336x27x27 k=336 r=3x3 p=1 g=336 weights=krsc",
            "conv2d f16 nhwc 1x96x97x97 k=512 r=3x3 p=18 d=18 weights=krsc",
            "conv2d f16 nhwc 5x40x131x9 k=131 r=3x1 s=2 p=3,3,3,2 weights=krsc epi=bias+relu",
            "conv2d f16 nchw 4x512x20x20 k=1024 r=1x1 s=2", "conv2d f16 nchw 2x1280x24x24 k=1280 r=3x3 p=1",
            "conv2d f16 nchw 2x192x96x96 k=384 r=2x2 s=2 epi=bias+relu", "conv2d f16 nchw 4x256x13x6 k=36 r=3x3 p=1",
            "conv2d f16 nchw 32x1x224x224 k=304 r=16x16 s=16",
            "conv2d f16 nchw 51x288x7x7 k=288 r=3x3 p=1 g=288 epi=bias+relu",
            "conv2d f16 nchw 3x448x49x49 k=128 r=3x3 p=24 d=24",
            "conv2d f16 nchw 6x10x128x213 k=3 r=4x4 s=2 p=1,0,3,0 epi=bias+relu"});
}

namespace {

// Those that have classes.
std::vector<std::string> swept_operations() {
  std::vector<std::string> names = bench_operations();
  std::erase_if(names, [](const std::string& name) { return bench_operation(name)->sweep_classes().empty(); });
  return names;
}

}  // namespace

TEST_CASE("every problem of a sweep is of its class") {
  CHECK(swept_operations().size() >= 3);
  for (const std::string& operation : swept_operations()) {
    std::map<std::string, int> groups, types;
    std::set<std::string> names;
    const std::size_t classes = bench_operation(operation)->sweep_classes().size();
    const std::size_t kinds = bench_operation(operation)->sweep_types().size();
    const auto cases = drawn(operation, classes * kinds * 12);
    for (const SweepCase& c : cases) {
      CAPTURE(print(c.problem));
      CHECK(validate(c.problem).has_value());
      ++groups[c.group];
      ++types[c.type];
      names.insert(print(c.problem));
      if (const auto* p = std::get_if<PermuteProblem>(&c.problem))
        check_permute(c.group[0], *p);
      else if (const auto* q = std::get_if<Conv2dProblem>(&c.problem))
        check_conv2d(c.group[0], c.type, *q);
      else
        check_matmul(c.group[0], std::get<MatmulProblem>(c.problem));
      check_neighbour(c);
    }
    CHECK(groups.size() == classes);
    CHECK(types.size() == kinds);
    for (const auto& [group, count] : groups) CHECK(static_cast<std::size_t>(count) == kinds * 12);
    for (const auto& [type, count] : types) CHECK(static_cast<std::size_t>(count) == classes * 12);
    CHECK(names.size() > cases.size() * 9 / 10);
  }
}

TEST_CASE("half of the arbitrary sides are odd") {
  std::int64_t odd = 0, all = 0;
  for (const SweepCase& c : drawn("permute", 400, "transpose")) {
    const auto& shape = std::get<PermuteProblem>(c.problem).shape;
    for (std::size_t i = shape.size() - 2; i < shape.size(); ++i, ++all) odd += shape[i] % 2;
  }
  CHECK(odd > all * 2 / 5);
  CHECK(odd < all * 3 / 5);
}

TEST_CASE("what is drawn does not depend on filters or counts") {
  for (const std::string& operation : swept_operations()) {
    const auto all = drawn(operation, 240);
    const std::string group = all[2].group, type = all[0].type;
    std::vector<std::string> of_class, of_type;
    for (const SweepCase& c : all) {
      if (c.group == group) of_class.push_back(print(c.problem));
      if (c.type == type) of_type.push_back(print(c.problem));
    }
    CHECK(texts(drawn(operation, of_class.size(), group.substr(0, 1).c_str())) == of_class);
    CHECK(texts(drawn(operation, of_class.size(), group.substr(2).c_str())) == of_class);
    CHECK(texts(drawn(operation, of_type.size(), "", type.c_str())) == of_type);
    const auto names = texts(all);
    CHECK(texts(drawn(operation, 40, "", "", 200)) == std::vector<std::string>(names.begin() + 200, names.end()));
  }
}

TEST_CASE("unknown classes and types are refused by name") {
  SweepOptions options;
  options.operation = "permute";
  options.only_class = "z";
  CHECK(sweep_cases(options).error().message().find("b transpose") != std::string::npos);
  options.only_class = "";
  options.only_type = "f17";
  CHECK(sweep_cases(options).error().message().find("c128") != std::string::npos);
  options.operation = "conv";
  CHECK_FALSE(sweep_cases(options).has_value());
  options = {.operation = "conv2d", .only_class = {}, .only_type = "f16"};
  CHECK(sweep_cases(options).error().message().find("f16-nhwc") != std::string::npos);
  options = {.operation = "matmul", .only_class = "e", .only_type = {}, .max_gflop = 0.01};
  CHECK(sweep_cases(options).error().kind == ErrorKind::limit_exceeded);
}

TEST_CASE("a bound that no problem is within is answered by one that serves") {
  for (const auto& [operation, option] : {std::pair("conv2d", "--max-gflop "), std::pair("matmul", "--max-gflop ")}) {
    SweepOptions options{
        .operation = operation, .cases = 8, .only_class = {}, .only_type = {}, .max_gflop = 0.001, .cpu = true};
    const auto refused = sweep_cases(options);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == ErrorKind::limit_exceeded);
    REQUIRE(refused.error().limit.starts_with(option));
    options.max_gflop = std::stod(refused.error().limit.substr(std::string(option).size()));
    const auto drawn = sweep_cases(options);
    CHECK((drawn.has_value() || drawn.error().value != refused.error().value));
  }
}

TEST_CASE("a case far behind is drawn without counting up to it") {
  for (const std::string& operation : swept_operations()) {
    // The number of classes and types divides no power of 10 here: another case than the first.
    CHECK(drawn(operation, 2, "", "", 10'000'000'000'000).size() == 2);
    CHECK(drawn(operation, 2, "b", "", 10'000'000'000'000).size() == 2);
  }
  SweepOptions options{.operation = "permute", .cases = 1, .only_class = {}, .only_type = {}};
  options.first = ~std::size_t{0};
  CHECK(sweep_cases(options).error().message().starts_with("limit_exceeded: --first: 18446744073709551615 (want at"));
}

TEST_CASE("percentiles are by nearest rank") {
  std::vector<double> values;
  for (int i = 20; i >= 1; --i) values.push_back(i);
  values.push_back(0);  // no time, no figure
  const SweepSummary s = summary_of(values);
  CHECK(s.rows == 20);
  CHECK(s.least == 1);
  CHECK(s.p10 == 2);
  CHECK(s.median == 10);
  CHECK(s.p90 == 18);
  CHECK(s.most == 20);
  CHECK(summary_of({2, 8}).mean == doctest::Approx(4));
  CHECK(summary_of({}).rows == 0);
}

TEST_CASE("a matmul is held against its rival or the best rate") {
  SweepReport report = report_of({row("a", "one", 2e-6, 0), row("a", "two", 1e-6, 0)});
  report.operation = "matmul";
  report.rows[0].operations = 2e6;  // 1e12 a second
  report.rows[1].operations = 4e6;  // 4e12: the best
  report.rows[0].bytes = report.rows[1].bytes = 1;
  CHECK(ratio_of(report, report.rows[0]).value == doctest::Approx(0.25));
  CHECK(ratio_of(report, report.rows[1]).value == doctest::Approx(1));
  report.rows[0].bytes = 1e6;  // 1 us of memory
  CHECK(ratio_of(report, report.rows[0]).value == doctest::Approx(0.5));
  report.rows[0].rivals = {{"torch", 3e-6}, {"slow", 9e-6}};
  CHECK(ratio_of(report, report.rows[0]).value == doctest::Approx(1.5));
  CHECK(ratio_of(report, report.rows[0]).name == "torch");
}

TEST_CASE("a sweep is read back and merged") {
  SweepReport first = report_of({row("a x", "p1", 2e-6, 1e-6), row("b y", "p2", 2e-6, 2e-6)});
  first.rows[0].neighbour = "n1";
  first.rows[0].neighbour_seconds = 1e-6;
  first.rows[0].best = "faster";
  first.rows[0].best_seconds = 1.6e-6;
  first.rows[0].unsteady = true;
  first.rows[1].rivals = {{"torch", 1e-6}};
  first.profile = R"({"name":"a device"})";
  first.rows[1].reference = {.reference = Reference::matmul_f16, .before = 2e-3, .after = 3e-3, .agreed = true};
  const auto back = sweep_from_json(to_json(first).dump());
  REQUIRE(back.has_value());
  CHECK(to_json(*back) == to_json(first));
  CHECK(back->rows[1].reference.reference == Reference::matmul_f16);
  CHECK(back->rows[1].reference.after == 3e-3);
  SweepReport second = report_of({row("b y", "p2", 4e-6, 2e-6), row("b y", "p3", 2e-6, 1e-6)});
  second.rows[1].error = "broken";
  const auto merged = merge_sweeps({first, second});
  REQUIRE(merged.has_value());
  REQUIRE(merged->rows.size() == 3);
  CHECK(merged->rows[1].ours == 4e-6);  // the later one's
  const auto json = to_json(*merged);
  CHECK(json["profile"]["name"] == "a device");
  CHECK(json["classes"]["all"]["ratio"]["rows"] == 2);
  CHECK(json["classes"]["all"]["errors"] == 1);
  CHECK(json["classes"]["a x"]["regret"]["most"].get<double>() == doctest::Approx(1.25));
  CHECK(json["classes"]["a x"]["times_neighbour"]["most"].get<double>() == doctest::Approx(2));
  const std::string text = print_sweep(*merged), html = to_html(page_of(*merged));
  for (const std::string& shown : {text, html}) {
    CHECK(shown.find("p1") != std::string::npos);
    CHECK(shown.find("broken") != std::string::npos);
    CHECK(shown.find("nan") == std::string::npos);
  }
  CHECK(html.find("a <device>") == std::string::npos);
  second.device = "another";
  CHECK_FALSE(merge_sweeps({first, second}).has_value());
  for (const char* bad : {"", "[]", "{}", "{\"sweep\": \"permute\"}", "{\"sweep\": \"permute\", \"rows\": [3]}",
                          "{\"sweep\": \"permute\", \"rows\": [{\"median_s\": \"x\"}]}", "{\"sweep\": 4, \"rows\": []}",
                          "{\"sweep\": \"permute\", \"rows\": {}}"})
    CHECK_FALSE(sweep_from_json(bad).has_value());
}

TEST_CASE("numbers that a file has are bounded when it is read") {
  SweepReport report = report_of({row("a x", "p1", 2e-6, 1e-6)});
  SweepRow& one = report.rows[0];
  one.p10 = one.p90 = one.neighbour_seconds = one.best_seconds = 2e-6;
  one.operations = report.bytes_per_second = 1e9;
  one.rivals = {{"torch", 1e-6}};
  one.neighbour = one.best = "x";
  one.reference.before = one.reference.after = 1e-3;
  const nlohmann::json whole = to_json(report);
  REQUIRE(sweep_from_json(whole.dump()).has_value());
  const auto refused = [&](const std::string& pointer, const nlohmann::json& number) {
    nlohmann::json changed = whole;
    changed.at(nlohmann::json::json_pointer(pointer)) = number;
    const auto read = sweep_from_json(changed.dump());
    CHECK_MESSAGE(!read.has_value(), pointer << " " << number.dump());
    if (read) return;
    CHECK(read.error().kind == ErrorKind::parse);
    CHECK(read.error().what.ends_with(pointer.substr(pointer.rfind('/') + 1)));
  };
  for (const char* member : {"median_s", "p10_s", "p90_s", "copy_s", "neighbour_s", "best_s", "bytes", "operations",
                             "rivals_s/torch", "reference_times/before_s", "reference_times/after_s"})
    for (const nlohmann::json& number : {nlohmann::json(1e308), nlohmann::json(-1.0), nlohmann::json(1e-300),
                                         nlohmann::json(nullptr), nlohmann::json("1")})
      refused(std::string("/rows/0/") + member, number);
  refused("/bytes_per_second", 1e308);
  // The ends of what is taken give a whole page.
  for (const auto& [seconds, bytes] : {std::pair(1e9, 1.0), std::pair(1e9, 1e21), std::pair(1e-12, 1e21)}) {
    one.ours = one.p10 = one.p90 = seconds;
    one.bytes = bytes;
    const auto read = sweep_from_json(to_json(report).dump());
    REQUIRE(read.has_value());
    const std::string html = to_html(page_of(*read));
    for (const char* none : {"nan", "inf"}) CHECK(html.find(none) == std::string::npos);
  }
}

TEST_CASE("rivals are rows of seconds within bounds") {
  const Folder folder;
  const std::string file = folder.path("rivals.json");
  write_file(file, R"({"row": {"torch": 1e-3}})");
  CHECK(read_rivals(file).value().at("row").at("torch") == 1e-3);
  for (const char* bad : {R"({"row": [1]})", R"({"row": 1})", R"({"row": {"torch": 0}})",
                          R"({"row": {"torch": 1e300}})", R"({"row": {"torch": -1}})", R"({"row": {"torch": "1"}})"}) {
    CAPTURE(std::string(bad));
    write_file(file, bad);
    REQUIRE_FALSE(read_rivals(file).has_value());
    CHECK(read_rivals(file).error().what.starts_with("rivals: row"));
  }
}

TEST_CASE("a sweep runs on a CPU device") {
  if (cpu_device().empty()) {
    MESSAGE("skipped: no CPU device");
    return;
  }
  const Folder folder;
  const std::string json = folder.path("s.json"), half = folder.path("h.json"), html = folder.path("s.html");
  const std::vector<std::string> common = {"bench",    "--sweep",    "permute",  "--class",    "nhwc",
                                           "--min-mb", "0.02",       "--device", cpu_device(), "--warmup",
                                           "0",        "--min-time", "0.001",    "--cycle-mb", "0"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), common.begin(), common.end());
    return run_sectile(more);
  };
  const Ran first = with({"--cases", "3", "--json-file", json, "--html", html, "--regret", "--limit", "3"});
  CHECK(first.code == 0);
  const auto report = sweep_from_json(read_file(json));
  REQUIRE(report.has_value());
  REQUIRE(report->rows.size() == 3);
  for (const SweepRow& r : report->rows) {
    CAPTURE(r.problem);
    CHECK(r.ours > 0);
    CHECK(r.copy > 0);
    CHECK(r.best_seconds > 0);
    CHECK(r.best_seconds <= r.ours);
    CHECK(first.out.find(r.problem) != std::string::npos);  // among the worst, with the command that repeats it
  }
  CHECK(read_file(html).find(report->rows[0].problem) != std::string::npos);
  CHECK(with({"--cases", "2", "--first", "2", "--json-file", half}).code == 0);
  const Ran merged = run_sectile({"bench", "--merge", json, half, "--json"});
  CHECK(merged.code == 0);
  CHECK(sweep_from_json(merged.out).value().rows.size() == 4);
  CHECK(run_sectile({"bench", "--merge", html}).code != 0);
  CHECK(with({"--cases", "0"}).code != 0);
  CHECK(run_sectile({"bench", "--regret"}).code != 0);
}

TEST_CASE("a sweep that is killed has told the rows that it finished") {
  if (cpu_device().empty()) {
    MESSAGE("skipped: no CPU device");
    return;
  }
  const Folder folder;
  const std::string json = folder.path("s.json"), rivals = folder.path("rivals.json");
  const std::vector<std::string> sweep = {"bench",   "--sweep", "permute",  "--class", "nhwc",
                                          "--cases", "400",     "--min-mb", "0.02"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), sweep.begin(), sweep.end());
    return run_sectile(more);
  };
  const auto listed = nlohmann::json::parse(with({"--list", "--json", "--device", cpu_device()}).out);
  nlohmann::json others;
  for (const auto& row : listed.at("rows")) others[row.at("problem").get<std::string>()]["torch"] = 0.5;
  write_file(rivals, others.dump());
  // Killed as soon as the file is there; that it still runs then is checked as well.
  const std::string script =
      "\"$0\" bench --sweep permute --class nhwc --cases 400 --min-mb 0.02 --device \"$1\" --warmup 0 "
      "--min-time 0.001 --cycle-mb 0 --json-file \"$2\" --rivals \"$3\" > /dev/null 2>&1 & "
      "while [ ! -s \"$2\" ]; do kill -0 $! || exit 3; sleep 0.02; done; kill -KILL $! || exit 4; wait $!; exit 0";
  const Ran ran = run_program("/bin/sh", {"-c", script, sectile_command(), cpu_device(), json, rivals});
  CHECK(ran.code == 0);
  const auto report = sweep_from_json(read_file(json));
  REQUIRE(report.has_value());
  CHECK(report->rows.size() >= 1);
  CHECK(report->rows.size() < 400);
  for (const SweepRow& r : report->rows) {
    CHECK(r.ours > 0);
    CHECK(r.rivals == std::map<std::string, double>{{"torch", 0.5}});
  }
  // Before anything is timed: the device is not even looked for.
  const Ran missing = with({"--rivals", folder.path("none.json"), "--device", "no such device"});
  CHECK(missing.code != 0);
  CHECK(missing.err.find("none.json") != std::string::npos);
}

// The candidates of 2026-11-23, by name: sweeps' regret is against these and what came since.
TEST_CASE("no candidate of the first sweep is lost") {
  std::set<std::string> known;
  for (const char* target : {"nvidia-hopper", "cuda:sm_90a", "lavapipe"})
    for (const char* text : {"permute f32 512x512 axes=1,0", "permute u8 8x427x640x3 axes=0,2,1,3 out=f32",
                             "matmul f16 nt 512x512x512", "matmul f32 nn 512x512x512", "matmul i8 nt 512x512x512"}) {
      const auto plan = reference::plan_with_extra_rows(parse_problem(text).value(), builtin_target(target).value(),
                                                        {.explain = true});
      REQUIRE(plan.has_value());
      for (const Candidate& candidate : plan->candidates) known.insert(candidate.name);
    }
  std::size_t names = 0;
  const std::string file = read_file(source_folder() + "/tests/plan/candidates-2026-11-23.txt");
  for (std::size_t at = 0; at < file.size(); ++names) {
    const std::size_t end = std::min(file.find('\n', at), file.size());
    const std::string name = file.substr(at, end - at);
    CAPTURE(name);
    CHECK(known.contains(name));
    at = end + 1;
  }
  CHECK(names > 100);
}
