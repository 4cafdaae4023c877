// What a device is said to lose by each feature that it was made without, and whether that is true.
#include "helpers.hpp"

#include "vulkan/capabilities.hpp"
#include "vulkan/snapshot.hpp"

#include <sectile/planner.hpp>
#include <sectile/shaders.hpp>

#include <algorithm>
#include <cstring>
#include <set>

using namespace sectile;
using namespace sectile::test;
using vulkan::Feature;

namespace {

// A device that offers all that Sectile knows: Hopper's limits and matrices. `sizes`: of its subgroups.
vulkan::Snapshot rich_device(std::uint32_t least, std::uint32_t most) {
  vulkan::Snapshot out;
  VkPhysicalDeviceProperties& p = out.offer.properties;
  p.apiVersion = VK_API_VERSION_1_4;
  p.vendorID = 0x10de;
  p.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  std::strcpy(p.deviceName, "all features");
  p.limits.maxComputeWorkGroupInvocations = 1024;
  p.limits.maxComputeWorkGroupSize[0] = p.limits.maxComputeWorkGroupSize[1] = 1024;
  p.limits.maxComputeWorkGroupSize[2] = 64;
  p.limits.maxComputeWorkGroupCount[0] = 0x7fffffff;
  p.limits.maxComputeWorkGroupCount[1] = p.limits.maxComputeWorkGroupCount[2] = 65535;
  p.limits.maxComputeSharedMemorySize = 49152;
  p.limits.maxPushConstantsSize = 256;
  p.limits.maxStorageBufferRange = 0xffffffff;
  out.offer.compute_queue = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Feature::count); ++i)
    out.offer.features.set(static_cast<Feature>(i));
  out.v11.subgroupSize = 32;
  out.v11.subgroupSupportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
  out.v11.subgroupSupportedOperations = 0xff;
  out.v11.maxMemoryAllocationSize = ~std::uint64_t{0};
  out.v13.maxBufferSize = ~std::uint64_t{0};
  out.v13.minSubgroupSize = least;
  out.v13.maxSubgroupSize = most;
  out.v13.requiredSubgroupSizeStages = VK_SHADER_STAGE_COMPUTE_BIT;
  out.v13.maxComputeWorkgroupSubgroups = 32;
  const auto row = [&](VkComponentTypeKHR in, VkComponentTypeKHR sum, std::uint32_t k) {
    VkCooperativeMatrixPropertiesKHR shape{};
    shape.MSize = shape.NSize = 16;
    shape.KSize = k;
    shape.AType = shape.BType = in;
    shape.CType = shape.ResultType = sum;
    shape.scope = VK_SCOPE_SUBGROUP_KHR;
    out.matrices.push_back(shape);
    VkCooperativeMatrixFlexibleDimensionsPropertiesNV flexible{};
    flexible.MGranularity = flexible.NGranularity = 32;
    flexible.KGranularity = k;
    flexible.AType = flexible.BType = in;
    flexible.CType = flexible.ResultType = sum;
    flexible.scope = VK_SCOPE_WORKGROUP_KHR;
    for (const std::uint32_t invocations : {128u, 256u}) {
      flexible.workgroupInvocations = invocations;
      out.flexible_matrices.push_back(flexible);
    }
  };
  row(VK_COMPONENT_TYPE_FLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT32_KHR, 16);
  row(VK_COMPONENT_TYPE_BFLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT32_KHR, 16);
  row(VK_COMPONENT_TYPE_SINT8_KHR, VK_COMPONENT_TYPE_SINT32_KHR, 32);
  out.matrix2.cooperativeMatrixFlexibleDimensionsMaxDimension = 1024;
  out.matrix2.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize = 1024;
  return out;
}

constexpr const char* kProblems[] = {
    "matmul f16 nn 4096x4096x4096",
    "matmul bf16 nn 4096x4096x4096",
    "matmul i8 nn 4096x4096x4096",
    "matmul f16 nt 1000x1000x1000 epi=bias+gelu",
    "matmul f16 nn 4096x4096x4096 acc=f16",
    "matmul f16 nn 331x77x123",
    "matmul bf16 tn 331x77x123",
    "matmul i8 nn 331x77x123",
    "matmul f16 nn 1x4096x4096",
    "matmul i8 nn 2x4096x4096",
    "matmul f32 nn 512x512x512",
    "conv2d f16 nhwc 8x64x56x56 k=64 r=3x3 p=1",
    "conv2d i8 nchw 2x32x28x28 k=64 r=3x3 p=1",
    "permute u8 64x3x224x224 axes=0,2,3,1",
    "permute u8 37x61x29 axes=2,0,1",
    "permute u8 4x4x4x4x4x4x4x16 axes=1,0,3,2,5,4,7,6",
    "permute u8 16x7x5x3x11x13x17 axes=4,2,6,0,3,1,5",
    "permute f16 64x12x512x64 axes=0,2,1,3",
    "permute f16 333x771 axes=1,0",
    "permute f32 4096x4096 axes=1,0",
    "permute f32 65536x65536x4 axes=1,0,2",
    "permute f32 100x200 axes=1,0 out=f16",
    "permute u8 904x520x5x5 layout=OIHW:OIHW4i8o",
};

// What the planner makes of the problems: a line each.
std::vector<std::string> plans_for(const DeviceProfile& profile, const vulkan::FeatureSet& features,
                                   const vulkan::Snapshot& snapshot, std::string_view dropped = "nothing") {
  std::vector<std::string> out;
  for (const char* text : kProblems) {
    CAPTURE(text);
    const auto plan = make_plan(must(parse_problem(text)), profile);
    if (!plan) {
      out.push_back(std::string("refused: ") + plan.error().message());
      // One sentence, which names Vulkan's feature.
      CHECK_MESSAGE(plan.error().limit.find(dropped) != std::string::npos, plan.error().message());
      continue;
    }
    std::string line;
    for (const Step& step : plan->steps) {
      line += step.kernel.stem + "." + step.kernel.variant + " ";
      // Whatever is planned is for modules that this device takes.
      const auto modules = embedded_modules();
      const auto module = std::ranges::find_if(modules, [&](const EmbeddedModule& each) {
        return each.stem == step.kernel.stem && each.variant == step.kernel.variant;
      });
      REQUIRE(module != modules.end());
      for (const std::uint32_t capability : must(vulkan::read_capabilities(must(module->words()))))
        CHECK_MESSAGE(vulkan::capability_allowed(capability, features, snapshot.v11.subgroupSupportedOperations),
                      (vulkan::capability_name(capability) + " in " + line));
    }
    out.push_back(line + plan->choice.candidate + "; " + plan_remark(*plan, profile));
  }
  return out;
}

// A plan without its remark.
std::string_view kernels_of(std::string_view plan) { return plan.substr(0, plan.find(';')); }

bool uses_matrices(const std::string& plan) { return plan.find("_coopmat") != std::string::npos; }

vulkan::FeatureSet wanted_of(const vulkan::Offer& offer) {
  constexpr vulkan::FeatureUse kUses[] = {vulkan::FeatureUse::required, vulkan::FeatureUse::wanted};
  return vulkan::choose(offer, kUses);
}

}  // namespace

TEST_CASE("what a missing feature costs is what the planner then does") {
  for (const auto& [least, most] : {std::pair{32u, 32u}, std::pair{16u, 64u}}) {
    const vulkan::Snapshot snapshot = rich_device(least, most);
    const vulkan::FeatureSet all = wanted_of(snapshot.offer);
    CHECK(vulkan::missing_features(all, snapshot.offer.features).empty());
    const std::vector<std::string> whole = plans_for(vulkan::make_profile(snapshot, all), all, snapshot);
    // What is lost without a matrix unit alone is seen where there is none.
    vulkan::FeatureSet few = all;
    few.set(Feature::cooperative_matrix, false);
    few = vulkan::without_unmet_needs(few);
    const std::vector<std::string> plain = plans_for(vulkan::make_profile(snapshot, few), few, snapshot);
    CHECK(uses_matrices(whole[0]));
    CHECK(uses_matrices(whole[1]));
    CHECK(uses_matrices(whole[2]));
    std::size_t dropped = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(Feature::count); ++i) {
      const auto feature = static_cast<Feature>(i);
      if (vulkan::use_of(feature) != vulkan::FeatureUse::wanted) continue;
      CAPTURE(vulkan::vulkan_name(feature));
      CAPTURE(most);
      vulkan::FeatureSet left = all;
      left.set(feature, false);
      left = vulkan::without_unmet_needs(left);
      const auto missing = vulkan::missing_features(left, snapshot.offer.features);
      // It, and what needs it.
      const auto own =
          std::ranges::find(missing, std::string(vulkan::vulkan_name(feature)), &vulkan::MissingFeature::name);
      REQUIRE(own != missing.end());
      CHECK(own->offered);
      CHECK(own->extension == vulkan::extension_of(feature));
      for (const vulkan::MissingFeature& each : missing)
        if (each.name != own->name)
          CHECK(std::ranges::any_of(vulkan::feature_needs(), [&](const vulkan::FeatureNeed& need) {
            return vulkan::vulkan_name(need.feature) == each.name && !left.has(need.needs);
          }));
      const std::string_view name = vulkan::vulkan_name(feature);
      const std::vector<std::string> plans = plans_for(vulkan::make_profile(snapshot, left), left, snapshot, name);
      std::string differing;
      const auto compare = [&](const std::vector<std::string>& before, const std::vector<std::string>& after) {
        for (std::size_t p = 0; p < after.size(); ++p) {
          if (kernels_of(after[p]) == kernels_of(before[p])) continue;
          differing += std::string(kProblems[p]) + ": " + before[p] + " -> " + after[p] + "\n";
          // A plan that lost something says by its remark what it lost, by Vulkan's name of it or of what needs it.
          CHECK_MESSAGE(std::ranges::any_of(missing,
                                            [&](const vulkan::MissingFeature& each) {
                                              return after[p].find(each.name, kernels_of(after[p]).size()) !=
                                                         std::string::npos ||
                                                     after[p].starts_with("refused");
                                            }),
                        (std::string(kProblems[p]) + ": " + after[p]));
        }
      };
      compare(whole, plans);
      left.set(Feature::cooperative_matrix, false);
      left = vulkan::without_unmet_needs(left);
      compare(plain, plans_for(vulkan::make_profile(snapshot, left), left, snapshot, name));
      CAPTURE(own->cost);
      CAPTURE(differing);
      const bool nothing = own->cost.find("costs nothing") != std::string::npos ||
                           own->cost.find("the canary") != std::string::npos ||
                           (own->cost.find("several subgroup sizes") != std::string::npos && least == most);
      if (nothing && missing.size() == 1) CHECK(differing.empty());
      if (!nothing) CHECK_FALSE(differing.empty());
      // A type whose products are said to leave the matrix unit leaves it, and no other.
      const bool leaves = own->cost.find("do not use the matrix unit") != std::string::npos && !nothing;
      constexpr std::pair<std::size_t, const char*> kTypes[] = {{0, "f16"}, {1, "bf16"}, {2, "int8"}};
      for (const auto& [problem, type] : kTypes) {
        const std::string before = own->cost.substr(0, own->cost.find(" do not use the matrix unit"));
        const std::string clause = before.substr(before.rfind(';') == std::string::npos ? 0 : before.rfind(';') + 2);
        std::set<std::string> words;
        std::string word;
        for (const char c : clause + " ") {
          if (c == ' ' || c == ',') {
            words.insert(word);
            word.clear();
          } else {
            word += c;
          }
        }
        const bool typed = words.contains("f16") || words.contains("bf16") || words.contains("int8");
        CHECK(uses_matrices(plans[problem]) == !(leaves && (!typed || words.contains(type))));
      }
      ++dropped;
    }
    CHECK(dropped == 28);
  }
}

TEST_CASE("an adopted device tells what it was made without") {
  on_every_device([](vulkan::Runtime& runtime) {
    vulkan::Adoption adoption = adoption_of(runtime);
    const auto whole = must(vulkan::Device::adopt(adoption)).missing();
    for (const vulkan::MissingFeature& each : whole) {
      CHECK_FALSE(each.offered);
      CHECK(print(each).find("is not offered: ") != std::string::npos);
    }
    CHECK(whole == runtime.device().missing());
    adoption.everything_wanted = false;
    const auto wants =
        must(vulkan::wanted_features(runtime.get_instance_proc_addr(), runtime.instance(), runtime.physical_device()));
    const vulkan::FeatureSet enabled = vulkan::read_features(wants.chain());
    std::size_t told = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(Feature::count); ++i) {
      const auto feature = static_cast<Feature>(i);
      if (vulkan::use_of(feature) != vulkan::FeatureUse::wanted || !enabled.has(feature)) continue;
      vulkan::FeatureSet left = enabled;
      left.set(feature, false);
      vulkan::FeatureStructs structs;
      VkPhysicalDeviceFeatures2& chain = structs.make_core_chain();
      structs.complete(chain, left);
      vulkan::write_features(&chain, left);
      adoption.enabled_features = &chain;
      adoption.enabled_extensions = wants.extensions();
      const auto missing = must(vulkan::Device::adopt(adoption)).missing();
      CHECK(missing.size() > whole.size());
      const auto own =
          std::ranges::find(missing, std::string(vulkan::vulkan_name(feature)), &vulkan::MissingFeature::name);
      REQUIRE(own != missing.end());
      CHECK(own->offered);
      CHECK(print(*own).find(" was not enabled: ") != std::string::npos);
      ++told;
    }
    CHECK(told > 5);
    // An extension that was left out takes its features along.
    vulkan::FeatureStructs structs;
    VkPhysicalDeviceFeatures2& chain = structs.make_core_chain();
    structs.complete(chain, enabled);
    vulkan::write_features(&chain, enabled);
    adoption.enabled_features = &chain;
    adoption.enabled_extensions = {};
    const auto without = must(vulkan::Device::adopt(adoption)).missing();
    const auto matrix = std::ranges::find(without, "cooperativeMatrix", &vulkan::MissingFeature::name);
    REQUIRE(matrix != without.end());
    CHECK(matrix->offered == enabled.has(Feature::cooperative_matrix));
    if (matrix->offered)
      CHECK(print(*matrix) ==
            "cooperativeMatrix (VK_KHR_cooperative_matrix) was not enabled: f16, bf16 and int8 products do not use the "
            "matrix unit");
  });
}
