// The tuning command on a device: what it stores, and that plans, benchmarks and the rest then take it.
#include "tools/run_command.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using namespace sectile::test;

namespace {

const std::vector<std::string> kProblems = {"matmul f32 nt 48x40x33", "permute f32 64x48 axes=1,0"};

std::vector<std::string> tune(const std::string& store) {
  std::vector<std::string> arguments = {"tune",       "--device", cpu_device(), "--store", store,
                                        "--min-time", "0.001",    "--warmup",   "0",       "--cycle-mb",
                                        "0",          "--limit",  "4",          "--json"};
  arguments.insert(arguments.end(), kProblems.begin(), kProblems.end());
  return arguments;
}

std::string plan_of(const std::string& problem, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"plan", problem, "--device", cpu_device()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Ran ran = run_sectile(arguments);
  CHECK_MESSAGE(ran.code == 0, ran.err);
  return ran.out;
}

}  // namespace

TEST_CASE("tuning stores winners that plans take") {
  if (cpu_device().empty()) {
    MESSAGE("skipped: no CPU device");
    return;
  }
  const Folder folder;
  const std::string store = folder.path("store");
  const Ran ran = run_sectile(tune(store));
  CHECK_MESSAGE(ran.code == 0, ran.err);
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  REQUIRE(json.is_object());
  REQUIRE(json["rows"].size() == kProblems.size());
  for (std::size_t i = 0; i < kProblems.size(); ++i) {
    const auto& row = json["rows"][i];
    CAPTURE(row.dump());
    CHECK(row["problem"] == kProblems[i]);
    CHECK(row["measured"] > 1);
    CHECK(row["measured"] <= 4);
    CHECK(row["left_out"].empty());
    CHECK(row["winner_ps"] > 0);
    CHECK(row["winner_ps"] <= row["model_ps"]);
    const std::string model = row["model"], winner = row["winner"];
    CHECK(plan_of(kProblems[i], {"--explain"}).find("* " + model + ":") != std::string::npos);
    // Whichever won this time, the plan is that candidate's.
    const std::string tuned = plan_of(kProblems[i], {"--explain", "--tuned", store});
    CHECK(tuned.find("* " + winner + ":") != std::string::npos);
    CHECK(tuned.find("tuned; ") != std::string::npos);
    CHECK(plan_of(kProblems[i], {"--tuned", store}) == plan_of(kProblems[i], {"--force", winner}));
    CHECK(plan_of(kProblems[i], {"--tuned", store, "--force", model}) == plan_of(kProblems[i], {"--force", model}));
    const Ran timed = run_sectile({"bench", kProblems[i], "--device", cpu_device(), "--tuned", store, "--min-time",
                                   "0.001", "--warmup", "0", "--cycle-mb", "0", "--json"});
    CHECK_MESSAGE(timed.code == 0, timed.err);
    CHECK(timed.out.find('"' + winner + '"') != std::string::npos);
  }
  // Another device's profile finds nothing in it, and no fault with it.
  const Ran elsewhere = run_sectile({"plan", kProblems[0], "--target", "nvidia-hopper", "--tuned", store, "--json"});
  CHECK(elsewhere.err.empty());
  CHECK(elsewhere.out == run_sectile({"plan", kProblems[0], "--target", "nvidia-hopper", "--json"}).out);
}

TEST_CASE("a broken store costs a warning") {
  const Folder folder;
  const std::string store = folder.path("store");
  const std::vector<std::string> plan = {"plan", kProblems[1], "--target", "lavapipe", "--json"};
  const Ran without = run_sectile(plan);
  REQUIRE(without.code == 0);
  std::vector<std::string> with = plan;
  with.insert(with.end(), {"--tuned", store});
  for (const char* content : {"", "no store at all", "SECTILET\1"}) {
    write_file(store, content);
    const Ran ran = run_sectile(with);
    CHECK(ran.code == 0);
    CHECK(ran.out == without.out);
    CHECK(ran.err.find("warning: tuned choices " + store + " ignored") != std::string::npos);
  }
  with.back() = folder.path("nowhere");
  const Ran nowhere = run_sectile(with);
  CHECK(nowhere.code == 0);
  CHECK(nowhere.out == without.out);
  CHECK(nowhere.err.find("nowhere: no such file") != std::string::npos);
}

TEST_CASE("tuning refuses what it cannot do") {
  const Folder folder;
  const std::string store = folder.path("store");
  const std::vector<std::pair<std::vector<std::string>, const char*>> bad = {
      {{"tune", "--store", store}, "preset"},
      {{"tune", "--preset", "everything", "--store", store}, "everything"},
      {{"tune", "permute f32 2x2 axes=0,0", "--store", store}, "axes"},
      {{"tune", kProblems[1], "--store", "/nonexistent/folder/store"}, "/nonexistent/folder"},
      {{"tune", kProblems[1], "--device", "no such device", "--store", store}, "no such device"}};
  for (const auto& [arguments, says] : bad) {
    const Ran ran = run_sectile(arguments);
    CAPTURE(ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK(ran.err.find(says) != std::string::npos);
    CHECK(folder.files() == 0);
  }
}

TEST_CASE("tuning refuses a file that is no store before it measures") {
  const Folder folder;
  const std::string store = folder.path("letter");
  for (const std::string& content :
       {std::string("a letter to a friend"), std::string("SECTILET\2\0\0\0", 12) + std::string(16, 'x')}) {
    write_file(store, content);
    // No device is there by this name: it is not even looked for.
    const Ran ran = run_sectile({"tune", kProblems[1], "--device", "no such device", "--store", store});
    CHECK(ran.code == 2);
    CHECK(ran.err.find(store) != std::string::npos);
    CHECK(ran.err.find("left as it is") != std::string::npos);
    CHECK(read_file(store) == content);
    CHECK(folder.files() == 1);
  }
}
