// What a permute means, by index arithmetic straight from the words of PermuteProblem. It shares no
// code with the planner: the two were written apart, so that one error cannot hide in both.
#pragma once

#include "random.hpp"

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sectile::reference {

// One axis of a layout: coordinate c of it stands for weight * c of the logical axis `logical`.
struct LayoutAxis {
  std::size_t logical = 0;
  std::int64_t weight = 1;
  std::int64_t size = 0;
  std::int64_t stride = 0;  // elements
};

// The problem spelled out. Throws std::invalid_argument where the problem makes no sense.
class PermuteDefinition {
 public:
  explicit PermuteDefinition(const PermuteProblem& problem);

  std::size_t element_bytes() const noexcept { return element_bytes_; }
  const std::vector<LayoutAxis>& src_axes() const noexcept { return src_; }
  const std::vector<LayoutAxis>& dst_axes() const noexcept { return dst_; }
  const std::vector<std::int64_t>& logical_sizes() const noexcept { return logical_; }
  std::int64_t src_offset() const noexcept { return src_offset_; }
  std::int64_t dst_offset() const noexcept { return dst_offset_; }
  std::vector<std::int64_t> dst_shape() const;
  bool empty() const noexcept;

  // Bytes from the operand's address to the end of its last element.
  std::uint64_t src_bytes() const noexcept;
  std::uint64_t dst_bytes() const noexcept;

  // By division, one coordinate at a time: the element of the source that belongs at a coordinate of
  // the destination, in elements from the source's address; nothing where the destination is padding.
  std::optional<std::int64_t> source_of(std::span<const std::int64_t> dst_coordinate) const;
  // Elements from the destination's address.
  std::int64_t destination_at(std::span<const std::int64_t> dst_coordinate) const;

 private:
  std::size_t element_bytes_ = 0;
  std::vector<LayoutAxis> src_, dst_;
  std::vector<std::int64_t> logical_;  // true sizes
  std::int64_t src_offset_ = 0, dst_offset_ = 0;
};

// Carries out the problem: pushes every element of the source to its place, padding to zero, and leaves
// every other byte of `dst` as it was. Both spans begin at their operand's address.
void permute(const PermuteDefinition& definition, std::span<const std::byte> src, std::span<std::byte> dst);

// The first place where a result is not what it should be.
struct Mismatch {
  std::uint64_t dst_byte = 0;            // from the destination's address
  std::vector<std::int64_t> coordinate;  // empty where the byte belongs to no element (a gap, a guard)
  std::string want, got;                 // hexadecimal
  std::string message() const;
};

std::string hex(std::span<const std::byte> bytes);

// Compares a whole destination with the reference's; `actual` and `expected` are of one size.
std::optional<Mismatch> compare(const PermuteDefinition& definition, std::span<const std::byte> expected,
                                std::span<const std::byte> actual);

// Where the source's bytes come from: memory, or the stream of data_word where there is none.
struct SourceData {
  std::span<const std::byte> bytes;
  std::uint64_t stream_seed = 0;
  void read(std::uint64_t offset, std::span<std::byte> out) const noexcept;
};

// The second opinion: for corner and random coordinates of the destination, what the definition says.
std::optional<Mismatch> check_samples(const PermuteDefinition& definition, const SourceData& src,
                                      std::span<const std::byte> dst, std::uint64_t seed, std::size_t count);

}  // namespace sectile::reference
