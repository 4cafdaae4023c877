// sectile plan: prints the plan of a problem, and why it was chosen. Needs no device.
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/target.hpp"
#include "cli/tuned.hpp"

#include <sectile/cuda.hpp>
#include <sectile/pack.hpp>
#include <sectile/planner.hpp>
#include <sectile/vulkan_runtime.hpp>

#include <fmt/format.h>

#include <memory>
#include <string>

namespace sectile::tools {
namespace {

struct PlanCommandOptions {
  std::string problem, target, device, device_class, supplement, force, pack, tuned;
  bool explain = false, few_pipelines = false, statistics = false, json = false;
};

Result<DeviceProfile> profile_of(const PlanCommandOptions& options) {
  auto profile = options.target.empty() ? device_profile(options.device) : read_target(options.target);
  if (profile && !options.supplement.empty()) {
    const auto facts = read_text(options.supplement);
    if (!facts) return std::unexpected(facts.error());
    profile = supplement(std::move(*profile), *facts);
  }
  return profile ? with_device_class(std::move(*profile), options.device_class) : profile;
}

// The driver's figures for the plan's pipelines: registers, spills, workgroup memory, by the driver's names.
Result<void> print_statistics(const PlanCommandOptions& options, const DeviceProfile& profile, const Plan& plan) {
  if (profile.api == Api::cuda) {
    for (const Step& step : plan.steps) {
      const auto code = cuda::compile(step, cuda_architecture_name(profile), {.verbose = true});
      if (!code) return std::unexpected(code.error());
      const auto figures = cuda::figures(*code);
      if (!figures) return std::unexpected(figures.error());
      fmt::print(
          "{}.{} ({}): {} registers, {} bytes of static workgroup memory, {} of spills, {} of stack, {} of code\n",
          step.kernel.stem, step.kernel.variant, cuda_architecture_name(profile), figures->registers,
          figures->shared_bytes, figures->spill_store_bytes + figures->spill_load_bytes, figures->stack_bytes,
          code->bytes.size());
    }
    return {};
  }
  vulkan::RuntimeOptions with_statistics;
  with_statistics.executable_statistics = true;
  with_statistics.canary = false;  // nothing runs
  auto runtime = vulkan::Runtime::open(default_device(options.device), with_statistics);
  if (!runtime) return std::unexpected(runtime.error());
  const auto ready = runtime->device().prepare(plan, {.any_profile = !options.supplement.empty()});
  if (!ready) return std::unexpected(ready.error());
  const auto steps = runtime->device().statistics(*ready);
  if (!steps) return std::unexpected(steps.error());
  for (const vulkan::StepStatistics& step : *steps) {
    fmt::print("{}.{} ({}, subgroup {})\n", step.kernel.stem, step.kernel.variant, step.executable, step.subgroup_size);
    for (const vulkan::Statistic& one : step.statistics) fmt::print("  {}: {}\n", one.name, one.value);
  }
  return {};
}

int run(const PlanCommandOptions& options) {
  const auto problem = parse_problem(options.problem);
  if (!problem) return report(problem.error(), options.json);
  const auto valid = validate(*problem);
  if (!valid) return report(valid.error(), options.json);
  const auto profile = profile_of(options);
  if (!profile) return report(profile.error(), options.json);
  if (auto known = check_candidate(*problem, *profile, options.force); !known)
    return report(known.error(), options.json);
  Pack pack;
  if (!options.pack.empty()) {
    auto read = Pack::read(options.pack);
    if (!read) return report(read.error(), options.json);
    pack = std::move(*read);
  }
  const auto tuned = read_tuned(options.tuned);
  const auto plan = make_plan(*problem, *profile,
                              {.explain = options.explain,
                               .force = options.force,
                               .kernels = options.pack.empty() ? nullptr : &pack,
                               .tuned = tuned.get(),
                               .few_pipelines = options.few_pipelines});
  if (!plan) return report(plan.error(), options.json);
  print_remark(*plan, *profile);
  if (options.json) {
    fmt::print("{}\n", to_json(*plan));
    return kOk;
  }
  fmt::print("{}\n", print(*plan));
  if (options.explain) fmt::print("{}", explain(*plan));
  if (options.statistics)
    if (auto printed = print_statistics(options, *profile, *plan); !printed)
      return report(printed.error(), options.json);
  return kOk;
}

}  // namespace

Command add_plan(CLI::App& parent) {
  auto options = std::make_shared<PlanCommandOptions>();
  CLI::App* app = parent.add_subcommand("plan", "Print the plan of a problem for a device or a target");
  app->add_option("problem", options->problem, "Such as \"permute f16 1x384x512x128 axes=0,3,1,2\"")->required();
  auto* target = app->add_option("--target", options->target, kTargetHelp);
  app->add_option("--device", options->device, kDeviceHelp)->excludes(target);
  app->add_option("--device-class", options->device_class, kDeviceClassHelp);
  app->add_option("--supplement", options->supplement, kSupplementHelp);
  app->add_option("--pack", options->pack, "Choose only among the kernels of this pack");
  app->add_option("--force", options->force, kForceHelp);
  app->add_option("--tuned", options->tuned, kTunedHelp);
  app->add_flag("--few-pipelines", options->few_pipelines, kFewPipelinesHelp);
  app->add_flag("--explain", options->explain, "Print every candidate: its counts and cost, or why it was refused");
  app->add_flag("--statistics", options->statistics, "Compile for the device, and print the driver's figures")
      ->excludes(target);
  app->add_flag("--json", options->json, kJsonHelp);
  return {app, [options] { return run(*options); }};
}

}  // namespace sectile::tools
