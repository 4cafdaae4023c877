// How results of products are compared.
#include "products.hpp"

#include "numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace sectile::reference {
namespace {

double wanted(const ProductElement& want, DType type) noexcept {
  return want.nearest ? rounded(type, want.value) : want.value;
}

}  // namespace

std::vector<std::size_t> corners_of(std::span<const std::int64_t> shape) {
  std::vector<std::size_t> corners = {0};
  for (const std::int64_t size : shape) {
    if (size <= 0) return {};
    const std::vector<std::size_t> before = std::exchange(corners, {});
    const auto count = static_cast<std::size_t>(size);
    for (const std::size_t corner : before) {
      corners.push_back(corner * count);
      if (count > 1) corners.push_back(corner * count + count - 1);
    }
  }
  return corners;
}

bool is_right(const ProductElement& want, DType type, double got) noexcept {
  if (want.open) return true;
  if (std::isnan(want.value) || std::isnan(got)) return std::isnan(want.value) && std::isnan(got);
  if (std::isinf(want.value)) return got == want.value;
  return got >= rounded(type, want.value - want.tolerance) && got <= rounded(type, want.value + want.tolerance);
}

bool agree(const ProductElement& one, const ProductElement& other) noexcept {
  if (one.value == other.value || (std::isnan(one.value) && std::isnan(other.value)) || (one.open && other.open))
    return true;
  // The tolerance is a device's, whose float has 29 bits less: terms that nearly cancel leave so much in a double too.
  const double lost = 0x1p-20 * std::max(one.tolerance, other.tolerance);
  return std::fabs(one.value - other.value) <= 1e-9 * (1 + std::fabs(other.value)) + lost;
}

std::optional<ProductMismatch> compare(const ProductPlaces& places, std::span<const ProductElement> want,
                                       std::span<const std::byte> before, std::span<const std::byte> got) {
  const std::size_t size = element_bytes(places.type);
  std::vector<std::byte> gaps(before.begin(), before.end());  // becomes what was got, if no byte between was written
  for (std::size_t i = 0; i < want.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(places.index(i)) * size;
    const double value = decode(places.type, got.data() + at);
    const bool untouched = std::memcmp(before.data() + at, got.data() + at, size) == 0;
    // A NaN may be right, but not the one that was there.
    if (!is_right(want[i], places.type, value) || (untouched && is_poison(places.type, got.data() + at)))
      return ProductMismatch{at, fmt::format("{}: got {:.9g}, want {:.9g} within {:.3g}{}", places.name(i), value,
                                             wanted(want[i], places.type), want[i].tolerance,
                                             untouched ? ", what it held before: never written" : "")};
    std::memcpy(gaps.data() + at, got.data() + at, size);
  }
  for (const std::int64_t index : places.zeros) {
    const std::size_t at = static_cast<std::size_t>(index) * size;
    std::memset(gaps.data() + at, 0, size);
    if (std::memcmp(gaps.data() + at, got.data() + at, size) != 0)
      return ProductMismatch{at, fmt::format("destination byte {} (of a surplus element) is not zero", at)};
  }
  const auto differ = std::mismatch(gaps.begin(), gaps.end(), got.begin());
  if (differ.first == gaps.end()) return {};
  const auto byte = static_cast<std::uint64_t>(differ.first - gaps.begin());
  return ProductMismatch{byte, fmt::format("destination byte {} (of no element) was written", byte)};
}

std::optional<ProductMismatch> compare_devices(const ProductPlaces& places, std::span<const ProductElement> want,
                                               std::span<const std::byte> one, std::span<const std::byte> other) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(places.index(i)) * element_bytes(places.type);
    const double value = decode(places.type, one.data() + at), theirs = decode(places.type, other.data() + at);
    if (want[i].open || value == theirs || (std::isnan(value) && std::isnan(theirs))) continue;
    if (std::fabs(value - theirs) <= 2 * want[i].tolerance) continue;
    // At the end of the type's range the tolerance may reach infinity, and near a tie it reaches both of its
    // neighbours.
    if (is_right(want[i], places.type, value) && is_right(want[i], places.type, theirs)) continue;
    return ProductMismatch{at, fmt::format("{}: got {:.9g} and {:.9g}, want both within {:.3g}", places.name(i), value,
                                           theirs, want[i].tolerance)};
  }
  return {};
}

}  // namespace sectile::reference
