// Frozen modules give what templates give, bit for bit, on every device that is here.
#include "emitted.hpp"

#include "reference/generate.hpp"
#include "support/scope.hpp"

using namespace sectile;
using namespace sectile::test;

TEST_CASE("generated permutes come out the same from templates and from packs") {
  std::vector<PermuteProblem> permutes;
  const std::uint64_t count = scope(30, 30, 10);
  for (std::uint64_t index = 0; index < count; ++index) permutes.push_back(reference::generate_permute(17, index));
  for (const std::string& selector : selectors()) {
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
