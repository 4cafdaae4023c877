// The file of tuned choices: what it keeps, and what it survives.
#include "plan/profiles.hpp"
#include "support/folder.hpp"

#include "backend/framed_file.hpp"

#include <sectile/tune.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace sectile;

namespace {

Problem problem(const char* text) { return parse_problem(text).value(); }

const Problem kSquare = problem("permute f32 512x512 axes=1,0");
const Problem kOther = problem("matmul f16 nt 64x64x64 epi=bias+gelu");
const std::string kHere(32, 'a'), kThere(32, 'b');

TunedChoice choice(std::string name, std::int64_t picoseconds = 1000) {
  return {std::move(name), picoseconds, "model 1", 2000, 3};
}

std::string path_for(const char* name) {
  const std::string path = test::process_folder() + "/" + name;
  std::filesystem::remove(path);
  return path;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A file with the right header around any JSON.
void write_framed_json(const std::string& path, const std::string& json, std::uint32_t version = 1) {
  const backend::Frame frame = {"test", {'S', 'E', 'C', 'T', 'I', 'L', 'E', 'T'}, version, {}, 1 << 20};
  REQUIRE(backend::write_framed(path, frame, std::as_bytes(std::span(json))).has_value());
}

}  // namespace

TEST_CASE("what is stored is found again") {
  const std::string path = path_for("round-trip");
  CHECK(TuneStore::load(path).warning().empty());  // not there: empty, and nothing to warn of
  CHECK(TuneStore::load(path).size(kHere) == 0);
  TuneStore store;
  store.put(kSquare, kHere, choice("permute_tile 32x32"));
  store.put(kOther, kHere, choice("matmul_simt 64x64", std::int64_t{1} << 40));
  CHECK(store.candidate(kSquare, kHere) == "permute_tile 32x32");
  REQUIRE(store.save(path).has_value());
  const TuneStore again = TuneStore::load(path);
  CHECK(again.warning().empty());
  CHECK(again.size(kHere) == 2);
  REQUIRE(again.find(kSquare, kHere) != nullptr);
  CHECK(*again.find(kSquare, kHere) == choice("permute_tile 32x32"));
  REQUIRE(again.find(kOther, kHere) != nullptr);
  CHECK(*again.find(kOther, kHere) == choice("matmul_simt 64x64", std::int64_t{1} << 40));
  CHECK(again.find(problem("permute f32 512x513 axes=1,0"), kHere) == nullptr);
}

TEST_CASE("another profile or planner finds nothing") {
  const std::string path = path_for("foreign");
  TuneStore store;
  store.put(kSquare, kHere, choice("permute_tile 32x32"));
  REQUIRE(store.save(path).has_value());
  const TuneStore again = TuneStore::load(path);
  CHECK(again.candidate(kSquare, kHere) == "permute_tile 32x32");
  CHECK(again.candidate(kSquare, kThere).empty());
  CHECK(again.size(kThere) == 0);
  std::string json = bytes_of(path).substr(8 + 4 + 16);
  const std::string version = "\"planner_version\":\"" + std::string(planner_version()) + "\"";
  REQUIRE(json.find(version) != std::string::npos);
  json.replace(json.find(version), version.size(), "\"planner_version\":\"before\"");
  write_framed_json(path, json);
  const TuneStore older = TuneStore::load(path);
  CHECK(older.warning().empty());
  CHECK(older.candidate(kSquare, kHere).empty());
}

TEST_CASE("saving keeps what others stored") {
  const std::string path = path_for("merged");
  TuneStore first = TuneStore::load(path), second = TuneStore::load(path);
  first.put(kSquare, kHere, choice("permute_tile 32x32"));
  REQUIRE(first.save(path).has_value());
  second.put(kOther, kHere, choice("matmul_simt 64x64"));
  second.put(kSquare, kThere, choice("permute_box 1"));
  REQUIRE(second.save(path).has_value());  // knew nothing of the first's
  CHECK(second.candidate(kSquare, kHere) == "permute_tile 32x32");
  first.put(kOther, kThere, choice("matmul_direct 1x1"));
  REQUIRE(first.save(path).has_value());
  // A process that measured nothing anew does not put back what it once read.
  TuneStore third = TuneStore::load(path);
  first.put(kSquare, kHere, choice("permute_tile 64x64"));
  REQUIRE(first.save(path).has_value());
  third.put(kOther, kHere, choice("matmul_simt 32x32"));
  REQUIRE(third.save(path).has_value());
  const TuneStore all = TuneStore::load(path);
  CHECK(all.candidate(kSquare, kHere) == "permute_tile 64x64");
  CHECK(all.candidate(kOther, kHere) == "matmul_simt 32x32");
  CHECK(all.candidate(kSquare, kThere) == "permute_box 1");
  CHECK(all.candidate(kOther, kThere) == "matmul_direct 1x1");
}

TEST_CASE("a broken file is ignored with a warning") {
  const std::string path = path_for("broken");
  TuneStore store;
  store.put(kSquare, kHere, choice("permute_tile 32x32"));
  REQUIRE(store.save(path).has_value());
  const std::string whole = bytes_of(path);
  const auto ignored = [&](std::string_view why) {
    const TuneStore broken = TuneStore::load(path);
    CAPTURE(std::string(broken.warning()));
    CHECK(broken.warning().find(path) != std::string_view::npos);
    CHECK(broken.warning().find(why) != std::string_view::npos);
    CHECK(broken.size(kHere) == 0);
  };
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    write(path, whole.substr(0, bytes));
    ignored("truncated");
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string spoiled = whole;
    spoiled[at] = static_cast<char>(spoiled[at] ^ 0x20);
    write(path, spoiled);
    ignored("ignored");
  }
  write(path, std::string(4096, 'x'));
  ignored("not a tuned choices");
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  ignored("regular file");
  std::filesystem::remove(path);
  const std::string json = whole.substr(8 + 4 + 16);
  write_framed_json(path, json, 2);
  ignored("format 2");
  write_framed_json(path, json);
  CHECK(TuneStore::load(path).size(kHere) == 1);
  for (const char* wrong :
       {"[]", "nothing", "{\"groups\":7}", "{\"groups\":[{}]}", "{\"groups\":[],\"more\":1}",
        R"({"groups":[{"planner_version":"1","profile_hash":"a","problems":[]}]})",
        R"({"groups":[{"planner_version":"1","profile_hash":"a","problems":{"x":{"candidate":"c"}}}]})"}) {
    write_framed_json(path, wrong);
    ignored("ignored");
  }
  // No time is 0, the model's neither.
  for (const auto& [time, wrong] : {std::pair("\"picoseconds\":1000", "\"picoseconds\":0"),
                                    std::pair("\"picoseconds\":1000", "\"picoseconds\":-100"),
                                    std::pair("\"model_picoseconds\":2000", "\"model_picoseconds\":0"),
                                    std::pair("\"measured\":3", "\"measured\":0")}) {
    std::string never = json;
    REQUIRE(never.find(time) != std::string::npos);
    never.replace(never.find(time), std::string_view(time).size(), wrong);
    write_framed_json(path, never);
    ignored("above 0");
  }
  // Whole, and of a content that this version cannot read: others' choices, which a save would lose.
  TuneStore unread = TuneStore::load(path);
  unread.put(kOther, kHere, choice("matmul_simt 64x64"));
  const std::string before = bytes_of(path);
  CHECK_FALSE(TuneStore::check_place(path).has_value());
  CHECK_FALSE(unread.save(path).has_value());
  CHECK(bytes_of(path) == before);
  // Damaged, the next save mends it.
  write(path, whole.substr(0, whole.size() - 1));
  TuneStore mended = TuneStore::load(path);
  mended.put(kOther, kHere, choice("matmul_simt 64x64"));
  REQUIRE(mended.save(path).has_value());
  CHECK(TuneStore::load(path).size(kHere) == 1);
  CHECK(TuneStore::load(path).warning().empty());
}

TEST_CASE("a file that is no store or a newer one is not replaced") {
  const std::string path = path_for("others");
  TuneStore store;
  store.put(kSquare, kHere, choice("permute_tile 32x32"));
  const auto stays = [&](const std::string& bytes, std::string_view why) {
    write(path, bytes);
    const auto place = TuneStore::check_place(path);
    REQUIRE_FALSE(place.has_value());
    CHECK(place.error().kind == ErrorKind::parse);
    CHECK(place.error().message().find(path) != std::string::npos);
    CHECK_MESSAGE(place.error().message().find(why) != std::string::npos, place.error().message());
    CHECK(store.save(path) == place);
    CHECK(bytes_of(path) == bytes);
  };
  stays("a letter to a friend", "truncated");
  stays(std::string(4096, 'x'), "not a tuned choices");
  write_framed_json(path, "{\"groups\":[]}", 2);
  stays(bytes_of(path), "format 2");
  stays(bytes_of(path).substr(0, 20), "truncated");
  // What is empty, or ours and damaged, is replaced.
  write_framed_json(path, "{\"groups\":[]}");
  for (const std::string& bytes : {std::string(), bytes_of(path).substr(0, 20), bytes_of(path) + "x"}) {
    write(path, bytes);
    CHECK(TuneStore::check_place(path).has_value());
    REQUIRE(store.save(path).has_value());
    CHECK(TuneStore::load(path).size(kHere) == 1);
    store.put(kSquare, kHere, choice("permute_tile 32x32"));
  }
}

#if !defined(_WIN32)  // tests/platform/counter.cpp is for the processes there
TEST_CASE("saving from many processes loses nothing") {
  const std::string path = path_for("shared");
  constexpr int processes = 6, each = 12;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      bool fine = true;
      TuneStore store = TuneStore::load(path);
      for (int i = 0; i < each; ++i) {
        store.put(problem(fmt::format("permute f32 {}x{} axes=1,0", p + 2, i + 2).c_str()), kHere,
                  choice("permute_tile 32x32"));
        fine = fine && store.save(path).has_value();
      }
      ::_exit(fine ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(TuneStore::load(path).size(kHere) == processes * each);
  for (const auto& entry : std::filesystem::directory_iterator(test::process_folder()))
    CHECK_FALSE(entry.path().filename().string().starts_with("shared."));  // neither a lock nor a part is left
}
#endif

TEST_CASE("saving from many threads loses nothing") {
  const std::string path = path_for("threads");
  std::vector<std::thread> threads;
  threads.reserve(4);
  std::atomic<int> failed = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      TuneStore store = TuneStore::load(path);
      for (int i = 0; i < 8; ++i) {
        store.put(problem(fmt::format("permute f32 {}x{} axes=1,0", t + 2, i + 2).c_str()), kHere,
                  choice("permute_tile 32x32"));
        if (!store.save(path)) ++failed;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
  CHECK(TuneStore::load(path).size(kHere) == 32);
}

TEST_CASE("a folder that is not there is an error of saving") {
  TuneStore store;
  store.put(kSquare, kHere, choice("permute_tile 32x32"));
  const auto saved = store.save(test::process_folder() + "/none/store");
  REQUIRE_FALSE(saved.has_value());
  CHECK(saved.error().kind == ErrorKind::io);
}

TEST_CASE("the fastest wins where it is clearly faster") {
  CHECK_FALSE(fastest_of({}).has_value());
  const MeasuredCandidate fast[] = {{"model", 1000}, {"slow", 5000}, {"fast", 900}, {"faster", 899}};
  CHECK(fastest_of(fast) == TunedChoice{"faster", 899, "model", 1000, 4});
  const MeasuredCandidate alike[] = {{"model", 1000}, {"other", 995}};
  CHECK(fastest_of(alike) == TunedChoice{"model", 1000, "model", 1000, 2});
  const MeasuredCandidate unmeasured[] = {{"model", 1000}, {"other", 0}};
  CHECK_FALSE(fastest_of(unmeasured).has_value());
  // 10 permille, and 1 picosecond less; the shortest of times.
  const MeasuredCandidate by_margin[] = {{"model", 1000}, {"other", 990}};
  CHECK(fastest_of(by_margin) == TunedChoice{"other", 990, "model", 1000, 2});
  const MeasuredCandidate within[] = {{"model", 1000}, {"other", 991}};
  CHECK(fastest_of(within) == TunedChoice{"model", 1000, "model", 1000, 2});
  const MeasuredCandidate one[] = {{"model", 1}};
  CHECK(fastest_of(one) == TunedChoice{"model", 1, "model", 1, 1});
}

TEST_CASE("a store's numbers, groups and bytes end where they end") {
  const std::string path = path_for("limits");
  const auto warning = [&] { return std::string(TuneStore::load(path).warning()); };
  const auto stored = [&](const char* candidate, const char* measured, const char* model, const char* time) {
    write_framed_json(path, fmt::format(R"({{"groups":[{{"planner_version":"1","profile_hash":"a","problems":{{"x":)"
                                        R"({{"candidate":"{}","measured":{},"model":"","model_picoseconds":{},)"
                                        R"("picoseconds":{}}}}}}}]}})",
                                        candidate, measured, model, time));
    return warning();
  };
  CHECK(stored("c", "1", "1", "1") == "");
  CHECK(stored("c", "4294967295", "9223372036854775807", "9223372036854775807") == "");
  CHECK(stored("", "1", "1", "1").contains("above 0"));
  CHECK(stored("c", "0", "1", "1").contains("above 0"));
  CHECK(stored("c", "1", "0", "1").contains("above 0"));
  CHECK(stored("c", "1", "1", "0").contains("above 0"));
  CHECK(stored("c", "4294967296", "1", "1").contains("problems.measured: 4294967296"));
  CHECK(stored("c", "1", "1", "9223372036854775808").contains("problems.picoseconds: 9223372036854775808"));
  for (const std::size_t count : {65536u, 65537u}) {
    const std::string group = R"({"planner_version":"1","profile_hash":"a","problems":{}})";
    std::string groups = group;
    for (std::size_t i = 1; i < count; ++i) groups.append(",").append(group);
    write_framed_json(path, "{\"groups\":[" + groups + "]}");
    const std::string said = warning();
    CHECK_MESSAGE(said.empty() == (count == 65536), said);
    CHECK(said.contains("an array of 65537 (want an array of at most 65536)") == (count == 65537));
  }
  // Of as many bytes as a store has, a damaged one is replaced; a larger file is none. Neither takes the space.
  constexpr std::size_t most = std::size_t{64} << 20;
  write_framed_json(path, "{\"groups\":[]}");
  std::filesystem::resize_file(path, most);
  CHECK(warning().contains("truncated: 67108864 bytes of "));
  CHECK(TuneStore::check_place(path).has_value());
  std::filesystem::resize_file(path, most + 1);
  CHECK(warning().contains("ignored: 67108865 bytes"));
  CHECK_FALSE(TuneStore::check_place(path).has_value());
}
