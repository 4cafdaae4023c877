// What differs between operating systems: files replaced and locked, their names, shared libraries.
#include "support/folder.hpp"

#include "backend/framed_file.hpp"
#include "backend/platform.hpp"
#include "backend/whole_file.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#if defined(_WIN32)
#include <cstdlib>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#endif

using namespace sectile;
using backend::FileLock, backend::Streams, backend::native_path;
namespace fs = std::filesystem;

namespace {

// A new folder, whose name has letters outside ASCII.
std::string folder_for(const std::string& name) {
  const std::string path = test::process_folder() + "/" + name + "-\xC3\xA4-\xE6\x97\xA5";
  fs::create_directory(native_path(path));
  return path;
}

Result<void> write(const std::string& path, std::string_view text) {
  const std::array parts = {std::as_bytes(std::span(text.substr(0, text.size() / 2))),
                            std::as_bytes(std::span(text.substr(text.size() / 2)))};
  return backend::write_whole_file(path, parts, Streams::refused);
}

Result<std::string> read(const std::string& path) { return backend::read_whole_file(path, 1 << 24, Streams::refused); }

std::size_t files_in(const std::string& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(native_path(folder))) ++count;
  return count;
}

void make(const std::string& path, std::chrono::seconds age) {
  std::ofstream(native_path(path)) << "left";
  fs::last_write_time(native_path(path), fs::file_time_type::clock::now() - age);
}

}  // namespace

TEST_CASE("a file with letters outside ASCII in its name is written, replaced and read") {
  const std::string folder = folder_for("names"), path = folder + "/\xC2\xB5.bin";
  REQUIRE(write(path, "one\r\n\x1a").has_value());
  CHECK(read(path) == "one\r\n\x1a");  // no line end is changed, and no byte ends the file
  REQUIRE(write(path, "another").has_value());
  CHECK(read(path) == "another");
  CHECK(files_in(folder) == 1);
  for (const auto& entry : fs::directory_iterator(native_path(folder)))
    CHECK(backend::text_of(entry.path().filename()) == "\xC2\xB5.bin");
  backend::InputFile file(path);
  REQUIRE(static_cast<bool>(file));
  CHECK(file.is_regular());
  CHECK(file.size() == 7);
  std::array<char, 7> bytes{};
  CHECK(file.read_all(bytes.data(), bytes.size()));
  CHECK(std::string_view(bytes.data(), bytes.size()) == "another");
  CHECK_FALSE(file.read_all(bytes.data(), 1));
}

TEST_CASE("a reader sees the old file or the whole new one") {
  const std::string path = folder_for("replaced") + "/file";
  const std::array<std::string, 2> texts = {std::string(100000, 'a'), std::string(70000, 'b')};
  REQUIRE(write(path, texts[0]).has_value());
  std::atomic<bool> done = false;
  std::atomic<int> torn = 0, seen = 0;
  std::string why;
  std::thread reader([&] {
    while (!done) {
      const auto text = read(path);
      // Windows lacks the name for the moment in which it is replaced: a reader tries again.
      if (!text) continue;
      if (*text != texts[0] && *text != texts[1]) ++torn;
      ++seen;
    }
  });
  for (int i = 0; i < 100; ++i) {
    const auto written = write(path, texts[static_cast<std::size_t>(i + 1) % 2]);
    if (!written) why = written.error().message();
  }
  done = true;
  reader.join();
  CHECK(why == "");
  CHECK(torn == 0);
  CHECK(seen > 0);
  CHECK(read(path) == texts[0]);
}

TEST_CASE("one holds a lock and the next one waits for it") {
  const std::string folder = folder_for("locked"), path = folder + "/file";
  std::atomic<bool> released = false, early = false, taken = false;
  std::thread other;
  {
    const auto lock = FileLock::take(path);
    REQUIRE(lock.has_value());
    CHECK(files_in(folder) == 1);
    other = std::thread([&] {
      const auto next = FileLock::take(path);
      taken = next.has_value();
      early = !released;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    CHECK_FALSE(taken);
    released = true;
  }
  other.join();
  CHECK(taken);
  CHECK_FALSE(early);
  CHECK(files_in(folder) == 0);
}

TEST_CASE("a lock file that was left behind locks nothing, and one with content is not removed") {
  const std::string folder = folder_for("left"), path = folder + "/file", lock = path + ".sectile-lock";
  std::ofstream(native_path(lock)).close();
  CHECK(FileLock::take(path).has_value());
  CHECK(files_in(folder) == 0);
  std::ofstream(native_path(lock)) << "another's";
  CHECK(FileLock::take(path).has_value());
  CHECK(read(lock) == "another's");
}

TEST_CASE("what killed writers left is removed, and what is young or of another name stays") {
  const std::string folder = folder_for("dead"), path = folder + "/file";
  using std::chrono::hours;
  make(path + ".0123456789abcdef.part", hours(1));
  make(path + ".fedcba9876543210.part", std::chrono::seconds(5));
  make(path + ".0123456789abcdeg.part", hours(1));
  make(folder + "/other.0123456789abcdef.part", hours(1));
  REQUIRE(write(path, "text").has_value());
  CHECK_FALSE(fs::exists(native_path(path + ".0123456789abcdef.part")));
  CHECK(fs::exists(native_path(path + ".fedcba9876543210.part")));
  CHECK(fs::exists(native_path(path + ".0123456789abcdeg.part")));
  CHECK(fs::exists(native_path(folder + "/other.0123456789abcdef.part")));
}

TEST_CASE("places that take no file are refused by name, and nothing is left there") {
  const std::string folder = folder_for("places");
  fs::create_directory(native_path(folder + "/below"));
  const auto kind = [](const auto& result) { return result ? ErrorKind::compile : result.error().kind; };
  CHECK(kind(write(folder + "/below", "text")) == ErrorKind::io);
  CHECK(kind(write(folder + "/none/file", "text")) == ErrorKind::io);
  CHECK(kind(backend::place_of(folder + "/none/file", Streams::refused)) == ErrorKind::missing);
  CHECK(kind(backend::place_of("", Streams::refused)) == ErrorKind::missing);
  CHECK(kind(read(folder + "/none")) == ErrorKind::missing);
  CHECK(kind(read(folder + "/below")) == ErrorKind::io);
  REQUIRE(write(folder + "/file", "12345").has_value());
  CHECK(kind(backend::read_whole_file(folder + "/file", 4, Streams::refused)) == ErrorKind::io);
  CHECK(backend::read_whole_file(folder + "/file", 5, Streams::refused) == "12345");
  CHECK(backend::InputFile(folder + "/none").is_missing());
  CHECK(backend::InputFile(folder + "/none/file").is_missing());
  CHECK_FALSE(backend::InputFile(folder + "/below").is_regular());
#if defined(_WIN32)
  // It would be a hidden stream of `file`; NUL is a device.
  CHECK(kind(write(folder + "/file:stream", "text")) == ErrorKind::io);
  CHECK(kind(write("NUL", "text")) == ErrorKind::io);
  CHECK(backend::place_of("NUL", Streams::taken).value().stream);
  CHECK(::SetFileAttributesW(native_path(folder + "/file").c_str(), FILE_ATTRIBUTE_READONLY) != 0);
  CHECK(kind(write(folder + "/file", "text")) == ErrorKind::io);
  CHECK(::SetFileAttributesW(native_path(folder + "/file").c_str(), FILE_ATTRIBUTE_NORMAL) != 0);
#endif
  CHECK(files_in(folder) == 2);
}

TEST_CASE("a framed file gives back what was written and is ignored where it is cut off") {
  const std::string path = folder_for("framed") + "/cache";
  constexpr backend::Frame frame = {"test", {'S', 'E', 'C', 'T', 'T', 'E', 'S', 'T'}, 1, {}, 1 << 20};
  const auto load = [&] { return backend::read_framed(path, frame, [](auto) { return std::string(); }); };
  CHECK(load().bytes.empty());
  CHECK(load().warning == "");
  const std::string text = "compiled\r\n\x1a code";
  REQUIRE(backend::write_framed(path, frame, std::as_bytes(std::span(text))).has_value());
  const auto found = load();
  CHECK(found.warning == "");
  CHECK(std::string(reinterpret_cast<const char*>(found.bytes.data()), found.bytes.size()) == text);
  fs::resize_file(native_path(path), fs::file_size(native_path(path)) - 1);
  CHECK(load().bytes.empty());
  CHECK(load().warning.find("truncated") != std::string::npos);
}

TEST_CASE("a shared library is found where the loader searches and in a folder that is named") {
#if defined(_WIN32)
  const char *name = "kernel32.dll", *function = "GetCurrentProcessId";
#else
  const char *name = "libc.so.6", *function = "getpid";
#endif
  CHECK(backend::load_library("sectile-no-such-library") == nullptr);
  CHECK(backend::load_library(test::process_folder() + "/" + name) == nullptr);
  void* const library = backend::load_library(name);
  REQUIRE(library != nullptr);
  void* const found = backend::library_function(library, function);
  REQUIRE(found != nullptr);
  CHECK(backend::library_function(library, "sectile_no_such_function") == nullptr);
  const std::string folder = backend::library_folder(found);
  CHECK(fs::exists(native_path(folder + "/" + name)));
  CHECK(backend::load_library(folder + "/" + name) == library);
}

#if defined(_WIN32)
// SECTILE_TEST_LIBRARY names a library that does not lie beside the program.
TEST_CASE("a library in the current folder is not loaded by its name") {
  const char* const library = std::getenv("SECTILE_TEST_LIBRARY");
  REQUIRE(library != nullptr);
  const std::string folder = folder_for("current");
  fs::copy_file(library, native_path(folder + "/sectile-test.dll"));
  const fs::path before = fs::current_path();
  fs::current_path(native_path(folder));
  CHECK(backend::load_library("sectile-test.dll") == nullptr);
  CHECK(backend::load_library(folder + "/sectile-test.dll") != nullptr);
  fs::current_path(before);
}
#endif
