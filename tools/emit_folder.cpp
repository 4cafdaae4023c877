// Folders that emit writes and pack reads: whole or not at all.
#include "emit.hpp"

#include "files.hpp"
#include "plan/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

namespace sectile::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "manifest.json";

std::unexpected<Error> cannot_write(const std::string& path, int error) {
  return fail(ErrorKind::io, "writing", path, std::strerror(error));
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

bool written_by_emit(const fs::path& folder) {
  const auto text = read_text((folder / kManifest).string());
  if (!text) return false;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  return json.is_object() && json.contains("schema_version") && (json.contains("modules") || json.contains("targets"));
}

// Removes what is left of a try.
struct Temporary {
  std::string path;
  ~Temporary() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
};

Result<void> write_one(const fs::path& path, const std::string& bytes) {
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  if (code) return cannot_write(path.parent_path().string(), code.value());
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return cannot_write(path.string(), errno);
  return {};
}

// Puts `fresh` where `path` is; what was there is in `fresh` afterwards, or gone.
Result<void> put_in_place(const std::string& fresh, const std::string& path) {
  if (::rename(fresh.c_str(), path.c_str()) == 0) return {};  // nothing there, or an empty folder
  if (errno != ENOTEMPTY && errno != EEXIST) return cannot_write(path, errno);
#ifdef RENAME_EXCHANGE
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) return {};
#endif
  // A file system that cannot exchange: for a moment there is no folder, and on a failure the old one comes back.
  const std::string old = fresh + ".old";
  if (::rename(path.c_str(), old.c_str()) != 0) return cannot_write(path, errno);
  const Temporary remove{old};
  if (::rename(fresh.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  if (::rename(old.c_str(), path.c_str()) != 0) return cannot_write(old, errno);
  return cannot_write(path, error);
}

Result<PackedModule> read_module(const std::string& folder, const nlohmann::json& value, const std::string& manifest) {
  const auto bad = [&](std::string what, std::string limit = {}) {
    return fail(ErrorKind::parse, manifest, std::move(what), std::move(limit));
  };
  const auto text_of = [&](const char* key) {
    return value.is_object() && value.contains(key) && value[key].is_string() ? value[key].get<std::string>() : std::string();
  };
  if (text_of("format") != "spirv") return bad("a module of format '" + text_of("format") + "'", "spirv");
  const std::string file = text_of("file"), hash = text_of("xxh3_128");
  if (file.empty() || file.find('/') != std::string::npos) return bad("module file '" + file + "'", "a name in the folder");
  PackedModule out;
  const auto kernel = value.find("kernel");
  if (kernel == value.end() || !kernel->is_object()) return bad(file + " names no kernel");
  detail::JsonObject names(*kernel, manifest + ": kernel");
  names.required("stem", out.kernel.stem);
  names.required("variant", out.kernel.variant);
  if (auto ok = names.finish(); !ok) return std::unexpected(ok.error());
  std::vector<std::array<std::uint32_t, 2>> constants;
  if (!value.contains("constants") || detail::read_json(value["constants"], constants)) return bad(file + " has no constants");
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

}  // namespace

Result<void> check_output_folder(const std::string& path) {
  std::error_code code;
  const fs::path place = without_slashes(path);
  if (place.empty()) return fail(ErrorKind::missing, "folder", path);
  const fs::path parent = place.has_parent_path() ? place.parent_path() : fs::path(".");
  if (!fs::exists(place, code)) {
    if (!fs::is_directory(parent, code)) return fail(ErrorKind::missing, "folder", parent.string());
    return {};
  }
  if (!fs::is_directory(place, code)) return fail(ErrorKind::io, "writing", path, "a folder, not a file");
  if (fs::is_empty(place, code) || written_by_emit(place)) return {};
  return fail(ErrorKind::io, "writing", path, "an empty folder, or one that emit has written");
}

Result<void> write_folder(const std::string& path, const std::vector<EmittedFile>& files) {
  const std::string place = without_slashes(path);
  std::string name = place + ".XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return cannot_write(path, errno);
  const Temporary temporary{name};
  // mkdtemp makes a folder for its owner alone; the result is to be as any other.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::chmod(name.c_str(), 0777 & ~mask) != 0) return cannot_write(path, errno);
  for (const EmittedFile& file : files)
    if (auto written = write_one(fs::path(name) / file.name, file.bytes); !written) return written;
  return put_in_place(name, place);
}

Result<void> read_emitted(const std::string& folder, std::vector<PackedModule>& modules,
                          std::vector<std::string>& manifests) {
  const std::string path = without_slashes(folder) + "/" + kManifest;
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
    if (detail::read_json(*targets, names)) return fail(ErrorKind::parse, path, "targets", "a list of folders");
    for (const std::string& name : names) {
      if (name.empty() || name.find('/') != std::string::npos || name == "..")
        return fail(ErrorKind::parse, path, "target '" + name + "'", "a folder in this one");
      if (auto read = read_emitted(without_slashes(folder) + "/" + name, modules, manifests); !read) return read;
    }
    return {};
  }
  if (!json->contains("modules") || !(*json)["modules"].is_array()) return fail(ErrorKind::parse, path, "no modules");
  for (const nlohmann::json& value : (*json)["modules"]) {
    auto module = read_module(without_slashes(folder), value, path);
    if (!module) return std::unexpected(module.error());
    modules.push_back(std::move(*module));
  }
  manifests.push_back(std::move(*text));
  return {};
}

}  // namespace sectile::tools
