#include "stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace sectile::reference {
namespace {

// Where no axis is split, one step along a destination axis is one fixed step in the source.
bool is_plain(const PermuteDefinition& definition) {
  const auto whole = [](const LayoutAxis& axis) { return axis.weight == 1; };
  return std::all_of(definition.src_axes().begin(), definition.src_axes().end(), whole) &&
         definition.src_axes().size() == definition.dst_axes().size() &&
         std::all_of(definition.dst_axes().begin(), definition.dst_axes().end(), whole);
}

class Checker {
 public:
  Checker(const PermuteDefinition& definition, std::uint64_t seed, std::span<const std::byte> dst)
      : definition_(definition), seed_(seed), dst_(dst), plain_(is_plain(definition)) {
    // Lines run along the last axis; threads take lines, so a single one is split as well.
    const auto& axes = definition.dst_axes();
    lines_ = 1;
    for (std::size_t i = 0; i + 1 < axes.size(); ++i) lines_ *= static_cast<std::uint64_t>(axes[i].size);
    const auto length = static_cast<std::uint64_t>(axes.back().size);
    pieces_ = (length + kPiece - 1) / kPiece;
  }

  std::uint64_t units() const noexcept { return lines_ * pieces_; }

  std::optional<Mismatch> check(std::uint64_t first, std::uint64_t last) const {
    std::vector<std::int64_t> coordinate(definition_.dst_axes().size());
    for (std::uint64_t unit = first; unit < last; ++unit) {
      if (auto wrong = check_unit(unit, coordinate)) return wrong;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint64_t kPiece = 1 << 16;

  std::optional<Mismatch> check_unit(std::uint64_t unit, std::vector<std::int64_t>& coordinate) const {
    const auto& axes = definition_.dst_axes();
    std::uint64_t line = unit / pieces_;
    for (std::size_t i = axes.size() - 1; i-- > 0;) {
      coordinate[i] = static_cast<std::int64_t>(line % static_cast<std::uint64_t>(axes[i].size));
      line /= static_cast<std::uint64_t>(axes[i].size);
    }
    const auto begin = static_cast<std::int64_t>(unit % pieces_ * kPiece);
    const std::int64_t end = std::min(axes.back().size, begin + static_cast<std::int64_t>(kPiece));
    coordinate.back() = begin;
    std::int64_t from = 0, step = 0;
    if (plain_) {
      from = definition_.source_of(coordinate).value();
      for (const LayoutAxis& part : definition_.src_axes()) {
        if (part.logical == axes.back().logical) step = part.stride;
      }
    }
    std::int64_t to = definition_.destination_at(coordinate);
    for (std::int64_t i = begin; i < end; ++i, to += axes.back().stride, from += step) {
      coordinate.back() = i;
      const auto source = plain_ ? std::optional(from) : definition_.source_of(coordinate);
      if (!same(source, to)) return mismatch(coordinate);
    }
    return std::nullopt;
  }

  bool same(std::optional<std::int64_t> source, std::int64_t to) const {
    const std::size_t size = definition_.element_bytes();
    const std::byte* got = dst_.data() + static_cast<std::size_t>(to) * size;
    std::array<std::uint64_t, 2> want{};
    if (source) {
      const std::uint64_t at = static_cast<std::uint64_t>(*source) * size;
      // Elements never straddle the stream's words but for those of two words, which begin at one.
      want[0] = data_word(seed_, at / 8) >> (at % 8 * 8);
      if (size == 16) want[1] = data_word(seed_, at / 8 + 1);
    }
    return std::memcmp(got, want.data(), size) == 0;
  }

  std::optional<Mismatch> mismatch(const std::vector<std::int64_t>& coordinate) const {
    const std::size_t size = definition_.element_bytes();
    const auto at = static_cast<std::uint64_t>(definition_.destination_at(coordinate)) * size;
    std::vector<std::byte> want(size);
    if (const auto from = definition_.source_of(coordinate)) {
      SourceData{{}, seed_}.read(static_cast<std::uint64_t>(*from) * size, want);
    }
    return Mismatch{at, coordinate, hex(want), hex(dst_.subspan(static_cast<std::size_t>(at), size))};
  }

  const PermuteDefinition& definition_;
  std::uint64_t seed_;
  std::span<const std::byte> dst_;
  bool plain_;
  std::uint64_t lines_ = 0, pieces_ = 0;
};

}  // namespace

std::optional<Mismatch> check_streamed(const PermuteDefinition& definition, std::uint64_t seed,
                                       std::span<const std::byte> dst, unsigned threads) {
  if (definition.empty()) return std::nullopt;
  const Checker checker(definition, seed, dst);
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  const std::uint64_t units = checker.units();
  threads = static_cast<unsigned>(std::min<std::uint64_t>(threads, std::max<std::uint64_t>(1, units / 16)));
  std::optional<Mismatch> first;
  std::mutex guard;
  std::vector<std::jthread> workers;
  workers.reserve(threads);
  for (unsigned t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      auto wrong = checker.check(units * t / threads, units * (t + 1) / threads);
      const std::scoped_lock lock(guard);
      if (wrong && (!first || wrong->dst_byte < first->dst_byte)) first = std::move(wrong);
    });
  }
  workers.clear();
  return first;
}

}  // namespace sectile::reference
