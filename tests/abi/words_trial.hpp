// The words of words_trial.abi.h as a kernel reads them, in each language: words_cuda.cpp and words_glsl.cpp compile
// the accessors of lib/words.abi.h for the host. As in tests/emulated a kernel's constants are members there.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace sectile::words_trial {

struct TrialConstants {
  std::uint32_t kEpilogue = 0, kParameters = 0;
};

// All accessors' values; words that are not there as the accessors have them.
struct Values {
  std::uint64_t c_address = 0, a_batch = 0, c_batch = 0;
  std::array<float, 2> parameter{};
  float alpha = 0, beta = 0;
  std::uint32_t size_m = 0, ldc = 0, splits = 0, guard = 0;
  std::array<std::uint32_t, 2> padding{};
  std::int32_t first_pixel = 0;
  std::array<std::uint32_t, 3> shifts{};
  std::array<std::int64_t, 2> pitch{};
  std::uint32_t words = 0;  // of both lists
  bool operator==(const Values&) const = default;
};

Values read_as_cuda(const TrialConstants& constants, const std::vector<std::uint32_t>& words, bool offset64);
Values read_as_glsl(const TrialConstants& constants, const std::vector<std::uint32_t>& words, bool offset64);

}  // namespace sectile::words_trial
