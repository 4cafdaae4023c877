#include "demo_colours.hpp"

#include "cli/run_problem.hpp"

#include "reference/matmul.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

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

std::vector<float> as_floats(std::span<const std::byte> bytes) {
  std::vector<float> out;
  out.reserve(bytes.size());
  for (const std::byte byte : bytes) out.push_back(static_cast<float>(std::to_integer<int>(byte)));
  return out;
}

std::vector<std::byte> as_bytes_of(std::span<const std::byte> floats) {
  std::vector<std::byte> out(floats.size() / sizeof(float));
  for (std::size_t i = 0; i < out.size(); ++i) {
    float value = 0;
    std::memcpy(&value, floats.data() + i * sizeof value, sizeof value);
    out[i] = static_cast<std::byte>(std::lround(std::clamp(value, 0.0f, 255.0f)));
  }
  return out;
}

// Pixels are rows, channels are K. The matrix has one row for each output channel.
MatmulProblem problem_of(const Picture& photo) {
  MatmulProblem p;
  p.transpose_b = true;
  p.m = std::int64_t{photo.width} * photo.height;
  p.n = p.k = 3;
  p.bias = PerAxis::column;
  return p;
}

Result<Coloured> colour(Machine& machine, const Picture& photo, const Colours& colours, const std::string& path) {
  const MatmulProblem problem = problem_of(photo);
  const auto pixels = as_floats(photo.bytes);
  const reference::MatmulData data = {{"a", std::as_bytes(std::span(pixels))},
                                      {"b", std::as_bytes(std::span(colours.matrix))},
                                      {"bias", std::as_bytes(std::span(colours.bias))}};
  const std::span<const std::byte> inputs[] = {data.at("a"), data.at("b"), {}, data.at("bias")};
  const auto ran = run_problem(machine, problem, inputs);
  if (!ran) return std::unexpected(ran.error());
  const reference::MatmulDefinition definition(problem);
  const auto want = definition.result(data, {});
  const std::vector<std::byte> before(ran->bytes.size());
  if (const auto wrong = reference::compare(definition, want, before, ran->bytes))
    return fail(ErrorKind::device, "wrong result: " + print(Problem(problem)), wrong->message);
  Coloured done{colours.name, colours.what, print(Problem(problem)), print(ran->plan), 0};
  for (std::size_t i = 0; i < want.size(); ++i) {
    float value = 0;
    std::memcpy(&value, ran->bytes.data() + i * sizeof value, sizeof value);
    done.worst = std::max(done.worst, std::fabs(static_cast<double>(value) - want[i].value) / want[i].tolerance);
  }
  if (auto written = write_png(path, photo.width, photo.height, 3, as_bytes_of(ran->bytes)); !written)
    return std::unexpected(written.error());
  return done;
}

}  // namespace

Result<std::vector<Coloured>> colour_photograph(Machine& machine, const Picture& photo, const std::string& out) {
  std::vector<Coloured> all;
  for (const Colours& colours : kColours) {
    auto done = colour(machine, photo, colours, out + "/" + colours.name + ".png");
    if (!done) return std::unexpected(done.error());
    all.push_back(std::move(*done));
  }
  return all;
}

}  // namespace sectile::tools
