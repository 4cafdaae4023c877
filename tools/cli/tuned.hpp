// --tuned FILE, and the default store of `sectile tune`.
#pragma once

#include <sectile/tune.hpp>

#include <memory>
#include <string>

namespace sectile::tools {

// The store in a file; null for an empty path. Warns on standard error if the file cannot be used or does not exist.
std::unique_ptr<const TuneStore> read_tuned(const std::string& path);

// In this user's cache folder; empty where there is none.
std::string default_tuned_file();

inline constexpr const char* kTunedHelp = "Use choices that `sectile tune` stored in this file";

}  // namespace sectile::tools
