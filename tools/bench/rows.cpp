// The rows that are timed.
#include "bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace sectile::tools {
namespace {

BenchRow by_axes(std::string name, DType type, std::vector<std::int64_t> shape, std::vector<int> axes) {
  BenchRow row;
  row.problem.type = type;
  row.problem.shape = std::move(shape);
  row.problem.axes = std::move(axes);
  row.name = name.empty() ? row_name(row.problem) : name + " " + row_name(row.problem);
  return row;
}

BenchRow by_layout(std::string name, DType type, std::vector<std::int64_t> shape, std::string from, std::string to) {
  BenchRow row;
  row.problem.type = type;
  row.problem.shape = std::move(shape);
  row.problem.src_layout = std::move(from);
  row.problem.dst_layout = std::move(to);
  row.name = name.empty() ? row_name(row.problem) : name + " " + row_name(row.problem);
  return row;
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

std::string join(const auto& values, const char* separator) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : separator) + std::to_string(value);
  return text;
}

}  // namespace

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

Result<void> check_timed(const Problem& problem) {
  const auto operands = operands_of(problem);
  if (!operands) return std::unexpected(operands.error());
  for (const OperandSpec& operand : *operands)
    if (operand.written && operand.bytes == 0)
      return fail(ErrorKind::invalid_problem, "shape", print(problem), "at least one element in the result: there is nothing to time");
  return {};
}

std::string row_name(const PermuteProblem& problem) {
  const std::string shape = join(problem.shape, "x");
  if (problem.src_layout.empty()) return fmt::format("{} ({}) {}", shape, join(problem.axes, ","), name(problem.type));
  return fmt::format("{} {}->{} {}", shape, problem.src_layout, problem.dst_layout, name(problem.type));
}

std::optional<std::vector<BenchRow>> preset_rows(const std::string& name) {
  if (name == "seeds-permute") return seeds_rows();
  if (name == "cpu") return cpu_rows();
  if (name == "images") return image_rows();
  return std::nullopt;
}

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

// What is given of the problem, by to_json's names. `axes` stands for a plain permutation of packed data alone: who
// reads nothing else leaves the others out. A row that has axes all the same names them as `permutation`.
nlohmann::json rows_json(const std::vector<BenchRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const BenchRow& row : rows) {
    const auto axes = plain_axes(row.problem);
    const bool dense = row.problem.src_strides.empty() && row.problem.dst_strides.empty();
    nlohmann::json object = nlohmann::json::parse(to_json(Problem(row.problem)));
    object.update({{"name", row.name}, {"problem", print(Problem(row.problem))}, {"axes", nullptr}});
    if (axes && dense && !has_stage(row.problem))
      object["axes"] = *axes;
    else if (!row.problem.axes.empty())
      object["permutation"] = row.problem.axes;
    list.push_back(std::move(object));
  }
  return {{"rows", list}};
}

}  // namespace sectile::tools
