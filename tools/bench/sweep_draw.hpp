// One draw of a sweep's class; see docs/reference/sweep.md. Private to the sweep.
#pragma once

#include "reference/random.hpp"

#include <sectile/problem.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace sectile::tools {

template <class P>
struct Drawn {
  P problem;
  std::optional<P> neighbour;
};

// Log-uniform in [low, high], both included.
std::int64_t draw_size(reference::Random& random, std::int64_t low, std::int64_t high);
std::int64_t neighbour_size(std::int64_t size);  // above 64: rounded up to a multiple of 64

// Nothing where what was drawn does not fit: the larger operand has `least` to `most` bytes; a matmul at most so many
// operations (0: any number) and bytes in all. The caller draws again.
std::optional<Drawn<PermuteProblem>> draw_permute(char letter, std::string_view type, double least, double most,
                                                  reference::Random& random);
std::optional<Drawn<MatmulProblem>> draw_matmul(char letter, std::string_view type, double operations, double bytes,
                                                reference::Random& random);

}  // namespace sectile::tools
