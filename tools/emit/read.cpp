// Reads folders that emit has written, for pack.
#include "emit.hpp"

#include <sectile/planner.hpp>

#include "base/json_text.hpp"
#include "cli/files.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace sectile::tools {
namespace {

std::string path_of(const std::string& folder, const std::string& name) {
  std::string path = folder;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path + "/" + name;
}

Result<PackedModule> read_module(const std::string& folder, const nlohmann::json& value, const std::string& manifest) {
  const auto bad = [&](std::string what, std::string limit = {}) {
    return fail(ErrorKind::parse, manifest, std::move(what), std::move(limit));
  };
  const auto text_of = [&](const char* key) {
    return value.is_object() && value.contains(key) && value[key].is_string() ? value[key].get<std::string>()
                                                                              : std::string();
  };
  const std::string file = text_of("file"), hash = text_of("xxh3_128");
  if (file.empty() || file.find('/') != std::string::npos)
    return bad("module file '" + file + "'", "a name in the folder");
  PackedModule out;
  const auto kernel = value.find("kernel");
  if (kernel == value.end() || !kernel->is_object()) return bad(file + " names no kernel");
  detail::JsonObject names(*kernel, manifest + ": kernel");
  names.required("stem", out.kernel.stem);
  names.required("variant", out.kernel.variant);
  if (auto ok = names.finish(); !ok) return std::unexpected(ok.error());
  std::vector<std::array<std::uint32_t, 2>> constants;
  if (!value.contains("constants") || detail::read_json(value["constants"], constants))
    return bad(file + " has no constants");
  for (const auto& [id, number] : constants) out.constants.push_back({id, number});
  if (!value.contains("frozen_push") || !detail::bytes_of_hex(text_of("frozen_push"), out.push))
    return bad(file + " has no frozen_push");
  const std::string vulkan = text_of("vulkan_version");
  if (vulkan.size() != 3 || vulkan[0] != '1' || vulkan[1] != '.' || vulkan[2] < '1' || vulkan[2] > '9')
    return bad(file + ": vulkan_version '" + vulkan + "'", "1.1 or later");
  out.api_version = 1000 + static_cast<std::uint32_t>(vulkan[2] - '0');
  const auto bytes = read_text(folder + "/" + file);
  if (!bytes) return std::unexpected(bytes.error());
  if (hash_text(*bytes) != hash || bytes->size() % 4 != 0)
    return fail(ErrorKind::parse, folder + "/" + file, "not what its manifest says", "XXH3-128 " + hash);
  out.words.resize(bytes->size() / 4);
  std::memcpy(out.words.data(), bytes->data(), bytes->size());
  return out;
}

// "spirv" or "cubin"; empty where the entry has no format.
std::string format_of(const nlohmann::json& module) {
  return module.is_object() && module.contains("format") && module["format"].is_string()
             ? module["format"].get<std::string>()
             : "";
}

Result<void> read_modules(const std::string& folder, const std::string& path, const nlohmann::json& list,
                          std::string&& text, Emitted& emitted) {
  std::size_t cubins = 0;
  for (const nlohmann::json& value : list) {
    const std::string format = format_of(value);
    if (format == "cubin") {
      ++cubins;
      continue;
    }
    if (format != "spirv") return fail(ErrorKind::parse, path, "a module of format '" + format + "'", "spirv or cubin");
    auto module = read_module(folder, value, path);
    if (!module) return std::unexpected(module.error());
    emitted.modules.push_back(std::move(*module));
  }
  if (cubins != 0)
    emitted.left_out.push_back({folder, fmt::format("{} of its modules are cubins, and packs hold SPIR-V", cubins)});
  if (cubins < list.size()) emitted.manifests.push_back(std::move(text));
  return {};
}

// `above`: the folder may have a folder for each target.
Result<void> read_folder(const std::string& folder, bool above, Emitted& emitted) {
  const std::string path = path_of(folder, "manifest.json");
  auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  const auto json = detail::parse_json(*text, path);
  if (!json) return std::unexpected(json.error());
  if (!json->is_object() || !json->contains("schema_version"))
    return fail(ErrorKind::parse, path, "no manifest of emit's", "schema_version");
  if ((*json)["schema_version"] != kManifestVersion)
    return fail(ErrorKind::parse, path, "schema " + (*json)["schema_version"].dump(), std::to_string(kManifestVersion));
  if (const auto targets = json->find("targets"); targets != json->end()) {
    std::vector<std::string> names;
    if (!above) return fail(ErrorKind::parse, path, "targets below a target", "modules");
    if (detail::read_json(*targets, names)) return fail(ErrorKind::parse, path, "targets", "a list of folders");
    for (const std::string& name : names) {
      if (name.empty() || name.find('/') != std::string::npos || name == ".." || name == ".")
        return fail(ErrorKind::parse, path, "target '" + name + "'", "a folder in this one");
      if (auto read = read_folder(path_of(folder, name), false, emitted); !read) return read;
    }
    return {};
  }
  // Its plans and kernels may differ from this version's in what is pushed where.
  const auto version = json->find("planner_version");
  if (version == json->end() || *version != planner_version())
    return fail(ErrorKind::parse, path, "planner version " + (version == json->end() ? "not there" : version->dump()),
                fmt::format("\"{}\", this version's: emit the folder again", planner_version()));
  if (!json->contains("modules") || !(*json)["modules"].is_array()) return fail(ErrorKind::parse, path, "no modules");
  return read_modules(folder, path, (*json)["modules"], std::move(*text), emitted);
}

}  // namespace

Result<void> read_emitted(const std::string& folder, Emitted& emitted) { return read_folder(folder, true, emitted); }

}  // namespace sectile::tools
