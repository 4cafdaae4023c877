#include "listing.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace sectile::detail {

namespace {

constexpr std::pair<std::string_view, std::string_view> kComponents[] = {
    {"float16_t", "f16"}, {"float32_t", "f32"}, {"float64_t", "f64"}, {"bfloat16_t", "bf16"},
    {"int8_t", "s8"},     {"int16_t", "s16"},   {"int32_t", "s32"},   {"int64_t", "s64"},
    {"uint8_t", "u8"},    {"uint16_t", "u16"},  {"uint32_t", "u32"},  {"uint64_t", "u64"},
};

// The text after `key` up to the next space: "M=" in "M=16 N=8".
std::string_view word_of(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(std::string(" ").append(key));
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + 1 + key.size());
  return line.substr(0, line.find(' '));
}

bool number_of(std::string_view line, std::string_view key, std::uint32_t& out) {
  const std::string_view word = word_of(line, key);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

// "float16_t(0)": the number is Vulkan's value for the same type.
bool component_of(std::string_view line, std::string_view key, std::string& out) {
  std::string_view word = word_of(line, key);
  word = word.substr(0, word.find('('));
  const auto row = std::ranges::find(kComponents, word, &std::pair<std::string_view, std::string_view>::first);
  if (row == std::end(kComponents)) return false;
  out = row->second;
  return true;
}

bool read_shape(std::string_view line, bool flexible, MatrixShape& shape) {
  const std::string_view suffix = flexible ? "Granularity=" : "=";
  const auto size = [&](std::string_view letter, std::uint32_t& out) {
    return number_of(line, std::string(letter).append(suffix), out) && out != 0;
  };
  std::uint32_t saturating = 0;
  const bool whole = size("M", shape.m) && size("N", shape.n) && size("K", shape.k) &&
                     component_of(line, "A=", shape.a) && component_of(line, "B=", shape.b) &&
                     component_of(line, "C=", shape.c) && component_of(line, "Result=", shape.result) &&
                     number_of(line, "saturating=", saturating) && saturating <= 1;
  if (!whole) return false;
  shape.saturating = saturating == 1;
  shape.flexible = flexible;
  const std::string_view scope = word_of(line, "scope=");
  shape.scope = scope.substr(0, scope.find('('));
  if (shape.scope != "subgroup" && shape.scope != "workgroup") return false;
  return !flexible || number_of(line, "workgroupInvocations=", shape.workgroup_invocations);
}

}  // namespace

Result<DeviceProfile> read_matrix_listing(std::string_view text) {
  DeviceProfile facts;
  const std::pair<std::string_view, std::optional<bool>*> extensions[] = {
      {"VK_KHR_cooperative_matrix", &facts.cooperative_matrix},
      {"VK_NV_cooperative_matrix2", &facts.cooperative_matrix2},
      {"VK_KHR_shader_bfloat16", &facts.bfloat16},
  };
  enum { none, fixed, flexible } section = none;
  for (std::size_t line_number = 1; !text.empty(); ++line_number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (const auto& [name, field] : extensions) {
      if (!line.starts_with(name)) continue;
      if (line.substr(name.size()) == " supported") *field = true;
      if (line.substr(name.size()) == " not supported") *field = false;
    }
    if (line.starts_with("VK_KHR_cooperative_matrix properties:")) section = fixed;
    if (line.starts_with("VK_NV_cooperative_matrix2 flexible dimension")) section = flexible;
    const std::size_t start = line.find_first_not_of(" \t");
    if (section == none || start == std::string_view::npos || line[start] != '[') continue;
    MatrixShape shape;
    if (!read_shape(line, section == flexible, shape))
      return fail(ErrorKind::parse, "matrix listing", "line " + std::to_string(line_number),
                  "sizes, component types, saturating and scope as vk_cooperative_matrix_perf prints them");
    if (shape.scope == "workgroup") facts.cooperative_matrix_workgroup_scope = true;
    facts.matrix_shapes.push_back(std::move(shape));
  }
  if (section == none)
    return fail(ErrorKind::parse, "supplement", "neither JSON nor a matrix listing",
                "DeviceProfile JSON, or what vk_cooperative_matrix_perf prints");
  return facts;
}

}  // namespace sectile::detail
