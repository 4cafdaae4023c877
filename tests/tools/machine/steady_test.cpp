// A device that lowers its clock while the host works and raises it again under load: what benchmarks read on it.
#include "machine/steady.hpp"
#include "bench/operation.hpp"

#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace sectile;
using namespace sectile::tools;

namespace {

class NoMemory final : public Memory {
 public:
  explicit NoMemory(std::uint64_t bytes) : bytes_(bytes) {}
  std::uint64_t address() const noexcept override { return 4096; }
  std::uint64_t size() const noexcept override { return bytes_; }

 private:
  std::uint64_t bytes_;
};

class NoProgram final : public Program {};

// Every run takes 100 us of a clock at its full rate. Nothing is carried out.
class Clock final : public Machine {
 public:
  static constexpr double kRun = 100e-6;

  explicit Clock(const char* target) : profile_(builtin_target(target).value()) {}

  std::function<double()> slower = [] { return 1.0; };  // times the full rate's time; asked for each sample
  double worked = 0;                                    // seconds of runs since the host last did anything else
  double total = 0;                                     // seconds of runs in all
  std::vector<std::string> calls;                       // what was asked for, in order

  const DeviceProfile& profile() const override { return profile_; }
  std::string name() const override { return "a clock"; }
  std::string driver() const override { return "1"; }
  std::string_view copy_name() const override { return "copy"; }
  Result<MemoryPtr> make_memory(std::uint64_t bytes) override {
    (void)host("memory");
    return std::make_unique<NoMemory>(bytes);
  }
  Result<void> upload(const Memory&, std::uint64_t, std::span<const std::byte>) override { return host("upload"); }
  Result<void> download(const Memory&, std::uint64_t, std::span<std::byte>) override { return host("download"); }
  Result<void> fill(const Memory&, std::uint64_t, std::uint64_t, std::uint32_t) override { return host("fill"); }
  Result<ProgramPtr> prepare(const Plan&) override {
    (void)host("prepare");
    return std::make_shared<const NoProgram>();
  }
  std::size_t kernel_count() const override { return 0; }
  KernelCounts kernel_counts() const override { return {}; }
  Result<void> run(std::span<const Launch>, const Refused&) override { return host("run"); }
  Result<std::vector<std::vector<double>>> time(std::span<const LaunchSource> candidates,
                                                const TimingWish& wish) override {
    if (wish.ready)
      if (auto ready = wish.ready(); !ready) return std::unexpected(ready.error());
    calls.push_back(wish.ready ? "samples" : "time");
    std::vector<std::vector<double>> seconds(candidates.size());
    for (unsigned i = 0; i < wish.repeats; ++i)
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        (void)candidates[c]();
        seconds[c].push_back(kRun * slower());
        worked += seconds[c].back() * wish.inner;
        total += seconds[c].back() * wish.inner;
      }
    return seconds;
  }
  Result<HostCost> host_cost(const Launch&, unsigned) override { return HostCost{}; }

 private:
  Result<void> host(const char* what) {
    calls.emplace_back(what);
    worked = 0;
    return {};
  }

  DeviceProfile profile_;
};

// Three times too slow when it comes from idling, and at its full rate after 0.8 s of work.
void cools_down(Clock& clock) {
  clock.slower = [&clock] { return 1 + 2 * std::max(0.0, 1 - clock.worked / 0.8); };
}

BenchRow a_permute() { return row_of_text("permute f32 512x512 axes=1,0").value(); }

BenchOptions options_with(double warmup) {
  BenchOptions options;
  options.warmup = warmup;
  options.min_time = 0.01;
  options.cycle_mb = 1;
  options.no_verify = true;
  return options;
}

}  // namespace

TEST_CASE("a low clock is waited for") {
  Clock clock("nvidia-hopper");
  cools_down(clock);
  Steady steady(clock, kWarmupSeconds);
  ReferenceTimes times;
  REQUIRE(steady.prepare(times.reference).has_value());
  const double before = clock.total;
  REQUIRE(steady.settle(times).has_value());
  CHECK(times.agreed);
  CHECK(times.before == doctest::Approx(Clock::kRun).epsilon(0.011));
  CHECK(clock.total - before > 0.8);
  CHECK(clock.total - before < 2);
  CHECK_FALSE(steady.drifted(times));
}

TEST_CASE("a clock that is never stable ends the wait") {
  Clock clock("nvidia-hopper");
  clock.slower = [&clock] { return static_cast<long>(clock.total / 0.2) % 2 == 0 ? 1.0 : 1.06; };
  Steady steady(clock, kWarmupSeconds);
  ReferenceTimes times;
  REQUIRE(steady.prepare(times.reference).has_value());
  const double before = clock.total;
  REQUIRE(steady.settle(times).has_value());
  CHECK_FALSE(times.agreed);
  CHECK(clock.total - before >= kWarmupSeconds);
  CHECK(clock.total - before < kWarmupSeconds + 2 * kWindowSeconds);
}

TEST_CASE("windows that agree at a low clock are not enough") {
  Clock clock("nvidia-hopper");
  Steady steady(clock, kWarmupSeconds);
  ReferenceTimes first, second;
  REQUIRE(steady.prepare(first.reference).has_value());
  REQUIRE(steady.settle(first).has_value());  // the call's best
  const double begun = clock.total;
  clock.slower = [&clock, begun] { return clock.total - begun < 1.5 ? 1.2 : 1.0; };
  REQUIRE(steady.settle(second).has_value());
  CHECK(second.agreed);
  CHECK(clock.total - begun > 1.5);
  CHECK(second.before == doctest::Approx(Clock::kRun));
}

TEST_CASE("drift is three percent of a GPU and ten of a CPU") {
  for (const auto& [target, slower, drifted] :
       {std::tuple("nvidia-hopper", 1.02, false), std::tuple("nvidia-hopper", 1.05, true),
        std::tuple("lavapipe", 1.05, false), std::tuple("lavapipe", 1.15, true)}) {
    CAPTURE(target);
    CAPTURE(slower);
    Clock clock(target);
    Steady steady(clock, kWarmupSeconds);
    ReferenceTimes times;
    REQUIRE(steady.prepare(times.reference).has_value());
    REQUIRE(steady.settle(times).has_value());
    CHECK_FALSE(steady.drifted(times));
    clock.slower = [&] { return slower; };
    REQUIRE(steady.confirm(times).has_value());
    CHECK(times.after == doctest::Approx(slower * Clock::kRun));
    CHECK(steady.drifted(times) == drifted);
  }
}

TEST_CASE("no warmup is no reference") {
  Clock clock("nvidia-hopper");
  Steady steady(clock, 0);
  ReferenceTimes times;
  REQUIRE(steady.prepare(times.reference).has_value());
  REQUIRE(steady.settle(times).has_value());
  REQUIRE(steady.confirm(times).has_value());
  CHECK(clock.calls.empty());
  CHECK_FALSE(steady.drifted(times));
}

TEST_CASE("a row is read right after the host has worked") {
  // Without the reference the same row reads up to three times too slow: the device is one that it matters on.
  for (const bool waits : {true, false}) {
    CAPTURE(waits);
    Clock clock("nvidia-hopper");
    cools_down(clock);
    const BenchOptions options = options_with(waits ? kWarmupSeconds : 0);
    Steady steady(clock, options.warmup);
    RowBench bench(clock, options, steady);
    for (int i = 0; i < 2; ++i) {
      const RowResult row = bench.run(a_permute());
      REQUIRE(row.error == "");
      const RowResult product = bench.run(row_of_text("matmul f16 nt 1x6144x4096").value());
      REQUIRE(product.error == "");
      REQUIRE(product.contenders.size() == 1);
      if (waits) {
        CHECK(row.own().time.median == doctest::Approx(Clock::kRun).epsilon(0.011));
        CHECK(product.own().time.median == doctest::Approx(Clock::kRun).epsilon(0.011));
        CHECK(row.reference.agreed);
        CHECK(product.reference.agreed);
      } else {
        CHECK(row.own().time.median > 2 * Clock::kRun);
        CHECK(product.own().time.median > 2 * Clock::kRun);
      }
    }
  }
}

TEST_CASE("the host does nothing between the reference and the samples") {
  Clock clock("nvidia-hopper");
  BenchOptions options = options_with(1);
  options.all_candidates = true;
  Steady steady(clock, options.warmup);
  const auto check_calls = [&](std::size_t samples) {
    std::size_t seen = 0;
    for (std::size_t i = 0; i < clock.calls.size(); ++i) {
      if (clock.calls[i] != "samples") continue;
      ++seen;
      REQUIRE(i >= 3);
      REQUIRE(i + 1 < clock.calls.size());
      for (const std::size_t near : {i - 3, i - 2, i - 1, i + 1}) CHECK(clock.calls[near] == "time");  // windows
    }
    CHECK(seen == samples);
    clock.calls.clear();
  };
  RowBench bench(clock, options, steady);
  REQUIRE(bench.run(a_permute()).error == "");
  check_calls(2);  // an empty dispatch, once a call, and the row
  options.limit = 3;
  REQUIRE(bench.run(row_of_text("matmul f32 nn 512x512x512").value()).error == "");
  check_calls(1);
}

TEST_CASE("the reference is of what bounds the work") {
  Clock clock("nvidia-hopper");  // a copy of 2 * 256 MiB and 2 * 2048^3 operations take the same time
  Steady steady(clock, 1);
  CHECK(steady.reference_for(1e9, 1e9, true).value() == Reference::copy);
  CHECK(steady.reference_for(1e6, 1e12, true).value() == Reference::matmul_f16);
  CHECK(steady.reference_for(1e6, 1e12, false).value() == Reference::matmul_f32);
}

TEST_CASE("drifted rows are measured again and marked if that repeats") {
  struct Row {
    int number = 0;
    ReferenceTimes reference;
    bool unsteady = false;
  };
  Clock clock("nvidia-hopper");
  Steady steady(clock, 1);
  const auto measure = [&](int number, double slower) {
    Row row{.number = number, .reference = {}};
    clock.slower = [] { return 1.0; };
    REQUIRE(steady.prepare(row.reference.reference).has_value());
    REQUIRE(steady.settle(row.reference).has_value());
    clock.slower = [&] { return slower; };
    REQUIRE(steady.confirm(row.reference).has_value());
    return row;
  };
  std::vector<Row> rows = {measure(0, 1.0), measure(1, 1.2), measure(2, 1.2), measure(3, 1.02)};
  std::vector<std::size_t> again;
  measure_drifted_again(steady, rows, [&](std::size_t i) {
    again.push_back(i);
    return measure(10 + static_cast<int>(i), i == 1 ? 1.0 : 1.1);
  });
  CHECK(again == std::vector<std::size_t>{1, 2});
  CHECK(rows[1].number == 11);
  CHECK(rows[2].number == 12);
  CHECK_FALSE(rows[0].unsteady);
  CHECK_FALSE(rows[1].unsteady);
  CHECK(rows[2].unsteady);
  CHECK_FALSE(rows[3].unsteady);
}
