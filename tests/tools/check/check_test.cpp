// The check itself: that it passes what is right, and sees what is wrong.
#include "support/paths.hpp"
#include "tools/run_command.hpp"

#include "support/scope.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sectile::test;

namespace {

bool no_device() {
  if (!cpu_device().empty()) return false;
  MESSAGE("skipped: no CPU device");
  return true;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

}  // namespace

TEST_CASE("check passes and counts") {
  if (no_device()) return;
  const Folder folder;
  const Ran ran =
      run_sectile({"check", "--cases", "30", "--device", cpu_device(), "--junit", folder.path("junit.xml")});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK(last_line(ran.out) == "30 passed, 0 failed");
  const std::string xml = read_file(folder.path("junit.xml"));
  CHECK(xml.find("tests=\"30\" failures=\"0\" skipped=\"0\"") != std::string::npos);
  CHECK(xml.find("<testcase classname=\"check.permute\" name=\"29: permute ") != std::string::npos);
}

TEST_CASE("check sees a spoiled byte") {
  if (no_device()) return;
  const Folder folder;
  const Ran ran = run_sectile(
      {"check", "--cases", "20", "--device", cpu_device(), "--test-spoil", "8", "--junit", folder.path("junit.xml")});
  CHECK(ran.code == 1);
  CHECK(last_line(ran.out) == "19 passed, 1 failed");
  CHECK(ran.err.find("FAILED case 8: permute ") != std::string::npos);
  CHECK(ran.err.find("again: sectile check --problem 'permute ") != std::string::npos);
  CHECK(read_file(folder.path("junit.xml")).find("<failure message=") != std::string::npos);
}

TEST_CASE("check of matmuls passes counts and sees a spoiled element") {
  if (no_device()) return;
  const Folder folder;
  // A CPU driver compiles a matmul for seconds; check_matmul_* of ctest run many.
  const int cases = scope(16, 6, 4);
  const std::string all = std::to_string(cases), last = std::to_string(cases - 1);
  const Ran ran = run_sectile({"check", "--op", "matmul", "--cases", all, "--device", cpu_device(), "--test-spoil", "3",
                               "--junit", folder.path("junit.xml")});
  CHECK(ran.code == 1);
  CHECK(last_line(ran.out) == last + " passed, 1 failed");
  CHECK(ran.err.find("FAILED case 3: matmul ") != std::string::npos);
  CHECK(ran.err.find("d[") != std::string::npos);
  CHECK(ran.err.find(" --first 3") != std::string::npos);  // the same data again
  const std::string xml = read_file(folder.path("junit.xml"));
  CHECK(xml.find("tests=\"" + all + "\" failures=\"1\" skipped=\"0\"") != std::string::npos);
  CHECK(xml.find("<testcase classname=\"check.matmul\" name=\"" + last + ": matmul ") != std::string::npos);
}

// A sum that is split has its parts added in an order of its own, which is the same in every run.
TEST_CASE("check runs cases several times and compares all bits") {
  if (no_device()) return;
  const std::vector<std::string> conv2d = {"check",
                                           "--problem",
                                           "conv2d f32 nhwc 1x200x5x7 k=24 r=3x3 p=1 weights=krsc epi=bias+relu",
                                           "--multiprocessors",
                                           "64",
                                           "--repeat",
                                           "20",
                                           "--device",
                                           cpu_device(),
                                           "--json"};
  const Ran same = run_sectile(conv2d);
  CHECK_MESSAGE(same.code == 0, same.err);
  const auto json = nlohmann::json::parse(same.out, nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["passed"] == 1);
  CHECK(json["runs"].get<int>() % 20 == 0);
  CHECK(json["runs"].get<int>() >= 60);
  // The last run's result is spoiled: the first one was right.
  auto spoiled = conv2d;
  spoiled.insert(spoiled.end(), {"--test-spoil", "0"});
  const Ran other = run_sectile(spoiled);
  CHECK(other.code == 1);
  CHECK_MESSAGE(other.err.contains("run 20 of 20 left another byte "), other.err);
}

// A protected page behind an operand, one before it, and guard bands: every placement of every operand.
TEST_CASE("check runs one matmul from every side") {
  if (no_device()) return;
  const Ran ran =
      run_sectile({"check", "--problem", "matmul f32 nt 33x17x65 batch=2 b.batch=0 beta=0.5 epi=bias+gelu+residual",
                   "--device", cpu_device(), "--json"});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["passed"] == 1);
  CHECK(json["runs"].get<int>() >= 3);
}

TEST_CASE("check names the case that kills its worker and goes on") {
  if (no_device()) return;
  const Ran ran = run_sectile({"check", "--cases", "20", "--device", cpu_device(), "--test-kill", "8", "--json"});
  CHECK(ran.code == 1);
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["passed"] == 19);
  CHECK(json["failed"] == 1);
  REQUIRE(json["failures"].size() == 1);
  CHECK(json["failures"][0]["case"] == 8);
  CHECK(json["failures"][0]["message"].get<std::string>().find("signal 11") != std::string::npos);
}

// The same cases, failures and skips as of one process.
TEST_CASE("check in parts finds what one finds") {
  if (no_device()) return;
  const Folder folder;
  const int cases = scope(40, 24, 20);  // a process a batch
  const std::string spoiled = std::to_string(cases - 2);
  std::string said[2];
  for (const int jobs : {1, 3}) {
    const std::string xml = folder.path("junit.xml");
    const Ran ran = run_sectile({"check", "--cases", std::to_string(cases), "--first", "5", "--device", cpu_device(),
                                 "--jobs", std::to_string(jobs), "--test-spoil", spoiled, "--test-kill", "21",
                                 "--batch", "4", "--junit", xml});
    CHECK(ran.code == 1);
    CHECK(last_line(ran.out) == std::to_string(cases - 2) + " passed, 2 failed");
    CHECK(ran.err.find("FAILED case " + spoiled + ": permute ") != std::string::npos);
    CHECK(ran.err.find("FAILED case 21: permute ") != std::string::npos);
    // Names of all cases, but not their times.
    const std::string text = read_file(xml);
    for (std::size_t at = text.find("<testcase"); at != std::string::npos; at = text.find("<testcase", at + 1))
      said[jobs == 1 ? 0 : 1] += text.substr(at, text.find('>', at) - at);
  }
  CHECK(said[0] == said[1]);
  CHECK_FALSE(said[0].empty());
}

TEST_CASE("check runs one problem from every side") {
  if (no_device()) return;
  const Ran ran = run_sectile(
      {"check", "--problem", "permute f16 33x65 axes=1,0", "--device", cpu_device(), "--json", "--all-candidates"});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["passed"] == 1);
  CHECK(json["runs"].get<int>() >= 3);  // a protected page behind, one before, and guard bands
}

// What ran nothing has not passed, and says why.
TEST_CASE("check that skipped all has not passed") {
  if (no_device()) return;
  for (const bool json : {false, true}) {
    std::vector<std::string> arguments = {"check",   "--cases",          "5", "--device", cpu_device(),
                                          "--force", "no such candidate"};
    if (json) arguments.emplace_back("--json");
    const Ran ran = run_sectile(arguments);
    CHECK(ran.code == 1);
    CHECK_MESSAGE(ran.err.find("nothing ran: 5 of 5 cases were skipped") != std::string::npos, ran.err);
    if (json) CHECK(nlohmann::json::parse(ran.out, nullptr, false)["skipped"] == 5);
    if (!json) CHECK(last_line(ran.out) == "0 passed, 0 failed, 5 skipped");
  }
}

TEST_CASE("check of a problem without elements has not passed") {
  if (no_device()) return;
  for (const char* problem : {"permute f32 0x4 axes=1,0", "matmul f32 nn 0x4x4"}) {
    const Ran ran = run_sectile({"check", "--problem", problem, "--device", cpu_device()});
    CHECK(ran.code == 1);
    CHECK_MESSAGE(ran.err.find("nothing ran: no case has elements to compute") != std::string::npos, ran.err);
    CHECK(last_line(ran.out) == "0 passed, 0 failed");
  }
}

TEST_CASE("check of no cases is refused") {
  const std::vector<std::pair<std::vector<std::string>, const char*>> bad = {
      {{"--cases", "0"}, "at least 1"},
      {{"--big", "--cases", "0"}, "at least 1"},
      {{"--first", "18446744073709551615", "--cases", "3"}, "18446744073709551612"},
      {{"--first", "18446744073709551615", "--problem", "permute f32 3x4 axes=1,0"}, "18446744073709551614"},
      {{"--device", ","}, "each side of a comma"},
      {{"--device", "llvmpipe,"}, "each side of a comma"}};
  for (const auto& [more, says] : bad) {
    std::vector<std::string> arguments = {"check"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = run_sectile(arguments);
    CAPTURE(says);
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK_MESSAGE(ran.err.find(says) != std::string::npos, ran.err);
  }
}

TEST_CASE("check of the last cases that there are runs them") {
  if (no_device()) return;
  for (const char* jobs : {"1", "2"}) {
    const Ran ran = run_sectile(
        {"check", "--first", "18446744073709551612", "--cases", "3", "--jobs", jobs, "--device", cpu_device()});
    CHECK_MESSAGE(ran.code == 0, ran.err);
    CHECK(last_line(ran.out) == "3 passed, 0 failed");
  }
}

namespace {

// The living processes whose parent, or its parent, is this one.
std::vector<pid_t> descendants(pid_t of) {
  std::vector<pid_t> found = {of};
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const std::string stat = read_file(entry.path().string() + "/stat");
      const std::size_t end = stat.rfind(')');
      if (end == std::string::npos || stat[end + 2] == 'Z') continue;
      if (std::stol(stat.substr(end + 4)) == found[i]) found.push_back(static_cast<pid_t>(std::stol(name)));
    }
  found.erase(found.begin());
  return found;
}

bool lives(pid_t process) {
  const std::string stat = read_file("/proc/" + std::to_string(process) + "/stat");
  const std::size_t end = stat.rfind(')');
  return end != std::string::npos && stat[end + 2] != 'Z' && stat.find("sectile") != std::string::npos;
}

// Whether it comes true within half a minute.
bool comes_true(const std::function<bool()>& what) {
  for (int tries = 0; tries < 600; ++tries) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

}  // namespace

TEST_CASE("workers end with the process that started them") {
  if (no_device()) return;
  const std::string command = sectile_command();
  const pid_t parent = ::fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0) ::_exit(127);
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    ::execl(command.c_str(), "sectile", "check", "--jobs", "2", "--cases", "100000000", "--device",
            cpu_device().c_str(), nullptr);
    ::_exit(127);
  }
  // Two parts, with a worker each.
  std::vector<pid_t> processes;
  CHECK(comes_true([&] { return (processes = descendants(parent)).size() >= 4; }));
  ::kill(parent, SIGKILL);
  REQUIRE(::waitpid(parent, nullptr, 0) == parent);
  CHECK(comes_true([&] { return std::ranges::none_of(processes, lives); }));
  for (const pid_t process : processes)
    if (lives(process)) ::kill(process, SIGKILL);
}

TEST_CASE("check says how far it is where no terminal shows it") {
  if (no_device()) return;
  for (const char* jobs : {"1", "2"}) {
    const Ran ran = run_sectile({"check", "--cases", "4", "--batch", "1", "--jobs", jobs, "--device", cpu_device(),
                                 "--test-progress", "0.001"});
    CHECK_MESSAGE(ran.code == 0, ran.err);
    CHECK_MESSAGE(ran.err.find("/4 after ") != std::string::npos, ran.err);
    CHECK(ran.err.find("0 failed") != std::string::npos);
    CHECK(last_line(ran.out) == "4 passed, 0 failed");
  }
}
