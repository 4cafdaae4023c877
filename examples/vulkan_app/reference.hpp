// What the four layers are to compute: plain loops in double precision over the values that the GPU read.
#pragma once

#include <vector>

// The small network of this example: an image of N x C x H x W goes to NHWC, through a 3x3 convolution to K channels
// with bias and relu, and from there as one row of H * W * K to two linear layers.
struct Sizes {
  int n = 2, c = 16, h = 12, w = 20, k = 32, classes = 10, boxes = 16;
  int row() const { return h * w * k; }
};

// A value, and the sum of the magnitudes that were added up: rounding errors are proportional to that.
struct Expected {
  double value = 0, magnitude = 0;
};

using Values = std::vector<float>;

Values to_nhwc(const Sizes& s, const Values& nchw);
std::vector<Expected> convolve(const Sizes& s, const Values& nhwc, const Values& filters, const Values& bias);
std::vector<Expected> linear(const Sizes& s, int outputs, const Values& x, const Values& weights, const Values& bias);

// The largest error, as a part of what is allowed: f32 sums of so many terms, and `half_step` of the result's type
// (2^-11 for f16, 2^-24 for f32). Above 1 the result is wrong; a NaN counts as infinite.
double worst_error(const std::vector<Expected>& expected, const Values& got, int terms, double half_step);
