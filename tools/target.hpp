// --target: a built-in name, or a file with a profile in one of the forms that Sectile reads.
#pragma once

#include <sectile/profile.hpp>

#include <string>

namespace sectile::tools {

// Errors: missing (neither a name nor a file), those of the reader that the file's form calls for.
Result<DeviceProfile> read_target(const std::string& name_or_file);

}  // namespace sectile::tools
