// Built-in targets beside what the drivers of their families say: a target promises no more than the driver gives,
// and its matrix shapes are the driver's.
#include "drivers.hpp"

#include <algorithm>
#include <cstdlib>

using namespace sectile;
using namespace sectile::test;

namespace {

struct Beside {
  NoopGpu gpu;
  const char* target;
};

// NVK speaks for no target: theirs are of NVIDIA's own driver.
std::vector<Beside> pairs() {
  return {{radv("vega10"), "amd-gcn5"},        {radv("navi21"), "amd-rdna2"},
          {radv("navi31"), "amd-rdna3"},       {radv("gfx1201"), "amd-rdna4"},
          {anv("mtl", "mtl"), "intel-xe-lpg"}, {anv("dg2-a380", "dg2", "0x56a5"), "intel-xe-hpg"},
          {anv("bmg", "bmg"), "intel-xe2"},    {turnip("a740", "740"), "qualcomm-adreno7"}};
}

// Rows that a kernel of ours can use: A and B of one type, C and the result of one, of one signedness, no clamping.
bool plain(const MatrixShape& shape) {
  if (shape.saturating || shape.a != shape.b || shape.c != shape.result) return false;
  return (shape.a == "u8") == (shape.c == "u32") && (shape.a == "s8") == (shape.c == "s32");
}

bool has(const DeviceProfile& profile, const MatrixShape& shape) {
  return std::ranges::find(profile.matrix_shapes, shape) != profile.matrix_shapes.end();
}

void compare_features(const DeviceProfile& target, const DeviceProfile& live) {
  const auto granted = [&](const char* name, std::optional<bool> DeviceProfile::* field) {
    if ((target.*field) != true) return;
    CHECK_MESSAGE(live.*field == true, name << ": the target has it, the driver does not");
  };
  granted("required_subgroup_size", &DeviceProfile::required_subgroup_size);
  granted("buffer_device_address", &DeviceProfile::buffer_device_address);
  granted("storage8", &DeviceProfile::storage8);
  granted("storage16", &DeviceProfile::storage16);
  granted("workgroup8", &DeviceProfile::workgroup8);
  granted("int8", &DeviceProfile::int8);
  granted("int16", &DeviceProfile::int16);
  granted("int64", &DeviceProfile::int64);
  granted("float16", &DeviceProfile::float16);
  granted("bfloat16", &DeviceProfile::bfloat16);
  granted("integer_dot_product", &DeviceProfile::integer_dot_product);
  granted("cooperative_matrix", &DeviceProfile::cooperative_matrix);
  granted("cooperative_matrix2", &DeviceProfile::cooperative_matrix2);
}

void compare_limits(const DeviceProfile& target, const DeviceProfile& live) {
  const auto within = [](const char* name, const auto& promised, const auto& given) {
    if (!promised) return;
    REQUIRE_MESSAGE(given.has_value(), name);
    CHECK_MESSAGE(*promised <= *given, name << ": " << *promised << ", the driver gives " << *given);
  };
  within("max_workgroup_invocations", target.max_workgroup_invocations, live.max_workgroup_invocations);
  within("workgroup_memory_bytes", target.workgroup_memory_bytes, live.workgroup_memory_bytes);
  within("max_push_bytes", target.max_push_bytes, live.max_push_bytes);
  within("max_subgroup_size", target.max_subgroup_size, live.max_subgroup_size);
  within("least subgroup of the driver", live.min_subgroup_size,
         target.min_subgroup_size ? target.min_subgroup_size : live.min_subgroup_size);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (target.max_grid) CHECK((*target.max_grid)[axis] <= live.max_grid.value()[axis]);
    if (target.max_workgroup_size) CHECK((*target.max_workgroup_size)[axis] <= live.max_workgroup_size.value()[axis]);
  }
}

}  // namespace

TEST_CASE("child: the profile is told") {
  const char* const to = std::getenv("SECTILE_TEST_PROFILE");
  if (to == nullptr) return;  // not the child
  vulkan::RuntimeOptions options;
  options.canary = false;  // nothing runs on a no-op device
  on_every_device(options, [&](vulkan::Runtime& runtime) { write_file(to, to_json(runtime.profile())); });
}

TEST_CASE("targets promise what their drivers give, and have their plain matrix shapes") {
  for (const Beside& pair : pairs()) {
    CAPTURE(pair.gpu.name);
    if (!present(pair.gpu)) continue;
    const std::string file = temporary_folder() + "/" + pair.gpu.name + ".json";
    const Ran ran = run_noop(pair.gpu, {"SECTILE_TEST_PROFILE=" + file}, "child: the profile is told");
    REQUIRE_MESSAGE(ran.code == 0, ran.out << ran.err);
    const DeviceProfile live = must(profile_from_json(read_file(file)));
    const DeviceProfile target = must(builtin_target(pair.target));
    CHECK(target.vendor == live.vendor);
    compare_features(target, live);
    compare_limits(target, live);
    for (const MatrixShape& shape : target.matrix_shapes)
      CHECK_MESSAGE(has(live, shape), print(shape) << ": the driver does not list it");
    for (const MatrixShape& shape : live.matrix_shapes)
      if (plain(shape)) CHECK_MESSAGE(has(target, shape), print(shape) << ": the target does not list it");
  }
}
