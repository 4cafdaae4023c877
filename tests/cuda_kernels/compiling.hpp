// What the tests of the CUDA kernels share: combinations of kernel and constants, compiled in two threads, and what
// ptxas says of them.
#pragma once

#include "support/passed.hpp"
#include "support/scope.hpp"

#include "cuda/kernels.hpp"
#include "support/paths.hpp"

#include <sectile/cuda.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace sectile::test {

inline constexpr std::array kArchitectures = {"sm_75",  "sm_80",  "sm_86",  "sm_89",
                                              "sm_90a", "sm_100", "sm_103", "sm_120"};

// What is shared out among architectures is so among six places: compiling for eight takes hardly longer. sm_103 is in
// sm_100's place every other turn, and sm_120 in that of sm_89.
inline constexpr std::size_t kPlaces = 6;
constexpr std::size_t place_of(std::size_t architecture) {
  return architecture == 6 ? 5 : architecture == 7 ? 3 : architecture;
}
constexpr bool has_turn(std::size_t architecture, std::size_t turn) {
  const std::size_t place = place_of(architecture);
  return (place != 3 && place != 5) || (turn % 2 == 1) == (architecture != place);
}

// SECTILE_ALL_KERNELS: nothing that takes turns is left out.
inline bool all_kernels() { return thorough() || std::getenv("SECTILE_ALL_KERNELS") != nullptr; }

using Constants = std::vector<Constant>;
using Combinations = std::map<std::pair<KernelName, Constants>, Step>;

struct Job {
  const Step* step = nullptr;
  const char* architecture = nullptr;
  Result<cuda::Code> code = {};
};

inline void compile_all(std::vector<Job>& jobs) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++)
      jobs[i].code = cuda::compile(*jobs[i].step, jobs[i].architecture, {.verbose = true});
  };
  std::jthread other(work);
  work();
}

struct Most {
  std::uint32_t registers = 0, shared = 0;
};

// True where the kernel has passed.
inline bool check(const Job& job, Most& most) {
  std::string constants;
  for (const Constant& constant : job.step->constants) constants += fmt::format(" {}={}", constant.id, constant.value);
  CAPTURE(constants);
  CAPTURE(job.architecture);
  CHECK_MESSAGE(job.code.has_value(), job.step->kernel.stem << "." << job.step->kernel.variant << ": "
                                                            << (job.code ? "" : job.code.error().message()));
  if (!job.code) return false;
  CAPTURE(job.code->log);
  const auto figures = cuda::figures(*job.code);
  REQUIRE(figures.has_value());
  CAPTURE(figures->shared_bytes);
  const std::pair<const char*, bool> conditions[] = {
      {"no warning", !job.code->log.contains("warning")},
      {"products of warpgroups are not serialized", !job.code->log.contains("serialized")},
      {"registers are traded", !job.code->log.contains("setmaxnreg")},
      {"no stack", figures->stack_bytes == 0},
      {"no spilled stores", figures->spill_store_bytes == 0},
      {"no spilled loads", figures->spill_load_bytes == 0},
      {"at most 48 KiB of workgroup memory", figures->shared_bytes <= 48 * 1024},
      {"no more workgroup memory than the plan says", figures->shared_bytes <= job.step->workgroup_memory_bytes},
      {"registers are told", figures->registers > 0},
  };
  for (const auto& [what, holds] : conditions) CHECK_MESSAGE(holds, what);
  most.registers = std::max(most.registers, figures->registers);
  most.shared = std::max(most.shared, figures->shared_bytes);
  return std::ranges::all_of(conditions, [](const auto& condition) { return condition.second; });
}

// All that shapes a kernel's code and what is checked of it. (sectile::cuda::code_key has the text, the headers, the
// architecture and NVRTC's version.)
inline std::string key_of(const Job& job, int version) {
  const auto text = cuda::kernel_text(*job.step, {});
  REQUIRE(text.has_value());
  return fmt::format("{} {}", cuda::code_key(*text, job.architecture, version / 1000, version % 1000),
                     job.step->workgroup_memory_bytes);
}

// The stems that have a .cu, by their folder in shaders/: listed, so that a new one asks for a test of its own accord.
inline std::map<std::string, std::set<std::string>> stems_by_folder() {
  std::map<std::string, std::set<std::string>> stems;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_folder() + "/shaders")) {
    const auto& path = entry.path();
    if (path.extension() == ".cu") stems[path.parent_path().filename().string()].insert(path.stem().string());
  }
  return stems;
}

// Those of a folder that have not been compiled.
inline std::string missing(std::string_view folder, const std::map<std::string, Most>& compiled) {
  const auto all = stems_by_folder();
  const auto stems = all.find(std::string(folder));
  REQUIRE_MESSAGE(stems != all.end(), "shaders/" << folder << " has no .cu");
  std::string names;
  for (const std::string& stem : stems->second)
    if (!compiled.contains(stem)) names += " " + stem;
  return names;
}

// Says what it took. What `name` has passed before is not compiled again; its stems stand in `most` all the same.
inline std::string compile_and_check(const char* name, std::vector<Job>& jobs, std::map<std::string, Most>& most) {
  const std::string sources[] = {"src/cuda", "src/backend", "tests/cuda_kernels", "tests/support/passed.hpp"};
  Passed passed(name, sources);
  const auto version = cuda::compiler_version();
  REQUIRE(version.has_value());
  const std::size_t all = jobs.size();
  std::erase_if(jobs, [&](const Job& job) {
    if (!passed.has(key_of(job, *version))) return false;
    most[job.step->kernel.stem];
    return true;
  });
  const auto start = std::chrono::steady_clock::now();
  compile_all(jobs);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  for (const Job& job : jobs)
    if (check(job, most[job.step->kernel.stem])) passed.add(key_of(job, *version));
  passed.save();
  Passed::accept(name);  // each of them has passed
  std::string told = fmt::format("{} compilations for {} architectures in {:.1f} s; {} more known from before",
                                 jobs.size(), kArchitectures.size(), seconds.count(), all - jobs.size());
  for (const auto& [stem, figures] : most)
    told += fmt::format("\n  {}: at most {} registers, {} bytes shared", stem, figures.registers, figures.shared);
  return told;
}

}  // namespace sectile::test
