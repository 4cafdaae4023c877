#include "placement.hpp"
#include "base/arithmetic.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace sectile::detail {

std::string sizes_text(std::span<const std::int64_t> sizes) {
  std::string text;
  for (const std::int64_t size : sizes) {
    if (!text.empty()) text += 'x';
    text += std::to_string(size);
  }
  return text;
}

std::unexpected<Error> too_large(const PermuteProblem& p, std::string_view side) {
  return fail(ErrorKind::overflow, std::string(side) + " size", sizes_text(p.shape) + " " + std::string(name(p.type)),
              "less than 2^63 bytes");
}

Result<void> place_operand(const PermuteProblem& p, std::span<const std::int64_t> shape, const OperandSide& side,
                           std::array<std::int64_t, kMaxRank>& strides, std::uint64_t& bytes) {
  std::int64_t packed = 1, last = side.offset;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = side.strides.empty() ? packed : side.strides[i];
    std::int64_t reach = 0;
    if (mul_overflow(packed, shape[i], &packed) || mul_overflow(shape[i] - 1, strides[i], &reach) ||
        add_overflow(last, reach, &last))
      return too_large(p, side.name);
  }
  std::int64_t end = 0;
  if (add_overflow(last, 1, &end) || mul_overflow(end, std::int64_t{size_bytes(side.type)}, &end))
    return too_large(p, side.name);
  bytes = static_cast<std::uint64_t>(end);
  return {};
}

namespace {

// Exact for two axes, and for few elements. Returns false, which refuses the strides, for more of both.
bool distinct_by_search(std::span<const std::pair<std::int64_t, std::int64_t>> axes) {
  if (axes.size() == 2) {  // the smallest solution of i*a == j*b is i = b/g, j = a/g
    const std::int64_t g = std::gcd(axes[0].first, axes[1].first);
    return axes[1].first / g >= axes[0].second || axes[0].first / g >= axes[1].second;
  }
  constexpr std::int64_t kMostElements = 1 << 14;
  std::int64_t count = 1;
  for (const auto& axis : axes)
    if (mul_overflow(count, axis.second, &count) || count > kMostElements) return false;
  std::vector<std::int64_t> addresses{0};
  addresses.reserve(static_cast<std::size_t>(count));
  for (const auto& [stride, extent] : axes) {
    const std::size_t before = addresses.size();
    for (std::int64_t i = 1; i < extent; ++i)
      for (std::size_t at = 0; at < before; ++at) addresses.push_back(addresses[at] + i * stride);
  }
  std::ranges::sort(addresses);
  return std::ranges::adjacent_find(addresses) == addresses.end();
}

}  // namespace

Result<void> check_distinct(const PermuteProblem& p, std::span<const std::int64_t> shape,
                            std::span<const std::int64_t> strides) {
  if (p.dst_strides.empty()) return {};
  std::array<std::pair<std::int64_t, std::int64_t>, kMaxRank> by_stride;  // stride, extent
  std::size_t count = 0;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] > 1) by_stride[count++] = {strides[i], shape[i]};
  std::sort(by_stride.begin(), by_stride.begin() + static_cast<std::ptrdiff_t>(count));
  const std::span axes(by_stride.data(), count);
  std::int64_t reach = 0;
  const bool nested = std::ranges::all_of(axes, [&](const auto& axis) {
    const bool beyond = axis.first > reach;
    reach += (axis.second - 1) * axis.first;  // place_operand() has computed the same sum without overflow
    return beyond;
  });
  if (nested || distinct_by_search(axes)) return {};
  return fail(ErrorKind::overlap, "dst.strides", sizes_text(p.dst_strides),
              "strides at which no two elements of " + sizes_text(shape) + " share an address");
}

}  // namespace sectile::detail
