// Offline SPIR-V: a kernel template made into a module for one target, with nothing left to specialize.
//
// Needs SPIRV-Tools when Sectile is built (SECTILE_OFFLINE); a program that only takes such modules
// in (sectile/pack.hpp) needs neither this header nor its library.
#pragma once

#include <sectile/error.hpp>
#include <sectile/plan.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sectile::spirv {

// Where an address goes in the push bytes: these stay pushed whatever is frozen.
struct PushFreeze {
  std::span<const std::uint8_t> bytes;       // what would be pushed; becomes part of the code
  std::span<const AddressSlot> addresses;    // 8 bytes each, left as they are
};

struct FreezeOptions {
  std::uint32_t api_version = 1003;          // the target's Vulkan: 1001 to 1004; 0 is taken for 1003
  const PushFreeze* push = nullptr;          // also make constants of what would be pushed
};

// Gives every specialization constant its value (its default where `constants` has none), folds and
// optimizes, and validates the result for the target. The result has no specialization constant and no
// SpecId, states its workgroup in literals, and is byte for byte the same for the same input. The push
// block's layout stays as it was, frozen or not.
//
// A constant of an id that the module does not have is ignored, as Vulkan does. Errors: parse (no SPIR-V); limit_exceeded (a
// frozen push that is shorter than what the module reads); unsupported, by name: a use of the push block
// that cannot be frozen, a specialization constant that could not be folded, a module that the
// target's environment does not allow (with the validator's words).
Result<std::vector<std::uint32_t>> freeze(std::span<const std::uint32_t> words, std::span<const Constant> constants,
                                          const FreezeOptions& options = {});

// Errors: unsupported, with the validator's words.
Result<void> validate(std::span<const std::uint32_t> words, std::uint32_t api_version);

// As spirv-dis prints it, with names. Errors: parse.
Result<std::string> disassemble(std::span<const std::uint32_t> words);

}  // namespace sectile::spirv
