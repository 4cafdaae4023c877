// Big permutes' data: the reference's stream, which need not be held to be compared with.
#include "permute.hpp"

#include "reference/permute.hpp"
#include "reference/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace sectile::tools {
namespace {

PermuteProblem transpose(DType type, std::int64_t rows, std::int64_t columns) {
  PermuteProblem problem;
  problem.type = type;
  problem.shape = {rows, columns};
  problem.axes = {1, 0};
  return problem;
}

// Two rows so far apart that the last element of the source, or of the destination, has index `last`.
PermuteProblem reach(DType type, std::int64_t last, bool in_source) {
  constexpr std::int64_t columns = 777;
  PermuteProblem problem = transpose(type, 2, columns);
  const std::int64_t far = last - (columns - 1);
  if (in_source)
    problem.src_strides = {far, 1};
  else
    problem.dst_strides = {1, far};
  return problem;
}

// The stream, where the source has elements: all of it, or both ends where it is two rows far apart.
Result<void> fill_source(Machine& machine, const Memory& memory, const reference::PermuteDefinition& definition) {
  const std::uint64_t bytes = definition.src_bytes();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges = {{0, bytes}};
  const auto& axes = definition.src_axes();
  if (axes.size() == 2 && axes[0].stride > axes[1].size * 2) {
    const std::uint64_t row = static_cast<std::uint64_t>(axes[1].size) * definition.element_bytes();
    ranges = {{0, up4(row) + 4}, {(bytes - row) / 8 * 8, bytes}};
    if (auto filled = machine.fill(memory, 0, up4(bytes), ~kBigPoison); !filled) return filled;
  }
  std::vector<std::byte> piece;
  for (const auto& [begin, end] : ranges) {
    for (std::uint64_t at = begin; at < end; at += kBigPiece) {
      piece.resize(static_cast<std::size_t>(std::min(kBigPiece, end - at)));
      reference::fill_data(piece, kBigSeed, at);
      if (auto sent = machine.upload(memory, at, piece); !sent) return sent;
    }
  }
  return {};
}

// Every byte that belongs to no element still holds the poison: between two far rows, and behind the last.
std::string check_gaps(const reference::PermuteDefinition& definition, std::span<const std::byte> got) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> used = {{0, definition.dst_bytes()}};
  const auto& axes = definition.dst_axes();
  if (axes.size() == 2 && axes[1].stride > axes[0].size * 2) {
    const std::uint64_t row = static_cast<std::uint64_t>(axes[0].size) * definition.element_bytes();
    used = {{0, row}, {definition.dst_bytes() - row, definition.dst_bytes()}};
  }
  std::array<std::byte, 4> poison{};
  std::memcpy(poison.data(), &kBigPoison, 4);
  std::uint64_t at = 0;
  used.emplace_back(got.size(), got.size());
  for (const auto& [begin, end] : used) {
    for (; at < begin; ++at) {
      if (got[static_cast<std::size_t>(at)] != poison[at % 4])
        return fmt::format("byte {} of no element was written", at);
    }
    at = end;
  }
  return {};
}

class BigPermute final : public BigCase {
 public:
  explicit BigPermute(const PermuteProblem& problem) : definition_(problem) {}

  std::uint64_t destination_bytes() const override { return definition_.dst_bytes(); }
  std::size_t destination() const override { return 1; }
  Result<void> fill(Machine& machine, std::span<const MemoryPtr> memories) override {
    return fill_source(machine, *memories[0], definition_);
  }
  Result<void> poison(Machine& machine, const Memory& memory, std::uint64_t bytes) override {
    return machine.fill(memory, 0, bytes, kBigPoison);
  }
  std::string compare(std::span<const std::byte> got) override {
    if (const auto wrong = reference::check_streamed(definition_, kBigSeed, got)) return wrong->message();
    return check_gaps(definition_, got);
  }

 private:
  reference::PermuteDefinition definition_;
};

}  // namespace

std::vector<Problem> big_permutes() {
  std::vector<Problem> cases = {transpose(DType::b8, 65537, 65537)};
  constexpr std::int64_t edge = std::int64_t{1} << 31;
  for (const std::int64_t last : {edge - 1, edge, edge + 1}) {
    cases.push_back(reach(DType::b8, last, true));
    cases.push_back(reach(DType::b8, last, false));
  }
  for (const std::int64_t last : {edge / 2 - 1, edge / 2, edge / 2 + 1}) {  // byte 2^32, of 4 each
    cases.push_back(reach(DType::b32, last, true));
    cases.push_back(reach(DType::b32, last, false));
  }
  cases.push_back(transpose(DType::b8, 32768, 65536));    // 2^31 elements
  cases.push_back(transpose(DType::b8, 3, 715'827'883));  // 2^31 + 1
  cases.push_back(transpose(DType::b8, 4194, 512'037));   // 2^31 - 470, ragged on both sides
  PermuteProblem copy;                                    // 2^31 - 1, a prime: a copy
  copy.type = DType::b8;
  copy.shape = {edge - 1};
  copy.axes = {0};
  cases.push_back(copy);
  return cases;
}

std::unique_ptr<BigCase> big_permute(const PermuteProblem& problem) { return std::make_unique<BigPermute>(problem); }

}  // namespace sectile::tools
