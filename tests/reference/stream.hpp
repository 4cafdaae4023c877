// Results too big for a second copy: every element is compared with the stream that the source was
// filled from, on several threads.
#pragma once

#include "permute.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sectile::reference {

// All elements of a destination whose source is the stream `seed` (fill_data from the operand's
// address). Bytes between elements are not looked at. threads: 0 for one a processor.
std::optional<Mismatch> check_streamed(const PermuteDefinition& definition, std::uint64_t seed,
                                       std::span<const std::byte> dst, unsigned threads = 0);

}  // namespace sectile::reference
