// Reading and writing whole files, with errors that name the file.
#pragma once

#include <sectile/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sectile::tools {

// Errors: missing (no such file), io (a folder, unreadable, more than `most` bytes).
Result<std::string> read_text(const std::string& path, std::size_t most = std::size_t{64} << 20);

// Whether a file could be made there: asked before the work whose result is to go there.
// Errors: missing (its folder), io (it is a folder itself).
Result<void> check_place(const std::string& path);

// Writes `parts` one behind the other into a new file beside `path`, syncs it and renames it over
// `path`: whoever looks sees the old file or the whole new one. On an error nothing is left behind.
Result<void> write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts);
Result<void> write_atomically(const std::string& path, std::string_view text);

// Where this user's programs keep what they can make again: ~/.cache/sectile/NAME. Empty where there is no such place.
std::string cache_folder(std::string_view name);

}  // namespace sectile::tools
