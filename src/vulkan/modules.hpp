// Finding a kernel's SPIR-V by its name.
#pragma once

#include <sectile/plan.hpp>
#include <sectile/vulkan.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace sectile::vulkan {

class Modules {
 public:
  // `extra` go before the embedded ones. Names are copied, words are not.
  explicit Modules(std::span<const Module> extra);

  // Errors: missing, with the stems and variants that are there.
  Result<std::span<const std::uint32_t>> find(const KernelName& name) const;

 private:
  struct Entry {
    KernelName name;
    std::span<const std::uint32_t> words;
  };
  std::vector<Entry> entries_;
};

// A module's identity: two plans share a pipeline where the words are the same, whatever their name.
std::array<std::uint64_t, 2> hash_words(std::span<const std::uint32_t> words) noexcept;

}  // namespace sectile::vulkan
