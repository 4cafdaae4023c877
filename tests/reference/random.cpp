#include "random.hpp"

#include <algorithm>
#include <cstring>

namespace sectile::reference {

void fill_data(std::span<std::byte> bytes, std::uint64_t seed, std::uint64_t offset) noexcept {
  std::uint64_t index = offset / 8;
  for (std::size_t at = 0; at < bytes.size(); at += 8, ++index) {
    const std::uint64_t word = data_word(seed, index);
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
  }
}

}  // namespace sectile::reference
