// Modules as emit writes them: nothing left to specialize, valid for their targets, what the plan says of them.
#include "emitted.hpp"

#include "bench/operation.hpp"
#include "module/facts.hpp"
#include "module/spirv_words.hpp"
#include "nvrtc.hpp"
#include "support/scope.hpp"

#include <sectile/shaders.hpp>
#include <sectile/spirv.hpp>

#include <algorithm>

using namespace sectile;
using namespace sectile::test;

namespace {

// Each once: presets share rows.
std::vector<Problem> preset_problems(const std::vector<std::string>& presets) {
  std::vector<Problem> out;
  for (const std::string& preset : presets) {
    const auto rows = tools::preset_rows(preset);
    REQUIRE(rows.has_value());
    for (const auto& row : *rows)
      if (std::ranges::find(out, Problem(row.problem)) == out.end()) out.emplace_back(row.problem);
  }
  return out;
}

// Everything that a plan says of a step and its module says as well.
void check_emitted(const tools::EmittedTarget& target, std::uint32_t api_version) {
  for (const auto& emitted : target.plans) {
    CAPTURE(print(emitted.plan.problem));
    for (std::size_t s = 0; s < emitted.plan.steps.size(); ++s) {
      const Step& step = emitted.plan.steps[s];
      const auto& words = target.modules[emitted.modules[s]].packed.words;
      CAPTURE(target.modules[emitted.modules[s]].name);
      const auto facts = must(module::read_facts(words));
      CHECK(facts.specialized == 0);
      CHECK(facts.specialization_ids.empty());
      CHECK(facts.entry_point == "main");
      CHECK(facts.workgroup == step.workgroup);
      // The planner counts the arrays that a variant does not use as well (one element each): they are gone here.
      CHECK(facts.workgroup_memory_bytes <= step.workgroup_memory_bytes);
      CHECK(step.workgroup_memory_bytes - facts.workgroup_memory_bytes < 32);
      must(spirv::validate(words, api_version));
      const auto left_open = [](const module::Instruction& i) {
        return (i.op >= module::OpSpecConstantTrue && i.op <= module::OpSpecConstantOp) ||
               i.op == module::OpExecutionModeId;
      };
      CHECK(std::ranges::count_if(must(module::read_instructions(words)), left_open) == 0);
    }
  }
}

std::vector<std::uint32_t> words_of(const KernelName& kernel) {
  const EmbeddedModule* module = find_module(kernel.stem, kernel.variant);
  REQUIRE(module != nullptr);
  return must(module->words());
}

std::vector<std::uint32_t> tile_words() { return words_of({"permute_tile", "e4"}); }

Step step_of(const char* text, const char* force) {
  const auto profile = must(builtin_target("nvidia-hopper"));
  const auto plan = must(make_plan(must(parse_problem(text)), profile, {.explain = false, .force = force}));
  return plan.steps.at(0);
}

Step tile_step() { return step_of("permute f32 512x512 axes=1,0", "permute_tile"); }

}  // namespace

TEST_CASE("every permute of the presets is emitted for every target, with nothing left to specialize") {
  auto problems = preset_problems({"seeds-permute", "cpu", "images"});
  std::size_t each = 0;
  std::erase_if(problems, [&](const Problem&) { return each++ % scope(1u, 1u, 4u) != 0; });
  for (const bool freeze_shape : {false, true}) {
    tools::CodeMaker code(freeze_shape);
    std::size_t modules = 0, plans = 0;
    auto all = targets();
    CHECK(all.size() >= 17);
    // Every sixth alone under a sanitizer, and others with frozen shapes.
    std::size_t turn = freeze_shape ? 1 : 0;
    std::erase_if(all, [&](const auto&) { return turn++ % scope(1u, 1u, 6u) != 0; });
    CHECK(all.size() >= scope(17u, 17u, 2u));
    for (const auto& profile : all) {
      CAPTURE(profile.name);
      const auto target = emitted(profile, problems, code);
      check_emitted(target, profile.api_version == 0 ? 1003 : profile.api_version);
      modules += target.modules.size();
      plans += target.plans.size();
    }
    MESSAGE(plans << " plans, " << modules << " modules" << std::string(freeze_shape ? ", shapes frozen" : ""));
    CHECK(plans == problems.size() * all.size());
  }
}

TEST_CASE("a CUDA target gets a cubin and PTX, and no pack takes them for SPIR-V") {
  const test::Nvrtc nvrtc;
  if (!nvrtc.there()) return;
  tools::CodeMaker code(false), frozen(true);
  const std::vector<Problem> problems = {must(parse_problem("permute u8 16384x16384 axes=1,0")),
                                         must(parse_problem("permute u8 16x512x512x3 layout=NHWC:NCHW"))};
  for (const auto name : {"cuda:sm_75", "cuda:sm_90a", "cuda:sm_100"}) {
    CAPTURE(name);
    const auto profile = must(builtin_target(name));
    const auto target = emitted(profile, problems, code);
    REQUIRE(target.modules.size() == 2);
    for (const auto& m : target.modules) {
      REQUIRE(m.files.size() == 3);
      CHECK(m.files[0].name.ends_with(".cubin"));
      CHECK(
          m.files[0].bytes.starts_with("\x7f"
                                       "ELF"));
      CHECK(m.files[1].name.ends_with(".ptx"));
      CHECK(m.files[1].bytes.find(".target sm_" + std::string(name).substr(8)) != std::string::npos);
      CHECK(m.facts.at("spill_bytes") == 0);
      CHECK(m.facts.at("format") == "cubin");
    }
    // The copy engine is in the plan as data where there is one.
    CHECK((target.plans[0].plan.steps[0].tensor_maps.size() == 2) == profile.tensor_maps.value_or(false));
    CHECK(tools::emit_target(profile, problems, frozen, {}, [] {}).error().kind == ErrorKind::unsupported);
  }
}

TEST_CASE("a target of Vulkan 1.1 or 1.2 gets SPIR-V that it takes") {
  const auto problems = preset_problems({"seeds-permute"});
  for (const std::uint32_t version : {1001u, 1002u}) {
    auto profile = must(builtin_target("arm-valhall"));
    profile.api_version = version;
    tools::CodeMaker code(false);
    const auto target = emitted(profile, problems, code);
    check_emitted(target, version);
    for (const auto& m : target.modules)
      CHECK(must(module::read_facts(m.packed.words)).version == (version == 1001 ? 1003 : 1005));
  }
}

TEST_CASE("two freezes of one module are the same words, and other constants are others") {
  Step step = tile_step();
  const auto first = must(spirv::freeze(tile_words(), step.constants));
  CHECK(first == must(spirv::freeze(tile_words(), step.constants)));
  const spirv::PushFreeze push{step.push, step.addresses};
  CHECK(first != must(spirv::freeze(tile_words(), step.constants, {.api_version = 1003, .push = &push})));
  step.constants[0].value *= 2;
  CHECK(first != must(spirv::freeze(tile_words(), step.constants)));
}

TEST_CASE("frozen push bytes are in the code: other bytes make other code, and addresses are not among them") {
  Step step = tile_step();
  const auto frozen = [&] {
    const spirv::PushFreeze push{step.push, step.addresses};
    return must(spirv::freeze(tile_words(), step.constants, {.api_version = 1003, .push = &push}));
  };
  const auto first = frozen();
  step.push[step.addresses[0].push_offset] ^= 1;
  CHECK(first == frozen());
  step.push[16] ^= 1;  // the first axis' count, behind the two addresses
  CHECK(first != frozen());
}

TEST_CASE("what cannot be frozen is refused by name") {
  const Step step = tile_step();
  const std::vector<std::uint32_t> module = tile_words();
  const std::span words = module;
  CHECK(spirv::freeze(words.first(words.size() - 3), step.constants).error().kind == ErrorKind::parse);
  CHECK(spirv::freeze(words.first(4), step.constants).error().kind == ErrorKind::parse);
  CHECK(spirv::freeze({}, step.constants).error().kind == ErrorKind::parse);

  const spirv::PushFreeze shorter{std::span(step.push).first(20), step.addresses};
  CHECK(spirv::freeze(words, step.constants, {.api_version = 1003, .push = &shorter}).error().kind ==
        ErrorKind::limit_exceeded);
  // A slot that covers half of a number: what is read there is neither.
  const Step rows = step_of("permute f32 7x9x11x13 axes=3,1,2,0", "permute_rows");
  const std::vector<AddressSlot> among = {rows.addresses[0], rows.addresses[1], {26, 0, 0}};
  const spirv::PushFreeze mixed{rows.push, among};
  const auto refused = spirv::freeze(words_of(rows.kernel), rows.constants, {.api_version = 1003, .push = &mixed});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind == ErrorKind::unsupported);
  CHECK_MESSAGE(refused.error().value.find("address") != std::string::npos, refused.error().message());
}

TEST_CASE("a workgroup whose size is no constant number is refused by name") {
  std::vector<std::uint32_t> words = tile_words();
  const auto instructions = must(module::read_instructions(words));
  const auto at = [&](const module::Instruction& i) { return i.words.data() - words.data(); };
  const auto mode = std::ranges::find(instructions, module::OpExecutionModeId, &module::Instruction::op);
  const auto function = std::ranges::find(instructions, module::OpFunction, &module::Instruction::op);
  const auto type = std::ranges::find(instructions, module::OpTypeInt, &module::Instruction::op);
  REQUIRE((mode != instructions.end() && function != instructions.end() && type != instructions.end()));
  // A constant that is null and no number, as the height.
  const std::uint32_t null = words[module::kBoundWord]++;
  words[static_cast<std::size_t>(at(*mode)) + 4] = null;
  const std::array<std::uint32_t, 3> line = {3u << 16 | 46u /*OpConstantNull*/, (*type)[1], null};
  words.insert(words.begin() + at(*function), line.begin(), line.end());
  const auto refused = spirv::freeze(words, tile_step().constants);
  REQUIRE_FALSE(refused.has_value());
  CHECK_MESSAGE(refused.error().what == "workgroup size", refused.error().message());
}

TEST_CASE("the disassembly has the names of the template") {
  const auto text = must(spirv::disassemble(must(spirv::freeze(tile_words(), tile_step().constants))));
  CHECK(text.find("OpEntryPoint GLCompute") != std::string::npos);
  CHECK(text.find("OpSpecConstant") == std::string::npos);
  CHECK(text.find("%main") != std::string::npos);
}
