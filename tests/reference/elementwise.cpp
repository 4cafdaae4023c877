#include "elementwise.hpp"

#include "activation.hpp"
#include "ends.hpp"
#include "numbers.hpp"
#include "products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace sectile::reference {
namespace {

bool is_integer(DType type) { return type == DType::i8 || type == DType::u8 || type == DType::i32; }

// What a number becomes in an integer type: nearest, ties to even; saturated.
double saturated(DType type, double v) {
  if (std::isnan(v)) return 0;
  const double low = type == DType::i8 ? -128 : type == DType::u8 ? 0 : -2147483648.0;
  const double high = type == DType::i8 ? 127 : type == DType::u8 ? 255 : 2147483647.0;
  return std::clamp(std::nearbyint(v), low, high);
}

double in_type(DType type, double v) { return is_integer(type) ? saturated(type, v) : rounded(type, v); }

// Of a float near v; arithmetic may flush f32's subnormals, conversions keep f16's.
double last_place(DType type, double v) {
  const int bits = type == DType::f32 ? 23 : type == DType::f16 ? 10 : 7;
  if (type == DType::f16 && std::fabs(v) < kLeastF16) return std::ldexp(1, -24);
  if (std::fabs(v) < kLeastF32) return kLeastF32;
  return std::ldexp(1, std::ilogb(v) - bits);
}

// In [-1, 1), never so near to 0 that a product would be subnormal in f16; a third of them eighths.
double unit(std::uint64_t word) {
  if (word % 3 == 0) return (static_cast<double>(word / 3 % 17) - 8) / 8;
  const double v = static_cast<double>(word >> 40) * std::ldexp(1, -23) - 1;
  return std::fabs(v) < std::ldexp(1, -6) ? std::copysign(std::ldexp(1, -6), v) : v;
}

// A number beside what an integer type's conversion bends at, as far as `type` has it.
double edge(DType out, DType type, std::uint64_t bits) {
  const double low = out == DType::i8 ? -128 : out == DType::u8 ? 0 : -0x1p31;
  const double high = out == DType::i8 ? 127 : out == DType::u8 ? 255 : 0x1p31;
  // Steps of a half: ties to even in both directions. At 2^31 the step is a float's.
  const double end = (bits & 1) != 0 ? low : high, step = out == DType::i32 ? 128 : 0.5;
  const double v = end + step * static_cast<double>(static_cast<int>(bits / 2 % 7) - 3);
  if (type == DType::f16 && out == DType::i32) return static_cast<double>(bits / 2 % 9) / 2 - 2;
  return rounded(type, v);
}

bool advance(std::vector<std::int64_t>& coordinate, const std::vector<LayoutAxis>& axes) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (++coordinate[i] < axes[i].size) return true;
    coordinate[i] = 0;
  }
  return false;
}

}  // namespace

ElementwiseDefinition::ElementwiseDefinition(const PermuteProblem& problem)
    : p_(problem),
      permute_(problem),
      out_(problem.stage.out.value_or(problem.type)),
      add_strides_(problem.stage.add_strides) {
  if (!add_strides_.empty()) return;
  std::int64_t stride = 1;
  add_strides_.resize(permute_.dst_axes().size());
  for (std::size_t i = add_strides_.size(); i-- > 0;) {
    add_strides_[i] = stride;
    stride *= permute_.dst_axes()[i].size;
  }
}

// Logical axes are the source's own; with layouts, its upper-case letters in the order written.
std::size_t ElementwiseDefinition::logical(const std::string& axis) const {
  if (p_.src_layout.empty()) return static_cast<std::size_t>(std::stoul(axis));
  std::size_t at = 0;
  for (const char c : p_.src_layout) {
    if (std::isupper(static_cast<unsigned char>(c)) == 0) continue;
    if (c == axis.at(0)) return at;
    ++at;
  }
  throw std::invalid_argument("axis " + axis);
}

std::int64_t ElementwiseDefinition::length(const std::string& axis) const {
  return permute_.logical_sizes().at(logical(axis));
}

std::int64_t ElementwiseDefinition::along(const std::string& axis, std::span<const std::int64_t> coordinate) const {
  const std::size_t which = logical(axis);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < coordinate.size(); ++i)
    if (permute_.dst_axes()[i].logical == which) at += coordinate[i] * permute_.dst_axes()[i].weight;
  return at;
}

std::vector<std::pair<std::string, std::uint64_t>> ElementwiseDefinition::operands() const {
  const std::uint64_t some = empty() ? 0 : 1;
  std::vector<std::pair<std::string, std::uint64_t>> all = {
      {"src", permute_.src_bytes()}, {"dst", permute_.dst_bytes() / permute_.element_bytes() * element_bytes(out_)}};
  for (const auto& [name, axis] : {std::pair("scale", p_.stage.scale), std::pair("bias", p_.stage.bias)})
    if (!axis.empty()) all.emplace_back(name, some * 4 * static_cast<std::uint64_t>(length(axis)));
  if (!p_.stage.add) return all;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < add_strides_.size(); ++i) last += (permute_.dst_axes()[i].size - 1) * add_strides_[i];
  all.emplace_back("add", some * static_cast<std::uint64_t>(last + 1) * element_bytes(out_));
  return all;
}

double ElementwiseDefinition::number(std::string_view operand, std::uint64_t word) const {
  const std::uint64_t bits = word >> 8;
  if (operand == "scale") {
    if (word % 29 == 2) return end_number(bits);
    return std::copysign(0.5 + std::fabs(unit(bits)), (word & 1) != 0 ? -1.0 : 1.0);
  }
  if (operand == "bias") return word % 23 == 2 ? end_number(bits) : 8 * unit(bits);
  const DType type = operand == "src" ? p_.type : out_;
  if (type == DType::i8) return static_cast<double>(bits % 256) - 128;
  if (type == DType::u8) return static_cast<double>(bits % 256);
  if (type != DType::i32) return float_number(type, word);
  if ((out_ == DType::i8 || out_ == DType::u8) && word % 4 != 0) return static_cast<double>(bits % 601) - 300;
  // The ends of f16, ties and more of f32 and of bf16, and what rounds twice.
  constexpr std::array kEnds = {65504,       65519,      65520,      65536,      16777217,   16777219,
                                2147483647,  2147483584, 2147483583, 807403521,  0,          -2147483647 - 1,
                                -2147483647, 8421375,    8421377,    0x40408001, 0x40418000, 0x40408000};
  if (word % 5 == 0) return std::copysign(1.0, bits % 2 == 0 ? 1 : -1) * kEnds.at(bits / 2 % kEnds.size());
  if (out_ == DType::f16) return static_cast<double>(bits % 8001) - 4000;
  return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
}

double ElementwiseDefinition::float_number(DType type, std::uint64_t word) const {
  const std::uint64_t bits = word >> 8;
  const bool to_bytes = out_ == DType::i8 || out_ == DType::u8;
  // Of floats some go beyond what an integer holds, or right to its ends and the halves beside them, and some are none.
  if (is_integer(out_)) {
    if (word % 61 == 0) return std::nan("");
    if (word % 61 < 9) return edge(out_, type, bits);
    if (word % 61 == 9) return std::copysign(HUGE_VAL, unit(bits));
    if (word % 61 < 12) return end_number(bits);
    if (to_bytes) return 300 * unit(bits);
    return (type == DType::f16 ? 30000 : word % 8 == 0 ? 1e10 : 1e6) * unit(bits);
  }
  if (word % 5 == 1) return end_number(bits);
  // Half way between two numbers of the destination, of which the lower one is odd or even.
  if (type == DType::f32 && out_ != DType::f32 && word % 3 == 0) {
    const std::uint64_t places = out_ == DType::bf16 ? 128 : 1024;
    return std::copysign(static_cast<double>(2 * (places + bits % places) + 1) / static_cast<double>(places),
                         unit(bits));
  }
  return 4 * unit(bits);
}

void ElementwiseDefinition::fill(std::string_view operand, std::span<std::byte> bytes, std::uint64_t seed) const {
  if (operand == "dst" || empty()) return;
  std::uint64_t own = seed;
  for (const char letter : operand) own = mix(own ^ static_cast<std::uint64_t>(letter));
  const auto put = [&](DType type, std::int64_t index, bool surplus = false) {
    const auto at = static_cast<std::size_t>(index) * element_bytes(type);
    const std::uint64_t word = data_word(own, static_cast<std::uint64_t>(index));
    if (surplus)
      put_poison(type, word, bytes.data() + at);
    else
      encode(type, number(operand, word), bytes.data() + at);
  };
  if (operand == "scale" || operand == "bias") {
    const std::int64_t count = length(operand == "scale" ? p_.stage.scale : p_.stage.bias);
    for (std::int64_t i = 0; i < count; ++i) put(DType::f32, i);
    return;
  }
  const bool source = operand == "src";
  const auto& axes = source ? permute_.src_axes() : permute_.dst_axes();
  std::vector<std::int64_t> coordinate(axes.size(), 0);
  do {
    std::int64_t at = source ? permute_.src_offset() : 0;
    for (std::size_t i = 0; i < axes.size(); ++i) at += coordinate[i] * (source ? axes[i].stride : add_strides_[i]);
    put(source ? p_.type : out_, at, source && in_surplus(coordinate));
  } while (advance(coordinate, axes));
}

void ElementwiseDefinition::poison(std::string_view operand, std::span<std::byte> bytes) const {
  make_nans(operand == "src" ? p_.type : operand == "dst" || operand == "add" ? out_ : DType::f32, bytes);
}

// Of the last block of an axis that blocks do not divide.
bool ElementwiseDefinition::in_surplus(std::span<const std::int64_t> src_coordinate) const {
  std::vector<std::int64_t> index(permute_.logical_sizes().size(), 0);
  for (std::size_t i = 0; i < src_coordinate.size(); ++i)
    index[permute_.src_axes()[i].logical] += src_coordinate[i] * permute_.src_axes()[i].weight;
  for (std::size_t axis = 0; axis < index.size(); ++axis)
    if (index[axis] >= permute_.logical_sizes()[axis]) return true;
  return false;
}

ElementwiseElement ElementwiseDefinition::element(std::int64_t at, double x, double scale, double bias,
                                                  double add) const {
  const ElementwiseStage& s = p_.stage;
  const Activated activation(s);
  const bool factors = s.alpha != 1 || !s.scale.empty();
  const bool scaled = factors || !s.bias.empty(), plain = activation.which == Activation::none;
  // A cast is one rounding of the exact number. So is a sum of integers, of which those of i32 are exact here, and a relu
  // of it.
  const bool integers = is_integer(p_.type) && is_integer(out_);
  if (!scaled && (s.add ? integers : plain || integers) && (plain || activation.which == Activation::relu)) {
    const double v = in_type(out_, s.add || !plain ? activation.after(x, add) : x);  // -0 is kept
    return {at, v, v, false, !s.add && !is_integer(out_), false};
  }
  const double alpha = static_cast<double>(s.alpha), product = s.alpha == 0 ? 0 : alpha * scale * x;
  SumInAnyOrder sum;
  if (s.alpha != 0)
    sum.add(factors ? product_in_any_order({alpha, scale, x})
                    : InAnyOrder{x, std::fabs(x) < kLeastF32 ? std::fabs(x) : 0});
  sum.add(bias);
  if (plain || activation.last) sum.add(add);
  const InAnyOrder argument = sum.result();
  InAnyOrder end = argument;
  if (!plain) {
    SumInAnyOrder after;
    after.add(InAnyOrder{activation(argument.value), activation.steepest() * argument.flushed, argument.open});
    if (!activation.last) after.add(add);
    end = after.result();
  }
  if (end.open) return {at, 0, 0, false, false, true};
  const double v = end.value;
  if (std::isnan(v) && !is_integer(out_)) return {at, v, v};
  if (!std::isfinite(v)) return {at, in_type(out_, v), in_type(out_, v)};
  // Roundings in f32: an i32 source, alpha * scale, the product, two sums; and what the activation leaves of these.
  double error = std::ldexp(3 * std::fabs(product) + std::fabs(bias) + std::fabs(add) + std::fabs(argument.value), -23);
  if (!std::isfinite(argument.value))
    error = std::ldexp(std::fabs(v) + std::fabs(add), -22);
  else if (!plain)
    error = activation.steepest() * error + activation.error(argument.value) + std::ldexp(std::fabs(v), -23);
  error += end.flushed;
  ElementwiseElement e{at, in_type(out_, v - error), in_type(out_, v + error)};
  if (is_integer(out_)) return e;
  e.low -= last_place(out_, v);
  e.high += last_place(out_, v);
  return e;
}

std::vector<ElementwiseElement> ElementwiseDefinition::result(const ElementwiseData& data) const {
  std::vector<ElementwiseElement> all;
  if (empty()) return all;
  const auto read = [&](std::string_view operand, DType type, std::int64_t index) {
    return decode(type, data.find(operand)->second.data() + static_cast<std::size_t>(index) * element_bytes(type));
  };
  std::vector<std::int64_t> coordinate(permute_.dst_axes().size(), 0);
  do {
    const std::int64_t to = permute_.destination_at(coordinate);
    const auto from = permute_.source_of(coordinate);
    if (!from) {
      all.push_back({to, 0, 0, true, false, false});
      continue;
    }
    const ElementwiseStage& s = p_.stage;
    std::int64_t add_at = 0;
    for (std::size_t i = 0; i < coordinate.size(); ++i) add_at += coordinate[i] * add_strides_[i];
    all.push_back(element(to, read("src", p_.type, *from),
                          s.scale.empty() ? 1 : read("scale", DType::f32, along(s.scale, coordinate)),
                          s.bias.empty() ? 0 : read("bias", DType::f32, along(s.bias, coordinate)),
                          s.add ? read("add", out_, add_at) : 0));
  } while (advance(coordinate, permute_.dst_axes()));
  return all;
}

bool is_right(const ElementwiseElement& want, double got) noexcept {
  if (want.open) return true;
  if (std::isnan(want.low)) return std::isnan(got);
  if (want.signed_zero && want.low == 0 && got == 0) return std::signbit(want.low) == std::signbit(got);
  return got >= want.low && got <= want.high;
}

std::string compare(const ElementwiseDefinition& definition, std::span<const ElementwiseElement> want,
                    std::span<const std::byte> before, std::span<const std::byte> got) {
  const std::size_t size = element_bytes(definition.out());
  std::vector<std::byte> gaps(before.begin(), before.end());  // becomes what was got, if no byte between was written
  for (std::size_t i = 0; i < want.size(); ++i) {
    const ElementwiseElement& e = want[i];
    const auto at = static_cast<std::size_t>(e.at) * size;
    const double value = decode(definition.out(), got.data() + at);
    const bool untouched = std::memcmp(before.data() + at, got.data() + at, size) == 0;
    bool right = is_right(e, value) && !(untouched && is_poison(definition.out(), got.data() + at));
    if (e.zero)
      right = std::all_of(got.begin() + static_cast<std::ptrdiff_t>(at),
                          got.begin() + static_cast<std::ptrdiff_t>(at + size),
                          [](std::byte b) { return b == std::byte{0}; });
    if (!right) {
      return fmt::format("destination element {} (number {}): got {:.9g}, want {}{}", e.at, i, value,
                         e.zero ? "zero bits" : fmt::format("{:.9g} to {:.9g}", e.low, e.high),
                         untouched ? ", what it held before: never written" : "");
    }
    std::memcpy(gaps.data() + at, got.data() + at, size);
  }
  const auto differ = std::mismatch(gaps.begin(), gaps.end(), got.begin());
  if (differ.first == gaps.end()) return {};
  return fmt::format("destination byte {} (of no element) was written", differ.first - gaps.begin());
}

}  // namespace sectile::reference
