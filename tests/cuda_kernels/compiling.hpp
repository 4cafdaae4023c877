// What the tests of the CUDA kernels share: combinations of kernel and constants, compiled in two threads, and what
// ptxas says of them.
#pragma once

#include "support/scope.hpp"

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
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sectile::test {

inline constexpr std::array kArchitectures = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100"};

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

inline void check(const Job& job, Most& most) {
  std::string constants;
  for (const Constant& constant : job.step->constants) constants += fmt::format(" {}={}", constant.id, constant.value);
  CAPTURE(constants);
  CAPTURE(job.architecture);
  CHECK_MESSAGE(job.code.has_value(), job.step->kernel.stem << "." << job.step->kernel.variant << ": "
                                                            << (job.code ? "" : job.code.error().message()));
  if (!job.code) return;
  CAPTURE(job.code->log);
  CHECK(job.code->log.find("warning") == std::string::npos);
  const auto figures = cuda::figures(*job.code);
  REQUIRE(figures.has_value());
  CHECK(figures->stack_bytes == 0);
  CHECK(figures->spill_store_bytes == 0);
  CHECK(figures->spill_load_bytes == 0);
  CHECK(figures->shared_bytes <= 48 * 1024);
  CHECK(figures->shared_bytes <= job.step->workgroup_memory_bytes);
  CHECK(figures->registers > 0);
  most.registers = std::max(most.registers, figures->registers);
  most.shared = std::max(most.shared, figures->shared_bytes);
}

// Says what it took.
inline std::string compile_and_check(std::vector<Job>& jobs, std::map<std::string, Most>& most) {
  const auto start = std::chrono::steady_clock::now();
  compile_all(jobs);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  for (const Job& job : jobs) check(job, most[job.step->kernel.stem]);
  std::string told = fmt::format("{} compilations for {} architectures in {:.1f} s", jobs.size(), kArchitectures.size(),
                                 seconds.count());
  for (const auto& [stem, figures] : most)
    told += fmt::format("\n  {}: at most {} registers, {} bytes shared", stem, figures.registers, figures.shared);
  return told;
}

}  // namespace sectile::test
