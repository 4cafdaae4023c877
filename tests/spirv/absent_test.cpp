// Hardware that is not here: RADV compiles what is emitted for its GPUs behind Mesa's no-op drm-shim, each GPU in a
// process of its own; SPIRV-Cross turns modules into Metal's language.
#include "emitted.hpp"

#include "../tools/run_command.hpp"
#include "bench/operation.hpp"
#include "cli/text.hpp"
#include "support/noop.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace sectile;
using namespace sectile::test;

namespace {

std::vector<Problem> seeds() {
  std::vector<Problem> out;
  const auto rows = tools::preset_rows("seeds-permute");
  REQUIRE(rows.has_value());
  for (const auto& row : *rows) out.push_back(row.problem);
  return out;
}

std::string value_of(const vulkan::StepStatistics& step, const std::string& name) {
  for (const auto& statistic : step.statistics)
    if (statistic.name == name) return statistic.value;
  return "?";
}

void compile_seeds(bool freeze_shape) {
  vulkan::RuntimeOptions options;
  options.executable_statistics = true;
  options.canary = false;  // nothing runs on a no-op device
  on_every_device(options, [&](vulkan::Runtime& looked_at) {
    const DeviceProfile& profile = looked_at.profile();
    tools::CodeMaker code(freeze_shape);
    const auto target = emitted(profile, seeds(), code);
    const Pack pack = pack_of(target);
    auto with_pack = options;
    with_pack.pack = &pack;
    auto runtime = open(looked_at.entry().uuid.empty() ? "vulkan:0" : looked_at.entry().uuid, with_pack);
    tools::Table table(
        {"kernel", "problem", "VGPRs", "SGPRs", "LDS planned", "LDS", "spills", "scratch", "code", "subgroup"});
    for (const auto& emitted_plan : target.plans) {
      const Plan& plan = emitted_plan.plan;
      CAPTURE(print(plan.problem));
      const auto statistics = must(runtime.device().statistics(must(runtime.device().prepare(plan))));
      REQUIRE(statistics.size() == plan.steps.size());
      for (std::size_t s = 0; s < statistics.size(); ++s) {
        const auto& step = statistics[s];
        const std::string lds = value_of(step, "LDS size");
        const auto planned = plan.steps[s].workgroup_memory_bytes;
        const auto in_module =
            target.modules[emitted_plan.modules[s]].facts["workgroup_memory_bytes"].get<std::uint64_t>();
        table.add({step.kernel.stem + "." + step.kernel.variant, print(plan.problem), value_of(step, "VGPRs"),
                   value_of(step, "SGPRs"), std::to_string(planned), lds, value_of(step, "Spilled VGPRs"),
                   value_of(step, "Scratch size"), value_of(step, "Code size"), std::to_string(step.subgroup_size)});
        CHECK(value_of(step, "Spilled VGPRs") == "0");
        CHECK(value_of(step, "Spilled SGPRs") == "0");
        // RADV hands LDS out in granules of up to 1024 bytes, and takes no more than that on top.
        REQUIRE(lds != "?");
        const std::uint64_t taken = std::strtoull(lds.c_str(), nullptr, 10);
        CHECK(taken >= in_module);
        CHECK(taken < std::uint64_t{planned} + 1024);
      }
    }
    for (const std::string& message : runtime.validation_messages()) FAIL_CHECK(message);
    std::fputs((profile.name + (freeze_shape ? ", shapes frozen\n" : "\n") + table.print()).c_str(), stdout);
  });
}

bool required(std::string_view what) {
  const char* value = std::getenv("SECTILE_REQUIRE");
  return value != nullptr && std::string_view(value).find(what) != std::string_view::npos;
}

}  // namespace

TEST_CASE("child: emitted modules compile") {
  const char* const mode = std::getenv("SECTILE_TEST_ABSENT");
  if (mode == nullptr) return;  // not the child
  compile_seeds(std::string_view(mode) == "frozen");
}

TEST_CASE("RADV compiles every emitted module of the seeds' rows, without spills and with the planner's LDS") {
  if (const std::string why = absent(radv("navi31")); !why.empty()) {
    MESSAGE("skipped: " << why);
    return;
  }
  for (const char* const gpu : {"navi21", "navi31", "gfx1201"}) {
    for (const char* const mode : {"pushed", "frozen"}) {
      CAPTURE(gpu);
      CAPTURE(mode);
      const std::vector<std::string> variables{std::string("SECTILE_TEST_ABSENT=") + mode};
      const Ran ran = run_program("/usr/bin/env", noop_process(radv(gpu), variables, "child: emitted modules compile"));
      CHECK_MESSAGE(ran.code == 0, ran.out << ran.err);
      CHECK_MESSAGE(ran.out.find("LDS planned") != std::string::npos, ran.out << ran.err);
      // Its table, and not its own summary: tools/dev test counts those.
      if (std::string_view(mode) == "pushed")
        std::fputs(ran.out.substr(0, ran.out.find("[doctest] test cases")).c_str(), stdout);
    }
  }
}

TEST_CASE("SPIRV-Cross turns every emitted module of the Apple target into MSL") {
  if (run_program("/bin/sh", {"-c", "command -v spirv-cross"}).code != 0) {
    if (required("spirv-cross")) FAIL("SECTILE_REQUIRE=spirv-cross: it is not here");
    MESSAGE("skipped: no spirv-cross here");
    return;
  }
  const auto names = builtin_target_names();
  const bool apple = std::ranges::find(names, "apple-m") != names.end();
  const auto profile = must(builtin_target(apple ? "apple-m" : "arm-valhall"));
  const Folder folder;
  for (const bool freeze_shape : {false, true}) {
    tools::CodeMaker code(freeze_shape);
    const auto target = emitted(profile, seeds(), code);
    CHECK_FALSE(target.modules.empty());
    // SPIRV-Cross is a process of its own, which no sanitizer looks into.
    const std::size_t every = scope(1u, 1u, 10u);
    for (std::size_t i = 0; i < target.modules.size(); i += every) {
      const auto& module = target.modules[i];
      CAPTURE(module.name);
      write_file(folder.path("m.spv"), module.files.at(0).bytes);
      // Pointers from push constants are Metal 2.3's at the least, device pointers in structs.
      const Ran ran =
          run_program("/usr/bin/env", {"spirv-cross", "--msl", "--msl-version", "20300", folder.path("m.spv")});
      CHECK_MESSAGE(ran.code == 0, ran.err);
      CHECK(ran.out.find("kernel void main0(") != std::string::npos);
      CHECK(ran.out.find("device") != std::string::npos);
      // What Metal needs to know beforehand, and SPIR-V has in its execution mode.
      CHECK(ran.out.find("function_constant") == std::string::npos);
    }
  }
}
