#include "demo_products.hpp"

#include "reference/conv2d.hpp"

#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace sectile::tools {
namespace {

constexpr std::int64_t kChannels = 3;

// The photograph as one NHWC image. Each channel goes through filters of its own: `filters` are those of one channel,
// row by row, one behind the other, the same for all channels.
struct Filtered {
  Conv2dProblem problem;
  std::vector<float> weights;
};
Filtered filtered(const Picture& photo, std::int64_t side, const std::vector<float>& filters) {
  Conv2dProblem p;
  p.x_layout = p.y_layout = ImageLayout::nhwc;
  p.n = 1;
  p.c = p.groups = kChannels;
  p.h = photo.height;
  p.w = photo.width;
  p.r = p.s = side;
  p.k = kChannels * static_cast<std::int64_t>(filters.size()) / (side * side);
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = side / 2;  // the result is as large as the photograph
  std::vector<float> weights;
  for (std::int64_t c = 0; c < kChannels; ++c) weights.insert(weights.end(), filters.begin(), filters.end());
  return {p, std::move(weights)};
}

// Sobel's filters: how fast a channel rises to the right, and downwards.
std::vector<float> edges() { return {-1, 0, 1, -2, 0, 2, -1, 0, 1, /**/ -1, -2, -1, 0, 0, 0, 1, 2, 1}; }

// A normal distribution of 1.5 pixels; its weights sum to 1.
std::vector<float> blur() {
  constexpr int kRadius = 3;
  constexpr double kPixels = 1.5;
  std::array<double, 2 * kRadius + 1> line{};
  double sum = 0;
  for (int i = 0; i <= 2 * kRadius; ++i) {
    const int distance = i - kRadius;
    const double weight = std::exp(-distance * distance / (2 * kPixels * kPixels));
    line[static_cast<std::size_t>(i)] = weight;
    sum += weight;
  }
  std::vector<float> square;
  for (const double row : line)
    for (const double column : line) square.push_back(static_cast<float>(row * column / (sum * sum)));
  return square;
}

// The results of one channel's filters, which lie side by side, as one number: of the two of `edges` the slope.
std::vector<std::byte> as_picture(const std::vector<float>& values, std::size_t filters) {
  std::vector<std::byte> bytes;
  for (std::size_t at = 0; at < values.size(); at += filters)
    bytes.push_back(as_byte(filters == 1 ? values[at] : std::hypot(values[at], values[at + 1])));
  return bytes;
}

Result<MadePicture> filter(Machine& machine, const Picture& photo, const Filtered& job, const char* name,
                           const char* what, const std::string& out) {
  const auto pixels = as_floats(photo.bytes);
  const reference::ProductData data = {{"x", std::as_bytes(std::span(pixels))},
                                       {"w", std::as_bytes(std::span(job.weights))}};
  const reference::Conv2dDefinition definition(job.problem);
  const auto ran = run_compared(machine, job.problem, data, definition.places(), definition.result(data, {}));
  if (!ran) return std::unexpected(ran.error());
  const auto bytes = as_picture(ran->values, static_cast<std::size_t>(job.problem.k / kChannels));
  if (auto written = write_png(out + "/" + name + ".png", photo.width, photo.height, kChannels, bytes); !written)
    return std::unexpected(written.error());
  return MadePicture{name, what, print(Problem(job.problem)), ran->plan, ran->worst};
}

}  // namespace

Result<std::vector<MadePicture>> filter_photograph(Machine& machine, const Picture& photo, const std::string& out) {
  std::vector<MadePicture> all;
  for (const auto& [job, name, what] :
       {std::tuple(filtered(photo, 3, edges()), "edges", "edges, by 3x3 filters of each channel"),
        std::tuple(filtered(photo, 7, blur()), "blurred", "blurred, by a 7x7 filter of each channel")}) {
    auto made = filter(machine, photo, job, name, what, out);
    if (!made) return std::unexpected(made.error());
    all.push_back(std::move(*made));
  }
  return all;
}

}  // namespace sectile::tools
