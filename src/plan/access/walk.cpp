#include "walk.hpp"

#include <algorithm>

namespace sectile::detail {

Walk::Walk(const DeviceProfile& p) noexcept
    : lanes_(std::min(p.subgroup_size.value_or(32), kMaxLanes)),
      // 32 bytes is the smallest known transaction of a GPU. CPUs move cache lines.
      transaction_(p.transaction_bytes.value_or(p.kind == DeviceKind::cpu ? 64 : 32)),
      banks_(p.banks.value_or(32)),
      bank_bytes_(p.bank_bytes.value_or(4)) {}

std::uint64_t Walk::transactions(const Request& r, std::uint64_t& ideal) const noexcept {
  std::array<std::int64_t, std::size_t{2} * kMaxLanes> seen;
  std::size_t n = 0;
  std::uint64_t bytes = 0;
  bool sorted = true;
  const auto note = [&](std::int64_t t) {
    if (n > 0 && seen[n - 1] == t) return;
    sorted = sorted && (n == 0 || seen[n - 1] < t);
    seen[n++] = t;
  };
  for (std::uint32_t l = 0; l < lanes_; ++l) {
    if (r.address[l] == Request::kInactive) continue;
    bytes += r.bytes;
    note(r.address[l] / transaction_);
    const auto last = (r.address[l] + r.bytes - 1) / transaction_;
    if (seen[n - 1] != last) note(last);
  }
  ideal = (bytes + transaction_ - 1) / transaction_;
  if (!sorted) {
    std::sort(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(n));
    n = static_cast<std::size_t>(std::unique(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(n)) -
                                 seen.begin());
  }
  return n;
}

void Walk::load(const Request& request, std::uint64_t times) noexcept {
  std::uint64_t ideal = 0;
  count_.load_transactions += times * transactions(request, ideal);
  count_.ideal_load_transactions += times * ideal;
  count_.load_requests += times;
}

void Walk::store(const Request& request, std::uint64_t times) noexcept {
  std::uint64_t ideal = 0;
  count_.store_transactions += times * transactions(request, ideal);
  count_.ideal_store_transactions += times * ideal;
  count_.store_requests += times;
}

void Walk::shared(const Request& r, std::uint64_t times) noexcept {
  const std::uint32_t words = std::max(1u, r.bytes / bank_bytes_);  // banks that a lane accesses
  const std::uint32_t part = std::max(1u, std::min(lanes_, banks_ / words)), banks = std::min(banks_, 64u);
  std::uint64_t extra = 0;
  for (std::uint32_t first = 0; first < lanes_; first += part) {
    // Distinct words in each bank: one pass serves all lanes that access the same word.
    std::array<std::array<std::uint32_t, kMaxLanes>, 64> at;
    std::array<std::uint32_t, 64> used{};
    std::uint32_t most = 0;
    for (std::uint32_t l = first; l < std::min(first + part, lanes_); ++l) {
      if (r.address[l] == Request::kInactive) continue;
      // Workgroup memory is far smaller than 2^32 bytes, and 32-bit division is faster.
      const std::uint32_t begin = static_cast<std::uint32_t>(r.address[l]) / bank_bytes_;
      for (std::uint32_t word = begin; word < begin + words; ++word) {
        const std::size_t bank = word % banks;
        const auto end = at[bank].begin() + used[bank];
        if (std::find(at[bank].begin(), end, word) != end) continue;
        if (used[bank] < kMaxLanes) at[bank][used[bank]++] = word;
        most = std::max(most, used[bank]);
      }
    }
    if (most > 1) extra += most - 1;
  }
  count_.bank_conflicts += times * extra;
}

}  // namespace sectile::detail
