#include "data.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace sectile::tools {
namespace {

double real(std::int64_t size) { return static_cast<double>(size); }

}  // namespace

PermuteProblem copy_problem(std::uint64_t bytes) {
  PermuteProblem problem;
  const bool wide = bytes % 16 == 0;
  problem.type = wide ? DType::b128 : DType::b8;
  problem.shape = {static_cast<std::int64_t>(wide ? bytes / 16 : bytes)};
  problem.axes.assign(1, 0);  // g++ 12 takes a list of one for an overread
  return problem;
}

double operand_bytes_of(const Problem& problem) {
  double bytes = 0;
  if (const auto operands = operands_of(problem))
    for (const OperandSpec& operand : *operands) bytes += static_cast<double>(operand.bytes);
  return bytes;
}

std::int64_t terms_of(const MatmulProblem& problem) noexcept { return problem.k; }

std::int64_t terms_of(const Conv2dProblem& problem) noexcept {
  return problem.c / problem.groups * problem.r * problem.s;
}

double operations_of(const MatmulProblem& problem) {
  return 2 * real(problem.m) * real(problem.n) * real(terms_of(problem)) * real(problem.batch);
}

double operations_of(const Conv2dProblem& problem) {
  const auto size = output_size(problem);
  if (!size) return 0;
  return 2 * real(problem.n) * real(problem.k) * real(size->height) * real(size->width) * real(terms_of(problem));
}

void fill_numbers(DType type, std::span<std::byte> bytes, std::uint64_t seed) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (std::size_t at = 0; at < bytes.size(); at += 4) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    auto word = static_cast<std::uint32_t>(state >> 32);
    if (type == DType::f32) word = (word & 0x807fffffu) | 0x3f000000u;
    if (type == DType::f16) word = (word & 0x83ff83ffu) | 0x38003800u;
    if (type == DType::bf16) word = (word & 0x807f807fu) | 0x3f003f00u;
    if (type == DType::i32) word &= 0xffu;
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(4, bytes.size() - at));
  }
}

}  // namespace sectile::tools
