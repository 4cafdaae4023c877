// Opens an embedded module.
#include <sectile/shaders.hpp>

#include <cstring>
#include <string>
#include <utility>

#if SECTILE_COMPRESS
#include <zstd.h>
#include <zstd_errors.h>

#include <memory>
#include <new>
#endif

namespace sectile {
namespace {

constexpr std::uint32_t kSpirvMagic = 0x07230203;
// Far above any kernel. A frame whose stated size is damaged must not make us ask for all memory.
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;

#if SECTILE_COMPRESS
// The two values for "not stated" and "no frame" are above every size.
std::uint64_t opened_bytes(std::span<const std::byte> stored) {
  return ZSTD_getFrameContentSize(stored.data(), stored.size());
}

// What is wrong with the frame, or null. `base`: the words that it refers to.
const char* open_into(std::span<std::uint32_t> words, std::span<const std::byte> stored,
                      std::span<const std::uint32_t> base) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  ZSTD_DCtx_refPrefix(context.get(), base.data(), base.size_bytes());
  const std::size_t got =
      ZSTD_decompressDCtx(context.get(), words.data(), words.size_bytes(), stored.data(), stored.size());
  if (ZSTD_isError(got) != 0) {
    if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    return ZSTD_getErrorName(got);
  }
  return got == words.size_bytes() ? nullptr : "shorter than it states";
}
#else
std::uint64_t opened_bytes(std::span<const std::byte> stored) { return stored.size(); }

const char* open_into(std::span<std::uint32_t> words, std::span<const std::byte> stored,
                      std::span<const std::uint32_t> /*base*/) {
  std::memcpy(words.data(), stored.data(), stored.size());
  return nullptr;
}
#endif

}  // namespace

Result<std::vector<std::uint32_t>> EmbeddedModule::words() const {
  const auto damaged = [this](std::string why) {
    return fail(ErrorKind::parse, std::string(stem) + "." + std::string(variant), std::move(why), "an intact kernel");
  };
  const std::uint64_t bytes = opened_bytes(stored);
  if (bytes == 0 || bytes > kMostBytes || bytes % sizeof(std::uint32_t) != 0)
    return damaged("no size of a SPIR-V module");
  std::vector<std::uint32_t> before;
  if (!base.empty()) {
    auto opened = EmbeddedModule{stem, variant, base}.words();
    if (!opened) return opened;
    before = std::move(*opened);
  }
  std::vector<std::uint32_t> out(static_cast<std::size_t>(bytes) / sizeof(std::uint32_t));
  if (const char* wrong = open_into(out, stored, before)) return damaged(wrong);
  if (out[0] != kSpirvMagic) return damaged("no SPIR-V");
  return out;
}

}  // namespace sectile
