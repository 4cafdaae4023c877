// Whole files where the system is POSIX; whole_file_windows.cpp has the same for Windows.
#include "whole_file.hpp"

#if !defined(_WIN32)

#include "descriptor.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

namespace sectile::backend {
namespace {

constexpr int kMostLinks = 40;               // as the kernel follows
constexpr long kProcFileSystem = 0x9fa0;     // PROC_SUPER_MAGIC
constexpr std::string_view kPart = ".part";  // PATH.0123456789abcdef.part: a file in the making
constexpr std::size_t kPartDigits = 16;
constexpr std::time_t kDeadAfter = 60;      // seconds: an older part without a lock was left by a killed writer
constexpr std::time_t kDeadAnyway = 86400;  // where the file system has no locks
constexpr int kWriterWait = 500;            // milliseconds to wait for a pipe's writer
constexpr std::string_view kLock = ".sectile-lock";
constexpr int kLockWait = 30000;

// A temporary file, removed unless it was renamed.
struct Temporary {
  std::string path;
  bool kept = false;
  ~Temporary() {
    if (!kept) ::unlink(path.c_str());
  }
};

std::unexpected<Error> refused(const std::string& path, std::string want) {
  return fail(ErrorKind::io, "output", path, std::move(want));
}

std::unexpected<Error> read_failed(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) return fail(ErrorKind::missing, "file", path);
  return fail(ErrorKind::io, "reading " + path, std::strerror(error));
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool is_folder(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Links of /proc lead to a process's open files, which may have another name or none.
bool in_proc(const std::string& link) {
  const File file(::open(link.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct statfs system{};
  return file && ::fstatfs(file.get(), &system) == 0 && system.f_type == kProcFileSystem;
}

// Follows links one by one: the target of the last one need not exist yet.
Result<Place> follow_links(const std::string& path) {
  Place place{path};
  for (int links = 0;; ++links) {
    struct stat status{};
    if (::lstat(place.path.c_str(), &status) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return place;
      return write_failed(path, errno);
    }
    if (!S_ISLNK(status.st_mode)) return place;
    if (links == kMostLinks) return write_failed(path, ELOOP);
    if (in_proc(place.path)) {
      place.stream = true;
      return place;
    }
    std::array<char, 4096> target{};
    const ssize_t length = ::readlink(place.path.c_str(), target.data(), target.size());
    if (length <= 0 || static_cast<std::size_t>(length) == target.size())
      return write_failed(path, length < 0 ? errno : ENAMETOOLONG);
    const std::string next(target.data(), static_cast<std::size_t>(length));
    place.path = next.front() == '/' ? next : folder_of(place.path) + "/" + next;
  }
}

int write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    if (put == 0) return ENOSPC;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return 0;
}

Result<void> write_stream(const std::string& path, const Place& place,
                          std::span<const std::span<const std::byte>> parts) {
  // Appends, because a link of /proc may lead to an open file. Does not wait: a pipe may have no reader.
  File file(::open(place.path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file && errno == ENXIO)
    return fail(ErrorKind::io, std::string(kWriting) + path, "a pipe that nobody reads, or a socket");
  if (!file) return write_failed(path, errno);
  if (::fcntl(file.get(), F_SETFL, O_APPEND) != 0) return write_failed(path, errno);
  // A file that is also our standard output or error must be written at the same position: through that descriptor.
  struct stat opened{}, ours{};
  if (::fstat(file.get(), &opened) == 0 && S_ISREG(opened.st_mode)) {
    std::fflush(nullptr);
    for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) {
      if (::fstat(standard, &ours) != 0 || ours.st_dev != opened.st_dev || ours.st_ino != opened.st_ino) continue;
      for (const auto& part : parts)
        if (const int error = write_all(standard, part); error != 0) return write_failed(path, error);
      return {};
    }
  }
  for (const auto& part : parts)
    if (const int error = write_all(file.get(), part); error != 0) return write_failed(path, error);
  if (file.close() != 0) return write_failed(path, errno);
  return {};
}

Result<void> sync_folder(const std::string& path) {
  const std::string folder = folder_of(path);
  const File file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder; the rename is still atomic.
  if (file && ::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS) return write_failed(folder, errno);
  return {};
}

// Removes what killed writers of this file left. A living writer holds a lock on its part.
void remove_dead_parts(const std::string& path) {
  const std::string folder = folder_of(path), name = path.substr(path.rfind('/') + 1) + ".";
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  if (!entries) return;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view part = entry->d_name;
    if (part.size() != name.size() + kPartDigits + kPart.size() || !part.starts_with(name) || !part.ends_with(kPart))
      continue;
    const auto digits = part.substr(name.size(), kPartDigits);
    if (digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) continue;
    const std::string whole = folder + "/" + std::string(part);
    const File file(::open(whole.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const std::time_t age = std::time(nullptr) - status.st_mtime;
    if (age < kDeadAfter) continue;
    const bool locked = ::flock(file.get(), LOCK_EX | LOCK_NB) != 0;
    if (locked && (errno == EWOULDBLOCK || age < kDeadAnyway)) continue;
    ::unlink(whole.c_str());
  }
}

// A new file beside `path`, with a random name, so that two processes with the same id do not clash.
int make_part(const std::string& path, std::string& name) {
  for (int tries = 0; tries < 100; ++tries) {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) return -1;
    std::array<char, kPartDigits + 1> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(random));
    name = path + "." + digits.data() + std::string(kPart);
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

}  // namespace

Result<Place> place_of(const std::string& path, Streams streams) {
  if (path.empty()) return fail(ErrorKind::missing, "output", "an empty name", "a file's name");
  auto place = follow_links(path);
  if (!place) return place;
  struct stat status{};
  if (::stat(place->path.c_str(), &status) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) return write_failed(path, errno);
    if (place->path.ends_with('/')) return fail(ErrorKind::missing, "folder", place->path);
    if (const std::string folder = folder_of(place->path); !is_folder(folder))
      return fail(ErrorKind::missing, "folder", folder);
    return place;
  }
  place->there = true;
  place->mode = status.st_mode & 0777u;
  if (S_ISDIR(status.st_mode)) return refused(path, "a file, not a folder");
  if (S_ISBLK(status.st_mode)) return refused(path, "a file, not a block device");
  if (S_ISSOCK(status.st_mode)) return refused(path, "a file, not a socket");
  if (!S_ISREG(status.st_mode)) place->stream = true;
  if (place->stream && streams == Streams::refused)
    return refused(path, S_ISFIFO(status.st_mode)  ? "a regular file, not a pipe"
                         : S_ISCHR(status.st_mode) ? "a regular file, not a device"
                                                   : "a regular file");
  return place;
}

Result<void> write_whole_file(const std::string& path, std::span<const std::span<const std::byte>> parts,
                              Streams streams) {
  const auto place = place_of(path, streams);
  if (!place && place.error().kind == ErrorKind::missing) return write_failed(path, ENOENT);
  if (!place) return std::unexpected(place.error());
  if (place->stream) return write_stream(path, *place, parts);
  remove_dead_parts(place->path);
  Temporary temporary;
  File file(make_part(place->path, temporary.path));
  if (!file) {
    temporary.kept = true;  // none was made
    return write_failed(path, errno);
  }
  (void)::flock(file.get(), LOCK_EX | LOCK_NB);  // marks the part as one with a living writer
  if (place->there && ::fchmod(file.get(), place->mode) != 0) return write_failed(path, errno);
  for (const auto& part : parts)
    if (const int error = write_all(file.get(), part); error != 0) return write_failed(path, error);
  if (::fsync(file.get()) != 0) return write_failed(path, errno);
  if (::rename(temporary.path.c_str(), place->path.c_str()) != 0) return write_failed(path, errno);
  temporary.kept = true;
  if (file.close() != 0) return write_failed(path, errno);
  return sync_folder(place->path);
}

Result<std::string> read_whole_file(const std::string& path, std::uint64_t most, Streams streams) {
  const auto too_much = [&](const std::string& bytes) {
    return fail(ErrorKind::io, "reading " + path, bytes, "at most " + std::to_string(most) + " bytes");
  };
  // Does not wait: a pipe may have no writer.
  const File file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) return read_failed(path, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return read_failed(path, errno);
  if (S_ISDIR(status.st_mode)) return fail(ErrorKind::io, "reading", path, "a file, not a folder");
  const bool pipe = S_ISFIFO(status.st_mode);
  if (!S_ISREG(status.st_mode)) {
    if (streams == Streams::refused)
      return fail(ErrorKind::io, "reading", path, pipe ? "a regular file, not a pipe" : "a regular file, not a device");
    if (!pipe && ::isatty(file.get()) != 1)
      return fail(ErrorKind::io, "reading", path, "a file or a pipe, not a device");
  } else if (static_cast<std::uint64_t>(status.st_size) > most) {
    return too_much(std::to_string(status.st_size) + " bytes");
  }
  std::string text;
  if (S_ISREG(status.st_mode)) text.reserve(static_cast<std::size_t>(status.st_size));
  std::vector<char> piece(65536);
  int waited = 0;
  while (true) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {  // it has a writer, or is a terminal: wait for it
      if (::fcntl(file.get(), F_SETFL, 0) != 0) return read_failed(path, errno);
      waited = kWriterWait;
      continue;
    }
    if (got < 0) return read_failed(path, errno);
    if (got == 0 && pipe && text.empty() && waited < kWriterWait) {
      constexpr int step = 20;
      ::poll(nullptr, 0, step);
      waited += step;
      if (waited >= kWriterWait) return fail(ErrorKind::io, "reading", path, "a pipe that something is written to");
      continue;
    }
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > most) return too_much("more");
  }
}

Result<FileLock> FileLock::take(const std::string& path) {
  const std::string name = path + std::string(kLock);
  constexpr int step = 5;
  for (int waited = 0; waited < kLockWait; waited += step) {
    const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file < 0) return write_failed(name, errno);
    FileLock lock(name, file);
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
      // The previous holder may have removed the name. Then this lock is on a file that no other process can open.
      struct stat ours{}, named{};
      if (::fstat(file, &ours) == 0 && ::stat(name.c_str(), &named) == 0 && ours.st_dev == named.st_dev &&
          ours.st_ino == named.st_ino)
        return lock;
      lock.path_.clear();
      continue;
    }
    const int error = errno;
    // The file system has no locks, so no other process holds one there.
    if (error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP) return lock;
    lock.path_.clear();  // another process holds it
    if (error != EWOULDBLOCK && error != EINTR) return write_failed(name, error);
    ::poll(nullptr, 0, step);
  }
  return fail(ErrorKind::io, std::string(kWriting) + path, "another process holds " + name);
}

FileLock::~FileLock() {
  if (file_ < 0) return;
  struct stat status{};
  // Our lock files are empty. A file with content is not removed.
  if (!path_.empty() && ::fstat(static_cast<int>(file_), &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_size == 0)
    ::unlink(path_.c_str());
  ::close(static_cast<int>(file_));
}
FileLock::FileLock(FileLock&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

}  // namespace sectile::backend

#endif
