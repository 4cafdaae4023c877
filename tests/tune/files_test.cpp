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
  // A minute is the limit.
  const std::string young = path + ".00000000000000ff.part", old = path + ".00000000000000fe.part";
  const std::string others[] = {path + ".notes.part",
                                path + ".0123456789ABCDEF.part",
                                folder + "/other.0123456789abcdef.part",
                                path + ".0123456789abcdef.part.bak",
                                path + ".0123456789abcde.part",
                                path + ".0123456789abcdef0.part"};
  for (const std::string& file : others) make(file, std::chrono::hours(1000));
  make(dead, std::chrono::hours(1));
  make(held, std::chrono::hours(1000));
  make(young, std::chrono::seconds(30));
  make(old, std::chrono::seconds(61));
  const int writer = ::open(held.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(writer, LOCK_EX) == 0);
  REQUIRE(save(path, "kept").has_value());
  CHECK_FALSE(fs::exists(dead));
  CHECK_FALSE(fs::exists(old));
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

TEST_CASE("a file of as many bytes as its kind has is read, and one byte more is not") {
  const std::string path = folder_for("largest") + "/cache";
  const std::string whole(kFrame.most_bytes - backend::header_bytes(kFrame), 'x');
  REQUIRE(save(path, whole).has_value());
  CHECK((load(path) == whole));
  REQUIRE(save(path, whole + "x").has_value());
  const auto read = backend::read_framed(path, kFrame, [](auto) { return std::string(); });
  CHECK(read.bytes.empty());
  CHECK(read.foreign);
  CHECK_MESSAGE(read.warning.find("ignored: 1048577 bytes") != std::string::npos, read.warning);
}

TEST_CASE("forty links are followed, as the kernel follows them, and no more") {
  const std::string folder = folder_for("forty") + "/";
  make(folder + "0", std::chrono::seconds(0));
  for (int link = 1; link <= 41; ++link) fs::create_symlink(std::to_string(link - 1), folder + std::to_string(link));
  const auto forty = backend::place_of(folder + "40", backend::Streams::refused);
  REQUIRE_MESSAGE(forty.has_value(), forty.error().message());
  CHECK(forty->path == folder + "0");
  CHECK(forty->there);
  const auto more = backend::place_of(folder + "41", backend::Streams::refused);
  REQUIRE_FALSE(more.has_value());
  CHECK(more.error().kind == ErrorKind::io);
  CHECK(more.error().message().find("symbolic links") != std::string::npos);
}
