// What the copy engine is told of a permute, and which permutes it takes. No driver here runs its kernel.
#include "plan/helpers.hpp"

#include "permute/permute_tma.abi.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace sectile;
using test::planned;

namespace {

DeviceProfile copying_device() {
  DeviceProfile profile = test::gpu();
  profile.api = Api::cuda;
  profile.tensor_maps = true;
  return profile;
}

std::string why_no_tma(const std::string& text) {
  std::string reason = "no row";
  for (const Candidate& c : planned(text, copying_device(), {.explain = true}).candidates) {
    if (!c.name.starts_with("permute_tma")) continue;
    if (c.refusal.empty()) return "";
    if (!c.refusal.starts_with("the row is for")) reason = c.refusal;
  }
  return reason;
}

}  // namespace

TEST_CASE("both tensor maps of a permute say where its elements lie") {
  struct Kind {
    const char* type;
    std::uint32_t bytes;
  };
  for (const auto& [type, bytes] : {Kind{"i8", 1}, Kind{"f16", 2}, Kind{"f32", 4}}) {
    CAPTURE(std::string(type));
    // Rows of both sides are further apart than they are long, and so are the batches.
    const std::string text =
        std::string("permute ") + type +
        " 3x320x208 axes=0,2,1 src.strides=73728x224x1 dst.strides=90112x352x1 src.offset=32 dst.offset=48";
    const Plan plan = planned(text, copying_device(), {.force = "permute_tma"});
    const Step& step = plan.steps.at(0);
    REQUIRE(step.tensor_maps.size() == 2);
    const TensorMap &src = step.tensor_maps[0], &dst = step.tensor_maps[1];
    CHECK(src.operand == 0);
    CHECK(dst.operand == 1);
    CHECK(src.byte_offset == 32 * bytes);
    CHECK(dst.byte_offset == 48 * bytes);
    CHECK(src.element_bytes == bytes);
    CHECK(dst.element_bytes == bytes);
    CHECK(src.dims == std::vector<std::uint64_t>{208, 320, 3});
    CHECK(dst.dims == std::vector<std::uint64_t>{320, 208, 3});
    CHECK(src.strides == std::vector<std::uint64_t>{224 * bytes, 73728 * bytes});
    CHECK(dst.strides == std::vector<std::uint64_t>{352 * bytes, 90112 * bytes});
    const std::uint32_t along_s = 128 / bytes, along_d = bytes == 1 ? 128 : 64;
    CHECK(src.box == std::vector<std::uint32_t>{along_s, along_d, 1});
    CHECK(dst.box == std::vector<std::uint32_t>{128 / bytes, along_s, 1});
    CHECK(src.swizzle_bytes == 128);
    CHECK(dst.swizzle_bytes == 128);
    // The last tiles stick out.
    const std::uint32_t tiles = (208 + along_s - 1) / along_s * ((320 + along_d - 1) / along_d) * 3;
    CHECK(step.grid[0] * step.grid[1] * step.grid[2] == tiles);
    CHECK(step.workgroup_memory_bytes >= 2 * along_d * 128 + 8);
  }
}

TEST_CASE("the copy engine takes strides and addresses of whole 16 bytes, and two to five axes") {
  const auto strides = [](std::int64_t src, std::int64_t dst) {
    return why_no_tma("permute f16 512x512 axes=1,0 src.strides=" + std::to_string(src) +
                      "x1 dst.strides=" + std::to_string(dst) + "x1");
  };
  CHECK(strides(520, 528) == "");
  for (const std::int64_t odd : {513, 514, 516}) {
    CHECK(strides(odd, 520).starts_with("the source has a stride of " + std::to_string(odd)));
    CHECK(strides(520, odd).starts_with("the destination has a stride of " + std::to_string(odd)));
  }
  // What a copy stores ends at 16 bytes: the elements between the rows would be overwritten.
  const auto rows = [](const char* type, int elements) {
    return why_no_tma(std::string("permute ") + type + " " + std::to_string(elements) +
                      "x512 axes=1,0 dst.strides=640x1");
  };
  for (const auto& [type, whole] : {std::pair{"i8", 16}, {"f16", 8}, {"f32", 4}})
    for (const int elements : {whole, 16 * whole, 17 * whole}) {
      CHECK(rows(type, elements) == "");
      CHECK(rows(type, elements - 1).starts_with("rows of the destination have "));
      CHECK(rows(type, elements + 1).starts_with("rows of the destination have "));
    }
  CHECK(why_no_tma("permute f16 512x512 axes=1,0 align=16") == "");
  CHECK(why_no_tma("permute f16 512x512 axes=1,0 src.align=8") == "operands are not aligned to 16 bytes");
  CHECK(why_no_tma("permute f16 512x512 axes=1,0 dst.align=8") == "operands are not aligned to 16 bytes");
  CHECK(why_no_tma("permute f16 512x512 axes=1,0 src.offset=8") == "");
  CHECK(why_no_tma("permute f16 512x512 axes=1,0 src.offset=4") == "operands are not aligned to 16 bytes");
  CHECK(why_no_tma("permute f16 512x512 axes=1,0 dst.offset=4") == "operands are not aligned to 16 bytes");
  CHECK(why_no_tma("permute f16 16x8x16x32x64 axes=4,3,2,1,0") == "");
  CHECK(why_no_tma("permute f16 16x8x16x32x8x64 axes=5,4,3,2,1,0").starts_with("the nest has 6 axes"));
}
