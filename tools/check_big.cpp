// The cases that need gigabytes: a tensor over 4 GiB, and elements at indices 2^31 - 1, 2^31 and
// 2^31 + 1, where a signed 32-bit index ends, and at byte 2^32, where an unsigned one does.
#include "check.hpp"

#include "reference/permute.hpp"
#include "reference/stream.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace sectile::tools {
namespace {

constexpr std::uint64_t kSeed = 0x5ec711e;
constexpr std::uint32_t kPoison = 0xa5c3e17b;
constexpr std::uint64_t kTail = 256;                       // guard band behind the destination
constexpr std::uint64_t kPiece = std::uint64_t{64} << 20;  // of an upload

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

std::vector<PermuteProblem> make_cases() {
  std::vector<PermuteProblem> cases = {transpose(DType::b8, 65537, 65537)};
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

const std::vector<PermuteProblem>& cases() {
  static const std::vector<PermuteProblem> all = make_cases();
  return all;
}

std::uint64_t up4(std::uint64_t bytes) {
  return (bytes + 3) / 4 * 4;
}

// The stream, where the source has elements: all of it, or both ends where it is two rows far apart.
Result<void> fill_source(Machine& machine, const Memory& memory,
                         const reference::PermuteDefinition& definition) {
  const std::uint64_t bytes = definition.src_bytes();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges = {{0, bytes}};
  const auto& axes = definition.src_axes();
  if (axes.size() == 2 && axes[0].stride > axes[1].size * 2) {
    const std::uint64_t row = static_cast<std::uint64_t>(axes[1].size) * definition.element_bytes();
    ranges = {{0, up4(row) + 4}, {(bytes - row) / 8 * 8, bytes}};
    if (auto filled = machine.fill(memory, 0, up4(bytes), ~kPoison); !filled) return filled;
  }
  std::vector<std::byte> piece;
  for (const auto& [begin, end] : ranges) {
    for (std::uint64_t at = begin; at < end; at += kPiece) {
      piece.resize(static_cast<std::size_t>(std::min(kPiece, end - at)));
      reference::fill_data(piece, kSeed, at);
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
  std::memcpy(poison.data(), &kPoison, 4);
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

bool is_out_of_memory(const Error& error) {
  return error.kind == ErrorKind::device || error.kind == ErrorKind::limit_exceeded;
}

struct Buffers {
  MemoryPtr src, dst;
};

Result<Buffers> make_buffers(Machine& machine, const reference::PermuteDefinition& definition) {
  auto src = machine.make_memory(up4(definition.src_bytes()));
  if (!src) return std::unexpected(src.error());
  auto dst = machine.make_memory(up4(definition.dst_bytes()) + kTail);
  if (!dst) return std::unexpected(dst.error());
  return Buffers{std::move(*src), std::move(*dst)};
}

// What is wrong with one case; empty where nothing is.
Result<std::string> run_case(Machine& machine, const Buffers& buffers, const Program& program,
                             const reference::PermuteDefinition& definition, CheckSink& sink, const std::string& text) {
  sink.doing(text + " | filling");
  if (auto filled = fill_source(machine, *buffers.src, definition); !filled) return std::unexpected(filled.error());
  const std::uint64_t dst_bytes = up4(definition.dst_bytes()) + kTail;
  if (auto filled = machine.fill(*buffers.dst, 0, dst_bytes, kPoison); !filled) return std::unexpected(filled.error());
  sink.doing(text + " | running");
  const auto done = machine.run(
      {&program, {{buffers.src.get(), 0, definition.src_bytes()}, {buffers.dst.get(), 0, definition.dst_bytes()}}});
  if (!done) return std::unexpected(done.error());
  sink.doing(text + " | reading back");
  std::vector<std::byte> got(static_cast<std::size_t>(dst_bytes));
  if (auto down = machine.download(*buffers.dst, 0, got); !down) return std::unexpected(down.error());
  sink.doing(text + " | comparing");
  if (const auto wrong = reference::check_streamed(definition, kSeed, got)) return wrong->message();
  return check_gaps(definition, got);
}

}  // namespace

std::uint64_t big_case_count() noexcept {
  return cases().size();
}
PermuteProblem big_case(std::uint64_t index) {
  return cases().at(static_cast<std::size_t>(index));
}

Result<void> check_big(Machine& machine, std::uint64_t first, CheckSink& sink) {
  ValidationWatch validation(machine);
  for (std::uint64_t index = first; index < cases().size(); ++index) {
    sink.starting(index, index + 1);
    const PermuteProblem& problem = cases()[static_cast<std::size_t>(index)];
    const reference::PermuteDefinition definition(problem);
    const std::string text = print(Problem(problem));
    sink.doing(text + " | planning");
    const auto plan = make_plan(problem, machine.profile());
    if (!plan && plan.error().kind == ErrorKind::limit_exceeded) {
      sink.skipped(index, plan.error().message());
    } else if (!plan) {
      sink.failed({index, text, "", "no plan: " + plan.error().message()});
    } else {
      const auto program = machine.prepare(*plan);
      if (!program) return std::unexpected(program.error());
      const auto buffers = make_buffers(machine, definition);
      if (!buffers && is_out_of_memory(buffers.error())) {
        sink.skipped(index, buffers.error().message());
      } else if (!buffers) {
        return std::unexpected(buffers.error());
      } else {
        // Over its limit of one allocation the runtime asks the driver all the same, which the layer warns of.
        validation.fresh();
        auto wrong = run_case(machine, *buffers, **program, definition, sink, text);
        if (!wrong) return std::unexpected(wrong.error());
        if (auto said = validation.fresh(); !said.empty() && wrong->empty()) *wrong = "validation layer: " + said;
        if (!wrong->empty()) sink.failed({index, text, print(*plan), *wrong});
      }
    }
    sink.finished(1);
  }
  return {};
}

}  // namespace sectile::tools
