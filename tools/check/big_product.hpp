// Big cases of sums of products (matmul, convolution): their data. Where an operand's runs of elements lie far apart,
// only their pages of its image are ever touched. Private to the check.
#pragma once

#include "big.hpp"
#include "cli/system.hpp"

#include "reference/numbers.hpp"
#include "reference/products.hpp"
#include "reference/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace sectile::tools {

// Zeros that take no memory until they are written.
class BigImage {
 public:
  explicit BigImage(std::uint64_t bytes) : at_(map_pages(bytes)), bytes_(static_cast<std::size_t>(bytes)) {
    if (at_ == nullptr) throw std::bad_alloc();
  }
  ~BigImage() { unmap_pages(at_, bytes_); }
  BigImage(const BigImage&) = delete;
  BigImage& operator=(const BigImage&) = delete;
  std::span<std::byte> span() const { return {at_, bytes_}; }

 private:
  std::byte* at_;
  std::size_t bytes_;
};

// Ranges of bytes, whole words, that hold an operand's elements; those less than a page apart are one.
template <class Operand>
std::vector<std::pair<std::uint64_t, std::uint64_t>> big_ranges(const Operand& o) {
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t size = reference::element_bytes(o.type);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [first, last] : o.runs()) {
    const std::uint64_t begin = static_cast<std::uint64_t>(first) * size / 4 * 4;
    const std::uint64_t end = up4(static_cast<std::uint64_t>(last) * size);
    if (!ranges.empty() && begin <= ranges.back().second + kPage)
      ranges.back().second = std::max(ranges.back().second, end);
    else
      ranges.emplace_back(begin, end);
  }
  return ranges;
}

template <class Operand>
Result<void> send_big(Machine& machine, const Memory& memory, const Operand& o, std::span<const std::byte> image) {
  for (const auto& [begin, end] : big_ranges(o))
    for (std::uint64_t at = begin; at < end; at += kBigPiece)
      if (auto sent = machine.upload(memory, at, image.subspan(at, std::min(kBigPiece, end - at))); !sent) return sent;
  return {};
}

// Definition: MatmulDefinition, Conv2dDefinition. A result of int8 products that takes too many multiplications to be
// worked out is compared where it is sampled: its sums are exact, which needs no tolerance of the whole result's.
template <class Definition>
class BigProduct final : public BigCase {
 public:
  template <class P>
  explicit BigProduct(const P& problem, std::int64_t multiplications)
      : definition_(problem),
        sampled_(problem.type == DType::i8 && problem.out == DType::i32 && multiplications > kMostWorkedOut),
        samples_(static_cast<std::size_t>(std::clamp<std::int64_t>(
            (std::int64_t{1} << 27) / (multiplications / static_cast<std::int64_t>(definition_.size()) + 1), 16,
            1 << 20))) {
    for (const auto& [name, operand] : definition_.operands()) {
      const auto [entry, _] = images_.try_emplace(name, up4(operand.bytes()));
      const auto image = entry->second.span();
      // Bytes between elements are compared with what they held.
      if (name == Definition::kDestination)
        for (std::size_t at = 0; at < image.size(); at += 4) std::memcpy(&image[at], &kBigPoison, 4);
      // Any bits are an int8, and the stream is faster than numbers for billions of them.
      if (sampled_ && name != Definition::kDestination)
        reference::fill_data(image, kBigSeed + images_.size());
      else
        definition_.fill(name, image, kBigSeed);
      data_[name] = image.first(static_cast<std::size_t>(operand.bytes()));
    }
    if (!sampled_) want_ = definition_.result(data_, held());
  }

  std::uint64_t destination_bytes() const override { return held().size(); }
  std::size_t destination() const override {
    const auto& all = definition_.operands();
    const auto at = std::ranges::find(all, Definition::kDestination, [](const auto& o) { return o.first; });
    return static_cast<std::size_t>(at - all.begin());
  }
  Result<void> fill(Machine& machine, std::span<const MemoryPtr> memories) override {
    const auto& all = definition_.operands();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i == destination()) continue;
      if (auto filled = machine.fill(*memories[i], 0, memories[i]->size(), ~kBigPoison); !filled) return filled;
      if (auto sent = send_big(machine, *memories[i], all[i].second, images_.at(all[i].first).span()); !sent)
        return sent;
    }
    return {};
  }
  Result<void> poison(Machine& machine, const Memory& memory, std::uint64_t bytes) override {
    if (auto filled = machine.fill(memory, 0, bytes, kBigPoison); !filled) return filled;
    return send_big(machine, memory, placed(), images_.find(Definition::kDestination)->second.span());
  }

  std::string compare(std::span<const std::byte> got) override {
    const auto bytes = held().size();
    std::array<std::byte, 4> poison{};
    std::memcpy(poison.data(), &kBigPoison, 4);
    for (std::size_t at = bytes; at < got.size(); ++at)
      if (got[at] != poison[at % 4]) return fmt::format("byte {} behind the destination was written", at);
    if (sampled_) return compare_samples(got);
    const auto wrong = reference::compare(definition_.places(), want_, held(), got.first(bytes));
    return wrong ? wrong->message : std::string();
  }

 private:
  static constexpr std::int64_t kMostWorkedOut = std::int64_t{1} << 28;  // multiplications

  const auto& placed() const { return definition_.operand(Definition::kDestination); }
  std::span<const std::byte> held() const { return data_.find(Definition::kDestination)->second; }

  // Every element is written (none of these sums is the poison), and those at ends and at random places are right.
  std::string compare_samples(std::span<const std::byte> got) const {
    const auto at = [&](std::int64_t index) {
      std::uint32_t word = 0;
      std::memcpy(&word, &got[static_cast<std::size_t>(index) * 4], 4);
      return word;
    };
    for (const auto& [first, last] : placed().runs())
      for (std::int64_t index = first; index < last; ++index)
        if (at(index) == kBigPoison) return fmt::format("element {} of the destination was not written", index);
    const reference::ProductPlaces places = definition_.places();
    reference::Random random(kBigSeed);
    std::vector<std::size_t> elements = definition_.corners();
    while (elements.size() < samples_) elements.push_back(static_cast<std::size_t>(random.below(definition_.size())));
    for (const std::size_t element : elements) {
      const auto want = static_cast<std::int64_t>(definition_.element(data_, held(), element).value);
      const auto found = static_cast<std::int32_t>(at(places.index(element)));
      if (found != want) return fmt::format("{} is {}, want {}", places.name(element), found, want);
    }
    return {};
  }

  Definition definition_;
  bool sampled_;
  std::size_t samples_;
  std::map<std::string, BigImage, std::less<>> images_;
  reference::ProductData data_;
  std::vector<reference::ProductElement> want_;
};

}  // namespace sectile::tools
