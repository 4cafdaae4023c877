// The benchmark's parts of a matmul. Private to them.
#pragma once

#include "operation.hpp"

namespace sectile::tools {

// What a sweep draws; nothing where it has more operations (0: any number) or bytes in all.
std::span<const SweepClass> matmul_classes();
std::span<const std::string_view> matmul_types();
std::optional<Drawn> draw_matmul(char letter, std::string_view type, double operations, double bytes,
                                 reference::Random& random);

}  // namespace sectile::tools
