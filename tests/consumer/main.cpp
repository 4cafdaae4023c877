// Plans a permute for a built-in target and looks its kernels up: what an outside program does first.
#if SECTILE_HAS_CUDA
#include <sectile/cuda.hpp>
#endif
#include <sectile/sectile.hpp>
#include <sectile/shaders.hpp>
#include <sectile/vulkan.hpp>

#include <cstdio>

int main() {
  auto problem = sectile::parse_problem("permute f16 1x384x512x128 axes=0,3,1,2");
  auto profile = sectile::builtin_target("lavapipe");
  if (!problem || !profile) {
    std::fprintf(stderr, "%s\n", (problem ? profile.error() : problem.error()).message().c_str());
    return 1;
  }
  auto plan = sectile::make_plan(*problem, *profile);
  if (!plan) {
    std::fprintf(stderr, "%s\n", plan.error().message().c_str());
    return 1;
  }
  for (const sectile::Step& step : plan->steps) {
    const sectile::EmbeddedModule* module = sectile::find_module(step.kernel.stem, step.kernel.variant);
    const auto words = module != nullptr ? module->words() : sectile::fail(sectile::ErrorKind::missing, "kernel");
    if (!words || (*words)[0] != 0x07230203U) {
      std::fprintf(stderr, "no kernel %s.%s\n", step.kernel.stem.c_str(), step.kernel.variant.c_str());
      return 1;
    }
  }
  // The Vulkan part is linked, and refuses an adoption that names no device.
  if (sectile::vulkan::Device::adopt({})) return 1;
#if SECTILE_HAS_CUDA
  // So is the CUDA part, on a machine without CUDA too.
  if (sectile::cuda::Device::adopt({})) return 1;
#endif
  std::printf("%s\n", sectile::print(*plan).c_str());
}
