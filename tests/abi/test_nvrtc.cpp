// The interface headers compile with NVRTC, which CUDA kernels will be compiled with, and lay the
// structs out as C++ does. Skipped, and said so, where the host has no NVRTC.
#include "lib/permute.abi.h"
#include "permute_copy.abi.h"

#include <doctest/doctest.h>

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Program = void*;
struct Nvrtc {
  void* library = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;

  Nvrtc() {
    for (const char* name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto load = [&](auto& function, const char* name) { function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name)); };
    load(create, "nvrtcCreateProgram");
    load(compile, "nvrtcCompileProgram");
    load(log_size, "nvrtcGetProgramLogSize");
    load(log, "nvrtcGetProgramLog");
    load(destroy, "nvrtcDestroyProgram");
  }
};

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("interfaceHeadersCompileWithNvrtc") {
  const Nvrtc nvrtc;
  if (nvrtc.library == nullptr) {
    const char* require = std::getenv("SECTILE_REQUIRE");
    REQUIRE_MESSAGE((require == nullptr || std::string(require).find("nvrtc") == std::string::npos), "SECTILE_REQUIRE names nvrtc, and there is no libnvrtc");
    MESSAGE("skipped: no libnvrtc on this machine");
    return;
  }
  const std::filesystem::path shaders = std::filesystem::path(SECTILE_SOURCE_DIR) / "shaders";
  std::vector<std::string> names, texts;
  std::string source;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shaders)) {
    if (!entry.path().string().ends_with("abi.h")) continue;
    const auto name = std::filesystem::relative(entry.path(), shaders).string();
    names.push_back(name);
    texts.push_back(read(entry.path()));
    // Headers of lib/ include each other by bare names; a name given twice is refused.
    if (const auto bare = entry.path().filename().string(); bare != name) {
      names.push_back(bare);
      texts.push_back(texts.back());
    }
    source += "#include \"" + name + "\"\n";
  }
  REQUIRE(names.size() >= 8);
  const auto same = [&](const std::string& what, std::size_t value) { source += "static_assert(" + what + " == " + std::to_string(value) + ", \"\");\n"; };
  same("sizeof(PermutePush)", sizeof(PermutePush));
  // NVRTC knows no offsetof in a constant: sizes and alignment of the same members in the same order settle it.
  same("sizeof(((PermutePush*)0)->src)", sizeof(PermutePush::src));
  same("sizeof(((PermutePush*)0)->words)", sizeof(PermutePush::words));
  same("alignof(PermutePush)", alignof(PermutePush));
  same("sizeof(PermuteCopyPush)", sizeof(PermuteCopyPush));
  same("sizeof(((PermuteCopyPush*)0)->groups)", sizeof(PermuteCopyPush::groups));
  same("alignof(PermuteCopyPush)", alignof(PermuteCopyPush));
  source += "extern \"C\" __global__ void kernel(PermutePush push) { (void)push; }\n";

  std::vector<const char*> name_pointers, text_pointers;
  for (std::size_t i = 0; i < names.size(); ++i) name_pointers.push_back(names[i].c_str()), text_pointers.push_back(texts[i].c_str());
  Program program = nullptr;
  REQUIRE(nvrtc.create(&program, source.c_str(), "interface.cu", static_cast<int>(names.size()), text_pointers.data(), name_pointers.data()) == 0);
  const char* options[] = {"--gpu-architecture=compute_90", "--std=c++17"};
  const int result = nvrtc.compile(program, 2, options);
  std::size_t size = 0;
  nvrtc.log_size(program, &size);
  std::string log(size, '\0');
  nvrtc.log(program, log.data());
  CHECK_MESSAGE(result == 0, log);
  nvrtc.destroy(&program);
}
