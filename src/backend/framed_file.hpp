// A file of compiled code: a header that says what the bytes are and whether they are whole, then the bytes.
// What is truncated, garbage or foreign is ignored with a warning, never an error; writing is atomic.
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
// Little-endian hosts only, as all that the drivers run on; a foreign byte order is a foreign file.
struct Frame {
  std::string_view what;  // "pipeline cache", in warnings
  std::array<char, 8> magic{};
  std::uint32_t version = 0;
  std::span<const std::byte> identity;  // of what is compiled and for whom
  std::uint64_t most_bytes = 0;         // no file of this kind is larger
};
// 64 bits of number, 64 of checksum.
constexpr std::size_t header_bytes(const Frame& frame) noexcept {
  return frame.magic.size() + sizeof(frame.version) + frame.identity.size() + 2 * sizeof(std::uint64_t);
}

struct FramedBytes {
  std::vector<std::byte> bytes;  // empty where the file is not there or was ignored
  std::string warning;           // why it was ignored; empty where it was not, or is not there
  bool foreign = false;          // ignored, and not for being a damaged file of this format: another's, or a newer one's
};

// Says why a header's identity is not ours; empty where it is.
using IdentityObjection = std::function<std::string(std::span<const std::byte> found)>;

FramedBytes read_framed(const std::string& path, const Frame& frame, const IdentityObjection& objection);

// As write_whole_file, of regular files alone. Errors: io.
Result<void> write_framed(const std::string& path, const Frame& frame, std::span<const std::byte> bytes);

}  // namespace sectile::backend
