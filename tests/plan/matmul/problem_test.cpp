// Matmul problems: text and JSON in both directions, refusals, and the operands' sizes.
#include "plan/helpers.hpp"
#include "plan/made_up.hpp"
#include "plan/reading_back.hpp"

#include "plan/matmul/problem.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>

using namespace sectile;
using test::parse_error;
using test::refusal;
using test::reprinted;

namespace {

MatmulProblem matmul(std::string_view text) { return std::get<MatmulProblem>(parse_problem(text).value()); }

}  // namespace

TEST_CASE("matmul problems read back, and hash by every field") {
  test::check_reading_back([] { return made_up::any_matmul(); });
}

TEST_CASE("matmul prints in a fixed order and leaves defaults out") {
  CHECK(
      reprinted("matmul  f16 nt 960x2304x770  epi=bias+gelu acc=f16 a=f16 out=f16 align=16 alpha=1.0 beta=-0 lda=0") ==
      "matmul f16 nt 960x2304x770 acc=f16 epi=bias+gelu");
  CHECK(reprinted("matmul i8 nn 1x2x3 acc=i32 out=i32 b=i8") == "matmul i8 nn 1x2x3");
  CHECK(
      reprinted("matmul f32 tt 1x2x3 d.align=8 pro=scale c=d beta=5e-1 r.batch=7 ldr=9 b=q8 batch=2 "
                "epi=scale.m+bias.m+residual") ==
      "matmul f32 tt 1x2x3 batch=2 b=q8 ldr=9 r.batch=7 beta=0.5 c=d epi=scale.m+bias.m+residual pro=scale d.align=8");
  CHECK(reprinted("matmul f32 nn 1x2x3 b.align=4 a.align=4 d.align=4") == "matmul f32 nn 1x2x3 align=4");
  CHECK(reprinted("matmul f32 nn 1x2x3 alpha=0.1") == "matmul f32 nn 1x2x3 alpha=0.1");
  CHECK(to_json(matmul("matmul f16 tn 1x2x3 b=q4 alpha=0.1 epi=scale.m+silu")) ==
        R"({"activation":"silu","alpha":"0.1","b":"q4","k":3,"m":1,"n":2,"operation":"matmul",)"
        R"("scale":"row","transpose_a":true,"type":"f16"})");
}

TEST_CASE("negative zero is zero") {
  // 0 and -0 are equal, so their strings, JSON and ids must be equal too.
  MatmulProblem p = matmul("matmul f32 nn 1x2x3 alpha=0");
  p.alpha = -0.0f;
  CHECK(print(Problem(p)) == "matmul f32 nn 1x2x3 alpha=0");
  CHECK(to_json(Problem(p)) == to_json(Problem(matmul("matmul f32 nn 1x2x3 alpha=0"))));
}

TEST_CASE("matmul parse errors name the token and its column") {
  CHECK(parse_error("matmul") == "parse: type: not there (want matmul TYPE nn|nt|tn|tt MxNxK ...)");
  CHECK(parse_error("matmul f32") == "parse: layout: not there (want nn, nt, tn or tt)");
  CHECK(parse_error("matmul f32 nx 1x2x3") == "parse: layout: \"nx\" at column 12 (want nn, nt, tn or tt)");
  CHECK(parse_error("matmul f32 nn") == "parse: sizes: not there (want MxNxK, as in 960x2304x770)");
  CHECK(parse_error("matmul f32 nn 1x2") == "parse: sizes: \"1x2\" at column 15 (want MxNxK, as in 960x2304x770)");
  CHECK(parse_error("matmul f32 nn 1x2x3x4").starts_with("parse: sizes: \"1x2x3x4\" at column 15"));
  CHECK(parse_error("matmul f32 nn 1x2xk") == "parse: sizes: \"k\" at column 19 (want an integer)");
  CHECK(parse_error("matmul f32 nn 1x2x3 c=e") == "parse: c: \"e\" at column 23 (want d)");
  CHECK(parse_error("matmul f32 nn 1x2x3 b=q5").starts_with("parse: b: \"q5\" at column 23 (want q8, q4 or one of i8"));
  CHECK(parse_error("matmul f32 nn 1x2x3 alpha=one") == "parse: alpha: \"one\" at column 27 (want a decimal number)");
  CHECK(parse_error("matmul f32 nn 1x2x3 alpha=1e99") ==
        "overflow: alpha: \"1e99\" at column 27 (want a number that 32 bits hold)");
  CHECK(parse_error("matmul f32 nn 1x2x3 alpha=nan") ==
        "invalid_problem: alpha: \"nan\" at column 27 (want a finite number)");
  CHECK(parse_error("matmul f32 nn 1x2x3 beta=-inf") ==
        "invalid_problem: beta: \"-inf\" at column 26 (want a finite number)");
  CHECK(parse_error("matmul f32 nn 1x2x3 epi=relu+bias")
            .starts_with("parse: epi: \"bias\" at column 30 (want scale or scale.m"));
  CHECK(parse_error("matmul f32 nn 1x2x3 epi=bias+bias.m").starts_with("parse: epi: \"bias.m\" at column 30"));
  CHECK(parse_error("matmul f32 nn 1x2x3 lda=4 lda=5") ==
        "parse: option: \"lda=5\" at column 27 (want each option once)");
  CHECK(parse_error("matmul f32 nn 1x2x3 a.align=4 align=8").starts_with("parse: option: \"align=8\" at column 31"));
  CHECK(parse_error("matmul f32 nn 1x2x3 axes=1,0")
            .starts_with("parse: option: \"axes=1,0\" at column 21 (want one of batch="));
}

TEST_CASE("matmul JSON refuses by key") {
  const auto message = [](std::string_view text) {
    auto problem = problem_from_json(text);
    return problem ? "" : problem.error().message();
  };
  CHECK(message(R"({"operation":"matmul","type":"f32","m":1,"n":2})") == "parse: problem.k: not there");
  CHECK(message(R"({"operation":"matmul","type":"f32","m":1,"n":2,"k":3,"shape":[1]})") ==
        "parse: problem.shape: unknown key");
  CHECK(message(R"({"operation":"matmul","type":"f99","m":1,"n":2,"k":3})").starts_with("parse: problem.type: f99"));
  CHECK(message(R"({"operation":"matmul","type":"f32","m":1,"n":2,"k":3,"alpha":2})") ==
        "parse: problem.alpha: 2 (want a string)");
  CHECK(message(R"({"operation":"matmul","type":"f32","m":1,"n":2,"k":3,"alpha":"nan"})") ==
        "parse: problem.alpha: nan (want a finite number)");
  CHECK(message(R"({"operation":"matmul","type":"f32","m":1,"n":2,"k":3,"bias":"m"})") ==
        "parse: problem.bias: m (want row or column)");
  CHECK(message(R"({"operation":"matmul","type":"f32","m":1,"n":2,"k":3,"activation":"elu"})") ==
        "parse: problem.activation: elu (want relu, gelu, gelu_tanh, silu, leaky_relu, clamp, sigmoid, hard_swish, "
        "hard_sigmoid or tanh)");
}

TEST_CASE("refuses types that do not go together") {
  CHECK(refusal("matmul u8 nn 1x2x3") == "invalid_problem: type");
  CHECK(refusal("matmul f64 nn 1x2x3") == "invalid_problem: type");
  CHECK(refusal("matmul f32 nn 1x2x3 a=i8") == "invalid_problem: a");
  CHECK(refusal("matmul f32 nn 1x2x3 a=bf16 b=f16") == "");
  CHECK(refusal("matmul i8 nn 1x2x3 a=f16") == "invalid_problem: a");
  CHECK(refusal("matmul i8 nn 1x2x3 b=u8") == "invalid_problem: b");
  CHECK(refusal("matmul i8 nt 1x2x32 b=q4") == "invalid_problem: b");
  CHECK(refusal("matmul i8 nt 1x2x32 b=q8") == "invalid_problem: b");
  CHECK(refusal("matmul f32 nn 1x2x3 acc=f16") == "invalid_problem: acc");
  CHECK(refusal("matmul bf16 nn 1x2x3 acc=f16") == "invalid_problem: acc");
  CHECK(refusal("matmul bf16 nn 1x2x3 acc=bf16") == "invalid_problem: acc");
  CHECK(refusal("matmul f16 nn 1x2x3 acc=f16") == "");
  CHECK(refusal("matmul i8 nn 1x2x3 acc=f32") == "invalid_problem: acc");
  CHECK(refusal("matmul f32 nn 1x2x3 out=i32") == "invalid_problem: out");
  CHECK(refusal("matmul i8 nn 1x2x3 out=i8") == "invalid_problem: out");
  CHECK(refusal("matmul i8 nn 1x2x3 out=bf16") == "");
  MatmulProblem p;
  p.b_format = WeightFormat::q8;
  CHECK(validate(p).error().message() == "invalid_problem: b: f32 (want i8 as the type of q8)");
}

TEST_CASE("refusal of a matmul says what was wanted") {
  CHECK(validate(matmul("matmul bf16 nn 1x2x3 acc=f16")).error().message() ==
        "invalid_problem: acc: f16 (want f32 where the type is bf16)");
  CHECK(validate(matmul("matmul f32 nn 4x5x6 ldb=4")).error().message() ==
        "invalid_problem: ldb: 4 (want 0 (packed) or at least 5, a row's elements)");
}

TEST_CASE("integer results take no fractions") {
  CHECK(refusal("matmul i8 nn 1x2x3 epi=bias+relu+residual") == "");
  CHECK(refusal("matmul i8 nn 1x2x3 alpha=2") == "invalid_problem: alpha");
  CHECK(refusal("matmul i8 nn 1x2x3 beta=1") == "invalid_problem: beta");
  CHECK(refusal("matmul i8 nn 1x2x3 epi=scale") == "invalid_problem: epi");
  CHECK(refusal("matmul i8 nn 1x2x3 epi=gelu") == "invalid_problem: epi");
  CHECK(refusal("matmul i8 nn 1x2x3 out=f32 alpha=2 beta=1 epi=scale+gelu") == "");
  CHECK(refusal("matmul i8 nn 1x2x3 out=f32 pro=scale") == "invalid_problem: pro");
}

TEST_CASE("refuses what is not finite") {
  MatmulProblem p;
  p.alpha = std::numeric_limits<float>::infinity();
  CHECK(validate(p).error().what == "alpha");
  p.alpha = 1;
  p.beta = std::numeric_limits<float>::quiet_NaN();
  CHECK(validate(p).error().what == "beta");
}

TEST_CASE("refuses invalid sizes and strides") {
  CHECK(refusal("matmul f32 nn -1x2x3") == "invalid_problem: M");
  CHECK(refusal("matmul f32 nn 1x2147483648x3") == "invalid_problem: N");
  CHECK(refusal("matmul f32 nn 1x1x2147483647") == "");
  CHECK(refusal("matmul f32 nn 1x2x3 batch=-1") == "invalid_problem: batch");
  CHECK(refusal("matmul f32 nn 4x5x6 lda=5") == "invalid_problem: lda");
  CHECK(refusal("matmul f32 tn 4x5x6 lda=5") == "");
  CHECK(refusal("matmul f32 nt 4x5x6 ldb=5") == "invalid_problem: ldb");
  CHECK(refusal("matmul f32 nn 4x5x6 ldd=4") == "invalid_problem: ldd");
  CHECK(refusal("matmul f32 nn 4x5x6 ldc=4 beta=1") == "invalid_problem: ldc");
  CHECK(refusal("matmul f32 nn 4x5x6 ldr=4 epi=residual") == "invalid_problem: ldr");
  CHECK(refusal("matmul f32 nn 4x5x6 lda=-6") == "invalid_problem: lda");
  // Left out, it is packed: the mark of that has no number.
  for (const char* key : {"a", "b", "c", "d", "r"})
    for (const char* step : {"-1", "-2", "-9223372036854775808"}) {
      const std::string text = std::string("matmul f32 nn 4x5x6 batch=2 ") + key + ".batch=" + step;
      CHECK_MESSAGE(test::parse_error(text).starts_with(std::string("parse: ") + key + ".batch: \"" + step), text);
      const std::string json = std::string(R"({"operation":"matmul","type":"f32","m":4,"n":5,"k":6,"batch":2,")") +
                               key + "_batch\":" + step + "}";
      const auto read = problem_from_json(json);
      REQUIRE_MESSAGE(!read, json);
      CHECK(read.error().message().starts_with(std::string("parse: problem.") + key + "_batch: " + step));
    }
  CHECK(refusal("matmul f32 nn 4x5x6 batch=2 a.batch=0") == "");
  CHECK(refusal("matmul f32 nn 4x5x6 ldc=7 beta=1 c=d") == "invalid_problem: ldc");
  CHECK(refusal("matmul f32 nn 4x5x6 batch=2 c.batch=0 beta=1 c=d") == "invalid_problem: c.batch");
}

TEST_CASE("4-bit weights are transposed and in whole blocks") {
  CHECK(refusal("matmul f16 nt 4x5x64 b=q4") == "");
  CHECK(refusal("matmul f16 nn 4x5x64 b=q4") == "invalid_problem: b");
  CHECK(refusal("matmul f16 nt 4x5x33 b=q4") == "invalid_problem: ldb");
  CHECK(refusal("matmul f16 nt 4x5x33 b=q4 ldb=64") == "");
  CHECK(refusal("matmul f16 nt 4x5x33 b=q4 ldb=48") == "invalid_problem: ldb");
  CHECK(refusal("matmul f16 nt 4x5x32 b=q4 batch=2 b.batch=48") == "invalid_problem: b.batch");
  CHECK(refusal("matmul f16 nt 4x5x32 b=q4 batch=2 b.batch=0") == "");
  // B: 4 row strides of 64 elements and a last row of 33, two in a byte. Scales: 4 strides of 2 and 2 more, two bytes
  // each.
  CHECK(test::operand_text("matmul f16 nt 3x5x33 b=q4 ldb=64") == "a:198 b:145 d:30 b.scale:20");
}

TEST_CASE("alignments of a matmul are those of its elements") {
  CHECK(refusal("matmul f32 nn 1x2x3 a.align=2") == "invalid_problem: a.align");
  CHECK(refusal("matmul f32 nn 1x2x3 a=f16 a.align=2") == "");
  CHECK(refusal("matmul f32 nt 1x2x3 b=q8 b.align=1") == "");
  CHECK(refusal("matmul f32 nn 1x2x3 b.align=24") == "invalid_problem: b.align");
  CHECK(refusal("matmul f32 nn 1x2x3 d.align=8192") == "invalid_problem: d.align");
  CHECK(refusal("matmul i8 nn 1x2x3 align=2") == "invalid_problem: d.align");
}

TEST_CASE("batches of a destination may interleave but not overlap") {
  CHECK(refusal("matmul f32 nn 4x5x6 batch=3") == "");
  CHECK(refusal("matmul f32 nn 4x5x6 batch=3 ldd=15 d.batch=5") == "");
  CHECK(refusal("matmul f32 nn 4x5x6 batch=3 ldd=14 d.batch=5") == "overlap: d.batch");
  CHECK(refusal("matmul f32 nn 4x5x6 batch=3 ldd=15 d.batch=4") == "overlap: d.batch");
  CHECK(refusal("matmul f32 nn 4x5x6 batch=3 d.batch=0") == "overlap: d.batch");
  CHECK(refusal("matmul f32 nn 4x5x6 batch=1 d.batch=0") == "");
  CHECK(refusal("matmul f32 nn 4x5x6 batch=3 a.batch=0 b.batch=1") == "");
  // The batches interleave without overlap: rows begin at 0 20 40 60 and at 30 50 70 90.
  CHECK(refusal("matmul f32 nn 4x5x6 batch=2 ldd=20 d.batch=30") == "");
  CHECK(refusal("matmul f32 nn 4x5x6 batch=2 ldd=20 d.batch=36") == "overlap: d.batch");
}

// Compares the arithmetic rule with a search of all elements.
TEST_CASE("overlapping destinations are found exactly") {
  CHECK(rc::check("overlap exactly where two elements share an address", [] {
    MatmulProblem p;
    p.m = *rc::gen::inRange(1, 7);
    p.n = *rc::gen::inRange(1, 5);
    p.k = 1;
    p.batch = *rc::gen::inRange(1, 6);
    p.ldd = p.n + *rc::gen::inRange(0, 30);
    p.d_batch = *rc::gen::inRange(0, 70);
    std::set<std::int64_t> seen;
    bool distinct = true;
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t m = 0; m < p.m; ++m)
        for (std::int64_t n = 0; n < p.n; ++n) distinct = seen.insert(b * p.d_batch + m * p.ldd + n).second && distinct;
    RC_ASSERT(validate(p).has_value() == distinct);
  }));
}

TEST_CASE("matmul operands reach their last elements") {
  CHECK(test::operand_text("matmul f32 nn 4x5x6") == "a:96 b:120 d:80");
  CHECK(test::operand_text("matmul f16 tn 4x5x6 lda=8 ldd=9 batch=2 b.batch=0") == "a:184 b:60 d:136");
  CHECK(test::operand_text("matmul f16 nn 4x5x6 out=f32 beta=1 ldc=8 epi=scale.m+bias+residual pro=scale") ==
        "a:48 b:60 d:80 c:116 bias:20 scale:16 residual:80 a.scale:24");
  CHECK(test::operand_text("matmul f32 nt 4x5x6 b=q8 beta=0.5 c=d") == "a:96 b:30 d:80 b.scale:20");
  CHECK(test::operand_text("matmul i8 nn 4x5x6 epi=bias.m") == "a:24 b:30 d:80 bias:16");
  CHECK(test::operand_text("matmul f32 nn 4x5x6 epi=bias ldc=9") == "a:96 b:120 d:80 bias:20");  // beta = 0: no C
  // An empty result, and K = 0.
  CHECK(test::operand_text("matmul f32 nn 0x5x6 epi=bias") == "a:0 b:0 d:0 bias:0");
  CHECK(test::operand_text("matmul f32 nn 4x5x6 batch=0 epi=bias") == "a:0 b:0 d:0 bias:0");
  CHECK(test::operand_text("matmul f32 nt 4x5x0 epi=bias b=q8 pro=scale") ==
        "a:0 b:0 d:80 bias:20 b.scale:0 a.scale:0");
}

TEST_CASE("refuses matmuls beyond63 bits") {
  CHECK(refusal("matmul f32 nn 2147483647x1x2147483647") == "overflow: a size");
  CHECK(refusal("matmul i8 nn 2147483647x1x2147483647") == "");
  CHECK(refusal("matmul f32 nn 2x2x2 ldd=4611686018427387904") == "overflow: d size");
  CHECK(refusal("matmul i8 nn 2x2x2 lda=9223372036854775807") == "overflow: a size");
  CHECK(refusal("matmul i8 nn 1x2x2 lda=9223372036854775807") == "");
  CHECK(refusal("matmul i8 nn 2147483647x1x2147483647 batch=2") == "");
  CHECK(refusal("matmul i8 nn 2147483647x1x2147483647 batch=4") == "overflow: a size");
  CHECK(refusal("matmul f32 nn 2x2x2 batch=2147483647 b.batch=9223372036854775807") == "overflow: b size");
  CHECK(refusal("matmul f32 nn 0x2147483647x2147483647 batch=2147483647 ldb=9223372036854775807") == "");
}

TEST_CASE("effective strides stand for what is left out") {
  const auto at = [](std::string_view text) { return detail::effective(matmul(text)); };
  CHECK(at("matmul f32 tn 4x5x6") == detail::GemmStrides{4, 5, 5, 5, 5, 24, 30, 20, 20, 20});
  CHECK(at("matmul f32 nt 4x5x6 lda=8 ldd=7 a.batch=0 beta=1 c=d") ==
        detail::GemmStrides{8, 6, 7, 7, 5, 0, 30, 28, 28, 20});
  // An unused stride that exceeds 63 bits saturates.
  CHECK(at("matmul i8 nn 2147483647x1x1 lda=9223372036854775807").a_batch == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("valid matmuls have bytes where they have elements") {
  CHECK(rc::check("operands_of agrees with validate", [] {
    const MatmulProblem p = made_up::any_matmul();
    const auto specs = operands_of(Problem(p));
    RC_ASSERT(specs.has_value() == validate(p).has_value());
    if (!specs) return;
    const bool empty = p.m == 0 || p.n == 0 || p.batch == 0;
    RC_ASSERT(std::ranges::count_if(*specs, [](const auto& s) { return s.written; }) == 1);
    for (const auto& spec : *specs) RC_ASSERT((empty ? spec.bytes == 0 : spec.name != "d" || spec.bytes > 0));
  }));
}
