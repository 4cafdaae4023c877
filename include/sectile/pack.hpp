// Packs: compiled SPIR-V modules in one file (`sectile pack`), for programs that ship neither templates nor a
// compiler. A pack serves the problems whose plans have the same kernels and constants: docs/guide/offline.md.
//
//   auto pack   = sectile::Pack::read("kernels.pack");
//   auto device = sectile::vulkan::Device::adopt({..., .pack = &*pack});
//   auto plan   = sectile::make_plan(problem, device->profile(), {.kernels = &*pack});   // only what the pack has
//   auto ready  = device->prepare(*plan);
//
// The file's format is in docs/reference/manifest.md.
#pragma once

#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/planner.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile {

inline constexpr std::uint32_t kPackVersion = 1;

// One module, and its key.
struct PackedModule {
  KernelName kernel;
  std::vector<Constant> constants;   // that were frozen, sorted by id
  std::vector<std::uint8_t> push;    // the push bytes that were frozen (--freeze-shape), or empty
  std::uint32_t api_version = 1003;  // the lowest Vulkan version that it was validated for
  std::vector<std::uint32_t> words;  // SPIR-V, without specialization constants
  bool operator==(const PackedModule&) const = default;
};

// A value: copies share the content.
class Pack final : public KernelSet {
 public:
  Pack();  // holds nothing

  // Errors, with `name`: parse, where the bytes are not a pack, are of another version, truncated or damaged (the hash
  // in the header differs), where the index does not match the content, or where a manifest is of another planner
  // version.
  static Result<Pack> open(std::span<const std::byte> bytes, std::string_view name = "pack");
  // The same from a file. Errors also: missing, io.
  static Result<Pack> read(const std::string& path);

  std::span<const PackedModule> modules() const noexcept;   // sorted by kernel, constants, push
  std::span<const std::string> manifests() const noexcept;  // the manifest.json texts that came with them

  // The module for the step: the same kernel and constants. A module with frozen push bytes is found for these bytes
  // alone, and is preferred to one without. Null where there is none.
  const PackedModule* find(const Step& step) const noexcept;

  bool has(const Step& step) const override;
  std::string nearest(const Step& step) const override;
  std::string_view id() const noexcept override;  // the content's XXH3-128, 32 hex digits

 private:
  struct Content;
  std::shared_ptr<const Content> content_;
};

// The bytes of a pack. Modules are sorted; of two with the same key the one for the lower Vulkan version stays.
// Errors: parse (not a SPIR-V module, or one with specialization constants left); invalid_plan (two different modules
// with the same key and Vulkan version: they come from different versions of Sectile).
Result<std::vector<std::byte>> make_pack(std::vector<PackedModule> modules, std::vector<std::string> manifests);

}  // namespace sectile
