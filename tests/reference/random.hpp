// Random numbers that are the same on every machine: std's distributions are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sectile::reference {

// Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014), its finalizer.
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept : state_(mix(seed)) {}

  constexpr std::uint64_t next() noexcept { return mix(state_ += 0x9e3779b97f4a7c15u); }
  // Uniform enough in [0, bound): the bias is below 2^-32 for the bounds used here.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept { return bound == 0 ? 0 : next() % bound; }
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  // True once in `n` times.
  constexpr bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

template <class T>
void shuffle(std::vector<T>& values, Random& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

// The multiple of `unit` at or above n.
constexpr std::int64_t up(std::int64_t n, std::int64_t unit) noexcept { return (n + unit - 1) / unit * unit; }

// The data of tests: word i of the stream `seed`, so that any part can be made, or checked, alone.
constexpr std::uint64_t data_word(std::uint64_t seed, std::uint64_t i) noexcept { return mix(seed ^ mix(i)); }

// Fills `bytes`, which begin at byte `offset` of the stream (a multiple of 8).
void fill_data(std::span<std::byte> bytes, std::uint64_t seed, std::uint64_t offset = 0) noexcept;

}  // namespace sectile::reference
