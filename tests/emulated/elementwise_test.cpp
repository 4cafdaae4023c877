// The CUDA kernels of permutes that compute with their elements, against the reference, on the host.
#include "memory.hpp"

#include "reference/elementwise.hpp"
#include "reference/generate.hpp"
#include "reference/random.hpp"

#include "support/scope.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

using namespace sectile;
using emulated::Memory;

namespace {

// The problem by each admissible candidate, every element and every byte between them compared. `words`: what the
// source's bytes begin with, in place of what the seed says.
void check_candidates(const PermuteProblem& problem, const DeviceProfile& profile, std::uint64_t seed,
                      std::set<std::string>& ran, std::span<const std::uint32_t> words = {}) {
  CAPTURE(print(Problem(problem)));
  const reference::ElementwiseDefinition definition(problem);
  const auto specs = operands_of(problem);
  REQUIRE(specs.has_value());
  std::vector<std::unique_ptr<Memory>> memories;
  std::vector<emulated::Operand> operands;
  reference::ElementwiseData data;
  for (const OperandSpec& spec : *specs) {
    const auto& memory = memories.emplace_back(std::make_unique<Memory>(spec.bytes, spec.align));
    memory->poison();
    if (spec.name != "dst") definition.poison(spec.name, memory->bytes());
    definition.fill(spec.name, memory->bytes(), seed);
    if (spec.name == "src") {
      REQUIRE(words.size_bytes() <= memory->bytes().size());
      std::ranges::copy(std::as_bytes(words), memory->bytes().begin());
    }
    operands.push_back({memory->address()});
    data[spec.name] = memory->bytes();
  }
  const auto want = definition.result(data);
  const Memory& dst = *memories[1];
  const std::vector<std::byte> before(dst.bytes().begin(), dst.bytes().end());
  for (const std::string& candidate : emulated::admissible(problem, profile)) {
    CAPTURE(candidate);
    dst.poison();
    for (const Step& step : emulated::plan_by(problem, profile, candidate).steps) {
      ran.insert(step.kernel.stem + "." + step.kernel.variant);
      const std::string failure = emulated::run(step, operands);
      CHECK_MESSAGE(failure.empty(), step.kernel.stem << "." << step.kernel.variant << ": " << failure);
    }
    const std::string wrong = reference::compare(definition, want, before, dst.bytes());
    CHECK_MESSAGE(wrong.empty(), wrong);
    CHECK(dst.guards_stand());
  }
}

}  // namespace

TEST_CASE("every candidate of generated elementwise permutes comes out right") {
  const DeviceProfile profile = emulated::target("nvidia-hopper");
  std::set<std::string> ran;
  const std::size_t most = test::scope<std::size_t>(300, 200, 120);
  std::size_t problems = 0;
  for (std::uint64_t index = 0; problems < most; ++index) {
    const PermuteProblem problem = reference::generate_elementwise(31, index);
    const auto bytes = operand_bytes(problem);
    REQUIRE(bytes.has_value());
    if (bytes->dst == 0 || bytes->src + bytes->dst + bytes->add > std::uint64_t{128} * 1024) continue;
    ++problems;
    check_candidates(problem, profile, index, ran);
  }
  for (const char* stem : {"permute_fused", "permute_fused_block"})
    for (const char* variant : {"word", "word.long", "narrow", "narrow.long"})
      CHECK_MESSAGE(ran.contains(std::string(stem) + "." + variant),
                    std::string(stem) << "." << std::string(variant) << " never ran");
  for (const char* variant : {"e1", "e2", "e4"})
    CHECK_MESSAGE(ran.contains("permute_fused_ragged." + std::string(variant)), std::string(variant) << " never ran");
}

// Terms along D, along S and along neither; D and S of several axes; tiles that are first, inner and last ones of a
// row; packed tiles; and so many words that not all are pushed.
TEST_CASE("ragged transposes that compute come out right by every candidate") {
  const DeviceProfile profile = emulated::target("nvidia-hopper");
  std::set<std::string> ran;
  for (const char* text : {"permute u8 2x331x35 axes=0,2,1 out=f16 scale=1 bias=2 src.offset=3 dst.offset=1 align=2",
                           "permute i8 5x47x9x31 axes=3,2,1,0 out=f32 alpha=0.5 src.offset=5 dst.offset=3 align=4",
                           "permute f16 2x331x35 axes=0,2,1 out=i8 act=relu bias=1 src.offset=1 dst.offset=7 align=2",
                           "permute bf16 2x259x67 axes=0,2,1 out=f32 add=packed bias=0 dst.offset=1 align=4",
                           "permute f32 2x131x103 axes=0,2,1 out=u8 scale=2 add=packed dst.offset=5 align=4",
                           "permute f32 131x103 axes=1,0 scale=0 bias=1 act=gelu src.offset=1 align=4",
                           "permute f32 3x401x3 axes=0,2,1 out=f16 scale=2",
                           "permute u8 3x13x331 axes=0,2,1 out=f16 scale=1 bias=1 dst.offset=1 align=2",
                           "permute f16 2x29x301 axes=0,2,1 out=f32 bias=2 add=packed align=4",
                           "permute f32 2x11x203 axes=0,2,1 out=i8 add=packed scale=0 dst.offset=3 align=4",
                           // Terms along one axis of D or S, and add along all of D.
                           "permute f16 5x47x9x31 axes=3,2,1,0 out=f32 scale=0 bias=3",
                           "permute bf16 5x47x9x31 axes=3,2,1,0 scale=1 add=packed",
                           "permute u8 5x47x9x31 axes=3,2,1,0 out=f16 add=packed dst.offset=1 align=2",
                           "permute f16 2x3x2x3x41x37 axes=2,0,3,1,5,4 out=f32 scale=4 bias=3 add=packed",
                           "permute u8 2x3x2x3x41x37 axes=2,0,3,1,5,4 out=f16 scale=5 bias=4",
                           "permute f32 2x3x2x3x41x37 axes=2,0,3,1,5,4 scale=2 bias=0 add=packed"}) {
    const auto problem = parse_problem(text);
    REQUIRE_MESSAGE(problem.has_value(), text);
    check_candidates(std::get<PermuteProblem>(*problem), profile, 5, ran);
  }
  for (const char* variant : {"e1", "e2", "e4", "e1.wide", "e2.wide", "e4.wide"})
    CHECK_MESSAGE(ran.contains("permute_fused_ragged." + std::string(variant)), std::string(variant) << " never ran");
}

TEST_CASE("integer sums beyond 32 bits saturate at both ends") {
  const DeviceProfile profile = emulated::target("nvidia-hopper");
  std::set<std::string> ran;
  // Of random words an eighth of the sums is too large and an eighth too small.
  for (const char* text : {"permute i32 32x48 axes=1,0 add=packed", "permute i32 5x7x9 axes=2,0,1 add=packed"}) {
    const auto problem = parse_problem(text);
    REQUIRE(problem.has_value());
    check_candidates(std::get<PermuteProblem>(*problem), profile, 1, ran);
  }
  CHECK(ran.size() >= 2);
}

TEST_CASE("every conversion of one type to another comes out right, an i32 to bf16 by one rounding") {
  const DeviceProfile profile = emulated::target("nvidia-hopper");
  std::set<std::string> ran;
  // Ties of bf16 and numbers just beside them, which an f32 cannot tell from the tie.
  std::vector<std::uint32_t> beside_ties = {807403521, 0x80000000, 0x80000001, 0x7fffffff};
  for (std::uint32_t bit = 17; bit < 31; ++bit)
    for (const std::uint32_t top : {0u, 1u, 64u, 127u})
      for (const std::uint32_t off : {~0u, 0u, 1u}) {
        const std::uint32_t tie = (1u << bit) + (top << (bit - 7)) + (1u << (bit - 8));
        beside_ties.push_back(tie + off);
        beside_ties.push_back(0u - tie + off);
      }
  constexpr const char* kTypes[] = {"f32", "f16", "bf16", "i32", "i8", "u8"};
  for (const std::string from : kTypes)
    for (const std::string to : kTypes) {
      if (from == to) continue;
      for (const char* axes : {"1,0", "0,1"}) {
        const auto problem = parse_problem("permute " + from + " 40x33 axes=" + axes + " out=" + to);
        REQUIRE(problem.has_value());
        const bool ties = from == "i32" && to == "bf16";
        check_candidates(std::get<PermuteProblem>(*problem), profile, 3, ran,
                         ties ? std::span<const std::uint32_t>(beside_ties) : std::span<const std::uint32_t>());
      }
    }
  CHECK(ran.size() >= 4);
}
