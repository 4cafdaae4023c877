// The canary's outcome as data: what it does to a profile, and its JSON.
#include <sectile/profile.hpp>

#include <doctest/doctest.h>

using namespace sectile;

namespace {

MatrixShape shape(const char* in, const char* out) {
  return {.m = 16, .n = 16, .k = 16, .a = in, .b = in, .c = out, .result = out};
}

DeviceProfile device() {
  DeviceProfile profile;
  profile.name = "x";
  profile.cooperative_matrix = true;
  profile.matrix_shapes = {shape("f16", "f16"), shape("f16", "f32"), shape("s8", "s32")};
  return profile;
}

std::string refusal_of(const auto& result) { return result ? "" : result.error().message(); }

}  // namespace

TEST_CASE("a shape that failed its canary is taken out") {
  const DeviceProfile before = device();
  CHECK(with_canary(before, {}) == before);
  const CanaryResult fine{
      {{shape("f16", "f16"), Canary::passed, ""}, {shape("s8", "s32"), Canary::untested, "no storage"}}, {}};
  const DeviceProfile passed = with_canary(before, fine);
  CHECK(passed.canary == Canary::passed);
  CHECK(passed.matrix_shapes == before.matrix_shapes);
  CHECK(matrix_objection(passed, shape("s8", "s32")) == "");

  const CanaryResult bad{
      {{shape("f16", "f16"), Canary::passed, ""}, {shape("f16", "f32"), Canary::failed, "D[0][0] is 1, not 2"}}, {}};
  const DeviceProfile failed = with_canary(before, bad);
  CHECK(failed.canary == Canary::failed);
  CHECK(failed.matrix_shapes == std::vector{shape("f16", "f16"), shape("s8", "s32")});
  CHECK(failed.canary_failed == std::vector{shape("f16", "f32")});
  CHECK(with_canary(failed, bad) == failed);
  CHECK(matrix_objection(failed, shape("f16", "f16")) == "");
  CHECK(matrix_objection(failed, shape("f16", "f32")) ==
        "the canary failed: the driver's products of 16x16x16 f16*f16+f32->f32 subgroup are wrong");
  CHECK(matrix_objection(failed, shape("bf16", "f32")) == "the device lists no 16x16x16 bf16*bf16+f32->f32 subgroup");
  CHECK(print(bad.rows[1]) == "16x16x16 f16*f16+f32->f32 subgroup: failed: D[0][0] is 1, not 2");
  CHECK(print(failed).ends_with(" shapes=2 canary=failed"));
  // And back: whatever the canary found, it is the same device.
  for (const DeviceProfile& found : {before, passed, failed}) CHECK(without_canary(found) == without_canary(before));
  DeviceProfile other = failed;
  other.matrix_shapes.pop_back();
  CHECK(without_canary(other) != without_canary(before));
}

TEST_CASE("a quirk that forbids the matrices is the objection") {
  DeviceProfile profile = device();
  profile.cooperative_matrix = false;
  profile.matrix_shapes.clear();
  profile.sources["cooperative_matrix"] = "quirk: the device is lost (a report)";
  CHECK(matrix_objection(profile, shape("f16", "f32")) == "quirk: the device is lost (a report)");
}

TEST_CASE("the canary's outcome survives JSON") {
  const CanaryResult result{
      {{shape("f16", "f32"), Canary::failed, "D[0][0] is 1, not 2"}, {shape("f16", "f16"), Canary::passed, ""}}, {}};
  CHECK(canary_from_json(to_json(result)) == result);
  CHECK(canary_from_json(to_json(CanaryResult{})) == CanaryResult{});
  const DeviceProfile profile = with_canary(device(), result);
  CHECK(profile_from_json(to_json(profile)) == profile);
  CHECK(to_json(profile).find(R"("canary":"failed","canary_failed":[{)") != std::string::npos);
  CHECK(to_json(device()).find("canary") == std::string::npos);
}

TEST_CASE("canary garbage is refused") {
  CHECK(refusal_of(canary_from_json("")) == "parse: canary: not JSON");
  CHECK(refusal_of(canary_from_json(R"({"rows":[{"verdict":"passed"}]})")).find("shape: not there") !=
        std::string::npos);
  CHECK(refusal_of(canary_from_json(
                       R"({"rows":[{"shape":{"m":1,"n":1,"k":1,"a":"","b":"","c":"","result":""},"verdict":"fine"}]})"))
            .find("verdict: fine (want untested, passed or failed)") != std::string::npos);
  CHECK(refusal_of(canary_from_json(R"({"row":[]})")) == "parse: canary.row: unknown key");
  CHECK(
      refusal_of(profile_from_json(R"({"name":"x","canary":"failed"})")).starts_with("parse: profile.canary: failed"));
  CHECK(refusal_of(profile_from_json(R"({"name":"x","canary":"well"})")).starts_with("parse: profile.canary: well"));
}

TEST_CASE("a kind that failed makes its field false, and one that passed changes nothing") {
  DeviceProfile before = device();
  before.integer_dot_product = true;
  const CanaryResult fine{{}, {{"f16 conversion", Canary::passed, ""}, {"dot products", Canary::untested, "no"}}};
  CHECK(with_canary(before, fine) == before);
  const CanaryResult bad{{},
                         {{"f16 conversion", Canary::failed, "1 gives 0x0000, not 0x3c00"},
                          {"bf16 conversion", Canary::failed, "2"},
                          {"NaN selection", Canary::failed, "3"},
                          {"dot products", Canary::failed, "4"}}};
  const DeviceProfile after = with_canary(before, bad);
  CHECK(after.f16_conversion == false);
  CHECK(after.bf16_conversion == false);
  CHECK(after.nan_selection == false);
  CHECK(after.integer_dot_product == false);
  CHECK(after.sources.at("nan_selection") == "record_canary on this device and driver version: 3");
  CHECK(after.matrix_shapes == before.matrix_shapes);
  CHECK(without_canary(after) == without_canary(before));
  DeviceProfile told = before;
  told.sources["integer_dot_product"] = "driver: shaderIntegerDotProduct";
  CHECK(with_canary(told, bad).sources.at("integer_dot_product") ==
        "record_canary on this device and driver version: 4; true by: driver: shaderIntegerDotProduct");
  CHECK(without_canary(with_canary(told, bad)) == without_canary(told));
  CHECK(with_canary(after, bad) == after);
  CHECK(canary_from_json(to_json(bad)) == bad);
  CHECK(profile_from_json(to_json(after)) == after);
  CHECK(print(bad.kinds[0]) == "f16 conversion: failed: 1 gives 0x0000, not 0x3c00");
  CHECK(refusal_of(canary_from_json(R"({"rows":[],"kinds":[{"verdict":"passed"}]})")).find("kind") !=
        std::string::npos);
}
