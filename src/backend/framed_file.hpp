// A file of compiled code: a header that identifies and checks the bytes, then the bytes. A truncated, damaged or
// foreign file is ignored with a warning; it is no error. Writing is atomic.
#pragma once

#include <sectile/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::backend {

// The header is, without gaps: magic, version, identity, number of bytes that follow (64 bits), XXH3 over them.
// Little-endian hosts alone, as all that the drivers run on.
struct Frame {
  std::string_view what;  // "pipeline cache", in warnings
  std::array<char, 8> magic{};
  std::uint32_t version = 0;
  std::span<const std::byte> identity;  // of the compiled code and its device
  std::uint64_t most_bytes = 0;         // no file of this kind is larger
};
// 64 bits of number, 64 of checksum.
constexpr std::size_t header_bytes(const Frame& frame) noexcept {
  return frame.magic.size() + sizeof(frame.version) + frame.identity.size() + 2 * sizeof(std::uint64_t);
}

struct FramedBytes {
  std::vector<std::byte> bytes;  // empty where the file does not exist or was ignored
  std::string warning;           // why the file was ignored, or empty
  bool foreign = false;          // ignored because it is of another kind or a newer format, not because it is damaged
};

// Why a header's identity differs from ours, or empty.
using IdentityObjection = std::function<std::string(std::span<const std::byte> found)>;

FramedBytes read_framed(const std::string& path, const Frame& frame, const IdentityObjection& objection);

// The same from memory. `name`: for the warning.
FramedBytes read_framed(std::span<const std::byte> raw, std::string_view name, const Frame& frame,
                        const IdentityObjection& objection);

// Header and bytes.
std::vector<std::byte> framed(const Frame& frame, std::span<const std::byte> bytes);

// As write_whole_file, of regular files alone. Errors: io.
Result<void> write_framed(const std::string& path, const Frame& frame, std::span<const std::byte> bytes);

}  // namespace sectile::backend
