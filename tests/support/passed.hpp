// What a compile test has passed before, by content: a kernel that the same compiler has compiled from the same code
// under the same checks is not compiled again. Kept in the folder that SECTILE_PASSED_KERNELS names (tools/dev: the
// cache of all clones); without it nothing is remembered, and everything is compiled.
#pragma once

#include "paths.hpp"

#include "base/hash.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::test {

class Passed {
 public:
  // `sources`: files and folders of the repository, or absolute, whose content decides what passes beside a kernel's
  // own key: the code of the checks, what is between them and the compiler, and the compiler itself. Where one is
  // absent, nothing is remembered.
  Passed(std::string_view name, std::span<const std::string> sources) {
    const std::filesystem::path file = file_of(name);
    if (file.empty()) return;
    std::string all;
    for (const std::string& source : sources) {
      const auto path = std::filesystem::path(source_folder()) / source;
      if (!std::filesystem::exists(path)) return;
      all += content_of(path);
    }
    salt_ = detail::hash128(all);
    file_ = file;
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);) before_.insert(line);
  }

  // True where a kernel of this key has passed.
  bool has(std::string_view key) {
    if (file_.empty()) return false;
    const std::string hash = hash_of(key);
    if (!before_.contains(hash)) return false;
    now_.insert(hash);
    return true;
  }
  void add(std::string_view key) { now_.insert(hash_of(key)); }

  // Writes the keys of this run alone, so that the file does not grow. They count from accept() on.
  void save() const {
    if (file_.empty()) return;
    std::error_code ignored;
    std::filesystem::create_directories(file_.parent_path(), ignored);
    std::ofstream out(unproven(file_));
    for (const std::string& hash : now_) out << hash << "\n";
  }
  // Call when all that `name` saved has passed.
  static void accept(std::string_view name) {
    const std::filesystem::path file = file_of(name);
    if (file.empty()) return;
    std::error_code ignored;
    std::filesystem::rename(unproven(file), file, ignored);
  }

 private:
  // Empty where nothing is to be remembered.
  static std::filesystem::path file_of(std::string_view name) {
    const char* const folder = std::getenv("SECTILE_PASSED_KERNELS");
    if (folder == nullptr || *folder == '\0') return {};
    return std::filesystem::path(folder) / name;
  }
  // Of this clone: another may test at the same time.
  static std::filesystem::path unproven(const std::filesystem::path& file) {
    return file.string() + "." + detail::hash128(source_folder());
  }
  std::string hash_of(std::string_view key) const { return detail::hash128(salt_ + std::string(key)); }

  static std::string content_of(const std::filesystem::path& path) {
    if (!std::filesystem::is_directory(path)) {
      std::ifstream in(path, std::ios::binary);
      std::stringstream text;
      text << in.rdbuf();
      return detail::hash128(text.str());
    }
    std::set<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file()) files.insert(entry.path());
    std::string all;
    for (const auto& file : files) all += std::filesystem::relative(file, path).string() + content_of(file);
    return all;
  }

  std::filesystem::path file_;
  std::string salt_;
  std::set<std::string> before_, now_;
};

}  // namespace sectile::test
