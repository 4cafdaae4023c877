#include "framed_file.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace sectile::backend {
namespace {

class File {
 public:
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  explicit operator bool() const noexcept { return descriptor_ >= 0; }
  int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

bool read_all(int file, void* to, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t got = ::read(file, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int file, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const ssize_t put = ::write(file, at, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    at += put;
    bytes -= static_cast<std::size_t>(put);
  }
  return true;
}

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

// Why this header's bytes cannot be used; empty where they can.
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

std::unexpected<Error> io_error(const std::string& path, std::string_view what) {
  return fail(ErrorKind::io, path, fmt::format("{}: {}", what, std::strerror(errno)));
}

// A file in the making: gone again unless it was renamed.
struct Temporary {
  std::string path;
  bool kept = false;
  ~Temporary() {
    if (!kept) ::unlink(path.c_str());
  }
};

Result<void> sync_folder(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const File file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder; the rename is atomic all the same.
  if (file && ::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS) return io_error(folder, "fsync");
  return {};
}

}  // namespace

FramedBytes read_framed(const std::string& path, const Frame& frame, const IdentityObjection& objection) {
  const auto ignore = [&](std::string_view why) {
    return FramedBytes{{}, fmt::format("{} {} ignored: {}", frame.what, path, why)};
  };
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno == ENOENT ? FramedBytes() : ignore(std::strerror(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return ignore(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return ignore("not a regular file");
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes > frame.most_bytes) return ignore(fmt::format("{} bytes", bytes));
  if (bytes < header_bytes(frame)) return ignore(fmt::format("truncated: {} bytes", bytes));
  std::vector<std::byte> raw(header_bytes(frame));
  if (!read_all(file.get(), raw.data(), raw.size())) return ignore("cannot be read");
  const Header header = parse_header(raw, frame.identity.size());
  if (const std::string why = objection_to(header, frame, bytes, objection); !why.empty()) return ignore(why);
  FramedBytes out;
  out.bytes.resize(header.bytes);
  if (!read_all(file.get(), out.bytes.data(), out.bytes.size())) return ignore("cannot be read");
  if (XXH3_64bits(out.bytes.data(), out.bytes.size()) != header.checksum) return ignore("checksum does not match");
  return out;
}

Result<void> write_framed(const std::string& path, const Frame& frame, std::span<const std::byte> bytes) {
  // Two writers at once, in one process or in several, never share a temporary file; the last rename wins.
  static std::atomic<unsigned> serial{0};
  const std::string name = fmt::format("{}.{}.{}.part", path, ::getpid(), serial++);
  const File file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return io_error(name, "open");
  Temporary temporary{name};
  const std::vector<std::byte> header = header_for(frame, bytes);
  if (!write_all(file.get(), header.data(), header.size()) || !write_all(file.get(), bytes.data(), bytes.size()))
    return io_error(name, "write");
  if (::fsync(file.get()) != 0) return io_error(name, "fsync");
  if (::rename(name.c_str(), path.c_str()) != 0) return io_error(path, "rename");
  temporary.kept = true;
  return sync_folder(path);
}

}  // namespace sectile::backend
