#include "runtime_instance.hpp"

#include "backend/selector.hpp"

namespace sectile::vulkan {
namespace {

Result<std::size_t> best(const std::vector<Candidate>& candidates) {
  constexpr DeviceKind kGroupM[] = {DeviceKind::discrete, DeviceKind::integrated, DeviceKind::virtual_gpu,
                                    DeviceKind::unknown, DeviceKind::cpu};
  for (const DeviceKind kind : kGroupM)
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (candidates[i].entry.kind == kind && candidates[i].entry.unusable.empty()) return i;
  // None is usable; reports the first one's reason.
  return std::unexpected(check_usable(candidates.front().snapshot.offer).error());
}

}  // namespace

Result<std::size_t> select(std::string_view selector, const std::vector<Candidate>& candidates) {
  if (selector.empty()) return best(candidates);
  std::vector<backend::Selectable> devices;
  for (const Candidate& candidate : candidates) {
    // Mesa's CPU driver is called lavapipe, and reports the name llvmpipe.
    const bool lavapipe = candidate.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE;
    devices.push_back(
        {candidate.entry.name, candidate.entry.uuid, candidate.entry.driver + (lavapipe ? "\nlavapipe" : "")});
  }
  return backend::select("vulkan:", selector, devices);
}

}  // namespace sectile::vulkan
