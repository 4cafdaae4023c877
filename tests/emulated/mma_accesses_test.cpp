// What the planner claims of one step of K of matmul_mma's workgroup (Candidate::interior) against what the emulated
// kernel does: all warps' loads, stores to workgroup memory and matrix loads between its first two barriers. There it
// stages one step and loads the fragments of another. See accesses_test.cpp.
#include "product_accesses.hpp"

#include "support/scope.hpp"

using namespace sectile;
using namespace sectile::emulated;

namespace {

AccessCount counted_step(const Plan& plan, const DeviceProfile& profile) {
  const Step& step = plan.steps.at(0);
  const Operands operands(plan);
  std::vector<Access> accesses;
  const std::string failure = trace(step, operands.operands(), 0, accesses, 1);
  CHECK_MESSAGE(failure.empty(), failure);
  std::erase_if(accesses, [&](const Access& access) {
    return access.barriers != 1 || access.kind == Access::Kind::store ||
           (access.kind == Access::Kind::load && !operands.multiplied(access));
  });
  return count_of(std::move(accesses), profile);
}

}  // namespace

TEST_CASE("claims of matmul_mma are what the kernel does") {
  const std::size_t every = test::scope<std::size_t>(1, 17, 37);
  std::size_t compared = 0, turn = 0, conflicts = 0;
  for (const char* target : {"cuda:sm_75", "cuda:sm_80", "cuda:sm_90a"}) {
    const DeviceProfile profile = emulated::target(target);
    for (const char* types : {"f16", "bf16", "i8", "f16 b=q8", "f16 b=q4", "f16 a=f32"})
      for (const char* layout : {"nn", "nt", "tn", "tt"})
        for (const char* size : {"256x256x4096", "271x293x4097", "258x260x4100", "264x272x4104"}) {
          const std::string_view type(types);
          const auto text = fmt::format("matmul {} {} {}{}", type.substr(0, type.find(' ')), layout, size,
                                        type.find(' ') == type.npos ? "" : type.substr(type.find(' ')));
          const auto problem = parse_problem(text);
          // 4-bit weights lie along K, in rows of whole blocks.
          if (type.ends_with("q4") && (layout[1] == 'n' || size != std::string_view("256x256x4096"))) continue;
          REQUIRE(problem.has_value());
          CAPTURE(text);
          const auto plan = make_plan(*problem, profile, {.explain = true});
          REQUIRE(plan.has_value());
          for (const Candidate& candidate : plan->candidates) {
            if (!candidate.refusal.empty() || stem_of(candidate) != "matmul_mma" || packs(candidate.name)) continue;
            if (turn++ % every != 0) continue;
            CAPTURE(candidate.name);
            const AccessCount found = counted_step(plan_by(*problem, profile, candidate.name), profile);
            const auto wrong = disagreement({}, candidate.interior, found);
            CHECK_MESSAGE(wrong.empty(), wrong);
            if (type == "f16" && size == std::string_view("256x256x4096")) CHECK(found.bank_conflicts == 0);
            ++compared;
            if (found.bank_conflicts != 0) ++conflicts;
          }
        }
  }
  CHECK(compared >= 100);
  MESSAGE(compared << " compared, " << conflicts << " with bank conflicts");
}
