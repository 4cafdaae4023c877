// The matrix shapes that vk_cooperative_matrix_perf prints.
#pragma once

#include <sectile/profile.hpp>

#include <string_view>

namespace sectile::detail {

// The facts of the listing; all other fields are unknown. Refuses a text that is not a listing.
Result<DeviceProfile> read_matrix_listing(std::string_view text);

}  // namespace sectile::detail
