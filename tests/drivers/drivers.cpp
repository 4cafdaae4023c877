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
  for (std::uint64_t index = 0; index < 40; ++index) out.emplace_back(reference::generate_permute(9, index));
  for (std::uint64_t index = 0; index < 30; ++index) out.emplace_back(reference::generate_elementwise(9, index));
  return out;
}

}  // namespace sectile::test
