// glslang takes every kind of word, and every type. The ctest words_glsl compiles this.
#version 460
#extension GL_GOOGLE_include_directive : require
#define offset_t int
#define SECTILE_STRIDE_WORDS 1u
#include "lib/words.abi.h"
#include "abi/words_trial.abi.h"

layout(local_size_x = 1) in;
layout(constant_id = 0) const uint kEpilogue = 0u;
layout(constant_id = 1) const uint kParameters = 1u;
layout(push_constant) uniform Push { uint words[32]; } push;
layout(set = 0, binding = 0) buffer Out { float sum; };

uint word(const uint k) { return push.words[k]; }
offset_t stride_at(const uint k) { return offset_t(word(k)); }
const uint stream_end = 0u;
SECTILE_READ(TRIAL_WORDS)
const uint product_end = stream_end + SECTILE_SIZE(TRIAL_WORDS);
SECTILE_READ(TRIAL_IMAGE_WORDS)

void main() {
  uvec2 two = c_address() + a_batch() + c_batch() + padding();
  uvec3 three = shifts();
  uint one = size_m() + ldc() + splits() + guard() + uint(pitch(1u)) + uint(first_pixel());
  sum = parameter(0u) + alpha() + beta() + float(two.x + two.y + three.x + three.y + three.z + one);
}
