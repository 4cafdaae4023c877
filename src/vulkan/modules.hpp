// Finds a kernel's SPIR-V by name.
#pragma once

#include <sectile/plan.hpp>
#include <sectile/shaders.hpp>
#include <sectile/vulkan.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sectile::vulkan {

// The code for a step as it was found: not opened yet, if it is an embedded module.
struct StepCode {
  std::span<const std::uint32_t> given;      // in memory of the application or the pack
  const EmbeddedModule* embedded = nullptr;  // where none is given
  bool frozen = false;                       // its constants have values

  // Plans share a pipeline where this is the same, whatever the kernel's name. Needs no opening.
  std::array<std::uint64_t, 2> hash() const noexcept;
};

// SPIR-V, opened where need be: `opened` is empty where the words are given.
struct Words {
  std::span<const std::uint32_t> given;
  std::vector<std::uint32_t> opened;

  std::span<const std::uint32_t> span() const noexcept { return opened.empty() ? given : opened; }
};

// Errors: parse, for a damaged module.
Result<Words> open(const StepCode& code);

class Modules {
 public:
  // `extra` are preferred to the embedded ones. Names are copied, words are not. With a pack: its modules alone.
  Modules(std::span<const Module> extra, const Pack* pack);

  // Errors: missing, which lists the known names.
  Result<StepCode> find(const Step& step) const;

 private:
  Result<StepCode> find_template(const KernelName& name) const;
  struct Entry {
    KernelName name;
    std::span<const std::uint32_t> words;
  };
  std::vector<Entry> entries_;
  std::optional<Pack> pack_;
};

}  // namespace sectile::vulkan
