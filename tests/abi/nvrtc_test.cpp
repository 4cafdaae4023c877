// The interface headers compile with NVRTC, which the CUDA kernels are compiled with, and lay the
// structs out as C++ does. Skipped, and said so, where the host has no NVRTC.
#include "nvrtc.hpp"
#include "gemm/gemm.abi.h"
#include "permute/permute.abi.h"
#include "permute/permute_copy.abi.h"
#include "support/paths.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <string>

TEST_CASE("interface headers compile with NVRTC") {
  const sectile::test::Nvrtc nvrtc;
  if (!nvrtc.there()) return;
  const sectile::test::NvrtcHeaders headers(std::filesystem::path(sectile::test::source_folder()) / "shaders");
  std::string source;
  std::size_t interfaces = 0;
  for (const auto& name : headers.names()) {
    if (!name.ends_with("abi.h")) continue;
    source += "#include \"" + name + "\"\n";
    ++interfaces;
  }
  REQUIRE(interfaces >= 8);
  const auto same = [&](const std::string& what, std::size_t value) {
    source += "static_assert(" + what + " == " + std::to_string(value) + ", \"\");\n";
  };
  same("sizeof(PermutePush)", sizeof(PermutePush));
  // NVRTC knows no offsetof in a constant: sizes and alignment of the same members in the same order settle it.
  same("sizeof(((PermutePush*)0)->src)", sizeof(PermutePush::src));
  same("sizeof(((PermutePush*)0)->words)", sizeof(PermutePush::words));
  same("alignof(PermutePush)", alignof(PermutePush));
  same("sizeof(PermuteCopyPush)", sizeof(PermuteCopyPush));
  same("sizeof(((PermuteCopyPush*)0)->words)", sizeof(PermuteCopyPush::words));
  same("alignof(PermuteCopyPush)", alignof(PermuteCopyPush));
  same("sizeof(GemmPush)", sizeof(GemmPush));
  same("sizeof(((GemmPush*)0)->a)", sizeof(GemmPush::a));
  same("sizeof(((GemmPush*)0)->words)", sizeof(GemmPush::words));
  same("alignof(GemmPush)", alignof(GemmPush));
  source += "extern \"C\" __global__ void kernel(PermutePush push) { (void)push; }\n";
  const auto compiled =
      nvrtc.compile(source, "interface.cu", headers, {"--gpu-architecture=compute_90", "--std=c++17"});
  CHECK_MESSAGE(compiled.good, compiled.log);
}
