// Levels that the coverings of products (matmul, convolution) have in common, and what a level stands for.
#pragma once

#include "covering.hpp"
#include "random.hpp"

#include <sectile/problem.hpp>

#include <cstdint>
#include <string>

namespace sectile::reference {

template <class P>
struct CoveringProduct {
  P problem;
  std::string candidate;              // what is to run it; a device may have none. Empty: whatever is chosen
  bool without_dot = false;           // planned as for a device without products of four bytes,
  std::uint32_t multiprocessors = 0;  // or with so many multiprocessors, so that K is split; 0: as it is
};

enum class Accesses : std::uint8_t {
  any,
  words,  // devices without accesses of 1 and 2 bytes
};

enum CoverType : std::uint8_t { kF32, kF16, kF16Sums, kBF16, kI8 };
enum CoverOut : std::uint8_t { kOutI32, kOutF32, kOutF16, kOutBF16 };
// How a factor is stored: as it is multiplied, or in another type of float.
enum CoverStored : std::uint8_t { kSame, kOther };

// In a row that is not complete `is` and `other` are false for factors that are not set.
struct SetLevels {
  const LevelRow& row;
  bool is(std::uint8_t factor, std::uint8_t level) const { return row[factor] == level; }
  bool other(std::uint8_t factor, std::uint8_t level) const { return row[factor] != kUnset && row[factor] != level; }
  bool above(std::uint8_t factor, std::uint8_t level) const { return row[factor] != kUnset && row[factor] > level; }
};

DType type_of(CoverType level) noexcept;
DType sums_of(CoverType level) noexcept;
DType out_of(CoverOut level) noexcept;
DType other_float(DType type, Random& random);  // than this one

// alpha: 0 is none. c: none, an operand of its own, or what the result held.
struct CoverEpilogue {
  float alpha = 1, beta = 0;
  bool c_is_result = false;
};
CoverEpilogue epilogue_of(DType type, DType out, std::uint8_t alpha, std::uint8_t c, Random& random);

std::uint32_t element_align(DType type, bool aligned) noexcept;

// What draws of a row start from, whatever else the seed is used for.
std::uint64_t seed_of(const LevelRow& row, std::uint64_t seed) noexcept;

}  // namespace sectile::reference
