// The lists of the kernels of GEMMs and convolutions: whatever conditions hold, both languages read each word where the
// host packs it, and no stream is longer than its kernel's constants.
#include "kernel_words.hpp"
#include "plan/conv2d/kernel_words.hpp"
#include "plan/gemm/step_words.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <span>

namespace sectile::kernel_words {

namespace {

using namespace sectile::detail;

std::uint64_t number(std::uint32_t v) { return v; }
std::uint64_t number(std::uint64_t v) { return v; }
std::uint64_t number(float v) { return std::bit_cast<std::uint32_t>(v); }
std::uint64_t number(U16x2 v) { return v.x | std::uint64_t{v.y} << 32; }
std::uint64_t number(U8x2U16 v) { return v.x | v.y << 8 | v.z << 16; }

// The words that are there, as the host's lists say.
template <class Words>
void read(Read& out, const typename Words::Constants& constants, std::span<const std::uint32_t> words) {
  Words::each(constants, [&](std::string_view name, std::string_view, auto type, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      out.words.emplace_back(name, number(type.get(words.subspan(out.end), false)));
      out.end += type.size(false);
    }
  });
}

Read read_as_host(Stream stream, const Constants& c, std::span<const std::uint32_t> words) {
  const GemmConstants gemm{c.kEpilogue, c.kBType};
  const Conv2dConstants conv2d{c.kPrologue, c.kGatheredSide, c.kFlattenedBatch};
  Read out;
  read<GemmAddressWords>(out, gemm, words);
  if (stream == Stream::gathered || stream == Stream::direct || stream == Stream::winograd_input)
    read<Conv2dPrologueWords>(out, conv2d, words);
  read<GemmActivationWords>(out, gemm, words);
  if (stream == Stream::gemm || stream == Stream::gathered) read<GemmWords>(out, gemm, words);
  if (stream == Stream::gathered) read<Conv2dGatherWords>(out, conv2d, words);
  if (stream == Stream::reduce) read<MatmulReduceWords>(out, gemm, words);
  if (stream == Stream::direct) read<Conv2dDirectWords>(out, gemm, words);
  if (stream == Stream::winograd_filter) read<Conv2dWinogradFilterWords>(out, gemm, words);
  if (stream == Stream::winograd_input) read<Conv2dWinogradInputWords>(out, gemm, words);
  if (stream == Stream::winograd_output) read<Conv2dWinogradOutputWords>(out, gemm, words);
  return out;
}

// All combinations of what the epilogue's conditions name, each with some of the others. A is gathered, or B, or B with
// flattened columns.
template <class Visit>
void each_case(Visit visit) {
  constexpr std::array kBits{
      GEMM_EPILOGUE_C,        GEMM_EPILOGUE_C_IS_D,  GEMM_EPILOGUE_BIAS_ROW, GEMM_EPILOGUE_SCALE_COLUMN,
      GEMM_EPILOGUE_RESIDUAL, GEMM_EPILOGUE_A_SCALE, GEMM_EPILOGUE_BATCHED,  GEMM_EPILOGUE_SPLIT,
      GEMM_EPILOGUE_PUSHED};
  constexpr std::array<std::uint32_t, 3> kActivations{0, SECTILE_ACTIVATION_LEAKY_RELU, SECTILE_ACTIVATION_CLAMP};
  std::uint32_t others = 0;
  for (std::uint32_t set = 0; set < 1u << kBits.size(); ++set) {
    std::uint32_t epilogue = 0;
    for (std::size_t i = 0; i < kBits.size(); ++i)
      if ((set >> i & 1) != 0) epilogue |= static_cast<std::uint32_t>(kBits.at(i));
    for (const std::uint32_t activation : kActivations)
      for (int more = 0; more < 5; ++more) {
        others = (others + 1) % 24;
        visit(Constants{.kEpilogue = epilogue | activation << GEMM_EPILOGUE_ACTIVATION_SHIFT,
                        .kBType = others < 12 ? std::uint32_t{SECTILE_TYPE_F16} : std::uint32_t{SECTILE_TYPE_Q4},
                        .kPrologue = others / 3 % 4,
                        .kGatheredSide = others % 3 == 0 ? 0u : 1u,
                        .kFlattenedBatch = others % 3 == 2 ? 1u : 0u});
      }
  }
}

constexpr std::array kStreams{Stream::gemm,           Stream::gathered,        Stream::reduce,
                              Stream::direct,         Stream::winograd_filter, Stream::winograd_input,
                              Stream::winograd_output};

std::vector<std::uint32_t> distinct_words() {
  std::vector<std::uint32_t> words(GEMM_MOST_WORDS);
  for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = 0x9e3779b9u * (i + 1);
  return words;
}

}  // namespace

TEST_CASE("kernels read the words of GEMMs and convolutions where the host packs them") {
  const std::vector<std::uint32_t> words = distinct_words();
  std::uint64_t cases = 0, wrong = 0;
  for (const Stream stream : kStreams) {
    CAPTURE(static_cast<int>(stream));
    each_case([&](const Constants& constants) {
      ++cases;
      const Read host = read_as_host(stream, constants, words), cuda = read_as_cuda(stream, constants, words);
      // Accessors of words that are not there return something as well.
      std::set<std::string_view> there;
      for (const auto& [name, value] : host.words) there.insert(name);
      Read found = cuda;
      std::erase_if(found.words, [&](const auto& word) { return !there.contains(word.first); });
      const bool good = found == host && cuda == read_as_glsl(stream, constants, words);
      if (good) return;
      CAPTURE(constants.kEpilogue);
      CAPTURE(constants.kBType);
      CAPTURE(constants.kPrologue);
      CAPTURE(constants.kGatheredSide);
      if (++wrong < 4) CHECK(good);
    });
  }
  CHECK(wrong == 0);
  CHECK(cases == kStreams.size() * 512 * 3 * 5);
}

TEST_CASE("the longest stream of a GEMM or a convolution has no more words than a step takes") {
  const std::vector<std::uint32_t> words = distinct_words();
  for (const Stream stream : kStreams) {
    CAPTURE(static_cast<int>(stream));
    std::uint32_t most = 0;
    each_case([&](const Constants& constants) { most = std::max(most, read_as_host(stream, constants, words).end); });
    const bool further = stream == Stream::gathered || stream == Stream::direct || stream == Stream::winograd_input;
    CHECK(most <= (further ? GEMM_MOST_WORDS : GEMM_MAX_WORDS));
    static_assert(StepWords::kMost >= GEMM_MOST_WORDS);
  }
}

}  // namespace sectile::kernel_words
