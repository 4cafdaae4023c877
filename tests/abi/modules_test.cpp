// The matrix kernel has a module for each loop and type: none is embedded in vain, and none is missing. And no plan has
// a module that asks for a feature which the profile is without.
#include <sectile/planner.hpp>
#include <sectile/profile.hpp>
#include <sectile/shaders.hpp>

#include "module/capabilities.hpp"
#include "reference/extra_rows.hpp"
#include "support/scope.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

using namespace sectile;

namespace {

// The plan of each candidate that is not refused, and the candidate's name; nothing where none is left.
template <class Visit>
void each_admitted(const char* text, const DeviceProfile& profile, Visit visit) {
  const auto problem = parse_problem(text);
  REQUIRE_MESSAGE(problem.has_value(), std::string(text));
  const auto plan = reference::plan_with_extra_rows(*problem, profile, {.explain = true});
  if (!plan) return;
  for (const Candidate& c : plan->candidates) {
    if (!c.refusal.empty()) continue;
    const auto forced = reference::plan_with_extra_rows(*problem, profile, {.force = c.name});
    REQUIRE_MESSAGE(forced.has_value(), c.name);
    visit(c.name, *forced);
  }
}

// SPIR-V's names of the capabilities that a step's module declares. A module is opened once.
const std::set<std::string>& capabilities_of(const Step& step) {
  static std::map<KernelName, std::set<std::string>> known;
  const auto [at, is_new] = known.try_emplace(step.kernel);
  if (!is_new) return at->second;
  const EmbeddedModule* m = find_module(step.kernel.stem, step.kernel.variant);
  REQUIRE_MESSAGE(m != nullptr, step.kernel.stem << "." << step.kernel.variant);
  const auto words = m->words();
  REQUIRE(words.has_value());
  const auto numbers = module::read_capabilities(*words);
  REQUIRE(numbers.has_value());
  for (const std::uint32_t number : *numbers) at->second.insert(module::capability_name(number));
  return at->second;
}

}  // namespace

TEST_CASE("each module of the matrix kernel is some rows") {
  std::set<std::string> wanted;
  for (const char* target : {"nvidia-hopper", "intel-xe-hpg", "lavapipe"})
    for (const char* text : {"matmul f16 nn 256x256x256", "matmul bf16 nn 256x256x256", "matmul i8 nn 256x256x256",
                             "matmul f16 nn 256x256x256 acc=f16"}) {
      const auto profile = builtin_target(target);
      REQUIRE(profile.has_value());
      std::size_t admitted = 0;
      each_admitted(text, *profile, [&](const std::string& name, const Plan& forced) {
        ++admitted;
        if (name.starts_with("matmul_coopmat ")) wanted.insert(forced.steps[0].kernel.variant);
      });
      REQUIRE(admitted > 0);
    }
  std::set<std::string> embedded;
  for (const EmbeddedModule& m : embedded_modules())
    if (m.stem == "matmul_coopmat") embedded.insert(std::string(m.variant));
  CHECK(embedded.size() > 16);
  for (const std::string& variant : embedded) CHECK_MESSAGE(wanted.contains(variant), variant);
  for (const std::string& variant : wanted) CHECK_MESSAGE(embedded.contains(variant), variant);
}

TEST_CASE("what a profile is without no module asks for") {
  struct Feature {
    std::optional<bool> DeviceProfile::* field;
    std::set<std::string> capabilities;
  };
  const Feature features[] = {
      {&DeviceProfile::int8, {"Int8"}},
      {&DeviceProfile::int16, {"Int16"}},
      {&DeviceProfile::int64, {"Int64"}},
      {&DeviceProfile::float16, {"Float16"}},
      {&DeviceProfile::bfloat16, {"BFloat16TypeKHR", "BFloat16CooperativeMatrixKHR"}},
      {&DeviceProfile::storage8, {"StorageBuffer8BitAccess"}},
      {&DeviceProfile::storage16, {"StorageBuffer16BitAccess"}},
      {&DeviceProfile::workgroup8, {"WorkgroupMemoryExplicitLayout8BitAccessKHR"}},
      {&DeviceProfile::integer_dot_product,
       {"DotProduct", "DotProductInputAll", "DotProductInput4x8Bit", "DotProductInput4x8BitPacked"}},
      {&DeviceProfile::cooperative_matrix, {"CooperativeMatrixKHR"}},
      {&DeviceProfile::cooperative_matrix_tensor_addressing,
       {"TensorAddressingNV", "CooperativeMatrixTensorAddressingNV"}},
  };
  std::size_t asked = 0;  // for a feature that is there
  std::size_t turn = 0;
  const std::size_t every = test::scope<std::size_t>(1, 1, 4);
  for (const char* target : {"nvidia-hopper", "amd-rdna4", "lavapipe"})
    for (const char* text :
         {"matmul f32 nn 256x256x256", "matmul f16 nn 256x256x256", "matmul bf16 nn 256x256x256",
          "matmul i8 nt 256x256x256", "matmul f16 nt 256x256x256 acc=f16", "matmul f16 nt 256x256x256 b=q4",
          "matmul i8 nt 256x256x256 out=f16", "permute i8 64x48x40 axes=2,0,1", "permute f16 640x480 axes=1,0",
          "permute f16 64x480 axes=1,0 out=bf16"}) {
      if (turn++ % every != 0) continue;
      for (const Feature& f : features)
        for (const bool there : {true, false}) {
          DeviceProfile profile = builtin_target(target).value();
          if (profile.vendor == "nvidia")  // a driver's own listing says more than the built-in target
            profile.cooperative_matrix2 = profile.cooperative_matrix_workgroup_scope =
                profile.cooperative_matrix_tensor_addressing = true;
          if (there && !(profile.*f.field).value_or(false)) continue;
          if (!there) profile.*f.field = false;
          each_admitted(text, profile, [&](const std::string& name, const Plan& forced) {
            for (const Step& step : forced.steps)
              for (const std::string& capability : capabilities_of(step)) {
                if (!f.capabilities.contains(capability)) continue;
                asked += there ? 1 : 0;
                CHECK_MESSAGE(there, std::string(target)
                                         << ": " << std::string(text) << ": " << name << " asks for " << capability);
              }
          });
        }
    }
  CHECK(asked > 100);
}

// The built-in target qualcomm-adreno7 and other mobiles have the one and not the other.
TEST_CASE("elements of2 bytes need16 bit storage alone") {
  DeviceProfile hopper = builtin_target("nvidia-hopper").value();
  hopper.storage8 = hopper.int8 = false;
  DeviceProfile adreno = builtin_target("qualcomm-adreno7").value();
  CHECK_FALSE(adreno.storage8.value_or(false));
  adreno.int8 = false;
  for (const DeviceProfile& profile : {hopper, adreno})
    for (const char* text :
         {"matmul f16 nn 960x2304x770 epi=bias+gelu", "matmul f16 nt 255x127x63",
          "matmul f16 tn 33x65x129 epi=bias.m+residual", "matmul bf16 nn 31x33x35 epi=scale+bias+silu",
          "matmul f16 nt 1x4097x1023 epi=bias", "matmul f16 nn 3x5x0 epi=bias", "matmul f16 nt 33x127x8191 epi=bias",
          "matmul f16 nt 17x255x127 b=q8", "matmul f16 nt 16x255x4096 b=q4 epi=bias",
          "matmul f32 nn 17x255x127 out=f16", "permute f16 7x9x11 axes=2,0,1", "permute f16 641x481 axes=1,0",
          "permute f16 4099 axes=0", "permute bf16 7x9x11 axes=2,0,1 out=f16"}) {
      CAPTURE(text);
      CAPTURE(profile.name);
      const auto problem = parse_problem(text);
      REQUIRE(problem.has_value());
      const auto plan = make_plan(*problem, profile);
      REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
      for (const Step& step : plan->steps) {
        const auto capabilities = capabilities_of(step);
        CAPTURE(step.kernel.stem + "." + step.kernel.variant);
        CHECK_FALSE(capabilities.contains("StorageBuffer8BitAccess"));
        CHECK_FALSE(capabilities.contains("Int8"));
        if (text[0] == 'p') CHECK(step.kernel.stem != "permute_words");
      }
    }
}
