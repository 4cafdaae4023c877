// A permute's part of the benchmark: rows that are compared with a copy of the same bytes.
#include "permute.hpp"

#include "reference/permute.hpp"
#include "reference/stream.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <map>
#include <utility>

namespace sectile::tools {
namespace {

std::string join(const auto& values, const char* separator) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : separator) + std::to_string(value);
  return text;
}

// The problem's text, or a shorter name where its type, shape and order are all that is given of it.
std::string row_name(const PermuteProblem& problem) {
  PermuteProblem plain;
  plain.type = problem.type;
  plain.shape = problem.shape;
  plain.axes = problem.axes;
  plain.src_layout = problem.src_layout;
  plain.dst_layout = problem.dst_layout;
  if (problem != plain) return print(Problem(problem));
  const std::string shape = join(problem.shape, "x");
  if (problem.src_layout.empty()) return fmt::format("{} ({}) {}", shape, join(problem.axes, ","), name(problem.type));
  return fmt::format("{} {}->{} {}", shape, problem.src_layout, problem.dst_layout, name(problem.type));
}

BenchRow named(const std::string& name, const PermuteProblem& problem) {
  return {.name = (name.empty() ? "" : name + " ") + row_name(problem), .problem = problem};
}

BenchRow by_axes(const std::string& name, DType type, std::vector<std::int64_t> shape, std::vector<int> axes) {
  PermuteProblem problem;
  problem.type = type;
  problem.shape = std::move(shape);
  problem.axes = std::move(axes);
  return named(name, problem);
}

BenchRow by_layout(const std::string& name, DType type, std::vector<std::int64_t> shape, std::string from,
                   std::string to) {
  PermuteProblem problem;
  problem.type = type;
  problem.shape = std::move(shape);
  problem.src_layout = std::move(from);
  problem.dst_layout = std::move(to);
  return named(name, problem);
}

// 64 MB each: what a CPU device is measured by.
std::vector<BenchRow> cpu_rows() {
  using enum DType;
  return {
      by_axes("", f32, {4096, 4096}, {1, 0}),
      by_axes("", f16, {4096, 8192}, {1, 0}),
      by_axes("", i8, {8192, 8192}, {1, 0}),
      by_axes("", f64, {2048, 4096}, {1, 0}),
      by_axes("ragged", f32, {4099, 4093}, {1, 0}),
      by_axes("ragged", f16, {5791, 5793}, {1, 0}),
      by_axes("ragged", u8, {8191, 8193}, {1, 0}),
      by_layout("", f32, {16, 128, 128, 64}, "NHWC", "NCHW"),
      by_layout("", f32, {16, 64, 128, 128}, "NCHW", "NHWC"),
      by_layout("", f16, {32, 128, 128, 64}, "NHWC", "NCHW"),
      by_layout("", f16, {32, 64, 128, 128}, "NCHW", "NHWC"),
      by_layout("", i8, {64, 128, 128, 64}, "NHWC", "NCHW"),
      by_layout("", i8, {64, 64, 128, 128}, "NCHW", "NHWC"),
      by_layout("photo", u8, {82, 427, 640, 3}, "NHWC", "NCHW"),
      by_layout("photo", u8, {82, 427, 640, 3}, "NHWC", "NCHW4c"),
      by_axes("", f32, {64, 512, 512}, {1, 0, 2}),
      by_axes("", f32, {16, 16, 64, 32, 32}, {4, 2, 0, 1, 3}),
  };
}

// Pictures: few channels, to planes and back, padded and not; 60 to 200 MB.
std::vector<BenchRow> image_rows() {
  using enum DType;
  return {
      by_layout("", u8, {128, 448, 640, 3}, "NHWC", "NCHW"),   by_layout("", u8, {128, 3, 448, 640}, "NCHW", "NHWC"),
      by_layout("", u8, {128, 448, 640, 3}, "NHWC", "NCHW4c"), by_layout("", f16, {64, 448, 640, 3}, "NHWC", "NCHW"),
      by_layout("", f16, {64, 3, 448, 640}, "NCHW", "NHWC"),   by_layout("", f32, {32, 512, 512, 3}, "NHWC", "NCHW"),
      by_layout("", f32, {32, 3, 512, 512}, "NCHW", "NHWC"),   by_layout("", f32, {32, 4, 512, 512}, "NCHW", "NHWC"),
      by_layout("", f16, {32, 512, 512, 8}, "NHWC", "NCHW"),   by_layout("", f16, {32, 8, 512, 512}, "NCHW", "NHWC"),
      by_layout("", i8, {32, 512, 512, 8}, "NHWC", "NCHW"),    by_layout("", f64, {16, 512, 512, 6}, "NHWC", "NCHW"),
  };
}

// The rows of TVM's pull request 14167 and of OneFlow's article, and the plain transposes beside them.
std::vector<BenchRow> seeds_rows() {
  using enum DType;
  std::vector<BenchRow> rows = {
      by_layout("TVM", f16, {1, 384, 512, 128}, "NHWC", "NCHW"),
      by_layout("TVM", f16, {1, 128, 384, 512}, "NCHW", "NHWC"),
      by_layout("TVM", f16, {1, 576, 384, 256}, "NHWC", "NCHW"),
      by_layout("TVM", f16, {2, 72, 48, 960}, "NHWC", "NCHW"),
      by_layout("TVM", f16, {16, 3456, 3456}, "ABC", "ACB"),
      by_layout("TVM example", f32, {1024, 2, 32, 8}, "ABCD", "DCAB"),
      by_axes("TVM unsolved", f16, {3, 1024, 1024, 7}, {3, 1, 2, 0}),
      by_axes("TVM unsolved", f32, {1209, 9}, {1, 0}),
  };
  for (const std::int64_t r : {256, 512, 1024}) rows.push_back(by_axes("OneFlow", f32, {64, r, 512}, {1, 0, 2}));
  for (const std::int64_t r : {256, 512, 1024}) rows.push_back(by_axes("OneFlow", f32, {64, r, 512}, {0, 2, 1}));
  rows.push_back(by_axes("OneFlow", f16, {64, 2048, 512}, {1, 0, 2}));
  for (const std::int64_t r : {1024, 2048}) rows.push_back(by_axes("OneFlow", f16, {64, r, 512}, {0, 2, 1}));
  rows.push_back(by_axes("", f32, {8192, 8192}, {1, 0}));
  rows.push_back(by_axes("", f16, {16384, 16384}, {1, 0}));
  rows.push_back(by_axes("", i8, {8192, 8192}, {1, 0}));
  rows.push_back(by_axes("", i8, {16384, 16384}, {1, 0}));
  rows.push_back(by_axes("six axes", f32, {32, 16, 24, 20, 36, 18}, {5, 3, 1, 0, 2, 4}));
  return rows;
}

// The permutation that a row is, in logical axes; nothing where blocks split an axis.
std::optional<std::vector<int>> plain_axes(const PermuteProblem& problem) {
  if (problem.src_layout.empty()) return problem.axes;
  std::vector<int> axes;
  for (const char letter : problem.dst_layout) {
    const std::size_t from = problem.src_layout.find(letter);
    if (std::isupper(static_cast<unsigned char>(letter)) == 0 || from == std::string::npos) return std::nullopt;
    axes.push_back(static_cast<int>(from));
  }
  if (axes.size() != problem.src_layout.size()) return std::nullopt;
  return axes;
}

// Elements of the source below the axes' extents: those past them are not read.
double read_elements(const PermuteProblem& permute) {
  std::map<char, double> axes;
  std::size_t at = 0;
  for (const char c : permute.src_layout) {
    if (c >= '0' && c <= '9') continue;
    const char axis = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const double size = static_cast<double>(permute.shape.at(at++));
    axes[axis] = axes.contains(axis) ? axes[axis] * size : size;
  }
  for (const auto& [axis, extent] : permute.extents) axes[axis] = static_cast<double>(extent);
  double elements = axes.empty() ? std::numeric_limits<double>::infinity() : 1;
  for (const auto& [axis, size] : axes) elements *= size;
  return elements;
}

double dense_bytes(const std::vector<std::int64_t>& shape, DType type) {
  double bytes = size_bytes(type);
  for (const std::int64_t size : shape) bytes *= static_cast<double>(size);
  return bytes;
}

class BenchPermute final : public BenchOperation {
 public:
  std::vector<std::string_view> presets() const override { return {"seeds-permute", "images", "cpu"}; }

  std::optional<std::vector<BenchRow>> preset(std::string_view name, bool) const override {
    if (name == "seeds-permute") return seeds_rows();
    if (name == "cpu") return cpu_rows();
    if (name == "images") return image_rows();
    return std::nullopt;
  }

  BenchRow row(const Problem& problem) const override {
    const auto& permute = std::get<PermuteProblem>(problem);
    BenchRow row = named("", permute);
    if (!has_stage(permute) || permute.axes.empty()) return row;
    row.more = [permute](const Plan&, const DeviceProfile& profile) -> std::vector<Contender> {
      auto plan = separate_passes(permute, profile);
      if (!plan) return {};
      return {{.label = "two passes, the stage in the second", .problem = permute, .plan = std::move(*plan)}};
    };
    return row;
  }

  // What is given of the problem, by to_json's names. `axes` stands for a plain permutation of packed data alone: who
  // reads nothing else leaves the others out. A row that has axes all the same names them as `permutation`.
  nlohmann::json describe(const Problem& problem) const override {
    const auto& permute = std::get<PermuteProblem>(problem);
    nlohmann::json object = BenchOperation::describe(problem);
    object["axes"] = nullptr;
    const auto axes = plain_axes(permute);
    const bool dense = permute.src_strides.empty() && permute.dst_strides.empty();
    if (axes && dense && !has_stage(permute))
      object["axes"] = *axes;
    else if (!permute.axes.empty())
      object["permutation"] = permute.axes;
    return object;
  }

  // Source and destination: what a stage reads beside them is not counted.
  Work work(const Problem& problem) const override {
    const auto& permute = std::get<PermuteProblem>(problem);
    const auto bytes = operand_bytes(permute);
    if (!bytes) return {};
    Work work{.read = static_cast<double>(bytes->src), .written = static_cast<double>(bytes->dst)};
    if (!permute.src_strides.empty()) work.read = std::min(work.read, dense_bytes(permute.shape, permute.type));
    work.read = std::min(work.read, read_elements(permute) * static_cast<double>(size_bytes(permute.type)));
    const auto result = dst_shape(permute);
    if (!permute.dst_strides.empty() && result)
      work.written = std::min(work.written, dense_bytes(*result, out_type(permute)));
    return work;
  }

  const RateUnit& unit() const override {
    static constexpr RateUnit kUnit{.unit = "GB/s", .scale = 1e9, .axis = "GB/s, read + written", .note = ""};
    return kUnit;
  }
  bool beside_copy() const override { return true; }

  // targets.md: a fraction of the copy, or a time for small rows.
  Goal goal(const RowResult& result) const override {
    constexpr double mb = 1 << 20;
    const Work& work = result.own().work;
    const double bytes = std::max(work.read, work.written);
    const auto fraction = [&](double least) {
      return Goal{
          .text = fmt::format(">= {:.2f}", least), .of = "the copy", .least = {}, .met = result.fraction() >= least};
    };
    if (result.on_cpu) return fraction(0.40);
    if (bytes >= 8 * mb) return fraction(bytes >= 32 * mb ? 0.95 : 0.90);
    const double most = 1.5 * (result.empty.median + result.copy().median);
    return {.text = fmt::format("<= {:.2f} us", most * 1e6),
            .of = "",
            .least = {},
            .met = result.own().time.median <= most};
  }

  // Random bits; what a stage reads beside the source is zero.
  bool fill(const Problem&, const OperandSpec& spec, std::size_t index, std::span<std::byte> bytes) const override {
    if (spec.written) return false;
    if (index == 0) reference::fill_data(bytes, kBenchSeed);
    return true;
  }

  std::string unverified(const Problem& problem) const override {
    if (!has_stage(std::get<PermuteProblem>(problem))) return {};
    return "random bits are no numbers to compute with";  // `sectile check` looks at such problems
  }

  std::string verify(const Problem& problem, const BenchData&, std::span<const std::byte> got) const override {
    const reference::PermuteDefinition definition(std::get<PermuteProblem>(problem));
    const auto mismatch = reference::check_streamed(definition, kBenchSeed, got);
    return mismatch ? mismatch->message() : std::string();
  }

  std::span<const SweepClass> sweep_classes() const override { return permute_classes(); }
  std::span<const std::string_view> sweep_types() const override { return permute_types(); }
  std::uint64_t sweep_stream() const override { return 1; }
  std::optional<Drawn> draw(const SweepOptions& options, char letter, std::string_view type,
                            reference::Random& random) const override {
    constexpr double span = 16;  // between the smallest and the largest operand
    const double least = 1e6 * (options.min_mb > 0 ? options.min_mb : options.cpu ? 4 : 32);
    return draw_permute(letter, type, least, span * least, random);
  }
};

}  // namespace

const BenchOperation& bench_operation(std::type_identity<PermuteProblem>) {
  static const BenchPermute operation;
  return operation;
}

}  // namespace sectile::tools
