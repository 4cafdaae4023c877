// The kernels that come with the library.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sectile {

struct EmbeddedModule {
  std::string_view stem;      // as a plan's step names it: permute_tile
  std::string_view variant;   // e4, e2.wide
  std::span<const std::uint32_t> words;  // SPIR-V
};

std::span<const EmbeddedModule> embedded_modules() noexcept;

// Null where there is none.
const EmbeddedModule* find_module(std::string_view stem, std::string_view variant) noexcept;

// CUDA's kernels are compiled where they run, by NVRTC: they come as text.
struct EmbeddedSource {
  std::string_view stem;      // as a plan's step names it; of a header its name, as #include has it
  std::string_view text;
};

std::span<const EmbeddedSource> embedded_cuda_sources() noexcept;  // shaders/*/*.cu
std::span<const EmbeddedSource> embedded_cuda_headers() noexcept;  // "lib/cuda.cuh", "permute_copy.abi.h", ...

}  // namespace sectile
