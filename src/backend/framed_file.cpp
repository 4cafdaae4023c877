#include "framed_file.hpp"

#include "platform.hpp"
#include "whole_file.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace sectile::backend {
namespace {

std::vector<std::byte> header_for(const Frame& frame, std::span<const std::byte> bytes) {
  std::vector<std::byte> out;
  const auto add = [&](const void* from, std::size_t count) {
    const auto* begin = static_cast<const std::byte*>(from);
    out.insert(out.end(), begin, begin + count);
  };
  const std::uint64_t size = bytes.size(), checksum = XXH3_64bits(bytes.data(), bytes.size());
  add(frame.magic.data(), frame.magic.size());
  add(&frame.version, sizeof(frame.version));
  add(frame.identity.data(), frame.identity.size());
  add(&size, sizeof(size));
  add(&checksum, sizeof(checksum));
  return out;
}

struct Header {
  std::array<char, 8> magic{};
  std::uint32_t version = 0;
  std::span<const std::byte> identity;
  std::uint64_t bytes = 0, checksum = 0;
};

Header parse_header(std::span<const std::byte> raw, std::size_t identity_bytes) {
  Header out;
  const auto take = [&](void* to, std::size_t count) {
    std::memcpy(to, raw.data(), count);
    raw = raw.subspan(count);
  };
  take(out.magic.data(), out.magic.size());
  take(&out.version, sizeof(out.version));
  out.identity = raw.first(identity_bytes);
  raw = raw.subspan(identity_bytes);
  take(&out.bytes, sizeof(out.bytes));
  take(&out.checksum, sizeof(out.checksum));
  return out;
}

// Why this header cannot be used, or empty.
std::string objection_to(const Header& header, const Frame& frame, std::uint64_t file_bytes,
                         const IdentityObjection& objection) {
  if (header.magic != frame.magic) return fmt::format("not a {} of Sectile's", frame.what);
  if (header.version != frame.version)
    return fmt::format("format {} (this is format {})", header.version, frame.version);
  if (std::string why = objection(header.identity); !why.empty()) return why;
  if (header.bytes != file_bytes - header_bytes(frame))
    return fmt::format("truncated: {} bytes of {}", file_bytes, header.bytes + header_bytes(frame));
  return {};
}

// Whether a file with these first bytes (as many as it has) is of this format.
bool begins(std::span<const std::byte> raw, const Frame& frame) {
  std::array<std::byte, sizeof(frame.magic) + sizeof(frame.version)> want{};
  std::memcpy(want.data(), frame.magic.data(), sizeof(frame.magic));
  std::memcpy(want.data() + sizeof(frame.magic), &frame.version, sizeof(frame.version));
  return std::ranges::equal(raw.first(std::min(raw.size(), want.size())),
                            std::span(want).first(std::min(raw.size(), want.size())));
}

}  // namespace

FramedBytes read_framed(const std::string& path, const Frame& frame, const IdentityObjection& objection) {
  bool foreign = true;  // until its first bytes are checked
  const auto ignore = [&](std::string_view why) {
    return FramedBytes{{}, fmt::format("{} {} ignored: {}", frame.what, path, why), foreign};
  };
  InputFile file(path);
  if (!file) return file.is_missing() ? FramedBytes() : ignore(file.error());
  if (!file.is_regular()) return ignore("not a regular file");
  const std::uint64_t bytes = file.size();
  std::vector<std::byte> raw(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, header_bytes(frame))));
  if (!file.read_all(raw.data(), raw.size())) return ignore("cannot be read");
  foreign = !begins(raw, frame);
  if (bytes > frame.most_bytes) {
    foreign = true;  // longer than what was read, so perhaps undamaged
    return ignore(fmt::format("{} bytes", bytes));
  }
  if (raw.size() < header_bytes(frame)) return ignore(fmt::format("truncated: {} bytes", bytes));
  const Header header = parse_header(raw, frame.identity.size());
  if (const std::string why = objection_to(header, frame, bytes, objection); !why.empty()) return ignore(why);
  FramedBytes out;
  out.bytes.resize(header.bytes);
  if (!file.read_all(out.bytes.data(), out.bytes.size())) {
    foreign = true;  // a read error: its content is unknown
    return ignore("cannot be read");
  }
  if (XXH3_64bits(out.bytes.data(), out.bytes.size()) != header.checksum) return ignore("checksum does not match");
  return out;
}

FramedBytes read_framed(std::span<const std::byte> raw, std::string_view name, const Frame& frame,
                        const IdentityObjection& objection) {
  const bool foreign = !begins(raw, frame);
  const auto ignore = [&](std::string_view why) {
    return FramedBytes{{}, fmt::format("{} {} ignored: {}", frame.what, name, why), foreign};
  };
  if (raw.size() < header_bytes(frame)) return ignore(fmt::format("truncated: {} bytes", raw.size()));
  const Header header = parse_header(raw, frame.identity.size());
  if (const std::string why = objection_to(header, frame, raw.size(), objection); !why.empty()) return ignore(why);
  const std::span<const std::byte> bytes = raw.subspan(header_bytes(frame));
  if (XXH3_64bits(bytes.data(), bytes.size()) != header.checksum) return ignore("checksum does not match");
  return {{bytes.begin(), bytes.end()}, {}, false};
}

std::vector<std::byte> framed(const Frame& frame, std::span<const std::byte> bytes) {
  std::vector<std::byte> out = header_for(frame, bytes);
  out.insert(out.end(), bytes.begin(), bytes.end());
  return out;
}

Result<void> write_framed(const std::string& path, const Frame& frame, std::span<const std::byte> bytes) {
  const std::vector<std::byte> header = header_for(frame, bytes);
  const std::array parts = {std::span<const std::byte>(header), bytes};
  return write_whole_file(path, parts, Streams::refused);
}

}  // namespace sectile::backend
