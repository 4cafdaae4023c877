// Whatever a plan's JSON holds: no crash. Trusted, one that is accepted passes the checker and reads back as written;
// not trusted, it is what the planner makes.
#include <sectile/planner.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

void read_for(const sectile::DeviceProfile& profile, std::string_view bytes) {
  const auto plan = sectile::plan_from_json(bytes, profile, {.trusted = true});
  if (!plan) {
    if (plan.error().message().empty()) std::abort();
    return;
  }
  if (!sectile::check_plan(*plan, profile) || sectile::print(*plan).empty()) std::abort();
  const std::string text = sectile::to_json(*plan);
  const auto again = sectile::plan_from_json(text, profile, {.trusted = true});
  if (!again || *again != *plan || sectile::to_json(*again) != text) std::abort();
  const auto planned = sectile::plan_from_json(text, profile);
  if (planned && *planned != *plan) std::abort();
}

}  // namespace

// For a device without clusters and tensor maps, and one with them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const sectile::DeviceProfile vulkan = sectile::builtin_target("nvidia-hopper").value();
  static const sectile::DeviceProfile cuda = sectile::builtin_target("cuda:sm_90a").value();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_for(vulkan, bytes);
  read_for(cuda, bytes);
  return 0;
}
