#include "drivers.hpp"

#include "reference/generate.hpp"

#include <cstdlib>

namespace sectile::test {

std::vector<NoopGpu> driver_gpus() {
  return {radv("navi31"), radv("gfx1201"), anv("dg2", "dg2"), anv("dg2-a380", "dg2", "0x56a5"), anv("bmg", "bmg")};
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
    for (const char* const shape : {"512x384 axes=1,0", "64x300x512 axes=1,0,2", "7x9x11x3 axes=3,1,0,2",
                                    "1209x9 axes=1,0", "1024x2x32x8 axes=3,0,2,1", "4096x4096 axes=0,1",
                                    "3x70000x7 axes=2,1,0", "70000x70000 axes=1,0"})
      out.push_back(must(parse_problem(std::string("permute ") + type + " " + shape)));
  }
  // Each type and order of storage; ragged, batched, skinny, deep and tiny; what comes before and after the product.
  for (const char* const type : {"f32", "f16", "bf16", "i8"})
    for (const char* const rest : {"nn 1024x1024x1024", "nt 960x2304x770", "tn 120x128x64 batch=8", "tt 512x384x256",
                                   "nt 1x4096x4096", "nn 16x4096x4096", "nt 256x256x16384", "nn 7x5x3"})
      out.push_back(must(parse_problem(std::string("matmul ") + type + " " + rest)));
  for (const char* const text :
       {"matmul f16 nt 512x512x512 acc=f16", "matmul f16 nn 512x512x512 out=f32 beta=0.5",
        "matmul f32 nn 512x512x512 b=f16", "matmul f16 nt 64x4096x4096 b=q8", "matmul f16 nt 64x4096x4096 b=q4",
        "matmul f32 nn 300x200x100 lda=104 ldb=203", "matmul i8 nt 256x256x256 out=f32 epi=scale+bias+relu",
        "matmul f16 nt 960x768x768 epi=bias+gelu", "matmul bf16 nn 256x256x256 out=f32 epi=bias.m+gelu_tanh+residual",
        "matmul f32 nn 256x256x256 alpha=2 beta=1 c=d epi=silu pro=scale"})
    out.push_back(must(parse_problem(text)));
  for (std::uint64_t index = 0; index < 40; ++index) out.emplace_back(reference::generate_permute(9, index));
  return out;
}

}  // namespace sectile::test
