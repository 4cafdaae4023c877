// What a calibration keeps of devices that compute wrong results, or are lost.
#include "calibrate/measure.hpp"
#include "tools/run_command.hpp"

#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::test;
using namespace sectile::tools;

namespace {

// Memory that keeps one byte, and nothing else.
class OneByte final : public Memory {
 public:
  explicit OneByte(std::uint64_t bytes) : bytes_(bytes) {}
  std::uint64_t address() const noexcept override { return 4096; }
  std::uint64_t size() const noexcept override { return bytes_; }
  mutable std::byte kept{};

 private:
  std::uint64_t bytes_;
};

class EmptyProgram final : public Program {};

// Kernels do nothing, so every result is wrong; from the run `lost_at` on the device answers nothing.
class BrokenDevice : public Machine {
 public:
  explicit BrokenDevice(int lost_at, const char* target = "lavapipe")
      : lost_at_(lost_at), profile_(builtin_target(target).value()) {}
  int runs = 0;

  const DeviceProfile& profile() const override { return profile_; }
  std::string name() const override { return "a broken device"; }
  std::string driver() const override { return "1"; }
  std::string_view copy_name() const override { return "copy"; }
  Result<MemoryPtr> make_memory(std::uint64_t bytes) override { return std::make_unique<OneByte>(bytes); }
  Result<void> upload(const Memory&, std::uint64_t, std::span<const std::byte>) override { return answer(); }
  Result<void> download(const Memory& memory, std::uint64_t, std::span<std::byte> bytes) override {
    std::ranges::fill(bytes, static_cast<const OneByte&>(memory).kept);
    return answer();
  }
  Result<void> fill(const Memory& memory, std::uint64_t, std::uint64_t, std::uint32_t word) override {
    static_cast<const OneByte&>(memory).kept = static_cast<std::byte>(word & 0xffu);
    return answer();
  }
  Result<ProgramPtr> prepare(const Plan&) override { return std::make_shared<const EmptyProgram>(); }
  std::size_t kernel_count() const override { return 0; }
  KernelCounts kernel_counts() const override { return {}; }
  Result<void> run(std::span<const Launch> launches, const Refused&) override {
    // Copies of data into further slots are no kernels.
    if (launches[0].program != nullptr) ++runs;
    return answer();
  }
  Result<std::vector<std::vector<double>>> time(std::span<const LaunchSource> candidates,
                                                const TimingWish& wish) override {
    return std::vector<std::vector<double>>(candidates.size(), std::vector<double>(wish.repeats, 1e-4));
  }
  Result<HostCost> host_cost(const Launch&, unsigned) override { return HostCost{}; }

 private:
  Result<void> answer() const {
    if (lost_at_ > 0 && runs >= lost_at_) return fail(ErrorKind::device, "gone");
    return {};
  }

  int lost_at_;
  DeviceProfile profile_;
};

// Its first run waits until kernels of a second problem are being compiled, or the seconds are over.
class WaitingDevice final : public BrokenDevice {
 public:
  WaitingDevice(const char* target, int seconds) : BrokenDevice(6, target), wait_(seconds) {}
  bool second = false;  // whether they were

  Result<std::vector<ProgramPtr>> prepare_all(std::span<const Plan> plans) override {
    {
      const std::lock_guard lock(mutex_);
      problems_.insert(print(plans[0].problem));
    }
    more_.notify_all();
    return Machine::prepare_all(plans);
  }
  Result<void> run(std::span<const Launch> launches, const Refused& refused) override {
    if (runs == 0) {
      std::unique_lock lock(mutex_);
      second = more_.wait_for(lock, std::chrono::seconds(wait_), [&] { return problems_.size() == 2; });
    }
    return BrokenDevice::run(launches, refused);
  }

 private:
  int wait_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::set<std::string> problems_;
};

struct BrokenRun {
  RawCalibration raw, read;  // what was measured, and what the file has
  std::string error, note;
};

BrokenRun calibrate_on(Machine& device, double minutes, std::vector<Problem> listed, const std::string& ended = {}) {
  const Folder folder;
  const std::string path = folder.path("c.raw.jsonl");
  BrokenRun out;
  out.raw.header = raw_header(device, kFitSeed);
  out.raw.base = RawBase{};  // is measured first, and fails here
  if (!ended.empty()) out.raw.begun[ended] = 2;
  auto writer = RawWriter::create(path, out.raw.header);
  REQUIRE(writer.has_value());
  const MeasureOptions options{.operations = {"permute"}, .minutes = minutes, .most = 4, .problems = std::move(listed)};
  const auto done = measure(device, options, out.raw, *writer, [](const MeasureProgress&) {});
  if (!done) out.error = done.error().message();
  if (done && !done->empty()) out.note = done->front();
  auto read = read_raw(read_file(path));
  REQUIRE_MESSAGE(read.has_value(), read.error().message());
  out.read = std::move(*read);
  return out;
}

BrokenRun calibrate_broken(int lost_at, std::vector<Problem> listed = {}, const std::string& ended = {}) {
  BrokenDevice device(lost_at);
  return calibrate_on(device, 1e-6, std::move(listed), ended);
}

}  // namespace

TEST_CASE("a calibration names kernels whose results are wrong, and times none of them") {
  const BrokenRun ran = calibrate_broken(0);
  CHECK(ran.error.empty());
  REQUIRE(ran.read.problems.size() == 1);
  CHECK(ran.read.problems[0].part == RawPart::fit);
  CHECK(ran.read.problems[0].candidates == ran.raw.problems[0].candidates);
  REQUIRE(ran.read.problems[0].candidates.size() == 4);
  for (const RawCandidate& c : ran.read.problems[0].candidates) {
    CHECK(c.error.find("WRONG RESULT") != std::string::npos);
    CHECK(c.ps == 0);
  }
  CHECK(wrong_candidates(ran.read).size() == 4);
}

TEST_CASE("a calibration measures the problems of a list first, those of its operation") {
  const auto one = [](const char* text) { return parse_problem(text).value(); };
  const BrokenRun ran = calibrate_broken(
      0, {one("matmul f32 nn 8x8x8"), one("permute f32 40x30 axes=1,0"), one("permute f32 9x7 axes=1,0")});
  REQUIRE(ran.read.problems.size() == 1);  // the minutes are over after one
  CHECK(ran.read.problems[0].problem == "permute f32 40x30 axes=1,0");
  CHECK(ran.read.problems[0].group == "listed");
  CHECK(ran.read.problems[0].part == RawPart::fit);
}

TEST_CASE("a calibration leaves a problem out at which two runs ended, and says which") {
  const std::string deadly = "permute f32 40x30 axes=1,0", other = "permute f32 9x7 axes=1,0";
  const BrokenRun ran = calibrate_broken(0, {parse_problem(deadly).value(), parse_problem(other).value()}, deadly);
  REQUIRE(ran.read.problems.size() == 1);
  CHECK(ran.read.problems[0].problem == other);
  CHECK(ran.read.begun.empty());
  CHECK(ran.note == "permute: 1 problems were left out: 2 runs ended while each was measured; the first: " + deadly);
}

TEST_CASE("a calibration compiles the next problem's kernels while one is timed, on Vulkan's GPUs") {
  const auto one = [](const char* text) { return parse_problem(text).value(); };
  const std::vector<Problem> listed = {one("permute f32 9x7 axes=1,0"), one("permute f32 40x30 axes=1,0"),
                                       one("permute f32 50x30 axes=1,0")};
  const auto overlaps = [&](const char* target, int seconds, const std::string& ended = {}) {
    WaitingDevice device(target, seconds);
    const BrokenRun ran = calibrate_on(device, 10, listed, ended);
    CHECK(ran.error.find("the device was lost while this was measured") != std::string::npos);
    REQUIRE(ran.read.problems.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) CHECK(ran.read.problems[i].problem == print(listed[i]));
    return device.second;
  };
  CHECK(overlaps("nvidia-hopper", 20));
  CHECK(!overlaps("lavapipe", 1));
  CHECK(!overlaps("cuda:sm_90a", 1));
  CHECK(!overlaps("nvidia-hopper", 1, "permute f32 8x8 axes=1,0"));  // a run ended there
}

TEST_CASE("a calibration of a device that is lost ends, and keeps what it has") {
  const BrokenRun ran = calibrate_broken(2);
  CHECK(ran.error.find("the device was lost while this was measured") != std::string::npos);
  REQUIRE(ran.read.problems.size() == 1);
  const auto& candidates = ran.read.problems[0].candidates;
  REQUIRE(candidates.size() == 4);
  CHECK(candidates[0].error.find("WRONG RESULT") != std::string::npos);
  CHECK(candidates[1].error == "device: gone");
  CHECK(candidates[2].error == "device: lost before this was measured");
  CHECK(candidates[3].error == "device: lost before this was measured");
  CHECK(ran.error.find(ran.read.problems[0].problem) != std::string::npos);
  CHECK(wrong_candidates(ran.read) == std::vector<std::string>{candidates[0].name});
}
