// A kernel's words (lib/words.abi.h, src/plan/words.hpp): what the host packs by a list is what both languages read by
// it, whatever conditions hold; and the compiler refuses a word that is left out, or of another type.
#include "plan/words.hpp"
#include "plan/permute/kernel_words.hpp"
#include "words_trial.abi.h"
#include "words_trial.hpp"

#include <doctest/doctest.h>

#include <array>
#include <utility>
#include <vector>

using namespace sectile;
using namespace sectile::detail;

namespace sectile::words_trial {
namespace {

SECTILE_WORDS(TrialWords, TrialConstants, TRIAL_WORDS);
SECTILE_WORDS(TrialImageWords, TrialConstants, TRIAL_IMAGE_WORDS);

#define PAIR_WORDS(WORD, WORD_IF, WORDS, WORDS_IF) \
  WORD(uint, last_s, stream)                       \
  WORD(uint, last_d, last_s)
SECTILE_WORDS(PairWords, NoConstants, PAIR_WORDS);

// ---- what does not compile

template <class W>
concept TakesAll = requires { W{.last_s = 1u, .last_d = 2u}; };
template <class W>
concept TakesTheFirstAlone = requires { W{.last_s = 1u}; };
template <class W>
concept TakesTheLastAlone = requires { W{.last_d = 1u}; };
template <class W>
concept TakesNone = requires { W{}; };
template <class W>
concept TakesASignedNumber = requires { W{.last_s = 1, .last_d = 2u}; };
template <class W>
concept TakesALongNumber = requires { W{.last_s = 1ul, .last_d = 2u}; };
template <class W>
concept TakesABool = requires { W{.last_s = true, .last_d = 2u}; };
static_assert(TakesAll<PairWords>);
static_assert(!TakesTheFirstAlone<PairWords>);
static_assert(!TakesTheLastAlone<PairWords>);
static_assert(!TakesNone<PairWords>);
static_assert(!TakesASignedNumber<PairWords>);
static_assert(!TakesALongNumber<PairWords>);
static_assert(!TakesABool<PairWords>);
// A word that may be absent has to be given as well.
template <class W>
concept TakesNoLdc = requires(WordAddress c, std::array<float, 2> p) {
  W{.c_address = c,
    .parameter = p,
    .size_m = 1u,
    .alpha = 1.0f,
    .beta = 1.0f,
    .splits = 1u,
    .a_batch = std::uint64_t{},
    .c_batch = std::uint64_t{}};
};
static_assert(!TakesNoLdc<TrialWords>);

#define SKIPPED_WORDS(WORD, WORD_IF, WORDS, WORDS_IF) \
  WORD(uint, first, stream)                           \
  WORD(uint, second, first)                           \
  WORD(uint, third, first)
struct Skipped {
  using Constants = NoConstants;
  static constexpr void each(NoConstants, auto visit) {
    SKIPPED_WORDS(SECTILE_EACH_WORD, SECTILE_EACH_WORD_IF, SECTILE_EACH_WORDS, SECTILE_EACH_WORDS_IF)
  }
};
static_assert(!in_order<Skipped>(), "two words would have one place");

// ---- what is packed

struct Sink {
  std::vector<std::uint32_t> words;
  bool offset64 = false;
  std::vector<std::pair<std::size_t, WordAddress>> addresses;
  void add(std::uint32_t word) { words.push_back(word); }
  // record() would write the address; here it has bits of its own.
  void add_address(const WordAddress& address) {
    addresses.emplace_back(words.size(), address);
    words.push_back(0xADD0'0001);
    words.push_back(0xADD0'0002);
  }
};

Values expected(const TrialConstants& constants, bool offset64) {
  const auto has = [&](std::uint32_t bits) { return (constants.kEpilogue & bits) != 0; };
  Values v{
      .alpha = 0.5f, .size_m = 770, .splits = 1, .guard = 0x600D, .padding = {3, 0xFFFF}, .shifts = {31, 254, 0x321}};
  for (std::uint32_t i = 0; i < constants.kParameters; ++i) v.parameter.at(i) = i == 0 ? -0.0f : 6.5f;
  if (has(TRIAL_C)) v.c_address = 0xADD0'0002'ADD0'0001, v.ldc = 1024;
  if (has(TRIAL_C | TRIAL_C_IS_D)) v.beta = -2;
  if (has(TRIAL_SPLIT)) v.splits = 4;
  if (has(TRIAL_BATCHED)) {
    v.a_batch = 0x1'2345'6789;
    v.pitch = {7, offset64 ? 0x7'0000'0001 : 1};
    if (has(TRIAL_C)) v.c_batch = 0xFEDC'BA98'7654'3210;
  }
  if (has(TRIAL_PADDED)) v.first_pixel = -5;
  return v;
}

Sink packed(const TrialConstants& constants, bool offset64) {
  Sink sink{.words = {}, .offset64 = offset64, .addresses = {}};
  const std::array parameter{-0.0f, 6.5f};
  TrialWords{.c_address = WordAddress{3, 64},
             .parameter = parameter,
             .size_m = 770u,
             .alpha = 0.5f,
             .ldc = 1024u,
             .beta = -2.0f,
             .splits = 4u,
             .a_batch = std::uint64_t{0x1'2345'6789},
             .c_batch = std::uint64_t{0xFEDC'BA98'7654'3210}}
      .pack(sink, constants);
  const std::array<std::int64_t, 2> pitch{7, 0x7'0000'0001};
  TrialImageWords{.padding = U16x2{3, 0xFFFF},
                  .first_pixel = -5,
                  .shifts = U8x2U16{31, 254, 0x321},
                  .pitch = pitch,
                  .guard = 0x600Du}
      .pack(sink, constants);
  return sink;
}

template <class Visit>
void each_case(Visit visit) {
  for (const bool offset64 : {false, true})
    for (std::uint32_t parameters = 0; parameters <= 2; ++parameters)
      for (std::uint32_t epilogue = 0; epilogue < 32; ++epilogue) visit(TrialConstants{epilogue, parameters}, offset64);
}

}  // namespace

TEST_CASE("both languages read by name what the host packs, whatever conditions hold") {
  each_case([](const TrialConstants& constants, bool offset64) {
    CAPTURE(constants.kEpilogue);
    CAPTURE(constants.kParameters);
    CAPTURE(offset64);
    const Sink sink = packed(constants, offset64);
    Values want = expected(constants, offset64);
    want.words = static_cast<std::uint32_t>(sink.words.size());
    CHECK(read_as_cuda(constants, sink.words, offset64) == want);
    CHECK(read_as_glsl(constants, sink.words, offset64) == want);
  });
}

TEST_CASE("the host reads its own words by name") {
  each_case([](const TrialConstants& constants, bool offset64) {
    const Sink sink = packed(constants, offset64);
    const Values want = expected(constants, offset64);
    const std::span<const std::uint32_t> words(sink.words);
    const TrialWordsReader product{constants, words, offset64};
    const std::uint32_t first = size_of<TrialWords>(constants, offset64);
    const TrialImageWordsReader image{constants, words.subspan(first), offset64};
    CHECK(first + size_of<TrialImageWords>(constants, offset64) == words.size());
    CHECK(product.c_address() == want.c_address);
    CHECK(product.ldc() == want.ldc);
    CHECK(product.beta() == want.beta);
    CHECK(product.splits() == want.splits);
    CHECK(product.c_batch() == want.c_batch);
    CHECK(image.padding().y == want.padding[1]);
    CHECK(image.first_pixel() == want.first_pixel);
    CHECK(image.shifts().z == want.shifts[2]);
    CHECK(image.pitch(1) == want.pitch[1]);
    CHECK(image.guard() == want.guard);
  });
}

TEST_CASE("an address is packed where the list has it, and only then") {
  each_case([](const TrialConstants& constants, bool offset64) {
    const Sink sink = packed(constants, offset64);
    REQUIRE(sink.addresses.size() == ((constants.kEpilogue & TRIAL_C) != 0 ? 1 : 0));
    if (sink.addresses.empty()) return;
    CHECK(sink.addresses[0].first == place_of<TrialWords>("c_address", constants, offset64));
    CHECK(sink.addresses[0].second.operand == 3);
    CHECK(sink.addresses[0].second.byte_offset == 64);
  });
}

TEST_CASE("the longest stream of a permute has as many words as the headers say") {
  const PermuteConstants most{.kAxes = PERMUTE_MAX_AXES,
                              .kStage = PERMUTE_FUSED_ALPHA | PERMUTE_FUSED_SCALE | PERMUTE_FUSED_BIAS |
                                        PERMUTE_FUSED_ADD | SECTILE_ACTIVATION_CLAMP << PERMUTE_FUSED_ACTIVATION_SHIFT};
  const std::uint32_t every = PERMUTE_MAX_AXES * size_of<PermuteAxisWords>({}, true) +
                              size_of<PermuteShiftWords>(most) + PERMUTE_MAX_BOUNDS * size_of<PermuteBoundWords>(most);
  const std::uint32_t stage = size_of<PermuteFusedFirstWords>(most) + size_of<PermuteFusedLastWords>(most, true);
  CHECK(every + stage + size_of<PermuteFusedBlockWords>() == PERMUTE_FUSED_MAX_WORDS);
  for (const std::uint32_t own : {size_of<PermuteBoxWords>(), size_of<PermuteRunsWords>({}, true),
                                  size_of<PermuteTileWords>(), size_of<PermuteWordsWords>()})
    CHECK(every + own <= PERMUTE_MAX_WORDS);
  CHECK(size_of<PermuteFusedFirstWords>(most) <= PERMUTE_PUSH_WORDS);
  CHECK(size_of<PermuteCopyWords>() == PERMUTE_COPY_PUSH_WORDS);
}

}  // namespace sectile::words_trial
