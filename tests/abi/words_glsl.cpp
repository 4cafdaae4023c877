// GLSL's accessors of lib/words.abi.h on the host. A file of its own in unity builds: the header has one language.
#define GL_core_profile 1
#include "abi/words_trial.abi.h"
#include "lib/words.abi.h"
#include "words_trial.hpp"

#include <bit>

namespace sectile::words_trial {

namespace {

using uint = unsigned;
using offset_t = std::int64_t;
struct uvec2 {
  uint x, y;
  explicit uvec2(uint both) : x(both), y(both) {}
  uvec2(uint first, uint second) : x(first), y(second) {}
};
struct uvec3 {
  uint x, y, z;
  uvec3(uint first, uint second, uint third) : x(first), y(second), z(third) {}
};
float uintBitsToFloat(uint bits) { return std::bit_cast<float>(bits); }

#define SECTILE_STRIDE_WORDS stride_words

struct Kernel {
  const std::vector<std::uint32_t>& words;
  const uint kEpilogue, kParameters, stride_words;
  const uint stream_end = 0;
  uint word(uint k) const { return words.at(k); }
  offset_t stride_at(uint k) const {
    return static_cast<offset_t>(word(k) | (stride_words == 2 ? std::uint64_t{word(k + 1)} << 32 : 0));
  }
  SECTILE_READ(TRIAL_WORDS)
  const uint product_end = stream_end + SECTILE_SIZE(TRIAL_WORDS);
  SECTILE_READ(TRIAL_IMAGE_WORDS)
  const uint all = product_end + SECTILE_SIZE(TRIAL_IMAGE_WORDS);
};

std::uint64_t number(uvec2 v) { return v.x | std::uint64_t{v.y} << 32; }

}  // namespace

Values read_as_glsl(const TrialConstants& constants, const std::vector<std::uint32_t>& words, bool offset64) {
  Kernel k{words, constants.kEpilogue, constants.kParameters, offset64 ? 2u : 1u};
  Values out{.c_address = number(k.c_address()),
             .a_batch = number(k.a_batch()),
             .c_batch = number(k.c_batch()),
             .alpha = k.alpha(),
             .beta = k.beta(),
             .size_m = k.size_m(),
             .ldc = k.ldc(),
             .splits = k.splits(),
             .guard = k.guard(),
             .padding = {k.padding().x, k.padding().y},
             .first_pixel = k.first_pixel(),
             .shifts = {k.shifts().x, k.shifts().y, k.shifts().z},
             .pitch = {k.pitch(0), k.pitch(1)},
             .words = k.all};
  for (uint i = 0; i < constants.kParameters; ++i) out.parameter.at(i) = k.parameter(i);
  return out;
}

}  // namespace sectile::words_trial
