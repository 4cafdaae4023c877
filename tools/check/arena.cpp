#include "arena.hpp"

#include "cli/system.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace sectile::tools {
std::string_view name(Placement placement) noexcept {
  switch (placement) {
    case Placement::behind:
      return "protected page behind";
    case Placement::before:
      return "protected page before";
    case Placement::exact:
      return "guard bands";
  }
  return "";
}

Result<Arena> Arena::make(Machine& machine, std::uint64_t bytes, bool import) {
  Arena arena;
  arena.machine_ = &machine;
  arena.imported_ = import;
  const std::uint64_t unit =
      import ? round_up(page_bytes(), std::max<std::uint64_t>(1, machine.import_alignment())) : page_bytes();
  if (import && machine.import_alignment() == 0) {
    return fail(ErrorKind::unsupported, "VK_EXT_external_memory_host", machine.name());
  }
  // Operands begin at a page on every device, so that they stand alike where two are compared.
  arena.size_ = round_up(bytes + (import ? 0 : page_bytes()), unit);
  std::string why;
  arena.host_ = map_pages(arena.size_, &why);
  if (arena.host_ == nullptr)
    return fail(ErrorKind::device, "pages of memory", std::to_string(arena.size_) + " bytes", why);
  auto buffer = import ? machine.import_pages(arena.host_, arena.size_) : machine.make_memory(arena.size_);
  if (!buffer) return std::unexpected(buffer.error());
  arena.buffer_ = std::move(*buffer);
  arena.first_ = round_up(arena.address(0), page_bytes()) - arena.address(0);
  arena.used_ = arena.first_;
  return arena;
}

void Arena::release() noexcept {
  buffer_.reset();  // before its pages
  if (host_ != nullptr) unmap_pages(host_, size_);
  host_ = nullptr;
}

Arena::~Arena() { release(); }

Arena::Arena(Arena&& other) noexcept
    : machine_(other.machine_),
      buffer_(std::move(other.buffer_)),
      host_(std::exchange(other.host_, nullptr)),
      size_(other.size_),
      first_(other.first_),
      used_(other.used_),
      imported_(other.imported_) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  if (this == &other) return *this;
  release();
  machine_ = other.machine_;
  buffer_ = std::move(other.buffer_);
  host_ = std::exchange(other.host_, nullptr);
  size_ = other.size_;
  first_ = other.first_;
  used_ = other.used_;
  imported_ = other.imported_;
  return *this;
}

std::uint64_t Arena::room_for(std::uint64_t bytes, std::uint64_t align) noexcept {
  return round_up(bytes + 2 * align + 2 * kGuardBytes, page_bytes()) + 3 * page_bytes();
}

bool Arena::place(Placement placement, std::uint64_t bytes, std::uint64_t align, Placed& out) {
  const std::uint64_t page = page_bytes();
  if (used_ + room_for(bytes, align) > size_) return false;
  out.bytes = bytes;
  if (!imported_) placement = Placement::exact;
  if (placement == Placement::behind) {
    out.begin = round_up(used_, page);
    out.end = round_up(out.begin + kGuardBytes + bytes + align, page);
    out.operand = (address(out.end) - bytes) / align * align - address(0);
    protect_pages(host_ + out.end, page);
    used_ = out.end + page;
  } else if (placement == Placement::before) {
    out.begin = round_up(used_, page) + page;
    out.operand = out.begin;
    out.end = round_up(out.operand + bytes + kGuardBytes, page);
    protect_pages(host_ + out.begin - page, page);
    used_ = out.end;
  } else {
    out.begin = round_up(used_, 8);
    const std::uint64_t least = round_up(address(out.begin + kGuardBytes), align);
    // An even multiple of the promise would keep a better promise than the one that was made.
    out.operand = (least / align % 2 == 0 ? least + align : least) - address(0);
    out.end = round_up(out.operand + bytes + kGuardBytes, 8);
    used_ = out.end;
  }
  return true;
}

void Arena::clear() {
  if (imported_ && used_ > 0) unprotect_pages(host_, size_);
  used_ = first_;
}

Result<void> Arena::to_device() {
  if (imported_ || used_ == 0) return {};
  return machine_->upload(*buffer_, 0, {host_, static_cast<std::size_t>(used_)});
}

Result<void> Arena::from_device() {
  if (imported_ || used_ == 0) return {};
  return machine_->download(*buffer_, 0, {host_, static_cast<std::size_t>(used_)});
}

}  // namespace sectile::tools
