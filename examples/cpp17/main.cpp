// C++17 over the C interface: an image goes from NCHW to NHWC and through a convolution with bias and relu, on
// Sectile's small runtime. Handles destroy themselves, and errors are exceptions.
//
//   cpp17 [--validation] [DEVICE]      DEVICE: part of a device's name; without it a GPU before a CPU
#include <sectile/sectile17.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int kImages = 2, kChannels = 6, kHeight = 9, kWidth = 14, kOutputs = 8;
using Values = std::vector<float>;

template <class F>
double microseconds_of(const F& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

Values random_values(std::size_t count, std::mt19937& engine) {
  std::uniform_real_distribution<float> numbers(-1, 1);
  Values out(count);
  for (float& each : out) each = numbers(engine);
  return out;
}

// One result of the convolution, by plain loops in double precision, is as close as f32 can be. False for a NaN.
bool is_right(float got, int n, int y, int x, int k, const Values& pixels, const Values& filters, const Values& bias) {
  double sum = bias[k], magnitude = std::fabs(sum);
  for (int c = 0; c < kChannels; ++c)
    for (int r = 0; r < 3; ++r)
      for (int t = 0; t < 3; ++t) {
        const int in_y = y + r - 1, in_x = x + t - 1;  // p=1: a border of zeros
        if (in_y < 0 || in_y >= kHeight || in_x < 0 || in_x >= kWidth) continue;
        const double product = double(pixels[((n * kHeight + in_y) * kWidth + in_x) * kChannels + c]) *
                               filters[((k * kChannels + c) * 3 + r) * 3 + t];
        sum += product;
        magnitude += std::fabs(product);
      }
  return std::fabs(got - std::max(sum, 0.0)) <= 30 * magnitude / 16777216;  // 4 sqrt(54) steps of f32
}

int wrong_results(const Values& image, const Values& pixels, const Values& filters, const Values& bias,
                  const Values& result) {
  int wrong = 0;
  for (int n = 0; n < kImages; ++n)
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x) {
        const int pixel = (n * kHeight + y) * kWidth + x;
        for (int c = 0; c < kChannels; ++c)
          wrong += pixels[pixel * kChannels + c] != image[((n * kChannels + c) * kHeight + y) * kWidth + x];
        for (int k = 0; k < kOutputs; ++k)
          wrong += !is_right(result[pixel * kOutputs + k], n, y, x, k, pixels, filters, bias);
      }
  return wrong;
}

int run(const sectile17::RuntimeOptions& options) {
  sectile17::Runtime runtime(options);
  std::printf("device: %s\n", runtime.profile().name().c_str());

  const std::string sizes = std::to_string(kImages) + "x" + std::to_string(kChannels) + "x" + std::to_string(kHeight) +
                            "x" + std::to_string(kWidth);
  const sectile17::Plan to_nhwc(runtime.profile(), "permute f32 " + sizes + " layout=NCHW:NHWC");
  const sectile17::Plan convolve(
      runtime.profile(), "conv2d f32 nhwc " + sizes + " k=" + std::to_string(kOutputs) + " r=3x3 p=1 epi=bias+relu");
  const std::vector<const sectile17::Plan*> plans = {&to_nhwc, &convolve};
  for (const auto* plan : plans) std::printf("%s\n", plan->text().c_str());

  std::vector<sectile17::VkExecutable> ready, again;
  const double first = microseconds_of([&] { ready = runtime.device().prepare(plans); });
  const double second = microseconds_of([&] { again = runtime.device().prepare(plans); });

  std::mt19937 engine(7);
  const std::size_t count = std::size_t(kImages) * kHeight * kWidth;
  const Values image = random_values(count * kChannels, engine), bias = random_values(kOutputs, engine);
  const Values filters = random_values(std::size_t(kOutputs) * kChannels * 9, engine);
  Values pixels(count * kChannels, std::numeric_limits<float>::quiet_NaN());
  Values result(count * kOutputs, std::numeric_limits<float>::quiet_NaN());
  const auto upload = [&](const Values& values) {
    auto buffer = runtime.buffer(values.size() * sizeof(float));
    buffer.upload(values.data(), values.size() * sizeof(float));
    return buffer;
  };
  std::map<std::string, sectile17::Buffer> buffers;
  buffers.emplace("src", upload(image));
  buffers.emplace("dst", upload(pixels));
  buffers.emplace("w", upload(filters));
  buffers.emplace("bias", upload(bias));
  buffers.emplace("y", upload(result));
  buffers.emplace("scratch", runtime.buffer(std::max<std::uint64_t>(4, convolve.scratch_bytes())));

  // Operands by name, in the plan's order. The convolution reads what the permute wrote.
  std::vector<std::vector<SectileOperandAddress>> operands(2);
  std::vector<SectileVkRecording> recordings;
  for (std::size_t i = 0; i < 2; ++i) {
    for (const auto& operand : plans[i]->operands())
      operands[i].push_back(buffers.at(operand.name == "x" ? "dst" : operand.name).operand());
    recordings.push_back(sectile17::recording(ready[i], operands[i].data(), operands[i].size()));
  }
  const double ran = microseconds_of([&] { runtime.run(recordings); });  // records, submits and waits
  std::printf("prepare first %.0f us, second %.0f us, run %.0f us\n", first, second, ran);

  buffers.at("dst").download(pixels.data(), pixels.size() * sizeof(float));
  buffers.at("y").download(result.data(), result.size() * sizeof(float));
  const int wrong = wrong_results(image, pixels, filters, bias, result);
  std::printf("%d of %zu results wrong\n", wrong, pixels.size() + result.size());

  // What cannot be is an exception with the library's sentence.
  try {
    const sectile17::Plan impossible(runtime.profile(), "permute f32 2x3 axes=0,0");
    return wrong + 1;
  } catch (const sectile17::Error& error) {
    std::printf("refused: %s\n", error.what());
  }
  return wrong;
}

}  // namespace

int main(int count, char** words) try {
  int warnings = 0;
  sectile17::RuntimeOptions options;
  options.canary = sectile17::RuntimeOptions::Canary::never;  // f32 alone: docs/guide/embedding.md says what it tests
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(words[i], "--validation") == 0) {
      options.validation = true;
    } else {
      options.selector = words[i];
    }
  }
  options.log = [&](SectileLogLevel level, const char* text) {
    if (level != SECTILE_LOG_WARNING) return;
    std::fprintf(stderr, "warning: %s\n", text);
    ++warnings;
  };
  const int wrong = run(options);
  std::puts(wrong + warnings == 0 ? "ok" : "FAILED");
  return wrong + warnings == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
