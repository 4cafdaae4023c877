// A GEMM's steps name the operands that its epilogue needs.
#include "plan/gemm/context.hpp"
#include "plan/gemm/steps.hpp"

#include <sectile/profile.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>
#include <vector>

using namespace sectile;
using namespace sectile::detail;

namespace {

std::vector<PlanOperand> operands_of(std::initializer_list<std::string_view> names) {
  std::vector<PlanOperand> out;
  for (const std::string_view name : names) out.push_back({std::string(name), OperandRole::source, 1 << 20, 16});
  out.push_back({"scratch", OperandRole::scratch, 0, 256});
  return out;
}

}  // namespace

TEST_CASE("a GEMM without an operand that its epilogue needs is refused by the operand's name") {
  Gemm gemm;
  gemm.m = gemm.n = gemm.k = 64;
  gemm.at = {.lda = 64, .ldb = 64, .ldc = 64, .ldd = 64, .ldr = 64};
  gemm.beta = 1;
  gemm.bias = gemm.scale = PerAxis::row;
  gemm.residual = true;
  gemm.a_scale = true;
  const DeviceProfile profile = builtin_target("nvidia-hopper").value();
  const GemmContext c = gemm_context(gemm, profile);
  const GemmConfig d = kGemmSimt.make(c, 0);
  const auto planned = [&](std::string_view without) {
    auto operands = operands_of({"a", "b", "d", "c", "bias", "scale", "residual", "a.scale"});
    std::erase_if(operands, [&](const PlanOperand& operand) { return operand.name == without; });
    std::uint64_t scratch = 0;
    return gemm_steps(c, d, operands, scratch);
  };
  CHECK(planned("nothing").has_value());
  for (const std::string_view name : {"a", "b", "d", "c", "bias", "scale", "residual", "a.scale"}) {
    CAPTURE(name);
    const auto refused = planned(name);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == ErrorKind::missing);
    CHECK(refused.error().value == name);
  }
}
