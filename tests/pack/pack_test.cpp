// Packs: their bytes, what is refused, and the planner and the device that take nothing but what is in them.
#include "../spirv/emitted.hpp"

#include <sectile/shaders.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

using namespace sectile;
using namespace sectile::test;

namespace {

const char* const kTurn = "permute f32 512x512 axes=1,0";
const char* const kOther = "permute f32 640x768 axes=1,0";     // the same kernel and constants, another shape
const char* const kBytes = "permute i8 1023x77x3 axes=2,0,1";  // another kernel or other constants

tools::EmittedTarget emit_for(const std::string& target, const std::vector<std::string>& problems, bool freeze_shape) {
  std::vector<Problem> parsed;
  parsed.reserve(problems.size());
  for (const auto& text : problems) parsed.push_back(must(parse_problem(text)));
  tools::CodeMaker code(freeze_shape);
  return emitted(must(builtin_target(target)), parsed, code);
}

std::vector<std::byte> bytes_of(const tools::EmittedTarget& target) {
  std::vector<PackedModule> modules;
  modules.reserve(target.modules.size());
  for (const auto& m : target.modules) modules.push_back(m.packed);
  return must(make_pack(modules, {"{}"}));
}

// The bytes with a content of our own behind a right header.
std::vector<std::byte> resealed(std::vector<std::byte> bytes) {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes.data() + 40, bytes.size() - 40));
  const std::uint64_t size = bytes.size() - 40;
  std::memcpy(bytes.data() + 16, &size, sizeof size);
  std::memcpy(bytes.data() + 24, digest.digest, sizeof digest.digest);
  return bytes;
}

Result<Plan> plan_with(const Pack& pack, const std::string& problem, const std::string& target) {
  return make_plan(must(parse_problem(problem)), must(builtin_target(target)),
                   {.explain = false, .force = {}, .kernels = &pack});
}

}  // namespace

TEST_CASE("a pack gives back what went in, and the same modules give the same bytes in any order") {
  const auto target = emit_for("nvidia-hopper", {kTurn, kBytes}, false);
  REQUIRE(target.modules.size() == 2);
  const auto& one = target.modules[0].packed;
  const auto& other = target.modules[1].packed;
  const auto bytes = must(make_pack({one, other}, {"b", "a"}));
  CHECK(bytes == must(make_pack({other, one, other}, {"a", "b", "a"})));
  const Pack pack = must(Pack::open(bytes));
  REQUIRE(pack.modules().size() == 2);
  CHECK(((pack.modules()[0] == one && pack.modules()[1] == other) ||
         (pack.modules()[0] == other && pack.modules()[1] == one)));
  CHECK(std::vector(pack.manifests().begin(), pack.manifests().end()) == std::vector<std::string>{"a", "b"});
  CHECK(pack.id().size() == 32);
}

TEST_CASE("a pack whose manifest is of another planner is refused") {
  const auto module = emit_for("nvidia-hopper", {kTurn}, false).modules.at(0).packed;
  const auto opened = [&](const std::string& version) {
    return Pack::open(must(make_pack({module}, {"{\"planner_version\":" + version + "}"})), "NAME");
  };
  CHECK(opened("\"" + std::string(planner_version()) + "\"").has_value());
  for (const char* version : {"\"9\"", "10", "null"}) {
    const auto refused = opened(version);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == ErrorKind::parse);
    CHECK(refused.error().message().find(std::string("planner version ") + version) != std::string::npos);
  }
}

TEST_CASE("of two modules of one key the one for the lower Vulkan stays") {
  auto module = emit_for("nvidia-hopper", {kTurn}, false).modules.at(0).packed;
  auto lower = module;
  lower.api_version = 1002;
  lower.words[1] = 0x10500;
  const Pack pack = must(Pack::open(must(make_pack({module, lower}, {}))));
  REQUIRE(pack.modules().size() == 1);
  CHECK(pack.modules()[0].api_version == 1002);
  auto different = module;
  different.words[2] ^= 1;  // the generator's word: another module for the same key
  CHECK(make_pack({module, different}, {}).error().kind == ErrorKind::invalid_plan);
}

TEST_CASE("broken, cut off and foreign packs are refused by name") {
  const auto good = bytes_of(emit_for("nvidia-hopper", {kTurn, kBytes}, false));
  must(Pack::open(good, "NAME"));
  const auto refusal = [](const std::vector<std::byte>& bytes) {
    const auto opened = Pack::open(bytes, "NAME");
    if (opened) return std::string("taken");
    CHECK(opened.error().kind == ErrorKind::parse);
    return opened.error().message();
  };
  for (std::size_t length = 0; length < good.size(); length += length < 64 ? 1 : 97) {
    const std::string said = refusal({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)});
    CHECK_MESSAGE(said.find("NAME") != std::string::npos, length << ": " << said);
  }
  for (std::size_t at = 0; at < good.size(); at += at < 64 ? 1 : 61) {
    auto flipped = good;
    flipped[at] ^= std::byte{0x10};
    const std::string said = refusal(flipped);
    CHECK_MESSAGE(said.find("NAME") != std::string::npos, at << ": " << said);
  }
  auto longer = good;
  longer.push_back(std::byte{0});
  CHECK(refusal(longer).find("content") != std::string::npos);
  CHECK(refusal(std::vector<std::byte>(100, std::byte{'x'})).find("no pack") != std::string::npos);
  auto newer = good;
  newer[8] = std::byte{2};
  CHECK(refusal(newer).find("version 2") != std::string::npos);
}

TEST_CASE("a pack whose hash is right and whose content lies is refused") {
  const auto good = bytes_of(emit_for("nvidia-hopper", {kTurn}, false));
  CHECK(resealed(good) == good);
  const std::string text(reinterpret_cast<const char*>(good.data()), good.size());
  const auto with = [&](const std::string& from, const std::string& to) {
    REQUIRE(from.size() == to.size());
    const std::size_t at = text.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, from);
    auto bytes = good;
    std::memcpy(bytes.data() + at, to.data(), to.size());
    return Pack::open(resealed(bytes), "NAME");
  };
  CHECK_FALSE(with("\"first_word\":0", "\"first_word\":9").has_value());  // goes past the end
  CHECK_FALSE(with("\"stem\":", "\"stam\":").has_value());
  CHECK_FALSE(with("\"schema_version\":1", "\"schema_version\":7").has_value());
  CHECK_FALSE(with("\"constants\":[[0,", "\"constants\":[[9,").has_value());  // not sorted
  CHECK_FALSE(with("{\"manifests\"", "[\"manifests\"").has_value());
  auto cut = good;
  cut.resize(cut.size() - 4);  // the module's last instruction
  CHECK_FALSE(Pack::open(resealed(cut), "NAME").has_value());
  auto index = good;
  index[40] = std::byte{0xff};  // an index longer than the content
  index[43] = std::byte{0xff};
  CHECK_FALSE(Pack::open(resealed(index), "NAME").has_value());
}

TEST_CASE("a module with something left to specialize is not packed") {
  const EmbeddedModule* source = find_module("permute_tile", "e4");
  REQUIRE(source != nullptr);
  PackedModule module;
  module.kernel = {"permute_tile", "e4"};
  module.words = must(source->words());
  const auto made = make_pack({module}, {});
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().value.find("specialization constants") != std::string::npos);
}

TEST_CASE("the planner chooses only what a pack holds, and names the nearest where that is not enough") {
  const std::string target = "nvidia-hopper";
  const Pack pack = pack_of(emit_for(target, {kTurn}, false));
  const Plan same_problem = must(plan_with(pack, kTurn, target));
  const Plan free = must(make_plan(must(parse_problem(kTurn)), must(builtin_target(target))));
  CHECK(same_problem.steps == free.steps);
  CHECK(same_problem.id != free.id);  // made under another condition
  CHECK(must(plan_with(pack, kOther, target)).steps[0].kernel == free.steps[0].kernel);

  const auto none = plan_with(pack, kBytes, target);
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().kind == ErrorKind::missing);
  CHECK_MESSAGE(none.error().message().find(kBytes) != std::string::npos, none.error().message());

  // A row that loses to others is chosen where the pack has nothing else.
  const auto tool = [&](const std::string& force) {
    tools::CodeMaker code(false);
    return must(
        tools::emit_target(must(builtin_target(target)), {must(parse_problem(kTurn))}, code, {.force = force}, [] {}));
  };
  const auto forced = tool("permute_block");
  CHECK(must(plan_with(pack_of(forced), kTurn, target)).steps[0].kernel.stem == "permute_block");
  CHECK(plan_with(Pack(), kTurn, target).error().message().find("empty") != std::string::npos);

  // The nearest: the same stem with the fewest other constants.
  auto near = pack.modules()[0];
  const Step wanted = free.steps[0];
  near.constants.back().value += 1;
  const Pack nearly = must(Pack::open(must(make_pack({near}, {}))));
  const std::string said = nearly.nearest(wanted);
  CHECK_MESSAGE(said.find("nearest: " + wanted.kernel.stem) != std::string::npos, said);
  const Constant last = wanted.constants.back();
  const std::string constant = "constant " + std::to_string(last.id) + " = ", value = std::to_string(last.value);
  const std::string differs = constant + std::to_string(last.value + 1) + " where the plan has " + value + ";";
  CHECK_MESSAGE(said.find(differs) != std::string::npos, said);
  CHECK_MESSAGE(said.find("; `sectile emit` the problem") != std::string::npos, said);
  // Of two that are equally near the first.
  auto as_near = near;
  as_near.constants.back().value += 1;
  CHECK(must(Pack::open(must(make_pack({near, as_near}, {})))).nearest(wanted) == said);
  near.constants.pop_back();
  const std::string lacks = must(Pack::open(must(make_pack({near}, {})))).nearest(wanted);
  CHECK_MESSAGE(lacks.find(constant + value + " is not frozen in it; `sectile emit`") != std::string::npos, lacks);
}

TEST_CASE("what was frozen for one shape serves that shape alone") {
  const std::string target = "nvidia-hopper";
  const Pack pack = pack_of(emit_for(target, {kTurn}, true));
  must(plan_with(pack, kTurn, target));
  const auto other = plan_with(pack, kOther, target);
  REQUIRE_FALSE(other.has_value());
  CHECK_MESSAGE(other.error().message().find("push") != std::string::npos, other.error().message());
}

TEST_CASE("a device with a pack takes no template") {
  for (const std::string& selector : selectors()) {
    const auto profile = must(vulkan::device_profile(selector));
    tools::CodeMaker code(false);
    const Pack pack = pack_of(emitted(profile, {must(parse_problem(kTurn))}, code));
    vulkan::RuntimeOptions options;
    options.pack = &pack;
    auto runtime = open(selector, options);
    must(runtime.device().prepare(must(make_plan(must(parse_problem(kTurn)), profile))));
    const auto refused = runtime.device().prepare(must(make_plan(must(parse_problem(kBytes)), profile)));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == ErrorKind::missing);
    CHECK(refused.error().what.find("pack") != std::string::npos);
  }
}
