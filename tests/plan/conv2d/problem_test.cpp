// Convolution problems: text and JSON in both directions, refusals, output sizes, and the operands' sizes.
#include "plan/helpers.hpp"
#include "plan/made_up.hpp"
#include "plan/reading_back.hpp"

#include "plan/conv2d/problem.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>

using namespace sectile;
using test::operand_text;
using test::parse_error;
using test::reprinted;

namespace {

// A small problem, to which tests add options.
const std::string kSmall = "conv2d f32 nchw 2x6x5x7 k=4 r=3x3";

Conv2dProblem conv2d(const std::string& text) { return std::get<Conv2dProblem>(parse_problem(text).value()); }

// "kind: what" of the small problem with these options.
std::string refused(const std::string& options) { return test::refusal(kSmall + " " + options); }

std::string message(const Conv2dProblem& p) {
  const auto ok = validate(p);
  return ok ? "" : ok.error().message();
}

std::string size(const std::string& text) {
  const ImageSize out = output_size(conv2d(text)).value();
  return std::to_string(out.height) + "x" + std::to_string(out.width);
}

void any_options(Conv2dProblem& p) {
  p.x_layout = static_cast<ImageLayout>(*rc::gen::inRange(0, 4));
  p.y_layout = static_cast<ImageLayout>(*rc::gen::inRange(0, 4));
  p.w_layout = static_cast<FilterLayout>(*rc::gen::inRange(0, 3));
  p.alpha = made_up::any_number();
  p.beta = made_up::any_number();
  for (bool* const one : {&p.c_is_d, &p.scale, &p.bias, &p.residual, &p.x_scale, &p.x_bias, &p.x_relu, &p.exact})
    *one = made_up::coin();
  made_up::set_any_activation(p, p.residual);
}

// Any convolution that the problem string can express. validate() refuses most of them.
Conv2dProblem any_conv2d() {
  Conv2dProblem p;
  any_options(p);
  for (DType* const one : {&p.type, &p.x_type, &p.w_type, &p.acc, &p.out}) *one = made_up::any_type();
  for (std::int64_t* const one : {&p.n, &p.c, &p.h, &p.w, &p.k, &p.r, &p.s, &p.groups}) *one = made_up::any_size();
  for (std::int64_t* const one : {&p.stride_h, &p.stride_w, &p.dilation_h, &p.dilation_w, &p.pad_top, &p.pad_left,
                                  &p.pad_bottom, &p.pad_right, &p.x_pitch, &p.y_pitch, &p.c_pitch, &p.r_pitch})
    *one = made_up::any_stride();
  if (made_up::coin()) p.w_format = WeightFormat::q8;
  if (p.w_format != WeightFormat::plain) p.w_type = DType::i8;  // the string has no other type for it
  for (std::uint32_t* const one : {&p.x_align, &p.w_align, &p.y_align}) *one = made_up::any_align();
  return p;
}

// One that validate() may well accept.
Conv2dProblem plausible_conv2d() {
  const auto from = [](std::int64_t least, std::int64_t most) { return *rc::gen::inRange(least, most + 1); };
  Conv2dProblem p;
  any_options(p);
  p.n = from(0, 2);
  p.groups = from(1, 3);
  p.c = p.groups * from(0, 4);
  p.k = p.groups * from(0, 4);
  for (std::int64_t* const one : {&p.h, &p.w}) *one = from(0, 12);
  for (std::int64_t* const one : {&p.r, &p.s, &p.stride_h, &p.stride_w, &p.dilation_h, &p.dilation_w})
    *one = from(1, 4);
  for (std::int64_t* const one : {&p.pad_top, &p.pad_left, &p.pad_bottom, &p.pad_right}) *one = from(0, 3);
  return p;
}

}  // namespace

TEST_CASE("conv2d problems read back, and hash by every field") {
  test::check_reading_back([] { return any_conv2d(); });
}

TEST_CASE("conv2d prints in a fixed order and leaves defaults out") {
  CHECK(reprinted(
            "conv2d  f16 nhwc 2x320x64x64  epi=bias+relu p=1 r=3 k=320 s=1 d=1 g=1 weights=kcrs align=16 alpha=1.0") ==
        "conv2d f16 nhwc 2x320x64x64 k=320 r=3x3 p=1 epi=bias+relu");
  CHECK(reprinted("conv2d f32 nchw:nchw 1x2x3x4 k=5 r=1x2 exact=1 acc=f32 out=f32 x=f32 w=f32 beta=-0 x.pitch=0") ==
        "conv2d f32 nchw 1x2x3x4 k=5 r=1x2 exact=1");
  CHECK(reprinted("conv2d i8 nhwc:nchw8c 1x2x3x4 k=5 r=1 acc=i32 out=i32 x=i8 w=i8") ==
        "conv2d i8 nhwc:nchw8c 1x2x3x4 k=5 r=1x1");
  // Every option, in the printed order.
  const std::string all =
      "conv2d f16 nchw4c:nhwc 1x8x30x31 k=6 r=3x5 s=2,1 p=0,1,2,3 d=1,2 g=2 weights=rsck x=f32 w=q8 acc=f16 out=f32 "
      "x.pitch=8000 y.pitch=12 c.pitch=13 r.pitch=14 alpha=0.5 beta=-2 epi=scale+bias+gelu_tanh+residual "
      "pro=scale+bias+relu exact=1 x.align=4 w.align=1 y.align=64";
  CHECK(reprinted(all) == all);
  CHECK(test::refusal(all) == "");
  CHECK(reprinted(kSmall + " beta=1 c=y w.align=8 y.align=8 x.align=8") == kSmall + " beta=1 c=y align=8");
}

TEST_CASE("one number stands for two or four that are equal") {
  const auto padded = [](const std::string& padding) {
    return reprinted("conv2d f32 nchw 1x1x9x9 k=1 r=1x1 p=" + padding);
  };
  CHECK(padded("0") == "conv2d f32 nchw 1x1x9x9 k=1 r=1x1");
  CHECK(padded("3,3") == "conv2d f32 nchw 1x1x9x9 k=1 r=1x1 p=3");
  CHECK(padded("0,0,0,0") == "conv2d f32 nchw 1x1x9x9 k=1 r=1x1");
  CHECK(padded("1,2,1,2") == "conv2d f32 nchw 1x1x9x9 k=1 r=1x1 p=1,2");
  CHECK(padded("1,2,1,1") == "conv2d f32 nchw 1x1x9x9 k=1 r=1x1 p=1,2,1,1");
  CHECK(padded("1,1,0,1") == "conv2d f32 nchw 1x1x9x9 k=1 r=1x1 p=1,1,0,1");
  CHECK(reprinted(kSmall + " s=2,2 d=3,3") == kSmall + " s=2 d=3");
  const Conv2dProblem p = conv2d(kSmall + " s=2,3 p=4,5,6,7 d=8,9");
  CHECK(std::array{p.stride_h, p.stride_w, p.dilation_h, p.dilation_w} == std::array<std::int64_t, 4>{2, 3, 8, 9});
  CHECK(std::array{p.pad_top, p.pad_left, p.pad_bottom, p.pad_right} == std::array<std::int64_t, 4>{4, 5, 6, 7});
  const Conv2dProblem two = conv2d(kSmall + " p=4,5");
  CHECK(std::array{two.pad_top, two.pad_left, two.pad_bottom, two.pad_right} ==
        std::array<std::int64_t, 4>{4, 5, 4, 5});
}

TEST_CASE("conv2d parse errors name the token and its column") {
  CHECK(parse_error("conv2d") == "parse: type: not there (want conv2d TYPE LAYOUT NxCxHxW k=K r=RxS ...)");
  CHECK(parse_error("conv2d f32").starts_with("parse: layout: not there (want nchw, nhwc, nchw4c or nchw8c"));
  CHECK(parse_error("conv2d f32 nchx 1x2x3x4").starts_with("parse: layout: \"nchx\" at column 12"));
  CHECK(parse_error("conv2d f32 nchw: 1x2x3x4").starts_with("parse: layout: \"\" at column 17"));
  CHECK(parse_error("conv2d f32 nchw:nhwc:nchw 1x2x3x4").starts_with("parse: layout: \"nchw:nhwc:nchw\" at column 12"));
  CHECK(parse_error("conv2d f32 nchw") == "parse: sizes: not there (want NxCxHxW, as in 2x320x64x64)");
  CHECK(parse_error("conv2d f32 nchw 1x2x3") ==
        "parse: sizes: \"1x2x3\" at column 17 (want NxCxHxW, as in 2x320x64x64)");
  CHECK(parse_error("conv2d f32 nchw 1x2x3x4x5").starts_with("parse: sizes: \"1x2x3x4x5\" at column 17"));
  CHECK(parse_error("conv2d f32 nchw 1x2xhx4") == "parse: sizes: \"h\" at column 21 (want an integer)");
  CHECK(parse_error("conv2d f32 nchw 1x2x3x4 r=3") == "parse: k: not there (want k=...)");
  CHECK(parse_error("conv2d f32 nchw 1x2x3x4 k=3") == "parse: r: not there (want r=...)");
  CHECK(parse_error("conv2d f32 nchw 1x2x3x4 k=3 r=3x3x3") ==
        "parse: r: \"3x3x3\" at column 31 (want 1 number, or height x width, as in 3x3)");
  CHECK(parse_error(kSmall + " s=1,2,3") ==
        "parse: s: \"1,2,3\" at column 37 (want 1 number, or 2: vertical, horizontal)");
  CHECK(parse_error(kSmall + " p=1,2,3") ==
        "parse: p: \"1,2,3\" at column 37 (want 1 number, 2 (vertical, horizontal) or 4 (top, left, bottom, right))");
  CHECK(parse_error(kSmall + " p=1,2,3,4,5").starts_with("parse: p: \"1,2,3,4,5\" at column 37"));
  CHECK(parse_error(kSmall + " d=2x2") == "parse: d: \"2x2\" at column 37 (want an integer)");
  CHECK(parse_error(kSmall + " weights=kscr") == "parse: weights: \"kscr\" at column 43 (want kcrs, krsc or rsck)");
  CHECK(parse_error(kSmall + " w=q4").starts_with("parse: w: \"q4\" at column 37 (want q8 or one of i8"));
  CHECK(parse_error(kSmall + " c=d") == "parse: c: \"d\" at column 37 (want y)");
  CHECK(parse_error(kSmall + " exact=0") == "parse: exact: \"0\" at column 41 (want 1)");
  CHECK(parse_error(kSmall + " exact").starts_with("parse: option: \"exact\" at column 35 (want one of k= r= s="));
  CHECK(parse_error(kSmall + " epi=bias+scale") ==
        "parse: epi: \"scale\" at column 44 (want scale, bias, an activation (relu, gelu, gelu_tanh, silu, "
        "leaky_relu:SLOPE, clamp:LOW:HIGH, relu6, sigmoid, hard_swish, hard_sigmoid or tanh), residual, joined by + in "
        "this order, the activation before or after the residual)");
  CHECK(parse_error(kSmall + " epi=bias.m").starts_with("parse: epi: \"bias.m\""));
  CHECK(parse_error(kSmall + " pro=relu+scale") ==
        "parse: pro: \"scale\" at column 44 (want scale, bias, relu, joined by + in this order)");
  CHECK(parse_error(kSmall + " k=4").starts_with("parse: option: \"k=4\" at column 35 (want each option once)"));
  CHECK(parse_error(kSmall + " align=4 w.align=4").starts_with("parse: option: \"w.align=4\" at column 43"));
}

TEST_CASE("conv2d JSON leaves defaults out and refuses by key") {
  CHECK(
      to_json(Problem(conv2d("conv2d f16 nhwc:nchw 2x3x4x5 k=6 r=1x2 p=1,2,3,4 w=q8 alpha=0.1 epi=silu pro=relu"))) ==
      R"({"activation":"silu","alpha":"0.1","c":3,"h":4,"k":6,"n":2,"operation":"conv2d","pad_bottom":3,"pad_left":2,)"
      R"("pad_right":4,"pad_top":1,"r":1,"s":2,"type":"f16","w":5,"w_type":"q8","x_layout":"nhwc","x_relu":true})");
  const auto wrong = [](const std::string& more) {
    auto problem =
        problem_from_json(R"({"operation":"conv2d","type":"f32","n":1,"c":2,"h":3,"w":4,"k":5,"r":1)" + more);
    return problem ? "" : problem.error().message();
  };
  CHECK(wrong(R"(,"s":1})") == "");
  CHECK(wrong("}") == "parse: problem.s: not there");
  CHECK(wrong(R"(,"s":1,"stride":2})") == "parse: problem.stride: unknown key");
  CHECK(wrong(R"(,"s":1,"x_layout":"NCHW"})") == "parse: problem.x_layout: NCHW (want nchw, nhwc, nchw4c or nchw8c)");
  CHECK(wrong(R"(,"s":1,"w_layout":"oihw"})") == "parse: problem.w_layout: oihw (want kcrs, krsc or rsck)");
  CHECK(wrong(R"(,"s":1,"bias":"row"})") == "parse: problem.bias: \"row\" (want true or false)");
  CHECK(wrong(R"(,"s":1,"pad_top":0.5})").starts_with("parse: problem.pad_top: 0.5 (want an integer"));
}

TEST_CASE("conv2d refuses types that do not go together") {
  CHECK(test::refusal("conv2d u8 nchw 1x1x1x1 k=1 r=1") == "invalid_problem: type");
  CHECK(test::refusal("conv2d f64 nchw 1x1x1x1 k=1 r=1") == "invalid_problem: type");
  CHECK(refused("x=i8") == "invalid_problem: x");
  CHECK(refused("x=bf16 w=f16 out=f16") == "");
  CHECK(refused("w=i32") == "invalid_problem: w");
  CHECK(refused("w=q8") == "");
  CHECK(refused("acc=f16") == "invalid_problem: acc");
  CHECK(refused("out=i32") == "invalid_problem: out");
  CHECK(test::refusal("conv2d f16 nchw 1x1x1x1 k=1 r=1 acc=f16") == "");
  CHECK(test::refusal("conv2d i8 nchw 1x1x1x1 k=1 r=1 x=f16") == "invalid_problem: x");
  CHECK(test::refusal("conv2d i8 nchw 1x1x1x1 k=1 r=1 w=q8") == "invalid_problem: w");
  CHECK(test::refusal("conv2d i8 nchw 1x1x1x1 k=1 r=1 acc=f32") == "invalid_problem: acc");
  CHECK(test::refusal("conv2d i8 nchw 1x1x1x1 k=1 r=1 out=i8") == "invalid_problem: out");
  CHECK(test::refusal("conv2d i8 nchw 1x1x1x1 k=1 r=1 out=bf16") == "");
  Conv2dProblem p = conv2d(kSmall);
  p.w_format = WeightFormat::q8;
  CHECK(message(p) == "invalid_problem: w: f32 (want i8 as the type of q8)");
  p.w_format = WeightFormat::q4;
  p.w_type = DType::i8;
  CHECK(message(p) == "invalid_problem: w: q4 (want q8 or an element type: weights of 4 bits are a matmul's alone)");
}

TEST_CASE("integer convolutions take no fractions") {
  const std::string i8 = "conv2d i8 nhwc 1x4x5x5 k=4 r=3x3 ";
  CHECK(test::refusal(i8 + "epi=bias+relu+residual") == "");
  CHECK(test::refusal(i8 + "alpha=2") == "invalid_problem: alpha");
  CHECK(test::refusal(i8 + "beta=1") == "invalid_problem: beta");
  CHECK(test::refusal(i8 + "epi=scale") == "invalid_problem: epi");
  CHECK(test::refusal(i8 + "epi=silu") == "invalid_problem: epi");
  CHECK(test::refusal(i8 + "out=f16 alpha=2 beta=1 epi=scale+bias+silu") == "");
  // Also where the result is a float: what is multiplied is an integer.
  for (const char* word : {"scale", "bias", "relu"})
    CHECK(validate(conv2d(i8 + "out=f16 pro=" + word)).error().message() ==
          std::string("invalid_problem: pro: ") + word +
              " (want none where the type is i8: its products are integers)");
}

TEST_CASE("conv2d refuses numbers that are not finite") {
  Conv2dProblem p = conv2d(kSmall);
  p.alpha = std::numeric_limits<float>::infinity();
  CHECK(validate(p).error().what == "alpha");
  p.alpha = 1;
  p.beta = std::numeric_limits<float>::quiet_NaN();
  CHECK(validate(p).error().what == "beta");
}

TEST_CASE("conv2d refuses sizes out of their range by name") {
  CHECK(test::refusal("conv2d f32 nchw -1x6x5x7 k=4 r=3x3") == "invalid_problem: N");
  CHECK(test::refusal("conv2d f32 nchw 2x-6x5x7 k=4 r=3x3") == "invalid_problem: C");
  CHECK(test::refusal("conv2d f32 nchw 2x6x-5x7 k=4 r=3x3") == "invalid_problem: H");
  CHECK(test::refusal("conv2d f32 nchw 2x6x5x2147483648 k=4 r=3x3") == "invalid_problem: W");
  CHECK(test::refusal("conv2d f32 nchw 2x6x5x7 k=-4 r=3x3") == "invalid_problem: k");
  CHECK(test::refusal("conv2d f32 nchw 2x6x5x7 k=4 r=0x3") == "invalid_problem: r");
  CHECK(test::refusal("conv2d f32 nchw 2x6x5x7 k=4 r=3x0") == "invalid_problem: r");
  CHECK(refused("s=0") == "invalid_problem: s");
  CHECK(refused("s=1,0") == "invalid_problem: s");
  CHECK(refused("d=0,1") == "invalid_problem: d");
  CHECK(refused("d=1,-1") == "invalid_problem: d");
  CHECK(refused("g=0") == "invalid_problem: g");
  for (const char* padding : {"-1,0,0,0", "0,-1,0,0", "0,0,-1,0", "0,0,0,-1"})
    CHECK(refused(std::string("p=") + padding) == "invalid_problem: p");
  CHECK(validate(conv2d(kSmall + " s=2147483648,1")).error().message() ==
        "invalid_problem: s: 2147483648 (want 1 to 2147483647)");
  CHECK(refused("s=2147483647") == "");
}

TEST_CASE("groups divide both kinds of channels") {
  CHECK(refused("g=2") == "");
  CHECK(validate(conv2d(kSmall + " g=3")).error().message() ==
        "invalid_problem: g: 3 (want a divisor of C = 6 and k = 4)");
  CHECK(refused("g=4") == "invalid_problem: g");
  CHECK(test::refusal("conv2d f32 nchw 2x6x5x7 k=12 r=3x3 g=6") == "");  // depthwise
  CHECK(test::refusal("conv2d f32 nchw 2x0x5x7 k=12 r=3x3 g=6") == "");
  CHECK(test::refusal("conv2d f32 nchw 2x6x5x7 k=0 r=3x3 g=5") == "invalid_problem: g");
}

TEST_CASE("results without rows or columns are refused") {
  CHECK(test::refusal("conv2d f32 nchw 1x1x2x9 k=1 r=3x3") == "invalid_problem: output height");
  CHECK(test::refusal("conv2d f32 nchw 1x1x9x2 k=1 r=3x3") == "invalid_problem: output width");
  CHECK(test::refusal("conv2d f32 nchw 1x1x3x3 k=1 r=3x3") == "");
  CHECK(test::refusal("conv2d f32 nchw 1x1x5x4 k=1 r=3x3 d=2") == "invalid_problem: output width");
  CHECK(test::refusal("conv2d f32 nchw 1x1x5x4 k=1 r=3x3 d=2 p=0,0,0,1") == "");
  CHECK(validate(conv2d("conv2d f32 nchw 1x1x2x9 k=1 r=3x3 d=2 p=1,0")).error().message() ==
        "invalid_problem: output height: not positive (want a filter that spans at most 4 pixels, which is H with its "
        "padding; it spans 5)");
  // An image without pixels has no result, although padding alone would make one.
  CHECK(test::refusal("conv2d f32 nchw 1x1x0x9 k=1 r=1 p=3") == "invalid_problem: H");
  CHECK(test::refusal("conv2d f32 nchw 1x1x9x0 k=1 r=1 p=3") == "invalid_problem: W");
  // Where there is nothing to compute, no size is too small.
  CHECK(test::refusal("conv2d f32 nchw 0x1x0x0 k=1 r=3x3") == "");
  CHECK(test::refusal("conv2d f32 nchw 1x1x0x0 k=0 r=3x3") == "");
}

TEST_CASE("a padded image has fewer than 2^31 rows and columns") {
  CHECK(test::refusal("conv2d i8 nchw 1x1x2147483647x1 k=1 r=1") == "");
  CHECK(validate(conv2d("conv2d i8 nchw 1x1x2147483646x1 k=1 r=1 p=1,0")).error().message() ==
        "invalid_problem: p: 2 (want padding with which H = 2147483646 grows to at most 2147483647)");
  CHECK(test::refusal("conv2d i8 nchw 1x1x1x1 k=1 r=1 p=0,2147483647") == "invalid_problem: p");
  CHECK(test::refusal("conv2d i8 nchw 1x1x1x1 k=1 r=2147483647 d=2147483647") == "invalid_problem: output height");
}

TEST_CASE("pitches are packed or larger") {
  CHECK(refused("x.pitch=210") == "");
  CHECK(validate(conv2d(kSmall + " x.pitch=209")).error().message() ==
        "invalid_problem: x.pitch: 209 (want 0 (packed) or at least 210, the elements of an image)");
  CHECK(refused("x.pitch=-1") == "invalid_problem: x.pitch");
  // Y is 4x3x5.
  CHECK(refused("y.pitch=60") == "");
  CHECK(refused("y.pitch=59") == "overlap: y.pitch");
  CHECK(refused("y.pitch=-1") == "invalid_problem: y.pitch");
  CHECK(refused("beta=1 c.pitch=59") == "invalid_problem: c.pitch");
  CHECK(refused("epi=residual r.pitch=59") == "invalid_problem: r.pitch");
  CHECK(refused("beta=1 c=y c.pitch=60") == "invalid_problem: c.pitch");
  CHECK(refused("beta=1 c=y y.pitch=61") == "");
  CHECK(test::refusal("conv2d f32 nhwc 2x6x5x7 k=4 r=3x3 x.pitch=6 y.pitch=4") == "");
  CHECK(test::refusal("conv2d f32 nhwc 2x6x5x7 k=4 r=3x3 x.pitch=5") == "invalid_problem: x.pitch");
  CHECK(validate(conv2d("conv2d f32 nhwc 2x6x5x7 k=4 r=3x3 y.pitch=3")).error().message() ==
        "overlap: y.pitch: 3 (want 0 (packed) or at least 4, the elements of a pixel)");
  // Blocked layouts count whole blocks: 8 of 6 channels, 8 of 7.
  CHECK(test::refusal("conv2d f32 nchw4c 2x6x5x7 k=7 r=3x3 x.pitch=280 y.pitch=120") == "");
  CHECK(test::refusal("conv2d f32 nchw4c 2x6x5x7 k=7 r=3x3 x.pitch=279") == "invalid_problem: x.pitch");
  CHECK(test::refusal("conv2d f32 nchw8c 2x6x5x7 k=7 r=3x3 y.pitch=119") == "overlap: y.pitch");
}

TEST_CASE("alignments of a convolution are those of its elements") {
  CHECK(refused("x.align=2") == "invalid_problem: x.align");
  CHECK(refused("x=f16 x.align=2") == "");
  CHECK(refused("w=q8 w.align=1") == "");
  CHECK(refused("w.align=24") == "invalid_problem: w.align");
  CHECK(refused("y.align=8192") == "invalid_problem: y.align");
  CHECK(refused("align=0") == "invalid_problem: x.align");
  CHECK(test::refusal("conv2d i8 nchw 1x1x1x1 k=1 r=1 align=2") == "invalid_problem: y.align");
}

TEST_CASE("output sizes are rounded down") {
  CHECK(size("conv2d f32 nchw 1x1x64x48 k=1 r=3x3 p=1") == "64x48");
  CHECK(size("conv2d f32 nchw 1x1x224x224 k=1 r=7x7 p=3 s=2") == "112x112");
  CHECK(size("conv2d f32 nchw 1x1x10x11 k=1 r=3x2 s=3,4") == "3x3");
  CHECK(size("conv2d f32 nchw 1x1x10x11 k=1 r=3x3 d=2,4 p=1,0,2,1") == "9x4");
  CHECK(size("conv2d f32 nchw 1x1x5x5 k=1 r=5x5 s=100") == "1x1");
  CHECK(size("conv2d f32 nchw 0x1x2x9 k=1 r=3x3") == "0x7");
  CHECK(output_size(conv2d("conv2d f32 nchw 1x1x2x9 k=1 r=3x3")).error().what == "output height");
}

TEST_CASE("the output has a row wherever the filter fits") {
  CHECK(rc::check("P counts the places", [] {
    Conv2dProblem p;
    p.n = p.c = p.k = p.w = 1;
    p.h = *rc::gen::inRange(1, 30);
    p.r = *rc::gen::inRange(1, 8);
    p.stride_h = *rc::gen::inRange(1, 6);
    p.dilation_h = *rc::gen::inRange(1, 5);
    p.pad_top = *rc::gen::inRange(0, 6);
    p.pad_bottom = *rc::gen::inRange(0, 6);
    std::int64_t places = 0;
    for (std::int64_t y = -p.pad_top; y + (p.r - 1) * p.dilation_h < p.h + p.pad_bottom; y += p.stride_h) ++places;
    const auto out = output_size(p);
    RC_ASSERT(out.has_value() == (places > 0));
    if (out) RC_ASSERT(out->height == places && out->width == 1);
  }));
}

TEST_CASE("conv2d operands reach their last elements") {
  CHECK(operand_text(kSmall) == "x:1680 w:864 y:480");
  CHECK(operand_text(kSmall + " g=2") == "x:1680 w:432 y:480");
  CHECK(operand_text("conv2d f16 nhwc 2x6x5x7 k=4 r=3x3 weights=rsck") == "x:840 w:432 y:240");
  CHECK(operand_text("conv2d f16 nhwc:nchw 2x6x5x7 k=4 r=3x3 x.pitch=10 y.pitch=100 out=f32") == "x:1392 w:432 y:640");
  CHECK(operand_text("conv2d f16 nchw:nhwc 2x6x5x7 k=4 r=3x3 x.pitch=1000 y.pitch=5") == "x:2420 w:432 y:298");
  // Blocks of 4 hold 8 of 6 channels, and 8 of 7; so do blocks of 8. The surplus is part of the image.
  CHECK(operand_text("conv2d f16 nchw4c:nchw8c 2x6x5x7 k=7 r=3x3 y.pitch=200") == "x:1120 w:756 y:640");
  CHECK(operand_text("conv2d f16 nhwc 2x6x5x7 k=4 r=3x3 out=f32 w=q8 beta=1 c.pitch=5 epi=scale+bias+residual "
                     "r.pitch=6 pro=scale+bias") ==
        "x:840 w:216 y:480 c:596 bias:16 scale:16 residual:712 w.scale:16 x.scale:24 x.bias:24");
  CHECK(operand_text(kSmall + " beta=1 c=y pro=relu") == "x:1680 w:864 y:480");
  CHECK(operand_text(kSmall + " c.pitch=99 r.pitch=99") == "x:1680 w:864 y:480");  // neither is there
  CHECK(operand_text("conv2d i8 nhwc 1x6x5x7 k=4 r=1 epi=bias") == "x:210 w:24 y:560 bias:16");
  // An empty result, and sums of nothing.
  CHECK(operand_text("conv2d f32 nchw 0x6x5x7 k=4 r=3x3 epi=bias pro=scale") == "x:0 w:0 y:0 bias:0 x.scale:0");
  CHECK(operand_text("conv2d f32 nchw 2x6x5x7 k=0 r=3x3 w=q8") == "x:0 w:0 y:0 w.scale:0");
  CHECK(operand_text("conv2d f32 nchw 2x0x5x7 k=4 r=3x3 w=q8 epi=bias pro=bias") ==
        "x:0 w:0 y:480 bias:16 w.scale:0 x.bias:0");
  const auto specs = operands_of(parse_problem(kSmall + " beta=1 epi=bias align=32").value()).value();
  CHECK(std::ranges::count_if(specs, [](const auto& s) { return s.written; }) == 1);
  CHECK(specs[2].written);
  for (const auto& spec : specs) CHECK(spec.align == (spec.name == "bias" ? 4 : 32));
}

// Compares the operands' bytes and the strides with a walk over all elements.
TEST_CASE("images end with their last element") {
  CHECK(rc::check("bytes reach the last element, surplus included", [] {
    Conv2dProblem p;
    p.n = *rc::gen::inRange(1, 4);
    p.c = p.k = *rc::gen::inRange(1, 20);
    p.h = *rc::gen::inRange(1, 6);
    p.w = *rc::gen::inRange(1, 6);
    p.x_layout = static_cast<ImageLayout>(*rc::gen::inRange(0, 4));
    const std::int64_t block = std::array<std::int64_t, 4>{1, 1, 4, 8}[static_cast<std::size_t>(p.x_layout)];
    const std::int64_t blocks = (p.c + block - 1) / block;
    const bool nhwc = p.x_layout == ImageLayout::nhwc;
    const std::int64_t gap = *rc::gen::inRange(0, 9);
    if (gap != 0) p.x_pitch = (nhwc ? p.c : blocks * block * p.h * p.w) + gap;
    const auto strides = detail::strides_of(detail::stored_x(p));
    std::int64_t end = 0;
    for (std::int64_t n = 0; n < p.n; ++n)
      for (std::int64_t c = 0; c < blocks * block; ++c)
        for (std::int64_t y = 0; y < p.h; ++y)
          for (std::int64_t x = 0; x < p.w; ++x) {
            const std::int64_t pixel = (n * p.h + y) * p.w + x;
            const std::int64_t at =
                nhwc ? pixel * (p.c + gap) + c
                     : n * (blocks * block * p.h * p.w + gap) + ((c / block * p.h + y) * p.w + x) * block + c % block;
            const std::int64_t inside = strides.block == 0 ? p.c : strides.block;
            RC_ASSERT(at ==
                      n * strides.image + c / inside * strides.plane + c % inside + (y * p.w + x) * strides.pixel);
            end = std::max(end, at + 1);
          }
    RC_ASSERT(operands_of(p).value().at(0).bytes == static_cast<std::uint64_t>(4 * end));
  }));
}

TEST_CASE("refuses convolutions beyond 63 bits") {
  CHECK(test::refusal("conv2d f32 nchw 2147483647x1x2147483647x1 k=1 r=1") == "overflow: x size");
  CHECK(test::refusal("conv2d i8 nchw 2147483647x1x2147483647x1 k=0 r=1") == "");
  CHECK(test::refusal("conv2d f32 nhwc 2147483647x2147483647x2147483647x2147483647 k=1 r=1") == "overflow: x size");
  CHECK(test::refusal("conv2d f32 nchw8c 2147483647x2147483647x2147483647x2147483647 k=1 r=1") == "overflow: x size");
  CHECK(test::refusal("conv2d f32 nhwc 2147483647x1x2147483647x2147483647 k=1 r=1 x.pitch=9223372036854775807") ==
        "overflow: x size");
  CHECK(test::refusal("conv2d f32 nchw 1x2147483647x1x1 k=2147483647 r=1") == "overflow: w size");
  CHECK(test::refusal("conv2d i8 nchw 1x2147483647x1x1 k=2147483647 r=1") == "");  // 2^31 - 1 products a sum
  CHECK(test::refusal("conv2d i8 nchw 1x2147483647x9x9 k=2147483647 r=2") == "overflow: w size");
  CHECK(test::refusal("conv2d i8 nchw 1x1x60000x60000 k=2147483647 r=1 out=f32") == "overflow: y size");
  CHECK(refused("y.pitch=4611686018427387904") == "overflow: y size");
  CHECK(test::refusal("conv2d f32 nchw 1x6x5x7 k=4 r=3x3 y.pitch=4611686018427387904") == "");  // of one image
  CHECK(refused("epi=residual r.pitch=4611686018427387904") == "overflow: residual size");
  CHECK(validate(conv2d(kSmall + " x.pitch=4611686018427387904")).error().message() ==
        "overflow: x size: 2 of 6x5x7, images 4611686018427387904 apart (want less than 2^63 bytes)");
}

TEST_CASE("strides of what cannot be accessed saturate") {
  const auto most = std::numeric_limits<std::int64_t>::max();
  Conv2dProblem p = conv2d("conv2d f32 nhwc 0x2147483647x2147483647x2147483647 k=1 r=1");
  CHECK(validate(p));
  CHECK(detail::strides_of(detail::stored_x(p)) == detail::ImageStrides{most, 0, 2147483647, 0});
  p.x_layout = ImageLayout::nchw8c;
  CHECK(detail::strides_of(detail::stored_x(p)) == detail::ImageStrides{most, most, 8, 8});
  CHECK(detail::sum_length(conv2d("conv2d f32 nchw 1x6x9x9 k=4 r=3x5 g=2")) == 45);
}

TEST_CASE("valid convolutions have bytes where they have elements") {
  CHECK(rc::check("operands_of agrees with validate", [] {
    const Conv2dProblem p = plausible_conv2d();
    const auto specs = operands_of(p);
    const auto out = output_size(p);
    RC_ASSERT(specs.has_value() == validate(p).has_value() && specs.has_value() == out.has_value());
    if (!specs) return;
    const bool empty = p.n == 0 || p.k == 0;
    RC_ASSERT(empty || (out->height > 0 && out->width > 0));
    for (const auto& spec : *specs) {
      RC_ASSERT(spec.written == (spec.name == "y"));
      RC_ASSERT((empty ? spec.bytes == 0 : spec.name != "y" || spec.bytes > 0));
    }
  }));
}
