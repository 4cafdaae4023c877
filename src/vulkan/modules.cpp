#include "modules.hpp"

#include <sectile/shaders.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace sectile::vulkan {

Modules::Modules(std::span<const Module> extra, const Pack* pack) {
  if (pack != nullptr) pack_ = *pack;
  for (const Module& module : extra)
    entries_.push_back({{std::string(module.stem), std::string(module.variant)}, module.words});
}

Result<StepCode> Modules::find(const Step& step) const {
  // A pack has the kernels of problems, but not the canary's.
  if (pack_ && !step.kernel.stem.starts_with("canary_")) {
    if (const PackedModule* packed = pack_->find(step)) return StepCode{packed->words, true};
    return fail(ErrorKind::missing, "kernel in the pack", step.kernel.stem + "." + step.kernel.variant,
                pack_->nearest(step));
  }
  const auto words = find_template(step.kernel);
  if (!words) return std::unexpected(words.error());
  return StepCode{*words, false};
}

Result<std::span<const std::uint32_t>> Modules::find_template(const KernelName& name) const {
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
