// Files of compiled code and of choices: what writing them leaves, replaces and refuses.
#include "support/folder.hpp"

#include "backend/framed_file.hpp"
#include "backend/whole_file.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sectile;
namespace fs = std::filesystem;

namespace {

constexpr backend::Frame kFrame = {"test", {'S', 'E', 'C', 'T', 'T', 'E', 'S', 'T'}, 1, {}, 1 << 20};

std::string folder_for(const char* name) {
  const std::string path = test::process_folder() + "/" + name;
  fs::remove_all(path);
  fs::create_directory(path);
  return path;
}

void make(const std::string& path, std::chrono::seconds age) {
  std::ofstream(path) << "left";
  fs::last_write_time(path, fs::file_time_type::clock::now() - age);
}

Result<void> save(const std::string& path, std::string_view text) {
  return backend::write_framed(path, kFrame, std::as_bytes(std::span(text)));
}

std::string load(const std::string& path) {
  const auto [bytes, warning, foreign] = backend::read_framed(path, kFrame, [](auto) { return std::string(); });
  CHECK(warning == "");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

// In a container the number of a process comes again with each start, and so did the names of parts.
TEST_CASE("a part left by a process of the same number does not stop saving") {
  const std::string path = folder_for("recurring") + "/cache";
  for (int serial = 0; serial < 64; ++serial)
    make(path + "." + std::to_string(::getpid()) + "." + std::to_string(serial) + ".part", std::chrono::hours(1));
  const auto saved = save(path, "kept");
  CHECK_MESSAGE(saved.has_value(), (saved ? std::string() : saved.error().message()));
  CHECK(load(path) == "kept");
}

TEST_CASE("what killed writers left is removed and nothing else") {
  const std::string folder = folder_for("killed"), path = folder + "/cache";
  const std::string dead = path + ".0123456789abcdef.part", held = path + ".fedcba9876543210.part";
  const std::string young = path + ".00000000000000ff.part";
  const std::string others[] = {path + ".notes.part", path + ".0123456789ABCDEF.part",
                                folder + "/other.0123456789abcdef.part", path + ".0123456789abcdef.part.bak",
                                path + ".0123456789abcde.part"};
  for (const std::string& file : others) make(file, std::chrono::hours(1000));
  make(dead, std::chrono::hours(1));
  make(held, std::chrono::hours(1000));
  make(young, std::chrono::seconds(1));
  const int writer = ::open(held.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(writer, LOCK_EX) == 0);
  REQUIRE(save(path, "kept").has_value());
  CHECK_FALSE(fs::exists(dead));
  CHECK(fs::exists(held));
  CHECK(fs::exists(young));
  for (const std::string& file : others) CHECK(fs::exists(file));
  ::close(writer);  // as its death would
  REQUIRE(save(path, "again").has_value());
  CHECK_FALSE(fs::exists(held));
  CHECK(load(path) == "again");
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 2 + static_cast<long>(std::size(others)));
}

TEST_CASE("a cache behind a link is replaced and the link stays") {
  const std::string folder = folder_for("linked");
  fs::create_symlink("far", folder + "/cache");
  for (const char* text : {"first", "second"}) {
    REQUIRE(save(folder + "/cache", text).has_value());
    CHECK(fs::is_symlink(folder + "/cache"));
    CHECK(load(folder + "/far") == text);
  }
}

TEST_CASE("a pipe is no cache and is neither waited for nor replaced") {
  const std::string folder = folder_for("piped"), pipe = folder + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto read = backend::read_framed(pipe, kFrame, [](auto) { return std::string(); });
  CHECK(read.warning.find("not a regular file") != std::string::npos);
  const auto saved = save(pipe, "lost");
  REQUIRE_FALSE(saved.has_value());
  CHECK(saved.error().kind == ErrorKind::io);
  CHECK(saved.error().message().find(pipe) != std::string::npos);
  CHECK(fs::is_fifo(pipe));
}
