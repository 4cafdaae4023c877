// Matmul's CUDA kernels, compiled by NVRTC: no error, no warning, no spill, no stack, no more workgroup memory than is
// static, and than the plan states.
#include "products.hpp"

#include "nvrtc.hpp"

using namespace sectile;
using namespace sectile::test;

namespace {

// All types, layouts, parts of an epilogue, formats of B; wide accesses and those of an element; batches and splits of
// K.
constexpr const char* kProblems[] = {
    "matmul f32 nn 1024x1024x1024",
    "matmul f32 nt 1021x770x333 epi=bias+relu",
    "matmul f16 nt 960x2304x770 epi=bias+gelu_tanh",
    "matmul f32 tn 512x640x130 beta=0.5 epi=scale.m+bias.m+silu+residual",
    "matmul bf16 tt 513x769x257 batch=3 alpha=0.5 beta=-1.25 c=d out=f32",
    "matmul i8 nn 1024x1024x1024",
    "matmul f16 nn 127x255x8000 pro=scale epi=bias",
    "matmul i8 nt 513x1025x770 out=f16 alpha=0.01 epi=scale+bias",
    "matmul f16 nt 256x4096x4096 b=q4 epi=residual",
    "matmul bf16 nn 300x301x302 a=f32 b=q8 epi=bias",
    "matmul i8 tt 770x771x129 epi=bias+residual+clamp:-5:900",
    "matmul f32 nt 129x512x4001 b=q4 ldb=4032 batch=2 b.batch=0 epi=gelu",
    "matmul f16 nt 1x4096x4096 epi=bias+hard_swish",
    "matmul f32 nn 4x4096x1000 epi=leaky_relu:0.1",
    "matmul i8 nt 16x1024x4096",
    "matmul bf16 tn 1000x1x4099 epi=tanh",
    "matmul f16 nn 31x77x0 batch=2 beta=1 epi=bias+sigmoid+residual",
    "matmul i8 nn 31x76x0 epi=bias",
};

}  // namespace

TEST_CASE("matmuls compile without spills") {
  const Nvrtc nvrtc;
  if (!nvrtc.there()) return;
  const ProductSteps steps = product_steps(kProblems, "matmul_simt");
  std::vector<Job> jobs = steps.jobs();
  std::map<std::string, Most> most;
  const std::string told = compile_and_check("cuda-matmuls", jobs, most);
  most.try_emplace("matmul_wgmma");  // wgmma_test.cpp compiles it, for the one architecture that has it
  CHECK(missing("gemm", most) == "");
  MESSAGE(told);
}
