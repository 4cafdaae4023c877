// The matrix shapes that vk_cooperative_matrix_perf prints.
#pragma once

#include <sectile/profile.hpp>

#include <string_view>

namespace sectile::detail {

// Facts stated by the listing; everything else is unknown. Refuses a text that holds no listing.
Result<DeviceProfile> read_matrix_listing(std::string_view text);

}  // namespace sectile::detail
