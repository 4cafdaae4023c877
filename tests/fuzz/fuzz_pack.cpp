// Packs from anywhere: refused or taken, never a crash. The bytes as they are; as content behind a right header, since
// no fuzzer guesses a hash; and as a module in a pack of our own making.
#include <sectile/pack.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

using namespace sectile;

namespace {

std::vector<std::byte> sealed(std::span<const std::byte> content) {
  std::vector<std::byte> out(40);
  const std::uint64_t size = content.size();
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(content.data(), content.size()));
  std::memcpy(out.data(), "SECTPACK", 8);
  out[8] = std::byte{1};
  std::memcpy(out.data() + 16, &size, sizeof size);
  std::memcpy(out.data() + 24, digest.digest, sizeof digest.digest);
  out.insert(out.end(), content.begin(), content.end());
  return out;
}

// What was taken comes out of its own bytes again.
void check(const Pack& pack) {
  std::vector<PackedModule> modules(pack.modules().begin(), pack.modules().end());
  const auto again = make_pack(modules, {pack.manifests().begin(), pack.manifests().end()});
  if (!again) std::abort();
  const auto opened = Pack::open(*again);
  if (!opened || opened->modules().size() != modules.size()) std::abort();
  for (const PackedModule& m : modules) {
    Step step;
    step.kernel = m.kernel;
    step.constants = m.constants;
    step.push = m.push;
    if (opened->find(step) == nullptr) std::abort();
    step.kernel.stem += "x";
    (void)opened->nearest(step);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto pack = Pack::open(bytes)) check(*pack);
  if (const auto pack = Pack::open(sealed(bytes))) check(*pack);
  // A header and a capability in front of what was given, so that instructions are reached.
  PackedModule module;
  module.kernel = {"stem", "variant"};
  module.words = {0x07230203, 0x10600, 0, 100, 0, 2u << 16 | 17u, 1};
  const std::size_t words = size / sizeof(std::uint32_t);
  module.words.resize(7 + words);
  if (words > 0) std::memcpy(module.words.data() + 7, data, words * sizeof(std::uint32_t));
  if (const auto made = make_pack({module}, {})) {
    const auto pack = Pack::open(*made);
    if (!pack) std::abort();
    check(*pack);
  }
  return 0;
}
