#include "files.hpp"

#include "system.hpp"

#include "backend/whole_file.hpp"

#include <array>

namespace sectile::tools {

Result<std::string> read_text(const std::string& path, std::size_t most) {
  return backend::read_whole_file(path, most, backend::Streams::taken);
}

Result<void> check_place(const std::string& path) {
  const auto place = backend::place_of(path, backend::Streams::taken);
  if (!place) return std::unexpected(place.error());
  return {};
}

Result<void> write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  return backend::write_whole_file(path, parts, backend::Streams::taken);
}

Result<void> write_atomically(const std::string& path, std::string_view text) {
  const std::array parts = {std::as_bytes(std::span(text))};
  return write_atomically(path, parts);
}

void write_so_far(const std::string& path, std::string_view text) {
  const auto place = backend::place_of(path, backend::Streams::refused);
  if (place) (void)write_atomically(path, text);
}

std::string cache_folder(std::string_view name) {
  const std::string folder = user_cache_folder();
  return folder.empty() ? folder : folder + "/sectile/" + std::string(name);
}

}  // namespace sectile::tools
