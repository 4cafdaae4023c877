// The kernels that come with the library.
#pragma once

#include <sectile/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sectile {

struct EmbeddedModule {
  std::string_view stem;              // as a plan's step names it: permute_tile
  std::string_view variant;           // e4, e2.wide
  std::span<const std::byte> stored;  // a zstd frame; the SPIR-V itself where CMake's SECTILE_COMPRESS is off

  std::span<const std::byte> base = {};  // where it is not empty: another frame, whose contents this one refers to

  // The SPIR-V, decompressed into memory of its own: less than a millisecond. Errors: parse, where `stored` or `base`
  // is damaged.
  Result<std::vector<std::uint32_t>> words() const;
};

std::span<const EmbeddedModule> embedded_modules() noexcept;

// Null where there is none.
const EmbeddedModule* find_module(std::string_view stem, std::string_view variant) noexcept;

// CUDA kernels are text; NVRTC compiles them at run time.
struct EmbeddedSource {
  std::string_view stem;  // as a plan's step names it; for a header, its name in #include
  std::string_view text;
};

// Opened at the first call of either, and kept: some 350 kB. Empty where what is stored is damaged.
std::span<const EmbeddedSource> embedded_cuda_sources() noexcept;  // shaders/*/*.cu
std::span<const EmbeddedSource> embedded_cuda_headers() noexcept;  // "lib/cuda.cuh", "permute_copy.abi.h", ...

}  // namespace sectile
