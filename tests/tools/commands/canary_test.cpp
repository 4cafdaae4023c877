// The command and the canary: once a driver version, and a failure is said wherever the device is used.
#include "tools/run_command.hpp"

#include "backend/framed_file.hpp"
#include "support/paths.hpp"

#include <sectile/profile.hpp>

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

// Rewrites a kept outcome, with its header as it was, so that its first tested shape has failed.
CanaryRow fail_first(const std::string& path) {
  const std::string whole = read_file(path);
  constexpr std::size_t kIdentity = 12, kIdentityBytes = 32, kHeader = 60;
  REQUIRE(whole.size() > kHeader);
  backend::Frame frame{
      "canary's outcome", {}, 1, std::as_bytes(std::span(whole).subspan(kIdentity, kIdentityBytes)), 1 << 20};
  std::memcpy(frame.magic.data(), whole.data(), frame.magic.size());
  auto result = canary_from_json(std::string_view(whole).substr(kHeader));
  REQUIRE(result.has_value());
  for (CanaryRow& row : result->rows) {
    if (row.verdict != Canary::passed) continue;
    row.verdict = Canary::failed;
    row.detail = "D[0][0] is 1, not 2";
    const std::string text = to_json(*result);
    REQUIRE(backend::write_framed(path, frame, std::as_bytes(std::span(text))).has_value());
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
