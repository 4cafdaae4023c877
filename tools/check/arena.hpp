// Memory for many small cases at once. On a device that shares the host's memory it is the host's own
// pages, imported, so that a protected page can stand right behind an operand; elsewhere it is a device
// buffer with a copy on the host.
#pragma once

#include "machine/machine.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sectile::tools {

inline constexpr std::uint64_t kArenaBytes = std::uint64_t{64} << 20;

// Bytes in front of and behind every operand that nothing may touch, where no protected page is.
inline constexpr std::uint64_t kGuardBytes = 256;

enum class Placement : std::uint8_t {
  behind,  // the operand ends, as near as its alignment lets it, at a protected page
  before,  // the operand begins right behind a protected page
  exact,   // guard bands at both sides; its address is aligned as promised, and no better
};
std::string_view name(Placement placement) noexcept;

// Where an operand went: all offsets are into the arena. [begin, end) is the operand with its guard bands.
struct Placed {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t operand = 0, bytes = 0;
};

class Arena {
 public:
  // `import` asks for imported pages; where the device has none, Errors: unsupported.
  static Result<Arena> make(Machine& machine, std::uint64_t bytes, bool import);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  std::uint64_t size() const noexcept { return size_; }
  const Memory& memory() const noexcept { return *buffer_; }
  bool imported() const noexcept { return imported_; }
  std::uint64_t address(std::uint64_t offset) const noexcept { return buffer_->address() + offset; }
  std::span<std::byte> bytes(std::uint64_t begin, std::uint64_t end) noexcept {
    return {host_ + begin, static_cast<std::size_t>(end - begin)};
  }

  // Room for an operand, and its protected pages put up; false where the arena is full.
  bool place(Placement placement, std::uint64_t bytes, std::uint64_t align, Placed& out);
  // How much an arena for this one operand must have.
  static std::uint64_t room_for(std::uint64_t bytes, std::uint64_t align) noexcept;
  std::uint64_t used() const noexcept { return used_; }
  void clear();  // nothing placed, nothing protected

  Result<void> to_device();  // what was written on the host side
  Result<void> from_device();

 private:
  Arena() = default;
  void release() noexcept;

  Machine* machine_ = nullptr;
  MemoryPtr buffer_;
  std::byte* host_ = nullptr;
  std::uint64_t size_ = 0, first_ = 0, used_ = 0;
  bool imported_ = false;
};

}  // namespace sectile::tools
