// Prepares many plans on several threads, for both APIs.
#pragma once

#include <sectile/error.hpp>
#include <sectile/plan.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace sectile::backend {

// prepare(plan) returns a Result<Executable> and is safe from several threads. On `threads` threads (0: one for each
// processor), this one among them. The first error, in the order of the plans.
template <class Executable, class Prepare>
Result<std::vector<Executable>> prepare_all(std::span<const Plan> plans, unsigned threads, const Prepare& prepare) {
  std::vector<Result<Executable>> results(plans.size(), Executable());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::vector<std::exception_ptr> thrown(plans.size());
  const auto work = [&] {
    // Plans are taken in order, so that all before the first failure have been tried when it is reported.
    for (std::size_t i = next++; i < plans.size() && !failed; i = next++) {
      try {
        results[i] = prepare(plans[i]);
        if (!results[i]) failed = true;
      } catch (...) {  // out of memory; rethrown in the caller's thread
        thrown[i] = std::current_exception();
        failed = true;
      }
    }
  };
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min<std::size_t>(threads, plans.size()); ++i) {
      try {
        helpers.emplace_back(work);
      } catch (const std::system_error&) {
        break;  // no more threads: the running ones do all the work
      }
    }
    work();
  }
  std::vector<Executable> out;
  out.reserve(plans.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (thrown[i]) std::rethrow_exception(thrown[i]);
    if (!results[i]) return std::unexpected(results[i].error());
    out.push_back(std::move(*results[i]));
  }
  return out;
}

}  // namespace sectile::backend
