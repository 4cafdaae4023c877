// What an app is asked to enable, in whichever structs it spells its features; and what modules need.
#include "helpers.hpp"

#include "module/capabilities.hpp"
#include "vulkan/capabilities.hpp"
#include "vulkan/snapshot.hpp"

#include <sectile/shaders.hpp>

#include <set>

using namespace sectile;
using namespace sectile::test;

namespace {

// The entry points that the app in these tests would load by itself.
struct App {
  PFN_vkCreateDevice create_device;
  PFN_vkGetDeviceProcAddr get_device_proc_addr;

  explicit App(const vulkan::Runtime& runtime)
      : create_device(load<PFN_vkCreateDevice>(runtime, "vkCreateDevice")),
        get_device_proc_addr(load<PFN_vkGetDeviceProcAddr>(runtime, "vkGetDeviceProcAddr")) {}

  // Makes a device with the chain, as an app would, and destroys it again.
  VkResult try_device(const vulkan::Runtime& runtime, const VkPhysicalDeviceFeatures2& chain,
                      std::span<const char* const> extensions) const {
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = runtime.queue_family();
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &chain;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    VkDevice device = VK_NULL_HANDLE;
    const VkResult result = create_device(runtime.physical_device(), &info, nullptr, &device);
    if (result == VK_SUCCESS)
      reinterpret_cast<PFN_vkDestroyDevice>(get_device_proc_addr(device, "vkDestroyDevice"))(device, nullptr);
    return result;
  }

 private:
  template <class F>
  static F load(const vulkan::Runtime& runtime, const char* name) {
    return reinterpret_cast<F>(runtime.get_instance_proc_addr()(runtime.instance(), name));
  }
};

vulkan::WantedFeatures wanted(const vulkan::Runtime& runtime, const vulkan::WantOptions& options = {}) {
  return must(vulkan::wanted_features(runtime.get_instance_proc_addr(), runtime.instance(), runtime.physical_device(),
                                      options));
}

// The struct types of a chain; a type that stands there twice is an error of Vulkan's rules.
std::multiset<VkStructureType> types(const VkPhysicalDeviceFeatures2& chain) {
  std::multiset<VkStructureType> out;
  for (auto* link = reinterpret_cast<const VkBaseInStructure*>(&chain); link != nullptr; link = link->pNext)
    out.insert(link->sType);
  return out;
}

void each_once(const VkPhysicalDeviceFeatures2& chain) {
  for (const VkStructureType type : types(chain)) CHECK(types(chain).count(type) == 1);
}

vulkan::Offer offer_of_everything() {
  vulkan::Offer all;
  all.properties.apiVersion = VK_API_VERSION_1_3;
  all.compute_queue = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(vulkan::Feature::count); ++i)
    all.features.set(static_cast<vulkan::Feature>(i));
  return all;
}

}  // namespace

TEST_CASE("a device can be made with the whole wanted chain") {
  on_every_device([](vulkan::Runtime& runtime) {
    const App app(runtime);
    for (const bool statistics : {false, true}) {
      auto wants = wanted(runtime, {.executable_statistics = statistics, .only_required = false});
      const auto moved = std::move(wants);
      each_once(*moved.chain());
      CHECK(app.try_device(runtime, *moved.chain(), moved.extensions()) == VK_SUCCESS);
    }
    const auto least = wanted(runtime, {.executable_statistics = false, .only_required = true});
    CHECK(least.extensions().empty());
    CHECK(app.try_device(runtime, *least.chain(), least.extensions()) == VK_SUCCESS);
  });
}

TEST_CASE("a feature is asked for only together with all that it depends on") {
  using vulkan::Feature;
  const std::vector<vulkan::FeatureUse> uses = {vulkan::FeatureUse::required, vulkan::FeatureUse::wanted,
                                                vulkan::FeatureUse::runtime};
  const vulkan::Offer all = offer_of_everything();
  for (const vulkan::FeatureNeed& need : vulkan::feature_needs()) {
    CAPTURE(vulkan::vulkan_name(need.feature));
    CAPTURE(vulkan::vulkan_name(need.needs));
    CHECK(vulkan::choose(all, uses).has(need.feature));
    vulkan::Offer offer = all;
    offer.features.set(need.needs, false);
    CHECK_FALSE(vulkan::choose(offer, uses).has(need.feature));
  }
  // What lavapipe offers at 128 bits: the second extension, and not the first one.
  vulkan::Offer offer = all;
  offer.features.set(Feature::cooperative_matrix, false);
  const auto extensions = vulkan::extensions_for(vulkan::choose(offer, uses));
  const std::set<std::string> names(extensions.begin(), extensions.end());
  CHECK(names.count(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME) == 0);
  CHECK(names.count(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME) == 0);
  CHECK(names.count(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME) == 1);
  // And what depends on it by way of another.
  offer = all;
  offer.features.set(Feature::memory_model, false);
  CHECK_FALSE(vulkan::choose(offer, uses).has(Feature::cooperative_matrix_flexible));
  CHECK_FALSE(vulkan::choose(offer, uses).has(Feature::bfloat16_cooperative_matrix));
  CHECK(vulkan::choose(offer, uses).has(Feature::bfloat16));
}

TEST_CASE("a device that lacks what is required is refused by name") {
  using vulkan::Feature;
  const vulkan::Offer all = offer_of_everything();
  CHECK(vulkan::check_usable(all).has_value());
  const auto refusal = [](const vulkan::Offer& offer) {
    const auto usable = vulkan::check_usable(offer);
    REQUIRE_FALSE(usable.has_value());
    CHECK(usable.error().kind == ErrorKind::unsupported);
    return usable.error().what;
  };
  vulkan::Offer offer = all;
  offer.properties.apiVersion = VK_API_VERSION_1_2;
  CHECK(refusal(offer).ends_with(": Vulkan version"));
  offer = all;
  offer.compute_queue = false;
  CHECK(refusal(offer).ends_with(": compute queue"));
  int required = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Feature::count); ++i) {
    const auto feature = static_cast<Feature>(i);
    if (vulkan::use_of(feature) != vulkan::FeatureUse::required) continue;
    offer = all;
    offer.features.set(feature, false);
    CHECK(refusal(offer).ends_with(": " + std::string(vulkan::vulkan_name(feature))));
    ++required;
  }
  CHECK(required > 0);
}

TEST_CASE("features go into an app's chain of aggregates") {
  on_every_device([](vulkan::Runtime& runtime) {
    VkPhysicalDeviceVulkan13Features v13{};
    v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    v13.synchronization2 = VK_TRUE;
    VkPhysicalDeviceVulkan12Features v12{};
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    v12.pNext = &v13;
    v12.timelineSemaphore = VK_TRUE;
    VkPhysicalDeviceFeatures2 chain{};
    chain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    chain.pNext = &v12;
    auto wants = wanted(runtime);
    wants.enable_in(chain);
    each_once(chain);
    CHECK(v12.bufferDeviceAddress == VK_TRUE);
    CHECK(v13.maintenance4 == VK_TRUE);
    CHECK(v12.timelineSemaphore == VK_TRUE);  // the app's own stay
    CHECK(v13.synchronization2 == VK_TRUE);
    CHECK(types(chain).count(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES) == 0);
    CHECK(App(runtime).try_device(runtime, chain, wants.extensions()) == VK_SUCCESS);

    // And back: the adopted device reads them from where the app has them.
    vulkan::Adoption adoption = adoption_of(runtime);
    adoption.everything_wanted = false;
    adoption.enabled_features = &chain;
    adoption.enabled_extensions = wants.extensions();
    CHECK(must(vulkan::Device::adopt(adoption)).profile() == runtime.device().profile());
    // A feature whose extension was not enabled does not count.
    adoption.enabled_extensions = {};
    CHECK(must(vulkan::Device::adopt(adoption)).profile().cooperative_matrix == false);
  });
}

TEST_CASE("features go into an app's chain of single structs, and no aggregate joins them") {
  on_every_device([](vulkan::Runtime& runtime) {
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline{};
    timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    timeline.timelineSemaphore = VK_TRUE;
    VkPhysicalDeviceBufferDeviceAddressFeatures address{};
    address.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES;
    address.pNext = &timeline;
    VkPhysicalDeviceFeatures2 chain{};
    chain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    chain.pNext = &address;
    auto wants = wanted(runtime);
    wants.enable_in(chain);
    each_once(chain);
    CHECK(address.bufferDeviceAddress == VK_TRUE);
    const auto there = types(chain);
    CHECK(there.count(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES) == 0);
    CHECK(there.count(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES) == 1);
    CHECK(App(runtime).try_device(runtime, chain, wants.extensions()) == VK_SUCCESS);
  });
}

TEST_CASE("every embedded kernel's capabilities are known by name") {
  for (const EmbeddedModule& module : embedded_modules()) {
    CAPTURE(module.stem);
    CAPTURE(module.variant);
    const auto names = must(vulkan::module_capabilities(must(module.words())));
    CHECK_FALSE(names.empty());
    for (const std::string& name : names) CHECK_MESSAGE(name.find("capability") == std::string::npos, name);
  }
}

// What glslang 16.6 declares for GL_KHR_cooperative_matrix, GL_NV_cooperative_matrix2 (reductions, conversions,
// per-element operations, tensor addressing, decode functions), GL_KHR_memory_scope_semantics, GL_EXT_bfloat16,
// GL_EXT_integer_dot_product and 8- and 16-bit storage: each has a feature that is asked for.
TEST_CASE("matrix kernels' capabilities have features that are wanted") {
  for (const std::uint32_t capability :
       {9u,    11u,   22u,   39u,   4433u, 4448u, 4428u, 4429u, 4430u, 5116u, 5117u, 5118u, 5345u,
        5346u, 5347u, 5430u, 5431u, 5432u, 5433u, 5434u, 5439u, 6016u, 6017u, 6018u, 6019u, 6022u}) {
    const module::Capability* row = module::find_capability(capability);
    CAPTURE(capability);
    REQUIRE(row != nullptr);
    CHECK(row->grant == module::Grant::feature);
    vulkan::FeatureSet features;
    CHECK_FALSE(vulkan::capability_allowed(capability, features, 0));
    bool wanted = false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(vulkan::Feature::count); ++i) {
      const auto feature = static_cast<vulkan::Feature>(i);
      if (vulkan::vulkan_name(feature) != row->feature) continue;
      wanted = vulkan::use_of(feature) != vulkan::FeatureUse::runtime;
      CHECK(vulkan::extension_of(feature) == row->extension);
      features.set(feature);
    }
    CHECK(wanted);
    CHECK(vulkan::capability_allowed(capability, features, 0));
  }
}

TEST_CASE("matrix rows of types that the device was not made with are left out") {
  vulkan::Snapshot snapshot;
  snapshot.offer.properties.apiVersion = VK_API_VERSION_1_3;
  const auto row = [&](VkComponentTypeKHR in, VkComponentTypeKHR out) {
    VkCooperativeMatrixPropertiesKHR shape{};
    shape.MSize = shape.NSize = shape.KSize = 16;
    shape.AType = shape.BType = in;
    shape.CType = shape.ResultType = out;
    shape.scope = VK_SCOPE_SUBGROUP_KHR;
    snapshot.matrices.push_back(shape);
  };
  row(VK_COMPONENT_TYPE_FLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT32_KHR);
  row(VK_COMPONENT_TYPE_BFLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT32_KHR);
  row(VK_COMPONENT_TYPE_SINT8_KHR, VK_COMPONENT_TYPE_SINT32_KHR);
  vulkan::FeatureSet features;
  const auto listed = [&] {
    std::string types;
    for (const MatrixShape& shape : vulkan::make_profile(snapshot, features).matrix_shapes) types += shape.a + " ";
    return types;
  };
  features.set(vulkan::Feature::cooperative_matrix);
  CHECK(listed() == "");
  features.set(vulkan::Feature::shader_float16);
  CHECK(listed() == "f16 ");
  features.set(vulkan::Feature::bfloat16);
  CHECK(listed() == "f16 ");
  features.set(vulkan::Feature::bfloat16_cooperative_matrix);
  features.set(vulkan::Feature::shader_int8);
  CHECK(listed() == "f16 bf16 s8 ");
}

TEST_CASE("capabilities of what is no module are refused") {
  const std::vector<std::uint32_t> words = {0x07230203, 0x00010600, 0, 1, 0, 2u << 16 | 17u};
  for (std::size_t count = 0; count <= words.size(); ++count)
    CHECK_FALSE(vulkan::module_capabilities(std::span(words).first(count)).has_value());
}

TEST_CASE("a live profile survives its own JSON") {
  on_every_device([](vulkan::Runtime& runtime) {
    const DeviceProfile& profile = runtime.profile();
    CHECK(must(profile_from_json(to_json(profile))) == profile);
    CHECK(profile.uuid.size() == 32);
    CHECK(profile.uuid == runtime.entry().uuid);
    CHECK(profile.api_version >= 1003);
    CHECK(profile.max_push_bytes >= 128u);
    CHECK(profile.sources.count("subgroup_size") == 1);
    CHECK(profile.transaction_bytes.has_value() == (profile.vendor == "nvidia"));
    if (profile.kind == DeviceKind::cpu) CHECK_FALSE(profile.banks.has_value());
    const auto offered =
        must(vulkan::profile(runtime.get_instance_proc_addr(), runtime.instance(), runtime.physical_device()));
    CHECK(offered == runtime.device().profile());  // made with all that is wanted
  });
}

TEST_CASE("live profiles agree with the built-in targets of the same drivers") {
  for (const std::string_view name : {"lavapipe", "swiftshader"}) {
    CAPTURE(name);
    const auto live = vulkan::device_profile(name);
    if (!live) {
      CHECK(live.error().kind == ErrorKind::missing);
      continue;
    }
    const auto target = builtin_target(name);
    if (!target) continue;  // other tests say so
    CHECK(live->int16 == target->int16);
    CHECK(live->int8 == target->int8);
    CHECK(live->storage16 == target->storage16);
    CHECK(live->storage8 == target->storage8);
    CHECK(live->workgroup8 == target->workgroup8);
    CHECK(live->workgroup_memory_bytes == target->workgroup_memory_bytes);
    CHECK(live->max_workgroup_invocations == target->max_workgroup_invocations);
    CHECK(live->max_grid == target->max_grid);
    CHECK(live->cooperative_matrix == target->cooperative_matrix);
    CHECK(live->matrix_shapes.empty() == target->matrix_shapes.empty());
  }
}
