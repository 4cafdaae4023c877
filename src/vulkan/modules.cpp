#include "modules.hpp"

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
    if (const PackedModule* packed = pack_->find(step)) return StepCode{packed->words, nullptr, true};
    return fail(ErrorKind::missing, "kernel in the pack", step.kernel.stem + "." + step.kernel.variant,
                pack_->nearest(step));
  }
  return find_template(step.kernel);
}

Result<StepCode> Modules::find_template(const KernelName& name) const {
  if (const auto own = std::ranges::find(entries_, name, &Entry::name); own != entries_.end())
    return StepCode{own->words};
  if (const EmbeddedModule* module = find_module(name.stem, name.variant)) return StepCode{{}, module};

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

std::array<std::uint64_t, 2> StepCode::hash() const noexcept {
  const auto bytes = embedded != nullptr ? embedded->stored : std::as_bytes(given);
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

Result<Words> open(const StepCode& code) {
  if (code.embedded == nullptr) return Words{code.given, {}};
  auto words = code.embedded->words();
  if (!words) return std::unexpected(std::move(words.error()));
  return Words{{}, std::move(*words)};
}

}  // namespace sectile::vulkan
