// sectile pack: bundles modules that emit has written into one file.
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/text.hpp"
#include "emit/emit.hpp"

#include <sectile/pack.hpp>

#include <fmt/format.h>

#include <array>
#include <memory>
#include <span>

namespace sectile::tools {
namespace {

struct PackOptions {
  std::vector<std::string> folders;
  std::string output, list;
  bool json = false;
};

int list(const PackOptions& options) {
  const auto pack = Pack::read(options.list);
  if (!pack) return report(pack.error(), options.json);
  nlohmann::json rows = nlohmann::json::array();
  Table table({"kernel", "constants", "frozen push", "bytes"});
  for (const PackedModule& m : pack->modules()) {
    std::string constants;
    nlohmann::json pairs = nlohmann::json::array();
    for (const Constant& c : m.constants) {
      constants += fmt::format("{}{}:{}", constants.empty() ? "" : " ", c.id, c.value);
      pairs.push_back({c.id, c.value});
    }
    table.add({m.kernel.stem + "." + m.kernel.variant, constants, std::to_string(m.push.size()),
               std::to_string(m.words.size() * sizeof(std::uint32_t))});
    rows.push_back({{"stem", m.kernel.stem},
                    {"variant", m.kernel.variant},
                    {"constants", pairs},
                    {"frozen_push_bytes", m.push.size()},
                    {"bytes", m.words.size() * sizeof(std::uint32_t)}});
  }
  if (options.json)
    fmt::print("{}\n",
               nlohmann::json{{"id", pack->id()}, {"modules", rows}, {"manifests", pack->manifests().size()}}.dump());
  else
    fmt::print("{}{} modules, {} manifests, {}\n", table.print(), pack->modules().size(), pack->manifests().size(),
               pack->id());
  return kOk;
}

Result<void> bundle(const PackOptions& options) {
  if (options.folders.empty()) return fail(ErrorKind::missing, "folder", "none", "folders that emit has written");
  if (options.output.empty()) return fail(ErrorKind::missing, "output", "none", "-o FILE");
  if (auto place = check_place(options.output); !place) return place;
  Emitted emitted;
  for (const std::string& folder : options.folders)
    if (auto read = read_emitted(folder, emitted); !read) return read;
  if (emitted.modules.empty() && !emitted.left_out.empty())
    return fail(ErrorKind::unsupported, "pack", emitted.left_out.front().what + ": " + emitted.left_out.front().why,
                "a folder of a Vulkan target");
  const std::size_t given = emitted.modules.size();
  const auto bytes = make_pack(std::move(emitted.modules), std::move(emitted.manifests));
  if (!bytes) return std::unexpected(bytes.error());
  // Opened before it is written: the file will be readable.
  const auto pack = Pack::open(*bytes, options.output);
  if (!pack) return std::unexpected(pack.error());
  const std::array parts = {std::span<const std::byte>(*bytes)};
  if (auto written = write_atomically(options.output, parts); !written) return written;
  for (const LeftOut& one : emitted.left_out) fmt::print(stderr, "sectile: left out: {}: {}\n", one.what, one.why);
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"file", options.output},
                                      {"id", pack->id()},
                                      {"bytes", bytes->size()},
                                      {"modules", pack->modules().size()},
                                      {"given", given},
                                      {"left_out", to_json(emitted.left_out)}}
                           .dump());
  else
    fmt::print("{}: {} modules (of {} given), {}\n", options.output, pack->modules().size(), given,
               format_bytes(static_cast<double>(bytes->size())));
  return {};
}

int run(const PackOptions& options) {
  if (!options.list.empty()) return list(options);
  const auto done = bundle(options);
  return done ? kOk : report(done.error(), options.json);
}

}  // namespace

Command add_pack(CLI::App& parent) {
  auto options = std::make_shared<PackOptions>();
  CLI::App* app = parent.add_subcommand("pack", "Bundle folders that emit has written into one file");
  auto* folders = app->add_option("folder", options->folders, "Folders that emit has written");
  app->add_option("-o,--out,--output", options->output, "The pack to write");
  app->add_option("--list", options->list, "Print the content of a pack")->excludes(folders);
  app->add_flag("--json", options->json, kJsonHelp);
  return {app, [options] { return run(*options); }};
}

}  // namespace sectile::tools
