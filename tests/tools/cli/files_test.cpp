// What is written and read where no plain file stands: links, pipes, devices. Device nodes are made in a folder of the
// test's own; nothing here goes near those of the machine.
#include "cli/files.hpp"
#include "tools/run_command.hpp"

#include "backend/whole_file.hpp"
#include "support/paths.hpp"

#include <sectile/profile.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace sectile;
using namespace sectile::test;
namespace fs = std::filesystem;

namespace {

// A .npy without elements: permuting it needs no device.
std::string empty_npy() {
  std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0), }";
  while ((10 + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
  dictionary += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(dictionary.size()) + std::string(1, '\0') + dictionary;
}

Ran permute_to(const Folder& folder, const std::string& out) {
  write_file(folder.path("in.npy"), empty_npy());
  return run_sectile({"permute", folder.path("in.npy"), "--axes", "1,0", "-o", out});
}

bool is_npy(const std::string& text) { return text.size() == 128 && text.find("(0, 2)") != std::string::npos; }

mode_t file_type(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & S_IFMT : 0;
}

// A node like /dev/full, which takes nothing, or /dev/zero, which never ends; false where the machine allows none.
bool make_node(const std::string& path, unsigned minor, int flags) {
  const bool made = ::mknod(path.c_str(), S_IFCHR | 0666, makedev(1, minor)) == 0;
  const int file = made ? ::open(path.c_str(), flags | O_CLOEXEC) : -1;
  if (file >= 0) ::close(file);
  if (file < 0) MESSAGE("skipped: device nodes cannot be made and opened here: " << std::strerror(errno));
  return file >= 0;
}

// What is written into a pipe, until its writer closes it, for at most ten seconds.
class Reader {
 public:
  explicit Reader(const std::string& pipe) : file_(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    thread_ = std::thread([this] {
      std::array<char, 4096> piece{};
      pollfd waiting{file_, POLLIN, 0};
      while (::poll(&waiting, 1, 10000) > 0) {
        const ssize_t got = ::read(file_, piece.data(), piece.size());
        if (got <= 0) return;
        text_.append(piece.data(), static_cast<std::size_t>(got));
      }
    });
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { ::close(file_); }
  std::string text() {
    thread_.join();
    return text_;
  }

 private:
  int file_;
  std::thread thread_;
  std::string text_;
};

}  // namespace

TEST_CASE("a link stays and what it leads to is replaced") {
  const Folder folder;
  fs::create_directory(folder.path("far"));
  write_file(folder.path("far/there"), "old");
  REQUIRE(::chmod(folder.path("far/there").c_str(), 0640) == 0);
  fs::create_symlink("far/there", folder.path("link"));
  fs::create_symlink("link", folder.path("link to it"));
  fs::create_symlink("far/new", folder.path("dangling"));
  for (const char* name : {"link", "link to it", "dangling"}) {
    CAPTURE(std::string(name));
    const Ran ran = permute_to(folder, folder.path(name));
    CHECK_MESSAGE(ran.code == 0, ran.err);
    CHECK(file_type(folder.path(name)) == S_IFLNK);
    CHECK(is_npy(read_file(folder.path(name))));
  }
  CHECK(file_type(folder.path("far/there")) == S_IFREG);
  CHECK(is_npy(read_file(folder.path("far/there"))));
  CHECK(is_npy(read_file(folder.path("far/new"))));
  CHECK((fs::status(folder.path("far/there")).permissions() & fs::perms::all) == fs::perms(0640));
  CHECK(std::distance(fs::directory_iterator(folder.path("far")), {}) == 2);
  // A link that leads into a circle, and one into no folder.
  fs::create_symlink("circle", folder.path("circle"));
  fs::create_symlink("nowhere/file", folder.path("lost"));
  CHECK(permute_to(folder, folder.path("circle")).code != 0);
  CHECK(permute_to(folder, folder.path("lost")).code == 2);
  CHECK(file_type(folder.path("circle")) == S_IFLNK);
}

TEST_CASE("a pipe is written to and stays") {
  const Folder folder;
  const std::string pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  fs::create_symlink("pipe", folder.path("link"));
  for (const std::string& path : {pipe, folder.path("link")}) {
    Reader reader(pipe);
    const Ran ran = permute_to(folder, path);
    if (ran.code != 0) ::close(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));  // or the reader waits
    CHECK_MESSAGE(ran.code == 0, ran.err);
    CHECK(is_npy(reader.text()));
    CHECK(file_type(pipe) == S_IFIFO);
  }
  const Ran unread = permute_to(folder, pipe);
  CHECK(unread.code == 1);
  CHECK(unread.err.find(pipe) != std::string::npos);
  CHECK(unread.err.find("nobody reads") != std::string::npos);
  CHECK(file_type(pipe) == S_IFIFO);
  CHECK(folder.files() == 3);
}

TEST_CASE("a device is written to and stays") {
  const Folder folder;
  const std::string full = folder.path("full");
  if (!make_node(full, 7, O_WRONLY)) return;
  const Ran ran = permute_to(folder, full);
  CHECK(ran.code == 1);
  CHECK(ran.err.find("No space left") != std::string::npos);
  CHECK(file_type(full) == S_IFCHR);
  const Ran recorded = run_sectile({"bench", "--preset", "cpu", "--list", "--json", full});
  CHECK(recorded.code == 1);
  CHECK(file_type(full) == S_IFCHR);
  // Where only a file makes sense, it is refused by name.
  const auto store = backend::place_of(full, backend::Streams::refused);
  REQUIRE_FALSE(store.has_value());
  CHECK(store.error().message().find(full) != std::string::npos);
  CHECK(folder.files() == 2);
}

TEST_CASE("standard output is written to by its name") {
  const Folder folder;
  write_file(folder.path("in.npy"), empty_npy());
  const Ran ran = run_sectile({"permute", folder.path("in.npy"), "--axes", "1,0", "-o", "/dev/stdout"});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK(is_npy(ran.out));
  CHECK(file_type("/dev/stdout") == S_IFLNK);
}

TEST_CASE("a place that is none is refused by name") {
  const Folder folder;
  const Ran empty = permute_to(folder, "");
  CHECK(empty.code == 2);
  CHECK(empty.err.find("want a file's name") != std::string::npos);
  CHECK(empty.err.find("No such file") == std::string::npos);
  CHECK(permute_to(folder, folder.path("in.npy/inside")).code == 2);
  CHECK(permute_to(folder, folder.path("")).code == 2);
  CHECK(folder.files() == 1);
}

// ---- what is printed

namespace {

// Through a shell, so that a descriptor can be closed or lead to what takes nothing.
Ran in_shell(const std::string& command) {
  return run_program("/bin/sh", {"-c", "sectile='" + sectile_command() + "'\n" + command});
}

bool is_device(const char* path) {
  struct stat status{};
  if (::stat(path, &status) == 0 && S_ISCHR(status.st_mode)) return true;
  MESSAGE("skipped: no " << path);
  return false;
}

}  // namespace

TEST_CASE("what is printed stands behind an output that goes to the same file") {
  const Folder folder;
  write_file(folder.path("in.npy"), empty_npy());
  const std::string permute = "\"$sectile\" permute " + folder.path("in.npy") + " --axes 1,0 -o /dev/stdout ";
  for (const char* const to : {"--json > ", "> "}) {
    const Ran ran = in_shell(permute + to + folder.path("out") + " 2>&1");
    CHECK_MESSAGE(ran.code == 0, ran.err);
    const std::string out = read_file(folder.path("out"));
    CHECK(is_npy(out.substr(0, 128)));
    CHECK(out.find("permute f32") != std::string::npos);
  }
}

TEST_CASE("output that is lost is an error") {
  if (!is_device("/dev/full")) return;
  const std::string problem = "'permute f32 512x512 axes=1,0'";
  for (const std::string& arguments :
       {"plan " + problem + " --target lavapipe", "plan " + problem + " --target lavapipe --json --explain",
        std::string("devices --json"), std::string("targets"), std::string("bench --preset matmul --list"),
        std::string("--help"), std::string("--version"), std::string("check --help")}) {
    CAPTURE(arguments);
    const Ran fine = in_shell("\"$sectile\" " + arguments);
    CHECK_MESSAGE(fine.code == 0, fine.err);
    const Ran lost = in_shell("\"$sectile\" " + arguments + " > /dev/full");
    CHECK(lost.code == 1);
    CHECK_MESSAGE(lost.err.find("No space left") != std::string::npos, lost.err);
    const Ran closed = in_shell("\"$sectile\" " + arguments + " >&-");
    CHECK(closed.code == 1);
    CHECK_MESSAGE(closed.err.find("standard output") != std::string::npos, closed.err);
  }
  if (cpu_device().empty()) return;
  const Ran check = in_shell("\"$sectile\" check --cases 2 --device '" + cpu_device() + "' > /dev/full");
  CHECK(check.code == 1);
  CHECK(check.err.find("No space left") != std::string::npos);
}

TEST_CASE("closed descriptors neither abort nor take what is printed") {
  const Folder folder;
  write_file(folder.path("in.npy"), empty_npy());
  const std::string permute =
      "\"$sectile\" permute '" + folder.path("in.npy") + "' --axes 1,0 -o '" + folder.path("out.npy") + "'";
  for (const char* closed : {">&- 2>&-", "2>&-", "<&- >&- 2>&-", ">&-"}) {
    CAPTURE(std::string(closed));
    const Ran ran = in_shell(permute + " " + closed);
    CHECK(ran.code == 0);  // it prints nothing on standard output
    CHECK(is_npy(read_file(folder.path("out.npy"))));
    write_file(folder.path("out.npy"), "");
    // What it would print must not go into the file that it writes.
    const Ran json = in_shell(permute + " --json " + closed);
    CHECK(json.code == (std::string(closed) == "2>&-" ? 0 : 1));
    CHECK(is_npy(read_file(folder.path("out.npy"))));
  }
  // And errors that nobody can read still have their code.
  if (is_device("/dev/full")) CHECK(in_shell("\"$sectile\" plan nonsense --target lavapipe 2> /dev/full").code != 0);
  CHECK(in_shell("\"$sectile\" plan nonsense --target lavapipe 2>&-").code == 2);
}

// One code for what could not be written, from every subcommand, and another for what could not be read.
TEST_CASE("codes tell what could not be written from what could not be read") {
  const Folder folder;
  const std::string pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  write_file(folder.path("in.npy"), empty_npy());
  write_file(folder.path("other.npy"), "");
  const std::string in = folder.path("in.npy");
  for (const std::vector<std::string>& unwritten :
       {std::vector<std::string>{"permute", in, "--axes", "1,0", "-o", pipe},
        {"bench", "--preset", "matmul", "--list", "--json-file", pipe},
        {"bench", "--preset", "cpu", "--list", "--json-file", pipe}}) {
    const Ran ran = run_sectile(unwritten);
    CAPTURE(unwritten[0]);
    CHECK_MESSAGE(ran.code == 1, ran.err);
  }
  for (const std::vector<std::string>& unread :
       {std::vector<std::string>{"plan", "permute f32 2x2 axes=1,0", "--target", pipe},
        {"plan", "permute f32 2x2 axes=1,0", "--target", "lavapipe", "--supplement", pipe},
        {"plan", "permute f32 2x2 axes=1,0", "--target", "lavapipe", "--pack", pipe},
        {"permute", pipe, "--axes", "1,0", "-o", folder.path("out")},
        {"emit", "--from", pipe, "--target", "lavapipe", "-o", folder.path("out")},
        {"demo", "--photo", pipe, "--out", folder.path("out")},
        {"pack", "--list", pipe}}) {
    const Ran ran = run_sectile(unread);  // and none of them waits for a writer
    CAPTURE(unread[0]);
    CHECK(ran.code == 2);
    CHECK_MESSAGE(ran.err.find(pipe) != std::string::npos, ran.err);
  }
  CHECK(folder.files() == 3);
}

// ---- what is read

TEST_CASE("a device without an end is not read") {
  const Folder folder;
  const std::string zero = folder.path("zero");
  if (!make_node(zero, 5, O_RDONLY)) return;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"pack", "--list", zero},
        {"plan", "permute f32 2x2 axes=1,0", "--target", zero},
        {"emit", "--from", zero, "--target", "lavapipe", "-o", folder.path("out")},
        {"permute", zero, "--axes", "1,0", "-o", folder.path("out")}}) {
    const Ran ran = run_sectile(arguments);
    CAPTURE(arguments[0]);
    CHECK(ran.code == 2);
    CHECK_MESSAGE(ran.err.find(zero) != std::string::npos, ran.err);
  }
}

TEST_CASE("a pipe that something is written to is read to its end") {
  const std::string target = "\"$sectile\" plan 'permute f32 512x512 axes=1,0' --target ";
  const Ran direct = in_shell(target + "lavapipe");
  REQUIRE_MESSAGE(direct.code == 0, direct.err);
  const Folder folder;
  const std::string profile = folder.path("profile.json"), pipe = folder.path("pipe");
  const auto lavapipe = builtin_target("lavapipe");
  REQUIRE(lavapipe.has_value());
  write_file(profile, to_json(*lavapipe));
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const Ran piped = in_shell("cat '" + profile + "' | " + target + "/dev/stdin");
  CHECK_MESSAGE(piped.code == 0, piped.err);
  CHECK(piped.out == direct.out);
  // Its writer is slow: begun, and then silent for a while.
  const Ran slow = in_shell("{ head -c 10 '" + profile + "'; sleep 0.2; tail -c +11 '" + profile + "'; } > '" + pipe +
                            "' & " + target + "'" + pipe + "'");
  CHECK_MESSAGE(slow.code == 0, slow.err);
  CHECK(slow.out == direct.out);
}

TEST_CASE("what is read has a bound") {
  const Folder folder;
  write_file(folder.path("big"), std::string(1000, 'x'));
  REQUIRE(::truncate(folder.path("big").c_str(), off_t{1} << 40) == 0);  // takes no space
  const Ran ran = run_sectile({"pack", "--list", folder.path("big")});
  CHECK(ran.code == 2);
  CHECK_MESSAGE(ran.err.find("at most") != std::string::npos, ran.err);
  CHECK(tools::read_text(folder.path("big")).error().kind == ErrorKind::io);
  write_file(folder.path("small"), std::string(1000, 'x'));
  CHECK(tools::read_text(folder.path("small"), 999).has_value() == false);
  CHECK(tools::read_text(folder.path("small"), 1000) == std::string(1000, 'x'));
  // A pipe does not say how much it will have.
  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  for (const std::size_t most : {1000u, 999u}) {
    const int end = ::open(folder.path("pipe").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(::write(end, std::string(1000, 'x').data(), 1000) == 1000);
    std::thread closing([end] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      ::close(end);
    });
    const auto read = tools::read_text(folder.path("pipe"), most);
    closing.join();
    CHECK(read.has_value() == (most == 1000));
    if (!read) CHECK(read.error().message().find("at most 999 bytes") != std::string::npos);
  }
}
