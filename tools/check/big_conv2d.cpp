// Big convolutions.
#include "big_product.hpp"
#include "conv2d.hpp"

#include "reference/conv2d.hpp"

namespace sectile::tools {
namespace {

// Pixels and images so far apart that x, y, c and the residual in turn have elements at indices from 2^31 on, and bytes
// from 2^31 and 2^32 on; and dense ones of that size.
constexpr const char* kConv2ds[] = {
    "conv2d i8 nhwc 1x32x12x12 k=33 r=3 p=1 x.pitch=16777217",
    "conv2d i8 nhwc 3x16x12x12 k=33 r=3 p=1 x.pitch=8388609",
    "conv2d i8 nchw 3x17x9x9 k=32 r=3 p=1 x.pitch=1073741827",
    "conv2d f16 nhwc 2x64x9x9 k=64 r=3 p=1 x.pitch=16777224",
    "conv2d f16 nchw 3x33x9x9 k=64 r=3 s=2 p=1 x.pitch=1073741827",
    "conv2d f32 nhwc 2x16x9x9 k=40 r=3 p=1 y.pitch=8388612 epi=bias+relu",
    "conv2d f32 nchw 3x16x9x9 k=40 r=3 p=1 y.pitch=536870916 epi=bias",
    "conv2d f32 nchw4c 3x18x9x9 k=18 r=3 p=1 x.pitch=536870916 y.pitch=536870920",
    "conv2d f32 nhwc 2x16x9x9 k=40 r=3 p=1 beta=0.5 c.pitch=8388612 r.pitch=8388616 epi=residual",
    "conv2d f32 nhwc 2x40x9x9 k=40 r=3 p=1 g=40 x.pitch=8388612",
    "conv2d f32 nchw 3x40x9x9 k=40 r=3 p=1 g=40 x.pitch=536870916 y.pitch=536870920",
    "conv2d i8 nhwc 1x64x5800x5800 k=8 r=3 p=1",
    "conv2d i8 nchw 1x64x5800x5800 k=8 r=3 s=2 p=1",
    "conv2d i8 nhwc 1x8x5801x5801 k=32 r=3 p=1",
    "conv2d i8 nchw 1x8x5801x5801 k=32 r=3 p=1",
    "conv2d i8 nhwc 1x4x8192x8192 k=33 r=3 p=1",
};

}  // namespace

std::vector<Problem> big_conv2ds() {
  std::vector<Problem> cases;
  for (const char* const text : kConv2ds) cases.push_back(parse_problem(text).value());
  return cases;
}

std::unique_ptr<BigCase> big_conv2d(const Conv2dProblem& p) {
  const reference::Conv2dDefinition definition(p);
  const auto elements = static_cast<std::int64_t>(definition.size());
  return std::make_unique<BigProduct<reference::Conv2dDefinition>>(p, elements * (p.c / p.groups) * p.r * p.s);
}

}  // namespace sectile::tools
