// What the elements of files become: rounded once, exact or refused, and with the line of NumPy that helps.
#include "cli/convert.hpp"

#include "reference/numbers.hpp"
#include "reference/random.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>

using namespace sectile;
using namespace sectile::tools;

namespace {

template <class T>
NpyArray array_of(const char* descr, const std::vector<T>& values, std::vector<std::int64_t> shape = {}) {
  NpyArray array;
  array.header.descr = descr;
  array.header.item_bytes = sizeof(T);
  array.header.data_bytes = values.size() * sizeof(T);
  array.header.shape = shape.empty() ? std::vector{static_cast<std::int64_t>(values.size())} : std::move(shape);
  array.data.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(array.data.data(), values.data(), array.data.size());
  return array;
}

template <class T>
std::vector<T> values_of(const NpyArray& array) {
  std::vector<T> values(array.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), array.data.data(), array.data.size());
  return values;
}

// "" or the error, and the array in its new type.
std::string converted(NpyArray& array, DType to) {
  Notes notes;
  const auto done = convert(array, to, "a.npy", "", notes);
  return done ? "" : done.error().message();
}

std::uint16_t half_of(double value, DType type) {
  NpyArray array = array_of<double>("<f8", {value});
  CHECK(converted(array, type) == "");
  return values_of<std::uint16_t>(array).at(0);
}

// One integer, as a type's.
template <class T>
bool fits(const char* descr, T value, DType to) {
  NpyArray array = array_of<T>(descr, {value});
  const bool fine = converted(array, to).empty();
  CHECK(all_fit(array_of<T>(descr, {value}), to) == fine);
  if (fine) CHECK(reference::decode(to, array.data.data()) == static_cast<double>(value));
  return fine;
}

}  // namespace

TEST_CASE("a file's elements are named as numbers") {
  const auto type = [](const char* descr, std::uint32_t bytes) {
    NpyHeader header;
    header.descr = descr;
    header.item_bytes = bytes;
    const auto got = number_type(header, "a.npy");
    return got ? std::string(name(*got)) : got.error().message();
  };
  CHECK(type("|V2", 2) == "bf16");
  CHECK(type("<V2", 2) == "bf16");
  CHECK(type("|b1", 1) == "u8");
  CHECK(type("<f8", 8) == "f64");
  CHECK(type("<i8", 8) == "i64");
  CHECK(type("<u2", 2) == "u16");
  CHECK(type("<c8", 8) ==
        "invalid_problem: a.npy: type: <c8 (want numbers without an imaginary part: in NumPy a.real or a.imag)");
  for (const char* other : {"|V4", "|S2", "<M8[ns]"})
    CHECK(type(other, 4).find("in NumPy a.astype('float32')") != std::string::npos);
}

TEST_CASE("two types are promoted as NumPy does where Sectile multiplies that type") {
  using enum DType;
  const std::array all = {i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64};
  for (const DType a : all)
    for (const DType b : all) CHECK(promoted(a, b) == promoted(b, a));
  CHECK(promoted(f16, f16) == f16);
  CHECK(promoted(f16, f32) == f32);
  CHECK(promoted(f16, bf16) == f32);
  CHECK(promoted(bf16, bf16) == bf16);
  CHECK(promoted(i8, i8) == i8);
  CHECK(promoted(i8, u8) == f32);
  CHECK(promoted(i8, f16) == f16);
  CHECK(promoted(u8, bf16) == bf16);
  CHECK(promoted(i16, f16) == f32);
  CHECK(promoted(f64, f16) == f32);
  CHECK(promoted(i64, i64) == f32);
}

TEST_CASE("f64 is rounded to a float once") {
  // Through f32 these are ties first, and then the lower ones.
  CHECK(half_of(1 + std::ldexp(1, -11) + std::ldexp(1, -40), DType::f16) == 0x3c01);
  CHECK(half_of(1 + std::ldexp(1, -8) + std::ldexp(1, -40), DType::bf16) == 0x3f81);
  CHECK(half_of(1 + std::ldexp(1, -11), DType::f16) == 0x3c00);
  CHECK(half_of(65519.99, DType::f16) == 0x7bff);
  CHECK(half_of(65520, DType::f16) == 0x7c00);
  CHECK(half_of(-1e300, DType::f16) == 0xfc00);
  CHECK(half_of(1e39, DType::bf16) == 0x7f80);
  CHECK(half_of(-0.0, DType::f16) == 0x8000);
  CHECK(half_of(std::ldexp(1, -25), DType::f16) == 0);
  CHECK(half_of(std::ldexp(1.0001, -25), DType::f16) == 1);
  CHECK(half_of(-std::numeric_limits<double>::denorm_min(), DType::bf16) == 0x8000);
  CHECK((half_of(std::nan(""), DType::f16) & 0x7fff) > 0x7c00);
  CHECK((half_of(std::nan(""), DType::bf16) & 0x7fff) > 0x7f80);
  CHECK(half_of(std::numeric_limits<double>::infinity(), DType::bf16) == 0x7f80);
  reference::Random random(7);
  for (int i = 0; i < 20000; ++i) {
    const double value =
        std::ldexp(static_cast<double>(random.next() >> 11) * 0x1p-53 + 0.5, static_cast<int>(random.below(300)) - 160);
    for (const DType type : {DType::f16, DType::bf16}) {
      std::array<std::byte, 2> want{};
      reference::encode(type, value, want.data());
      CHECK(half_of(value, type) == std::bit_cast<std::uint16_t>(want));
    }
  }
}

TEST_CASE("halves widen to what they are") {
  for (const DType type : {DType::f16, DType::bf16}) {
    std::vector<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    NpyArray array = array_of(type == DType::f16 ? "<f2" : "|V2", all);
    CHECK(converted(array, DType::f32) == "");
    CHECK(array.header.descr == "<f4");
    const auto wide = values_of<float>(array);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double want = reference::decode(type, std::as_bytes(std::span(&all[i], 1)).data());
      if (std::isnan(want))
        CHECK(std::isnan(wide[i]));
      else
        CHECK((static_cast<double>(wide[i]) == want && std::signbit(wide[i]) == std::signbit(want)));
    }
  }
}

TEST_CASE("integers are converted where each value is one of the type's") {
  CHECK(fits<std::int64_t>("<i8", 1 << 24, DType::f32));
  CHECK_FALSE(fits<std::int64_t>("<i8", (1 << 24) + 1, DType::f32));
  CHECK(fits<std::int64_t>("<i8", std::numeric_limits<std::int64_t>::min(), DType::f32));
  CHECK_FALSE(fits<std::uint64_t>("<u8", ~std::uint64_t{0}, DType::f32));
  CHECK(fits<std::uint32_t>("<u4", 0xffffff00u, DType::f32));
  CHECK(fits<std::int16_t>("<i2", -2048, DType::f16));
  CHECK_FALSE(fits<std::int16_t>("<i2", -2049, DType::f16));
  CHECK(fits<std::int32_t>("<i4", 65504, DType::f16));
  CHECK_FALSE(fits<std::int32_t>("<i4", 65536, DType::f16));
  CHECK(fits<std::uint16_t>("<u2", 65280, DType::bf16));
  CHECK_FALSE(fits<std::uint16_t>("<u2", 257, DType::bf16));
  for (const auto& [value, fine] :
       {std::pair(-129, false), std::pair(-128, true), std::pair(127, true), std::pair(128, false)})
    CHECK(fits<std::int16_t>("<i2", static_cast<std::int16_t>(value), DType::i8) == fine);
  CHECK_FALSE(fits<std::int64_t>("<i8", -1, DType::u8));
  CHECK(fits<std::int64_t>("<i8", 0, DType::u8));
  CHECK(fits<std::uint16_t>("<u2", 255, DType::u8));
  CHECK_FALSE(fits<std::uint16_t>("<u2", 256, DType::u8));
  CHECK(fits<std::uint32_t>("<u4", 2147483647u, DType::i32));
  CHECK_FALSE(fits<std::uint32_t>("<u4", 2147483648u, DType::i32));
  CHECK(fits<std::int64_t>("<i8", -2147483648LL, DType::i32));
  CHECK_FALSE(fits<std::int64_t>("<i8", -2147483649LL, DType::i32));
}

TEST_CASE("a refusal names the first value that does not fit and the line that helps") {
  NpyArray array = array_of<std::int64_t>("<i8", {1, 2, 3, 16777217, 5, 16777219}, {2, 3});
  CHECK(converted(array, DType::f32) ==
        "invalid_problem: a.npy: 16777217 at (1, 0) (want values of f32; in NumPy a.astype('float32') rounds)");
  array.header.fortran_order = true;
  CHECK(converted(array, DType::f32).find("16777217 at (1, 1)") != std::string::npos);
  array = array_of<std::int16_t>("<i2", {-200});
  CHECK(converted(array, DType::i8) ==
        "invalid_problem: a.npy: -200 at (0) (want values of i8; in NumPy numpy.clip(a, -128, 127).astype('int8'))");
  NpyArray floats = array_of<float>("<f4", {1});
  CHECK(converted(floats, DType::f16) == "invalid_problem: a.npy: type: <f4 (want <f2; in NumPy a.astype('float16'))");
  CHECK(converted(floats, DType::i32).find("a.astype('int32')") != std::string::npos);
  Notes notes;
  array = array_of<double>("<f8", {0.1});
  REQUIRE(convert(array, DType::f32, "a.npy", "", notes).has_value());
  CHECK(values_of<float>(array) == std::vector{0.1f});
  CHECK(notes == Notes{"a.npy: f64 is rounded to f32"});
  REQUIRE(convert(array, DType::f32, "a.npy", "", notes).has_value());
  CHECK(notes.size() == 1);  // nothing was done
}

TEST_CASE("a cast of f64 saturates as a stage does") {
  const std::vector values = {0.5, 1.5, -129.0, 1e300, std::nan(""), 254.6, -0.4};
  const auto cast = [&](DType to) {
    NpyArray array = array_of<double>("<f8", values);
    Notes notes;
    REQUIRE(cast_double(array, to, "a.npy", notes).has_value());
    std::vector<double> out;
    for (std::size_t i = 0; i < values.size(); ++i)
      out.push_back(reference::decode(to, array.data.data() + i * size_bytes(to)));
    return out;
  };
  CHECK(cast(DType::i8) == std::vector<double>{0, 2, -128, 127, 0, 127, 0});
  CHECK(cast(DType::u8) == std::vector<double>{0, 2, 0, 255, 0, 255, 0});
  CHECK(cast(DType::i32) == std::vector<double>{0, 2, -129, 2147483647, 0, 255, 0});
}

TEST_CASE("one number fills a vector of the type") {
  CHECK(filled("bias", 0.1, DType::f16, 3).value().size() == 6);
  CHECK(filled("bias", -3, DType::i32, 2).value().size() == 8);
  CHECK(filled("bias", 0.5, DType::i32, 2).error().message() ==
        "invalid_problem: bias: 0.5 (want a whole number from -2147483648 to 2147483647, as the result's)");
  struct Number {
    DType type;
    double value;
    bool fine;
  };
  const Number numbers[] = {
      {DType::i8, -129, false},        {DType::i8, -128, true},        {DType::i8, 127, true},
      {DType::i8, 128, false},         {DType::u8, -1, false},         {DType::u8, 0, true},
      {DType::u8, 255, true},          {DType::u8, 256, false},        {DType::i32, -2147483649, false},
      {DType::i32, -2147483648, true}, {DType::i32, 2147483647, true}, {DType::i32, 2147483648, false}};
  for (const Number& number : numbers) {
    const auto one = filled("bias", number.value, number.type, 1);
    CHECK_MESSAGE(one.has_value() == number.fine, number.value);
    if (one) CHECK(reference::decode(number.type, one->data()) == number.value);
  }
}

TEST_CASE("a float's vector takes what does not round to infinity") {
  for (const auto& [type, most, beyond] : {std::tuple(DType::f16, 65519.99, 65520.0),
                                           {DType::bf16, 0x1.fefffffffp127, 0x1.ffp127},
                                           {DType::f32, 0x1.fffffefffp127, 0x1.ffffffp127}})
    for (const double sign : {1.0, -1.0}) {
      const auto one = filled("bias", sign * most, type, 1);
      REQUIRE(one.has_value());
      CHECK(std::isfinite(reference::decode(type, one->data())));
      CHECK_FALSE(filled("bias", sign * beyond, type, 1).has_value());
    }
  CHECK(filled("bias", 1e5, DType::f16, 1).error().message() ==
        "invalid_problem: bias: 100000 (want less than 65520: the result is f16)");
}

TEST_CASE("a number of an option is one that f32 holds, and a name is none") {
  const auto said = [](const char* text) {
    const auto number = number_of("bias", text, ", or FILE.npy");
    return !number ? number.error().message() : *number ? fmt::format("{}", **number) : std::string("none");
  };
  CHECK(said("-0.25") == "-0.25");
  CHECK(said("+5") == "5");
  CHECK(said("1e-45") == "1e-45");
  CHECK(said("0e9") == "0");
  for (const char* none : {"", "x.npy", "1x", "nan.npy", " 1", "+", "+-1", "--1"})
    CHECK_MESSAGE(said(none) == "none", none);
  for (const char* wrong : {"nan", "-nan", "inf", "-inf", "1e999", "1e39", "1e-50", "-1e-400"})
    CHECK(said(wrong) ==
          fmt::format("invalid_problem: bias: {} (want a finite number that f32 holds, or FILE.npy)", wrong));
}

TEST_CASE("an option's type is one of its own") {
  constexpr DType kSome[] = {DType::f32, DType::i8};
  CHECK(type_option("type", "i8", kSome) == DType::i8);
  for (const char* wrong : {"f64", "F32", "b8"})
    CHECK(type_option("type", wrong, kSome).error().message() ==
          fmt::format("invalid_problem: type: {} (want one of f32, i8)", wrong));
}
