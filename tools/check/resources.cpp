// How many processes a check runs side by side where nobody says.
#include "arena.hpp"
#include "check.hpp"
#include "cli/target.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <thread>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sectile::tools {
namespace {

// docs/reference/command-line.md says them too.
constexpr std::uint64_t kCasesOfProcess = 4;  // fewer do not pay for opening the device
// lavapipe had 0.5 GB of compiled kernels after 60 matmuls; a CUDA process has as much. The arena stands on the host
// and on the device, which may be the same memory.
constexpr std::uint64_t kBytesOfProcess = (std::uint64_t{1} << 30) + 2 * kArenaBytes;
// Each has a context on the GPU, of some hundred megabytes.
constexpr std::uint64_t kMostOnGpu = 16;
// Besides pipes: libraries, devices and caches of a driver and the validation layer.
constexpr std::uint64_t kFilesOfProcess = 48;

std::uint64_t whole_number(std::string_view text) {
  std::uint64_t value = 0;
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc() ? value : 0;
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Of the host, or what is left of a container's limit.
std::uint64_t free_bytes() {
  std::ifstream file("/proc/meminfo");
  std::uint64_t bytes = 0;
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kName = "MemAvailable:";
    if (!line.starts_with(kName)) continue;
    const std::size_t digits = line.find_first_of("0123456789");
    if (digits != std::string::npos) bytes = whole_number(std::string_view(line).substr(digits)) * 1024;
  }
  const std::uint64_t limit = whole_number(first_line("/sys/fs/cgroup/memory.max"));  // 0: "max", or no such file
  const std::uint64_t used = whole_number(first_line("/sys/fs/cgroup/memory.current"));
  if (limit != 0) bytes = std::min(bytes, limit > used ? limit - used : 1);
  return bytes;
}

// Asked in a process of its own: the parent of workers makes no call of Vulkan. One that says nothing counts as a GPU.
bool has_gpu(const CheckOptions& options) {
  int ends[2];
  if (::pipe(ends) != 0) return true;
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    die_with(self);
    bool gpu = false;
    for (const std::string& device : device_list(options.device)) {
      const auto profile = device_profile(device);
      gpu = gpu || !profile || profile->kind != DeviceKind::cpu;
    }
    const char says = gpu ? 'g' : 'c';
    (void)!::write(ends[1], &says, 1);
    ::_exit(0);
  }
  ::close(ends[1]);
  char says = 'g';
  pollfd waiting{ends[0], POLLIN, 0};
  const int milliseconds = static_cast<int>(std::min<std::uint64_t>(options.timeout_seconds, 1000000) * 1000);
  if (child > 0 && ::poll(&waiting, 1, milliseconds) > 0) (void)!::read(ends[0], &says, 1);
  ::close(ends[0]);
  if (child > 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return says == 'g';
}

}  // namespace

unsigned jobs_for(const JobFacts& facts) noexcept {
  std::uint64_t jobs = std::min<std::uint64_t>(facts.processors, facts.cases / kCasesOfProcess);
  if (facts.free_bytes != 0) jobs = std::min(jobs, facts.free_bytes / kBytesOfProcess);
  if (facts.gpu) jobs = std::min(jobs, kMostOnGpu);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(jobs, 1, 256));
}

unsigned default_jobs(const CheckOptions& options) {
  // One problem is one case, and operands of gigabytes are not to stand beside each other.
  if (!options.problem.empty() || options.big) return 1;
  JobFacts facts;
  facts.cases = options.cases;
  facts.processors = std::max(1u, std::thread::hardware_concurrency());
  if (const char* said = std::getenv("SECTILE_JOBS"); said != nullptr && whole_number(said) != 0)
    facts.processors = static_cast<unsigned>(std::min<std::uint64_t>(whole_number(said), 256));
  facts.free_bytes = free_bytes();
  facts.gpu = true;
  const unsigned on_gpu = jobs_for(facts);
  facts.gpu = false;
  return jobs_for(facts) == on_gpu || has_gpu(options) ? on_gpu : jobs_for(facts);
}

Result<void> check_open_files(std::uint64_t limit, unsigned jobs) {
  const std::uint64_t least = kFilesOfProcess + 2 * std::uint64_t{jobs};
  if (limit >= least) return {};
  return fail(ErrorKind::limit_exceeded, "open files", std::to_string(limit),
              "at least " + std::to_string(least) + " with " + std::to_string(jobs) + " processes (ulimit -n)");
}

}  // namespace sectile::tools
