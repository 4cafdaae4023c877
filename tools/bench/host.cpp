// --preset host: what planning, recording and pipelines cost the processor.
#include "backend/platform.hpp"
#include "cli/system.hpp"
#include "cli/target.hpp"
#include "cli/text.hpp"
#include "operation.hpp"

#include "reference/generate.hpp"
#include "reference/random.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace sectile::tools {
namespace {

nlohmann::json nanoseconds(const Spread& spread) {
  return {{"median_ns", spread.median * 1e9},
          {"p10_ns", spread.p10 * 1e9},
          {"p90_ns", spread.p90 * 1e9},
          {"samples", spread.samples}};
}

// Random permutes of ranks 2 to 5 in one type, sizes as people have them.
std::vector<PermuteProblem> random_permutes(DType type, std::size_t count) {
  reference::Random random(200 + static_cast<std::uint64_t>(type));
  std::vector<PermuteProblem> problems(count);
  for (PermuteProblem& problem : problems) {
    const auto rank = static_cast<std::size_t>(random.between(2, 5));
    problem.type = type;
    problem.axes.resize(rank);
    std::iota(problem.axes.begin(), problem.axes.end(), 0);
    for (std::size_t i = rank; i > 1; --i) std::swap(problem.axes[i - 1], problem.axes[random.below(i)]);
    for (std::size_t i = 0; i < rank; ++i) problem.shape.push_back(random.between(1, rank < 4 ? 500 : 48));
  }
  return problems;
}

// Of a preset that the command has.
std::vector<BenchRow> own_rows(std::string_view preset) {
  return *preset_rows(preset);  // NOLINT(bugprone-unchecked-optional-access)
}

// Those of a preset and random ones, as far as the device has accesses for them.
std::vector<Problem> planned(std::string_view preset, const DeviceProfile& profile, auto&& generate) {
  std::vector<Problem> problems;
  for (const BenchRow& row : own_rows(preset)) problems.push_back(row.problem);
  for (std::uint64_t i = 0; i < 1000; ++i) problems.emplace_back(generate(11, i));
  if (!profile.storage8.value_or(false) || !profile.storage16.value_or(false))
    std::erase_if(problems, [&](const Problem& problem) { return !make_plan(problem, profile).has_value(); });
  return problems;
}

Result<nlohmann::json> time_cold(const std::vector<Problem>& problems, const DeviceProfile& profile) {
  std::vector<double> cold;
  for (const Problem& problem : problems) {
    const double started = now_seconds();
    const auto plan = make_plan(problem, profile);
    cold.push_back(now_seconds() - started);
    if (!plan) return std::unexpected(plan.error());
  }
  nlohmann::json result = nanoseconds(spread_of(cold));
  result["worst_ns"] = *std::max_element(cold.begin(), cold.end()) * 1e9;
  return result;
}

Result<nlohmann::json> time_planning(const DeviceProfile& profile) {
  const auto permutes = time_cold(planned("seeds-permute", profile, reference::generate_permute), profile);
  if (!permutes) return std::unexpected(permutes.error());
  const auto matmuls = time_cold(planned("matmul", profile, reference::generate_matmul), profile);
  if (!matmuls) return std::unexpected(matmuls.error());
  const auto convolutions = time_cold(planned("conv2d", profile, reference::generate_conv2d), profile);
  if (!convolutions) return std::unexpected(convolutions.error());
  nlohmann::json result = {{"plan_cold", *permutes},
                           {"plan_cold_goal_ns", 50000},
                           {"plan_matmul_cold", *matmuls},
                           {"plan_matmul_cold_goal_ns", 200000},
                           {"plan_conv2d_cold", *convolutions},
                           {"plan_conv2d_cold_goal_ns", 200000}};

  Planner planner(profile);
  const Problem problem = own_rows("seeds-permute").front().problem;
  if (auto first = planner.plan(problem); !first) return std::unexpected(first.error());
  constexpr int rounds = 200, hits = 1000;
  std::vector<double> warm;
  const std::uint64_t before = allocation_count();
  std::uint64_t during = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t start_count = allocation_count();
    const double started = now_seconds();
    for (int i = 0; i < hits; ++i) {
      if (!planner.plan(problem)) return fail(ErrorKind::invalid_plan, "plan cache", "a hit failed");
    }
    const double took = now_seconds() - started;
    during += allocation_count() - start_count;
    warm.push_back(took / hits);
  }
  if (allocation_count() == before) {
    return fail(ErrorKind::invalid_plan, "allocation counter", "it counts nothing", "the samples' own vector");
  }
  result["plan_hit"] = nanoseconds(spread_of(warm));
  result["plan_hit"]["allocations"] = during;
  result["plan_hit_goal_ns"] = 1000;
  return result;
}

Result<nlohmann::json> time_record(Machine& machine) {
  PermuteProblem problem;
  problem.shape = {67, 129};
  problem.axes = {1, 0};
  const auto plan = make_plan(problem, machine.profile());
  if (!plan) return std::unexpected(plan.error());
  const auto program = machine.prepare(*plan);
  if (!program) return std::unexpected(program.error());
  const auto bytes = operand_bytes(problem);
  const auto src = machine.make_memory(bytes->src);
  if (!src) return std::unexpected(src.error());
  const auto dst = machine.make_memory(bytes->dst);
  if (!dst) return std::unexpected(dst.error());
  const Launch launch{program->get(), {{src->get(), 0, bytes->src}, {dst->get(), 0, bytes->dst}}};
  std::vector<double> times;
  std::uint64_t allocations = 0;
  for (int round = 0; round < 50; ++round) {
    const auto cost = machine.host_cost(launch, 200);
    if (!cost) return std::unexpected(cost.error());
    times.push_back(cost->seconds);
    allocations += cost->allocations;
  }
  nlohmann::json result = {{"record", nanoseconds(spread_of(times))}, {"record_goal_ns", 2000}};
  result["record"]["allocations"] = allocations;
  return result;
}

Result<nlohmann::json> count_pipelines(const BenchOptions& options) {
  nlohmann::json result;
  for (const DType type : {DType::f32, DType::f16, DType::i8}) {
    const auto machine = Machine::open(options.device, {.device_class = options.device_class});
    if (!machine) return std::unexpected(machine.error());
    std::vector<Plan> plans;
    for (const PermuteProblem& problem : random_permutes(type, 200)) {
      auto plan = make_plan(problem, (*machine)->profile());
      if (!plan) return std::unexpected(plan.error());
      plans.push_back(std::move(*plan));
    }
    const double started = now_seconds();
    if (auto ready = (*machine)->prepare_all(plans); !ready) return std::unexpected(ready.error());
    result["pipelines"][std::string(name(type))] = {{"permutes", plans.size()},
                                                    {"pipelines", (*machine)->kernel_counts().made},
                                                    {"prepare_s", now_seconds() - started}};
  }
  result["pipelines_goal"] = 16;
  return result;
}

// A first start that writes the cache's file, and a second that reads it.
Result<nlohmann::json> time_second_start(const BenchOptions& options) {
  std::string path = options.cache_file;
  std::string folder;
  if (path.empty()) {
    auto made = make_temporary_folder("sectile-cache");
    if (!made) return std::unexpected(made.error());
    folder = std::move(*made);
    path = folder + "/pipelines";
  }
  nlohmann::json result;
  for (const char* start : {"first_start", "second_start"}) {
    const auto machine = Machine::open(options.device, {.cache = path, .device_class = options.device_class});
    if (!machine) return std::unexpected(machine.error());
    std::vector<Plan> plans;
    for (const BenchRow& row : own_rows("seeds-permute")) {
      auto plan = make_plan(row.problem, (*machine)->profile());
      if (!plan) return std::unexpected(plan.error());
      plans.push_back(std::move(*plan));
    }
    const double started = now_seconds();
    if (auto ready = (*machine)->prepare_all(plans); !ready) return std::unexpected(ready.error());
    const double took = now_seconds() - started;
    const auto counts = (*machine)->kernel_counts();
    result[start] = {{"prepare_s", took},
                     {"pipelines", counts.made},
                     {"cache_hits", counts.from_cache},
                     {"told_by_driver", counts.told}};
    if (auto saved = (*machine)->save_cache(); !saved) return std::unexpected(saved.error());
  }
  if (options.cache_file.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(backend::native_path(folder), ignored);  // a file of Vulkan's, a folder of CUDA's
  }
  return result;
}

}  // namespace

Result<nlohmann::json> bench_host(const BenchOptions& options) {
  nlohmann::json host;
  const auto machine = Machine::open(options.device, {.device_class = options.device_class});
  if (!machine) return std::unexpected(machine.error());
  host["device"] = (*machine)->name();
  host["driver"] = (*machine)->driver();
  const auto planning = time_planning((*machine)->profile());
  if (!planning) return std::unexpected(planning.error());
  host.update(*planning);
  const auto record = time_record(**machine);
  if (!record) return std::unexpected(record.error());
  host.update(*record);
  const auto pipelines = count_pipelines(options);
  if (!pipelines) return std::unexpected(pipelines.error());
  host.update(*pipelines);
  const auto starts = time_second_start(options);
  if (!starts) return std::unexpected(starts.error());
  host.update(*starts);
  return host;
}

std::vector<std::string> host_figures() {
  return {"plan a permute, cold",        "plan a matmul, cold",
          "plan a convolution, cold",    "plan cache hit",
          "record a dispatch",           "pipelines for permutes of ranks 2-5",
          "first start: pipelines made", "second start: pipelines made"};
}

std::string print_host(const nlohmann::json& host) {
  const auto ns = [](const nlohmann::json& spread) {
    return fmt::format("{} (p10 {}, p90 {})", format_seconds(spread["median_ns"].get<double>() * 1e-9),
                       format_seconds(spread["p10_ns"].get<double>() * 1e-9),
                       format_seconds(spread["p90_ns"].get<double>() * 1e-9));
  };
  Table table({"what", "figure", "goal"});
  for (const auto& [key, what, goal] : {std::tuple{"plan_cold", "plan a permute, cold", "< 50 us"},
                                        std::tuple{"plan_matmul_cold", "plan a matmul, cold", "< 200 us"},
                                        std::tuple{"plan_conv2d_cold", "plan a convolution, cold", "< 200 us"}}) {
    table.add({what, ns(host[key]), goal});
    table.add({"  the slowest of them", format_seconds(host[key]["worst_ns"].get<double>() * 1e-9), ""});
  }
  table.add({"plan cache hit", ns(host["plan_hit"]), "< 1 us"});
  table.add({"  heap allocations", host["plan_hit"]["allocations"].dump(), "none"});
  table.add({"record a dispatch", ns(host["record"]), "< 2 us"});
  table.add({"  heap allocations", host["record"]["allocations"].dump(), "none"});
  for (const auto& [type, counts] : host["pipelines"].items()) {
    table.add({fmt::format("pipelines for {} permutes of ranks 2-5, {}", counts["permutes"].dump(), type),
               fmt::format("{} in {:.2f} s", counts["pipelines"].dump(), counts["prepare_s"].get<double>()), "<= 16"});
  }
  for (const auto& [key, what] : {std::pair{"first_start", "first start: pipelines made"},
                                  std::pair{"second_start", "second start: pipelines made"}}) {
    const auto& start = host[key];
    table.add({what,
               fmt::format("{} in {:.3f} s, {} of them from the cache{}", start["pipelines"].dump(),
                           start["prepare_s"].get<double>(), start["cache_hits"].dump(),
                           start["told_by_driver"].get<bool>() ? "" : " (the driver does not say)"),
               std::string(key) == "second_start" ? "all" : ""});
  }
  return fmt::format("{} ({})\n{}", host["device"].get<std::string>(), host["driver"].get<std::string>(),
                     table.print());
}

}  // namespace sectile::tools
