// What is asked: one operation on operands of stated shapes, with no word about any device.
// One string form (docs/problem-string.md) and one JSON form; print and parse are inverse.
#pragma once

#include <sectile/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sectile {

inline constexpr int kMaxRank = 16;

// Element types. A permute moves bits and looks at the size alone; b8..b128 name plain bits.
enum class DType : std::uint8_t {
  i8, u8, b8,
  i16, u16, f16, bf16, b16,
  i32, u32, f32, b32,
  i64, u64, f64, c64, b64,
  c128, b128,
};

std::uint32_t size_bytes(DType type) noexcept;       // 1, 2, 4, 8 or 16
std::string_view name(DType type) noexcept;          // "f16"
Result<DType> parse_dtype(std::string_view text);

// N-D permute / layout transform.
//
// With `axes`: the destination's axis i is the source's axis axes[i], as in NumPy's transpose.
// With layouts: letters name axes ("NHWC"); a number and a lower-case letter split that axis in
// blocks ("NCHW4c": C/4 blocks outside, 4 channels inside). `shape` is given in the source's layout.
// Where a block does not divide its axis, the destination's surplus is written as zero bits; where
// the source is blocked, `extents` gives the true size of an axis and the source's surplus is not read.
struct PermuteProblem {
  DType type = DType::f32;
  std::vector<std::int64_t> shape;         // source sizes, rank 1 to 16; 0 is allowed: nothing to do
  std::vector<int> axes;                   // empty where layouts are given
  std::string src_layout, dst_layout;      // both empty where axes are given
  std::vector<std::pair<char, std::int64_t>> extents;  // true size of an upper-case axis, sorted by letter
  std::vector<std::int64_t> src_strides;   // elements, in the source's axis order, >= 0; empty: row-major
  std::vector<std::int64_t> dst_strides;   // elements, in the destination's axis order, > 0; empty: row-major
  std::int64_t src_offset = 0;             // elements from the source's address to its first element
  std::int64_t dst_offset = 0;
  std::uint32_t src_align = 16;            // bytes that the source's address is promised to be a multiple of
  std::uint32_t dst_align = 16;            // powers of two from the element's size to 4096
  bool operator==(const PermuteProblem&) const = default;
};

// One alternative an operation.
using Problem = std::variant<PermuteProblem>;

// The destination's shape in the destination's layout order; errors as `validate`.
Result<std::vector<std::int64_t>> dst_shape(const PermuteProblem& problem);

// Bytes from each operand's address to the end of its last element (0 for an empty problem).
struct OperandBytes {
  std::uint64_t src = 0;
  std::uint64_t dst = 0;
};
Result<OperandBytes> operand_bytes(const PermuteProblem& problem);

// Refuses, by name, what no device could do: invalid_problem, overflow, overlap.
Result<void> validate(const Problem& problem);

std::string print(const Problem& problem);                   // one line; parse_problem(print(p)) == p
Result<Problem> parse_problem(std::string_view text);
std::string to_json(const Problem& problem);                 // canonical: sorted keys, integers only
Result<Problem> problem_from_json(std::string_view text);

}  // namespace sectile
