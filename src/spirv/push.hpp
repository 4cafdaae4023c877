// Push constants made into constants, by the layout that the module itself states.
#pragma once

#include <sectile/spirv.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace sectile::spirv {

// Every load of push bytes that are no address becomes a constant; where an index is not known until the
// shader runs, the bytes that it walks become a constant array. Expects a module without specialization
// constants. Errors: as freeze().
Result<std::vector<std::uint32_t>> freeze_push(std::span<const std::uint32_t> words, const PushFreeze& push);

// Refuses a module that reads any push bytes but the addresses.
Result<void> check_frozen_push(std::span<const std::uint32_t> words, const PushFreeze& push);

}  // namespace sectile::spirv
