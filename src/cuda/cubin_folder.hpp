// Compiled kernels in a folder that the caller names, one file each.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::cuda {

// Safe between threads and processes. Failures are no errors: a kernel that cannot be read or written is compiled
// again; warning() says why.
class CubinFolder {
 public:
  // The folder; made by the first write if missing. Empty: load and store do nothing.
  explicit CubinFolder(std::string path) : path_(std::move(path)) {}

  // The code with a key of 32 hex digits (code_key); empty where there is none or it cannot be used.
  std::optional<std::vector<std::uint8_t>> read(const std::string& key);
  void write(const std::string& key, std::span<const std::uint8_t> code);

  std::string file_of(const std::string& key) const;
  std::string warning() const;  // the latest, or empty

 private:
  void warn(std::string text);

  const std::string path_;
  mutable std::mutex mutex_;
  std::string warning_;
};

}  // namespace sectile::cuda
