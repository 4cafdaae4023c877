// Problems: one operation on operands of stated shapes, independent of any device. One string form
// (docs/reference/problem-string.md) and one JSON form; print and parse are inverse.
#pragma once

#include <sectile/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sectile {

inline constexpr int kMaxRank = 16;

// Element types. A permute without a stage moves bits and looks at the size alone; b8..b128 name plain bits.
// clang-format off
enum class DType : std::uint8_t {
  i8, u8, b8,
  i16, u16, f16, bf16, b16,
  i32, u32, f32, b32,
  i64, u64, f64, c64, b64,
  c128, b128,
};
// clang-format on

std::uint32_t size_bytes(DType type) noexcept;  // 1, 2, 4, 8 or 16
std::string_view name(DType type) noexcept;     // "f16"
Result<DType> parse_dtype(std::string_view text);

// A function of each element. -inf and +inf give its limits there, and a NaN stays a NaN. Some have parameters, which
// are members of the problem beside it:
//   slope      leaky_relu's: a finite normal number other than 0. 0 where the activation is another
//   low, high  clamp's: finite, low <= high. 0 where the activation is another
enum class Activation : std::uint8_t {
  none,
  relu,          // max(v, 0)
  gelu,          // v / 2 * (1 + erf(v / sqrt(2)))
  gelu_tanh,     // v / 2 * (1 + tanh(sqrt(2 / pi) * (v + 0.044715 v^3)))
  silu,          // v / (1 + exp(-v))
  leaky_relu,    // v, or slope * v where v < 0
  clamp,         // min(max(v, low), high); the problem string has relu6 for 0 and 6
  sigmoid,       // 1 / (1 + exp(-v))
  hard_swish,    // v * hard_sigmoid(v)
  hard_sigmoid,  // min(max(v + 3, 0), 6) / 6
  tanh,
};

// What a permute does to each element:
//   v = alpha * scale * x + bias;  v = activation(v);  v += add;  rounded once to `out`, to nearest, ties to even
// in f32 (an i32 beyond 2^24 is first rounded to the nearest f32). With activation_last the activation follows the sum.
// alpha = 0: the first term is 0, whatever x and scale hold. Conversion to integers saturates, and a NaN becomes 0.
// Where source and destination are integers and there is no alpha, scale or bias, and no activation but relu, the sum
// is exact. Types are f32, f16, bf16, i8, u8 or i32. A destination's surplus stays zero bits.
struct ElementwiseStage {
  std::optional<DType> out;  // the destination's type; empty: the source's
  float alpha = 1;
  // Vectors of f32 along one axis of the source: its number where the problem has axes, its upper-case letter where it
  // has layouts (the index then counts through the blocks). Empty: none.
  std::string scale, bias;
  bool add = false;                       // adds an operand of the destination's shape, type and alignment
  std::vector<std::int64_t> add_strides;  // elements, in the destination's axis order, >= 0; empty: row-major
  Activation activation = Activation::none;
  float slope = 0, low = 0, high = 0;  // the activation's parameters
  bool activation_last = false;        // after the sum; needs `add` and an activation
  bool operator==(const ElementwiseStage&) const = default;
};

// N-D permute / layout transform.
//
// With `axes`: the destination's axis i is the source's axis axes[i], as in NumPy's transpose.
// With layouts: letters name axes ("NHWC"); a number and a lower-case letter split that axis in
// blocks ("NCHW4c": C/4 blocks outside, 4 channels inside). `shape` is given in the source's layout.
// Where a block does not divide its axis, the destination's surplus is written as zero bits; where
// the source is blocked, `extents` gives the true size of an axis and the source's surplus is not read.
struct PermuteProblem {
  DType type = DType::f32;
  std::vector<std::int64_t> shape;     // source sizes, rank 1 to 16; with a size of 0 there is nothing to do
  std::vector<int> axes;               // empty where layouts are given
  std::string src_layout, dst_layout;  // both empty where axes are given
  std::vector<std::pair<char, std::int64_t>> extents;  // true size of an upper-case axis, sorted by letter
  std::vector<std::int64_t> src_strides;               // elements, in the source's axis order, >= 0; empty: row-major
  std::vector<std::int64_t> dst_strides;  // elements, in the destination's axis order, > 0; empty: row-major
  std::int64_t src_offset = 0;            // elements from the source's address to its first element
  std::int64_t dst_offset = 0;
  std::uint32_t src_align = 16;  // bytes; the caller promises that the source's address is a multiple
  std::uint32_t dst_align = 16;  // powers of two from the element's size to 4096
  ElementwiseStage stage;        // default: none, bits are moved
  bool operator==(const PermuteProblem&) const = default;
};

// How a matmul's B is stored.
enum class WeightFormat : std::uint8_t {
  plain,  // elements of b_type
  q8,     // int8, value = q * b.scale[n]: one f32 a column of B
  q4,     // 4 bits in blocks of 32 along K, value = (q - 8) * b.scale[n][k / 32]; f16 scales. Two to a byte, the low
          // nibble first. B transposed (N x K) alone, ldb a multiple of 32.
};

// Whether an epilogue's vector has one value for each row (M) or each column (N) of the result. It is the same for all
// batches.
enum class PerAxis : std::uint8_t { none, row, column };

// Batched, strided matrix multiplication with prologue and epilogue:
//   acc = sum over k of A[m, k] * a.scale[k] * B[k, n]
//   v = alpha * scale * acc + beta * C + bias;  v = activation(v);  v += residual;  D = v, rounded once
// With activation_last the residual is added before the activation. Rows lie `ld` elements apart and are contiguous
// inside. D, C and the residual are M x N, row-major, of type `out`. beta = 0 does not read C; alpha = 0 reads neither
// A, B nor any scale. K = 0 leaves acc at 0. int8 to int32 takes no alpha, beta or scale, and of the activations relu
// and a clamp to integers; its bias is i32.
struct MatmulProblem {
  DType type = DType::f32;  // what A and B are rounded to before they are multiplied: f32, f16, bf16 or i8
  std::int64_t m = 0, n = 0, k = 0, batch = 1;  // each from 0 to 2^31 - 1
  bool transpose_a = false;                     // A is stored K x M
  bool transpose_b = false;                     // B is stored N x K
  DType a_type = DType::f32;                    // as stored: f32, f16 or bf16, and i8 where `type` is
  DType b_type = DType::f32;                    // the same; i8 where b_format is not plain
  WeightFormat b_format = WeightFormat::plain;
  DType acc = DType::f32;  // f32; f16 where `type` is: sums may then be kept in f16, and need not be; i32 for i8
  DType out = DType::f32;  // f32, f16, bf16; i32 for i8
  std::int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0, ldr = 0;  // elements from row to row as stored; 0: rows are packed
  // Elements from one batch's matrix to the next; kPacked: (rows as stored) * ld. 0 (of sources): one for all batches.
  static constexpr std::int64_t kPacked = -1;
  std::int64_t a_batch = kPacked, b_batch = kPacked, c_batch = kPacked, d_batch = kPacked, r_batch = kPacked;
  float alpha = 1, beta = 0;
  bool c_is_d = false;            // C is what D held before; no operand of its own, no ldc
  PerAxis scale = PerAxis::none;  // f32
  PerAxis bias = PerAxis::none;   // of type `out`
  Activation activation = Activation::none;
  float slope = 0, low = 0, high = 0;  // the activation's parameters
  bool residual = false;
  bool activation_last = false;  // after the residual; needs a residual and an activation
  bool a_scale = false;          // f32, one for each k: A is multiplied by it before it is rounded to `type`
  std::uint32_t a_align = 16, b_align = 16;  // bytes; the caller promises that the address is a multiple
  std::uint32_t d_align = 16;                // the same of D, C and the residual; vectors promise their element's size
  bool operator==(const MatmulProblem&) const = default;
};

// How an image lies in memory, from the outermost axis to the innermost. The blocked layouts split the channels in
// blocks of 4 or 8: [N][C/4][H][W][4]. Where a block does not divide the channels, a result's surplus channels are
// written as zero bits, and an input's are not read. They count as the operand's bytes.
enum class ImageLayout : std::uint8_t { nchw, nhwc, nchw4c, nchw8c };

// How the weights lie in memory, outermost first: K output channels, C input channels of a group, R x S filter.
enum class FilterLayout : std::uint8_t { kcrs, krsc, rsck };

// 2-D convolution (cross-correlation, as in neural networks) with prologue and epilogue:
//   x' = relu(x * x.scale[c] + x.bias[c])          the prologue, each part optional; outside the image x' is 0
//   acc = sum over c, r, s of x'[n, c, y, x] * w[k, c, r, s]
//     y = p * stride_h - pad_top + r * dilation_h,  x = q * stride_w - pad_left + s * dilation_w
//   v = alpha * scale[k] * acc + beta * C + bias[k];  v = activation(v);  v += residual;  Y = v, rounded once
// Y has K x P x Q per image, P = (H + top + bottom - dilation_h * (R - 1) - 1) / stride_h + 1, rounded down, and Q
// likewise. With groups, output channel k sums the C / groups input channels of group k / (K / groups). C and the
// residual are laid out as Y, of type `out`. activation_last, beta = 0 and alpha = 0: as a matmul's. Input channels of
// 0 leave acc at 0. int8 to int32 takes no alpha, beta, scale or prologue, and of the activations relu and a clamp to
// integers; its bias is i32.
struct Conv2dProblem {
  DType type = DType::f32;  // what X and W are rounded to before they are multiplied: f32, f16, bf16 or i8
  ImageLayout x_layout = ImageLayout::nchw, y_layout = ImageLayout::nchw;
  FilterLayout w_layout = FilterLayout::kcrs;
  // The input, in this order whatever its layout; each from 0 to 2^31 - 1, with their padding too. Where the result has
  // elements, h and w are at least 1.
  std::int64_t n = 0, c = 0, h = 0, w = 0;
  std::int64_t k = 0;         // output channels
  std::int64_t r = 1, s = 1;  // height and width of the filter
  std::int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;  // zeros around the image
  std::int64_t groups = 1;                                                // divides C and K; C: depthwise
  DType x_type = DType::f32;                    // as stored: f32, f16 or bf16, and i8 where `type` is
  DType w_type = DType::f32;                    // the same; i8 where w_format is q8
  WeightFormat w_format = WeightFormat::plain;  // plain or q8: value = q * w.scale[k], f32
  DType acc = DType::f32;                       // as a matmul's
  DType out = DType::f32;                       // f32, f16, bf16; i32 for i8
  // Elements from pixel to pixel where the layout is nhwc, otherwise from image to image; 0: packed. More than packed
  // where the image is a slice of the channels of a larger one.
  std::int64_t x_pitch = 0, y_pitch = 0, c_pitch = 0, r_pitch = 0;
  float alpha = 1, beta = 0;
  bool c_is_d = false;  // C is what Y held before; no operand of its own, no c_pitch
  bool scale = false;   // f32, one for each output channel
  bool bias = false;    // of type `out`, one for each output channel
  Activation activation = Activation::none;
  float slope = 0, low = 0, high = 0;  // the activation's parameters
  bool residual = false;
  bool activation_last = false;                          // after the residual; needs a residual and an activation
  bool x_scale = false, x_bias = false, x_relu = false;  // the prologue; f32, one for each of the C input channels
  bool exact = false;                        // no algorithm that adds other products than the definition's (Winograd's)
  std::uint32_t x_align = 16, w_align = 16;  // bytes; the caller promises that the address is a multiple
  std::uint32_t y_align = 16;                // the same of Y, C and the residual; vectors promise their element's size
  bool operator==(const Conv2dProblem&) const = default;
};

// One alternative for each operation.
using Problem = std::variant<PermuteProblem, MatmulProblem, Conv2dProblem>;

// "permute", "matmul" or "conv2d": the first word of the problem string.
std::string_view operation_of(const Problem& problem) noexcept;

// An operand of a problem, in the order of its plans' operands.
struct OperandSpec {
  std::string name;  // permute: "src", "dst", then those that it has of "scale", "bias",
                     // "add"; matmul: "a", "b", "d", then those that it has of "c",
                     // "bias", "scale", "residual", "b.scale", "a.scale"; conv2d: "x", "w", "y",
                     // then those that it has of "c", "bias", "scale", "residual", "w.scale", "x.scale", "x.bias"
  bool written = false;
  std::uint64_t bytes = 0;  // from its address to the end of its last element; 0: not accessed
  std::uint32_t align = 1;  // promised
};
// The destination's type.
DType out_type(const PermuteProblem& problem) noexcept;
// Whether the permute has an elementwise stage.
bool has_stage(const PermuteProblem& problem) noexcept;

// Errors as `validate`.
Result<std::vector<OperandSpec>> operands_of(const Problem& problem);

// The destination's shape in the destination's layout order; errors as `validate`.
Result<std::vector<std::int64_t>> dst_shape(const PermuteProblem& problem);

// Bytes from each operand's address to the end of its last element; 0 for an empty problem, and for an operand that it
// does not have.
struct OperandBytes {
  std::uint64_t src = 0;
  std::uint64_t dst = 0;
  std::uint64_t scale = 0, bias = 0, add = 0;
};
Result<OperandBytes> operand_bytes(const PermuteProblem& problem);

// Height and width of the result, P and Q. Errors as `validate`.
struct ImageSize {
  std::int64_t height = 0, width = 0;
};
Result<ImageSize> output_size(const Conv2dProblem& problem);

// Refuses what no device could do, and names it: invalid_problem, overflow, overlap.
Result<void> validate(const Problem& problem);

std::string print(const Problem& problem);  // one line; parse_problem(print(p)) == p
Result<Problem> parse_problem(std::string_view text);
std::string to_json(const Problem& problem);  // canonical: sorted keys, integers only
Result<Problem> problem_from_json(std::string_view text);

}  // namespace sectile
