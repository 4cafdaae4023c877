// In the place of worker.cpp, where the system has no fork: cases run in the command's own process, if that is asked
// for.
#include "check.hpp"

#include <chrono>
#include <thread>

namespace sectile::tools {

void hang() noexcept {
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

Result<CheckReport> supervise(const CheckOptions& options) {
  if (options.in_process) return check_in_process(options);
  return fail(ErrorKind::unsupported, "check", "child processes on Windows", "--in-process");
}

}  // namespace sectile::tools
