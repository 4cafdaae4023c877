// Levels that the coverings of products (matmul, convolution) have in common, and what a level stands for.
#pragma once

#include "activation.hpp"
#include "covering.hpp"
#include "random.hpp"

#include <sectile/problem.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sectile::reference {

template <class P>
struct CoveringProduct {
  P problem;
  std::string candidate;              // what is to run it; a device may have none. Empty: whatever is chosen
  bool without_dot = false;           // planned as for a device without products of four bytes,
  std::uint32_t multiprocessors = 0;  // or with so many multiprocessors, so that K is split; 0: as it is
  std::optional<std::uint64_t> max_scratch_bytes = {};  // or with so much scratch, so that images are in parts
  bool all_pipelines = false;                           // never planned with few pipelines
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

DType other_float(DType type, Random& random);  // than this one

// A level stands for activations whose code is alike: 1 those of comparisons, 2 to 4 gelu, gelu_tanh or silu and
// others.
std::uint8_t activation_of_level(std::uint8_t level, bool integer, Random& random);

// Sets type, acc and out. The residual is set before. alpha: 0 is none; c: none, an operand of its own, or what the
// result held.
struct CoverNumbers {
  CoverType type = kF32;
  CoverOut out = kOutF32;
  std::uint8_t activation = 0, alpha = 0, c = 0;
};
template <class P>
void set_numbers(P& p, const CoverNumbers& levels, Random& random) {
  constexpr std::array kTypes = {DType::f32, DType::f16, DType::f16, DType::bf16, DType::i8};
  constexpr std::array kOuts = {DType::i32, DType::f32, DType::f16, DType::bf16};
  constexpr std::array kAlphas = {0.5f, -1.25f, 2.0f, 0.3333f}, kBetas = {1.0f, -0.5f, 0.3f, 2.0f};
  p.type = kTypes[levels.type];
  p.acc = levels.type == kI8 ? DType::i32 : levels.type == kF16Sums ? DType::f16 : DType::f32;
  p.out = kOuts[levels.out];
  set_activation(p, activation_of_level(levels.activation, p.out == DType::i32, random),
                 p.residual && random.one_in(2));
  if (p.out == DType::i32 && p.activation == Activation::clamp) {
    p.low = -3000;
    p.high = 500000;
  }
  if (levels.alpha != 0) p.alpha = kAlphas[random.below(4)];
  // Sums of int8 products are in the thousands, where activations no longer bend.
  if (p.type == DType::i8 && p.out != DType::i32) p.alpha = levels.alpha != 0 ? 0.0003f : 1.0f / 4096;
  if (levels.c == 0) return;
  p.beta = kBetas[random.below(4)];
  p.c_is_d = levels.c == 2;
}

// The cases of a seed, made once.
template <class P>
const std::vector<CoveringProduct<P>>& covering_cases(std::uint64_t seed, Accesses accesses,
                                                      std::vector<LevelRow> (*rows)(std::uint64_t, Accesses),
                                                      CoveringProduct<P> (*made)(const LevelRow&)) {
  static std::map<std::pair<std::uint64_t, Accesses>, std::vector<CoveringProduct<P>>> made_once;
  auto& cases = made_once[{seed, accesses}];
  if (cases.empty())
    for (const LevelRow& row : rows(seed, accesses)) cases.push_back(made(row));
  return cases;
}

// The case of that number, or nullptr after the last one. For a device without accesses of 1 and 2 bytes there is any
// number of them: those of a seed, then those of the next one.
template <class P>
const CoveringProduct<P>* covering_case(const std::vector<CoveringProduct<P>>& (*cases)(std::uint64_t, Accesses),
                                        std::uint64_t seed, std::uint64_t index, Accesses accesses) {
  const auto& first = cases(seed, accesses);
  if (index < first.size()) return &first[index];
  if (accesses != Accesses::words) return nullptr;
  const auto& all = cases(seed + index / first.size(), accesses);
  return &all[index % first.size() % all.size()];
}

std::uint32_t element_align(DType type, bool aligned) noexcept;

// What a row's draws start from.
std::uint64_t seed_of(const LevelRow& row) noexcept;

std::string level_text(const char* factor, std::uint8_t level, const char* says);

}  // namespace sectile::reference
