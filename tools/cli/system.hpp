// What the command asks of the operating system beside files (backend/platform.hpp): its words, the terminal, pages of
// memory, temporary folders.
#pragma once

#include <sectile/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sectile::tools {

// The words of the command line, as UTF-8. Called first: makes the standard streams fit to be written to.
std::vector<std::string> start_program(int argc, char** argv);
// This process's command line; empty where the system does not tell.
std::vector<std::string> command_words();
bool error_is_terminal() noexcept;

// The first folder of cached files of this user; empty where there is none.
std::string user_cache_folder();

// Makes a folder named PATH and six random characters more. Errors: io.
Result<std::string> make_new_folder(const std::string& path);
// A new folder for temporary files, whose name begins with NAME. Errors: io.
Result<std::string> make_temporary_folder(const std::string& name);

// Pages of zeros that take no memory until they are written; null where there are none. `why` is the system's.
std::byte* map_pages(std::uint64_t bytes, std::string* why = nullptr);
void unmap_pages(std::byte* pages, std::uint64_t bytes) noexcept;
std::uint64_t page_bytes() noexcept;
// Any access to protected pages ends the process.
void protect_pages(std::byte* pages, std::uint64_t bytes) noexcept;
void unprotect_pages(std::byte* pages, std::uint64_t bytes) noexcept;

}  // namespace sectile::tools
