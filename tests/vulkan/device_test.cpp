// Adopting a device and preparing plans: what is shared, what is refused, and how pipelines are counted.
#include "helpers.hpp"
#include "support/counted.hpp"
#include "support/small_class.hpp"

#include <sectile/planner.hpp>
#include <sectile/shaders.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>

using namespace sectile;
using namespace sectile::test;

namespace {

// A module that is a header and its capabilities: enough to be judged, never to be handed to a driver.
std::vector<std::uint32_t> module_with(std::initializer_list<std::uint32_t> capabilities) {
  std::vector<std::uint32_t> out = {0x07230203, 0x00010600, 0, 1, 0};
  for (const std::uint32_t capability : capabilities) {
    out.push_back(2u << 16 | 17u);
    out.push_back(capability);
  }
  return out;
}

// The fields of features that a device can be made without, and Vulkan's names of these.
struct Wanted {
  const char* name;
  std::optional<bool> DeviceProfile::* field;
  const char* feature;
};
constexpr Wanted kWanted[] = {
    {"storage8", &DeviceProfile::storage8, "storageBuffer8BitAccess"},
    {"storage16", &DeviceProfile::storage16, "storageBuffer16BitAccess"},
    {"workgroup8", &DeviceProfile::workgroup8, "workgroupMemoryExplicitLayout8BitAccess"},
    {"int8", &DeviceProfile::int8, "shaderInt8"},
    {"int16", &DeviceProfile::int16, "shaderInt16"},
    {"int64", &DeviceProfile::int64, "shaderInt64"},
    {"float16", &DeviceProfile::float16, "shaderFloat16"},
    {"bfloat16", &DeviceProfile::bfloat16, "shaderBFloat16Type"},
    {"integer_dot_product", &DeviceProfile::integer_dot_product, "shaderIntegerDotProduct"},
    {"cooperative_matrix", &DeviceProfile::cooperative_matrix, "cooperativeMatrix"},
    {"cooperative_matrix2", &DeviceProfile::cooperative_matrix2, "cooperativeMatrixFlexibleDimensions"},
    {"cooperative_matrix_workgroup_scope", &DeviceProfile::cooperative_matrix_workgroup_scope,
     "cooperativeMatrixWorkgroupScope"},
    {"cooperative_matrix_tensor_addressing", &DeviceProfile::cooperative_matrix_tensor_addressing,
     "cooperativeMatrixTensorAddressing"},
};

}  // namespace

TEST_CASE("two devices live side by side") {
  const auto found = selectors();
  if (found.empty()) return;
  // With one device here, it is adopted twice: two VkDevices all the same.
  auto first = open(found.front());
  auto second = open(found.back());
  const auto src = pattern(100000);
  const Pair a = make_pair(first, src), b = make_pair(second, src);
  const auto plan = copy_plan(src.size());
  const auto on_first = must(first.device().prepare(plan));
  const auto on_second = must(second.device().prepare(plan));
  const auto operands_a = a.operands(), operands_b = b.operands();
  must(first.submit_and_wait([&](VkCommandBuffer one) {
    return second.submit_and_wait([&](VkCommandBuffer other) -> Result<void> {
      must(vulkan::record(one, on_first, operands_a));
      must(vulkan::record(other, on_second, operands_b));
      return {};
    });
  }));
  CHECK(same(read_back(first, a.dst), src));
  CHECK(same(read_back(second, b.dst), src));
  CHECK(first.validation_messages().empty());
  CHECK(second.validation_messages().empty());
}

TEST_CASE("a device has the class that it was adopted with, and runs the plans of any") {
  on_every_device([](vulkan::Runtime& runtime) {
    const Problem problem = must(parse_problem("permute f32 64x32 axes=1,0"));
    const Plan before = must(make_plan(problem, runtime.profile()));
    vulkan::Adoption adoption = adoption_of(runtime);
    CHECK(must(vulkan::Device::adopt(adoption)).class_warnings().empty());
    const auto mine = must(device_class_from_json(small_class_text(runtime.profile(), "another driver")));
    adoption.device_class = mine;
    auto device = must(vulkan::Device::adopt(adoption));
    CHECK(device.profile().device_class == mine);
    REQUIRE(device.class_warnings().size() == 1);
    CHECK(device.class_warnings()[0].contains("mine: measured with driver another driver"));
    const Plan after = must(make_plan(problem, device.profile()));
    CHECK(after.id != before.id);
    must(device.prepare(before));
    must(runtime.device().prepare(after));
    adoption.device_class = must(device_class_from_json(class_text_of_others(runtime.profile())));
    const auto refused = vulkan::Device::adopt(adoption);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == ErrorKind::unsupported);
    CHECK(refused.error().what.contains("device class mine on " + runtime.profile().name));
  });
}

TEST_CASE("a runtime has the class that it was opened with, also after the canary") {
  for (const std::string& selector : selectors()) {
    const auto mine = must(device_class_from_json(small_class_text(must(vulkan::device_profile(selector)))));
    auto runtime = open(selector, {.device_class = mine});
    CHECK(runtime.profile().device_class == mine);
    CHECK(runtime.device().profile().device_class == mine);
    CHECK(device_class_of(runtime.profile()) == mine.get());
    CHECK(runtime.device().class_warnings().empty());
    const Plan plan = must(make_plan(must(parse_problem("permute f32 64x32 axes=1,0")), runtime.profile()));
    CHECK(plan.device_class == "mine " + class_id(*mine));
    must(runtime.device().prepare(plan));
  }
}

TEST_CASE("prepare shares pipelines between plans and does not confuse them") {
  on_every_device([](vulkan::Runtime& runtime) {
    auto& device = runtime.device();
    CHECK(device.pipeline_count() == 0);
    CHECK_FALSE(device.pipeline_counts().last_hit_cache.has_value());
    const auto one = must(device.prepare(copy_plan(4096)));
    CHECK(one.info().pipelines_created == 1);
    CHECK(one.info().nanoseconds > 0);
    const auto same = must(device.prepare(copy_plan(1 << 20)));
    CHECK(same.info().pipelines_created == 0);
    CHECK(same.info().pipelines_shared == 1);
    const auto both_steps = must(device.prepare(two_step_plan(4096)));
    CHECK(both_steps.info().pipelines_shared == 2);
    CHECK(device.pipeline_count() == 1);
    const auto other = must(device.prepare(copy_plan(4096, 2)));
    CHECK(other.info().pipelines_created == 1);
    CHECK(device.pipeline_count() == 2);
    CHECK(device.pipeline_counts().created == 2);
    CHECK(one.plan_id() == "copy4096");
    CHECK(one.operands().size() == 2);
    CHECK(one.operands()[1].name == "dst");
  });
}

TEST_CASE("a prepare whose pipelines exist opens no module") {
  on_every_device([](vulkan::Runtime& runtime) {
    const auto plan = copy_plan(4096);
    const KernelName& kernel = plan.steps.at(0).kernel;
    const EmbeddedModule* embedded = find_module(kernel.stem, kernel.variant);
    REQUIRE(embedded != nullptr);
    const auto words = must(embedded->words());
    const vulkan::Module given[] = {{kernel.stem, kernel.variant, words}};
    const auto allocations_of_second = [&](std::span<const vulkan::Module> modules) {
      auto adoption = adoption_of(runtime);
      adoption.modules = modules;
      auto device = must(vulkan::Device::adopt(adoption));
      const auto first = must(device.prepare(plan));
      const Counted counted;
      const auto second = device.prepare(plan);
      const std::size_t allocations = counted.allocations();
      CHECK(must(second).info().pipelines_shared == 1);
      return allocations;
    };
    // The application's words are used where they are, an opened module's are an allocation.
    CHECK(allocations_of_second({}) == allocations_of_second(given));
  });
}

TEST_CASE("trim destroys what no executable uses") {
  on_every_device([](vulkan::Runtime& runtime) {
    auto& device = runtime.device();
    auto kept = must(device.prepare(copy_plan(4096, 1)));
    const auto copy = kept;
    kept = vulkan::Executable();
    must(device.prepare(copy_plan(4096, 2)));
    CHECK(device.pipeline_count() == 2);
    CHECK(device.trim() == 1);
    CHECK(device.pipeline_count() == 1);
    CHECK(device.trim() == 0);
    const auto src = pattern(4096);
    const Pair pair = make_pair(runtime, src);
    const auto operands = pair.operands();
    must(runtime.submit_and_wait([&](VkCommandBuffer commands) { return vulkan::record(commands, copy, operands); }));
    CHECK(same(read_back(runtime, pair.dst), src));
    must(device.prepare(copy_plan(4096, 2)));
    CHECK(device.pipeline_counts().created == 3);
  });
}

TEST_CASE("four threads that prepare the same plans make one pipeline a key") {
  on_every_device([](vulkan::Runtime& runtime) {
    auto& device = runtime.device();
    constexpr std::uint32_t kKeys = 6, kThreads = 4;
    std::vector<std::string> errors(kThreads);
    {
      std::vector<std::jthread> threads;
      threads.reserve(kThreads);
      for (std::uint32_t t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
          for (std::uint32_t i = 0; i < 3 * kKeys; ++i)
            if (auto made = device.prepare(copy_plan(4096 + 16 * i, 1 + (i + t) % kKeys)); !made)
              errors[t] = made.error().message();
        });
    }
    for (const std::string& error : errors) CHECK(error == "");
    CHECK(device.pipeline_count() == kKeys);
    CHECK(device.pipeline_counts().created == kKeys);
  });
}

TEST_CASE("many plans are prepared in parallel, in order, and the first error is the one reported") {
  on_every_device([](vulkan::Runtime& runtime) {
    auto& device = runtime.device();
    std::vector<Plan> plans;
    plans.reserve(12);
    for (std::uint32_t i = 0; i < 12; ++i) plans.push_back(copy_plan(4096 + 4 * i, 1 + i % 4));
    for (const unsigned threads : {1u, 4u, 0u}) {
      const auto made = must(device.prepare(plans, threads));
      REQUIRE(made.size() == plans.size());
      for (std::size_t i = 0; i < plans.size(); ++i) CHECK(made[i].plan_id() == plans[i].id);
    }
    CHECK(device.pipeline_count() == 4);
    CHECK(must(device.prepare(std::span<const Plan>())).empty());
    plans[7] = bare_plan("no_such", "e4");
    plans[9] = bare_plan("nor_this", "e4");
    const auto failed = device.prepare(plans, 4);
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().value == "no_such.e4");
  });
}

TEST_CASE("prepare refuses an unknown kernel and lists what there is") {
  on_every_device([](vulkan::Runtime& runtime) {
    auto made = runtime.device().prepare(bare_plan("no_such", "e4"));
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().kind == ErrorKind::missing);
    CHECK(made.error().limit.find("permute_copy") != std::string::npos);
    made = runtime.device().prepare(bare_plan("permute_copy", "e3"));
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().limit.find("e4") != std::string::npos);
  });
}

TEST_CASE("prepare refuses a plan over a limit before a driver sees it") {
  on_every_device([](vulkan::Runtime& runtime) {
    Plan plan = copy_plan(4096);
    plan.steps[0].workgroup_memory_bytes = *runtime.profile().workgroup_memory_bytes + 1;
    auto made = runtime.device().prepare(plan);
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().kind == ErrorKind::limit_exceeded);
    plan = copy_plan(4096);
    plan.steps[0].push.resize(*runtime.profile().max_push_bytes + 4);
    made = runtime.device().prepare(plan);
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().what == "push bytes");
    plan = two_step_plan(4096);
    plan.steps[1].barrier_before = false;
    made = runtime.device().prepare(plan);
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().kind == ErrorKind::invalid_plan);
    CHECK(runtime.device().pipeline_count() == 0);
  });
}

TEST_CASE("prepare refuses a plan for another profile unless the caller means it") {
  on_every_device([](vulkan::Runtime& runtime) {
    vulkan::Device& device = runtime.device();
    DeviceProfile profile = device.profile();
    Plan plan = copy_plan(4096);
    plan.profile_name = profile.name;
    plan.profile_hash = profile_hash_of(profile);
    must(device.prepare(plan));
    // The canary's outcome makes no other device.
    profile.matrix_shapes = {{16, 16, 16, "f16", "f16", "f32", "f32"}};
    const DeviceProfile tested = with_canary(profile, {{{profile.matrix_shapes[0], Canary::failed, ""}}});
    CHECK(profile_hash_of(tested).substr(0, kDeviceDigits) == profile_hash_of(profile).substr(0, kDeviceDigits));
    must(device.prepare(must(make_plan(must(parse_problem("permute f32 64x64 axes=1,0")), runtime.profile()))));
    profile = device.profile();
    profile.multiprocessors = 1234;
    plan.profile_hash = profile_hash_of(profile);
    const auto refused = device.prepare(plan);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == ErrorKind::invalid_plan);
    CHECK(refused.error().what == "profile that the plan was made for");
    CHECK(refused.error().value.find(plan.profile_hash) != std::string::npos);
    CHECK(refused.error().limit.ends_with("or PrepareOptions::any_profile"));
    CHECK_FALSE(device.prepare(std::span(&plan, 1)).has_value());
    must(device.prepare(plan, {.any_profile = true}));
    CHECK(must(device.prepare(std::span(&plan, 1), 1, {.any_profile = true})).size() == 1);
  });
}

TEST_CASE("prepare refuses modules that are none, or need what the device was not made with") {
  const auto float64 = module_with({1, 10, 5347});
  const auto unknown = module_with({1, 4000000});
  const auto fine = module_with({1, 5347});
  const std::vector<std::uint32_t> garbage = {1, 2, 3, 4, 5, 6};
  const std::vector<std::uint32_t> bare = module_with({});
  const std::array<vulkan::Module, 5> modules = {{{"test", "float64", float64},
                                                  {"test", "unknown", unknown},
                                                  {"test", "garbage", garbage},
                                                  {"test", "bare", bare},
                                                  {"test", "fine", fine}}};
  vulkan::RuntimeOptions options;
  options.modules = modules;
  on_every_device(options, [](vulkan::Runtime& runtime) {
    const auto refusal = [&](const char* variant) {
      const auto made = runtime.device().prepare(bare_plan("test", variant));
      REQUIRE_FALSE(made.has_value());
      return made.error();
    };
    CHECK(refusal("float64").kind == ErrorKind::unsupported);
    CHECK(refusal("float64").value == "Float64");
    CHECK(refusal("unknown").value == "capability 4000000");
    CHECK(refusal("garbage").kind == ErrorKind::parse);
    CHECK(refusal("bare").kind == ErrorKind::parse);
  });
}

TEST_CASE("a device made without 8- and 16-bit features refuses the kernels that need them") {
  vulkan::RuntimeOptions options;
  options.only_required_features = true;
  on_every_device(options, [](vulkan::Runtime& runtime) {
    CHECK(runtime.profile().int16 == false);
    CHECK(runtime.profile().storage16 == false);
    CHECK(runtime.profile().cooperative_matrix == false);
    CHECK(runtime.profile().matrix_shapes.empty());
    CHECK(runtime.profile().required_subgroup_size == false);
    // What the driver offers is told from what it lacks.
    const DeviceProfile offered = must(vulkan::device_profile("vulkan:" + std::to_string(runtime.entry().index)));
    std::size_t left_out = 0;
    for (const Wanted& wanted : kWanted) {
      CAPTURE(std::string(wanted.name));
      CHECK(runtime.profile().*wanted.field == false);
      // A quirk takes away what the driver offers.
      const bool there = offered.*wanted.field == true || offered.sources.at(wanted.name).starts_with("quirk: ");
      const std::string why = std::string(kNotEnabled) + wanted.feature;
      CHECK((runtime.profile().sources.at(wanted.name) == why) == there);
      left_out += there;
    }
    CHECK(left_out > 0);  // Vulkan 1.3 requires shaderIntegerDotProduct
    Plan plan = copy_plan(4096);
    plan.steps[0].kernel.variant = "e2";
    const auto made = runtime.device().prepare(plan);
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().kind == ErrorKind::unsupported);
    CHECK(made.error().what == "permute_copy.e2");
    const std::string& capability = made.error().value;
    CHECK_MESSAGE((capability == "Int16" || capability == "StorageBuffer16BitAccess"), capability);
    // Words of 32 bits need no feature.
    const auto src = pattern(4096);
    const Pair pair = make_pair(runtime, src);
    const auto executable = must(runtime.device().prepare(copy_plan(4096)));
    const auto operands = pair.operands();
    must(runtime.submit_and_wait(
        [&](VkCommandBuffer commands) { return vulkan::record(commands, executable, operands); }));
    CHECK(same(read_back(runtime, pair.dst), src));
  });
}

TEST_CASE("a kernel of the app's own goes before the embedded one") {
  const auto own = module_with({1, 10});
  const std::array<vulkan::Module, 1> modules = {{{"permute_copy", "e4", own}}};
  vulkan::RuntimeOptions options;
  options.modules = modules;
  on_every_device(options, [](vulkan::Runtime& runtime) {
    const auto made = runtime.device().prepare(copy_plan(4096));
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().value == "Float64");
  });
}

TEST_CASE("a stated subgroup size reaches the driver where the device has several") {
  on_every_device([](vulkan::Runtime& runtime) {
    const DeviceProfile& profile = runtime.profile();
    if (!profile.max_subgroup_size) return;
    const auto src = pattern(4096);
    const Pair pair = make_pair(runtime, src);
    const auto operands = pair.operands();
    Plan plan = copy_plan(4096);
    plan.steps[0].required_subgroup_size = *profile.max_subgroup_size;
    const auto executable = must(runtime.device().prepare(plan));
    must(runtime.submit_and_wait(
        [&](VkCommandBuffer commands) { return vulkan::record(commands, executable, operands); }));
    CHECK(same(read_back(runtime, pair.dst), src));
    must(runtime.device().prepare(copy_plan(4096)));
    // Where it cannot be stated there is but one size, and one pipeline serves both.
    CHECK(runtime.device().pipeline_count() == (*profile.required_subgroup_size ? 2u : 1u));
    plan.steps[0].required_subgroup_size = 2 * *profile.max_subgroup_size;
    CHECK_FALSE(runtime.device().prepare(plan).has_value());
  });
}

TEST_CASE("adopt refuses what it cannot work with") {
  on_every_device([](vulkan::Runtime& runtime) {
    const auto refusal = [](const vulkan::Adoption& adoption) {
      const auto adopted = vulkan::Device::adopt(adoption);
      REQUIRE_FALSE(adopted.has_value());
      return adopted.error();
    };
    const vulkan::Adoption good = adoption_of(runtime);
    REQUIRE(vulkan::Device::adopt(good).has_value());
    CHECK(refusal({}).what == "vkGetInstanceProcAddr");
    vulkan::Adoption bad = good;
    bad.instance = VK_NULL_HANDLE;
    CHECK(refusal(bad).what == "VkInstance");
    bad = good;
    bad.physical_device = VK_NULL_HANDLE;
    CHECK(refusal(bad).what == "VkPhysicalDevice");
    bad = good;
    bad.device = VK_NULL_HANDLE;
    CHECK(refusal(bad).what == "VkDevice");
    bad = good;
    bad.queue_family = 1000;
    CHECK(refusal(bad).what == "queue family");

    VkPhysicalDeviceMaintenance4Features maintenance4{};
    maintenance4.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES;
    VkPhysicalDeviceBufferDeviceAddressFeatures address{};
    address.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES;
    address.pNext = &maintenance4;
    address.bufferDeviceAddress = VK_TRUE;
    VkPhysicalDeviceFeatures2 chain{};
    chain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    chain.pNext = &address;
    bad = good;
    bad.everything_wanted = false;
    CHECK(refusal(bad).message() ==
          "missing: Adoption::enabled_features: null (want what VkDeviceCreateInfo enabled, or everything_wanted)");
    bad.enabled_features = &chain;
    CHECK(refusal(bad).kind == ErrorKind::unsupported);
    CHECK(refusal(bad).what == runtime.entry().name + ": maintenance4");
    maintenance4.maintenance4 = VK_TRUE;
    const auto least = must(vulkan::Device::adopt(bad));
    CHECK(least.profile().storage8 == false);
    CHECK(least.profile().buffer_device_address == true);
  });
}

TEST_CASE("statistics say why there are none") {
  on_every_device([](vulkan::Runtime& runtime) {
    const auto executable = must(runtime.device().prepare(copy_plan(4096)));
    const auto statistics = runtime.device().statistics(executable);
    REQUIRE_FALSE(statistics.has_value());
    CHECK(statistics.error().kind == ErrorKind::unsupported);
  });
}

TEST_CASE("statistics come where the driver has them") {
  vulkan::RuntimeOptions options;
  options.executable_statistics = true;
  on_every_device(options, [](vulkan::Runtime& runtime) {
    const auto executable = must(runtime.device().prepare(two_step_plan(4096)));
    const auto statistics = runtime.device().statistics(executable);
    if (!statistics) {
      CHECK(statistics.error().kind == ErrorKind::unsupported);
      return;
    }
    REQUIRE(statistics->size() >= 2);
    CHECK(statistics->front().kernel.stem == "permute_copy");
    for (const auto& step : *statistics)
      for (const auto& statistic : step.statistics) CHECK_FALSE(statistic.name.empty());
  });
}
