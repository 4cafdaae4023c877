// Convolution's CUDA kernels, compiled by NVRTC: no error, no warning, no spill, no stack, no more workgroup memory
// than is static, and than the plan states.
#include "products.hpp"

#include "nvrtc.hpp"

using namespace sectile;
using namespace sectile::test;

namespace {

// All types and layouts, image as A and as B, along channels and along pixels, filters of odd sizes, groups, the
// prologue, all parts of an epilogue, splits of the sum.
constexpr const char* kConvolutions[] = {
    "conv2d f32 nhwc 2x320x64x64 k=320 r=3x3 p=1 weights=krsc epi=bias+relu",
    "conv2d f32 nchw 2x320x64x64 k=320 r=3x3 p=1 epi=bias+relu",
    "conv2d f16 nhwc 2x320x64x64 k=320 r=3x3 p=1 weights=krsc epi=bias+gelu_tanh",
    "conv2d f16 nchw 1x1280x16x16 k=1280 r=3x3 p=1 epi=bias+residual",
    "conv2d f32 nchw 8x3x224x224 k=64 r=7x7 s=2 p=3 epi=bias+relu",
    "conv2d f32 nhwc 8x3x224x224 k=64 r=7x7 s=2 p=3 weights=rsck epi=bias+silu",
    "conv2d bf16 nhwc 1x96x57x55 k=130 r=3x5 d=2,1 p=2 x=f32 out=f32 weights=krsc beta=0.5 epi=scale",
    "conv2d f32 nhwc 4x128x28x28 k=128 r=3x3 p=1 g=4 weights=krsc pro=scale+bias+relu epi=scale+bias",
    "conv2d f16 nchw8c 2x64x30x31 k=96 r=3x3 p=1 weights=krsc epi=bias",
    "conv2d f16 nhwc 1x64x30x31 k=96 r=3x3 p=1 w=q8 weights=krsc epi=bias",
    "conv2d i8 nhwc 4x64x56x56 k=64 r=3x3 p=1 weights=krsc",
    "conv2d i8 nchw 4x36x56x55 k=64 r=3x3 s=2 p=1 out=f16 alpha=0.01 epi=scale+bias+relu",
    "conv2d f32 nchw 2x6x7x8 k=8 r=3x3 p=1 pro=bias+relu beta=1 c=y epi=residual",
    "conv2d f32 nhwc 4x96x56x56 k=96 r=7x7 p=3 g=96 weights=rsck epi=bias",
    "conv2d f16 nhwc 4x96x56x56 k=96 r=3x3 p=1 g=96 weights=rsck epi=bias+relu",
    "conv2d f32 nchw 1x32x112x112 k=64 r=3x3 s=2 p=1 g=32 epi=bias",
    "conv2d f32 nhwc 1x512x7x7 k=512 r=3x3 p=1 weights=krsc epi=bias+relu",
    "conv2d f32 nchw4c 2x10x17x19 k=14 r=1x33 p=0,16",
};

}  // namespace

TEST_CASE("convolutions compile without spills") {
  const Nvrtc nvrtc;
  if (!nvrtc.there()) return;
  const ProductSteps steps = product_steps(kConvolutions, "conv2d_simt");
  std::vector<Job> jobs = steps.jobs();
  std::map<std::string, Most> most;
  const std::string told = compile_and_check("cuda-convolutions", jobs, most);
  CHECK(missing("conv2d", most) == "");
  CHECK(most.contains("matmul_reduce"));
  MESSAGE(told);
}
