#include "files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>

#include <sys/stat.h>
#include <unistd.h>

namespace sectile::tools {
namespace {

std::unexpected<Error> io_error(const std::string& path, std::string_view doing) {
  const int error = errno;
  return fail(ErrorKind::io, std::string(doing), path, std::strerror(error));
}

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Result<std::string> read_text(const std::string& path, std::size_t most) {
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status)) return fail(ErrorKind::missing, "file", path);
  if (std::filesystem::is_directory(status)) return fail(ErrorKind::io, "reading", path, "a file, not a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) return io_error(path, "reading");
  std::string text;
  std::array<char, 65536> piece{};
  while (file.read(piece.data(), piece.size()) || file.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > most) return fail(ErrorKind::io, "reading", path, "at most " + std::to_string(most) + " bytes");
  }
  if (file.bad()) return io_error(path, "reading");
  return text;
}

Result<void> check_place(const std::string& path) {
  std::error_code code;
  const std::filesystem::path place(path);
  if (std::filesystem::is_directory(place, code)) return fail(ErrorKind::io, "writing", path, "a file, not a folder");
  const auto folder = place.has_parent_path() ? place.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder, code)) return fail(ErrorKind::missing, "folder", folder.string());
  return {};
}

Result<void> write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  std::string temporary = path + ".XXXXXX";
  const int file = ::mkstemp(temporary.data());
  if (file < 0) return io_error(path, "writing");
  // mkstemp makes a file for its owner alone; the result is to be readable as any other.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  bool fine = ::fchmod(file, 0666 & ~mask) == 0;
  for (const auto& part : parts) fine = fine && write_all(file, part);
  fine = fine && ::fsync(file) == 0;
  int error = errno;
  if (::close(file) != 0 && fine) {
    fine = false;
    error = errno;
  }
  if (fine && ::rename(temporary.c_str(), path.c_str()) != 0) {
    fine = false;
    error = errno;
  }
  if (fine) return {};
  ::unlink(temporary.c_str());
  errno = error;
  return io_error(path, "writing");
}

Result<void> write_atomically(const std::string& path, std::string_view text) {
  const std::array parts = {std::as_bytes(std::span(text))};
  return write_atomically(path, parts);
}

std::string cache_folder(std::string_view name) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return std::string(cache) + "/sectile/" + std::string(name);
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return std::string(home) + "/.cache/sectile/" + std::string(name);
  return {};
}

}  // namespace sectile::tools
