#include "tuned.hpp"

#include "backend/platform.hpp"

#include "files.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace sectile::tools {

std::unique_ptr<const TuneStore> read_tuned(const std::string& path) {
  if (path.empty()) return nullptr;
  auto store = std::make_unique<const TuneStore>(TuneStore::load(path));
  std::error_code code;
  if (!store->warning().empty())
    fmt::print(stderr, "sectile: warning: {}\n", store->warning());
  else if (!std::filesystem::exists(backend::native_path(path), code))
    fmt::print(stderr, "sectile: warning: tuned choices {}: no such file\n", path);
  return store;
}

std::string default_tuned_file() { return cache_folder("tuned"); }

}  // namespace sectile::tools
