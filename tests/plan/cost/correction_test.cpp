// The logarithms and powers of corrections against double arithmetic, and their limits.
#include "plan/cost/correction.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

using namespace sectile;

namespace {

// Small ones, those around powers of two, and others of every length.
std::vector<std::uint64_t> many_values(int most_bits) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t value = 1; value < 5000; ++value) all.push_back(value);
  std::mt19937_64 random(20261127);
  for (int bits = 2; bits <= most_bits; ++bits) {
    const std::uint64_t power = std::uint64_t{1} << (bits - 1);
    for (const std::uint64_t value : {power - 1, power, power + 1, power + (power - 1)}) all.push_back(value);
    for (int i = 0; i < 200; ++i) all.push_back(power + random() % power);
  }
  std::ranges::sort(all);
  return all;
}

// Whether a power is as near as it should be. The value is rounded down before it is doubled or doubled twice.
bool near(std::int64_t ours, double real, std::int32_t exponent) {
  const double rounding = std::exp2(std::max(0, exponent / 1024));
  return std::abs(static_cast<double>(ours) - real) <= rounding + real / 1000;
}

}  // namespace

TEST_CASE("a logarithm by integers is at most 1.5 below and half above the real one, and monotonic") {
  CHECK(detail::log2_1024(0) == 0);
  CHECK(detail::log2_1024(1) == 0);
  for (int bit = 0; bit < 64; ++bit) CHECK(detail::log2_1024(std::uint64_t{1} << bit) == 1024 * bit);
  std::int32_t last = 0;
  for (const std::uint64_t value : many_values(64)) {
    const std::int32_t ours = detail::log2_1024(value);
    const double error = ours - 1024 * std::log2(static_cast<double>(value));
    if (error > 0.51 || error < -1.51 || ours < last) FAIL_CHECK(value << " has " << ours << ", after " << last);
    last = ours;
  }
  CHECK(detail::log2_1024(~std::uint64_t{0}) <= 64 * 1024);
}

TEST_CASE("a power by integers is within a thousandth of the real one, and monotonic in both arguments") {
  for (const std::int32_t exponent : {-2048, -1025, -1024, -1023, -700, -1, 0, 1, 15, 16, 17, 700, 1023, 1024, 2048}) {
    CAPTURE(exponent);
    std::int64_t last = 0;
    for (const std::uint64_t value : many_values(55)) {
      const std::int64_t ours = detail::times_exp2(static_cast<std::int64_t>(value), exponent);
      const double real = static_cast<double>(value) * std::exp2(exponent / 1024.0);
      if (!near(ours, real, exponent) || ours < last)
        FAIL_CHECK(value << " has " << ours << ", not " << real << ", after " << last);
      last = ours;
    }
  }
  for (const std::int64_t value : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{123456789012}}) {
    std::int64_t last = 0;
    for (std::int32_t exponent = -4096; exponent <= 4096; ++exponent) {
      const std::int64_t ours = detail::times_exp2(value, exponent);
      const double real = static_cast<double>(value) * std::exp2(exponent / 1024.0);
      if (!near(ours, real, exponent) || ours < last)
        FAIL_CHECK(value << " times 2^" << exponent << "/1024 has " << ours << ", not " << real);
      last = ours;
    }
  }
}

TEST_CASE("a power by integers is exact where it can be, and ends at 2^62") {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{1}, std::int64_t{77}, kMost - 1, kMost})
    CHECK(detail::times_exp2(value, 0) == value);
  CHECK(detail::times_exp2(77, 3 * 1024) == 77 * 8);
  CHECK(detail::times_exp2(77, -3 * 1024) == 77 / 8);
  CHECK(detail::times_exp2(0, 2048) == 0);
  CHECK(detail::times_exp2(kMost, 1) == kMost);
  CHECK(detail::times_exp2(kMost / 2, 2048) == kMost);
  CHECK(detail::times_exp2(1, 1 << 20) == kMost);
  CHECK(detail::times_exp2(kMost, -(1 << 20)) == 1);
}

TEST_CASE("a correction is the sum of its parts, between a quarter and four times") {
  detail::Correction c;
  detail::RowNumbers row;
  detail::Features features = {};
  CHECK(detail::correction_of(c, row, features) == 0);
  c.constant = 100;
  row.offset = -30;
  CHECK(detail::correction_of(c, row, features) == 70);
  features.front() = 2048;
  c.slope.front() = 512;  // half of a factor of 4
  features.back() = 1024;
  c.slope.back() = -100;
  CHECK(detail::correction_of(c, row, features) == 70 + 1024 - 100);
  for (const std::int32_t sign : {1, -1}) {
    detail::Correction most;
    most.constant = sign * 16384;
    most.slope.fill(sign * 16384);
    detail::Features all;
    all.fill(64 * 1024);
    CHECK(detail::correction_of(most, {.rate = 1, .int8_rate = 0, .offset = sign * 16384}, all) == sign * 2048);
    detail::Correction over;
    over.constant = sign * 2049;
    CHECK(detail::correction_of(over, {}, {}) == sign * 2048);
  }
}
