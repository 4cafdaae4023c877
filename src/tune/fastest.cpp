// The choice among measured candidates.
#include <sectile/tune.hpp>

#include <algorithm>

namespace sectile {

std::optional<TunedChoice> fastest_of(std::span<const MeasuredCandidate> measured) {
  if (measured.empty()) return {};
  if (std::ranges::any_of(measured, [](const MeasuredCandidate& c) { return c.picoseconds <= 0; })) return {};
  const MeasuredCandidate& model = measured.front();
  const MeasuredCandidate* best = &*std::ranges::min_element(measured, {}, &MeasuredCandidate::picoseconds);
  // Without a margin, two equally fast candidates would alternate from run to run.
  const double margin = static_cast<double>(model.picoseconds) * (1000.0 - kTunedMarginPermille) / 1000.0;
  if (static_cast<double>(best->picoseconds) > margin) best = &model;
  return TunedChoice{best->name, best->picoseconds, model.name, model.picoseconds,
                     static_cast<std::uint32_t>(measured.size())};
}

}  // namespace sectile
