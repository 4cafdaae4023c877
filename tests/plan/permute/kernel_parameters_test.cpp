// Division by multiplication, and the folding of grids.
#include "plan/permute/kernel_parameters.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace sectile;
using namespace sectile::detail;

TEST_CASE("fast division equals division over edge values") {
  std::vector<std::uint32_t> edges{1, 2, 3, 5, 6, 7, 9, 10, 641, 1000, 65535, 65536, 65537};
  for (std::uint32_t bit = 1; bit < 31; ++bit)
    for (const std::uint32_t d : {(1u << bit) - 1, 1u << bit, (1u << bit) + 1}) edges.push_back(d);
  edges.push_back((1u << 31) - 1);
  for (const auto d : edges) {
    const auto f = fast_division(d);
    for (const auto n : edges)
      for (const std::uint64_t near : {std::uint64_t{n} - 1, std::uint64_t{n}, std::uint64_t{n} + 1,
                                       std::uint64_t{n} * d, std::uint64_t{n} * d - 1}) {
        if (near >= (std::uint64_t{1} << 31)) continue;
        const auto m = static_cast<std::uint32_t>(near);
        REQUIRE_MESSAGE(divide(m, f) == m / d, m << " / " << d);
      }
    REQUIRE(divide(0x7fffffffu, f) == 0x7fffffffu / d);
    REQUIRE(divide(0, f) == 0);
  }
}

TEST_CASE("fast division equals division over a million random pairs") {
  std::mt19937_64 random(20261121);
  for (int i = 0; i < 1000000; ++i) {
    // Values of all magnitudes; a uniform distribution would be near 2^31.
    const auto d =
        static_cast<std::uint32_t>((random() & 0x7fffffffu) >> (random() % 31)) | 1u << (random() % 3 == 0 ? 0 : 1);
    const auto n = static_cast<std::uint32_t>((random() & 0x7fffffffu) >> (random() % 31));
    if (divide(n, fast_division(d)) != n / d) REQUIRE_MESSAGE(false, n << " / " << d);
  }
}

TEST_CASE("small multiplier equals division where the planner uses it") {
  // Boxes have at most 2^16 elements.
  for (std::uint32_t d = 2; d <= 65535; d = d < 600 ? d + 1 : d + 97)
    for (std::uint32_t n = 0; n < 65536; n += (n < 3000 ? 1 : 61))
      if (static_cast<std::uint32_t>((std::uint64_t{n} * small_multiplier(d)) >> 32) != n / d)
        REQUIRE_MESSAGE(false, n << " / " << d);
}

TEST_CASE("grids fold and cover every group") {
  DeviceProfile p;
  p.max_grid = {65535, 65535, 65535};
  for (const std::uint64_t groups :
       {1ull, 65535ull, 65536ull, 70000ull, 1ull << 31, (1ull << 31) - 1, 4294967295ull, 1ull << 40}) {
    const auto grid = fold_grid(groups, p);
    REQUIRE(grid.has_value());
    const auto covered = std::uint64_t{(*grid)[0]} * (*grid)[1] * (*grid)[2];
    CHECK(covered >= groups);
    CHECK(covered - groups < 65536 + groups / 64);
    for (const auto n : *grid) CHECK(n <= 65535);
  }
  const auto refused = fold_grid(1ull << 49, p);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind == ErrorKind::limit_exceeded);
  CHECK(refused.error().what == "grid");
}
