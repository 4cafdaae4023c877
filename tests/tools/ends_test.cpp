// Numbers at the ends of their types: that the data of checks has them, what is expected of them, and that faults that
// drivers have or might have are seen.
#include "reference/ends.hpp"
#include "reference/conv2d.hpp"
#include "reference/elementwise.hpp"
#include "reference/matmul.hpp"
#include "reference/numbers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::reference;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class P>
P problem_of(const std::string& text) {
  const auto parsed = parse_problem(text);
  REQUIRE_MESSAGE(parsed.has_value(), parsed.error().message());
  return std::get<P>(*parsed);
}

struct EndsFilled {
  std::map<std::string, std::vector<std::byte>> bytes;
  ProductData data;

  template <class Definition>
  EndsFilled(const Definition& definition, std::uint64_t seed) {
    for (const auto& [name, operand] : definition.operands()) {
      auto& held = bytes[name];
      held.resize(static_cast<std::size_t>(operand.bytes()));
      fill_data(held, mix(seed + held.size()));
      definition.poison(name, held);
      definition.fill(name, held, seed);
      data[name] = held;
    }
  }
};

// Elements of one type.
std::vector<std::byte> encoded(DType type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * element_bytes(type));
  for (std::size_t i = 0; i < values.size(); ++i) encode(type, values[i], &bytes[i * element_bytes(type)]);
  return bytes;
}

// What a product of A and B says of a destination that holds `got`; empty: it is right.
std::string matmul_says(const std::string& text, const std::vector<double>& a, const std::vector<double>& b,
                        const std::vector<double>& got, const std::vector<double>& bias = {}) {
  const MatmulDefinition definition(problem_of<MatmulProblem>(text));
  const auto& p = definition.problem();
  const auto left = encoded(p.a_type, a), right = encoded(p.b_type, b), added = encoded(p.out, bias),
             wrote = encoded(p.out, got);
  const std::vector<std::byte> before(wrote.size(), std::byte{0xCD});
  const MatmulData data = {{"a", left}, {"b", right}, {"bias", added}, {"d", before}};
  const auto want = definition.result(data, before);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const MatmulElement other = definition.element(data, before, i);
    CHECK(agree(other, want[i]));
    CHECK(other.open == want[i].open);
  }
  const auto wrong = compare(definition, want, before, wrote);
  return wrong ? wrong->message : std::string();
}

std::string conv2d_says(const std::string& text, const std::vector<double>& x, const std::vector<double>& w,
                        const std::vector<double>& got) {
  const Conv2dDefinition definition(problem_of<Conv2dProblem>(text));
  const auto& p = definition.problem();
  const auto image = encoded(p.x_type, x), filter = encoded(p.w_type, w), wrote = encoded(p.out, got);
  const std::vector<std::byte> before(wrote.size(), std::byte{0xCD});
  const Conv2dData data = {{"x", image}, {"w", filter}, {"y", before}};
  const auto wrong = compare(definition, definition.result(data, before), before, wrote);
  return wrong ? wrong->message : std::string();
}

std::string permute_says(const std::string& text, const std::vector<double>& src, const std::vector<double>& got) {
  const ElementwiseDefinition definition(problem_of<PermuteProblem>(text));
  const auto source = encoded(definition.problem().type, src), wrote = encoded(definition.out(), got);
  const std::vector<std::byte> before(wrote.size(), std::byte{0xCD});
  return compare(definition, definition.result({{"src", source}}), before, wrote);
}

}  // namespace

TEST_CASE("what is expected is rounded to the type of the result") {
  CHECK(matmul_says("matmul f16 nn 1x1x1 alpha=1e30", {1}, {0.031}, {kInfinity}) == "");
  CHECK(matmul_says("matmul f16 nn 1x1x1 alpha=1e30", {1}, {0.031}, {65504}) != "");
  CHECK(matmul_says("matmul f16 nn 1x1x1 alpha=1e30", {1}, {0.031}, {std::nan("")}) != "");
  CHECK(matmul_says("matmul f16 nn 1x1x2", {300, 300}, {300, 300}, {kInfinity}) == "");
  CHECK(matmul_says("matmul f32 nn 1x1x1 out=f16", {-65519.99}, {1}, {-65504}) == "");
  CHECK(matmul_says("matmul f32 nn 1x1x1 out=f16", {-65520}, {1}, {-kInfinity}) == "");
  CHECK(matmul_says("matmul f32 nn 1x1x1 out=f16", {-65520}, {1}, {-65504}) != "");
  CHECK(matmul_says("matmul f32 nn 1x1x1 out=f16", {0x1.8p-24}, {1}, {0x1p-23}) == "");
  CHECK(matmul_says("matmul f32 nn 1x1x1 out=f16", {0x1.8p-24}, {1}, {0x1p-24}) != "");  // the tie's other side
  CHECK(matmul_says("matmul f32 nn 1x1x1 out=f16", {0x1p-24}, {1}, {0}) != "");          // flushed
  CHECK(matmul_says("matmul f32 nn 1x1x1 out=bf16", {kMostF32}, {1}, {kInfinity}) == "");
  CHECK(matmul_says("matmul f32 nn 1x1x1", {kMostF32}, {2}, {kInfinity}) == "");
  CHECK(matmul_says("matmul i8 nn 1x1x8 out=f16", std::vector<double>(8, 127), std::vector<double>(8, 127),
                    {kInfinity}) == "");
  CHECK(conv2d_says("conv2d f16 nchw 1x1x1x1 k=1 r=1 alpha=1e30", {1}, {0.031}, {kInfinity}) == "");
  CHECK(conv2d_says("conv2d f16 nchw 1x1x1x1 k=1 r=1 alpha=1e30", {1}, {0.031}, {65504}) != "");
  CHECK(permute_says("permute f32 1 axes=0 out=f16 alpha=1e30", {0.031}, {kInfinity}) == "");
  CHECK(permute_says("permute f32 1 axes=0 out=f16 alpha=1e30", {0.031}, {65504}) != "");
  // Casts are rounded once, to nearest, keep f16's and bf16's subnormals and the sign of a zero.
  const std::vector<double> numbers = {65519.99, 65520, 0x1.000002p-25, 1 + 0x1p-11, 1 + 0x3p-11, -0.0};
  const std::vector<double> halves = {65504, kInfinity, 0x1p-24, 1, 1 + 0x1p-9, -0.0};
  CHECK(permute_says("permute f32 6 axes=0 out=f16", numbers, halves) == "");
  for (std::size_t i = 0; i < halves.size(); ++i) {
    auto other = halves;
    other[i] = std::vector<double>{kInfinity, 65504, 0, 1 + 0x1p-10, 1 + 0x1p-10, 0.0}[i];
    CHECK(permute_says("permute f32 6 axes=0 out=f16", numbers, other) != "");
  }
  CHECK(permute_says("permute i32 1 axes=0 out=bf16", {807403521}, {809500672}) == "");
  CHECK(permute_says("permute i32 1 axes=0 out=bf16", {807403521}, {805306368}) != "");
  CHECK(permute_says("permute f32 1 axes=0 out=bf16", {0x1.8p-133}, {0x1p-132}) == "");
  CHECK(permute_says("permute f32 1 axes=0 out=bf16", {0x1.8p-133}, {0}) != "");
}

TEST_CASE("infinities and NaNs go where the definition says") {
  const double none = std::nan("");
  CHECK(matmul_says("matmul f32 nn 1x2x2", {kInfinity, 1}, {0, 1, 1, 1}, {none, kInfinity}) == "");
  CHECK(matmul_says("matmul f32 nn 1x2x2", {kInfinity, 1}, {0, 1, 1, 1}, {1, kInfinity}) != "");
  CHECK(matmul_says("matmul f32 nn 1x1x2", {kInfinity, kInfinity}, {1, -1}, {none}) == "");
  // relu keeps a NaN.
  CHECK(matmul_says("matmul f32 nn 1x1x1 epi=relu", {none}, {1}, {none}) == "");
  CHECK(matmul_says("matmul f32 nn 1x1x1 epi=relu", {none}, {1}, {0}) != "");
  CHECK(matmul_says("matmul f32 nn 1x1x1 epi=bias+relu", {1}, {1}, {0}, {-kInfinity}) == "");
  // Activations have their limits.
  for (const char* epi : {"silu", "gelu", "gelu_tanh"})
    for (const double v : {-kInfinity, -3e38, -1e31, -1000.0}) {
      CAPTURE(epi);
      CAPTURE(v);
      const std::string text = "matmul f32 nn 1x1x1 epi=" + std::string(epi);
      CHECK(matmul_says(text, {v}, {1}, {0}) == "");
      CHECK(matmul_says(text, {v}, {1}, {-5414.55}) != "");
      CHECK(matmul_says(text, {v}, {1}, {-1.8e-4}) != "");
      CHECK(matmul_says(text, {v}, {1}, {v}) != "");
      CHECK(matmul_says(text, {-v}, {1}, {-v}) == "");
      CHECK(matmul_says(text, {none}, {1}, {none}) == "");
    }
  // With an alpha of 0 the product is not read.
  CHECK(matmul_says("matmul f32 nn 1x1x1 alpha=0 epi=bias", {none}, {kInfinity}, {3}, {3}) == "");
  // The image's padding may be multiplied or left out.
  const std::vector<double> w = {kInfinity, 1};
  CHECK(conv2d_says("conv2d f32 nchw 1x1x1x1 k=1 r=1x2 p=0,1,0,0", {2}, w, {none}) == "");
  CHECK(conv2d_says("conv2d f32 nchw 1x1x1x1 k=1 r=1x2 p=0,1,0,0", {2}, w, {2}) == "");
}

TEST_CASE("overflow is asked for where no order of adding avoids it") {
  // Sums in f16 are allowed and not required.
  for (const double got : {131008.0, kInfinity})
    CHECK(matmul_says("matmul f16 nn 1x1x2 acc=f16 out=f32", {65504, 65504}, {1, 1}, {got}) == "");
  CHECK(matmul_says("matmul f16 nn 1x1x2 out=f32", {65504, 65504}, {1, 1}, {kInfinity}) != "");
  CHECK(matmul_says("matmul f16 nn 1x1x2 acc=f16", {65504, 65504}, {1, 1}, {kInfinity}) == "");
  CHECK(matmul_says("matmul f16 nn 1x1x2 acc=f16", {65504, 65504}, {1, 1}, {65504}) != "");
  CHECK(matmul_says("matmul f32 nn 1x1x3", {3e38, 3e38, -3e38}, {1, 1, 1}, {kInfinity}) == "");
  CHECK(matmul_says("matmul f32 nn 1x1x3", {3e38, 3e38, -3e38}, {1, 1, 1}, {3e38}) == "");
  CHECK(matmul_says("matmul f32 nn 1x1x2", {3e38, 3e38}, {1, 1}, {kMostF32}) != "");
  const auto product = [](std::initializer_list<double> factors) { return product_in_any_order(factors); };
  CHECK(product({1e30, 1e30, 1e-30}).open);
  CHECK_FALSE(product({1e30, 1e30, 1}).open);
  CHECK(product({1e30, 1e30, 0}).open);
  CHECK(std::isnan(product({kInfinity, 0, 1}).value));
  CHECK(product({1e-30, 1e-30, 1e25}).flushed > 0);
  CHECK(product({kInfinity, 1e-40, 1}).open);
  CHECK(product({-2, kInfinity, 1}).value == -kInfinity);
  // 2 + 2^-126 - 2 is nothing in some orders.
  const Product added{DType::f32, DType::f32, DType::f32, 1, 1, 0, Activation::none, WeightFormat::plain};
  ProductTerms two(DType::f32);
  two.add({2}, {1});
  const ProductElement little = added.finish(two.sums(), {.bias = -2, .residual = kLeastF32});
  CHECK((is_right(little, DType::f32, 0) && is_right(little, DType::f32, kLeastF32)));
  CHECK_FALSE(is_right(little, DType::f32, 1e-3));
  // A subnormal that may be flushed, times an infinity.
  Product halves = added;
  halves.type = halves.acc = DType::f16;
  ProductTerms flushed(DType::f16);
  flushed.add({0x1p-24}, {0.5});
  CHECK(halves.finish(flushed.sums(), {.scale = kInfinity}).open);
  CHECK(added.finish(two.sums(), {.scale = kInfinity}).value == kInfinity);
  SumInAnyOrder sum;
  sum.add(kMostF32);
  CHECK(sum.result().value == kMostF32);
  sum.add(-kInfinity);
  CHECK(sum.result().open);  // beyond f32 by a rounding, and then a NaN
  sum.add(kInfinity);
  CHECK(std::isnan(sum.result().value));
}

namespace {

struct Seen {
  std::size_t elements = 0, open = 0, infinite = 0, none = 0, largest = 0, subnormal = 0, ordinary = 0;
};

using Fault = std::function<double(double)>;  // of the right number, in the type of the result

// Each of the faults, in a result that is right otherwise, must be seen; and none where there is none.
template <class Definition>
void meet_faults(const Definition& definition, const std::map<std::string, Fault>& faults, Seen& seen,
                 std::map<std::string, int>& caught) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const EndsFilled filled(definition, seed_with(seed * 1000, DataKind::ends));
    const std::string destination(Definition::kDestination);
    const auto before = filled.data.at(destination);
    const auto want = definition.result(filled.data, before);
    const ProductPlaces places = definition.places();
    const std::size_t size = element_bytes(places.type);
    const auto written = [&](const Fault& fault) {
      std::vector<std::byte> got(before.begin(), before.end());
      for (std::size_t i = 0; i < want.size(); ++i)
        encode(places.type, fault(rounded(places.type, want[i].open ? 0 : want[i].value)),
               &got[static_cast<std::size_t>(places.index(i)) * size]);
      for (const std::int64_t zero : places.zeros)
        std::fill_n(&got[static_cast<std::size_t>(zero) * size], size, std::byte{0});
      return got;
    };
    const auto right = compare(definition, want, before, written([](double v) { return v; }));
    CHECK_MESSAGE(!right, right->message);
    for (const auto& [name, fault] : faults)
      if (compare(definition, want, before, written(fault))) ++caught[name];
    // What was never written is seen where it holds the NaN that is right, too.
    if (std::ranges::any_of(want, [](const ProductElement& e) { return std::isnan(e.value); }))
      CHECK(compare(definition, want, before, before).has_value());
    const double most = places.type == DType::f16 ? kMostF16 : kMostF32 / 2;
    const double least = places.type == DType::f16 ? kLeastF16 : kLeastF32;
    for (const ProductElement& element : want) {
      const double v = std::fabs(rounded(places.type, element.value));
      ++seen.elements;
      seen.open += element.open ? 1 : 0;
      seen.none += std::isnan(v) ? 1 : 0;
      seen.infinite += std::isinf(v) ? 1 : 0;
      seen.largest += v >= most && std::isfinite(v) ? 1 : 0;
      seen.subnormal += v > 0 && v < least ? 1 : 0;
      seen.ordinary += v >= 0.125 && v <= 32 ? 1 : 0;
    }
  }
}

const std::map<std::string, Fault> kFaults = {
    {"saturates", [](double v) { return std::isinf(v) ? std::copysign(65504.0, v) : v; }},
    {"an infinity becomes a NaN", [](double v) { return std::isinf(v) ? std::nan("") : v; }},
    {"a NaN is dropped", [](double v) { return std::isnan(v) ? 0.0 : v; }},
    {"a NaN becomes an infinity", [](double v) { return std::isnan(v) ? kInfinity : v; }},
    {"the largest number overflows", [](double v) { return std::fabs(v) == 65504 ? v * 2 : v; }},
    {"subnormals are flushed", [](double v) { return std::fabs(v) < kLeastF16 ? 0 : v; }},
    {"truncates", [](double v) { return std::isfinite(v) ? v * (1 - 0x1p-11) : v; }},
};

}  // namespace

TEST_CASE("a sum below 2^-118 may be cut off to bf16, a larger one is rounded") {
  const auto says = [](double power, double got) {
    return matmul_says("matmul f32 nn 1x1x1 out=bf16", {1 + 0x1.8p-7}, {power}, {got * power});
  };
  for (const double power : {0x1p-119, 0x1p-125}) {
    CAPTURE(power);
    CHECK(says(power, 1 + 0x1p-6).empty());  // nearest, the tie to even
    CHECK(says(power, 1 + 0x1p-7).empty());  // cut off
    CHECK_FALSE(says(power, 1).empty());
    CHECK_FALSE(says(power, 1 + 0x1.8p-6).empty());
  }
  CHECK(says(0x1p-118, 1 + 0x1p-6).empty());
  CHECK_FALSE(says(0x1p-118, 1 + 0x1p-7).empty());
}

TEST_CASE("a product that is subnormal may be flushed, though its factors are normal") {
  const std::string text = "matmul bf16 nn 1x1x2 out=f32";
  CHECK(matmul_says(text, {-1.5, 0.5}, {0x1p-126, 0x1p-126}, {-0x1p-126}).empty());
  CHECK(matmul_says(text, {-1.5, 0.5}, {0x1p-126, 0x1p-126}, {-0x1.8p-126}).empty());
  CHECK_FALSE(matmul_says(text, {-1.5, 0.5}, {0x1p-126, 0x1p-126}, {-0x1p-120}).empty());
  CHECK_FALSE(matmul_says(text, {-1.5, 1.5}, {0x1p-60, 0x1p-60}, {0x1p-60}).empty());
}

TEST_CASE("terms that cancel leave what their order makes of the small ones") {
  const std::string text = "matmul bf16 nn 1x1x3 out=f32";
  CHECK(matmul_says(text, {0x1p100, 0x1p-14, -0x1p100}, {1, 1, 1}, {0}).empty());
  CHECK(matmul_says(text, {0x1p100, 0x1p-14, -0x1p100}, {1, 1, 1}, {0x1p-14}).empty());
  CHECK_FALSE(matmul_says(text, {0x1p100, 0x1p-14, -0x1p100}, {1, 1, 1}, {0x1p90}).empty());
  const ProductElement exact{1, 0}, rough{1 + 0x1p-30, 0x1p-8}, other{1 + 0x1p-30, 0};
  CHECK(agree(exact, exact));
  CHECK(agree(exact, rough));
  CHECK(agree(exact, other));
  CHECK_FALSE(agree(exact, {1 + 0x1p-28, 0}));
  CHECK_FALSE(agree(exact, {std::nan(""), 1}));
}

TEST_CASE("data at the ends of types shows faults of conversions") {
  Seen seen;
  std::map<std::string, int> caught;
  for (const char* text :
       {"matmul f16 nn 9x17x5 ldd=19", "matmul f16 nt 16x32x40 epi=bias+residual", "matmul f32 tn 8x24x16 out=f16",
        "matmul f16 nn 12x20x33 beta=1 epi=bias+relu", "matmul f16 nt 8x16x64 b=q8 epi=scale+bias",
        "matmul f16 nt 8x16x64 b=q4 beta=0.5 c=d", "matmul f16 nn 9x17x5 acc=f16", "matmul bf16 nn 8x24x16 out=f16"})
    meet_faults(MatmulDefinition(problem_of<MatmulProblem>(text)), kFaults, seen, caught);
  for (const char* text :
       {"conv2d f16 nhwc 1x6x7x9 k=10 r=3x3 p=1 epi=bias", "conv2d f16 nchw 2x3x6x5 k=7 r=2x2 epi=bias+residual",
        "conv2d f32 nchw8c 1x5x6x5 k=9 r=1 out=f16 pro=scale+bias+relu", "conv2d f16 nhwc 1x8x7x9 k=8 r=3x3 p=1 g=8"})
    meet_faults(Conv2dDefinition(problem_of<Conv2dProblem>(text)), kFaults, seen, caught);
  for (const auto& [name, fault] : kFaults) CHECK_MESSAGE(caught[name] >= 12, name << ": " << caught[name]);
  MESSAGE(seen.elements << " elements: " << seen.none << " NaNs, " << seen.infinite << " infinite, " << seen.largest
                        << " largest, " << seen.subnormal << " subnormal, " << seen.ordinary << " ordinary, "
                        << seen.open << " open");
  CHECK(seen.none * 40 > seen.elements);
  CHECK(seen.infinite * 40 > seen.elements);
  CHECK(seen.largest > 50);
  CHECK(seen.subnormal > 50);
  CHECK(seen.ordinary * 8 > seen.elements);
  CHECK(seen.open * 50 < seen.elements);
}

TEST_CASE("data of every kind leaves few elements open") {
  Seen seen;
  std::map<std::string, int> caught;
  for (const char* text :
       {"matmul f32 nn 8x24x40 epi=scale+bias+gelu+residual", "matmul bf16 tt 16x9x17 beta=0.3 c=d epi=silu",
        "matmul f16 nt 12x24x64 acc=f16 out=f32 alpha=0.5", "matmul i8 nn 8x16x300 out=f16 epi=scale+bias",
        "matmul f32 nn 4x6x8 batch=3 a.batch=5 pro=scale epi=gelu_tanh+residual"})
    meet_faults(MatmulDefinition(problem_of<MatmulProblem>(text)), {}, seen, caught);
  meet_faults(Conv2dDefinition(problem_of<Conv2dProblem>("conv2d f32 nchw 1x6x9x8 k=8 r=3x3 p=1 exact=1 epi=gelu")), {},
              seen, caught);
  meet_faults(Conv2dDefinition(problem_of<Conv2dProblem>("conv2d bf16 nhwc 2x16x6x5 k=8 r=2x3 x=f32 beta=1")), {}, seen,
              caught);
  CHECK(seen.open * 20 < seen.elements);
  MESSAGE(seen.open << " of " << seen.elements << " open");
}

TEST_CASE("what lies between elements is NaNs") {
  const MatmulDefinition matmul(problem_of<MatmulProblem>("matmul f16 nn 3x5x4 lda=7 ldd=9"));
  const EndsFilled filled(matmul, seed_with(1, DataKind::coarse));
  std::size_t gaps = 0;
  for (const char* name : {"a", "d"}) {
    const auto& operand = matmul.operand(name);
    for (std::int64_t i = 0; i * 2 < static_cast<std::int64_t>(operand.bytes()); ++i) {
      const bool element = i % operand.row_step < operand.columns;
      const double value = operand.at(filled.data.at(name), i);
      if (element && std::string(name) == "a")
        CHECK(std::isfinite(value));
      else
        CHECK(is_poison(DType::f16, filled.data.at(name).data() + 2 * i));
      gaps += element ? 0 : 1;
    }
  }
  CHECK(gaps == 2 * 3 + 2 * 4);
  // The surplus of a block of channels: NaNs, or whatever bytes there are.
  for (const char* type : {"f32", "i8"}) {
    const Conv2dDefinition conv2d(problem_of<Conv2dProblem>(std::string("conv2d ") + type + " nchw4c 1x5x3x3 k=4 r=1"));
    const EndsFilled image(conv2d, 3);
    const auto& x = conv2d.operand("x");
    bool zeros = true;
    for (std::int64_t c = 5; c < 8; ++c) {
      const double value = x.at(image.data.at("x"), x.index(0, c, 1, 1));
      CHECK(std::isnan(value) == (std::string(type) == "f32"));
      zeros = zeros && value == 0;
    }
    CHECK_FALSE(zeros);
  }
  const ElementwiseDefinition blocks(
      problem_of<PermuteProblem>("permute f32 1x2x2x4 layout=NCW4c:NCW extent=C:5 alpha=2"));
  std::vector<std::byte> source(static_cast<std::size_t>(blocks.operands()[0].second));
  blocks.fill("src", source, 1);
  CHECK(is_poison(DType::f32, &source[static_cast<std::size_t>(2 * 4 + 1) * 4]));
  CHECK_FALSE(is_poison(DType::f32, &source[static_cast<std::size_t>(2 * 4) * 4]));
}

TEST_CASE("an open sum has no sign in what follows") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Product product;
  product.length = 9;
  product.beta = 1;
  const ProductSums open{.open = true};
  // The sum may be -inf: then its product with the scale has C's sign.
  CHECK(product.finish(open, {.scale = -kInfinity, .c = kInfinity}).open);
  CHECK(std::isnan(product.finish(open, {.scale = std::nan("")}).value));
  CHECK(std::isnan(product.finish(open, {.c = std::nan("")}).value));
  CHECK(std::isnan(product.finish({.sum = 1}, {.scale = -kInfinity, .c = kInfinity}).value));
}

TEST_CASE("elementwise data shows faults of conversions") {
  // bf16 has not f16's largest number, and a bias makes subnormals rare; what is computed may be truncated.
  const std::map<std::string, std::vector<std::string>> texts = {
      {"permute f32 40x33 axes=1,0 out=f16", {}},
      {"permute bf16 40x33 axes=1,0 out=f16", {"the largest number overflows"}},
      {"permute f32 40x33 axes=1,0 out=f16 alpha=2 bias=1", {"subnormals are flushed", "truncates"}},
      {"permute f16 40x33 axes=1,0 alpha=0.5 add=packed", {"truncates"}}};
  for (const auto& [text, unseen] : texts) {
    CAPTURE(text);
    const ElementwiseDefinition definition(problem_of<PermuteProblem>(text));
    std::map<std::string, std::vector<std::byte>> bytes;
    ElementwiseData data;
    for (const auto& [name, size] : definition.operands()) {
      bytes[name].resize(static_cast<std::size_t>(size));
      definition.poison(name, bytes[name]);
      definition.fill(name, bytes[name], 11);
      data[name] = bytes[name];
    }
    const auto want = definition.result(data);
    const auto says = [&](const Fault& fault) {
      std::vector<std::byte> got(bytes["dst"].size());
      for (const auto& e : want)
        encode(definition.out(),
               fault(e.open            ? 0
                     : e.low == e.high ? e.low
                                       : (e.low + e.high) / 2),
               &got[static_cast<std::size_t>(e.at) * element_bytes(definition.out())]);
      return compare(definition, want, bytes["dst"], got);
    };
    CHECK(says([](double v) { return std::isnan(v) ? std::nan("") : v; }) == "");
    for (const auto& [name, fault] : kFaults) {
      CAPTURE(name);
      if (std::ranges::find(unseen, name) == unseen.end()) CHECK(says(fault) != "");
    }
    const auto open = std::ranges::count_if(want, [](const ElementwiseElement& e) { return e.open; });
    CHECK(static_cast<std::size_t>(open) * 50 < want.size());
  }
}
