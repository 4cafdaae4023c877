// Turns push constants into constants, by the layout that the module declares.
#pragma once

#include <sectile/spirv.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace sectile::spirv {

// Every load of push bytes other than addresses becomes a constant. Where an index is known at run time alone, its
// bytes become a constant array. Expects a module without specialization constants. Errors: as freeze().
Result<std::vector<std::uint32_t>> freeze_push(std::span<const std::uint32_t> words, const PushFreeze& push);

// Refuses a module that reads push bytes other than addresses.
Result<void> check_frozen_push(std::span<const std::uint32_t> words, const PushFreeze& push);

}  // namespace sectile::spirv
