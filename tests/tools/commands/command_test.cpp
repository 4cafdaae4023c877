// The command from outside: what it refuses, with which exit code, and that it then writes nothing.
#include "tools/run_command.hpp"

#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

using namespace sectile;
using namespace sectile::test;

namespace {

struct Case {
  const char* name;
  std::vector<std::string> arguments;  // IN and OUT stand for files in the test's folder
  const char* says;                    // must be in what it tells
};

std::vector<std::string> filled(std::vector<std::string> arguments, const Folder& folder) {
  for (std::string& argument : arguments) {
    if (argument.starts_with("IN")) argument = folder.path(argument);
    if (argument == "OUT") argument = folder.path("out");
  }
  return arguments;
}

void write_inputs(const Folder& folder) {
  write_file(folder.path("IN.npy"), npy("(2, 3, 4)", 24));
  write_file(folder.path("INmatrix.npy"), npy("(3, 4)", 12));
  write_file(folder.path("IN17.npy"), npy("(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)", 1));
  write_file(folder.path("INscalar.npy"), npy("()", 1));
  write_file(folder.path("INshort.npy"), npy("(2, 3, 4)", 23));
  write_file(folder.path("INlying.npy"), npy("(2000000000, 2000000000)", 24));
  write_file(folder.path("INoverflow.npy"), npy("(9000000000000000000, 3)", 24));
  write_file(folder.path("INgarbage.npy"), "no array at all");
  write_file(folder.path("INempty.json"), "");
  write_file(folder.path("INgarbage.json"), "{\"name\": [1, 2");
  write_file(folder.path("INwrong.json"), "{\"name\": 7, \"subgroup_size\": \"many\"}");
  write_file(folder.path("INarray.json"), "[1, 2, 3]");
}

std::vector<Case> refusals_of_permute() {
  return {
      {"axes repeated", {"permute", "IN.npy", "--axes", "0,0,1", "-o", "OUT"}, "axes"},
      {"axes missing", {"permute", "IN.npy", "--axes", "0,1", "-o", "OUT"}, "axes"},
      {"axes too many", {"permute", "IN.npy", "--axes", "0,1,2,3", "-o", "OUT"}, "axes"},
      {"axes out of range", {"permute", "IN.npy", "--axes", "0,1,3", "-o", "OUT"}, "axes"},
      {"axes negative", {"permute", "IN.npy", "--axes", "0,1,-1", "-o", "OUT"}, "axes"},
      {"axes beyond an int", {"permute", "IN.npy", "--axes", "0,1,4294967296", "-o", "OUT"}, "axes"},
      {"axes no numbers", {"permute", "IN.npy", "--axes", "a,b,c", "-o", "OUT"}, "axes"},
      {"axes with a gap", {"permute", "IN.npy", "--axes", "0,,1", "-o", "OUT"}, "axes"},
      {"rank 17", {"permute", "IN17.npy", "--axes", "16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0", "-o", "OUT"}, "16"},
      {"a scalar", {"permute", "INscalar.npy", "--axes", "0", "-o", "OUT"}, "rank"},
      {"neither axes nor layout", {"permute", "IN.npy", "-o", "OUT"}, "axes"},
      {"axes and layout", {"permute", "IN.npy", "--axes", "0,2,1", "--layout", "ABC:ACB", "-o", "OUT"}, "axes"},
      {"layout without a colon", {"permute", "IN.npy", "--layout", "ABC", "-o", "OUT"}, "layout"},
      {"layout of another rank", {"permute", "IN.npy", "--layout", "NHWC:NCHW", "-o", "OUT"}, ""},
      {"layout with an unknown letter", {"permute", "IN.npy", "--layout", "ABC:ABD", "-o", "OUT"}, "layout"},
      {"channels without blocks",
       {"permute", "IN.npy", "--layout", "ABC:ACB", "--channels", "3", "-o", "OUT"},
       "channels"},
      {"truncated file", {"permute", "INshort.npy", "--axes", "0,2,1", "-o", "OUT"}, "truncated"},
      {"lying shape", {"permute", "INlying.npy", "--axes", "1,0", "-o", "OUT"}, "shape"},
      {"overflowing shape", {"permute", "INoverflow.npy", "--axes", "1,0", "-o", "OUT"}, "overflow"},
      {"no .npy", {"permute", "INgarbage.npy", "--axes", "1,0", "-o", "OUT"}, ".npy"},
      {"no file", {"permute", "INnothing.npy", "--axes", "1,0", "-o", "OUT"}, "INnothing.npy"},
      {"unknown device",
       {"permute", "IN.npy", "--axes", "0,2,1", "-o", "OUT", "--device", "no such device"},
       "no such device"},
      {"device out of range", {"permute", "IN.npy", "--axes", "0,2,1", "-o", "OUT", "--device", "vulkan:99"}, "99"},
      {"output in no folder",
       {"permute", "IN.npy", "--axes", "0,2,1", "-o", "/nonexistent/folder/out.npy"},
       "/nonexistent/folder"},
  };
}

std::vector<Case> refusals_of_the_rest() {
  return {
      {"plan: no problem", {"plan", "", "--target", "lavapipe"}, ""},
      {"plan: unknown operation", {"plan", "transmogrify f32 2x2", "--target", "lavapipe"}, "transmogrify"},
      {"matmul: K differs", {"matmul", "INmatrix.npy", "INmatrix.npy", "-o", "OUT"}, "K"},
      {"matmul: three axes and one", {"matmul", "INscalar.npy", "INmatrix.npy", "-o", "OUT"}, "shape"},
      {"matmul: a type that is none",
       {"matmul", "INmatrix.npy", "INmatrix.npy", "--transpose-b", "--type", "f31", "-o", "OUT"},
       "f31"},
      {"matmul: i8 of floats",
       {"matmul", "INmatrix.npy", "INmatrix.npy", "--transpose-b", "--type", "i8", "-o", "OUT"},
       "a: f32"},
      {"matmul: f16 sums of f32",
       {"matmul", "INmatrix.npy", "INmatrix.npy", "--transpose-b", "--acc", "f16", "-o", "OUT"},
       "acc"},
      {"matmul: beta without C",
       {"matmul", "INmatrix.npy", "INmatrix.npy", "--transpose-b", "--beta", "2", "-o", "OUT"},
       "--c"},
      {"matmul: C of another shape",
       {"matmul", "INmatrix.npy", "INmatrix.npy", "--transpose-b", "--c", "INmatrix.npy", "-o", "OUT"},
       "shape"},
      {"matmul: bias of another length",
       {"matmul", "INmatrix.npy", "INmatrix.npy", "--transpose-b", "--bias", "INmatrix.npy", "-o", "OUT"},
       "shape"},
      {"matmul: unknown activation",
       {"matmul", "INmatrix.npy", "INmatrix.npy", "--transpose-b", "--activation", "elu", "-o", "OUT"},
       "elu"},
      {"matmul: a clamp of one bound",
       {"matmul", "INmatrix.npy", "INmatrix.npy", "--transpose-b", "--activation", "clamp:1", "-o", "OUT"},
       "clamp:LOW:HIGH"},
      {"permute: an activation that follows nothing",
       {"permute", "INmatrix.npy", "--axes", "1,0", "--activation", "tanh", "--activation-last", "-o", "OUT"},
       "act.last"},
      {"plan: a matmul of types that do not go",
       {"plan", "matmul bf16 nn 2x2x2 acc=f16", "--target", "lavapipe"},
       "acc"},
      {"plan: unknown type", {"plan", "permute f31 2x2 axes=1,0", "--target", "lavapipe"}, "f31"},
      {"plan: axes repeated", {"plan", "permute f32 2x2 axes=0,0", "--target", "lavapipe"}, "axes"},
      {"plan: rank 17",
       {"plan", "permute f32 1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1 axes=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
        "--target", "lavapipe"},
       "16"},
      {"plan: overflow",
       {"plan", "permute f32 4294967296x4294967296x4 axes=0,2,1", "--target", "lavapipe"},
       "overflow"},
      {"plan: more than 64 bits", {"plan", "permute f32 99999999999999999999x2 axes=1,0", "--target", "lavapipe"}, ""},
      {"plan: unknown target", {"plan", "permute f32 2x2 axes=1,0", "--target", "voodoo"}, "lavapipe"},
      {"plan: no target file", {"plan", "permute f32 2x2 axes=1,0", "--target", "./nothing.json"}, "nothing.json"},
      {"plan: empty profile", {"plan", "permute f32 2x2 axes=1,0", "--target", "INempty.json"}, "INempty.json"},
      {"plan: broken profile", {"plan", "permute f32 2x2 axes=1,0", "--target", "INgarbage.json"}, "INgarbage.json"},
      {"plan: profile of wrong types",
       {"plan", "permute f32 2x2 axes=1,0", "--target", "INwrong.json"},
       "INwrong.json"},
      {"plan: profile that is no object",
       {"plan", "permute f32 2x2 axes=1,0", "--target", "INarray.json"},
       "INarray.json"},
      {"plan: a folder as profile", {"plan", "permute f32 2x2 axes=1,0", "--target", "/tmp"}, "/tmp"},
      {"plan: garbage supplement",
       {"plan", "permute f32 2x2 axes=1,0", "--target", "lavapipe", "--supplement", "INgarbage.npy"},
       ""},
      {"plan: target and device", {"plan", "permute f32 2x2 axes=1,0", "--target", "lavapipe", "--device", "x"}, ""},
      {"plan: unknown device", {"plan", "permute f32 2x2 axes=1,0", "--device", "no such device"}, "no such device"},
      {"plan: unknown candidate",
       {"plan", "permute f32 2x2 axes=1,0", "--target", "lavapipe", "--force", "magic"},
       "magic"},
      {"check: bad problem", {"check", "--problem", "permute f32 2x2 axes=0,0", "--junit", "OUT"}, "axes"},
      {"check: unknown device",
       {"check", "--cases", "1", "--device", "no such device", "--junit", "OUT"},
       "no such device"},
      {"check: unknown operation", {"check", "--op", "transpose", "--junit", "OUT"}, "op"},
      {"bench: unknown preset", {"bench", "--preset", "everything", "--html", "OUT"}, "everything"},
      {"bench: nothing to do", {"bench", "--html", "OUT"}, "preset"},
      {"bench: bad problem", {"bench", "permute f32 2x2 axes=2,0", "--html", "OUT"}, "axes"},
      {"bench: unknown device",
       {"bench", "permute f32 2x2 axes=1,0", "--device", "no such device", "--html", "OUT"},
       "no such device"},
      {"check: output in no folder",
       {"check", "--cases", "1", "--junit", "/nonexistent/folder/junit.xml"},
       "/nonexistent/folder"},
      {"bench: output in no folder",
       {"bench", "permute f32 2x2 axes=1,0", "--html", "/nonexistent/folder/x.html"},
       "/nonexistent/folder"},
      {"devices: output in no folder", {"devices", "--record", "/nonexistent/folder/x.json"}, "/nonexistent/folder"},
      {"permute: output is a folder", {"permute", "IN.npy", "--axes", "0,2,1", "-o", "/tmp"}, "/tmp"},
      {"devices: unknown", {"devices", "--device", "no such device", "--record", "OUT"}, "no such device"},
      {"demo: no photograph", {"demo", "--photo", "INgarbage.npy", "--out", "OUT"}, "picture"},
      {"bench: a matmul without elements", {"bench", "matmul f32 nn 0x4x4", "--html", "OUT"}, "at least one element"},
      {"bench: a matmul of nothing at all", {"bench", "matmul f32 nn 0x0x0", "--json", "OUT"}, "at least one element"},
      {"bench: a permute without elements",
       {"bench", "permute f32 0x4 axes=1,0", "--json", "OUT"},
       "at least one element"},
      {"tune: a matmul without elements", {"tune", "matmul f32 nn 4x0x4", "--store", "OUT"}, "at least one element"},
      {"tune: a permute without elements",
       {"tune", "permute f32 4x0 axes=1,0", "--store", "OUT"},
       "at least one element"},
      {"unknown subcommand", {"frobnicate"}, "frobnicate (want devices, targets, permute"},
      {"unknown subcommand with options", {"frobnicate", "--json"}, "subcommand: frobnicate"},
      {"permute: an empty name to write to", {"permute", "IN.npy", "--axes", "0,2,1", "-o", ""}, "a file's name"},
      {"permute: an array of another shape to add",
       {"permute", "INmatrix.npy", "--axes", "1,0", "--add", "INmatrix.npy", "-o", "OUT"},
       "add: shape: (3, 4) (want (4, 3), the result's)"},
      {"an empty name of a candidate",
       {"plan", "permute f32 2x2 axes=1,0", "--target", "lavapipe", "--force", ""},
       "parse: --force: \"\" (want a"},
      {"an empty name of a store",
       {"tune", "permute f32 2x2 axes=1,0", "--store", "", "--device", "x"},
       "parse: --store: \"\""},
      {"an empty name of a device",
       {"permute", "IN.npy", "--axes", "0,2,1", "-o", "OUT", "--device", ""},
       "--device: \"\""},
      {"a target with a dot that is no file",
       {"plan", "permute f32 2x2 axes=1,0", "--target", "nvidia.hopper"},
       "nvidia-hopper"},
      {"permute: a bias that is no number and no axis",
       {"permute", "IN.npy", "--axes", "0,2,1", "--bias", "x.npy", "-o", "OUT"},
       "bias: x.npy (want a finite number that f32 holds, or AXIS:FILE.npy)"},
      {"unknown option", {"devices", "--frobnicate"}, "sectile: error: parse: sectile devices: "},
      {"a missing argument",
       {"plan", "--target", "lavapipe"},
       "sectile: error: parse: sectile plan: problem is required"},
      {"no subcommand", {}, "sectile: error: parse: sectile: "},
  };
}

}  // namespace

TEST_CASE("bad input is refused with code2 and nothing is written") {
  const Folder folder;
  write_inputs(folder);
  const std::size_t before = folder.files();
  std::vector<Case> cases = refusals_of_permute();
  const std::vector<Case> rest = refusals_of_the_rest();
  cases.insert(cases.end(), rest.begin(), rest.end());
  for (const Case& bad : cases) {
    CAPTURE(std::string(bad.name));
    const Ran ran = run_sectile(filled(bad.arguments, folder));
    CAPTURE(ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK_FALSE(ran.err.empty());
    CHECK(ran.err.find(bad.says) != std::string::npos);
    CHECK(folder.files() == before);
  }
}

TEST_CASE("the version is the commands and the planners") {
  const Ran ran = run_sectile({"--version"});
  CHECK(ran.code == 0);
  CHECK(ran.out == "sectile " SECTILE_VERSION " (planner " + std::string(planner_version()) + ")\n");
}

// Where no driver of NVIDIA's is, nobody waits to hear of CUDA.
TEST_CASE("devices says nothing of CUDA where its driver is not") {
  const auto json = nlohmann::json::parse(run_sectile({"devices", "--json"}).out, nullptr, false);
  const std::string cuda = json.is_object() ? json.value("cuda", "") : "";
  if (cuda.find("libcuda.so.1: not found") == std::string::npos || cpu_device().empty()) {
    MESSAGE("skipped: a CUDA driver, or no Vulkan device");
    return;
  }
  CHECK(run_sectile({"devices"}).err.find("CUDA") == std::string::npos);
  const Ran asked = run_sectile({"devices", "--device", "cuda:0"});
  CHECK(asked.code == 2);
  CHECK(asked.err.find("libcuda.so.1") != std::string::npos);
}

TEST_CASE("output is named in one way by every subcommand") {
  const Folder folder;
  write_file(folder.path("IN.npy"), npy("(2, 0)", 0));
  for (const char* option : {"-o", "--out", "--output"}) {
    const std::string in = folder.path("IN.npy"), out = folder.path(std::string("out") + option);
    CHECK(run_sectile({"permute", in, "--axes", "1,0", option, out}).code == 0);
    CHECK(run_sectile({"matmul", in, in, "--transpose-b", "--help", option, out}).out.find("--output") !=
          std::string::npos);
    // Past the options, to what is wrong with the folder and the photograph.
    CHECK(run_sectile({"pack", folder.path("none"), option, out}).err.find("none/manifest.json") != std::string::npos);
    CHECK(run_sectile({"demo", "--photo", in, option, out}).err.find("picture") != std::string::npos);
  }
}

// NaN is neither below a bound nor above it.
TEST_CASE("numbers that are none are refused by every option") {
  const Folder folder;
  write_inputs(folder);
  const std::string permute = "permute f32 4x4 axes=1,0", in = folder.path("IN.npy"),
                    square = folder.path("INmatrix.npy");
  const std::vector<std::vector<std::string>> commands = {
      {"bench", permute, "--min-time"},
      {"bench", permute, "--warmup"},
      {"bench", permute, "--cycle-mb"},
      {"tune", permute, "--min-time"},
      {"tune", permute, "--warmup"},
      {"tune", permute, "--cycle-mb"},
      {"demo", "--min-time"},
      {"matmul", square, square, "--transpose-b", "-o", folder.path("out"), "--alpha"},
      {"matmul", square, square, "--transpose-b", "-o", folder.path("out"), "--c", square, "--beta"},
      {"matmul", square, square, "--transpose-b", "-o", folder.path("out"), "--bias"},
      {"permute", in, "--axes", "0,2,1", "-o", folder.path("out"), "--bias"},
      {"permute", in, "--axes", "0,2,1", "-o", folder.path("out"), "--scale"}};
  const std::size_t before = folder.files();
  for (std::vector<std::string> arguments : commands) {
    const std::string option = arguments.back();
    arguments.emplace_back();
    for (const char* number : {"nan", "-nan", "NAN", "inf", "-inf", "1e999"}) {
      arguments.back() = number;
      // As --min-time=-nan, which no parser takes for an option.
      std::vector<std::string> joined(arguments.begin(), arguments.end() - 2);
      joined.push_back(option + "=" + number);
      const Ran ran = run_sectile(joined);
      CAPTURE(option + "=" + number);
      CHECK(ran.code == 2);
      CHECK_MESSAGE(ran.err.find(option.substr(2)) != std::string::npos, ran.err);
      CHECK(folder.files() == before);
    }
  }
}

TEST_CASE("numbers that f32 has infinity or 0 for are refused") {
  const Folder folder;
  write_inputs(folder);
  const std::string in = folder.path("IN.npy"), square = folder.path("INmatrix.npy"), out = folder.path("out");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"matmul", square, square, "--transpose-b", "-o", out, "--alpha"},
        {"matmul", square, square, "--transpose-b", "-o", out, "--bias"},
        {"permute", in, "--axes", "0,2,1", "-o", out, "--scale"},
        {"permute", in, "--axes", "0,2,1", "-o", out, "--bias"}})
    for (const char* number : {"1e39", "1e-50"}) {
      std::vector<std::string> arguments = command;
      arguments.back() += std::string("=") + number;
      const Ran ran = run_sectile(arguments);
      CHECK(ran.code == 2);
      CHECK_MESSAGE(ran.err.find("finite number that f32 holds") != std::string::npos, ran.err);
    }
}

TEST_CASE("errors are JSON where asked for") {
  const Ran ran = run_sectile({"plan", "permute f32 2x2 axes=0,0", "--target", "lavapipe", "--json"});
  CHECK(ran.code == 2);
  const auto json = nlohmann::json::parse(ran.err, nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["error"]["kind"] == "invalid_problem");
  // Errors of the options too: one object, whichever option is wrong.
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"plan", "--json"},
                                                    {"plan", "--json", "--frobnicate"},
                                                    {"frobnicate", "--json"},
                                                    {"--json"},
                                                    {"bench", "--min-time", "x", "--json"},
                                                    {"plan", "x", "--force", "", "--json"},
                                                    {"plan", "x", "--target", "a", "--device", "b", "--json"}}) {
    const Ran wrong = run_sectile(arguments);
    CAPTURE(wrong.err);
    CHECK(wrong.code == 2);
    CHECK(wrong.out.empty());
    const auto object = nlohmann::json::parse(wrong.err, nullptr, false);
    REQUIRE(object.is_object());
    for (const char* key : {"kind", "what", "value", "limit", "message"}) CHECK(object["error"].contains(key));
  }
  CHECK(run_sectile({"plan", "--help"}).code == 0);
}

// The notes stand before the device is opened.
TEST_CASE("types are the same in every command and what became of them is said") {
  const Folder folder;
  const auto file = [&](const char* name, const char* descr, const char* shape, std::string data) {
    const std::string path = folder.path(name);
    std::string dictionary =
        std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
    std::string head = "\x93NUMPY\x01";
    head += '\0';
    head += static_cast<char>(dictionary.size());
    head += '\0';
    write_file(path, head + dictionary + data);
    return path;
  };
  const std::string half = file("h.npy", "<f2", "(1, 1)", std::string("\x00\x3c", 2)),
                    wide = file("w.npy", "<f4", "(1, 1)", std::string("\x00\x00\x80\x3f", 4)),
                    brain = file("b.npy", "|V2", "(1, 1)", std::string("\x80\x3f", 2)),
                    doubles = file("d.npy", "<f8", "(1, 1)", std::string("\0\0\0\0\0\0\xf0\x3f", 8)),
                    large = file("l.npy", "<i8", "(1, 1)", std::string("\x01\0\0\x01\0\0\0\0", 8)),
                    complex = file("c.npy", "<c8", "(1, 1)", std::string(8, '\0'));
  const auto said = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"-o", folder.path("out"), "--device", "no such device"});
    const Ran ran = run_sectile(arguments);
    CHECK(ran.code == 2);
    return ran.err;
  };
  const auto has = [&](const std::vector<std::string>& arguments, const std::string& text) {
    const std::string err = said(arguments);
    CHECK_MESSAGE(err.find(text) != std::string::npos, err);
  };
  has({"matmul", half, wide}, "note: multiplied in f32: " + half + " has f16, " + wide + " has f32");
  has({"matmul", wide, half}, "note: multiplied in f32: ");
  CHECK(said({"matmul", half, wide, "--type", "f16"}).find("note:") == std::string::npos);
  CHECK(said({"matmul", brain, brain}).find("note:") == std::string::npos);
  has({"matmul", brain, half}, "multiplied in f32");
  has({"matmul", doubles, half}, "note: " + doubles + ": f64 is rounded to f32");
  has({"matmul", doubles, half, "--type", "f16"}, doubles + ": f64 is rounded to f16");
  has({"matmul", wide, large},
      large + ": 16777217 at (0, 0) (want values of f32; in NumPy a.astype('float32') rounds)");
  has({"matmul", wide, complex}, complex + ": type: <c8 (want numbers without an imaginary part");
  has({"matmul", wide, wide, "--bias", doubles}, doubles + ": f64 is rounded to f32");
  has({"matmul", wide, wide, "--bias", "0.5"}, "no such device");
  has({"permute", brain, "--axes", "1,0", "--cast", "f32"}, "no such device");
  has({"permute", doubles, "--axes", "1,0", "--cast", "f16"}, doubles + ": f64 is rounded to f16");
  has({"permute", doubles, "--axes", "1,0", "--cast", "f16", "--scale", "2"}, doubles + ": f64 is rounded to f32");
  has({"permute", large, "--axes", "1,0", "--cast", "f32"}, large + ": i64 as i32, each value exact");
  CHECK(said({"permute", large, "--axes", "1,0"}).find("note:") == std::string::npos);  // bits are moved
  has({"permute", complex, "--axes", "1,0", "--cast", "f32"}, "type: <c8");
  has({"permute", wide, "--layout", "ab:ba", "--bias", "-1"}, "no such device");
}

TEST_CASE("zero size axis is nothing to do") {
  const Folder folder;
  write_file(folder.path("IN.npy"), npy("(2, 0, 4)", 0));
  const Ran ran = run_sectile({"permute", folder.path("IN.npy"), "--axes", "2,1,0", "-o", folder.path("out.npy")});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  const std::string out = read_file(folder.path("out.npy"));
  CHECK(out.size() == 128);
  CHECK(out.find("(4, 0, 2)") != std::string::npos);
}

TEST_CASE("plans for every target") {
  for (const std::string_view name : builtin_target_names()) {
    const std::string target(name);
    CAPTURE(target);
    const Ran ran = run_sectile({"plan", "permute f16 1x384x512x128 axes=0,3,1,2", "--target", target});
    CHECK_MESSAGE(ran.code == 0, ran.err);
    CHECK(ran.out.starts_with("permute_"));
    const Ran json = run_sectile({"plan", "permute f16 1x384x512x128 axes=0,3,1,2", "--target", target, "--json"});
    CHECK(nlohmann::json::parse(json.out, nullptr, false).is_object());
    const Ran why = run_sectile({"plan", "permute f16 1x384x512x128 axes=0,3,1,2", "--target", target, "--explain"});
    CHECK(why.out.size() > ran.out.size());
  }
}

TEST_CASE("targets are listed") {
  const Ran list = run_sectile({"targets"});
  CHECK_MESSAGE(list.code == 0, list.err);
  for (const std::string_view name : builtin_target_names()) CHECK(list.out.contains(std::string(name) + " "));
  const Ran ran = run_sectile({"targets", "--json"});
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  REQUIRE(json.is_object());
  REQUIRE(json["targets"].size() == builtin_target_names().size());
  for (const auto& target : json["targets"]) {
    CAPTURE(target["name"]);
    // What is listed is a profile that can be given back.
    const auto profile = profile_from_json(target["profile"].dump());
    REQUIRE(profile.has_value());
    CHECK(*profile == builtin_target(target["name"].get<std::string>()));
  }
}

TEST_CASE("targets are compared field by field") {
  const Ran ran = run_sectile({"targets", "cuda:sm_86", "cuda:sm_90a"});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  const auto line_of = [&](const std::string& text, std::string_view field) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      if (line.find(" " + std::string(field) + " ") != std::string::npos) return line;
      at = end + 1;
    }
    return std::string();
  };
  const std::string dynamic = line_of(ran.out, "max_dynamic_workgroup_memory_bytes");
  CHECK(dynamic.starts_with("*"));
  CHECK(dynamic.contains("101376"));
  CHECK(dynamic.contains("232448"));
  CHECK(line_of(ran.out, "banks").starts_with(" "));
  CHECK_FALSE(ran.out.contains("PTX ISA"));
  const Ran sources = run_sectile({"targets", "cuda:sm_86", "cuda:sm_90a", "--sources"});
  CHECK(sources.out.contains("cuda:sm_90a = true: PTX ISA"));
  const auto json = nlohmann::json::parse(run_sectile({"targets", "cuda:sm_86", "nvidia-ampere", "--json"}).out);
  const auto& differ = json["differ"];
  const auto differs = [&](const char* field) {
    return std::find(differ.begin(), differ.end(), field) != differ.end();
  };
  CHECK(differs("api"));
  CHECK(differs("cuda_architecture"));
  CHECK_FALSE(differs("max_grid"));
  CHECK(run_sectile({"targets", "swiftshader"}).out.contains("swiftshader: storage16: a 16-bit shader"));
  const Ran unknown = run_sectile({"targets", "lavapipe", "voodoo"});
  CHECK(unknown.code == 2);
  CHECK(unknown.out.empty());
  CHECK(unknown.err.contains("voodoo"));
}

TEST_CASE("plan and targets say why a matrix unit is left alone") {
  const std::string said = "on intel-xe-lpg: the matrix unit is not known, and not used";
  const Ran plan = run_sectile({"plan", "matmul f16 nn 512x512x512", "--target", "intel-xe-lpg"});
  CHECK(plan.code == 0);
  CHECK(plan.err.contains(said));
  CHECK(plan.out.starts_with("matmul_simt"));  // and nothing else stands there
  CHECK(run_sectile({"plan", "matmul f16 nn 512x512x512", "--target", "nvidia-ada"}).err.empty());
  CHECK(run_sectile({"plan", "permute f16 64x64 axes=1,0", "--target", "intel-xe-lpg"}).err.empty());
  CHECK(run_sectile({"targets", "intel-xe-lpg"})
            .out.contains("intel-xe-lpg: the matrix unit is not known, and not used"));
  CHECK(run_sectile({"targets"}).out.contains("not known, not used"));
}

TEST_CASE("recorded profiles are targets") {
  if (cpu_device().empty()) {
    MESSAGE("skipped: no CPU device");
    return;
  }
  const Folder folder;
  const Ran recorded = run_sectile({"devices", "--device", cpu_device(), "--record", folder.path("profile.json")});
  REQUIRE_MESSAGE(recorded.code == 0, recorded.err);
  const std::vector<std::string> plan = {"plan", "permute f32 512x512 axes=1,0"};
  const Ran live = run_sectile({plan[0], plan[1], "--device", cpu_device(), "--json"});
  const Ran read = run_sectile({plan[0], plan[1], "--target", folder.path("profile.json"), "--json"});
  CHECK_MESSAGE(live.code == 0, live.err);
  CHECK_MESSAGE(read.code == 0, read.err);
  CHECK(live.out == read.out);
}
