// --tuned FILE, and where `sectile tune` puts what it measured.
#pragma once

#include <sectile/tune.hpp>

#include <memory>
#include <string>

namespace sectile::tools {

// The store in a file, with a warning on standard error where it cannot be used or is not there; null for no path.
std::unique_ptr<const TuneStore> read_tuned(const std::string& path);

// In this user's cache folder; empty where there is no such place.
std::string default_tuned_file();

inline constexpr const char* kTunedHelp = "Take what `sectile tune` measured, from its store";

}  // namespace sectile::tools
