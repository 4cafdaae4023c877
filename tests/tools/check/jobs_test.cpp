// How many processes a check runs side by side, and what they need.
#include "check/check.hpp"
#include "support/paths.hpp"
#include "tools/run_command.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace sectile::test;
using namespace sectile::tools;

namespace {

constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30;

Ran run_in_shell(const std::string& before, const std::string& arguments) {
  return run_program("/bin/sh", {"-c", before + " exec '" + sectile_command() + "' check " + arguments});
}

}  // namespace

TEST_CASE("processes of a check are as many as all of their bounds allow") {
  const JobFacts all{.cases = 10000, .processors = 64, .free_bytes = 1024 * kGigabyte, .gpu = false};
  CHECK(jobs_for(all) == 64);
  JobFacts facts = all;
  facts.gpu = true;
  CHECK(jobs_for(facts) == 16);
  facts.processors = 15;
  CHECK(jobs_for(facts) == 15);
  facts.cases = 59;
  CHECK(jobs_for(facts) == 14);
  facts.cases = 3;
  CHECK(jobs_for(facts) == 1);
  facts = all;
  // A gigabyte and two arenas of 64 MiB each.
  facts.free_bytes = 9 * kGigabyte;
  CHECK(jobs_for(facts) == 8);
  facts.free_bytes = 9 * kGigabyte - 1;
  CHECK(jobs_for(facts) == 7);
  facts.free_bytes = 1;
  CHECK(jobs_for(facts) == 1);
  facts.free_bytes = 0;  // unknown
  CHECK(jobs_for(facts) == 64);
  facts.processors = 1000;
  CHECK(jobs_for(facts) == 256);
}

// Said before anything is started, by the number of processes that would be.
TEST_CASE("check says how many files it must open") {
  const auto wants = [](const std::string& before, const std::string& arguments) {
    const Ran ran = run_in_shell("ulimit -n 9; " + before, arguments);
    CHECK(ran.code == 2);
    CHECK_MESSAGE(ran.err.find("open files: 9 ") != std::string::npos, ran.err);
    CHECK_MESSAGE(ran.err.find("ulimit -n") != std::string::npos, ran.err);
    return ran.err;
  };
  CHECK(wants("", "--cases 2").find("at least 50 ") != std::string::npos);
  CHECK(wants("", "--cases 20 --jobs 7").find("at least 62 ") != std::string::npos);
  // Where --jobs is not said: SECTILE_JOBS, as far as the cases allow.
  CHECK(wants("SECTILE_JOBS=1", "--cases 20").find("at least 50 ") != std::string::npos);
  CHECK(wants("SECTILE_JOBS=9", "--cases 3").find("at least 50 ") != std::string::npos);
  CHECK(wants("SECTILE_JOBS=9", "--big").find("at least 50 ") != std::string::npos);
  CHECK(wants("SECTILE_JOBS=9", "--problem 'permute f32 4x4 axes=1,0'").find("at least 50 ") != std::string::npos);
  CHECK(check_open_files(50, 1).has_value());
  CHECK_FALSE(check_open_files(49, 1).has_value());
  CHECK(check_open_files(80, 16).has_value());
  CHECK_FALSE(check_open_files(79, 16).has_value());
}

// A process that the worker has left behind holds its pipe; the worker is ended all the same, and its case is named.
TEST_CASE("check does not wait for a worker that shows no sign of life") {
  if (cpu_device().empty()) {
    MESSAGE("skipped: no CPU device");
    return;
  }
  const auto started = std::chrono::steady_clock::now();
  const Ran ran =
      run_sectile({"check", "--cases", "3", "--test-hang", "1", "--timeout", "3", "--device", cpu_device()});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  CHECK(ran.code == 1);
  CHECK_MESSAGE(ran.err.find("FAILED case 1: permute ") != std::string::npos, ran.err);
  CHECK_MESSAGE(ran.err.find("no sign of life for 3 s") != std::string::npos, ran.err);
  CHECK_MESSAGE(ran.out.find("2 passed, 1 failed") != std::string::npos, ran.out);
  CHECK(took.count() < 60);
}
