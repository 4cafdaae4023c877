// Host-visible buffers of f16 or f32, as numbers.
#pragma once

#include "gpu.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

inline float half_to_float(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31) return mantissa != 0 ? NAN : (bits >> 15 != 0 ? -INFINITY : INFINITY);
  const float magnitude =
      exponent == 0 ? std::ldexp(float(mantissa), -24) : std::ldexp(float(mantissa + 1024), exponent - 25);
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

// To nearest, ties to even. |value| is at most 65504.
inline std::uint16_t float_to_half(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int step = exponent < -13 ? -24 : exponent - 11;  // of the last bit
  const int units = int(std::nearbyint(std::ldexp(std::fabs(value), -step)));
  // 1024 units are a power of two; a carry into 2048 is the next one.
  return std::uint16_t(sign | (step == -24 ? units : units + ((step + 24) << 10)));
}

class Tensor {
 public:
  Tensor(Gpu& gpu, int count, bool half) : gpu_(gpu), count_(count), half_(half) {
    buffer_ = gpu.make_buffer(VkDeviceSize(count) * (half ? 2 : 4), true);
    poison();
  }
  ~Tensor() { gpu_.destroy(buffer_); }
  Tensor(const Tensor&) = delete;

  // Bytes of 0xff are NaNs in both types.
  void poison() { std::memset(buffer_.mapped, 0xff, buffer_.bytes); }

  // Numbers of both signs, at most `most`.
  void fill(std::mt19937& engine, float most) {
    std::uniform_real_distribution<float> numbers(-most, most);
    for (int i = 0; i < count_; ++i) {
      const std::uint16_t rounded = float_to_half(numbers(engine));
      if (half_) {
        static_cast<std::uint16_t*>(buffer_.mapped)[i] = rounded;
      } else {
        static_cast<float*>(buffer_.mapped)[i] = half_to_float(rounded);
      }
    }
  }

  std::vector<float> values() const {
    std::vector<float> out;
    for (int i = 0; i < count_; ++i)
      out.push_back(half_ ? half_to_float(static_cast<const std::uint16_t*>(buffer_.mapped)[i])
                          : static_cast<const float*>(buffer_.mapped)[i]);
    return out;
  }

  sectile::vulkan::OperandAddress operand() const { return {buffer_.address, buffer_.bytes}; }

 private:
  Gpu& gpu_;
  Buffer buffer_;
  int count_;
  bool half_;
};
