// Offline SPIR-V: turns a kernel template into a module for one target, without specialization constants.
//
// Needs SPIRV-Tools when Sectile is built (SECTILE_OFFLINE). A program that only loads such modules (sectile/pack.hpp)
// needs neither this header nor its library.
#pragma once

#include <sectile/error.hpp>
#include <sectile/plan.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sectile::spirv {

// Push bytes to freeze. Addresses stay pushed.
struct PushFreeze {
  std::span<const std::uint8_t> bytes;     // become part of the code
  std::span<const AddressSlot> addresses;  // 8 bytes each, still pushed
};

struct FreezeOptions {
  std::uint32_t api_version = 1003;  // the target's Vulkan: 1001 to 1004; 0 is taken for 1003
  const PushFreeze* push = nullptr;  // also freeze push bytes
};

// Gives every specialization constant its value (its default where `constants` has none), folds, optimizes, and
// validates the result for the target. The result has no specialization constant and no SpecId, and its workgroup size
// is literal. The same input gives the same bytes. The layout of the push block does not change, frozen or not.
//
// A constant with an id that the module does not have is ignored, as in Vulkan. Errors: parse (not SPIR-V);
// limit_exceeded (fewer push bytes than the module reads); unsupported: a use of the push block that cannot be frozen,
// a specialization constant that cannot be folded, or a module that the target's environment does not allow (with the
// validator's message).
Result<std::vector<std::uint32_t>> freeze(std::span<const std::uint32_t> words, std::span<const Constant> constants,
                                          const FreezeOptions& options = {});

// Errors: unsupported, with the validator's message.
Result<void> validate(std::span<const std::uint32_t> words, std::uint32_t api_version);

// As spirv-dis prints it, with names. Errors: parse.
Result<std::string> disassemble(std::span<const std::uint32_t> words);

}  // namespace sectile::spirv
