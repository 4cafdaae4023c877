// A step that is moved to another part of its operands takes all that it holds of them along.
#include "plan/move_step.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace sectile;

namespace {

Step step_on_two_operands() {
  Step step;
  step.push = std::vector<std::uint8_t>(24, 0);
  step.addresses = {{.push_offset = 0, .operand = 1, .byte_offset = 5}, {.push_offset = 8, .operand = 0}};
  step.accesses = {{.operand = 0, .begin = 16, .end = 4096, .write = false},
                   {.operand = 1, .begin = 0, .end = 64, .write = true}};
  step.tensor_maps = {{1, 32, 4, {8, 2}, {32}, {8, 2}, 0}, {0, 16, 4, {8, 4}, {32}, {8, 4}, 32}};
  return step;
}

}  // namespace

TEST_CASE("addresses, ranges and tensor maps move together") {
  const std::array<detail::OperandPlace, 2> places = {{{3, 1024}, {0, 160}}};
  const Step before = step_on_two_operands();
  Step moved = before;
  detail::move_step(moved, [&](std::uint32_t operand) { return places[operand]; });
  Step wanted = before;
  wanted.addresses = {{.push_offset = 0, .operand = 0, .byte_offset = 165},
                      {.push_offset = 8, .operand = 3, .byte_offset = 1024}};
  wanted.accesses = {{.operand = 3, .begin = 1040, .end = 5120, .write = false},
                     {.operand = 0, .begin = 160, .end = 224, .write = true}};
  wanted.tensor_maps[0].operand = 0;
  wanted.tensor_maps[0].byte_offset = 192;
  wanted.tensor_maps[1].operand = 3;
  wanted.tensor_maps[1].byte_offset = 1040;
  CHECK(moved == wanted);
}

TEST_CASE("a step that is moved by nothing is the same") {
  const Step before = step_on_two_operands();
  Step moved = before;
  detail::move_step(moved, [](std::uint32_t operand) { return detail::OperandPlace{operand, 0}; });
  CHECK(moved == before);
}

// The parts of a problem: each image by as many bytes as the operand's images are apart.
TEST_CASE("a part's tensor maps lie in the part's ranges") {
  const std::array<std::uint64_t, 2> image_bytes = {4096, 128};
  for (std::uint64_t image = 0; image < 4; ++image) {
    Step part = step_on_two_operands();
    detail::move_step(
        part, [&](std::uint32_t operand) { return detail::OperandPlace{operand, image * image_bytes[operand]}; });
    CHECK(part.tensor_maps[0].byte_offset == 32 + 128 * image);
    CHECK(part.tensor_maps[1].byte_offset == 16 + 4096 * image);
    CHECK(part.tensor_maps[0].byte_offset >= part.accesses[1].begin);
    CHECK(part.tensor_maps[1].byte_offset == part.accesses[0].begin);
  }
}
