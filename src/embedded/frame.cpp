#include "frame.hpp"

#if SECTILE_COMPRESS
#include <zstd.h>
#include <zstd_errors.h>

#include <memory>
#include <new>
#else
#include <cstring>
#endif

namespace sectile::detail {

#if SECTILE_COMPRESS
// The two values for "not stated" and "no frame" are above every size.
std::uint64_t opened_bytes(std::span<const std::byte> stored) {
  return ZSTD_getFrameContentSize(stored.data(), stored.size());
}

const char* open_into(std::span<std::byte> out, std::span<const std::byte> stored, std::span<const std::byte> base) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  ZSTD_DCtx_refPrefix(context.get(), base.data(), base.size());
  const std::size_t got = ZSTD_decompressDCtx(context.get(), out.data(), out.size(), stored.data(), stored.size());
  if (ZSTD_isError(got) != 0) {
    if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    return ZSTD_getErrorName(got);
  }
  return got == out.size() ? nullptr : "shorter than it states";
}
#else
std::uint64_t opened_bytes(std::span<const std::byte> stored) { return stored.size(); }

const char* open_into(std::span<std::byte> out, std::span<const std::byte> stored,
                      std::span<const std::byte> /*base*/) {
  std::memcpy(out.data(), stored.data(), stored.size());
  return nullptr;
}
#endif

}  // namespace sectile::detail
