// NVRTC for tests, by dlopen: interface headers and CUDA kernels are compiled without a GPU and without src/cuda.
#pragma once

#include <doctest/doctest.h>

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sectile::test {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Headers by the names that an #include has for them: relative to shaders/. NVRTC looks a name up as it stands.
class NvrtcHeaders {
 public:
  explicit NvrtcHeaders(const std::filesystem::path& shaders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(shaders)) {
      const auto bare = entry.path().filename().string();
      if (!bare.ends_with("abi.h") && !bare.ends_with(".cuh")) continue;
      const auto name = std::filesystem::relative(entry.path(), shaders).string();
      names_.push_back(name);
      texts_.push_back(read_text(entry.path()));
    }
  }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> names_, texts_;
};

class Nvrtc {
 public:
  Nvrtc() {
    for (const char* name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"})
      if (library_ == nullptr) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) return;
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library_, name));
    };
    load(create_, "nvrtcCreateProgram");
    load(compile_, "nvrtcCompileProgram");
    load(log_size_, "nvrtcGetProgramLogSize");
    load(log_, "nvrtcGetProgramLog");
    load(destroy_, "nvrtcDestroyProgram");
  }

  // False where there is none: the test that asked is skipped, and says so; where SECTILE_REQUIRE names nvrtc, it
  // fails.
  bool there() const {
    if (library_ != nullptr) return true;
    const char* require = std::getenv("SECTILE_REQUIRE");
    REQUIRE_MESSAGE((require == nullptr || std::string_view(require).find("nvrtc") == std::string_view::npos),
                    "SECTILE_REQUIRE names nvrtc, and there is no libnvrtc");
    MESSAGE("skipped: no libnvrtc on this machine");
    return false;
  }

  struct Compiled {
    bool good = false;
    std::string log;
  };
  // May be called from several threads.
  Compiled compile(const std::string& source, const char* name, const NvrtcHeaders& headers,
                   const std::vector<const char*>& options) const {
    std::vector<const char*> names, texts;
    for (std::size_t i = 0; i < headers.names().size(); ++i) {
      names.push_back(headers.names()[i].c_str());
      texts.push_back(headers.texts()[i].c_str());
    }
    void* program = nullptr;
    if (create_(&program, source.c_str(), name, static_cast<int>(names.size()), texts.data(), names.data()) != 0)
      return {false, "nvrtcCreateProgram failed"};
    const bool good = compile_(program, static_cast<int>(options.size()), options.data()) == 0;
    std::size_t size = 0;
    log_size_(program, &size);
    std::string log(size, '\0');
    log_(program, log.data());
    destroy_(&program);
    return {good, std::move(log)};
  }

 private:
  void* library_ = nullptr;
  int (*create_)(void**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile_)(void*, int, const char* const*) = nullptr;
  int (*log_size_)(void*, std::size_t*) = nullptr;
  int (*log_)(void*, char*) = nullptr;
  int (*destroy_)(void**) = nullptr;
};

}  // namespace sectile::test
