// What differs between operating systems, for all of src/ and tools/: paths, input files, shared libraries. File names
// are UTF-8 in all of Sectile; Windows takes UTF-16. Replacing and locking of files stands in whole_file.cpp and
// whole_file_windows.cpp, under whole_file.hpp. No other file of src/ includes a header of the system.
#pragma once

#include <sectile/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

namespace sectile::backend {

std::filesystem::path native_path(const std::string& path);
std::string text_of(const std::filesystem::path& path);

// An existing file, opened without waiting: a pipe may have no writer. Others may read, replace and remove it.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  explicit operator bool() const noexcept { return file_ != -1; }
  bool is_missing() const noexcept { return missing_; }       // not opened, because there is no such file
  bool is_regular() const noexcept { return regular_; }       // and no folder, pipe or device
  std::uint64_t size() const noexcept { return size_; }       // of a regular file
  const std::string& error() const noexcept { return why_; }  // why it was not opened
  bool read_all(void* to, std::size_t bytes) noexcept;        // false: an error, or it has ended before

 private:
  std::intptr_t file_ = -1;
  bool missing_ = false, regular_ = false;
  std::uint64_t size_ = 0;
  std::string why_;
};

std::FILE* open_to_append(const std::string& path);

// A shared library, which stays loaded. A name without a folder is searched where the system's loader searches; on
// Windows beside the program and in the system's folder, and never in the current folder or PATH. Null: none.
void* load_library(const std::string& name);
void* library_function(void* library, const char* name) noexcept;  // null: it has none of this name
std::string library_folder(const void* function);                  // of the library with this code; empty: unknown

}  // namespace sectile::backend
