// The benchmark's parts of a permute. Private to them.
#pragma once

#include "operation.hpp"

namespace sectile::tools {

// What a sweep draws; nothing where it does not fit: the larger operand has `least` to `most` bytes.
std::span<const SweepClass> permute_classes();
std::span<const std::string_view> permute_types();
std::optional<Drawn> draw_permute(char letter, std::string_view type, double least, double most,
                                  reference::Random& random);

// A plan that moves elements first and computes with them in a second pass, where the problem has axes and a stage.
Result<Plan> separate_passes(const PermuteProblem& problem, const DeviceProfile& profile);

}  // namespace sectile::tools
