// Frozen modules give what templates give, bit for bit, on every device that is here.
#include "emitted.hpp"

#include "../vulkan/run_matmul.hpp"
#include "reference/generate.hpp"
#include "support/scope.hpp"

using namespace sectile;
using namespace sectile::test;

TEST_CASE("generated permutes come out the same from templates and from packs") {
  std::vector<PermuteProblem> permutes;
  const std::uint64_t count = scope<std::uint64_t>(30, 30, 3);
  permutes.reserve(count);
  for (std::uint64_t index = 0; index < count; ++index) permutes.push_back(reference::generate_permute(17, index));
  for (const std::string& selector : compiling_selectors()) {
    auto templates = open(selector);
    CAPTURE(templates.entry().name);
    const DeviceProfile& profile = templates.profile();
    std::vector<std::vector<std::byte>> expected;
    for (const PermuteProblem& permute : permutes) {
      const auto plan = must(make_plan(permute, profile));
      auto bytes = run_plan(templates, plan, 5);
      const reference::PermuteDefinition definition(permute);
      std::vector<std::byte> right(bytes.size(), std::byte{0xCD});
      const auto src = pattern(std::max<std::uint64_t>((definition.src_bytes() + 3) / 4 * 4, 4), 5);
      reference::permute(definition, src, right);
      CHECK(same(bytes, right));
      expected.push_back(std::move(bytes));
    }
    for (const bool freeze_shape : {false, true}) {
      CAPTURE(freeze_shape);
      tools::CodeMaker code(freeze_shape);
      const Pack pack = pack_of(emitted(profile, as_problems(permutes), code));
      CHECK_FALSE(pack.modules().empty());
      vulkan::RuntimeOptions options;
      options.pack = &pack;
      auto packed = open(selector, options);
      for (std::size_t i = 0; i < permutes.size(); ++i) {
        CAPTURE(print(Problem(permutes[i])));
        const auto plan = must(make_plan(permutes[i], profile, {.explain = false, .force = {}, .kernels = &pack}));
        CHECK(same(run_plan(packed, plan, 5), expected[i]));
      }
      for (const std::string& message : packed.validation_messages()) FAIL_CHECK(message);
    }
  }
}

// Each operand whose address stands among the pushed numbers, alone and with others, for each kernel that reads them.
TEST_CASE("matmuls with operands besides A, B and D come out right from modules with frozen shapes") {
  constexpr const char* kTexts[] = {
      "matmul f32 nt 5x6x0 beta=2 epi=bias+residual",
      "matmul f32 nn 45x37x70 beta=0.5 c=d epi=scale.m+bias+residual",
      "matmul f32 tn 33x20x50 batch=3 beta=-1 epi=bias.m+gelu",
      "matmul f16 nt 45x64x96 b=q4 pro=scale epi=bias",
      "matmul f16 nt 40x48x64 epi=bias+gelu_tanh+residual",
      "matmul f16 nn 3x64x70 b=q8 epi=scale+relu",
      "matmul f32 nn 30x20x6000 epi=bias",
  };
  for (const std::string& selector : compiling_selectors()) {
    auto templates = open(selector);
    CAPTURE(templates.entry().name);
    std::vector<Problem> problems;
    for (const char* text : std::span(kTexts).first(scope(std::size(kTexts), std::size(kTexts), std::size_t{1})))
      if (const Problem problem = must(parse_problem(text)); make_plan(problem, templates.profile()))
        problems.push_back(problem);
    CHECK(problems.size() >= scope(4u, 4u, 1u));  // devices without 16-bit storage take those of f32
    tools::CodeMaker code(true);
    const Pack pack = pack_of(emitted(templates.profile(), problems, code));
    vulkan::RuntimeOptions options;
    options.pack = &pack;
    auto packed = open(selector, options);
    for (const Problem& problem : problems) {
      CAPTURE(print(problem));
      const auto plan =
          must(make_plan(problem, templates.profile(), {.explain = false, .force = {}, .kernels = &pack}));
      run_matmul(packed, std::get<MatmulProblem>(problem), plan);
    }
    for (const std::string& message : packed.validation_messages()) FAIL_CHECK(message);
  }
}
