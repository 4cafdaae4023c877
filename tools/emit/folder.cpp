// Writes emit's folders, also over an earlier result. Files that emit did not write are never changed or removed.
#include "emit.hpp"

#include "backend/platform.hpp"
#include "backend/whole_file.hpp"
#include "base/json_text.hpp"
#include "cli/files.hpp"
#include "cli/system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <system_error>

namespace sectile::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "manifest.json";

using backend::native_path, backend::text_of;

std::unexpected<Error> cannot_write(const fs::path& path, std::error_code error) {
  return backend::write_failed(text_of(path), error);
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// Whether the name cannot lead out of its folder.
bool plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of("/\\:") == std::string::npos;
}

// Whether it is a regular file, and not a link.
bool is_regular(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(fs::symlink_status(path, code));
}
bool is_folder(const fs::path& path) {
  std::error_code code;
  return fs::is_directory(fs::symlink_status(path, code));
}

// A manifest of emit's with its list of files; null where it is not one.
nlohmann::json read_manifest(const fs::path& folder) {
  const fs::path path = folder / kManifest;
  if (!is_regular(path)) return {};
  const auto text = read_text(text_of(path));
  if (!text) return {};
  auto json = nlohmann::json::parse(*text, nullptr, false);
  const bool ours = json.is_object() && json.contains("made_by") && json["made_by"] == kMadeBy &&
                    json.contains("files") && json["files"].is_object();
  return ours ? json : nlohmann::json();
}

// The files that emit wrote, by name under its folder, with their hashes; manifests have none.
using Owned = std::map<std::string, std::string>;

void add_owned(Owned& owned, const fs::path& folder, const std::string& in, bool above) {
  const nlohmann::json manifest = read_manifest(folder);
  if (manifest.is_null()) return;
  owned[in + kManifest];
  for (const auto& [name, hash] : manifest["files"].items())
    if (plain_name(name) && hash.is_string()) owned[in + name] = hash.get<std::string>();
  std::vector<std::string> targets;
  if (!above || !manifest.contains("targets") || detail::read_json(manifest["targets"], targets)) return;
  for (const std::string& target : targets)
    if (plain_name(target) && is_folder(folder / target)) add_owned(owned, folder / target, target + "/", false);
}

bool is_manifest(const std::string& name) { return name == kManifest || name.ends_with(std::string("/") + kManifest); }

// Whether the file is unchanged since emit wrote it.
bool unchanged(const fs::path& path, const std::string& name, const Owned& owned) {
  const auto found = owned.find(name);
  if (found == owned.end() || !is_regular(path)) return false;
  if (is_manifest(name)) return true;  // it was read as one
  const auto bytes = read_text(text_of(path));
  return bytes && hash_text(*bytes) == found->second;
}

// Removes the remains of a failed attempt.
struct Temporary {
  std::string path;
  ~Temporary() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(native_path(path), ignored);
  }
};

Result<void> write_one(const fs::path& path, const std::string& bytes) {
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  if (code) return cannot_write(path.parent_path(), code);
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return cannot_write(path, std::error_code(errno, std::generic_category()));
  return {};
}

// Prefix of temporary folders; a killed run may leave one in its output.
constexpr std::string_view kFresh = ".emit";

// Whether the folder has nothing but the remains of killed runs.
bool is_empty_folder(const fs::path& place) {
  std::error_code code;
  for (fs::directory_iterator at(place, code), end; !code && at != end; at.increment(code))
    if (!text_of(at->path().filename()).starts_with(std::string(kFresh) + ".")) return false;
  return !code;
}

// Writes all files into a new folder whose name begins with `stem`.
Result<std::string> write_beside(const std::string& place, const std::string& stem,
                                 const std::vector<EmittedFile>& files) {
  auto name = make_new_folder(stem);
  if (!name) {
    Error error = name.error();
    error.what = std::string(backend::kWriting) + place;
    return std::unexpected(std::move(error));
  }
  Temporary temporary{*name};
  for (const EmittedFile& file : files)
    if (auto written = write_one(native_path(*name) / file.name, file.bytes); !written)
      return std::unexpected(written.error());
  temporary.path.clear();
  return name;
}

// Refuses a new file that would replace one that emit did not write, or that was changed since.
Result<void> check_replaced(const fs::path& place, const std::vector<EmittedFile>& files, const Owned& owned) {
  for (const EmittedFile& file : files) {
    const fs::path path = place / file.name, folder = path.parent_path();
    std::error_code code;
    // The output itself may be a link. A target's folder in it may not, because files would then be written elsewhere.
    if (folder != place && fs::exists(fs::symlink_status(folder, code)) && !is_folder(folder))
      return fail(ErrorKind::io, "writing", text_of(folder), "a folder, or nothing there");
    if (!fs::exists(fs::symlink_status(path, code)) || unchanged(path, file.name, owned)) continue;
    // A killed run may have left the same file without a manifest that lists it.
    const auto there = is_regular(path) ? read_text(text_of(path)) : Result<std::string>(std::string());
    if (is_regular(path) && there && *there == file.bytes) continue;
    return fail(ErrorKind::io, "writing", text_of(path), "a file as emit wrote it, or nothing there");
  }
  return {};
}

// Moves the files of `fresh` into `place`, manifests last. Until then the old manifests list what exists.
Result<void> move_in(const fs::path& fresh, const fs::path& place, const std::vector<EmittedFile>& files) {
  for (const bool manifests : {false, true}) {
    for (const EmittedFile& file : files) {
      if (is_manifest(file.name) != manifests) continue;
      const fs::path to = place / file.name;
      std::error_code code;
      fs::create_directories(to.parent_path(), code);
      if (!code) fs::rename(fresh / file.name, to, code);
      if (code) return cannot_write(to, code);
    }
  }
  return {};
}

// Removes files of earlier runs that are no longer listed. Returns those that were changed since; they stay.
std::vector<std::string> remove_stale(const fs::path& place, const std::vector<EmittedFile>& files,
                                      const Owned& owned) {
  std::set<std::string> fresh;
  for (const EmittedFile& file : files) fresh.insert(file.name);
  std::vector<std::string> kept;
  std::set<fs::path> folders;
  for (const auto& [name, hash] : owned) {
    const fs::path path = place / name;
    if (fresh.contains(name) || !is_regular(path)) continue;
    if (!unchanged(path, name, owned)) {
      kept.push_back(name);
      continue;
    }
    std::error_code ignored;
    fs::remove(path, ignored);
    if (path.parent_path() != place) folders.insert(path.parent_path());
  }
  // Removes a target's folder if it is empty; rmdir removes no other.
  for (const fs::path& folder : folders) {
    std::error_code ignored;
    fs::remove(folder, ignored);
  }
  return kept;
}

}  // namespace

Result<void> check_output_folder(const std::string& path) {
  std::error_code code;
  const fs::path place = native_path(without_slashes(path));
  if (place.empty()) return fail(ErrorKind::missing, "folder", path);
  if (!fs::exists(place, code)) {
    // Folders above it are made. An obstacle is reported now.
    fs::path above = place.parent_path();
    while (!above.empty() && !fs::exists(above, code)) above = above.parent_path();
    if (!above.empty() && !fs::is_directory(above, code))
      return fail(ErrorKind::io, "writing", text_of(above), "a folder, not a file");
    return {};
  }
  if (!fs::is_directory(place, code)) return fail(ErrorKind::io, "writing", path, "a folder, not a file");
  if (is_empty_folder(place) || !read_manifest(place).is_null()) return {};
  return fail(ErrorKind::io, "writing", path, "an empty folder, or one that emit has written");
}

Result<std::vector<std::string>> write_folder(const std::string& path, const std::vector<EmittedFile>& files) {
  const std::string place = without_slashes(path);
  const fs::path folder = native_path(place);
  std::error_code code;
  // An existing folder may be a mount, a link, or in a parent that cannot be written to. So files are written into it.
  const bool there = fs::exists(folder, code);
  Owned owned;
  if (there) {
    add_owned(owned, folder, "", true);
    if (auto fine = check_replaced(folder, files, owned); !fine) return std::unexpected(fine.error());
  } else if (const fs::path above = folder.parent_path(); !above.empty()) {
    fs::create_directories(above, code);
    if (code) return cannot_write(above, code);
  }
  const auto fresh = write_beside(place, there ? place + "/" + std::string(kFresh) : place, files);
  if (!fresh) return std::unexpected(fresh.error());
  const Temporary temporary{*fresh};
  if (!there) {
    fs::rename(native_path(*fresh), folder, code);
    if (code) return backend::write_failed(path, code);
    return {};
  }
  if (auto moved = move_in(native_path(*fresh), folder, files); !moved) return std::unexpected(moved.error());
  return remove_stale(folder, files, owned);
}

}  // namespace sectile::tools
