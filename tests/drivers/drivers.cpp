#include "drivers.hpp"

#include "reference/generate.hpp"

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
         {"512x384 axes=1,0", "64x300x512 axes=1,0,2", "7x9x11x3 axes=3,1,0,2", "1209x9 axes=1,0",
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
  for (std::uint64_t index = 0; index < 20; ++index) out.emplace_back(reference::generate_permute(9, index));
  for (std::uint64_t index = 0; index < 12; ++index) out.emplace_back(reference::generate_elementwise(9, index));
  return out;
}

}  // namespace sectile::test
