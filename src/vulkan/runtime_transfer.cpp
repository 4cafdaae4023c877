#include "runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace sectile::vulkan {
namespace {

// The largest staging buffer; larger transfers are made in pieces.
constexpr std::uint64_t kMostStaging = std::uint64_t{64} << 20;
constexpr std::uint64_t kLeastStaging = std::uint64_t{64} << 10;

Result<void> check_range(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes) {
  if (!buffer) return fail(ErrorKind::missing, "buffer", "empty");
  if (offset <= buffer.size() && bytes <= buffer.size() - offset) return {};
  return fail(ErrorKind::too_small, "buffer", fmt::format("{} bytes", buffer.size()),
              fmt::format("offset {} + {} bytes", offset, bytes));
}

}  // namespace

Result<Buffer*> Runtime::Impl::staging_of(std::uint64_t bytes) {
  const std::uint64_t most = std::min(kMostStaging, std::bit_floor(memory->largest_allocation()));
  const std::uint64_t wanted = std::min(most, std::bit_ceil(std::clamp(bytes, kLeastStaging, kMostStaging)));
  if (staging.size() >= wanted) return &staging;
  auto made = memory->make_buffer(wanted, MemoryPlace::host);
  if (!made) return std::unexpected(made.error());
  staging = Buffer(std::move(*made));
  return &staging;
}

Result<Buffer> Runtime::make_buffer(std::uint64_t bytes, MemoryPlace place) {
  auto made = impl_->memory->make_buffer(bytes, place);
  if (!made) return std::unexpected(made.error());
  return Buffer(std::move(*made));
}

std::uint64_t Runtime::import_alignment() const noexcept { return impl_->memory->import_alignment(); }

Result<Buffer> Runtime::import_pages(void* pages, std::uint64_t bytes) {
  auto made = impl_->memory->import(pages, bytes);
  if (!made) return std::unexpected(made.error());
  return Buffer(std::move(*made));
}

Result<void> Runtime::upload(const Buffer& buffer, std::uint64_t offset, std::span<const std::byte> bytes) {
  if (auto fine = check_range(buffer, offset, bytes.size()); !fine) return fine;
  if (buffer.mapped() != nullptr) {
    if (!bytes.empty()) std::memcpy(buffer.mapped() + offset, bytes.data(), bytes.size());
    return {};
  }
  while (!bytes.empty()) {
    const auto staging = impl_->staging_of(bytes.size());
    if (!staging) return std::unexpected(staging.error());
    const std::size_t part = std::min<std::size_t>(bytes.size(), (*staging)->size());
    std::memcpy((*staging)->mapped(), bytes.data(), part);
    auto done = submit_and_wait([&](VkCommandBuffer commands) {
      record_copy(commands, buffer, offset, **staging, 0, part);
      return Result<void>();
    });
    if (!done) return done;
    offset += part;
    bytes = bytes.subspan(part);
  }
  return {};
}

Result<void> Runtime::download(const Buffer& buffer, std::uint64_t offset, std::span<std::byte> bytes) {
  if (auto fine = check_range(buffer, offset, bytes.size()); !fine) return fine;
  if (buffer.mapped() != nullptr) {
    if (!bytes.empty()) std::memcpy(bytes.data(), buffer.mapped() + offset, bytes.size());
    return {};
  }
  while (!bytes.empty()) {
    const auto staging = impl_->staging_of(bytes.size());
    if (!staging) return std::unexpected(staging.error());
    const std::size_t part = std::min<std::size_t>(bytes.size(), (*staging)->size());
    auto done = submit_and_wait([&](VkCommandBuffer commands) {
      record_copy(commands, **staging, 0, buffer, offset, part);
      return Result<void>();
    });
    if (!done) return done;
    std::memcpy(bytes.data(), (*staging)->mapped(), part);
    offset += part;
    bytes = bytes.subspan(part);
  }
  return {};
}

Result<void> Runtime::fill(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word) {
  if (auto fine = check_range(buffer, offset, bytes); !fine) return fine;
  if (offset % 4 != 0 || bytes % 4 != 0)
    return fail(ErrorKind::misaligned, "fill", fmt::format("offset {}, {} bytes", offset, bytes), "multiples of 4");
  if (bytes == 0) return {};
  return submit_and_wait([&](VkCommandBuffer commands) {
    impl_->table().vkCmdFillBuffer(commands, buffer.handle(), offset, bytes, word);
    return Result<void>();
  });
}

void Runtime::record_copy(VkCommandBuffer commands, const Buffer& dst, std::uint64_t dst_offset, const Buffer& src,
                          std::uint64_t src_offset, std::uint64_t bytes) const noexcept {
  if (bytes == 0) return;
  const VkBufferCopy region{src_offset, dst_offset, bytes};
  impl_->table().vkCmdCopyBuffer(commands, src.handle(), dst.handle(), 1, &region);
}

void Runtime::record_barrier(VkCommandBuffer commands) const noexcept {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  impl_->table().vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                      0, 1, &barrier, 0, nullptr, 0, nullptr);
}

}  // namespace sectile::vulkan
