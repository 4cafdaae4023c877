#include "cubin_folder.hpp"

#include "backend/framed_file.hpp"
#include "backend/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace sectile::cuda {
namespace {

// The header has the key as well as the name: a file that was renamed or copied is foreign.
backend::Frame frame_of(const std::string& key) {
  return {"cubin", {'S', 'E', 'C', 'T', 'I', 'L', 'E', 'C'}, 1, std::as_bytes(std::span(key)), std::uint64_t{1} << 30};
}

}  // namespace

std::string CubinFolder::file_of(const std::string& key) const { return fmt::format("{}/{}.cubin", path_, key); }

std::optional<std::vector<std::uint8_t>> CubinFolder::read(const std::string& key) {
  if (path_.empty()) return std::nullopt;
  auto found = backend::read_framed(file_of(key), frame_of(key), [&](std::span<const std::byte> theirs) {
    return std::ranges::equal(theirs, std::as_bytes(std::span(key))) ? std::string() : "of another kernel";
  });
  if (!found.warning.empty()) warn(std::move(found.warning));
  if (found.bytes.empty()) return std::nullopt;
  std::vector<std::uint8_t> out(found.bytes.size());
  std::memcpy(out.data(), found.bytes.data(), out.size());
  return out;
}

void CubinFolder::write(const std::string& key, std::span<const std::uint8_t> code) {
  if (path_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(backend::native_path(path_), error);  // no error where it exists
  if (error) return warn(fmt::format("cubins are not kept: {}: {}", path_, error.message()));
  if (auto written = backend::write_framed(file_of(key), frame_of(key), std::as_bytes(code)); !written)
    warn(fmt::format("cubin not kept: {}", written.error().message()));
}

std::string CubinFolder::warning() const {
  const std::scoped_lock lock(mutex_);
  return warning_;
}

void CubinFolder::warn(std::string text) {
  const std::scoped_lock lock(mutex_);
  warning_ = std::move(text);
}

}  // namespace sectile::cuda
