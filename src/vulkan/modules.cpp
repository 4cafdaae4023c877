#include "modules.hpp"

#include <sectile/shaders.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace sectile::vulkan {

Modules::Modules(std::span<const Module> extra) {
  for (const Module& module : extra)
    entries_.push_back({{std::string(module.stem), std::string(module.variant)}, module.words});
}

Result<std::span<const std::uint32_t>> Modules::find(const KernelName& name) const {
  if (const auto own = std::ranges::find(entries_, name, &Entry::name); own != entries_.end()) return own->words;
  if (const EmbeddedModule* module = find_module(name.stem, name.variant)) return module->words;

  std::string variants, stems;
  std::string_view last;
  for (const EmbeddedModule& module : embedded_modules()) {
    if (module.stem == name.stem) variants += (variants.empty() ? "" : ", ") + std::string(module.variant);
    if (module.stem != last) stems += (stems.empty() ? "" : ", ") + std::string(module.stem);
    last = module.stem;
  }
  return fail(ErrorKind::missing, "kernel", name.stem + "." + name.variant,
              variants.empty() ? "one of " + stems : "variant " + variants);
}

std::array<std::uint64_t, 2> hash_words(std::span<const std::uint32_t> words) noexcept {
  const XXH128_hash_t hash = XXH3_128bits(words.data(), words.size_bytes());
  return {hash.low64, hash.high64};
}

}  // namespace sectile::vulkan
