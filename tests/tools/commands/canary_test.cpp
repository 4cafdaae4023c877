// The command and the canary: once a driver version, and a failure is said wherever the device is used.
#include "tools/run_command.hpp"

#include "backend/framed_file.hpp"
#include "cli/npy.hpp"
#include "support/paths.hpp"

#include <sectile/planner.hpp>
#include <sectile/profile.hpp>
#include <sectile/tune.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>

using namespace sectile;
using namespace sectile::test;

namespace {

Ran run_with_cache(const std::string& cache, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"XDG_CACHE_HOME=" + cache, sectile_command()});
  return run_program("/usr/bin/env", arguments);
}

// The one outcome in the cache; empty where there is none.
std::string kept_in(const std::string& cache) {
  const std::string folder = cache + "/sectile/canary";
  if (!std::filesystem::exists(folder)) return {};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) return entry.path().string();
  return {};
}

constexpr std::size_t kHeader = 60;

CanaryResult read_kept(const std::string& path) {
  auto result = canary_from_json(std::string_view(read_file(path)).substr(kHeader));
  REQUIRE(result.has_value());
  return *result;
}

// Rewrites a kept outcome, with its header as it was.
void write_kept(const std::string& path, const CanaryResult& result) {
  const std::string whole = read_file(path);
  constexpr std::size_t kIdentity = 12, kIdentityBytes = 32;
  REQUIRE(whole.size() > kHeader);
  backend::Frame frame{
      "canary's outcome", {}, 1, std::as_bytes(std::span(whole).subspan(kIdentity, kIdentityBytes)), 1 << 20};
  std::memcpy(frame.magic.data(), whole.data(), frame.magic.size());
  const std::string text = to_json(result);
  REQUIRE(backend::write_framed(path, frame, std::as_bytes(std::span(text))).has_value());
}

// So that the first tested shape has failed.
CanaryRow fail_first(const std::string& path) {
  CanaryResult result = read_kept(path);
  for (CanaryRow& row : result.rows) {
    if (row.verdict != Canary::passed) continue;
    row.verdict = Canary::failed;
    row.detail = "D[0][0] is 1, not 2";
    write_kept(path, result);
    return row;
  }
  FAIL("no shape has passed");
  return {};
}

}  // namespace

TEST_CASE("a failed canary is said and its shape is not used") {
  if (cpu_device().empty()) {
    MESSAGE("skipped: no CPU device");
    return;
  }
  const Folder folder;
  const std::string cache = folder.path("cache");
  const std::vector<std::string> use = {"check", "--cases", "1", "--device", cpu_device()};
  const std::vector<std::string> look = {"devices", "--device", cpu_device()};
  CHECK(run_with_cache(cache, look).out.find("canary passed") == std::string::npos);
  const Ran first = run_with_cache(cache, use);
  REQUIRE_MESSAGE(first.code == 0, first.err);
  CHECK(first.err.find("canary") == std::string::npos);
  const std::string path = kept_in(cache);
  if (path.empty()) {
    MESSAGE("skipped: " << cpu_device() << " has no matrix unit");
    return;
  }
  CHECK_MESSAGE(run_with_cache(cache, look).out.find("canary passed: ") != std::string::npos, first.out);

  const CanaryRow row = fail_first(path);
  const Ran second = run_with_cache(cache, use);
  CHECK(second.code == 0);
  CHECK_MESSAGE(second.err.find("canary of " + print(row) + "; not used") != std::string::npos, second.err);
  const Ran looked = run_with_cache(cache, look);
  CHECK_MESSAGE(looked.out.find("canary failed: " + print(row.shape) + " is not used") != std::string::npos,
                looked.out);
  const auto profile = profile_from_json(run_with_cache(cache, {"devices", "--device", cpu_device(), "--json"}).out);
  REQUIRE(profile.has_value());
  CHECK(profile->canary_failed == std::vector{row.shape});
  CHECK(matrix_objection(*profile, row.shape).starts_with("the canary failed"));
  CHECK(run_with_cache(cache, {"devices"}).out.find("canary failed: ") != std::string::npos);
}

TEST_CASE("a command tests what its plan rests on, and a failed kind is done otherwise") {
  if (cpu_device().empty()) {
    MESSAGE("skipped: no CPU device");
    return;
  }
  const Folder folder;
  const std::string cache = folder.path("cache"), in = folder.path("in.npy");
  REQUIRE(tools::write_npy(in, "<f4", std::vector<std::int64_t>{1, 2}, std::vector<std::byte>(8)).has_value());
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"permute",  in,          "--axes", "1,0", "-o", folder.path("out.npy"),
                                          "--device", cpu_device()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = run_with_cache(cache, arguments);
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return ran;
  };
  // Moving bits rests on nothing, a conversion on numbers alone: no matrix kernel is compiled, which takes seconds
  // here.
  CHECK(run({}).err.find("testing") == std::string::npos);
  CHECK(kept_in(cache) == "");
  CHECK(run({"--cast", "f16"}).err.find("testing") == std::string::npos);
  const std::string path = kept_in(cache);
  REQUIRE(path != "");
  CanaryResult kept = read_kept(path);
  CHECK(kept.rows.empty());
  REQUIRE(kept.kinds.size() == 4);
  for (CanaryKind& kind : kept.kinds)
    if (kind.kind == "f16 conversion" || kind.kind == "dot products") {
      CHECK(kind.verdict == Canary::passed);
      kind.verdict = Canary::failed;
      kind.detail = "1 gives 0x0000, not 0x3c00";
    }
  write_kept(path, kept);
  CHECK(run({"--cast", "f16"}).err.find("canary of f16 conversion: failed: 1 gives 0x0000, not 0x3c00") !=
        std::string::npos);
  const auto profile = profile_from_json(run_with_cache(cache, {"devices", "--device", cpu_device(), "--json"}).out);
  REQUIRE(profile.has_value());
  CHECK(profile->f16_conversion == false);
  CHECK(profile->integer_dot_product == false);
  CHECK(profile->sources.at("f16_conversion") ==
        "record_canary on this device and driver version: 1 gives 0x0000, not 0x3c00");
  CHECK(run_with_cache(cache, {"devices"}).out.find("canary failed: f16_conversion: ") != std::string::npos);
}

TEST_CASE("a command whose plan takes the matrix unit says that it tests it, and once") {
  if (cpu_device().empty()) {
    MESSAGE("skipped: no CPU device");
    return;
  }
  const Folder folder;
  const std::string cache = folder.path("cache"), tuned = folder.path("tuned");
  const std::string square = folder.path("square.npy"), image = folder.path("image.npy"),
                    filter = folder.path("filter.npy");
  const auto write = [](const std::string& path, const char* descr, const std::vector<std::int64_t>& shape,
                        std::size_t bytes) {
    REQUIRE(tools::write_npy(path, descr, shape, std::vector<std::byte>(bytes)).has_value());
  };
  write(square, "<f2", {32, 32}, std::size_t{32} * 32 * 2);
  write(image, "<f4", {1, 1, 4, 4}, std::size_t{16} * 4);
  write(filter, "<f4", {1, 1, 1, 1}, 4);
  const auto profile_now = [&] {
    const auto read = profile_from_json(run_with_cache(cache, {"devices", "--device", cpu_device(), "--json"}).out);
    REQUIRE(read.has_value());
    return *read;
  };
  const Problem problem = parse_problem("matmul f16 nn 32x32x32").value();
  const auto forced = make_plan(problem, profile_now(), {.force = "matmul_coopmat"});
  if (!forced) {
    MESSAGE("skipped: " << cpu_device() << " has no matrix unit");
    return;
  }
  // Another kernel costs less here: a tuned choice takes the matrix unit, for the profile as the canary has left it.
  const auto run = [&](std::vector<std::string> arguments) {
    TuneStore store;
    store.put(problem, profile_hash_of(profile_now()), {forced->choice.candidate, 1, "model", 2, 2});
    REQUIRE(store.save(tuned).has_value());
    arguments.insert(arguments.end(), {"--tuned", tuned, "-o", folder.path("out.npy"), "--device", cpu_device()});
    const Ran ran = run_with_cache(cache, arguments);
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return ran.err;
  };
  const std::string note = "testing the matrix unit of";
  const std::string convolved = run({"conv2d", image, filter});
  CHECK_MESSAGE(convolved.find(note) == std::string::npos, convolved);
  const std::string path = kept_in(cache);
  REQUIRE(path != "");
  CHECK(read_kept(path).rows.empty());
  const std::string first = run({"matmul", square, square});
  CHECK_MESSAGE(first.find(note) != std::string::npos, first);
  CHECK(first.find(note) == first.rfind(note));
  CHECK_FALSE(read_kept(path).rows.empty());
  const std::string second = run({"matmul", square, square});
  CHECK_MESSAGE(second.find("matmul_coopmat") != std::string::npos, second);
  CHECK_MESSAGE(second.find(note) == std::string::npos, second);
}
