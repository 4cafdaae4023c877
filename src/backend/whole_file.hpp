// Reading and writing whole files, whatever stands at the path: only a regular file, or nothing, is ever replaced, and
// nothing is read without a bound or waited for without an end.
#pragma once

#include <sectile/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::backend {

// Whether what is no regular file (a pipe, a terminal; for writing any character device) will do as well.
enum class Streams { refused, taken };

// The error of an output that could not be written; the command exits with 1 for these (tools/cli/command.cpp).
inline constexpr std::string_view kWriting = "writing ";
std::unexpected<Error> write_failed(const std::string& path, int error);

// What a path that is written to leads to, links followed: a file that stands there, or that can be made there.
struct Place {
  std::string path;       // behind all links, also where the last one leads to nothing
  bool stream = false;    // written to as it is, and never replaced
  bool there = false;
  std::uint32_t mode = 0; // of the regular file that is there
};
// Errors: io (a folder, a block device, a socket; a stream where those are refused), missing (the folder).
Result<Place> place_of(const std::string& path, Streams streams);

// A regular file: `parts` are written one behind the other into a new file beside it, synced and renamed over it, so that
// whoever looks sees the old file or the whole new one. A symbolic link stays, and what it leads to is replaced. A stream
// is written to. Errors: io; nothing is left behind.
Result<void> write_whole_file(const std::string& path, std::span<const std::span<const std::byte>> parts, Streams streams);

// All of a file, of at most `most` bytes. A pipe is read to its end; one that nobody writes to is refused, and so is a
// device that is no terminal. Errors: missing, io.
Result<std::string> read_whole_file(const std::string& path, std::uint64_t most, Streams streams);

// Held while a file is read, changed and written again: who holds one for the same path waits. PATH.sectile-lock stands beside the
// file for that time alone.
class FileLock {
 public:
  // Errors: io (PATH.sectile-lock cannot be made; or another holds it for half a minute).
  static Result<FileLock> take(const std::string& path);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;

 private:
  FileLock(std::string path, int file) : path_(std::move(path)), file_(file) {}
  std::string path_;
  int file_ = -1;
};

}  // namespace sectile::backend
