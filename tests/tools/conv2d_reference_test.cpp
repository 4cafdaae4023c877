// The reference of convolutions against results written down by hand and against the matmul's, and its generator
// against the library's rules.
#include "reference/conv2d.hpp"
#include "reference/generate.hpp"
#include "reference/matmul.hpp"
#include "reference/numbers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::reference;

namespace {

Conv2dProblem conv2d(const std::string& text) {
  const auto parsed = parse_problem(text);
  REQUIRE_MESSAGE(parsed.has_value(), parsed.error().message());
  return std::get<Conv2dProblem>(*parsed);
}

using Floats = std::map<std::string, std::vector<float>>;

Conv2dData data_of(const Floats& floats) {
  Conv2dData data;
  for (const auto& [name, values] : floats) data[name] = std::as_bytes(std::span(values));
  return data;
}

// The result of f32 operands, as [n][k][p][q]; the plainer loop must agree.
std::vector<double> values(const std::string& text, const Floats& floats, const std::vector<float>& y = {}) {
  const Conv2dDefinition definition(conv2d(text));
  const Conv2dData data = data_of(floats);
  for (const auto& [name, values] : floats) {
    CAPTURE(name);
    CHECK(values.size() * sizeof(float) == definition.operand(name).bytes());
  }
  const auto before = std::as_bytes(std::span(y));
  std::vector<double> out;
  for (const ProductElement& element : definition.result(data, before)) {
    const double again = definition.element(data, before, out.size()).value;
    CHECK(std::fabs(again - element.value) <= 1e-12 * (1 + std::fabs(again)));
    out.push_back(element.value);
  }
  CHECK(out.size() == definition.size());
  return out;
}

const std::vector<float> kNine = {1, 2, 3, 4, 5, 6, 7, 8, 9};

}  // namespace

TEST_CASE("conv2d known answers: windows") {
  const Floats f = {{"x", kNine}, {"w", {1, 2, 3, 4}}};
  // 1*1 + 2*2 + 3*4 + 4*5, and so on: the filter is not turned over.
  CHECK(values("conv2d f32 nchw 1x1x3x3 k=1 r=2", f) == std::vector<double>{37, 47, 67, 77});
  CHECK(values("conv2d f32 nchw 1x1x3x3 k=1 r=2 p=1", f) ==
        std::vector<double>{4, 11, 18, 9, 18, 37, 47, 21, 36, 67, 77, 33, 14, 23, 26, 9});
  CHECK(values("conv2d f32 nchw 1x1x3x3 k=1 r=2 p=1 s=2", f) == std::vector<double>{4, 18, 36, 77});
  CHECK(values("conv2d f32 nchw 1x1x3x3 k=1 r=2 p=1 s=3,1", f) == std::vector<double>{4, 11, 18, 9, 14, 23, 26, 9});
  CHECK(values("conv2d f32 nchw 1x1x3x3 k=1 r=2 d=2", f) == std::vector<double>{1 + 6 + 21 + 36});
  CHECK(values("conv2d f32 nchw 1x1x3x3 k=1 r=2 d=2,1", f) == std::vector<double>{1 + 4 + 21 + 32, 2 + 6 + 24 + 36});
  // top, left, bottom, right
  CHECK(values("conv2d f32 nchw 1x1x3x3 k=1 r=2 p=1,0,0,0 s=2,1", f) == std::vector<double>{11, 18, 67, 77});
  CHECK(values("conv2d f32 nchw 1x1x3x3 k=1 r=2 p=0,1,0,0 s=1,2", f) == std::vector<double>{18, 47, 36, 77});
  CHECK(values("conv2d f32 nchw 1x1x3x3 k=1 r=2 p=0,0,1,0 s=2,1", f) == std::vector<double>{37, 47, 23, 26});
  CHECK(values("conv2d f32 nchw 1x1x3x3 k=1 r=2 p=0,0,0,1 s=1,2", f) == std::vector<double>{37, 21, 67, 33});
  // Rows that no window reaches.
  CHECK(values("conv2d f32 nchw 1x1x3x3 k=1 r=2 s=2", f) == std::vector<double>{37});
  CHECK(values("conv2d f32 nchw 1x1x3x3 k=1 r=1x2", {{"x", kNine}, {"w", {1, -1}}}) ==
        std::vector<double>{-1, -1, -1, -1, -1, -1});
  CHECK(values("conv2d f32 nchw 1x1x3x3 k=1 r=2x1", {{"x", kNine}, {"w", {1, -1}}}) ==
        std::vector<double>{-3, -3, -3, -3, -3, -3});
}

// Pixels (1, 10, 100) and (2, 20, 200); two filters.
TEST_CASE("conv2d known answers: layouts") {
  const std::vector<float> planes = {1, 2, 10, 20, 100, 200}, pixels = {1, 10, 100, 2, 20, 200};
  const std::vector<float> blocks = {1, 10, 100, NAN, 2, 20, 200, NAN};
  const std::vector<float> kc = {1, 2, 3, 4, 5, 6}, ck = {1, 4, 2, 5, 3, 6};
  const std::vector<double> want = {321, 642, 654, 1308};
  for (const std::string y : {"nchw", "nhwc", "nchw4c", "nchw8c"}) {
    CAPTURE(y);
    CHECK(values("conv2d f32 nchw:" + y + " 1x3x1x2 k=2 r=1", {{"x", planes}, {"w", kc}}) == want);
    CHECK(values("conv2d f32 nhwc:" + y + " 1x3x1x2 k=2 r=1", {{"x", pixels}, {"w", kc}}) == want);
    CHECK(values("conv2d f32 nchw4c:" + y + " 1x3x1x2 k=2 r=1 weights=krsc", {{"x", blocks}, {"w", kc}}) == want);
    CHECK(values("conv2d f32 nchw:" + y + " 1x3x1x2 k=2 r=1 weights=rsck", {{"x", planes}, {"w", ck}}) == want);
  }
  // Two taps, one channel or two: w[k][c][s].
  CHECK(values("conv2d f32 nchw 1x2x1x2 k=1 r=1x2", {{"x", {1, 2, 10, 20}}, {"w", {1, 2, 3, 4}}}) ==
        std::vector<double>{1 + 4 + 30 + 80});
  CHECK(values("conv2d f32 nchw 1x2x1x2 k=1 r=1x2 weights=krsc", {{"x", {1, 2, 10, 20}}, {"w", {1, 3, 2, 4}}}) ==
        std::vector<double>{1 + 4 + 30 + 80});
  // Slices: two of three channels, and images apart.
  CHECK(values("conv2d f32 nhwc 1x2x1x2 k=1 r=1 x.pitch=3", {{"x", {1, 10, NAN, 2, 20}}, {"w", {1, 2}}}) ==
        std::vector<double>{21, 42});
  CHECK(values("conv2d f32 nchw 2x1x1x2 k=1 r=1 x.pitch=5", {{"x", {1, 2, NAN, NAN, NAN, 3, 4}}, {"w", {2}}}) ==
        std::vector<double>{2, 4, 6, 8});
}

TEST_CASE("conv2d known answers: groups and stages") {
  const std::vector<float> x = {1, 2, 10, 20, 100, 200, 1000, 2000};
  // Channels 0 and 1 make the first two results, 2 and 3 the others.
  CHECK(values("conv2d f32 nchw 1x4x1x2 k=4 r=1 g=2", {{"x", x}, {"w", {1, 1, 1, 2, 1, 1, 1, 2}}}) ==
        std::vector<double>{11, 22, 21, 42, 1100, 2200, 2100, 4200});
  CHECK(values("conv2d f32 nchw 1x4x1x2 k=8 r=1 g=4", {{"x", x}, {"w", {1, 2, 1, 2, 1, 2, 1, 2}}}) ==
        std::vector<double>{1, 2, 2, 4, 10, 20, 20, 40, 100, 200, 200, 400, 1000, 2000, 2000, 4000});
  // The padding stays 0, whatever the prologue adds.
  const Floats prologue = {{"x", {1, -4}}, {"w", {1, 1, 1}}, {"x.scale", {2}}, {"x.bias", {3}}};
  CHECK(values("conv2d f32 nchw 1x1x1x2 k=1 r=1x3 p=0,1 pro=scale+bias", prologue) == std::vector<double>{0, 0});
  CHECK(values("conv2d f32 nchw 1x1x1x2 k=1 r=1x3 p=0,1 pro=scale+bias+relu", prologue) == std::vector<double>{5, 5});
  CHECK(values("conv2d f32 nchw 1x1x1x2 k=1 r=1x3 p=0,1 pro=relu", {{"x", {1, -4}}, {"w", {1, 1, 1}}}) ==
        std::vector<double>{1, 1});
  // 0.5 * scale * sum + 2 * y + bias, relu, + residual; one k after the other.
  CHECK(values("conv2d f32 nchw 1x1x1x2 k=2 r=1 alpha=0.5 beta=2 c=y epi=scale+bias+relu+residual",
               {{"x", {1, 2}}, {"w", {1, 3}}, {"scale", {2, 4}}, {"bias", {10, -20}}, {"residual", {1, 2, 3, 4}}},
               {1, 2, 3, 4}) == std::vector<double>{14, 18, 3, 4});
  CHECK(values("conv2d f32 nchw 1x0x1x2 k=2 r=1 epi=bias", {{"x", {}}, {"w", {}}, {"bias", {7, 8}}}) ==
        std::vector<double>{7, 7, 8, 8});
  CHECK(Conv2dDefinition(conv2d("conv2d f32 nchw 0x3x5x5 k=2 r=3")).empty());
  CHECK(Conv2dDefinition(conv2d("conv2d f32 nchw 1x3x5x5 k=0 r=3")).operand("x").bytes() == 0);
}

TEST_CASE("conv2d of int8 and of quantized weights") {
  const auto bytes = [](std::vector<std::int8_t> v) { return v; };
  const auto x = bytes({-128, 127}), w = bytes({-128, 127});
  const std::vector<float> scale = {0.5f};
  const Conv2dData data = {{"x", std::as_bytes(std::span(x))},
                           {"w", std::as_bytes(std::span(w))},
                           {"w.scale", std::as_bytes(std::span(scale))}};
  const auto sums = Conv2dDefinition(conv2d("conv2d i8 nchw 1x2x1x1 k=1 r=1")).result(data, {});
  CHECK(sums[0].value == 128 * 128 + 127 * 127);
  CHECK(sums[0].tolerance == 0);
  const std::vector<float> ones = {1, 1};
  Conv2dData floats = data;
  floats["x"] = std::as_bytes(std::span(ones));
  CHECK(Conv2dDefinition(conv2d("conv2d f32 nchw 1x2x1x1 k=1 r=1 w=q8")).result(floats, {})[0].value == -0.5);
}

namespace {

struct FilledConv2d {
  std::map<std::string, std::vector<std::byte>> bytes;
  Conv2dData data;

  template <class Definition>
  FilledConv2d(const Definition& definition, std::uint64_t seed) {
    for (const auto& [name, operand] : definition.operands()) {
      auto& held = bytes[name];
      held.resize(operand.bytes());
      fill_data(held, mix(seed + held.size()));
      definition.fill(name, held, seed);
      data[name] = held;
    }
  }
};

}  // namespace

// The words of one pixel's row are the words of a matrix: the same bytes mean the same.
TEST_CASE("a conv2d of 1x1 is the matmul of its pixels") {
  struct Pair {
    const char *conv2d, *matmul;
  };
  for (const Pair& pair :
       {Pair{"conv2d f32 nhwc 2x19x3x5 k=7 r=1", "matmul f32 nt 30x7x19"},
        {"conv2d f16 nhwc 1x19x3x5 k=8 r=1 x.pitch=24 y.pitch=9 acc=f16 epi=scale+bias+gelu+residual",
         "matmul f16 nt 15x8x19 lda=24 ldd=9 acc=f16 epi=scale+bias+gelu+residual"},
        {"conv2d bf16 nhwc 1x33x2x5 k=8 r=1 weights=rsck x=f32 beta=0.5 c=y pro=scale",
         "matmul bf16 nn 10x8x33 a=f32 beta=0.5 c=d pro=scale"},
        {"conv2d f16 nhwc 1x40x2x5 k=8 r=1 w=q8 out=f32 epi=silu", "matmul f16 nt 10x8x40 b=q8 out=f32 epi=silu"},
        {"conv2d i8 nhwc 1x19x3x5 k=7 r=1 epi=bias+relu", "matmul i8 nt 15x7x19 epi=bias+relu"}}) {
    CAPTURE(pair.conv2d);
    const Conv2dDefinition definition(conv2d(pair.conv2d));
    const MatmulDefinition matmul(std::get<MatmulProblem>(*parse_problem(pair.matmul)));
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const FilledConv2d filled(definition, seed);
      MatmulData data;
      for (const auto& [name, operand] : definition.operands()) {
        const std::string dot = name.find('.') == std::string::npos ? "" : name.substr(name.find('.'));
        const char first = name[0];
        const std::string its = name == "x" || name == "w" || name == "y" || !dot.empty()
                                    ? std::string(1, first == 'x'   ? 'a'
                                                     : first == 'w' ? 'b'
                                                                    : 'd') +
                                          dot
                                    : name;
        data[its] = filled.data.at(name);
        CHECK(matmul.operand(its).bytes() == operand.bytes());
      }
      const auto ours = definition.result(filled.data, filled.data.at("y")), theirs = matmul.result(data, data.at("d"));
      REQUIRE(ours.size() == theirs.size());
      const auto& p = definition.problem();
      const auto pixels = static_cast<std::size_t>(definition.height() * definition.width()),
                 k = static_cast<std::size_t>(p.k);
      for (std::size_t i = 0; i < ours.size(); ++i) {
        const std::size_t image = i / pixels / k, channel = i / pixels % k, pixel = i % pixels;
        const ProductElement& other = theirs[(image * pixels + pixel) * k + channel];
        CHECK((ours[i].value == other.value || (std::isnan(ours[i].value) && std::isnan(other.value))));
        CHECK(ours[i].tolerance == other.tolerance);
        CHECK(ours[i].open == other.open);
        CHECK(ours[i].nearest == other.nearest);
      }
    }
  }
}

TEST_CASE("the generator makes valid convolutions of every kind") {
  std::set<std::pair<ImageLayout, ImageLayout>> layouts;
  std::set<FilterLayout> filters;
  std::map<std::string, int> kinds;
  std::int64_t most = 0, total = 0;
  constexpr std::uint64_t kCases = 3000;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    const Conv2dProblem p = generate_conv2d(1, i);
    const std::string text = print(Problem(p));
    CAPTURE(text);
    const auto valid = validate(p);
    REQUIRE_MESSAGE(valid.has_value(), valid.error().message());
    CHECK(parse_problem(text) == Problem(p));
    CHECK(generate_conv2d(1, i) == p);
    const Conv2dDefinition definition(p);
    const auto operands = operands_of(p);
    REQUIRE(operands->size() == definition.operands().size());
    for (std::size_t o = 0; o < operands->size(); ++o) {
      CHECK((*operands)[o].name == definition.operands()[o].first);
      CHECK((*operands)[o].bytes == definition.operands()[o].second.bytes());
      CHECK((*operands)[o].align == definition.operands()[o].second.align);
    }
    const auto size = output_size(p);
    if (!definition.empty()) CHECK((size->height == definition.height() && size->width == definition.width()));
    const std::int64_t cost = static_cast<std::int64_t>(definition.size()) * (p.c / p.groups) * p.r * p.s;
    most = std::max(most, cost);
    total += cost;
    layouts.emplace(p.x_layout, p.y_layout);
    filters.insert(p.w_layout);
    const bool one = p.r * p.s == 1, padded = p.pad_top + p.pad_left + p.pad_bottom + p.pad_right > 0;
    const bool apart = p.stride_h * p.stride_w > 1;
    const std::pair<const char*, bool> said[] = {
        {"empty", definition.empty()},
        {"no channels", p.c == 0 && !definition.empty()},
        {"matmul", one && !padded && !apart && p.groups == 1},
        {"matmul in groups", one && !padded && !apart && p.groups > 1 && p.groups < p.c},
        {"depthwise", p.groups > 1 && p.groups == p.c && p.k == p.c},
        {"multiplied", p.groups > 1 && p.groups == p.c && p.k > p.c},
        {"groups", p.groups > 1 && p.groups < p.c},
        {"first layer", p.c <= 4 && p.r == 7},
        {"long sum", p.c / p.groups * p.r * p.s >= 1000},
        {"dilated", p.dilation_h > 1 && p.dilation_w > 1},
        {"two dilations", p.dilation_h != p.dilation_w},
        {"two strides", p.stride_h != p.stride_w},
        {"four paddings", p.pad_top != p.pad_bottom && p.pad_left != p.pad_right},
        {"not square", p.r != p.s},
        {"x sliced", p.x_pitch > 0},
        {"y sliced", p.y_pitch > 0},
        {"c sliced", p.c_pitch > 0},
        {"residual sliced", p.r_pitch > 0},
        {"x of another type", p.x_type != p.type},
        {"w of another type", p.w_format == WeightFormat::plain && p.w_type != p.type},
        {"q8", p.w_format == WeightFormat::q8},
        {"acc", p.acc == DType::f16},
        {"out", p.out != p.type},
        {"x.scale", p.x_scale},
        {"x.bias", p.x_bias},
        {"x relu", p.x_relu},
        {"c", p.beta != 0 && !p.c_is_d},
        {"c=y", p.beta != 0 && p.c_is_d},
        {"bias", p.bias},
        {"scale", p.scale},
        {"activation", p.activation != Activation::none},
        {"residual", p.residual},
        {"exact", p.exact},
        {"aligned to an element", p.x_align == size_bytes(p.x_type)},
        {"surplus", p.y_layout == ImageLayout::nchw8c && p.k % 8 != 0},
    };
    for (const auto& [name, is] : said) kinds[name] += is ? 1 : 0;
  }
  CHECK(layouts.size() == 16);
  CHECK(filters.size() == 3);
  for (const auto& [name, count] : kinds) CHECK_MESSAGE(count >= 15, name << ": " << count);
  MESSAGE("at most " << most << " multiplications, " << total / static_cast<std::int64_t>(kCases) << " on average");
  CHECK(most < std::int64_t{1} << 25);
}

TEST_CASE("the reference of convolutions agrees with its plainer loop and sees what is wrong") {
  int surplus = 0, gaps = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const Conv2dDefinition definition(generate_conv2d(5, i));
    if (definition.empty() || definition.size() > 20000) continue;
    CAPTURE(print(Problem(definition.problem())));
    const FilledConv2d filled(definition, i);
    const auto before = filled.data.at("y");
    const auto want = definition.result(filled.data, before);
    REQUIRE(want.size() == definition.size());
    Random random(i);
    for (int sample = 0; sample < 10; ++sample) {
      const auto at = static_cast<std::size_t>(random.below(want.size()));
      const ProductElement other = definition.element(filled.data, before, at);
      CHECK(want[at].open == other.open);
      if (std::isfinite(want[at].value))
        CHECK(std::fabs(want[at].value - other.value) <= 1e-9 * (1 + std::fabs(other.value)));
      else
        CHECK((want[at].value == other.value || (std::isnan(want[at].value) && std::isnan(other.value))));
    }
    // A result that is right, as a device would leave it.
    const ProductPlaces places = definition.places();
    const std::size_t size = element_bytes(places.type);
    std::vector<std::byte> got(before.begin(), before.end());
    for (std::size_t e = 0; e < want.size(); ++e)
      encode(places.type, want[e].value, &got[static_cast<std::size_t>(places.index(e)) * size]);
    for (const std::int64_t zero : places.zeros)
      std::fill_n(&got[static_cast<std::size_t>(zero) * size], size, std::byte{0});
    const auto right = compare(definition, want, before, got);
    CHECK_MESSAGE(!right, right->message);
    // One element, one byte of the surplus, one byte between elements.
    std::size_t element = 0;
    while (element < want.size() && want[element].open) ++element;
    if (element == want.size()) continue;
    if (const auto other = static_cast<std::size_t>(random.below(want.size())); !want[other].open) element = other;
    const auto spoiled = static_cast<std::size_t>(places.index(element)) * size;
    const auto sees = [&](std::size_t byte, std::byte change) {
      got[byte] ^= change;
      const auto seen = compare(definition, want, before, got);
      got[byte] ^= change;
      return seen ? seen->byte : ~std::uint64_t{0};
    };
    for (std::size_t b = 0; b < size; ++b) got[spoiled + b] = ~got[spoiled + b];
    const auto seen = compare(definition, want, before, got);
    REQUIRE(seen.has_value());
    CHECK(seen->byte == spoiled);
    for (std::size_t b = 0; b < size; ++b) got[spoiled + b] = ~got[spoiled + b];
    if (!places.zeros.empty()) {
      const std::size_t at = static_cast<std::size_t>(places.zeros.back()) * size + size - 1;
      CHECK(sees(at, std::byte{0x80}) == at + 1 - size);
      ++surplus;
    }
    const auto runs = definition.operand("y").runs();
    if (runs.size() > 1 && runs[0].second < runs[1].first) {
      const std::size_t at = static_cast<std::size_t>(runs[0].second) * size;
      CHECK(sees(at, std::byte{1}) == at);
      ++gaps;
    }
  }
  CHECK(surplus > 20);
  CHECK(gaps > 20);
}
