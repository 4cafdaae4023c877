// Finds a kernel's SPIR-V by name.
#pragma once

#include <sectile/plan.hpp>
#include <sectile/vulkan.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sectile::vulkan {

// The code for a step, and whether its constants are frozen.
struct StepCode {
  std::span<const std::uint32_t> words;
  bool frozen = false;
};

class Modules {
 public:
  // `extra` are preferred to the embedded ones. Names are copied, words are not. With a pack: its modules alone.
  Modules(std::span<const Module> extra, const Pack* pack);

  // Errors: missing, which lists the known names.
  Result<StepCode> find(const Step& step) const;

 private:
  Result<std::span<const std::uint32_t>> find_template(const KernelName& name) const;
  struct Entry {
    KernelName name;
    std::span<const std::uint32_t> words;
  };
  std::vector<Entry> entries_;
  std::optional<Pack> pack_;
};

// A hash of a module's words: plans share a pipeline where the words are the same, whatever the name.
std::array<std::uint64_t, 2> hash_words(std::span<const std::uint32_t> words) noexcept;

}  // namespace sectile::vulkan
