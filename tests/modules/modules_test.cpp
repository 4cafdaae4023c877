// Which of the library's kernels no check has run on a driver. The checks (`sectile check --modules FILE`) and test_far
// run before this test and leave a file each with the names of the kernels that they ran.
#include <sectile/shaders.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

using namespace sectile;

namespace {

// Kernels for which CI has no driver, and why. A row that is not needed is a failure as well.
struct Absent {
  std::string_view name;  // a module's name, or what it begins with
  std::string_view why;
};
constexpr Absent kAbsent[] = {
    {"canary_", "run when a device is opened and by the canary's own tests (tests/vulkan/canary_test.cpp)"},
    {"matmul_direct.i8", "no plan has it: an int8 at a time is a narrow access, which .narrow has"},
    {"permute_fused_block.narrow.wide", "tests/far has no problem that reaches it yet; .narrow and .wide run apart"},
    {"permute_copy.e2", "for devices with accesses of 2 bytes and none of 1"},
    {"conv2d_coopmat.bf16.", "no CPU driver multiplies bf16 matrices"},
    {"matmul_coopmat.bf16.", "no CPU driver multiplies bf16 matrices"},
    {"matmul_coopmat2.", "needs matrices of a workgroup's scope (VK_NV_cooperative_matrix2), which lavapipe lacks"},
};

std::set<std::string> names_of_files(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) names.insert(line);
  }
  return names;
}

}  // namespace

TEST_CASE("every kernel has run on a driver") {
  const char* folder = std::getenv("SECTILE_MODULES_FOLDER");
  if (folder == nullptr) {
    MESSAGE("SECTILE_MODULES_FOLDER is not set: ctest sets it");
    return;
  }
  const std::set<std::string> ran = names_of_files(folder);
  std::set<std::string_view> needed;
  std::string missing;
  std::size_t modules = 0, absent = 0;
  for (const EmbeddedModule& module : embedded_modules()) {
    const std::string name = std::string(module.stem) + "." + std::string(module.variant);
    ++modules;
    if (ran.contains(name)) continue;
    const auto row = std::ranges::find_if(kAbsent, [&](const Absent& a) {
      return a.name.ends_with('.') || a.name.ends_with('_') ? name.starts_with(a.name) : name == a.name;
    });
    if (row == std::end(kAbsent)) {
      missing += " " + name;
      continue;
    }
    ++absent;
    needed.insert(row->name);
  }
  CHECK_MESSAGE(missing.empty(), "run by no check:" << missing);
  for (const Absent& row : kAbsent) CHECK_MESSAGE(needed.contains(row.name), std::string(row.name) << " was run");
  MESSAGE(modules << " modules, " << absent << " without a driver");
}
