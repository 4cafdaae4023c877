// What CMake embeds: zstd frames, or the bytes themselves where its SECTILE_COMPRESS is off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sectile::detail {

// Far above any contents. A frame whose stated size is damaged must not make us ask for all memory.
inline constexpr std::uint64_t kMostOpened = std::uint64_t{16} << 20;

// Bytes of the contents, as the frame states them. Above every size: it states none, or is damaged.
std::uint64_t opened_bytes(std::span<const std::byte> stored);

// Opens a frame into as many bytes as it states. `base`: the contents that it refers to. Returns what is wrong with it,
// or null.
const char* open_into(std::span<std::byte> out, std::span<const std::byte> stored, std::span<const std::byte> base);

}  // namespace sectile::detail
