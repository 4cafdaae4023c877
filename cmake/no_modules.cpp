// No kernel template at all: what sectile::packed links in the place of the embedded ones.
#include <sectile/shaders.hpp>

namespace sectile {

std::span<const EmbeddedModule> embedded_modules() noexcept {
  return {};
}

// Of no module at all: a program without kernels needs no libzstd.
Result<std::vector<std::uint32_t>> EmbeddedModule::words() const {
  return fail(ErrorKind::missing, "kernel", std::string(stem) + "." + std::string(variant));
}

const EmbeddedModule* find_module(std::string_view, std::string_view) noexcept {
  return nullptr;
}

}  // namespace sectile
