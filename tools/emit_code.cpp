// A step's code for a target: the one place that knows which targets take what.
#include "emit.hpp"

#include "module/facts.hpp"

#include <sectile/shaders.hpp>
#ifdef SECTILE_HAS_SPIRV
#include <sectile/spirv.hpp>
#endif

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>

namespace sectile::tools {
namespace {

// A module's environment: what is valid for Vulkan 1.3 is the same module for 1.4.
std::uint32_t environment(const DeviceProfile& profile) {
  return profile.api_version == 0 ? 1003u : std::min(profile.api_version, 1003u);
}

#ifdef SECTILE_HAS_SPIRV
std::string version_text(std::uint32_t version) { return fmt::format("{}.{}", version / 1000, version % 1000); }

std::vector<nlohmann::json> pairs(const std::vector<Constant>& constants) {
  std::vector<nlohmann::json> out;
  for (const Constant& c : constants) out.push_back({c.id, c.value});
  return out;
}

std::string bytes_of(std::span<const std::uint32_t> words) {
  return {reinterpret_cast<const char*>(words.data()), words.size_bytes()};
}
#endif

}  // namespace

std::string hash_text(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

bool CodeMaker::Less::operator()(const Key& a, const Key& b) const {
  return std::tie(a.first.kernel, a.first.constants, a.first.push, a.second) <
         std::tie(b.first.kernel, b.first.constants, b.first.push, b.second);
}

#ifdef SECTILE_HAS_SPIRV
Result<EmittedModule> CodeMaker::make_spirv(const Step& step, std::uint32_t api_version) const {
  const EmbeddedModule* source = find_module(step.kernel.stem, step.kernel.variant);
  if (source == nullptr)
    return fail(ErrorKind::missing, "kernel", step.kernel.stem + "." + step.kernel.variant);
  const spirv::PushFreeze push{step.push, step.addresses};
  auto words =
      spirv::freeze(source->words, step.constants, {.api_version = api_version, .push = freeze_shape_ ? &push : nullptr});
  if (!words) return std::unexpected(words.error());
  const auto facts = module::read_facts(*words);
  if (!facts) return std::unexpected(facts.error());
  const auto assembly = spirv::disassemble(*words);
  if (!assembly) return std::unexpected(assembly.error());

  EmittedModule out;
  const std::string bytes = bytes_of(*words), hash = hash_text(bytes);
  out.name = fmt::format("{}.{}-{}", step.kernel.stem, step.kernel.variant, hash.substr(0, 16));
  out.packed = {step.kernel, step.constants, freeze_shape_ ? step.push : std::vector<std::uint8_t>{}, api_version,
                std::move(*words)};
  std::string frozen;
  for (const std::uint8_t byte : out.packed.push) frozen += fmt::format("{:02x}", byte);
  out.facts = {{"name", out.name},
               {"format", "spirv"},
               {"file", out.name + ".spv"},
               {"assembly", out.name + ".spvasm"},
               {"header", out.name + ".h"},
               {"bytes", bytes.size()},
               {"xxh3_128", hash},
               {"kernel", {{"stem", step.kernel.stem}, {"variant", step.kernel.variant}}},
               {"constants", pairs(step.constants)},
               {"frozen_push", frozen},
               {"entry_point", facts->entry_point},
               {"workgroup", facts->workgroup},
               {"workgroup_memory_bytes", facts->workgroup_memory_bytes},
               {"spirv_version", version_text(facts->version)},
               {"vulkan_version", version_text(api_version)},
               {"capabilities", facts->capabilities},
               {"spirv_extensions", facts->spirv_extensions},
               {"vulkan_features", facts->features},
               {"vulkan_extensions", facts->device_extensions},
               {"subgroup_operations", facts->subgroup_operations}};
  out.files = {{out.name + ".spv", bytes}, {out.name + ".spvasm", *assembly}};
  out.files.push_back({out.name + ".h", module_header(out)});
  return out;
}
#else
Result<EmittedModule> CodeMaker::make_spirv(const Step&, std::uint32_t) const {
  return fail(ErrorKind::missing, "offline SPIR-V", "not in this build", "SECTILE_OFFLINE=ON");
}
#endif

bool CodeMaker::knows(const DeviceProfile& profile) { return !profile.name.starts_with("cuda:"); }

Result<EmittedModule> CodeMaker::make(const Step& step, const DeviceProfile& profile) {
  // Targets that take other code than SPIR-V branch off here.
  if (!knows(profile)) return fail(ErrorKind::unsupported, "code for the target", profile.name, "a target that takes SPIR-V");
  const std::uint32_t api_version = environment(profile);
  Key key{{step.kernel, step.constants, freeze_shape_ ? step.push : std::vector<std::uint8_t>{}, 0, {}}, api_version};
  auto found = made_.find(key);
  if (found == made_.end()) {
    auto made = make_spirv(step, api_version);
    if (!made) return made;
    found = made_.emplace(std::move(key), std::move(*made)).first;
  }
#ifdef SECTILE_HAS_SPIRV
  if (profile.api_version > api_version)
    if (auto valid = spirv::validate(found->second.packed.words, profile.api_version); !valid)
      return std::unexpected(valid.error());
#endif
  return found->second;
}

}  // namespace sectile::tools
