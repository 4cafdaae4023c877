#include "machine.hpp"

#include "cli/target.hpp"
#include "cuda.hpp"
#include "vulkan.hpp"

#include <optional>
#include <utility>

namespace sectile::tools {

bool is_cuda(std::string_view selector) noexcept { return selector.starts_with("cuda:"); }

void tell_class_warnings(const MachineOptions& options, const std::vector<std::string>& warnings) {
  if (options.class_warnings != nullptr)
    *options.class_warnings = warnings;
  else
    warn(warnings);
}

std::string device_class_text(const Machine& machine) {
  const DeviceClass* const device_class = device_class_of(machine.profile());
  return device_class == nullptr ? "" : class_name(*device_class) + " " + class_id(*device_class);
}

Result<MemoryPtr> Machine::import_pages(void*, std::uint64_t) {
  return fail(ErrorKind::unsupported, "the host's own pages as device memory", name());
}

Result<std::vector<ProgramPtr>> Machine::prepare_all(std::span<const Plan> plans) {
  std::vector<ProgramPtr> programs;
  for (const Plan& plan : plans) {
    auto program = prepare(plan);
    if (!program) return std::unexpected(program.error());
    programs.push_back(std::move(*program));
  }
  return programs;
}

Result<void> Machine::run(const Launch& launch) {
  std::optional<Error> why;
  auto done = run({&launch, 1}, [&](std::size_t, const Error& error) { why = error; });
  if (why) return std::unexpected(*why);
  return done;
}

Result<std::unique_ptr<Machine>> Machine::open(const std::string& selector, const MachineOptions& options) {
  const std::string device = default_device(selector);
  const auto device_class = read_device_class(options.device_class);
  if (!device_class) return std::unexpected(device_class.error());
  return is_cuda(device) ? open_cuda(device, options, *device_class) : open_vulkan(device, options, *device_class);
}

}  // namespace sectile::tools
