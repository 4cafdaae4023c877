// --device-class from outside: who takes a class of devices, what is said of a wrong one, where it is written.
#include "support/small_class.hpp"
#include "tools/run_command.hpp"

#include <sectile/device_class.hpp>
#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::test;

TEST_CASE("each command that plans takes a class of devices, and refuses one of others") {
  const Folder folder;
  const auto target = [](const char* name) { return builtin_target(name).value(); };
  const std::string hopper = folder.path("hopper.json"), cpu = folder.path("cpu.json"), bad = folder.path("bad.json");
  write_file(hopper, small_class_text(target("nvidia-hopper")));
  write_file(cpu, small_class_text(target("lavapipe"), "another driver"));
  write_file(bad, R"({"schema":1})");

  const std::vector<std::string> plan = {"plan", "matmul f16 nt 512x512x512", "--target", "nvidia-hopper"};
  const auto plan_with = [&](const std::string& file, const std::string& more) {
    std::vector<std::string> arguments = plan;
    arguments.insert(arguments.end(), {"--device-class", file, more});
    return run_sectile(arguments);
  };
  const Ran explained = plan_with(hopper, "--explain");
  CHECK_MESSAGE(explained.code == 0, explained.err);
  CHECK(explained.out.contains("model mine, measured on a test's"));
  CHECK(explained.out.contains("numbers derived"));
  CHECK(explained.err == "");
  CHECK(plan_with(hopper, "--json").out.contains(R"("device_class":"mine )"));
  CHECK(plan_with(cpu, "--json").code == 2);
  CHECK(plan_with(cpu, "--json").err.contains("device class mine on nvidia-hopper"));
  CHECK(plan_with(bad, "--json").err.contains("bad.json: class.schema"));
  CHECK(plan_with(folder.path("none.json"), "--json").err.contains("none.json"));

  // Without a device: the offline generator.
  const std::vector<std::string> emit = {"emit", "permute f32 64x32 axes=1,0", "--target", "nvidia-hopper", "-o"};
  std::vector<std::string> arguments = emit;
  arguments.insert(arguments.end(), {folder.path("emitted"), "--device-class", hopper});
  const Ran emitted = run_sectile(arguments);
  CHECK_MESSAGE(emitted.code == 0, emitted.err);
  CHECK(read_file(folder.path("emitted/manifest.json")).contains(R"("device_class": "mine )"));
  CHECK(run_sectile({"pack", folder.path("emitted"), "-o", folder.path("pack")}).code == 0);
  // The kernels are the same for every class: the pack serves a planner without this one.
  CHECK(run_sectile({"plan", "permute f32 64x32 axes=1,0", "--target", "nvidia-hopper", "--pack", folder.path("pack")})
            .code == 0);

  if (cpu_device().empty()) {
    MESSAGE("skipped: no CPU device");
    return;
  }
  const std::string photo = folder.path("photo.ppm");
  write_file(photo, "P6\n2 1\n255\nabcdef");
  write_file(folder.path("a.npy"), npy("(4, 4)", 16));
  const std::string a = folder.path("a.npy"), x = folder.path("x.npy"), out = folder.path("out.npy");
  write_file(x, npy("(1, 1, 4, 4)", 16));
  const std::vector<std::vector<std::string>> commands = {
      {"devices"},
      {"plan", "permute f32 64x32 axes=1,0"},
      {"permute", a, "--axes", "1,0", "-o", out},
      {"matmul", a, a, "-o", out},
      {"conv2d", x, x, "-o", out},
      {"check", "--problem", "permute f32 64x32 axes=1,0", "--in-process", "--no-validation"},
      {"bench", "permute f32 64x32 axes=1,0", "--min-time", "0.001", "--warmup", "0", "--cycle-mb", "0"},
      {"bench", "--sweep", "permute", "--cases", "1", "--min-mb", "0.001", "--min-time", "0.001", "--warmup", "0",
       "--cycle-mb", "0"},
      {"tune", "permute f32 64x32 axes=1,0", "--store", folder.path("store"), "--limit", "1", "--min-time", "0.001",
       "--warmup", "0", "--cycle-mb", "0"},
  };
  for (std::vector<std::string> command : commands) {
    CAPTURE(command[0]);
    command.insert(command.end(), {"--device", cpu_device(), "--device-class", cpu});
    const Ran ran = run_sectile(command);
    CHECK_MESSAGE(ran.code == 0, ran.err);
    // check says it once for all of its workers, in its summary.
    const std::string warning = "device class mine: measured with driver another driver, this is ";
    CHECK((command[0] == "check" ? ran.out.contains("(" + warning) : ran.err.contains("sectile: warning: " + warning)));
    command.back() = hopper;
    const Ran refused = run_sectile(command);
    CHECK(refused.code != 0);
    CHECK_MESSAGE(refused.err.contains("device class mine on "), refused.err);
  }
  const Ran demo = run_sectile(
      {"demo", "--photo", photo, "-o", folder.path("demo"), "--device", cpu_device(), "--device-class", hopper});
  CHECK(demo.err.contains("device class mine on "));
}

TEST_CASE("devices records the class beside the profile, whose plans are those of the device") {
  if (cpu_device().empty()) {
    MESSAGE("skipped: no CPU device");
    return;
  }
  const Folder folder;
  const auto record = [&](const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"devices", "--device", cpu_device(), "--record", folder.path(file)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_sectile(arguments);
  };
  const Ran recorded = record("profile.json", {});
  REQUIRE_MESSAGE(recorded.code == 0, recorded.err);
  const auto device_class = device_class_from_json(read_file(folder.path("profile.class.json")));
  REQUIRE_MESSAGE(device_class.has_value(), device_class.error().message());
  CHECK(class_name(**device_class).starts_with("cpu"));
  CHECK(run_sectile({"devices", "--device", cpu_device()}).out.contains("\nclass cpu"));

  write_file(folder.path("mine.json"), small_class_text(builtin_target("lavapipe").value()));
  const Ran other = record("other", {"--device-class", folder.path("mine.json")});
  CHECK_MESSAGE(other.code == 0, other.err);
  CHECK(read_file(folder.path("other")) == read_file(folder.path("profile.json")));
  CHECK(read_file(folder.path("other.class.json")).contains(R"("name": "mine")"));
  const auto plan = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"plan", "permute f32 512x512 axes=1,0", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = run_sectile(arguments);
    CHECK_MESSAGE(ran.code == 0, ran.err);
    return ran.out;
  };
  const std::string built_in = plan({"--device", cpu_device()});
  CHECK(plan({"--target", folder.path("other")}) == built_in);
  CHECK(plan({"--target", folder.path("profile.json"), "--device-class", folder.path("profile.class.json")}) ==
        built_in);
  CHECK(plan({"--target", folder.path("other"), "--device-class", folder.path("other.class.json")}) != built_in);
}
