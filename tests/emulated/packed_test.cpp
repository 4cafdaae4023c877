// Matmuls whose operands a permute packs first, on the host: every way to pack, against the reference in double
// precision.
#include "product_case.hpp"

#include "reference/matmul.hpp"

#include "support/scope.hpp"

#include <set>
#include <string>
#include <variant>

using namespace sectile;
using emulated::plan_by;

TEST_CASE("matmuls of packed operands come out right") {
  // Odd leading dimensions in every layout, batches, one matrix for all batches, bases at no multiple of 16 bytes, int8
  // across K, splits of K, which need scratch of their own.
  struct Row {
    const char *problem, *packs;  // "ab": each of both, and both
  };
  constexpr Row kRows[] = {
      {"matmul f16 nn 37x71x65", "ab"},
      {"matmul f16 tt 35x41x39 batch=3 epi=bias", "ab"},
      {"matmul bf16 nt 33x45x131 lda=133 ldb=136 beta=0.5 c=d", "a"},
      {"matmul f16 tn 41x35x27 batch=2 a.batch=1109 b.batch=0 epi=bias.m+residual", "ab"},
      {"matmul f16 nt 40x72x64 a.align=2 acc=f16", "a"},
      {"matmul i8 nn 40x48x136", "ab"},
      {"matmul i8 tn 33x37x70 batch=2 out=f32 alpha=0.01 epi=scale", "ab"},
      {"matmul i8 tt 64x64x128", "a"},
      {"matmul f16 nn 18x35x1501", "ab"},
  };
  const std::size_t every = test::scope<std::size_t>(1, 9, 23);
  std::size_t turn = 0, runs = 0;
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.problem));
    const auto problem = parse_problem(row.problem).value();
    emulated::ProductCase<reference::MatmulDefinition> c(std::get<MatmulProblem>(problem), turn);
    for (const char* target : {"cuda:sm_80", "cuda:sm_90a"}) {
      DeviceProfile profile = emulated::target(target);
      profile.multiprocessors = 4;
      const auto explained = make_plan(problem, profile, {.explain = true});
      REQUIRE_MESSAGE(explained.has_value(), explained.error().message());
      std::set<std::string> ways;
      for (const Candidate& candidate : explained->candidates) {
        if (!candidate.refusal.empty() || !emulated::packs(candidate.name)) continue;
        ways.insert(candidate.name.substr(candidate.name.find(" pack=")));
        if (turn++ % every != 0) continue;
        CAPTURE(candidate.name);
        CHECK(c.run(plan_by(problem, profile, candidate.name), nullptr) == "");
        ++runs;
      }
      const std::string both = " pack=ab", one = std::string(" pack=") + row.packs;
      CHECK(ways == (one == both ? std::set<std::string>{both, " pack=a", " pack=b"} : std::set{one}));
    }
  }
  CHECK(runs > 50);
  MESSAGE(runs << " plans run");
}
