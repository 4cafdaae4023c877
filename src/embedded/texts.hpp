// The CUDA kernels' sources and headers, which cmake/CudaTexts.cmake puts into one text.
#pragma once

#include <sectile/shaders.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sectile::detail {

// Opened when a program first asks for a CUDA kernel's text. Nothing is in it if it is damaged.
class CudaTexts {
 public:
  explicit CudaTexts(std::span<const std::byte> stored);
  std::span<const EmbeddedSource> sources() const noexcept { return sources_; }
  std::span<const EmbeddedSource> headers() const noexcept { return headers_; }

 private:
  std::string all_;
  std::vector<EmbeddedSource> sources_, headers_;  // views of all_
};

}  // namespace sectile::detail
