// A permute step's own words, as its kernel reads them.
#pragma once

#include "permute/permute.abi.h"
#include "plan/helpers.hpp"

#include <array>
#include <cstring>
#include <span>

namespace sectile::test {

// What `read` makes of the kernel's own words: they follow two addresses, four words an axis and one of shifts.
template <class Read>
auto of_own_words(const Step& step, Read&& read) {
  std::array<std::uint32_t, PERMUTE_PUSH_WORDS> words{};
  REQUIRE(step.push.size() == 2 * 8 + sizeof words);
  std::memcpy(words.data(), step.push.data() + std::size_t{2} * 8, sizeof words);
  return read(std::span<const std::uint32_t>(words).subspan(4 * constant_of(step, PERMUTE_SPEC_AXES) + 1));
}

}  // namespace sectile::test
