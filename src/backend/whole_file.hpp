// Reading and writing whole files. Only a regular file is ever replaced, reads are bounded, and waits end.
#pragma once

#include <sectile/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sectile::backend {

// Whether a pipe or a terminal (for writing any character device) is accepted besides regular files.
enum class Streams { refused, taken };

// The error of an output that could not be written; the command exits with 1 for these (tools/cli/command.cpp).
inline constexpr std::string_view kWriting = "writing ";
std::unexpected<Error> write_failed(const std::string& path, int error);  // an errno
std::unexpected<Error> write_failed(const std::string& path, std::error_code error);

// Where a path that is written to leads, with links followed: an existing file, or one that can be made.
struct Place {
  std::string path;     // after all links, even where the last one's target does not exist
  bool stream = false;  // written to, and never replaced
  bool there = false;
  std::uint32_t mode = 0;  // of the existing regular file
};
// Errors: io (a folder, a block device, a socket; a stream where those are refused), missing (the folder).
Result<Place> place_of(const std::string& path, Streams streams);

// A regular file: writes `parts` one after the other into a new file beside it, syncs and renames it, so that readers
// see the old file or the whole new one. A symbolic link stays, and its target is replaced. A stream is written to.
// Errors: io; no new file remains then.
Result<void> write_whole_file(const std::string& path, std::span<const std::span<const std::byte>> parts,
                              Streams streams);

// Reads a whole file of at most `most` bytes. A pipe is read to its end. A pipe without a writer, and a device that is
// not a terminal, are refused. Errors: missing, io.
Result<std::string> read_whole_file(const std::string& path, std::uint64_t most, Streams streams);

// A lock, held while a file is read, changed and written again. Others that lock the same path wait. PATH.sectile-lock
// exists beside the file during that time.
class FileLock {
 public:
  // Errors: io (PATH.sectile-lock cannot be made; or another holds it for half a minute).
  static Result<FileLock> take(const std::string& path);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;

 private:
  FileLock(std::string path, std::intptr_t file) : path_(std::move(path)), file_(file) {}
  std::string path_;
  std::intptr_t file_ = -1;  // the system's descriptor or handle
};

}  // namespace sectile::backend
