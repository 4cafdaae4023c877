#include <sectile/problem.hpp>

#include <array>
#include <utility>

namespace sectile {

namespace {

struct Row {
  DType type;
  std::string_view name;
  std::uint32_t bytes;
};

// In the enumeration's order, so that a type is its own index.
constexpr auto kRows = std::to_array<Row>({
    {DType::i8, "i8", 1},   {DType::u8, "u8", 1},      {DType::b8, "b8", 1},      {DType::i16, "i16", 2},
    {DType::u16, "u16", 2}, {DType::f16, "f16", 2},    {DType::bf16, "bf16", 2},  {DType::b16, "b16", 2},
    {DType::i32, "i32", 4}, {DType::u32, "u32", 4},    {DType::f32, "f32", 4},    {DType::b32, "b32", 4},
    {DType::i64, "i64", 8}, {DType::u64, "u64", 8},    {DType::f64, "f64", 8},    {DType::c64, "c64", 8},
    {DType::b64, "b64", 8}, {DType::c128, "c128", 16}, {DType::b128, "b128", 16},
});

constexpr bool rows_follow_the_enumeration() {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (static_cast<std::size_t>(std::to_underlying(kRows[i].type)) != i) return false;
  return kRows.size() == static_cast<std::size_t>(std::to_underlying(DType::b128)) + 1;
}
static_assert(rows_follow_the_enumeration());

}  // namespace

std::uint32_t size_bytes(DType type) noexcept { return kRows[std::to_underlying(type)].bytes; }

std::string_view name(DType type) noexcept { return kRows[std::to_underlying(type)].name; }

Result<DType> parse_dtype(std::string_view text) {
  for (const Row& row : kRows)
    if (row.name == text) return row.type;
  std::string known;
  for (const Row& row : kRows) {
    if (!known.empty()) known += ' ';
    known += row.name;
  }
  return fail(ErrorKind::parse, "type", std::string(text), "one of " + known);
}

}  // namespace sectile
