// Hand-made modules, for what no template of ours has: narrow signed push numbers, an array whose last element ends
// before its stride does, workgroup memory with holes, and types that are nowhere declared.
#include "spirv/push.hpp"

#include "../vulkan/helpers.hpp"
#include "module/facts.hpp"
#include "module/spirv_words.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

using namespace sectile;
using namespace sectile::module;
using sectile::test::must;

namespace {

using Words = std::vector<std::uint32_t>;
enum Id : std::uint32_t {
  i16 = 1,
  u32,
  two,
  array,
  block,
  pointer,
  variable,
  zero,
  one,
  narrow,
  narrow_pointer,
  chain,
  value
};

void put(Words& out, std::uint32_t op, std::initializer_list<std::uint32_t> operands) {
  out.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16 | op);
  out.insert(out.end(), operands);
}

// Reads one member of struct { uint a[2] at byte 0 with stride 16; int16_t n at byte 28; }.
Words module_that_reads(Id member) {
  Words out = {0x07230203u, 0x00010600u, 0, 20, 0};
  put(out, OpDecorate, {array, DecorationArrayStride, 16});
  put(out, OpMemberDecorate, {block, 0, DecorationOffset, 0});
  put(out, OpMemberDecorate, {block, 1, DecorationOffset, 28});
  put(out, OpEntryPoint, {5, 19, 0x6e69616du, 0, variable});
  put(out, OpTypeInt, {i16, 16, 1});
  put(out, OpTypeInt, {u32, 32, 0});
  put(out, OpConstant, {u32, zero, 0});
  put(out, OpConstant, {u32, one, 1});
  put(out, OpConstant, {u32, two, 2});
  put(out, OpTypeArray, {array, u32, two});
  put(out, OpTypeStruct, {block, array, i16});
  put(out, OpTypePointer, {pointer, StoragePushConstant, block});
  put(out, OpTypePointer, {narrow_pointer, StoragePushConstant, member == zero ? array : i16});
  put(out, OpVariable, {pointer, variable, StoragePushConstant});
  put(out, OpFunction, {18, 19, 0, 17});
  put(out, OpAccessChain, {narrow_pointer, chain, variable, member});
  put(out, OpLoad, {member == zero ? std::uint32_t{array} : std::uint32_t{i16}, value, chain});
  return out;
}

// The words of the constants of a type.
Words constants_of(const Words& words, std::uint32_t type) {
  Words out;
  for (const Instruction& i : must(read_instructions(words)))
    if (i.op == OpConstant && i[1] == type) out.push_back(i[3]);
  return out;
}

}  // namespace

TEST_CASE("a narrow signed number is sign-extended to a word, as SPIR-V wants it") {
  std::vector<std::uint8_t> bytes(30, 0);
  for (const std::uint32_t number : {0xfffdu, 0x8000u, 0x7fffu, 0u}) {
    bytes[28] = static_cast<std::uint8_t>(number);
    bytes[29] = static_cast<std::uint8_t>(number >> 8);
    const auto frozen = must(spirv::freeze_push(module_that_reads(one), {bytes, {}}));
    CHECK(constants_of(frozen, i16) == Words{number >= 0x8000u ? number | 0xffff0000u : number});
  }
}

TEST_CASE("an array ends where its last element does: what follows may be an address") {
  std::vector<std::uint8_t> bytes(30, 0);
  bytes[0] = 7;
  bytes[16] = 9;
  const Words module = module_that_reads(zero);
  const std::vector<AddressSlot> behind = {{20, 0, 0}}, inside = {{19, 0, 0}};
  const auto frozen = must(spirv::freeze_push(module, {bytes, behind}));
  Words numbers = constants_of(frozen, u32);
  CHECK(std::ranges::count(numbers, 7u) == 1);
  CHECK(std::ranges::count(numbers, 9u) == 1);
  const auto refused = spirv::freeze_push(module, {bytes, inside});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind == ErrorKind::unsupported);
}

namespace {

// Workgroup memory of struct { uint; a vector of three of `element`; }.
ModuleFacts facts_with(std::uint32_t element) {
  Words out = {0x07230203u, 0x00010600u, 0, 20, 0};
  put(out, OpCapability, {1 /*Shader*/});
  put(out, OpEntryPoint, {5, 19, 0x6e69616du, 0});
  put(out, OpTypeInt, {u32, 32, 0});
  put(out, OpTypeVector, {array, element, 3});
  put(out, OpTypeStruct, {block, u32, array});
  put(out, OpTypePointer, {pointer, StorageWorkgroup, block});
  put(out, OpVariable, {pointer, variable, StorageWorkgroup});
  return must(read_facts(out));
}

}  // namespace

TEST_CASE("workgroup memory is counted with the holes that alignment makes") {
  CHECK(facts_with(u32).workgroup_memory_bytes == 32);  // the vector begins at byte 16
}

TEST_CASE("a vector of a type that a broken module does not declare takes no bytes and harms nothing") {
  CHECK(facts_with(zero).workgroup_memory_bytes == 4);
}
