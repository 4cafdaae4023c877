// Compiled kernels in a folder that the caller names, a file each.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::cuda {

// Thread-safe, also between processes. Nothing of it fails: what cannot be read is compiled anew, and what cannot be
// written is compiled again next time; warning() says why.
class CubinFolder {
 public:
  // Empty: nowhere, and both do nothing. Made by the first write if it is not there.
  explicit CubinFolder(std::string path) : path_(std::move(path)) {}

  // The code under a key of 32 hex digits (code_key); none where it is not there or cannot be used.
  std::optional<std::vector<std::uint8_t>> read(const std::string& key);
  void write(const std::string& key, std::span<const std::uint8_t> code);

  std::string file_of(const std::string& key) const;
  std::string warning() const;  // the latest; empty is good

 private:
  void warn(std::string text);

  const std::string path_;
  mutable std::mutex mutex_;
  std::string warning_;
};

}  // namespace sectile::cuda
