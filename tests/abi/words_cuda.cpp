// CUDA's accessors of lib/words.abi.h on the host.
#include "abi/words_trial.abi.h"
#include "lib/words.abi.h"
#include "words_trial.hpp"

#include <bit>

namespace sectile::words_trial {

namespace {

using uint = unsigned;
using uint64 = std::uint64_t;
using offset_t = std::int64_t;
struct uint2 {
  uint x, y;
};
struct uint3 {
  uint x, y, z;
};
float __uint_as_float(uint bits) { return std::bit_cast<float>(bits); }  // NOLINT(bugprone-reserved-identifier)

using Push = std::vector<std::uint32_t>;
#define SECTILE_PUSH Push
#define SECTILE_STRIDE_WORDS stride_words
#define __device__
#define __forceinline__
#define constexpr const

struct Kernel {
  const uint kEpilogue, kParameters, stride_words;
  const uint stream_end = 0;
  static uint word(const Push& push, uint k) { return push.at(k); }
  offset_t stride_at(const Push& push, uint k) const {
    return static_cast<offset_t>(word(push, k) | (stride_words == 2 ? uint64{word(push, k + 1)} << 32 : 0));
  }
  SECTILE_READ(TRIAL_WORDS)
  const uint product_end = stream_end + SECTILE_SIZE(TRIAL_WORDS);
  SECTILE_READ(TRIAL_IMAGE_WORDS)
  const uint all = product_end + SECTILE_SIZE(TRIAL_IMAGE_WORDS);
};
#undef constexpr

}  // namespace

Values read_as_cuda(const TrialConstants& constants, const std::vector<std::uint32_t>& words, bool offset64) {
  Kernel k{constants.kEpilogue, constants.kParameters, offset64 ? 2u : 1u};
  Values out{.c_address = k.c_address(words),
             .a_batch = k.a_batch(words),
             .c_batch = k.c_batch(words),
             .alpha = k.alpha(words),
             .beta = k.beta(words),
             .size_m = k.size_m(words),
             .ldc = k.ldc(words),
             .splits = k.splits(words),
             .guard = k.guard(words),
             .padding = {k.padding(words).x, k.padding(words).y},
             .first_pixel = k.first_pixel(words),
             .shifts = {k.shifts(words).x, k.shifts(words).y, k.shifts(words).z},
             .pitch = {k.pitch(words, 0), k.pitch(words, 1)},
             .words = k.all};
  for (uint i = 0; i < constants.kParameters; ++i) out.parameter.at(i) = k.parameter(words, i);
  return out;
}

}  // namespace sectile::words_trial
