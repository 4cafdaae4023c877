// Which words permute_realign counts: those of segments, runs that follow each other in the destination without a gap.
#include "plan/helpers.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sectile;

namespace {

// Invocations, one a word: whole workgroups of 256.
std::uint64_t invocations(const std::string& text) {
  const Plan plan = test::planned(text, test::gpu(), {.force = "permute_realign"});
  return std::uint64_t{plan.steps.at(0).grid[0]} * plan.steps.at(0).workgroup[0];
}

}  // namespace

TEST_CASE("runs without a gap in the destination share words") {
  // 57 runs of 65 bytes are one segment, of 233 words wherever it begins.
  CHECK(invocations("permute u8 3x19x65 axes=1,0,2") == 256);
  // A byte after every three runs makes 19 segments of 14 words, a byte after each run 57 of 5.
  CHECK(invocations("permute u8 3x19x65 axes=1,0,2 dst.strides=196x65x1") == 512);
  CHECK(invocations("permute u8 3x19x65 axes=1,0,2 dst.strides=198x66x1") == 512);
  // 15 segments of 258 bytes: of 18 words each where they begin anywhere, and of 17 where they begin at a word.
  CHECK(invocations("permute u8 3x15x86 axes=1,0,2 dst.strides=259x86x1") == 512);
}
