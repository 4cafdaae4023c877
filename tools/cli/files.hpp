// Reading and writing whole files, with errors that name the file.
#pragma once

#include <sectile/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sectile::tools {

// A file, or a pipe that something is written to. Errors: missing (no such file), io (a folder, a device, a pipe without a
// writer, unreadable, more than `most` bytes).
Result<std::string> read_text(const std::string& path, std::size_t most = std::size_t{64} << 20);

// Whether a file could be made there: asked before the work whose result is to go there.
// Errors: missing (its folder), io (it is a folder itself, or a block device).
Result<void> check_place(const std::string& path);

// Writes `parts` one behind the other: into a new file beside `path` that is synced and renamed over it, so that whoever
// looks sees the old file or the whole new one. A symbolic link stays and what it leads to is replaced; a pipe or a
// device is written to. On an error nothing is left behind. Errors: io.
Result<void> write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts);
Result<void> write_atomically(const std::string& path, std::string_view text);

// What is known so far of a file that will be written again; nothing where that is no file that can be replaced.
void write_so_far(const std::string& path, std::string_view text);

// Where this user's programs keep what they can make again: ~/.cache/sectile/NAME. Empty where there is no such place.
std::string cache_folder(std::string_view name);

}  // namespace sectile::tools
