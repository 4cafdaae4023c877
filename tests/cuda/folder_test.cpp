// The folder of cubins: what it survives. No GPU and no NVRTC: the class is driven as it is.
#include "helpers.hpp"

#include "cuda/cubin_folder.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace sectile;
using namespace sectile::test;
using cuda::CubinFolder;

namespace {

const std::string kKey = "0123456789abcdef0123456789abcdef";
const std::string kOther = "ffffffffffffffff0000000000000000";

std::vector<std::uint8_t> code_of(std::size_t bytes, std::uint32_t seed) {
  std::vector<std::uint8_t> out;
  for (const std::uint32_t word : pattern(bytes, seed)) out.push_back(static_cast<std::uint8_t>(word >> 24));
  return out;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
}

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("a cubin is read as it was written, by another folder object") {
  const std::string path = temporary_folder() + "/made/when/needed";
  const auto code = code_of(5000, 1);
  {
    CubinFolder folder(path);
    CHECK_FALSE(folder.read(kKey).has_value());
    CHECK(folder.warning() == "");  // a folder that is not there yet is nothing to warn of
    folder.write(kKey, code);
    CHECK(folder.warning() == "");
  }
  CubinFolder folder(path);
  const auto read = folder.read(kKey);
  REQUIRE(read.has_value());
  CHECK(*read == code);
  CHECK_FALSE(folder.read(kOther).has_value());
  CHECK(folder.warning() == "");
  CHECK(files_in(path) == 1);  // and no temporary one
}

TEST_CASE("without a path nothing is written and nothing is read") {
  const auto before = std::filesystem::current_path();
  CubinFolder folder("");
  folder.write(kKey, code_of(10, 1));
  CHECK_FALSE(folder.read(kKey).has_value());
  CHECK(folder.warning() == "");
  CHECK_FALSE(std::filesystem::exists(before / (kKey + ".cubin")));
}

TEST_CASE("a truncated cubin is ignored with a warning, wherever it ends, and replaced") {
  CubinFolder folder(temporary_folder());
  const auto code = code_of(100, 2);
  folder.write(kKey, code);
  const std::string whole = read_file(folder.file_of(kKey));
  REQUIRE(whole.size() == 100 + 8 + 4 + 32 + 8 + 8);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    CAPTURE(bytes);
    write_file(folder.file_of(kKey), whole.substr(0, bytes));
    CubinFolder fresh(std::filesystem::path(folder.file_of(kKey)).parent_path());
    CHECK_FALSE(fresh.read(kKey).has_value());
    CHECK(fresh.warning().find("truncated") != std::string::npos);
    CHECK(fresh.warning().find(kKey) != std::string::npos);
  }
  write_file(folder.file_of(kKey), whole + "x");
  CHECK_FALSE(folder.read(kKey).has_value());
  folder.write(kKey, code);
  CHECK(folder.read(kKey) == code);
}

TEST_CASE("a cubin with any byte changed is ignored") {
  CubinFolder folder(temporary_folder());
  folder.write(kKey, code_of(64, 3));
  const std::string whole = read_file(folder.file_of(kKey));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    CAPTURE(at);
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    write_file(folder.file_of(kKey), changed);
    CubinFolder fresh(std::filesystem::path(folder.file_of(kKey)).parent_path());
    CHECK_FALSE(fresh.read(kKey).has_value());
    CHECK_FALSE(fresh.warning().empty());
  }
}

TEST_CASE("a foreign file is ignored and replaced") {
  CubinFolder folder(temporary_folder());
  folder.write(kOther, code_of(64, 4));
  // Another kernel's file under this one's name.
  std::filesystem::copy_file(folder.file_of(kOther), folder.file_of(kKey));
  CHECK_FALSE(folder.read(kKey).has_value());
  CHECK(folder.warning().find("of another kernel") != std::string::npos);
  write_file(folder.file_of(kKey), std::string(4096, 'g'));
  CHECK_FALSE(folder.read(kKey).has_value());
  CHECK(folder.warning().find("not a cubin of Sectile's") != std::string::npos);
  const auto code = code_of(64, 5);
  folder.write(kKey, code);
  CHECK(folder.read(kKey) == code);
}

TEST_CASE("a folder that cannot be is a warning") {
  const std::string base = temporary_folder();
  std::filesystem::create_directories(base);
  write_file(base + "/file", "x");
  CubinFolder folder(base + "/file");
  folder.write(kKey, code_of(64, 6));
  CHECK_FALSE(folder.warning().empty());
  CHECK_FALSE(folder.read(kKey).has_value());
  // Where the cubin's own name is taken by a folder.
  CubinFolder blocked(base + "/blocked");
  std::filesystem::create_directories(blocked.file_of(kKey));
  CHECK_FALSE(blocked.read(kKey).has_value());
  CHECK(blocked.warning().find("not a regular file") != std::string::npos);
  blocked.write(kKey, code_of(64, 6));
  CHECK(blocked.warning().find("not kept") != std::string::npos);
  CHECK(files_in(base + "/blocked") == 1);  // the temporary file is gone
}

TEST_CASE("many writers and readers never see half a file") {
  const std::string path = temporary_folder();
  constexpr int kProcesses = 3, kThreads = 3, kRounds = 30;
  const auto matches = [](const std::vector<std::uint8_t>& got) {
    for (std::uint32_t seed = 0; seed < kProcesses; ++seed)
      if (got == code_of(20000 + seed, seed)) return true;
    return false;
  };
  std::vector<pid_t> children;
  for (std::uint32_t process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      // No check of doctest's in here: the exit status says it.
      bool fine = true;
      {
        std::vector<std::jthread> threads;
        threads.reserve(kThreads);
        std::vector<int> results(kThreads, 1);
        for (int t = 0; t < kThreads; ++t)
          threads.emplace_back([&, t] {
            CubinFolder folder(path);
            for (int i = 0; i < kRounds; ++i) {
              folder.write(kKey, code_of(20000 + process, process));
              const auto read = folder.read(kKey);
              if (!read || !matches(*read) || !folder.warning().empty()) results[static_cast<std::size_t>(t)] = 0;
            }
          });
        threads.clear();
        fine = std::ranges::count(results, 1) == kThreads;
      }
      ::_exit(fine ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  CHECK(files_in(path) == 1);
}
