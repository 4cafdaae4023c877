// What the benchmark takes for a kernel's time, and what it lists and refuses.
#include "bench/numbers.hpp"
#include "bench/operation.hpp"
#include "bench/sweep.hpp"
#include "reference/numbers.hpp"
#include "tools/run_command.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace sectile;
using namespace sectile::test;
using namespace sectile::tools;

namespace {

constexpr double kCompiling = 100;  // seconds that the first run of a program seems to take

// A device whose driver compiles at a kernel's first run.
class CompilesAtFirstRun final : public Machine {
 public:
  explicit CompilesAtFirstRun(std::unique_ptr<Machine> inner) : inner_(std::move(inner)) {}

  const DeviceProfile& profile() const override { return inner_->profile(); }
  std::string name() const override { return inner_->name(); }
  std::string driver() const override { return inner_->driver(); }
  std::string_view copy_name() const override { return inner_->copy_name(); }
  Result<MemoryPtr> make_memory(std::uint64_t bytes) override { return inner_->make_memory(bytes); }
  Result<void> upload(const Memory& memory, std::uint64_t offset, std::span<const std::byte> bytes) override {
    return inner_->upload(memory, offset, bytes);
  }
  Result<void> download(const Memory& memory, std::uint64_t offset, std::span<std::byte> bytes) override {
    return inner_->download(memory, offset, bytes);
  }
  Result<void> fill(const Memory& memory, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word) override {
    return inner_->fill(memory, offset, bytes, word);
  }
  Result<ProgramPtr> prepare(const Plan& plan) override { return inner_->prepare(plan); }
  std::size_t kernel_count() const override { return inner_->kernel_count(); }
  KernelCounts kernel_counts() const override { return inner_->kernel_counts(); }
  Result<void> run(std::span<const Launch> launches, const Refused& refused) override {
    for (const Launch& launch : launches) ran_.insert(launch.program);
    return inner_->run(launches, refused);
  }
  Result<std::vector<std::vector<double>>> time(std::span<const LaunchSource> candidates,
                                                const TimingWish& wish) override {
    auto seconds = inner_->time(candidates, wish);
    for (std::size_t i = 0; seconds && i < candidates.size(); ++i)
      if (ran_.insert(candidates[i]().program).second && !(*seconds)[i].empty()) (*seconds)[i].front() += kCompiling;
    return seconds;
  }
  Result<HostCost> host_cost(const Launch& launch, unsigned times) override { return inner_->host_cost(launch, times); }

 private:
  std::unique_ptr<Machine> inner_;
  std::set<const Program*> ran_ = {nullptr};  // a copy of the API's own has nothing to compile
};

BenchOptions quick() {
  BenchOptions options;
  options.min_time = 0.001;
  options.warmup = 0;
  options.cycle_mb = 0;
  options.all_candidates = true;
  options.limit = 3;
  return options;
}

std::unique_ptr<Machine> compiling() {
  auto machine = cpu_device().empty() ? fail(ErrorKind::missing, "device") : Machine::open(cpu_device());
  if (machine) return std::make_unique<CompilesAtFirstRun>(std::move(*machine));
  MESSAGE("skipped: no CPU device");
  return nullptr;
}

}  // namespace

TEST_CASE("a matmul's first run is no sample") {
  for (const bool verify : {true, false}) {
    const auto machine = compiling();
    if (machine == nullptr) return;
    BenchOptions options = quick();
    options.no_verify = !verify;
    Steady steady(*machine, options.warmup);
    options.all_candidates = false;  // a CPU driver compiles a matmul for seconds
    const RowResult result =
        RowBench(*machine, options, steady).run(row_of_text("matmul f32 nn 33x17x20 beta=0.5").value());
    CHECK(result.error == "");
    REQUIRE(result.contenders.size() == 1);
    for (const ContenderTime& time : result.contenders) {
      CAPTURE(time.candidate);
      CHECK(time.error == "");
      CHECK(time.time.median > 0);
      CHECK(time.time.p90 < kCompiling / 2);
      CHECK(time.time.samples >= 5);  // and it was not left out for being slow
    }
  }
}

TEST_CASE("a permute's first run is no sample") {
  for (const bool verify : {true, false}) {
    const auto machine = compiling();
    if (machine == nullptr) return;
    BenchOptions options = quick();
    options.no_verify = !verify;
    Steady steady(*machine, options.warmup);
    const RowResult result = RowBench(*machine, options, steady).run(row_of_text("permute f32 64x48 axes=1,0").value());
    CHECK(result.error == "");
    CHECK(result.own().time.p90 < kCompiling / 2);
    CHECK(result.own().time.samples >= 7);  // as many as the time of a run says, and not of a first one
    CHECK(result.copy_kernel.p90 < kCompiling / 2);
    CHECK(result.empty.p90 < kCompiling / 2);
    REQUIRE(result.candidates().size() > 1);
    for (const ContenderTime* candidate : result.candidates()) {
      CAPTURE(candidate->candidate);
      CHECK(candidate->error == "");
      CHECK(candidate->time.samples >= 1);
      CHECK(candidate->time.p90 < kCompiling / 2);
    }
  }
}

// Neither has anything to read of A and B; the first has a result all the same.
TEST_CASE("a matmul without an inner size is timed and one without elements is refused") {
  const auto machine = compiling();
  if (machine == nullptr) return;
  const auto bench = [&](const char* text) {
    BenchOptions options = quick();
    options.all_candidates = false;
    Steady steady(*machine, options.warmup);
    const Problem problem = parse_problem(text).value();
    return RowBench(*machine, options, steady).run({.name = text, .problem = problem});
  };
  const RowResult inner = bench("matmul f32 nn 4x4x0");
  CHECK(inner.error == "");
  for (const char* text : {"matmul f32 nn 0x4x4", "matmul f32 nn 4x0x4", "matmul f32 nn 0x0x0"}) {
    const RowResult none = bench(text);
    CHECK_MESSAGE(none.error.find("at least one element") != std::string::npos, none.error);
    CHECK(none.contenders.empty());
  }
}

TEST_CASE("bench writes a page of permutes and of matmuls") {
  if (cpu_device().empty()) {
    MESSAGE("skipped: no CPU device");
    return;
  }
  const Folder folder;
  const std::string permute = "permute f32 8x6 axes=1,0", matmul = "matmul f32 nn 4x4x4";
  for (const std::vector<std::string>& problems :
       {std::vector{permute}, std::vector{matmul}, std::vector{matmul, permute}}) {
    std::vector<std::string> arguments = {
        "bench",      "--device", cpu_device(), "--min-time",        "0.001",       "--warmup",         "0",
        "--cycle-mb", "0",        "--html",     folder.path("page"), "--json-file", folder.path("json")};
    arguments.insert(arguments.end(), problems.begin(), problems.end());
    const Ran ran = run_sectile(arguments);
    CHECK_MESSAGE(ran.code == 0, ran.err);
    const std::string html = read_file(folder.path("page")), json = read_file(folder.path("json"));
    CHECK(html.find("</html>") != std::string::npos);
    CHECK(html.find("class=\"w\"") != std::string::npos);
    for (const std::string& problem : problems) {
      CHECK(html.find(" '" + problem + "'") != std::string::npos);  // the command as a shell takes it
      CHECK(json.find("\"problem\": \"" + problem + "\"") != std::string::npos);
    }
    const Ran again = run_sectile({"bench", "--replan", folder.path("json")});
    CHECK_MESSAGE(
        again.out == fmt::format("{}: 0 of {} rows are planned otherwise now\n", folder.path("json"), problems.size()),
        (again.out + again.err));
    CHECK((ran.out.find("TFLOP/s") != std::string::npos) == (problems[0] == matmul));
    CHECK((ran.out.find("copy GB/s") != std::string::npos) == (problems.back() == permute));
  }
  CHECK(folder.files() == 2);
}

TEST_CASE("bench lists and does not run") {
  // No device is there by this name: nothing looks for one.
  const Ran host = run_sectile({"bench", "--preset", "host", "--list", "--device", "no such device"});
  CHECK_MESSAGE(host.code == 0, host.err);
  CHECK(host.out.find("plan a permute, cold\n") != std::string::npos);
  const Ran json = run_sectile({"bench", "--preset", "host", "--list", "--json"});
  CHECK(json.out.find("\"record a dispatch\"") != std::string::npos);
}

TEST_CASE("a row that there is not is named") {
  for (const char* preset : {"cpu", "matmul"}) {
    const Ran ran = run_sectile({"bench", "--preset", preset, "--only", "zzz"});
    CHECK(ran.code == 2);
    CHECK_MESSAGE(ran.err.find("--only: zzz (want a part of a row's name") != std::string::npos, ran.err);
    CHECK(ran.err.find("--preset") == std::string::npos);
  }
}

TEST_CASE("rows of a report that are planned otherwise now are named") {
  const Folder folder;
  nlohmann::json report = {{"profile", nlohmann::json::parse(to_json(builtin_target("nvidia-hopper").value()))}};
  for (const char* problem :
       {"permute f32 64x48 axes=1,0", "matmul f16 nt 960x2304x770", "conv2d f32 nchw 1x8x9x9 k=8 r=3"}) {
    const auto plan =
        make_plan(parse_problem(problem).value(), builtin_target("nvidia-hopper").value(), {.explain = true});
    report["rows"].push_back({{"problem", problem}, {"candidate", chosen_name(plan.value())}});
  }
  report["rows"].push_back({{"problem", "permute f32 2x2 axes=1,0"}, {"error", "no memory"}});
  const std::string file = folder.path("report");
  write_file(file, report.dump());
  CHECK(run_sectile({"bench", "--replan", file}).out == file + ": 0 of 3 rows are planned otherwise now\n");

  const std::string now = report["rows"][1]["candidate"];
  report["rows"][1].update({{"candidate", "matmul_stone 3x3"}, {"name", "ragged"}});
  write_file(file, report.dump());
  const Ran ran = run_sectile({"bench", "--replan", file});
  CHECK(ran.code == 0);
  CHECK(ran.out == "ragged: matmul_stone 3x3, now " + now + "\n" + file + ": 1 of 3 rows are planned otherwise now\n");
  const auto json = nlohmann::json::parse(run_sectile({"bench", "--replan", file, "--json"}).out);
  CHECK(json["files"][file]["changed"][0]["now"] == now);
  CHECK(json["files"][file]["rows"] == 3);

  for (const auto& [text, said] :
       {std::pair{"[]", "no object with rows"}, std::pair{"{\"rows\": [1]}", "missing: profile"},
        std::pair{"{\"rows\": [], \"profile\": {}}", "report"}}) {
    write_file(file, text);
    const Ran bad = run_sectile({"bench", "--replan", file});
    CHECK(bad.code == 2);
    CHECK_MESSAGE(bad.err.find(said) != std::string::npos, bad.err);
  }
}

// A flag, as everywhere; a file after it is taken as before, and a problem is no file.
TEST_CASE("bench writes JSON to a file or to standard output") {
  const Folder folder;
  const std::string rows = run_sectile({"bench", "--preset", "matmul", "--list", "--json"}).out;
  CHECK(rows.find("\"rows\"") != std::string::npos);
  CHECK(run_sectile({"bench", "--preset", "matmul", "--list", "--json-file", folder.path("a")}).code == 0);
  CHECK(run_sectile({"bench", "--preset", "matmul", "--list", "--json", folder.path("b")}).code == 0);
  CHECK(read_file(folder.path("a")) == rows);
  CHECK(read_file(folder.path("b")) == rows);
  const Ran ran = run_sectile({"bench", "--list", "--json", "permute f32 64x48 axes=1,0"});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find("\"rows\"") != std::string::npos);
  CHECK(folder.files() == 2);
}

TEST_CASE("numbers of a file are 0 or within their bounds") {
  using Read = void (FileNumbers::*)(const char*, double&);
  const auto taken = [](Read read, double number) {
    const nlohmann::json object = {{"x", number}};
    FileNumbers numbers(object, "file");
    double out = -1;
    (numbers.*read)("x", out);
    CHECK(out == (numbers.finish() ? number : -1));
    return numbers.finish().has_value();
  };
  for (const auto& [number, fine] : {std::pair(0.0, true), std::pair(1e-12, true), std::pair(0.999e-12, false),
                                     std::pair(1e9, true), std::pair(1.001e9, false), std::pair(-1e-12, false)}) {
    CHECK_MESSAGE(taken(&FileNumbers::seconds, number) == fine, number);
    // Rivals' are measured: no time is 0.
    CHECK_MESSAGE(file_seconds(number, "x").has_value() == (fine && number != 0), number);
  }
  for (const Read read : {&FileNumbers::count, &FileNumbers::rate})
    for (const auto& [number, fine] : {std::pair(0.0, true), std::pair(0.999, false), std::pair(1.0, true),
                                       std::pair(1e21, true), std::pair(1.001e21, false), std::pair(-1.0, false)})
      CHECK_MESSAGE(taken(read, number) == fine, number);
}

TEST_CASE("the last case of a sweep is drawn, and none behind it") {
  SweepOptions options{.operation = "permute", .cases = 1, .only_class = {}, .only_type = {}};
  options.first = ~std::size_t{0};
  const auto beyond = sweep_cases(options);
  REQUIRE_FALSE(beyond.has_value());
  const std::string limit = beyond.error().limit, at_most = "at most ";
  REQUIRE(limit.starts_with(at_most));
  options.first = std::stoull(limit.substr(at_most.size()));
  CHECK(sweep_cases(options).has_value());
  options.first += 1;
  REQUIRE_FALSE(sweep_cases(options).has_value());
  CHECK(sweep_cases(options).error().what == "--first");
}

// Each command does nothing, or fails for something else once its options are read.
TEST_CASE("numbers of options are taken to their bounds and no further") {
  const Folder folder;
  struct Bounds {
    std::vector<std::string> command;
    std::string option;
    std::vector<std::string> taken, refused;
  };
  const std::vector<std::string> list = {"bench", "--preset", "matmul", "--list"}, tune = {"tune", "nonsense"},
                                 check = {"check", "--device", ","};
  const auto sweep = [](const char* operation) {
    return std::vector<std::string>{"bench", "--sweep", operation, "--list"};
  };
  std::vector<Bounds> all = {
      {{"demo", "--photo", folder.path("none")}, "--min-time", {"0.001", "60"}, {"0.0009", "60.1"}},
      {sweep("permute"), "--min-mb", {"0.001", "100000"}, {"0.0009", "100001"}},
      {sweep("matmul"), "--max-gflop", {"0.001", "1000000"}, {"0.0009", "1000001"}},
      {sweep("permute"), "--cases", {"1"}, {"0", "1000001"}},
      {check, "--siblings", {"0", "64"}, {"-1", "65"}},
      {check, "--batch", {"1", "4096"}, {"0", "4097"}},
      {check, "--repeat", {"1", "1000"}, {"0", "1001"}},
      {check, "--jobs", {"1", "256"}, {"0", "257"}},
      {check, "--timeout", {"1", "1000000"}, {"0", "1000001"}}};
  for (const auto& command : {list, tune}) {
    all.push_back({command, "--min-time", {"0.001", "60"}, {"0.0009", "60.1"}});
    all.push_back({command, "--warmup", {"0", "60"}, {"-0.001", "60.1"}});
    all.push_back({command, "--cycle-mb", {"0", "1000000"}, {"-1", "1000001"}});
  }
  const auto out_of_range = [](const Bounds& bounds, const std::string& number) {
    std::vector<std::string> arguments = bounds.command;
    arguments.push_back(bounds.option + "=" + number);
    const Ran ran = run_sectile(arguments);
    const bool said =
        ran.err.find("want a number from") != std::string::npos || ran.err.find("not in range") != std::string::npos;
    if (said) CHECK_MESSAGE((ran.code == 2 && ran.err.find(bounds.option.substr(2)) != std::string::npos), ran.err);
    return said;
  };
  for (const Bounds& bounds : all) {
    for (const std::string& number : bounds.taken)
      CHECK_MESSAGE(!out_of_range(bounds, number), bounds.command[0] << " " << bounds.option << "=" << number);
    for (const std::string& number : bounds.refused)
      CHECK_MESSAGE(out_of_range(bounds, number), bounds.command[0] << " " << bounds.option << "=" << number);
  }
}

// Sums in f16 may overflow or not, by the order of adding: found at K = 995429.
TEST_CASE("a benchmark takes what the order of adding decides, and no other wrong result") {
  const auto wrong = [](float factor, float got) {
    const Problem problem = parse_problem("matmul f16 nn 1x1x4 acc=f16 out=f32").value();
    std::vector<std::byte> a(8), b(8), d(4), held(4);
    const float signs[] = {1, 1, -1, -1};
    for (std::size_t k = 0; k < 4; ++k) {
      reference::encode(DType::f16, factor, a.data() + 2 * k);
      reference::encode(DType::f16, factor * signs[k], b.data() + 2 * k);
    }
    reference::encode(DType::f32, got, d.data());
    return bench_operation(problem).verify(problem, {{"a", a}, {"b", b}, {"d", held}}, d);
  };
  CHECK(wrong(2, 0) == "");
  CHECK(wrong(2, 4).starts_with("d[0,0] is 4, not 0 within "));
  CHECK(wrong(200, 0) == "");
  CHECK(wrong(200, 40000) == "");  // 40000 + 40000 is infinite in f16
}
