// emit and pack from outside: what they write, that they write it twice alike, what they refuse; and a program that
// runs on what they wrote.
#include "../spirv/emitted.hpp"
#include "../tools/run_command.hpp"
#include "support/paths.hpp"
#include "support/scope.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>

using namespace sectile;
using namespace sectile::test;

namespace {

namespace fs = std::filesystem;

constexpr const char* kTurnOfHalves = "permute f16 1x96x128x64 axes=0,3,1,2";
constexpr const char* kOtherOfHalves = "permute f16 1x64x160x96 axes=0,3,1,2";

// File names under a folder, and what is in them.
std::map<std::string, std::string> content(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) out[fs::relative(entry.path(), folder).string()] = read_file(entry.path().string());
  return out;
}

// A folder of links, so that a shell finds the built command as `sectile`.
std::string path_with_sectile(const Folder& folder) {
  fs::create_directory(folder.path("bin"));
  fs::create_symlink(sectile_command(), folder.path("bin") + "/sectile");
  return folder.path("bin") + ":/usr/local/bin:/usr/bin:/bin";
}

bool there(const std::string& program) { return run_program("/bin/sh", {"-c", "command -v " + program}).code == 0; }

}  // namespace

TEST_CASE("two processes write the same bytes for every target") {
  const Folder folder;
  std::string problems = std::string("# a comment\n\n") + kTurnOfHalves + "\n" + kOtherOfHalves + "\n";
  if (scope(true, true, false))
    problems += "permute u8 8191x8193 axes=1,0\npermute f32 1x64x448x3 layout=NHWC:NCHW4c\n";
  write_file(folder.path("problems"), problems);
  const std::string freezes[] = {"", "--freeze-shape"};
  for (const std::string& freeze : std::span(freezes).first(scope(2u, 2u, 1u))) {
    for (const std::string name : {"a", "b"}) {
      std::vector<std::string> arguments = {"emit",          "--from", folder.path("problems"),
                                            "--all-targets", "-o",     folder.path(name)};
      if (!freeze.empty()) arguments.push_back(freeze);
      const Ran ran = run_sectile(arguments);
      CHECK_MESSAGE(ran.code == 0, ran.err);
    }
    const auto a = content(folder.path("a"));
    CHECK(a.size() > 4 * targets().size());
    CHECK(a == content(folder.path("b")));
  }
  // And no folder of emit's own is left beside them.
  CHECK(folder.files() == 3);
}

TEST_CASE("emit writes SPIR-V, its text, headers that compile as C and C++, and a manifest") {
  const Folder folder;
  const std::string out = folder.path("out");
  const Ran ran = run_sectile({"emit", kTurnOfHalves, "--target", "nvidia-hopper", "-o", out, "--json"});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(nlohmann::json::parse(ran.out)["targets"][0]["modules"] == 1);
  const auto manifest = nlohmann::json::parse(read_file(out + "/manifest.json"));
  CHECK(manifest["schema_version"] == 1);
  const auto& module = manifest["modules"].at(0);
  const auto& plan = manifest["plans"].at(0);
  CHECK(plan["problem"] == kTurnOfHalves);
  CHECK(plan["operands"].size() == 2);
  CHECK(plan["steps"][0]["module"] == module["name"]);
  CHECK(plan["steps"][0]["addresses"].size() == 2);
  CHECK(plan["steps"][0]["workgroup"] == module["workgroup"]);
  CHECK(std::ranges::find(module["vulkan_features"], "bufferDeviceAddress") != module["vulkan_features"].end());
  for (const char* key : {"file", "assembly", "header"}) CHECK(fs::exists(out + "/" + module[key].get<std::string>()));
  const auto check = [&](const std::vector<std::string>& arguments) {
    const Ran compiled = run_program("/usr/bin/env", arguments);
    CHECK_MESSAGE(compiled.code == 0, compiled.err);
  };
  if (there("spirv-val"))
    check({"spirv-val", "--target-env", "vulkan1.3", out + "/" + module["file"].get<std::string>()});
  const std::string header = plan["header"].get<std::string>();
  const std::string name = "sectile_" + tools::c_identifier(plan["name"].get<std::string>());
  const std::string source = "#include \"" + header + "\"\n#include \"" + header + "\"\nint main(void) { return " +
                             name + ".steps[0].module->words[0] == 0x07230203u ? 0 : 1; }\n";
  write_file(out + "/use.c", source);
  write_file(out + "/use.cpp", source);
  check({"cc", "-std=c99", "-Wall", "-Wextra", "-Werror", out + "/use.c", "-o", out + "/use_c"});
  check({"c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", out + "/use.cpp", "-o", out + "/use_cpp"});
  CHECK(run_program(out + "/use_c", {}).code == 0);
  CHECK(run_program(out + "/use_cpp", {}).code == 0);
}

TEST_CASE("emit says why a matrix unit is left alone") {
  const Folder folder;
  const Ran unknown =
      run_sectile({"emit", "matmul f16 nn 512x512x512", "--target", "intel-xe-lpg", "-o", folder.path("a")});
  CHECK(unknown.code == 0);
  CHECK(unknown.err.contains("on intel-xe-lpg: the matrix unit is not known, and not used"));
  CHECK(
      run_sectile({"emit", "matmul f16 nn 512x512x512", "--target", "nvidia-ada", "-o", folder.path("b")}).err.empty());
}

// Its shaders store 16 bits, and 8 as far as is known not.
TEST_CASE("emit writes matmuls of halves with a bias for a device without 8-bit storage") {
  const Folder folder;
  const Ran ran = run_sectile(
      {"emit", "matmul f16 nn 96x230x77 epi=bias+gelu", "--target", "qualcomm-adreno7", "-o", folder.path("out")});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  const auto features = nlohmann::json::parse(read_file(folder.path("out/manifest.json"))).dump();
  CHECK(features.contains("storageBuffer16BitAccess"));
  CHECK_FALSE(features.contains("storageBuffer8BitAccess"));
  CHECK_FALSE(features.contains("shaderInt8"));
}

TEST_CASE("emit and pack refuse with 2, and leave nothing behind") {
  const Folder folder;
  write_file(folder.path("bad"), std::string(kTurnOfHalves) + "\n\npermute f16 2x3 axes=0,0\n");
  write_file(folder.path("file"), "no folder");
  write_file(folder.path("empty"), "# nothing\n");
  fs::create_directory(folder.path("mine"));
  write_file(folder.path("mine") + "/thesis.txt", "not to be lost");
  fs::create_directory(folder.path("foreign"));
  write_file(folder.path("foreign") + "/manifest.json", "{\"schema_version\": 9, \"modules\": []}");
  const std::string out = folder.path("out"), pack = folder.path("p.pack");
  const std::size_t before = content(folder.path("")).size();
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& says) {
    const Ran ran = run_sectile(arguments);
    CAPTURE(says);
    CHECK(ran.code == 2);
    CHECK_MESSAGE(ran.err.find(says) != std::string::npos, ran.err);
    CHECK(content(folder.path("")).size() == before);
    CHECK_FALSE(fs::exists(out));
  };
  refused({"emit", kTurnOfHalves, "--target", "nvidia-hoper", "-o", out}, "nvidia-hopper");
  refused({"emit", "--from", folder.path("bad"), "--target", "lavapipe", "-o", out}, "bad line 3");
  refused({"emit", "--from", folder.path("none"), "--target", "lavapipe", "-o", out}, "none");
  refused({"emit", "--from", folder.path("empty"), "--target", "lavapipe", "-o", out}, "problem");
  refused({"emit", "--target", "lavapipe", "-o", out}, "problem");
  refused({"emit", kTurnOfHalves, "--target", "lavapipe"}, "-o DIR");
  refused({"emit", kTurnOfHalves, "-o", out}, "--target");
  refused({"emit", kTurnOfHalves, "--target", "lavapipe", "-o", folder.path("file")}, "a folder, not a file");
  refused({"emit", kTurnOfHalves, "--target", "lavapipe", "-o", folder.path("file") + "/out"}, "a folder, not a file");
  refused({"emit", kTurnOfHalves, "--target", "lavapipe", "-o", folder.path("mine")}, "an empty folder");
  refused({"emit", kTurnOfHalves, "--target", "lavapipe", "--force", "permute_none", "-o", out}, "permute");
  refused({"pack", folder.path("mine"), "-o", pack}, "manifest.json");
  refused({"pack", folder.path("foreign"), "-o", pack}, "schema 9");
  refused({"pack", folder.path("foreign")}, "-o FILE");
  refused({"pack", "-o", pack}, "folder");
  refused({"pack", "--list", folder.path("file")}, "no pack");
  // Output that cannot be written is no bad input.
  const Ran lost = run_sectile({"emit", kTurnOfHalves, "--target", "lavapipe", "-o", "/proc/sectile-out"});
  CHECK(lost.code == 1);
  CHECK_MESSAGE(lost.err.find("/proc/sectile-out") != std::string::npos, lost.err);
}

TEST_CASE("pack refuses a module that is not what its manifest says") {
  const Folder folder;
  const std::string out = folder.path("out");
  REQUIRE(run_sectile({"emit", kTurnOfHalves, "--target", "nvidia-hopper", "-o", out}).code == 0);
  const auto manifest = nlohmann::json::parse(read_file(out + "/manifest.json"));
  const std::string file = out + "/" + manifest["modules"][0]["file"].get<std::string>();
  std::string bytes = read_file(file);
  bytes[bytes.size() / 2] ^= 1;
  write_file(file, bytes);
  const Ran ran = run_sectile({"pack", out, "-o", folder.path("p.pack")});
  CHECK(ran.code == 2);
  CHECK_MESSAGE(ran.err.find(file) != std::string::npos, ran.err);
  CHECK_FALSE(fs::exists(folder.path("p.pack")));
}

TEST_CASE("a program with a pack alone runs two shapes from one module, bit-equal to the templates") {
  for (const std::string& selector : selectors()) {
    const Folder folder;
    auto runtime = open(selector);
    const DeviceProfile profile = runtime.profile();
    CAPTURE(profile.name);
    write_file(folder.path("profile.json"), to_json(profile));
    // Emitted for the first shape only; the second runs from the same module.
    const Ran emitted =
        run_sectile({"emit", kTurnOfHalves, "--target", folder.path("profile.json"), "-o", folder.path("out")});
    REQUIRE_MESSAGE(emitted.code == 0, emitted.err);
    const Ran packed = run_sectile({"pack", folder.path("out"), "-o", folder.path("p.pack"), "--json"});
    REQUIRE_MESSAGE(packed.code == 0, packed.err);
    CHECK(nlohmann::json::parse(packed.out)["modules"] == 1);
    const Ran ran = run_program(
        pack_only_program(), {folder.path("p.pack"), folder.path("result"), selector, kTurnOfHalves, kOtherOfHalves});
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    CHECK(ran.out == "1 modules, 1 pipelines\n");

    std::string expected;
    for (const char* const text : {kTurnOfHalves, kOtherOfHalves}) {
      const auto plan = must(make_plan(must(parse_problem(text)), profile));
      std::vector<std::byte> src(plan.operands[0].bytes);
      std::uint32_t state = 7;
      for (std::byte& byte : src) {
        state = state * 1664525u + 1013904223u;
        byte = static_cast<std::byte>(state >> 24);
      }
      const auto executable = must(runtime.device().prepare(plan));
      const auto buffers = test::make_pair(runtime, src);
      const auto operands = buffers.operands();
      must(runtime.submit_and_wait(
          [&](VkCommandBuffer commands) { return vulkan::record(commands, executable, operands); }));
      const auto bytes = read_back(runtime, buffers.dst);
      expected.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    CHECK(read_file(folder.path("result")) == expected);
  }
}

// Every target, compiled for CUDA too: what a sanitizer sees of it, it sees of one target in the tests above.
// (docs/guide/offline.md has smaller examples, which tests/docs runs.)
TEST_CASE("the offline flow runs for all targets, and a program with a pack alone runs its result") {
  if (!scope(true, true, false)) return;
  const Folder folder;
  const std::string script = "set -e\ncd " + folder.path("") + "\nexport PATH=" + path_with_sectile(folder) + R"(
sectile emit "permute f16 1x384x512x128 axes=0,3,1,2" --target amd-rdna3 -o out
sectile emit "permute f16 1x384x512x128 axes=0,3,1,2" "matmul f16 nt 960x2304x770 epi=bias" --all-targets -o all
sectile pack all -o kernels.pack
)";
  const Ran ran = run_program("/bin/sh", {"-c", script});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const Pack pack = must(Pack::read(folder.path("kernels.pack")));
  CHECK(pack.modules().size() >= 4);
  // Cubins stay where they are, and are told of; folder names are taken by every file system.
  for (const auto& entry : fs::directory_iterator(folder.path("all")))
    CHECK(entry.path().filename().string().find(':') == std::string::npos);
  // What one target refuses is left out and told, and the others are written.
  const std::string refused = "matmul f16 nt 960x2304x770 epi=bias";
  CHECK_MESSAGE(ran.err.find("left out: swiftshader: " + refused) != std::string::npos, ran.err);
  CHECK(ran.err.find("storageBuffer16BitAccess") != std::string::npos);
  const auto manifest_of = [&](const std::string& target) {
    return nlohmann::json::parse(read_file(folder.path("all/" + target + "manifest.json")));
  };
  const nlohmann::json index = manifest_of("");
  CHECK(index["targets"].size() >= 17);
  bool told = false;
  for (const auto& one : index["left_out"]) told = told || one["what"] == "swiftshader: " + refused;
  CHECK(told);
  CHECK(manifest_of("swiftshader/")["left_out"].size() == 1);
  CHECK(manifest_of("swiftshader/")["plans"].size() == 1);
  CHECK(manifest_of("nvidia-hopper/")["plans"].size() == 2);
  std::size_t ran_on = 0;
  for (const std::string& selector : selectors()) {
    auto runtime = open(selector);
    CAPTURE(runtime.entry().name);
    const std::string problem = "permute f16 1x384x512x128 axes=0,3,1,2";
    const Ran run =
        run_program(pack_only_program(), {folder.path("kernels.pack"), folder.path("result"), selector, problem});
    CHECK_MESSAGE(run.code == 0, run.err);
    const auto definition = reference::PermuteDefinition(std::get<PermuteProblem>(must(parse_problem(problem))));
    std::vector<std::byte> src(definition.src_bytes()), want(definition.dst_bytes());
    std::uint32_t state = 7;
    for (std::byte& byte : src) {
      state = state * 1664525u + 1013904223u;
      byte = static_cast<std::byte>(state >> 24);
    }
    reference::permute(definition, src, want);
    const std::string got = read_file(folder.path("result"));
    CHECK(got == std::string(reinterpret_cast<const char*>(want.data()), want.size()));
    ++ran_on;
  }
  CHECK(ran_on == selectors().size());
}

TEST_CASE("a problem that the one target refuses, or every target, is an error") {
  const Folder folder;
  CHECK(run_sectile({"emit", "matmul f16 nt 64x64x64 epi=bias", "--target", "swiftshader", "-o", folder.path("one")})
            .code == 2);
  const Ran none =
      run_sectile({"emit", kTurnOfHalves, "--force", "permute_none 1x1", "--all-targets", "-o", folder.path("none")});
  CHECK(none.code == 2);
  CHECK(none.err.find("every target refuses") != std::string::npos);
  CHECK(folder.files() == 0);
}

TEST_CASE("a folder of cubins alone is no pack") {
  const Folder folder;
  const std::string out = folder.path("out");
  fs::create_directory(out);
  const auto manifest = [&](std::string_view version) {
    write_file(out + "/manifest.json", R"({"schema_version": 1, "planner_version": )" + std::string(version) +
                                           R"(, "modules": [{"format": "cubin", "file": "a.cubin"}]})");
  };
  manifest("\"" + std::string(planner_version()) + "\"");
  const Ran ran = run_sectile({"pack", out, "-o", folder.path("p.pack")});
  CHECK(ran.code == 2);
  CHECK_MESSAGE(ran.err.find("cubins") != std::string::npos, ran.err);
  CHECK_FALSE(fs::exists(folder.path("p.pack")));
  // Modules of another planner's kernels are none of this one's.
  for (const char* version : {"\"9\"", "10", "null"}) {
    manifest(version);
    const Ran refused = run_sectile({"pack", out, "-o", folder.path("p.pack")});
    CHECK(refused.code == 2);
    CHECK_MESSAGE(refused.err.find(std::string("planner version ") + version) != std::string::npos, refused.err);
  }
}

TEST_CASE("a manifest that names itself, or targets below a target, is refused and not followed") {
  const Folder folder;
  const std::string out = folder.path("out");
  fs::create_directories(out + "/below");
  for (const char* const name : {".", "..", "", "below/x"}) {
    write_file(out + "/manifest.json", R"({"schema_version": 1, "targets": [")" + std::string(name) + "\"]}");
    const Ran ran = run_sectile({"pack", out, "-o", folder.path("p.pack")});
    CHECK(ran.code == 2);
    CHECK_MESSAGE(ran.err.find("a folder in this one") != std::string::npos, ran.err);
  }
  write_file(out + "/manifest.json", R"({"schema_version": 1, "targets": ["below"]})");
  write_file(out + "/below/manifest.json", R"({"schema_version": 1, "targets": ["below"]})");
  const Ran ran = run_sectile({"pack", out, "-o", folder.path("p.pack")});
  CHECK(ran.code == 2);
  CHECK_MESSAGE(ran.err.find("targets below a target") != std::string::npos, ran.err);
}

TEST_CASE("emit removes what its own manifest lists, and nothing else") {
  const Folder folder;
  const std::string out = folder.path("out");
  const auto emit = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"emit", "-o", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_sectile(arguments);
  };
  REQUIRE(emit({kTurnOfHalves, "--target", "nvidia-hopper"}).code == 0);
  const auto first = content(out);
  // The user's own files, one of them a changed one of emit's.
  write_file(out + "/notes.txt", "mine");
  fs::create_directory(out + "/mine");
  write_file(out + "/mine/manifest.json", "mine too");
  const auto manifest = nlohmann::json::parse(first.at("manifest.json"));
  const std::string header = manifest["plans"][0]["header"];
  write_file(out + "/" + header, first.at(header) + "/* my change */\n");

  const Ran second = emit({"permute u8 511x513 axes=1,0", "--target", "nvidia-hopper"});
  REQUIRE_MESSAGE(second.code == 0, second.err);
  CHECK(second.err.find(header) != std::string::npos);
  auto now = content(out);
  CHECK(now.at("notes.txt") == "mine");
  CHECK(now.at("mine/manifest.json") == "mine too");
  CHECK(now.at(header) == first.at(header) + "/* my change */\n");
  for (const auto& [name, bytes] : first)
    if (name != "manifest.json" && name != header) CHECK_FALSE(now.contains(name));
  // The very same again is no change.
  const Ran again = emit({"permute u8 511x513 axes=1,0", "--target", "nvidia-hopper"});
  CHECK(again.code == 0);
  CHECK(content(out) == now);
  // A changed file that would be replaced, and a file of another's that stands in the way: nothing is written.
  CHECK(emit({kTurnOfHalves, "--target", "nvidia-hopper"}).code != 0);
  CHECK(content(out) == now);
  // Every target's folder: what is listed below it goes, what is not stays.
  fs::remove(out + "/" + header);
  REQUIRE(emit({kTurnOfHalves, "--all-targets"}).code == 0);
  write_file(out + "/lavapipe/mine.spv", "mine");
  REQUIRE(emit({kTurnOfHalves, "--target", "nvidia-hopper"}).code == 0);
  now = content(out);
  CHECK(now.at("lavapipe/mine.spv") == "mine");
  CHECK(now.at("notes.txt") == "mine");
  CHECK_FALSE(now.contains("lavapipe/manifest.json"));
  CHECK_FALSE(fs::exists(out + "/amd-rdna3"));
  // Whatever a manifest lists, nothing outside its folder is touched.
  write_file(folder.path("outside"), "");
  auto forged = nlohmann::json::parse(read_file(out + "/manifest.json"));
  forged["files"]["../outside"] = tools::hash_text("");
  forged["targets"] = {".."};
  write_file(out + "/manifest.json", forged.dump());
  REQUIRE(emit({kTurnOfHalves, "--target", "amd-rdna3"}).code == 0);
  CHECK(fs::exists(folder.path("outside")));
  // No manifest of emit's.
  const std::string other = folder.path("other");
  fs::create_directory(other);
  write_file(other + "/manifest.json", R"({"schema_version": 1, "modules": []})");
  write_file(other + "/thesis.txt", "not to be lost");
  CHECK(run_sectile({"emit", kTurnOfHalves, "--target", "lavapipe", "-o", other}).code == 2);
  CHECK(read_file(other + "/thesis.txt") == "not to be lost");
}

TEST_CASE("emit writes into a folder that is there, and behind a link") {
  const Folder folder;
  fs::create_directory(folder.path("empty"));
  fs::permissions(folder.path("empty"), fs::perms::owner_all);
  fs::create_directory_symlink("empty", folder.path("link"));
  REQUIRE(run_sectile({"emit", kTurnOfHalves, "--target", "nvidia-hopper", "-o", folder.path("link")}).code == 0);
  CHECK(fs::is_symlink(fs::symlink_status(folder.path("link"))));
  CHECK(fs::status(folder.path("empty")).permissions() == fs::perms::owner_all);
  CHECK(fs::exists(folder.path("empty/manifest.json")));
  fs::create_directory(folder.path("here"));
  fs::create_directory(folder.path("here/.emit.abcdef"));  // left by a run that was killed
  const Ran here = run_program("/bin/sh", {"-c", "cd " + folder.path("here") + " && exec " + sectile_command() +
                                                     " emit '" + kTurnOfHalves + "' --target nvidia-hopper -o ."});
  CHECK_MESSAGE(here.code == 0, here.err);
  CHECK(content(folder.path("here")) == content(folder.path("empty")));
}

TEST_CASE("a profile's name cannot end the comment that it stands in") {
  const Folder folder;
  auto profile = nlohmann::json::parse(to_json(must(builtin_target("nvidia-hopper"))));
  profile["name"] = "a \n*/ #error x /* \\";
  profile.erase("sources");
  write_file(folder.path("profile.json"), profile.dump());
  const Ran ran =
      run_sectile({"emit", kTurnOfHalves, "--target", folder.path("profile.json"), "-o", folder.path("out")});
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const std::string header = nlohmann::json::parse(read_file(folder.path("out/manifest.json")))["plans"][0]["header"];
  write_file(folder.path("out/use.c"), "#include \"" + header + "\"\nint main(void) { return 0; }\n");
  const Ran compiled = run_program("/usr/bin/env", {"cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                                                    folder.path("out/use.c"), "-Wno-unused"});
  CHECK_MESSAGE(compiled.code == 0, compiled.err);
  CHECK(tools::c_comment("*/ /* **/ */*") == "* / / * ** / * / *");
}
