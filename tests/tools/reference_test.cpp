// The reference against results written down by hand, and the generator against the library's rules.
#include "reference/activation.hpp"
#include "reference/elementwise.hpp"
#include "reference/generate.hpp"
#include "reference/permute.hpp"
#include "reference/stream.hpp"

#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::reference;

namespace {

// What the reference makes of a source of the bytes 1, 2, 3, …, in a destination of 0xee.
std::vector<int> result_of(const std::string& text) {
  const auto parsed = parse_problem(text);
  REQUIRE_MESSAGE(parsed.has_value(), parsed.error().message());
  const PermuteDefinition definition(std::get<PermuteProblem>(*parsed));
  std::vector<std::byte> src(definition.src_bytes()), dst(definition.dst_bytes(), std::byte{0xee});
  for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<std::byte>(i + 1);
  permute(definition, src, dst);
  std::vector<int> result;
  result.reserve(dst.size());
  for (const std::byte b : dst) result.push_back(std::to_integer<int>(b));
  return result;
}

}  // namespace

TEST_CASE("reference known answers") {
  CHECK(result_of("permute u8 2x3 axes=1,0") == std::vector{1, 4, 2, 5, 3, 6});
  CHECK(result_of("permute u8 2x1x3 axes=2,0,1") == std::vector{1, 4, 2, 5, 3, 6});
  CHECK(result_of("permute u16 1x3 axes=1,0") == std::vector{1, 2, 3, 4, 5, 6});
  // As NumPy: axis i of the result is axis axes[i] of the source, so 2,0,1 of (2,2,2) is [c][a][b].
  CHECK(result_of("permute u8 2x2x2 axes=2,0,1") == std::vector{1, 3, 5, 7, 2, 4, 6, 8});
  CHECK(result_of("permute u8 1x3x2 layout=NCW:NCW2c") == std::vector{1, 3, 2, 4, 5, 0, 6, 0});
  CHECK(result_of("permute u8 1x2x2x2 layout=NCW2c:NCW extent=C:3") == std::vector{1, 3, 2, 4, 5, 7});
  CHECK(result_of("permute u8 2x2 axes=1,0 dst.strides=3x1") == std::vector{1, 3, 0xee, 2, 4});
  CHECK(result_of("permute u8 2x2 axes=1,0 dst.offset=1 src.offset=1") == std::vector{0xee, 2, 4, 3, 5});
  CHECK(result_of("permute u8 2x3 axes=1,0 src.strides=0x1") == std::vector{1, 1, 2, 2, 3, 3});
  CHECK(result_of("permute u8 2x0 axes=1,0").empty());
}

TEST_CASE("reference agrees with its own definition") {
  for (std::uint64_t i = 0; i < 400; ++i) {
    const PermuteProblem problem = generate_permute(3, i);
    const PermuteDefinition definition(problem);
    if (definition.src_bytes() + definition.dst_bytes() > 4'000'000) continue;
    CAPTURE(print(Problem(problem)));
    std::vector<std::byte> src(definition.src_bytes()), dst(definition.dst_bytes());
    fill_data(src, i);
    fill_data(dst, ~i);
    permute(definition, src, dst);
    const auto sample = check_samples(definition, {src, 0}, dst, i, 200);
    CHECK_MESSAGE(!sample, sample->message());
    const auto streamed = check_streamed(definition, i, dst, 2);
    CHECK_MESSAGE(!streamed, streamed->message());
    if (dst.empty()) continue;
    // One flipped bit of an element must be seen, and named.
    const auto at = static_cast<std::size_t>(
                        definition.destination_at(std::vector<std::int64_t>(definition.dst_axes().size(), 0))) *
                    definition.element_bytes();
    auto spoiled = dst;
    spoiled[at] ^= std::byte{0x10};
    CHECK(check_streamed(definition, i, spoiled, 2).has_value());
    const auto seen = compare(definition, dst, spoiled);
    REQUIRE(seen.has_value());
    CHECK(seen->dst_byte == at);
    CHECK(seen->coordinate == std::vector<std::int64_t>(definition.dst_axes().size(), 0));
  }
}

TEST_CASE("generator makes valid problems of every kind") {
  std::set<std::size_t> ranks;
  std::set<std::uint32_t> sizes, aligns;
  int layouts = 0, padded = 0, strided = 0, broadcast = 0, empty = 0;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const PermuteProblem problem = generate_permute(1, i);
    const std::string text = print(Problem(problem));
    const auto valid = validate(problem);
    REQUIRE_MESSAGE(valid.has_value(), text << ": " << valid.error().message());
    const auto again = parse_problem(text);
    REQUIRE_MESSAGE(again.has_value(), text);
    CHECK(*again == Problem(problem));
    const PermuteDefinition definition(problem);
    CHECK(*dst_shape(problem) == definition.dst_shape());
    CHECK(operand_bytes(problem)->src == definition.src_bytes());
    CHECK(operand_bytes(problem)->dst == definition.dst_bytes());
    CHECK(generate_permute(1, i) == problem);
    ranks.insert(problem.shape.size());
    sizes.insert(size_bytes(problem.type));
    aligns.insert(problem.src_align);
    layouts += !problem.src_layout.empty();
    padded += !problem.extents.empty();
    strided += !problem.src_strides.empty() || !problem.dst_strides.empty();
    for (const std::int64_t stride : problem.src_strides) broadcast += stride == 0;
    empty += definition.empty();
  }
  CHECK(ranks.size() == 16);
  CHECK(sizes == std::set<std::uint32_t>{1, 2, 4, 8, 16});
  CHECK(aligns == std::set<std::uint32_t>{1, 2, 4, 8, 16, 32, 64, 128, 256});
  CHECK(layouts > 1000);
  CHECK(padded > 200);
  CHECK(strided > 1000);
  CHECK(broadcast > 50);
  CHECK(empty > 5);
}

TEST_CASE("generator makes every kind of stage") {
  std::set<std::pair<DType, DType>> casts;
  int scaled = 0, biased = 0, added = 0, strided = 0, alphas = 0, padded = 0, last = 0;
  std::array<int, kActivations> activations{};
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const PermuteProblem problem = generate_elementwise(1, i);
    const auto valid = validate(problem);
    REQUIRE_MESSAGE(valid.has_value(), print(Problem(problem)) << ": " << valid.error().message());
    CHECK(has_stage(problem));
    CHECK(parse_problem(print(Problem(problem))) == Problem(problem));
    const auto operands = operands_of(problem);
    const auto want = ElementwiseDefinition(problem).operands();
    REQUIRE(operands->size() == want.size());
    for (std::size_t o = 0; o < want.size(); ++o) {
      CHECK((*operands)[o].name == want[o].first);
      CHECK((*operands)[o].bytes == want[o].second);
    }
    casts.emplace(problem.type, out_type(problem));
    alphas += problem.stage.alpha != 1;
    scaled += !problem.stage.scale.empty();
    biased += !problem.stage.bias.empty();
    added += problem.stage.add;
    strided += !problem.stage.add_strides.empty();
    padded += !problem.src_layout.empty() && problem.stage.add;
    last += problem.stage.activation_last;
    ++activations.at(static_cast<std::size_t>(problem.stage.activation));
  }
  CHECK(casts.size() == 36);
  for (const int n : {alphas, scaled, biased, added, strided, padded, last}) CHECK(n > 100);
  for (const int n : activations) CHECK(n > 50);
}

// By hand: what a stage makes of numbers, and what is let pass.
TEST_CASE("elementwise known answers") {
  const auto result = [](const char* text, std::vector<float> src, std::vector<float> scale, std::vector<float> bias) {
    const ElementwiseDefinition definition(std::get<PermuteProblem>(*parse_problem(text)));
    return definition.result({{"src", std::as_bytes(std::span(src))},
                              {"scale", std::as_bytes(std::span(scale))},
                              {"bias", std::as_bytes(std::span(bias))}});
  };
  const auto ints = result("permute f32 2x3 axes=1,0 out=i8", {0.5f, 1.5f, 2.5f, -300, std::nanf(""), 200}, {}, {});
  const std::vector<double> want = {0, -128, 2, 0, 2, 127};
  for (std::size_t i = 0; i < want.size(); ++i) {
    CHECK(ints[i].low == want[i]);
    CHECK(ints[i].high == want[i]);
  }
  const auto planes = result("permute f32 1x2x1x3 layout=NHWC:NCHW4c alpha=2 scale=C bias=C", {1, 2, 3, 4, 5, 6},
                             {1, 10, 100}, {0.5f, 0, -1});
  const std::vector<double> values = {2.5, 40, 599, 0, 8.5, 100, 1199, 0};
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(planes[i].zero == (i % 4 == 3));
    CHECK(planes[i].low <= values[i]);
    CHECK(planes[i].high >= values[i]);
    CHECK(planes[i].high - planes[i].low <= 2e-6 * std::max(1.0, std::abs(values[i])));
  }
}

// A check that never met a kernel would say nothing of it.
TEST_CASE("generated problems reach every strategy") {
  DeviceProfile profile = *builtin_target("nvidia-hopper");
  std::map<std::string, int> admissible;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const auto plan = make_plan(generate_permute(1, i), profile, {.explain = true});
    REQUIRE(plan.has_value());
    std::set<std::string> stems;
    for (const auto& candidate : plan->candidates)
      if (candidate.refusal.empty()) stems.insert(candidate.name.substr(0, candidate.name.find(' ')));
    for (const auto& stem : stems) ++admissible[stem];
  }
  for (const char* stem :
       {"permute_copy", "permute_rows", "permute_tile", "permute_block", "permute_runs", "permute_interleave",
        "permute_box", "permute_words", "permute_realign", "permute_ragged", "permute_table"}) {
    CAPTURE(stem);
    CHECK(admissible[stem] >= 40);
  }
}
