// The problems that validate() refuses, and the error that it names.
#include "helpers.hpp"

#include <sectile/problem.hpp>

#include <doctest/doctest.h>

using namespace sectile;
using test::refusal;

namespace {

std::vector<std::int64_t> destination(std::string_view text) {
  return dst_shape(std::get<PermuteProblem>(parse_problem(text).value())).value();
}

}  // namespace

TEST_CASE("refuses axes that are no permutation") {
  CHECK(refusal("permute f32 2x3x4 axes=0,0,1") == "invalid_problem: axes");
  CHECK(refusal("permute f32 2x3x4 axes=0,1") == "invalid_problem: axes");
  CHECK(refusal("permute f32 2x3x4 axes=0,1,3") == "invalid_problem: axes");
  CHECK(refusal("permute f32 2x3x4 axes=0,1,-1") == "invalid_problem: axes");
  CHECK(refusal("permute f32 2x3x4") == "invalid_problem: axes");
  CHECK(refusal("permute f32 2x3x4 axes=0,2,1 layout=ABC:ACB") == "invalid_problem: axes");
}

TEST_CASE("refusal says what was wanted") {
  auto ok = validate(parse_problem("permute f32 2x3x4 axes=0,0,1").value());
  CHECK(ok.error().message() == "invalid_problem: axes: 0,0,1 (want a permutation of 0..2)");
}

TEST_CASE("refuses rank17 and negative sizes") {
  std::string shape = "1", axes = "0";
  for (int i = 1; i < 17; ++i) {
    shape += "x1";
    axes += "," + std::to_string(i);
  }
  CHECK(refusal("permute f32 " + shape + " axes=" + axes) == "invalid_problem: rank");
  CHECK(refusal("permute f32 2x-3 axes=1,0") == "invalid_problem: shape");
  CHECK(validate(PermuteProblem{}).error().what == "rank");
}

TEST_CASE("refuses what overflows") {
  CHECK(refusal("permute f32 4294967296x4294967296 axes=1,0") == "overflow: src size");
  CHECK(refusal("permute i8 3037000500x3037000500 axes=1,0") == "overflow: src size");
  CHECK(refusal("permute i8 3037000499x3037000499 axes=1,0") == "");
  CHECK(refusal("permute f32 2x2 axes=1,0 src.strides=4611686018427387904x1") == "overflow: src size");
  CHECK(refusal("permute f32 2x2 axes=1,0 dst.strides=4611686018427387904x1") == "overflow: dst size");
  CHECK(refusal("permute f32 2x2 axes=1,0 src.offset=9223372036854775807") == "overflow: src size");
  CHECK(refusal("permute i8 3 layout=C:C4611686018427387904c2c") == "overflow: layout");
  CHECK(refusal("permute i8 3x3 layout=AC:AC4611686018427387904c") == "overflow: dst size");
}

TEST_CASE("zero sizes are nothing to do whatever the others are") {
  CHECK(refusal("permute f32 0x4294967296x4294967296 axes=2,1,0") == "");
  CHECK(refusal("permute f32 0x5 axes=0,0") == "invalid_problem: axes");
  const auto p = std::get<PermuteProblem>(parse_problem("permute f32 3x0 axes=1,0").value());
  CHECK(operand_bytes(p)->src == 0);
  CHECK(operand_bytes(p)->dst == 0);
  CHECK(dst_shape(p) == std::vector<std::int64_t>{0, 3});
}

TEST_CASE("refuses layouts that do not fit") {
  CHECK(refusal("permute f16 1x2x3 layout=NHWC:NCHW") == "invalid_problem: shape");
  CHECK(refusal("permute f16 1x2 layout=NN:NN") == "invalid_problem: src layout");
  CHECK(refusal("permute f16 1x2 layout=NC:NH") == "invalid_problem: layout");
  CHECK(refusal("permute f16 1x2 layout=NC:N") == "invalid_problem: layout");
  CHECK(refusal("permute f16 1x2 layout=NC:NC4h") == "invalid_problem: dst layout");
  CHECK(refusal("permute f16 1x2 layout=NC:NC4") == "invalid_problem: dst layout");
  CHECK(refusal("permute f16 1x2 layout=NC:NCc") == "invalid_problem: dst layout");
  CHECK(refusal("permute f16 1x2 layout=NC:NC0c") == "invalid_problem: dst layout");
  CHECK(refusal("permute f16 1x2 layout=NC:N4C") == "invalid_problem: dst layout");
  CHECK(refusal("permute f16 1x2 layout=NC:N?C") == "parse: layout");
  CHECK(refusal("permute f16 1x2x3 layout=NC4c:NC") == "invalid_problem: shape");
  CHECK(refusal("permute f16 1x2x4 layout=NC4c:NC6c") == "unsupported: layout");
  CHECK(refusal("permute f16 1x2x4 layout=NC4c:NC8c") == "");
  CHECK(refusal("permute f16 5x5x5 layout=ABC:A2aB2bC2c") == "unsupported: layout");
  CHECK(refusal("permute f16 5x5x5 layout=ABC:A2aB2bC") == "");
  CHECK(refusal("permute f16 1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1 layout=ABCDEFGHIJKLMNOP:ABCDEFGHIJKLMNOP2p") ==
        "invalid_problem: rank");
}

TEST_CASE("extents belong to blocked source axes") {
  CHECK(refusal("permute f16 1x2x4 layout=NC4c:NC extent=C:5") == "");
  CHECK(refusal("permute f16 1x2x4 layout=NC4c:NC extent=C:8") == "");
  CHECK(refusal("permute f16 1x2x4 layout=NC4c:NC extent=C:9") == "invalid_problem: extent");
  CHECK(refusal("permute f16 1x2x4 layout=NC4c:NC extent=C:-1") == "invalid_problem: extent");
  CHECK(refusal("permute f16 1x2x4 layout=NC4c:NC extent=H:1") == "invalid_problem: extent");
  CHECK(refusal("permute f16 1x5 layout=NC:CN extent=C:4") == "invalid_problem: extent");
  CHECK(refusal("permute f16 1x5 layout=NC:CN extent=C:5") == "");
  CHECK(refusal("permute f16 1x5 axes=1,0 extent=C:5") == "invalid_problem: extent");
  CHECK(destination("permute f16 1x2x7x4 layout=NCW4c:NWC extent=C:5") == std::vector<std::int64_t>{1, 7, 5});
  CHECK(destination("permute f16 1x384x512x3 layout=NHWC:NCHW4c") == std::vector<std::int64_t>{1, 1, 384, 512, 4});
}

TEST_CASE("alignment is a power of two from the element to a page") {
  CHECK(refusal("permute f32 2x3 axes=1,0 src.align=2") == "invalid_problem: src.align");
  CHECK(refusal("permute f32 2x3 axes=1,0 dst.align=24") == "invalid_problem: dst.align");
  CHECK(refusal("permute f32 2x3 axes=1,0 align=8192") == "invalid_problem: src.align");
  CHECK(refusal("permute f32 2x3 axes=1,0 dst.align=0") == "invalid_problem: dst.align");
  CHECK(refusal("permute f32 2x3 axes=1,0 align=4096") == "");
  CHECK(refusal("permute i8 2x3 axes=1,0 align=1") == "");
}

TEST_CASE("strides may repeat the source but not the destination") {
  CHECK(refusal("permute f32 2x3 axes=1,0 src.strides=0x1") == "");
  CHECK(refusal("permute f32 2x3 axes=1,0 src.strides=-1x1") == "invalid_problem: src.strides");
  CHECK(refusal("permute f32 2x3 axes=1,0 src.strides=1") == "invalid_problem: src.strides");
  CHECK(refusal("permute f32 2x3 axes=1,0 dst.strides=0x1") == "invalid_problem: dst.strides");
  CHECK(refusal("permute f32 2x3 axes=1,0 dst.strides=1x1") == "overlap: dst.strides");
  CHECK(refusal("permute f32 2x3 axes=1,0 dst.strides=1x3") == "");
  CHECK(refusal("permute f32 2x3 axes=1,0 src.offset=-1") == "invalid_problem: src.offset");
}

TEST_CASE("overlap of interleaved destinations is decided exactly") {
  // 3x2 at strides 2 and 3: the offsets 0 3 2 5 4 7 are distinct, although neither stride exceeds the other axis' span.
  CHECK(refusal("permute f32 2x3 axes=1,0 dst.strides=2x3") == "");
  CHECK(refusal("permute f32 3x4 axes=1,0 dst.strides=2x3") == "overlap: dst.strides");
  CHECK(refusal("permute f32 2x2x2 axes=0,1,2 dst.strides=3x5x6") == "");
  CHECK(refusal("permute f32 2x2x2 axes=0,1,2 dst.strides=3x5x8") == "overlap: dst.strides");
  // Refused because there are too many elements to search, although the strides 5, 3 and 600 are valid.
  CHECK(refusal("permute f32 2x3x10 axes=0,1,2 dst.strides=5x3x600") == "");
  CHECK(refusal("permute f32 2x3x1000000 axes=0,1,2 dst.strides=5x3x600") == "overlap: dst.strides");
}

TEST_CASE("operand bytes reach the last element") {
  const auto bytes = [](std::string_view text) {
    return operand_bytes(std::get<PermuteProblem>(parse_problem(text).value())).value();
  };
  CHECK(bytes("permute f16 2x3 axes=1,0").src == 12);
  CHECK(bytes("permute f16 2x3 axes=1,0 src.strides=10x1 src.offset=5").src == 2 * (5 + 10 + 2 + 1));
  CHECK(bytes("permute f16 2x3 axes=1,0 src.strides=0x0").src == 2);
  CHECK(bytes("permute f16 2x3 axes=1,0 dst.strides=8x1").dst == 2 * (16 + 1 + 1));
  CHECK(bytes("permute f16 1x2x2x3 layout=NHWC:NCHW4c").dst == 2 * 4 * 4);
}

TEST_CASE("dtypes are known by size and name") {
  CHECK(size_bytes(parse_dtype("bf16").value()) == 2);
  CHECK(size_bytes(DType::c128) == 16);
  CHECK(name(DType::b128) == "b128");
  CHECK(parse_dtype("f8").error().kind == ErrorKind::parse);
  for (int i = 0; i < 19; ++i) CHECK(parse_dtype(name(static_cast<DType>(i))).value() == static_cast<DType>(i));
}
