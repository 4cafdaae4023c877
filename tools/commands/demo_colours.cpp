#include "demo_products.hpp"

#include "reference/matmul.hpp"

#include <array>

namespace sectile::tools {
namespace {

// One row for each channel of the result, over red, green and blue from 0 to 255; then the bias.
struct Colours {
  const char *name, *what;
  std::array<float, 9> matrix;
  std::array<float, 3> bias;
};
constexpr std::array<Colours, 2> kColours = {{
    {"sepia", "sepia tones", {0.393f, 0.769f, 0.189f, 0.349f, 0.686f, 0.168f, 0.272f, 0.534f, 0.131f}, {0, 0, 0}},
    // ITU-R BT.601, full range, as JPEG stores it.
    {"ycbcr",
     "Y, Cb and Cr, shown as red, green and blue",
     {0.299f, 0.587f, 0.114f, -0.168736f, -0.331264f, 0.5f, 0.5f, -0.418688f, -0.081312f},
     {0, 128, 128}},
}};

// Pixels are rows, channels are K. The matrix has one row for each output channel.
MatmulProblem problem_of(const Picture& photo) {
  MatmulProblem p;
  p.transpose_b = true;
  p.m = std::int64_t{photo.width} * photo.height;
  p.n = p.k = 3;
  p.bias = PerAxis::column;
  return p;
}

Result<MadePicture> colour(Machine& machine, const Picture& photo, const Colours& colours, const std::string& path) {
  const MatmulProblem problem = problem_of(photo);
  const auto pixels = as_floats(photo.bytes);
  const reference::ProductData data = {{"a", std::as_bytes(std::span(pixels))},
                                       {"b", std::as_bytes(std::span(colours.matrix))},
                                       {"bias", std::as_bytes(std::span(colours.bias))}};
  const reference::MatmulDefinition definition(problem);
  const auto ran = run_compared(machine, problem, data, definition.places(), definition.result(data, {}));
  if (!ran) return std::unexpected(ran.error());
  std::vector<std::byte> bytes;
  for (const float value : ran->values) bytes.push_back(as_byte(value));
  if (auto written = write_png(path, photo.width, photo.height, 3, bytes); !written)
    return std::unexpected(written.error());
  return MadePicture{colours.name, colours.what, print(Problem(problem)), ran->plan, ran->worst};
}

}  // namespace

Result<std::vector<MadePicture>> colour_photograph(Machine& machine, const Picture& photo, const std::string& out) {
  std::vector<MadePicture> all;
  for (const Colours& colours : kColours) {
    auto done = colour(machine, photo, colours, out + "/" + colours.name + ".png");
    if (!done) return std::unexpected(done.error());
    all.push_back(std::move(*done));
  }
  return all;
}

}  // namespace sectile::tools
