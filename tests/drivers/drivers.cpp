#include "drivers.hpp"

#include "reference/generate.hpp"

#include <algorithm>
#include <cstdlib>

namespace sectile::test {

std::vector<NoopGpu> driver_gpus() {
  // dg2 by the id of an A380: the shim's own first id of the family has no matrix unit.
  return {radv("navi31"), radv("gfx1201"), anv("dg2", "dg2", "0x56a5"), anv("bmg", "bmg")};
}

bool present(const NoopGpu& gpu) {
  const std::string why = absent(gpu);
  if (why.empty()) return true;
  const char* const required = std::getenv("SECTILE_REQUIRE");
  if (required != nullptr && std::string_view(required).find("noop") != std::string_view::npos && !kSanitized)
    FAIL_CHECK("SECTILE_REQUIRE=noop: " << why);
  MESSAGE("skipped: " << gpu.name << ": " << why);
  return false;
}

Ran run_noop(const NoopGpu& gpu, const std::vector<std::string>& variables, const std::string& test_case) {
  return run_program("/usr/bin/env", noop_process(gpu, variables, test_case));
}

std::vector<Problem> problems() {
  std::vector<Problem> out;
  for (const char* const type : {"i8", "f16", "f32", "f64", "c128"}) {
    for (const char* const shape :
         {"512x384 axes=1,0", "64x300x513 axes=1,0,2", "7x9x11x3 axes=3,1,0,2", "1209x9 axes=1,0",
          "1024x2x32x8 axes=3,0,2,1", "4096x4096 axes=0,1", "3x70000x7 axes=2,1,0", "70000x70000 axes=1,0"})
      out.push_back(must(parse_problem(std::string("permute ") + type + " " + shape)));
  }
  // Each type; orders of storage, ragged, batched, skinny and deep ones in turn, since every row of a table is compiled
  // for each; what comes before and after the product.
  for (const char* const text :
       {"matmul f32 nn 1024x1024x1024", "matmul f32 nt 960x2304x770 beta=0.5 epi=bias+gelu",
        "matmul f32 tn 1x4096x4096", "matmul f16 nt 1024x1024x1024", "matmul f16 nn 960x2304x770 acc=f16 epi=residual",
        "matmul f16 tt 120x128x64 batch=8", "matmul f16 nt 16x4096x4096 b=q4", "matmul f16 nt 64x256x16384 b=q8",
        "matmul bf16 nn 1024x1024x1024 out=f32", "matmul i8 nt 1024x1024x1024", "matmul i8 tn 8x512x512 batch=64",
        "matmul i8 nn 512x384x256 out=f32 epi=scale+bias.m+relu",
        "matmul f32 nn 7x5x3 alpha=2 beta=1 c=d epi=silu pro=scale"})
    out.push_back(must(parse_problem(text)));
  const auto add = [&](const PermuteProblem& problem) {
    if (std::ranges::find(problem.shape, 0) == problem.shape.end()) out.emplace_back(problem);
  };
  for (std::uint64_t index = 0; index < 20; ++index) add(reference::generate_permute(9, index));
  for (std::uint64_t index = 0; index < 12; ++index) add(reference::generate_elementwise(9, index));
  return out;
}

std::vector<Problem> convolutions() {
  std::vector<Problem> out;
  for (const char* const text :
       {"conv2d f32 nchw 2x320x64x64 k=320 r=3x3 p=1 epi=bias+relu",
        "conv2d f32 nhwc 1x64x56x56 k=64 r=3x3 p=1 weights=krsc",
        "conv2d f32 nchw 8x3x224x224 k=64 r=7x7 s=2 p=3 pro=scale+bias+relu",
        "conv2d f16 nhwc 2x320x64x64 k=320 r=3x3 p=1 weights=krsc epi=bias+gelu",
        "conv2d f16 nchw 2x1280x16x16 k=1280 r=3x3 p=1 epi=bias+residual",
        "conv2d f16 nhwc 1x64x30x31 k=96 r=3x3 p=1 d=2 w=q8 weights=krsc epi=scale",
        "conv2d bf16 nhwc 4x128x28x28 k=128 r=3x3 s=2 p=1 weights=krsc out=f32 beta=0.5",
        "conv2d i8 nhwc 4x64x56x56 k=64 r=3x3 p=1 weights=krsc", "conv2d i8 nchw 4x36x27x55 k=64 r=3x3 s=2 p=1",
        "conv2d f32 nchw 2x96x56x56 k=96 r=7x7 p=3 g=96 epi=bias",
        "conv2d f16 nhwc 4x96x57x56 k=96 r=3x3 p=1 g=96 weights=rsck epi=bias+relu",
        "conv2d f16 nchw 2x32x112x112 k=64 r=3x3 s=2 p=1 g=32", "conv2d f32 nchw4c 2x10x17x19 k=14 r=1x33 p=0,16",
        "conv2d f32 nchw 2x182x16x242 k=26 r=4x4 s=2 p=3,0,3,2 d=2 g=26 epi=bias+silu+residual"})
    out.push_back(must(parse_problem(text)));
  return out;
}

}  // namespace sectile::test
