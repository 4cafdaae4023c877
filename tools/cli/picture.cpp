#include "picture.hpp"

#include "files.hpp"

// In a namespace-less file of their own, as their code is compiled here. An analyzer is to look at ours alone.
#ifndef __clang_analyzer__
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#endif
#define STB_IMAGE_STATIC
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#include <stb/stb_image.h>
#define STB_IMAGE_WRITE_STATIC
#include <stb/stb_image_write.h>

#include <array>
#include <cstring>
#include <limits>

namespace sectile::tools {

Result<Picture> read_picture(const std::string& path) {
  const auto file = read_text(path);
  if (!file) return std::unexpected(file.error());
  if (file->size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return fail(ErrorKind::parse, "picture", path, "less than 2 GiB");
  }
  Picture picture;
  picture.channels = 3;
  int in_file = 0;
  stbi_uc* pixels = stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(file->data()),
                                          static_cast<int>(file->size()), &picture.width, &picture.height, &in_file, 3);
  if (pixels == nullptr) return fail(ErrorKind::parse, "picture", path, "a JPEG, PNG, BMP, TGA, GIF, PSD or PNM file");
  const auto* bytes = reinterpret_cast<const std::byte*>(pixels);
  const std::size_t count = static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height) * 3;
  picture.bytes.assign(bytes, bytes + count);
  stbi_image_free(pixels);
  return picture;
}

Result<void> write_png(const std::string& path, int width, int height, int channels, std::span<const std::byte> bytes) {
  std::vector<std::byte> png;
  const auto append = [](void* context, void* data, int size) {
    const auto* first = static_cast<const std::byte*>(data);
    auto& out = *static_cast<std::vector<std::byte>*>(context);
    out.insert(out.end(), first, first + size);
  };
  if (stbi_write_png_to_func(append, &png, width, height, channels, bytes.data(), width * channels) == 0) {
    return fail(ErrorKind::io, "PNG", path);
  }
  const std::array parts = {std::span<const std::byte>(png)};
  return write_atomically(path, parts);
}

}  // namespace sectile::tools
