#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

Values to_nhwc(const Sizes& s, const Values& nchw) {
  Values out;
  for (int n = 0; n < s.n; ++n)
    for (int y = 0; y < s.h; ++y)
      for (int x = 0; x < s.w; ++x)
        for (int c = 0; c < s.c; ++c) out.push_back(nchw[((n * s.c + c) * s.h + y) * s.w + x]);
  return out;
}

static Expected filtered(const Sizes& s, const Values& nhwc, const Values& filters, int n, int y, int x, int k) {
  Expected sum;
  for (int c = 0; c < s.c; ++c)
    for (int r = 0; r < 3; ++r)
      for (int t = 0; t < 3; ++t) {
        const int in_y = y + r - 1, in_x = x + t - 1;  // p=1: a border of zeros
        if (in_y < 0 || in_y >= s.h || in_x < 0 || in_x >= s.w) continue;
        const double product =
            double(nhwc[((n * s.h + in_y) * s.w + in_x) * s.c + c]) * filters[((k * s.c + c) * 3 + r) * 3 + t];
        sum.value += product;
        sum.magnitude += std::fabs(product);
      }
  return sum;
}

std::vector<Expected> convolve(const Sizes& s, const Values& nhwc, const Values& filters, const Values& bias) {
  std::vector<Expected> out;
  for (int n = 0; n < s.n; ++n)
    for (int y = 0; y < s.h; ++y)
      for (int x = 0; x < s.w; ++x)
        for (int k = 0; k < s.k; ++k) {
          const Expected sum = filtered(s, nhwc, filters, n, y, x, k);
          out.push_back({std::max(sum.value + bias[k], 0.0), sum.magnitude + std::fabs(bias[k])});
        }
  return out;
}

std::vector<Expected> linear(const Sizes& s, int outputs, const Values& x, const Values& weights, const Values& bias) {
  std::vector<Expected> out;
  for (int m = 0; m < s.n; ++m)
    for (int n = 0; n < outputs; ++n) {
      Expected sum{bias[n], std::fabs(bias[n])};
      for (int k = 0; k < s.row(); ++k) {
        const double product = double(x[m * s.row() + k]) * weights[n * s.row() + k];
        sum.value += product;
        sum.magnitude += std::fabs(product);
      }
      out.push_back(sum);
    }
  return out;
}

double worst_error(const std::vector<Expected>& expected, const Values& got, int terms, double half_step) {
  if (expected.size() != got.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    // A sum in f32 loses at most 2^-24 of the magnitude at each addition; over many terms the losses cancel, and grow
    // with the root of their number. 1e-7: what is below f16's normal numbers.
    const double allowed = 4 * std::sqrt(double(terms)) * 0x1p-24 * expected[i].magnitude +
                           half_step * std::fabs(expected[i].value) + 1e-7;
    const double error = std::fabs(got[i] - expected[i].value) / allowed;
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  return worst;
}
