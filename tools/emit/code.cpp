// A step's code for a target. Only this file knows which target needs which code.
#include "emit.hpp"

#include "module/facts.hpp"

#include <sectile/shaders.hpp>
#ifdef SECTILE_HAS_CUDA
#include <sectile/cuda.hpp>
#endif
#ifdef SECTILE_HAS_SPIRV
#include <sectile/spirv.hpp>
#endif

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <tuple>

namespace sectile::tools {
namespace {

// A module's environment: a module for Vulkan 1.3 serves 1.4 unchanged.
std::uint32_t environment(const DeviceProfile& profile) {
  return profile.api_version == 0 ? 1003u : std::min(profile.api_version, 1003u);
}

std::vector<nlohmann::json> pairs(const std::vector<Constant>& constants) {
  std::vector<nlohmann::json> out;
  out.reserve(constants.size());
  for (const Constant& c : constants) out.push_back({c.id, c.value});
  return out;
}

#ifdef SECTILE_HAS_SPIRV
std::string version_text(std::uint32_t version) { return fmt::format("{}.{}", version / 1000, version % 1000); }

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

bool CodeMaker::LessOnCuda::operator()(const std::pair<std::string, Key>& a,
                                       const std::pair<std::string, Key>& b) const {
  if (a.first != b.first) return a.first < b.first;
  return Less{}(a.second, b.second);
}

#ifdef SECTILE_HAS_CUDA
// A cubin, and PTX that a newer driver can compile. Both have the constants; sizes stay arguments.
Result<EmittedModule> CodeMaker::make_cuda(const Step& step, const DeviceProfile& profile) const {
  if (freeze_shape_) return fail(ErrorKind::unsupported, "--freeze-shape", profile.name, "a Vulkan target");
  const std::string architecture = cuda_architecture_name(profile);
  const auto cubin = cuda::compile(step, architecture, {.verbose = true});
  if (!cubin) return std::unexpected(cubin.error());
  const auto ptx = cuda::compile(step, architecture, {.ptx = true});
  if (!ptx) return std::unexpected(ptx.error());
  const auto figures = cuda::figures(*cubin);
  if (!figures) return std::unexpected(figures.error());
  EmittedModule out;
  const std::string bytes(cubin->bytes.begin(), cubin->bytes.end()), hash = hash_text(bytes);
  out.name = fmt::format("{}.{}-{}", step.kernel.stem, step.kernel.variant, hash.substr(0, 16));
  out.packed = {step.kernel, step.constants, {}, 0, std::vector<std::uint32_t>((bytes.size() + 3) / 4)};
  std::memcpy(out.packed.words.data(), bytes.data(), bytes.size());
  out.facts = {{"name", out.name},
               {"format", "cubin"},
               {"file", out.name + ".cubin"},
               {"ptx", out.name + ".ptx"},
               {"header", out.name + ".h"},
               {"bytes", bytes.size()},
               {"xxh3_128", hash},
               {"kernel", {{"stem", step.kernel.stem}, {"variant", step.kernel.variant}}},
               {"constants", pairs(step.constants)},
               {"entry_point", cubin->entry},
               {"architecture", architecture},
               {"workgroup", step.workgroup},
               {"workgroup_memory_bytes", figures->shared_bytes},
               {"registers", figures->registers},
               {"spill_bytes", figures->spill_load_bytes + figures->spill_store_bytes}};
  const std::string text(ptx->bytes.begin(), std::find(ptx->bytes.begin(), ptx->bytes.end(), std::uint8_t{0}));
  out.files = {{out.name + ".cubin", bytes}, {out.name + ".ptx", text}};
  out.files.push_back({out.name + ".h", module_header(out)});
  return out;
}
#else
Result<EmittedModule> CodeMaker::make_cuda(const Step&, const DeviceProfile& profile) const {
  return fail(ErrorKind::missing, "CUDA for " + profile.name, "not in this build", "SECTILE_CUDA=ON");
}
#endif

#ifdef SECTILE_HAS_SPIRV
Result<EmittedModule> CodeMaker::make_spirv(const Step& step, std::uint32_t api_version) const {
  const EmbeddedModule* source = find_module(step.kernel.stem, step.kernel.variant);
  if (source == nullptr) return fail(ErrorKind::missing, "kernel", step.kernel.stem + "." + step.kernel.variant);
  const auto open = source->words();
  if (!open) return std::unexpected(open.error());
  const spirv::PushFreeze push{step.push, step.addresses};
  auto words =
      spirv::freeze(*open, step.constants, {.api_version = api_version, .push = freeze_shape_ ? &push : nullptr});
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

std::string CodeMaker::cannot(const DeviceProfile& profile) const {
  if (profile.api != Api::cuda) return {};
  if (freeze_shape_) return "its kernels take sizes as arguments";
#ifdef SECTILE_HAS_CUDA
  const auto compiler = cuda::compiler_version();
  return compiler ? std::string() : compiler.error().message();
#else
  return "built without CUDA";
#endif
}

Result<EmittedModule> CodeMaker::make(const Step& step, const DeviceProfile& profile) {
  if (profile.api == Api::cuda) {
    std::pair<std::string, Key> key{cuda_architecture_name(profile), {{step.kernel, step.constants, {}, 0, {}}, 0}};
    auto found = made_for_cuda_.find(key);
    if (found == made_for_cuda_.end()) {
      auto made = make_cuda(step, profile);
      if (!made) return made;
      found = made_for_cuda_.emplace(std::move(key), std::move(*made)).first;
    }
    return found->second;
  }
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
