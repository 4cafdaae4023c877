// Pictures as bytes: stb's reader and writer behind functions that fail by name.
#pragma once

#include <sectile/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sectile::tools {

struct Picture {
  int width = 0, height = 0, channels = 0;
  std::vector<std::byte> bytes;  // rows, pixels, channels
};

// Three channels, whatever the file has. Errors: missing, parse (no picture that stb can read).
Result<Picture> read_picture(const std::string& path);
// PNG. Errors: io.
Result<void> write_png(const std::string& path, int width, int height, int channels, std::span<const std::byte> bytes);

}  // namespace sectile::tools
