// Opens an embedded module.
#include "frame.hpp"

#include <sectile/shaders.hpp>

#include <string>
#include <utility>

namespace sectile {
namespace {

constexpr std::uint32_t kSpirvMagic = 0x07230203;

}  // namespace

Result<std::vector<std::uint32_t>> EmbeddedModule::words() const {
  const auto damaged = [this](std::string why) {
    return fail(ErrorKind::parse, std::string(stem) + "." + std::string(variant), std::move(why), "an intact kernel");
  };
  const std::uint64_t bytes = detail::opened_bytes(stored);
  if (bytes == 0 || bytes > detail::kMostOpened || bytes % sizeof(std::uint32_t) != 0)
    return damaged("no size of a SPIR-V module");
  std::vector<std::uint32_t> before;
  if (!base.empty()) {
    auto opened = EmbeddedModule{stem, variant, base}.words();
    if (!opened) return opened;
    before = std::move(*opened);
  }
  std::vector<std::uint32_t> out(static_cast<std::size_t>(bytes) / sizeof(std::uint32_t));
  if (const char* wrong =
          detail::open_into(std::as_writable_bytes(std::span(out)), stored, std::as_bytes(std::span(before))))
    return damaged(wrong);
  if (out[0] != kSpirvMagic) return damaged("no SPIR-V");
  return out;
}

}  // namespace sectile
