// The embedded modules as they are stored: each opens to the words that were compiled, and a damaged one is an error.
#include <sectile/shaders.hpp>

#include "embedded/texts.hpp"
#include "support/paths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <vector>

using namespace sectile;

namespace {

using Words = std::vector<std::uint32_t>;

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A module whose stored bytes are these. Their memory ends where they end, so that the sanitizers see a read behind
// them.
Result<Words> opened(std::vector<std::byte> stored, std::span<const std::byte> base = {}) {
  stored.shrink_to_fit();
  return EmbeddedModule{"stem", "variant", stored, base}.words();
}

void check_refused(std::vector<std::byte> stored, std::span<const std::byte> base = {}) {
  const auto words = opened(std::move(stored), base);
  REQUIRE_FALSE(words.has_value());
  CHECK(words.error().kind == ErrorKind::parse);
  CHECK(words.error().what == "stem.variant");
}

std::vector<std::byte> stored_bytes(const EmbeddedModule& m) { return {m.stored.begin(), m.stored.end()}; }

}  // namespace

TEST_CASE("each module opens to the file that was compiled, and each file is embedded") {
  std::set<std::string> embedded, compiled;
  for (const EmbeddedModule& m : embedded_modules()) {
    const std::string name = std::string(m.stem) + "." + std::string(m.variant) + ".spv";
    CAPTURE(name);
    CHECK(embedded.insert(name).second);
    const auto words = m.words();
    REQUIRE_MESSAGE(words.has_value(), words.error().message());
    const std::string file = file_bytes(SECTILE_SPIRV_FOLDER "/" + name);
    REQUIRE(words->size() * 4 == file.size());
    CHECK(std::memcmp(words->data(), file.data(), file.size()) == 0);
  }
  std::ifstream names(SECTILE_SPIRV_FOLDER "/modules.txt");
  for (std::string name; std::getline(names, name);) compiled.insert(name);
  CHECK(embedded == compiled);
}

TEST_CASE("cut, empty and foreign bytes are no module") {
  const auto good = stored_bytes(embedded_modules().front());
  check_refused({});
  check_refused({std::byte{1}});
  check_refused({good.begin(), good.end() - 1});
  check_refused(std::vector<std::byte>(1024));
  check_refused(std::vector<std::byte>(1024, std::byte{0xFF}));
  auto more = good;
  more.push_back(std::byte{0});
  check_refused(more);
}

#if SECTILE_COMPRESS
// The smallest module whose frame refers to another one, or to none.
const EmbeddedModule& smallest(bool refers) {
  const EmbeddedModule* out = nullptr;
  for (const EmbeddedModule& m : embedded_modules())
    if (m.base.empty() != refers && (out == nullptr || m.stored.size() < out->stored.size())) out = &m;
  REQUIRE(out != nullptr);
  return *out;
}

// Without comments other than lines of //!, and without spaces. What looks like a comment in a string stays.
std::string code_of(const std::string& text) {
  static const std::regex pieces(R"re(("(?:\\.|[^"\\])*"|//!.*)|//.*|/\*[^]*?\*/)re");
  std::string code = std::regex_replace(text, pieces, "$1");
  std::erase(code, ' ');
  return code;
}

TEST_CASE("CUDA's texts open to the code of the files that they were made of, line by line") {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_folder() + "/shaders")) {
    const std::string name = std::filesystem::relative(entry.path(), test::source_folder() + "/shaders").string();
    const bool source = name.ends_with(".cu"), header = name.ends_with("abi.h") || name.ends_with(".cuh");
    if (!source && !header) continue;
    CAPTURE(name);
    const auto texts = source ? embedded_cuda_sources() : embedded_cuda_headers();
    const std::string stem = source ? entry.path().stem().string() : name;
    const auto found = std::ranges::find(texts, stem, &EmbeddedSource::stem);
    REQUIRE(found != texts.end());
    std::string code(found->text);
    std::erase(code, ' ');
    CHECK(code == code_of(file_bytes(entry.path().string())));
    files.insert(name);
  }
  CHECK(files.size() == embedded_cuda_sources().size() + embedded_cuda_headers().size());
}

TEST_CASE("of damaged CUDA texts nothing is taken") {
  const auto empty = [](std::span<const std::byte> stored) {
    const detail::CudaTexts texts(stored);
    return texts.sources().empty() && texts.headers().empty();
  };
  CHECK(empty({}));
#if SECTILE_COMPRESS
  CHECK(empty(std::as_bytes(std::span("source a 1"))));
#endif
}

TEST_CASE("a module whose frame refers to another one is an error where that one is damaged, missing or wrong") {
  const EmbeddedModule& m = smallest(true);
  std::vector<std::byte> base(m.base.begin(), m.base.end());
  CHECK(opened(stored_bytes(m), base).value() == m.words().value());
  check_refused(stored_bytes(m));
  check_refused(stored_bytes(m), smallest(false).stored);
  base[base.size() / 2] ^= std::byte{1};
  check_refused(stored_bytes(m), base);
}

TEST_CASE("a damaged frame is an error, wherever the damage is") {
  bool refers = false;
  SUBCASE("one that refers to none") {}
  SUBCASE("one that refers to another one") { refers = true; }
  const EmbeddedModule& module = smallest(refers);
  const auto good = stored_bytes(module);
  const Words words = module.words().value();
  for (std::size_t size = 0; size < good.size(); ++size)
    check_refused({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}, module.base);
  std::size_t refused = 0, harmless = 0;
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const unsigned mask : {0x01u, 0x10u, 0x80u, 0xFFu}) {
      CAPTURE(at);
      CAPTURE(mask);
      auto damaged = good;
      damaged[at] ^= static_cast<std::byte>(mask);
      const auto got = opened(damaged, module.base);
      // Some bits of a frame change nothing.
      if (got) CHECK(*got == words);
      ++(got ? harmless : refused);
    }
  CHECK(refused > good.size() * 3);
  CHECK(harmless * 20 < refused);
}

TEST_CASE("a frame that states a wrong size is an error, and takes no memory of that size") {
  const auto& largest = *std::ranges::max_element(embedded_modules(), {}, [](auto& m) { return m.stored.size(); });
  const auto good = stored_bytes(largest);
  const Words words = largest.words().value();
  for (std::size_t at = 4; at < 10; ++at)  // what follows the frame's magic number: flags and the size
    for (unsigned bit = 0; bit < 8; ++bit) {
      auto damaged = good;
      damaged[at] ^= static_cast<std::byte>(1u << bit);
      if (const auto got = opened(damaged, largest.base)) CHECK(*got == words);
    }
  // The magic number, flags for a size of eight bytes, 2^62 of them, an empty last block.
  const unsigned char huge[] = {0x28, 0xB5, 0x2F, 0xFD, 0xE0, 0, 0, 0, 0, 0, 0, 0, 0x40, 1, 0, 0};
  std::vector<std::byte> bytes(sizeof(huge));
  std::memcpy(bytes.data(), huge, sizeof(huge));
  check_refused(bytes);
}
#endif
