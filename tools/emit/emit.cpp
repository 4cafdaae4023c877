// sectile emit: writes plans and their compiled code for targets; needs no GPU.
#include "emit.hpp"

#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/target.hpp"
#include "cli/text.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>

namespace sectile::tools {
namespace {

struct EmitOptions {
  std::vector<std::string> problems;
  std::string from, target, device_class, supplement, output, force;
  bool all_targets = false, freeze_shape = false, few_pipelines = false, json = false;
};

// A target, and the folder of its files in the output; empty where there is only one target.
struct Place {
  std::string folder;
  DeviceProfile profile;
};

// The results of all targets.
struct Output {
  std::vector<EmittedFile> files;
  std::vector<std::string> folders;
  std::vector<LeftOut> left_out;  // by target: targets, and problems of targets
  nlohmann::json rows = nlohmann::json::array();
  Table table{{"target", "plans", "modules", "bytes", "left out"}};
};

std::string plan_name(const Plan& plan) {
  std::string out;
  for (const char c : print(plan.problem)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain || (!out.empty() && out.back() != '_')) out += plain ? c : '_';
  }
  constexpr std::size_t kLongest = 80;
  return out.substr(0, kLongest) + "-" + plan.id.substr(0, 16);
}

Error about(Error error, const Problem& problem, const DeviceProfile& profile) {
  error.what += fmt::format(" (for {} on {})", print(problem), profile.name);
  return error;
}

Result<std::vector<Problem>> gather(const EmitOptions& options) {
  std::vector<Problem> out;
  for (const std::string& text : options.problems) {
    auto problem = parse_problem(text);
    if (!problem) return std::unexpected(problem.error());
    if (auto valid = validate(*problem); !valid) return std::unexpected(valid.error());
    out.push_back(std::move(*problem));
  }
  if (!options.from.empty()) {
    auto more = read_problems(options.from);
    if (!more) return more;
    out.insert(out.end(), more->begin(), more->end());
  }
  if (out.empty()) return fail(ErrorKind::missing, "problem", "none", "one on the command line, or --from FILE");
  return out;
}

Result<std::vector<Place>> targets_of(const EmitOptions& options, const CodeMaker& code,
                                      std::vector<LeftOut>& left_out) {
  std::vector<Place> out;
  if (options.all_targets) {
    for (const std::string_view name : builtin_target_names()) {
      auto profile = builtin_target(name);
      if (!profile) return std::unexpected(profile.error());
      if (const std::string why = code.cannot(*profile); !why.empty()) {
        left_out.push_back({std::string(name), why});
        continue;
      }
      out.push_back({folder_name(name), std::move(*profile)});
    }
    return out;
  }
  if (options.target.empty()) return fail(ErrorKind::missing, "target", "none", "--target NAME or --all-targets");
  auto profile = read_target(options.target);
  if (profile && !options.supplement.empty()) {
    const auto facts = read_text(options.supplement);
    if (!facts) return std::unexpected(facts.error());
    profile = supplement(std::move(*profile), *facts);
  }
  if (profile) profile = with_device_class(std::move(*profile), options.device_class);
  if (!profile) return std::unexpected(profile.error());
  out.push_back({"", std::move(*profile)});
  return out;
}

std::uint64_t bytes_in(const EmittedTarget& target) {
  std::uint64_t bytes = 0;
  for (const EmittedModule& m : target.modules) bytes += m.packed.words.size() * sizeof(std::uint32_t);
  return bytes;
}

void add(Output& out, const Place& place, EmittedTarget& made) {
  for (const LeftOut& one : made.left_out) out.left_out.push_back({made.profile.name + ": " + one.what, one.why});
  const std::uint64_t bytes = bytes_in(made);
  out.rows.push_back({{"target", made.profile.name},
                      {"plans", made.plans.size()},
                      {"modules", made.modules.size()},
                      {"bytes", bytes},
                      {"left_out", made.left_out.size()}});
  out.table.add({made.profile.name, std::to_string(made.plans.size()), std::to_string(made.modules.size()),
                 std::to_string(bytes), std::to_string(made.left_out.size())});
  // No folder for a target that takes none of the problems.
  if (made.plans.empty()) return;
  const std::string in = place.folder.empty() ? "" : place.folder + "/";
  for (const EmittedModule& m : made.modules)
    for (const EmittedFile& file : m.files) out.files.push_back({in + file.name, file.bytes});
  for (EmittedFile& file : made.files) out.files.push_back({in + file.name, std::move(file.bytes)});
  if (!place.folder.empty()) out.folders.push_back(place.folder);
}

void tell(const EmitOptions& options, const Output& out, const std::vector<std::string>& kept, double seconds) {
  for (const LeftOut& one : out.left_out) fmt::print(stderr, "sectile: left out: {}: {}\n", one.what, one.why);
  for (const std::string& name : kept)
    fmt::print(stderr, "sectile: {}/{} is no longer needed, but was changed since emit wrote it: not removed\n",
               options.output, name);
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"folder", options.output},
                                      {"targets", out.rows},
                                      {"left_out", to_json(out.left_out)},
                                      {"kept", kept},
                                      {"seconds", seconds}}
                           .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}{} files in {}, {}\n", out.table.print(), out.files.size(), options.output, format_seconds(seconds));
  }
}

Result<void> emit_all(const EmitOptions& options) {
  if (options.output.empty()) return fail(ErrorKind::missing, "output folder", "none", "-o DIR");
  const auto problems = gather(options);
  if (!problems) return std::unexpected(problems.error());
  CodeMaker code(options.freeze_shape);
  Output out;
  const auto targets = targets_of(options, code, out.left_out);
  if (!targets) return std::unexpected(targets.error());
  if (auto place = check_output_folder(options.output); !place) return place;

  const double start = now_seconds();
  {
    Progress progress("emit", targets->size() * problems->size());
    std::uint64_t done = 0;
    for (const Place& place : *targets) {
      auto made = emit_target(
          place.profile, *problems, code, {.force = options.force, .few_pipelines = options.few_pipelines},
          [&] { progress.show(++done, place.profile.name); }, options.all_targets ? Refused::left_out : Refused::error);
      if (!made) return std::unexpected(made.error());
      add(out, place, *made);
    }
  }
  if (out.files.empty()) {
    const LeftOut& first = out.left_out.front();
    return fail(ErrorKind::unsupported, "every target refuses", first.what + ": " + first.why, "one that does not");
  }
  if (options.all_targets) out.files.push_back({"manifest.json", index_text(out.folders, out.left_out)});
  const auto kept = write_folder(options.output, out.files);
  if (!kept) return std::unexpected(kept.error());
  tell(options, out, *kept, now_seconds() - start);
  return {};
}

int run(const EmitOptions& options) {
  const auto done = emit_all(options);
  return done ? kOk : report(done.error(), options.json);
}

}  // namespace

Result<std::vector<Problem>> read_problems(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  std::vector<Problem> out;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    std::string one = text->substr(begin, end - begin);
    begin = end + 1;
    ++line;
    while (!one.empty() && std::isspace(static_cast<unsigned char>(one.back())) != 0) one.pop_back();
    if (one.empty() || one.starts_with('#')) continue;
    auto problem = parse_problem(one);
    auto fine = problem ? validate(*problem) : Result<void>(std::unexpected(problem.error()));
    if (!fine) {
      Error error = fine.error();
      error.what = fmt::format("{} line {}: {}", path, line, error.what);
      return std::unexpected(std::move(error));
    }
    out.push_back(std::move(*problem));
  }
  return out;
}

namespace {

struct MadePlan {
  Plan plan;
  std::vector<EmittedModule> modules;  // one a step
};

Result<MadePlan> make_one(const DeviceProfile& profile, const Problem& problem, CodeMaker& code,
                          const PlanOptions& options) {
  auto plan = make_plan(problem, profile, options);
  if (!plan) return std::unexpected(plan.error());
  MadePlan out{std::move(*plan), {}};
  for (const Step& step : out.plan.steps) {
    auto module = code.make(step, profile);
    if (!module) return std::unexpected(module.error());
    out.modules.push_back(std::move(*module));
  }
  return out;
}

}  // namespace

Result<EmittedTarget> emit_target(const DeviceProfile& profile, const std::vector<Problem>& problems, CodeMaker& code,
                                  const PlanOptions& options, const std::function<void()>& step_done, Refused refused) {
  EmittedTarget out;
  out.profile = profile;
  std::map<std::string, std::size_t> indices;  // of modules, by name
  std::set<std::string> ids;
  for (const Problem& problem : problems) {
    auto made = make_one(profile, problem, code, options);
    step_done();
    if (!made && refused == Refused::error) return std::unexpected(about(made.error(), problem, profile));
    if (!made) {
      out.left_out.push_back({print(problem), made.error().message()});
      continue;
    }
    if (!ids.insert(made->plan.id).second) continue;  // the same problem twice
    print_remark(made->plan, profile);
    EmittedPlan emitted{std::move(made->plan), "", {}};
    emitted.name = plan_name(emitted.plan);
    for (EmittedModule& module : made->modules) {
      const auto [at, fresh] = indices.try_emplace(module.name, out.modules.size());
      if (fresh) out.modules.push_back(std::move(module));
      emitted.modules.push_back(at->second);
    }
    out.plans.push_back(std::move(emitted));
  }
  for (const EmittedPlan& plan : out.plans) out.files.push_back({plan.name + ".h", plan_header(out, plan)});
  out.files.push_back({"manifest.json", manifest_text(out, code.freeze_shape())});
  return out;
}

Command add_emit(CLI::App& parent) {
  auto options = std::make_shared<EmitOptions>();
  CLI::App* app = parent.add_subcommand("emit", "Write plans and their compiled code for a target");
  app->add_option("problem", options->problems, "Such as \"permute f16 1x384x512x128 axes=0,3,1,2\"");
  app->add_option("--from", options->from, "File with one problem in each line");
  auto* target = app->add_option("--target", options->target, kTargetHelp);
  auto* device_class = app->add_option("--device-class", options->device_class, kDeviceClassHelp);
  app->add_option("--supplement", options->supplement, kSupplementHelp);
  app->add_flag(
         "--all-targets", options->all_targets,
         "All built-in targets, each in its own folder; problems that a target refuses are left out and reported")
      ->excludes(target)
      ->excludes(device_class);
  app->add_option("-o,--out,--output", options->output, "Folder to write; files of an earlier emit are replaced");
  app->add_option("--force", options->force, kForceHelp);
  app->add_flag("--few-pipelines", options->few_pipelines, kFewPipelinesHelp);
  app->add_flag("--freeze-shape", options->freeze_shape,
                "Make sizes and strides constants as well; addresses stay pushed");
  app->add_flag("--json", options->json, kJsonHelp);
  return {app, [options] { return run(*options); }};
}

}  // namespace sectile::tools
