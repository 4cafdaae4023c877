#include "convert.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace sectile::tools {
namespace {

// An integer of any type.
struct Integer {
  bool negative = false;
  std::uint64_t magnitude = 0;
};

template <class T>
Integer integer_at(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? Integer{true, ~bits + 1} : Integer{false, bits};
}

using ReadInteger = Integer (*)(const std::byte*);

// Null for what is no integer.
ReadInteger reader_of(DType type) {
  switch (type) {
    case DType::i8:
      return integer_at<std::int8_t>;
    case DType::u8:
      return integer_at<std::uint8_t>;
    case DType::i16:
      return integer_at<std::int16_t>;
    case DType::u16:
      return integer_at<std::uint16_t>;
    case DType::i32:
      return integer_at<std::int32_t>;
    case DType::u32:
      return integer_at<std::uint32_t>;
    case DType::i64:
      return integer_at<std::int64_t>;
    case DType::u64:
      return integer_at<std::uint64_t>;
    default:
      return nullptr;
  }
}

// The least and the greatest value of the integers that stages and products have.
std::pair<double, double> range_of(DType type) {
  return type == DType::i8   ? std::pair(-128.0, 127.0)
         : type == DType::u8 ? std::pair(0.0, 255.0)
                             : std::pair(-2147483648.0, 2147483647.0);
}

bool is_integer(DType type) { return type == DType::i8 || type == DType::u8 || type == DType::i32; }

bool fits(const Integer& value, DType to) {
  if (is_integer(to)) {
    const auto [least, most] = range_of(to);
    return value.magnitude <= static_cast<std::uint64_t>(value.negative ? -least : most);
  }
  // Significant bits; only f16 has a range that 64 bits leave.
  const int digits = to == DType::f16 ? 11 : to == DType::bf16 ? 8 : 24;
  if (to == DType::f16 && value.magnitude > 65504) return false;
  return value.magnitude == 0 || std::bit_width(value.magnitude) - std::countr_zero(value.magnitude) <= digits;
}

// A double in a format of 16 bits with so many bits of mantissa: to nearest, ties to even, in one rounding.
std::uint16_t narrowed(double value, int mantissa) {
  const int exponents = 15 - mantissa, bias = (1 << (exponents - 1)) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 63 << 15);
  const auto infinity = static_cast<std::uint16_t>(((1 << exponents) - 1) << mantissa);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | infinity | 1 << (mantissa - 1));
  if (std::isinf(value)) return sign | infinity;
  if (std::abs(value) < std::numeric_limits<double>::min()) return sign;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const std::uint64_t whole = (bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
  const int denormal = std::max(0, 1 - bias - exponent), shift = 52 - mantissa + denormal;
  if (shift > 54) return sign;
  std::uint64_t kept = whole >> shift;
  const std::uint64_t rest = whole - (kept << shift), half = std::uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && kept % 2 != 0)) ++kept;
  // The leading bit adds one to the exponent below, and so does a carry.
  const std::uint64_t field = denormal > 0 ? 0 : static_cast<std::uint64_t>(exponent + bias - 1);
  return sign | static_cast<std::uint16_t>(std::min<std::uint64_t>((field << mantissa) + kept, infinity));
}

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// The number is one of an integer type's values.
void write(DType to, double value, std::byte* at) {
  switch (to) {
    case DType::i8:
      return put(at, static_cast<std::int8_t>(value));
    case DType::u8:
      return put(at, static_cast<std::uint8_t>(value));
    case DType::i32:
      return put(at, static_cast<std::int32_t>(value));
    case DType::f16:
      return put(at, narrowed(value, 10));
    case DType::bf16:
      return put(at, narrowed(value, 7));
    default:
      return put(at, static_cast<float>(value));
  }
}

// f16 and bf16 as f32, whose values they all are.
float widened(DType from, std::uint16_t bits) {
  if (from == DType::bf16) return std::bit_cast<float>(std::uint32_t{bits} << 16);
  const std::uint32_t sign = std::uint32_t{bits} >> 15 << 31, exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  const float value = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                    : std::bit_cast<float>((exponent + 112) << 23 | mantissa << 13);
  return sign != 0 ? -value : value;
}

// The element's place, as NumPy indexes it: "(2, 0)".
std::string index_text(const NpyHeader& header, std::size_t element) {
  std::vector<std::size_t> index(header.shape.size());
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::size_t axis = header.fortran_order ? i : index.size() - 1 - i;
    const auto size = static_cast<std::size_t>(header.shape[axis]);
    index[axis] = element % size;
    element /= size;
  }
  return fmt::format("({})", fmt::join(index, ", "));
}

// A type as NumPy's astype takes it.
std::string numpy_name(DType type) {
  switch (type) {
    case DType::f16:
      return "'float16'";
    case DType::bf16:
      return "ml_dtypes.bfloat16";
    case DType::i8:
      return "'int8'";
    case DType::u8:
      return "'uint8'";
    case DType::i32:
      return "'int32'";
    default:
      return "'float32'";
  }
}

std::string numpy_line(DType to) {
  if (!is_integer(to)) return fmt::format("in NumPy a.astype({}) rounds", numpy_name(to));
  const auto [least, most] = range_of(to);
  return fmt::format("in NumPy numpy.clip(a, {:.0f}, {:.0f}).astype({})", least, most, numpy_name(to));
}

// Replaces each element by what `make` writes of it.
template <class F>
void replace(NpyArray& array, DType to, F&& make) {
  const std::size_t from_bytes = array.header.item_bytes, to_bytes = size_bytes(to);
  const std::size_t count = array.data.size() / from_bytes;
  std::vector<std::byte> data(count * to_bytes);
  for (std::size_t i = 0; i < count; ++i) make(array.data.data() + i * from_bytes, data.data() + i * to_bytes);
  array.data = std::move(data);
  array.header.descr = npy_descr(to);
  array.header.item_bytes = size_bytes(to);
  array.header.data_bytes = array.data.size();
}

double double_at(const std::byte* at) {
  double value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

Result<void> convert_integers(NpyArray& array, DType from, DType to, const std::string& path, Notes& notes) {
  const ReadInteger read = reader_of(from);
  const std::string was = is_boolean(array.header) ? "bool" : std::string(name(from));
  const std::size_t count = array.data.size() / array.header.item_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    const Integer value = read(array.data.data() + i * array.header.item_bytes);
    if (fits(value, to)) continue;
    return fail(ErrorKind::invalid_problem, path,
                fmt::format("{}{} at {}", value.negative ? "-" : "", value.magnitude, index_text(array.header, i)),
                fmt::format("values of {}; {}", name(to), numpy_line(to)));
  }
  replace(array, to, [&](const std::byte* at, std::byte* out) {
    const Integer value = read(at);
    const auto number = static_cast<double>(value.magnitude);  // exact: it fits
    write(to, value.negative ? -number : number, out);
  });
  notes.push_back(fmt::format("{}: {} as {}, each value exact", path, was, name(to)));
  return {};
}

}  // namespace

Result<DType> number_type(const NpyHeader& header, const std::string& path) {
  const char kind = header.descr.size() > 1 ? header.descr[1] : 'V';
  const DType type = header.dtype();
  if (kind == 'V' && type == DType::b16) return DType::bf16;
  if (kind == 'b' && header.item_bytes == 1) return DType::u8;
  if (kind == 'f' || kind == 'i' || kind == 'u')
    if (type == DType::f16 || type == DType::f32 || type == DType::f64 || reader_of(type) != nullptr) return type;
  return fail(ErrorKind::invalid_problem, path + ": type", header.descr,
              kind == 'c' ? "numbers without an imaginary part: in NumPy a.real or a.imag"
                          : "floats, integers, or bf16 as V2; in NumPy a.astype('float32')");
}

Result<DType> type_option(std::string_view option, std::string_view text, std::span<const DType> of) {
  const auto type = parse_dtype(text);
  if (type && std::ranges::contains(of, *type)) return type;
  std::vector<std::string_view> names;
  for (const DType one : of) names.push_back(name(one));
  return fail(ErrorKind::invalid_problem, std::string(option), std::string(text),
              fmt::format("one of {}", fmt::join(names, ", ")));
}

bool is_boolean(const NpyHeader& header) noexcept { return header.descr.size() > 1 && header.descr[1] == 'b'; }

DType promoted(DType a, DType b) noexcept {
  const auto byte = [](DType type) { return type == DType::i8 || type == DType::u8; };
  if (byte(a) && byte(b)) return a == DType::i8 && b == DType::i8 ? DType::i8 : DType::f32;
  if (byte(a)) std::swap(a, b);
  if ((a == DType::f16 || a == DType::bf16) && (b == a || byte(b))) return a;
  return DType::f32;
}

Result<void> convert(NpyArray& array, DType to, const std::string& path, std::string_view whose, Notes& notes) {
  const auto from = number_type(array.header, path);
  if (!from) return std::unexpected(from.error());
  if (*from == to) return {};
  if (reader_of(*from) != nullptr) return convert_integers(array, *from, to, path, notes);
  if (*from == DType::f64 && !is_integer(to)) return cast_double(array, to, path, notes);
  if (to == DType::f32 && *from != DType::f64) {
    replace(array, to, [&](const std::byte* at, std::byte* out) {
      std::uint16_t bits;
      std::memcpy(&bits, at, sizeof bits);
      put(out, widened(*from, bits));
    });
    return {};
  }
  return fail(ErrorKind::invalid_problem, path + ": type", array.header.descr,
              fmt::format("{}{}; in NumPy a.astype({})", whose, npy_descr(to), numpy_name(to)));
}

Result<void> cast_double(NpyArray& array, DType to, const std::string& path, Notes& notes) {
  replace(array, to, [&](const std::byte* at, std::byte* out) {
    double value = double_at(at);
    if (is_integer(to)) {
      const auto [least, most] = range_of(to);
      value = std::isnan(value) ? 0 : std::clamp(std::nearbyint(value), least, most);
    }
    write(to, value, out);
  });
  notes.push_back(fmt::format("{}: f64 is rounded to {}", path, name(to)));
  return {};
}

bool all_fit(const NpyArray& array, DType to) {
  const auto from = number_type(array.header, "");
  const ReadInteger read = from ? reader_of(*from) : nullptr;
  if (read == nullptr) return false;
  for (std::size_t at = 0; at < array.data.size(); at += array.header.item_bytes)
    if (!fits(read(array.data.data() + at), to)) return false;
  return true;
}

Result<std::vector<std::byte>> filled(std::string_view what, double value, DType type, std::size_t count) {
  if (is_integer(type)) {
    const auto [least, most] = range_of(type);
    if (value != std::nearbyint(value) || value < least || value > most)
      return fail(ErrorKind::invalid_problem, std::string(what), fmt::format("{}", value),
                  fmt::format("a whole number from {:.0f} to {:.0f}, as the result's", least, most));
  }
  // From here on a number rounds to infinity: half a unit beyond the greatest one.
  const double beyond = type == DType::f16 ? 65520.0 : type == DType::bf16 ? 0x1.ffp127 : 0x1.ffffffp127;
  if (!is_integer(type) && std::fabs(value) >= beyond)
    return fail(ErrorKind::invalid_problem, std::string(what), fmt::format("{}", value),
                fmt::format("less than {:.9g}: the result is {}", beyond, name(type)));
  const std::size_t element = size_bytes(type);
  std::vector<std::byte> bytes(count * element);
  for (std::size_t i = 0; i < count; ++i) write(type, value, bytes.data() + i * element);
  return bytes;
}

Result<std::optional<double>> number_of(std::string_view what, std::string_view text, std::string_view else_want) {
  double value = 0;
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  const char *const begin = text.data() + (plus ? 1 : 0), *const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc::invalid_argument || stop != end) return std::nullopt;
  const auto single = static_cast<float>(value);
  if (error == std::errc() && std::isfinite(single) && (single != 0 || value == 0)) return value;
  return fail(ErrorKind::invalid_problem, std::string(what), std::string(text),
              std::string("a finite number that f32 holds").append(else_want));
}

}  // namespace sectile::tools
