// Problems at their limits: a value at a limit is taken, the next one is refused by name. And the limits that
// the planner itself has for valid problems.
#include "helpers.hpp"

#include <sectile/problem.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace sectile;

namespace {

constexpr std::int64_t kMost32 = 2147483647;

// A problem with two ends of an option, or another problem beyond the limit, and what that one is refused for.
struct Limit {
  std::string problem, inside, beyond, refusal;
};

void check_limits(const std::vector<Limit>& limits) {
  for (const Limit& limit : limits) {
    const std::string inside = limit.problem + limit.inside, beyond = limit.problem + limit.beyond;
    CHECK_MESSAGE(test::refusal(inside) == "", inside);
    CHECK_MESSAGE(test::refusal(beyond) == limit.refusal, beyond);
  }
}

// "kind: what" of a valid problem that has no plan; empty if it has one.
std::string no_plan_for(const std::string& text) {
  const auto plan = make_plan(parse_problem(text).value(), test::gpu());
  return plan ? "" : std::string(name(plan.error().kind)) + ": " + plan.error().what;
}

std::string repeated(std::string_view item, std::size_t count, char separator) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text.append(i == 0 ? "" : std::string(1, separator)).append(item);
  return text;
}

}  // namespace

TEST_CASE("each size of a matmul is from 0 to 2^31 - 1") {
  const std::pair<const char*, std::int64_t MatmulProblem::*> sizes[] = {
      {"M", &MatmulProblem::m}, {"N", &MatmulProblem::n}, {"K", &MatmulProblem::k}, {"batch", &MatmulProblem::batch}};
  for (const auto& [what, size] : sizes)
    for (const std::int64_t number : {std::int64_t{-1}, std::int64_t{0}, kMost32, kMost32 + 1}) {
      auto p = std::get<MatmulProblem>(parse_problem("matmul i8 nn 1x1x1").value());
      p.*size = number;
      const auto ok = validate(p);
      CAPTURE(std::string(what));
      CAPTURE(number);
      CHECK(ok.has_value() == (number >= 0 && number <= kMost32));
      if (!ok) CHECK(ok.error().what == what);
    }
}

TEST_CASE("each size of a convolution has its own least and 2^31 - 1") {
  struct Size {
    const char* what;
    std::int64_t Conv2dProblem::* size;
    std::int64_t least;
  };
  using P = Conv2dProblem;
  const Size sizes[] = {
      {"N", &P::n, 0},         {"C", &P::c, 0},          {"H", &P::h, 0},          {"W", &P::w, 0},
      {"k", &P::k, 0},         {"r", &P::r, 1},          {"r", &P::s, 1},          {"s", &P::stride_h, 1},
      {"s", &P::stride_w, 1},  {"p", &P::pad_top, 0},    {"p", &P::pad_left, 0},   {"p", &P::pad_bottom, 0},
      {"p", &P::pad_right, 0}, {"d", &P::dilation_h, 1}, {"d", &P::dilation_w, 1}, {"g", &P::groups, 1}};
  for (const Size& one : sizes)
    for (const std::int64_t number : {one.least - 1, one.least, kMost32, kMost32 + 1}) {
      auto p = std::get<Conv2dProblem>(parse_problem("conv2d i8 nchw 1x1x1x1 k=1 r=1").value());
      p.*one.size = number;
      const auto ok = validate(p);
      // In its range it may be refused for something else: a filter larger than its image, groups that divide nothing.
      const bool out_of_range = !ok && ok.error().limit == fmt::format("{} to {}", one.least, kMost32);
      CAPTURE(std::string(one.what));
      CAPTURE(number);
      CHECK(out_of_range == (number < one.least || number > kMost32));
      if (out_of_range) CHECK(ok.error().what == one.what);
    }
}

TEST_CASE("strides of a matmul are at least a row, or 0, and batches at least 0") {
  const std::string nn = "matmul f32 nn 4x5x6 ", tt = "matmul f32 tt 4x5x6 ";
  check_limits({{nn, "lda=6", "lda=5", "invalid_problem: lda"},
                {nn, "ldb=5", "ldb=4", "invalid_problem: ldb"},
                {tt, "lda=4", "lda=3", "invalid_problem: lda"},
                {tt, "ldb=6", "ldb=5", "invalid_problem: ldb"},
                {nn, "beta=1 ldc=5", "beta=1 ldc=4", "invalid_problem: ldc"},
                {nn, "ldd=5", "ldd=4", "invalid_problem: ldd"},
                {nn, "epi=residual ldr=5", "epi=residual ldr=4", "invalid_problem: ldr"}});
  for (const char* ld : {"lda", "ldb", "ldc", "ldd", "ldr"})
    check_limits({{nn + ld, "=0", "=-1", std::string("invalid_problem: ") + ld}});
  // By members alone: no text has a negative one.
  const std::pair<const char*, std::int64_t MatmulProblem::*> batches[] = {{"a.batch", &MatmulProblem::a_batch},
                                                                           {"b.batch", &MatmulProblem::b_batch},
                                                                           {"c.batch", &MatmulProblem::c_batch},
                                                                           {"d.batch", &MatmulProblem::d_batch},
                                                                           {"r.batch", &MatmulProblem::r_batch}};
  for (const auto& [what, batch] : batches) {
    auto p = std::get<MatmulProblem>(parse_problem(nn).value());
    p.*batch = MatmulProblem::kPacked;
    CHECK(validate(p).has_value());
    p.*batch = MatmulProblem::kPacked - 1;
    REQUIRE_FALSE(validate(p).has_value());
    CHECK(validate(p).error().what == what);
  }
  // Of one batch the step from one to the next is not used.
  check_limits({{"matmul f16 nt 4x5x32 b=q4 b.batch=48 ", "batch=1", "batch=2", "invalid_problem: b.batch"}});
  // 3 * 2^62 elements lie between packed batches: no number that the user gave is to be a multiple of 32.
  const auto far = validate(parse_problem("matmul f16 nt 4x3x32 batch=2 b=q4 ldb=4611686018427387904").value());
  REQUIRE_FALSE(far.has_value());
  CHECK(far.error().kind == ErrorKind::overflow);
}

TEST_CASE("operands of products have at most 2^63 - 1 bytes") {
  const std::string bytes = "matmul i8 nn 2x1x2 ", words = "matmul f32 nn 2x1x1 ";
  check_limits({{bytes, "lda=9223372036854775805", "lda=9223372036854775806", "overflow: a size"},
                {"matmul i8 nn 1x1x1 batch=2 ", "a.batch=9223372036854775806", "a.batch=9223372036854775807",
                 "overflow: a size"},
                {words, "ldd=2305843009213693950", "ldd=2305843009213693951", "overflow: d size"},
                {words, "beta=1 ldc=2305843009213693950", "beta=1 ldc=2305843009213693951", "overflow: c size"},
                {words, "epi=residual ldr=2305843009213693950", "epi=residual ldr=2305843009213693951",
                 "overflow: residual size"}});
  const std::string conv = "conv2d f32 nchw 2x1x1x1 k=1 r=1 ";
  check_limits(
      {{"conv2d i8 nchw 2x1x1x1 k=1 r=1 x.pitch=", "9223372036854775806", "9223372036854775807", "overflow: x size"},
       {"conv2d i8 nhwc 2x1x1x1 k=1 r=1 x.pitch=", "9223372036854775806", "9223372036854775807", "overflow: x size"},
       {conv, "y.pitch=2305843009213693950", "y.pitch=2305843009213693951", "overflow: y size"},
       {conv, "beta=1 c.pitch=2305843009213693950", "beta=1 c.pitch=2305843009213693951", "overflow: c size"},
       {conv, "epi=residual r.pitch=2305843009213693950", "epi=residual r.pitch=2305843009213693951",
        "overflow: residual size"},
       {"conv2d i8 nchw ", "1x2147483647x2x1 k=2147483647 r=2x1", "1x2147483647x3x1 k=2147483647 r=3x1",
        "overflow: w size"}});
}

// Batches that neither follow one another nor interleave, no two elements at one address: too many differences to try.
TEST_CASE("interleaved batches are searched up to 2^14 differences") {
  const std::string steps = " ldd=16385 d.batch=16387";
  check_limits(
      {{"matmul i8 nn ", "16384x1x0 batch=16384" + steps, "16385x1x0 batch=16385" + steps, "overlap: d.batch"},
       {"matmul i8 nn ", "16384x1x0 batch=20000" + steps, "16385x1x0 batch=20000" + steps, "overlap: d.batch"},
       {"matmul i8 nn ", "20000x1x0 batch=16384" + steps, "20000x1x0 batch=16385" + steps, "overlap: d.batch"}});
}

TEST_CASE("alignments and numbers of products end where they end") {
  for (const char* key : {"a.align", "b.align", "d.align"})
    check_limits({{"matmul f32 nn 1x2x3 ", fmt::format("{}=4096", key), fmt::format("{}=8192", key),
                   fmt::format("invalid_problem: {}", key)},
                  {"matmul f32 nn 1x2x3 ", fmt::format("{}=4", key), fmt::format("{}=2", key),
                   fmt::format("invalid_problem: {}", key)}});
  for (const char* key : {"x.align", "w.align", "y.align"})
    check_limits({{"conv2d f32 nchw 1x1x1x1 k=1 r=1 ", fmt::format("{}=4096", key), fmt::format("{}=8192", key),
                   fmt::format("invalid_problem: {}", key)},
                  {"conv2d f32 nchw 1x1x1x1 k=1 r=1 ", fmt::format("{}=4", key), fmt::format("{}=2", key),
                   fmt::format("invalid_problem: {}", key)}});
  check_limits({{"matmul i8 nn 4x4x4 epi=clamp:", "-2147483648:0", "-2147483904:0", "invalid_problem: low"},
                {"matmul i8 nn 4x4x4 epi=clamp:", "0:2147483520", "0:2147483648", "invalid_problem: high"},
                // The least normal number, and the greatest subnormal one.
                {"matmul f32 nn 1x2x3 epi=leaky_relu:", "1.1754944e-38", "1.1754942e-38", "invalid_problem: slope"},
                {"matmul f32 nn 1x2x3 epi=leaky_relu:", "-1.1754944e-38", "-1.1754942e-38", "invalid_problem: slope"},
                {"matmul f32 nn 1x2x3 alpha=", "3.4028235e38", "3.4028236e38", "overflow: alpha"},
                {"matmul f32 nn 1x2x3 beta=", "-3.4028235e38", "-3.4028236e38", "overflow: beta"}});
}

TEST_CASE("padding and pitches of a convolution end where they end") {
  const std::string small = "conv2d f32 nchw 2x6x5x7 k=4 r=3x3 ";  // Y is 4x3x5
  check_limits(
      {{"conv2d i8 nchw ", "1x1x2147483645x1 k=1 r=1 p=1,0", "1x1x2147483646x1 k=1 r=1 p=1,0", "invalid_problem: p"},
       {"conv2d i8 nchw ", "1x1x1x2147483645 k=1 r=1 p=0,1", "1x1x1x2147483646 k=1 r=1 p=0,1", "invalid_problem: p"},
       {"conv2d i8 nchw ", "1x1x2147483646x1 k=1 r=1 p=1,0,0,0", "1x1x2147483647x1 k=1 r=1 p=1,0,0,0",
        "invalid_problem: p"},
       {small, "beta=1 c.pitch=60", "beta=1 c.pitch=59", "invalid_problem: c.pitch"},
       {small, "epi=residual r.pitch=60", "epi=residual r.pitch=59", "invalid_problem: r.pitch"}});
}

TEST_CASE("numbers and lists of a problem's text are as long as their fields") {
  const std::string one = "permute i8 1 axes=0 ";
  CHECK(test::refusal(one + "src.offset=9223372036854775807") == "overflow: src size");
  CHECK(test::refusal(one + "src.offset=9223372036854775808") == "overflow: src.offset");
  CHECK(test::refusal(one + "src.offset=-9223372036854775808") == "invalid_problem: src.offset");
  CHECK(test::refusal(one + "src.offset=-9223372036854775809") == "overflow: src.offset");
  CHECK(test::refusal(one + "align=4294967295") == "invalid_problem: src.align");
  CHECK(test::refusal(one + "align=4294967296") == "overflow: align");
  CHECK(test::refusal(one + "align=-1") == "parse: align");
  CHECK(test::refusal("permute i8 1 axes=2147483647") == "invalid_problem: axes");
  CHECK(test::refusal("permute i8 1 axes=2147483648") == "overflow: axes");
  CHECK(test::refusal(one + "scale=0") == "");
  CHECK(test::refusal(one + "scale=-1") == "parse: scale");
  CHECK(test::refusal("permute f32 2x3 axes=" + repeated("0", 16, ',')) == "invalid_problem: axes");
  CHECK(test::refusal("permute f32 2x3 axes=" + repeated("0", 17, ',')) == "invalid_problem: rank");
  for (const std::string key : {"src.strides", "dst.strides", "add"}) {
    const std::string text = "permute f32 2x3 axes=1,0 " + key + "=";
    CHECK(test::refusal(text + repeated("1", 16, 'x')) == "invalid_problem: " + key);
    CHECK(test::refusal(text + repeated("1", 17, 'x')) == "invalid_problem: rank");
  }
  // An error shows 60 characters of what is wrong.
  const std::string shown(60, 'a');
  CHECK(test::parse_error("permute f32 " + shown).contains('"' + shown + "\" at column 13"));
  CHECK(test::parse_error("permute f32 " + shown + 'a').contains('"' + shown + "...\" at column 13"));
}

TEST_CASE("ranks, strides and sizes of a permute end where they end") {
  for (const std::size_t rank : {0u, 1u, 16u, 17u}) {
    PermuteProblem p;
    p.type = DType::i8;
    p.shape.assign(rank, 1);
    p.axes.resize(rank);
    std::iota(p.axes.begin(), p.axes.end(), 0);
    const auto ok = validate(p);
    CAPTURE(rank);
    CHECK(ok.has_value() == (rank >= 1 && rank <= 16));
    if (!ok) CHECK(ok.error().what == "rank");
  }
  const std::string matrix = "permute f32 2x3 axes=1,0 ";
  check_limits(
      {{matrix, "src.strides=3x1", "src.strides=3x1x1", "invalid_problem: src.strides"},
       {matrix, "dst.strides=2x1", "dst.strides=2x1x1", "invalid_problem: dst.strides"},
       {matrix, "dst.strides=2x1", "dst.strides=2", "invalid_problem: dst.strides"},
       {matrix, "add=2x1", "add=2x1x1", "invalid_problem: add"},
       {matrix, "dst.offset=0", "dst.offset=-1", "invalid_problem: dst.offset"},
       {"permute i8 ", "9223372036854775807 axes=0", "2x4611686018427387904 axes=0,1", "overflow: src size"},
       {"permute f16 ", "4611686018427387903 axes=0", "4611686018427387904 axes=0", "overflow: src size"},
       {"permute i8 1 axes=0 src.offset=", "9223372036854775806", "9223372036854775807", "overflow: src size"},
       {"permute i8 1 axes=0 dst.offset=", "9223372036854775806", "9223372036854775807", "overflow: dst size"},
       {"permute i8 ", "2305843009213693951 axes=0 out=f32", "2305843009213693952 axes=0 out=f32",
        "overflow: dst size"},
       {"permute i8 2 axes=0 add=", "9223372036854775806", "9223372036854775807", "overflow: add size"},
       // No operand has 2^63 bytes, but the loops over partial blocks of A and of B count as many elements.
       {"permute i8 ", "72057594037927935x2x8x5 layout=NA8aB:NA4aB8b extent=A:12",
        "72057594037927936x2x8x5 layout=NA8aB:NA4aB8b extent=A:12", "overflow: dst size"},
       // A stage's vectors have indices and byte offsets of 32 bits.
       {"permute i8 ", "536870911x1 axes=1,0 bias=0", "536870912x1 axes=1,0 bias=0", "unsupported: bias"},
       {"permute i8 ", "536870911x1 axes=1,0 scale=0", "536870912x1 axes=1,0 scale=0", "unsupported: scale"},
       {"permute i8 ", "1x536870911 layout=NC:CN scale=C", "1x536870912 layout=NC:CN scale=C", "unsupported: scale"},
       // Strides of which none exceeds the span of those before: searched up to 2^14 elements.
       {"permute i8 ", "4x4x1024 axes=0,1,2 dst.strides=4x5x100", "5x29x113 axes=0,1,2 dst.strides=29x30x1000",
        "overlap: dst.strides"}});
}

TEST_CASE("layouts of a permute have at most 16 axes, and blocks below 2^63") {
  const std::string ones = "permute f16 " + repeated("1", 15, 'x');
  const std::string five = "permute f16 " + repeated("1x4", 5, 'x');
  check_limits({{ones, " layout=ABCDEFGHIJKLMNO:ABCDEFGHIJKLMNO2o", "x1 layout=ABCDEFGHIJKLMNOP:ABCDEFGHIJKLMNOP2p",
                 "invalid_problem: rank"},
                // Three loops for each letter that both sides split, and one for each other.
                {five, "x2 layout=A4aB4bC4cD4dE4eF:A2aB2bC2cD2dE2eF", "x2x2 layout=A4aB4bC4cD4dE4eFG:A2aB2bC2cD2dE2eFG",
                 "invalid_problem: rank"},
                {"permute i8 1x1 layout=AC:AC", "9223372036854775807c", "9223372036854775808c", "overflow: dst layout"},
                {"permute i8 3 layout=C:C", "4611686018427387903c2c", "4611686018427387904c2c", "overflow: layout"},
                {"permute f16 1x5 layout=NC:CN extent=C:", "5", "6", "invalid_problem: extent"}});
}

TEST_CASE("the planner refuses by name what its kernels' words do not hold") {
  const auto planned_to = [](const std::vector<Limit>& limits) {
    for (const Limit& limit : limits) {
      CHECK_MESSAGE(no_plan_for(limit.problem + limit.inside) == "", limit.problem << limit.inside);
      CHECK_MESSAGE(no_plan_for(limit.problem + limit.beyond) == "limit_exceeded: " + limit.refusal,
                    limit.problem << limit.beyond);
    }
  };
  for (const char* ld : {"lda", "ldb", "ldd", "beta=1 ldc", "epi=residual ldr"})
    planned_to({{std::string("matmul f32 nn 3x3x3 ") + ld, "=2147483647", "=2147483648", "leading dimension"}});
  for (const char* pitch : {"x.pitch", "y.pitch", "beta=1 c.pitch", "epi=residual r.pitch"})
    planned_to({{std::string("conv2d f32 nhwc 1x6x5x7 k=4 r=3x3 ") + pitch, "=2147483647", "=2147483648", "pitch"}});
  // What is not read limits nothing.
  const std::string product = "matmul f32 nn 3x3x3 ", convolution = "conv2d f32 nhwc 1x6x5x7 k=4 r=3x3 ";
  for (const std::string& unread : {product + "ldc", product + "ldr", convolution + "c.pitch", convolution + "r.pitch"})
    CHECK_MESSAGE(no_plan_for(unread + "=2147483648") == "", unread);
  planned_to({{"conv2d f32 nchw 1x1x5x5 k=1 r=3x3 p=1 ", "s=65535,1", "s=65536,1", "s"},
              {"conv2d f32 nchw 1x1x5x5 k=1 r=3x3 p=1 ", "s=1,65535", "s=1,65536", "s"},
              {"conv2d f32 nchw 1x1x5x5 k=1 r=3x3 ", "p=65535,0,0,0", "p=65536,0,0,0", "p"},
              {"conv2d f32 nchw 1x1x5x5 k=1 r=3x3 ", "p=0,65535,0,0", "p=0,65536,0,0", "p"},
              {"conv2d f32 nchw 1x1x131073x3 k=1 r=3x1 ", "d=65535,1", "d=65536,1", "d"},
              {"conv2d f32 nchw 1x1x3x131073 k=1 r=1x3 ", "d=1,65535", "d=1,65536", "d"}});
}
