// Reading and writing whole files, with errors that name the file.
#pragma once

#include <sectile/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sectile::tools {

// Reads a file, or a pipe that has a writer. Errors: missing (no such file), io (a folder, a device, a pipe without a
// writer, unreadable, more than `most` bytes).
Result<std::string> read_text(const std::string& path, std::size_t most = std::size_t{64} << 20);

// Whether a file could be written there; called before the work whose result it will have. Errors: missing (its
// folder), io (a folder, or a block device).
Result<void> check_place(const std::string& path);

// Writes `parts` one after the other into a new file beside `path`, syncs it and renames it, so that readers see the
// old file or the whole new one. A symbolic link stays, and its target is replaced; a pipe or a device is written to.
// After an error no new file remains. Errors: io.
Result<void> write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts);
Result<void> write_atomically(const std::string& path, std::string_view text);

// Writes the results so far to a file that will be written again. Does nothing where the file could not be replaced.
void write_so_far(const std::string& path, std::string_view text);

// A path in this user's cache: ~/.cache/sectile/NAME, or of %LOCALAPPDATA% on Windows. Empty where there is no cache
// folder.
std::string cache_folder(std::string_view name);

}  // namespace sectile::tools
