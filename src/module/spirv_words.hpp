// SPIR-V as a list of instructions, for all readers and writers of modules here.
// Numbers: SPIR-V's unified1 grammar.
#pragma once

#include <sectile/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sectile::module {

inline constexpr std::uint32_t kSpirvMagic = 0x07230203;
inline constexpr std::size_t kHeaderWords = 5;
inline constexpr std::size_t kVersionWord = 1, kBoundWord = 3;

enum Op : std::uint32_t {
  OpExtension = 10,
  OpEntryPoint = 15,
  OpExecutionMode = 16,
  OpCapability = 17,
  OpTypeBool = 20,
  OpTypeInt = 21,
  OpTypeFloat = 22,
  OpTypeVector = 23,
  OpTypeArray = 28,
  OpTypeStruct = 30,
  OpTypePointer = 32,
  OpConstantTrue = 41,
  OpConstantFalse = 42,
  OpConstant = 43,
  OpConstantComposite = 44,
  OpConstantNull = 46,
  OpSpecConstantTrue = 48,
  OpSpecConstantFalse = 49,
  OpSpecConstant = 50,
  OpSpecConstantComposite = 51,
  OpSpecConstantOp = 52,
  OpFunction = 54,
  OpVariable = 59,
  OpLoad = 61,
  OpAccessChain = 65,
  OpInBoundsAccessChain = 66,
  OpDecorate = 71,
  OpMemberDecorate = 72,
  OpCopyObject = 83,
  OpExecutionModeId = 331,
  OpName = 5,
};

enum Decoration : std::uint32_t {
  DecorationSpecId = 1,
  DecorationArrayStride = 6,
  DecorationBuiltIn = 11,
  DecorationOffset = 35,
};
inline constexpr std::uint32_t kBuiltInWorkgroupSize = 25;

enum StorageClass : std::uint32_t {
  StorageInput = 1,
  StorageOutput = 3,
  StorageWorkgroup = 4,
  StoragePrivate = 6,
  StoragePushConstant = 9,
};

enum ExecutionMode : std::uint32_t { ModeLocalSize = 17, ModeLocalSizeId = 38 };

inline constexpr std::uint32_t kModelGLCompute = 5;

// One instruction; words[0] has its length and opcode.
struct Instruction {
  std::uint32_t op = 0;
  std::span<const std::uint32_t> words;
  std::size_t size() const noexcept { return words.size(); }
  // 0 past the end: an instruction of an untrusted module may be too short.
  std::uint32_t operator[](std::size_t i) const noexcept { return i < words.size() ? words[i] : 0; }
};

// All instructions after the header. Errors: parse (not SPIR-V, or truncated).
Result<std::vector<Instruction>> read_instructions(std::span<const std::uint32_t> words);

// The literal string that starts at word `at`, and the number of words that it takes.
std::string literal_string(const Instruction& instruction, std::size_t at);

}  // namespace sectile::module
