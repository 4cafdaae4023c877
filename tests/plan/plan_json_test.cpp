#include "helpers.hpp"
#include "made_up.hpp"

#include "base/hash.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace sectile;

namespace {

// Reads without planning again: the plans of this file do not come from the planner.
Result<Plan> trusted(std::string_view text) { return plan_from_json(text, test::gpu(), {.trusted = true}); }

std::string error_of(std::string_view text) {
  auto plan = trusted(text);
  return plan ? "" : plan.error().message();
}

// The JSON of a good plan, with one change.
template <class F>
std::string changed_json(F change) {
  nlohmann::json json = nlohmann::json::parse(to_json(made_up::two_steps()));
  change(json);
  return error_of(json.dump());
}

}  // namespace

TEST_CASE("plan JSON reads back and is canonical") {
  Plan plan = made_up::two_steps();
  const std::string text = to_json(plan);
  CHECK(trusted(text) == plan);
  CHECK(nlohmann::json::parse(text).dump() == text);  // dump() sorts
  plan.candidates = {{.name = "permute_tile 32x32",
                      .chosen = true,
                      .refusal = "",
                      .cost = -5,
                      .interior = {1, 2, 3, 4, 5, 6, 7},
                      .edge = {},
                      .detail = "quote \" and \xc3\xa9"},
                     {.name = "permute_rows",
                      .chosen = false,
                      .refusal = "the inner axis moves",
                      .cost = 0,
                      .interior = {},
                      .edge = {},
                      .detail = ""}};
  const std::string explained = to_json(plan);
  CHECK(trusted(explained) == plan);
  CHECK(nlohmann::json::parse(explained).dump() == explained);
}

namespace {

// A plan with all that only CUDA's plans have.
Plan cuda_plan() {
  Plan plan = made_up::two_steps();
  Step& step = plan.steps[0];
  step.grid = {8, 6, 4};
  step.cluster = {2, 3, 1};
  TensorMap tiled{0, 0, 2, {32, 32}, {64}, {32, 8}, 64};
  tiled.element_strides = {1, 2};
  tiled.fill = TensorFill::nan_bf16;
  TensorMap image{0, 0, 4, {8, 7, 6, 2}, {32, 224, 1344}, {}, 32};
  image.im2col = Im2col{{-3, -128}, {127, -2}, 8, 64};
  step.tensor_maps = {tiled, image, {0, 16, 1, {32}, {}, {16}, 0}};
  return plan;
}

}  // namespace

TEST_CASE("what only CUDA's plans have reads back, and is written only where it is") {
  const DeviceProfile profile = test::profile_of_target("cuda:sm_90a");
  const auto read = [&](const std::string& text) { return plan_from_json(text, profile, {.trusted = true}); };
  Plan plan = cuda_plan();
  const std::string text = to_json(plan);
  CHECK(read(text) == plan);
  CHECK(nlohmann::json::parse(text).dump() == text);
  const auto steps = nlohmann::json::parse(text)["steps"];
  CHECK(steps[0]["cluster"] == nlohmann::json::array({2, 3, 1}));
  CHECK(steps[0]["tensor_maps"][0]["fill"] == "nan_bf16");
  CHECK(steps[0]["tensor_maps"][0]["element_strides"] == nlohmann::json::array({1, 2}));
  CHECK(steps[0]["tensor_maps"][1]["im2col"]["lower"] == nlohmann::json::array({-3, -128}));
  CHECK_FALSE(steps[1].contains("cluster"));
  for (const char* key : {"element_strides", "fill", "im2col"}) CHECK_FALSE(steps[0]["tensor_maps"][2].contains(key));
  for (const TensorFill fill : {TensorFill::nan_f16, TensorFill::nan_f32, TensorFill::zeros}) {
    plan.steps[0].tensor_maps.resize(1);
    plan.steps[0].tensor_maps[0].element_bytes = fill == TensorFill::nan_f32 ? 4 : 2;
    plan.steps[0].tensor_maps[0].dims[0] = plan.steps[0].tensor_maps[0].box[0] = 16;
    plan.steps[0].tensor_maps[0].fill = fill;
    CHECK(read(to_json(plan)) == plan);
  }
  // A device without these refuses them.
  CHECK(error_of(text).starts_with("limit_exceeded: "));
  CHECK(print(cuda_plan()).find(" grid=8x6x4 cluster=2x3x1 ") != std::string::npos);
  plan.steps[0].cluster = {4, 1, 1};
  CHECK(print(plan).find(" cluster=4 ") != std::string::npos);
  CHECK(print(made_up::two_steps()).find("cluster") == std::string::npos);
}

TEST_CASE("what only CUDA's plans have is refused by path") {
  const auto changed = [](auto change) {
    nlohmann::json json = nlohmann::json::parse(to_json(cuda_plan()));
    change(json["steps"][0]);
    const auto plan = plan_from_json(json.dump(), test::profile_of_target("cuda:sm_90a"), {.trusted = true});
    return plan ? "" : plan.error().message();
  };
  CHECK(changed([](auto&) {}) == "");
  CHECK(changed([](auto& s) { s["cluster"] = {2, 1}; }) ==
        "parse: plan.steps.cluster: an array of 2 (want an array of 3)");
  CHECK(changed([](auto& s) { s["cluster"] = {5, 1, 1}; }).starts_with("invalid_plan: step 0 grid"));
  CHECK(changed([](auto& s) { s["tensor_maps"][0]["fill"] = "nan"; }) ==
        "parse: plan.steps.tensor_maps.fill: nan (want zeros, nan_f16, nan_bf16 or nan_f32)");
  CHECK(changed([](auto& s) { s["tensor_maps"][0]["fill"] = "zeros"; }) == "");
  CHECK(changed([](auto& s) {
          s["tensor_maps"][0]["element_strides"] = {1, -1};
        }).starts_with("parse: plan.steps.tensor_maps.element_strides: "));
  CHECK(changed([](auto& s) {
          s["tensor_maps"][0]["element_strides"] = {1, 9};
        }).starts_with("invalid_plan: step 0 tensor map"));
  CHECK(changed([](auto& s) { s["tensor_maps"][1]["im2col"] = 3; }) ==
        "parse: plan.steps.tensor_maps.im2col: 3 (want an object)");
  for (const char* key : {"channels_per_pixel", "lower", "pixels_per_column", "upper"})
    CHECK(changed([&](auto& s) { s["tensor_maps"][1]["im2col"].erase(key); }) ==
          std::string("parse: plan.steps.tensor_maps.im2col.") + key + ": not there");
  CHECK(changed([](auto& s) { s["tensor_maps"][1]["im2col"]["padding"] = 1; }) ==
        "parse: plan.steps.tensor_maps.im2col.padding: unknown key");
}

TEST_CASE("problem JSON has sorted keys") {
  const Problem problem = parse_problem(
                              "permute f16 1x2x7x4 layout=NCW4c:NWC extent=C:5 src.offset=3 dst.align=4 "
                              "src.strides=100x50x4x1 dst.strides=50x5x1")
                              .value();
  CHECK(nlohmann::json::parse(to_json(problem)).dump() == to_json(problem));
}

TEST_CASE("plan JSON refuses by path") {
  CHECK(error_of("") == "parse: plan: not JSON");
  CHECK(error_of("\xff\xfe") == "parse: plan: not JSON");
  CHECK(error_of("null") == "parse: plan: null (want an object)");
  CHECK(error_of("{}") == "parse: plan.choice: not there");
  CHECK(changed_json([](auto& j) { j.erase("id"); }) == "parse: plan.id: not there");
  CHECK(changed_json([](auto& j) { j["choice"]["by"] = "chance"; }) ==
        "parse: plan.choice.by: chance (want cost, force or tuned)");
  CHECK(changed_json([](auto& j) { j["choice"]["by"] = "force"; }).starts_with("parse: plan.choice.asked"));
  CHECK(changed_json([](auto& j) { j["steps"] = 3; }) == "parse: plan.steps: 3 (want an array of at most 64)");
  CHECK(changed_json([](auto& j) { j["steps"][0]["grid"] = {1, 2}; }) ==
        "parse: plan.steps.grid: an array of 2 (want an array of 3)");
  CHECK(changed_json([](auto& j) {
          j["steps"][0]["grid"][0] = -1;
        }).starts_with("parse: plan.steps.grid: an array of 3 (want an integer from 0"));
  CHECK(changed_json([](auto& j) { j["steps"][0]["push"] = "0g"; }).starts_with("parse: plan.steps.push: 0g"));
  CHECK(changed_json([](auto& j) { j["steps"][0]["kernel"] = "x"; }) ==
        "parse: plan.steps.kernel: \"x\" (want an object)");
  CHECK(
      changed_json([](auto& j) { j["operands"][0]["role"] = "both"; }).starts_with("parse: plan.operands.role: both"));
  CHECK(changed_json([](auto& j) { j["problem"]["type"] = 1; }) == "parse: plan.problem.type: 1 (want a string)");
  CHECK(changed_json([](auto& j) { j["extra"] = 1; }) == "parse: plan.extra: unknown key");
  CHECK(changed_json([](auto& j) { j.erase("problem"); }) == "parse: plan.problem: not there");
}

TEST_CASE("plan JSON is checked like any plan") {
  CHECK(changed_json([](auto& j) {
          j["steps"][1]["barrier_before"] = false;
        }).starts_with("invalid_plan: step 1 ordering"));
  CHECK(changed_json([](auto& j) { j["problem"]["axes"] = {0, 0}; }).starts_with("invalid_problem: axes"));
  CHECK(changed_json([](auto& j) { j["operands"][0]["bytes"] = 1; }).starts_with("invalid_plan: step 0 range"));
}

TEST_CASE("a plan that is read is planned again and compared") {
  const DeviceProfile gpu = test::gpu();
  const Plan free = test::planned("permute f16 1x384x512x128 axes=0,3,1,2"),
             explained = test::planned("permute f32 70x90 axes=1,0", gpu, {.explain = true});
  const Plan forced = test::planned("permute f32 512x512 axes=1,0", gpu, {.force = "permute_rows"});
  const Plan matmul = test::planned("matmul f32 nn 100x100x20000 epi=bias");
  for (const Plan& plan : {free, explained, forced, matmul}) CHECK(plan_from_json(to_json(plan), gpu) == plan);
  CHECK(free.choice.by == ChosenBy::cost);
  CHECK(free.choice.candidate.starts_with(free.steps[0].kernel.stem + " "));
  CHECK(forced.choice.by == ChosenBy::force);
  CHECK(forced.choice.asked == "permute_rows");
  CHECK(matmul.steps.size() > 1);

  const auto refused = [&](const Plan& plan, auto change, const DeviceProfile& profile = test::gpu()) {
    auto json = nlohmann::json::parse(to_json(plan));
    change(json);
    const auto read = plan_from_json(json.dump(), profile);
    return read ? "" : read.error().message();
  };
  // Everything that a backend relies on.
  const auto differs = [&](const Plan& plan, auto change) {
    std::string message = refused(plan, change);
    CHECK_MESSAGE(message.starts_with("invalid_plan: "), message);
    return message;
  };
  CHECK(differs(matmul, [](auto& j) {
          j["steps"][0]["constants"][1]["value"] = 65536;
        }).find("plan JSON: steps.0.constants.1.value: not what") != std::string::npos);
  differs(free, [](auto& j) { j["steps"][0]["constants"][0]["value"] = 65536; });
  differs(free, [](auto& j) { j["steps"][0]["constants"].erase(j["steps"][0]["constants"].size() - 1); });
  for (std::size_t at = 16; at < free.steps[0].push.size(); at += 4) {
    const std::string message = differs(free, [&](auto& j) {
      std::string push = j["steps"][0]["push"];
      push[2 * at] = push[2 * at] == '0' ? '1' : '0';
      j["steps"][0]["push"] = push;
    });
    CHECK(message.find("push") != std::string::npos);
  }
  differs(free, [](auto& j) { j["steps"][0]["grid"][0] = 1; });
  differs(free, [](auto& j) { j["steps"][0]["addresses"][1]["byte_offset"] = 2; });
  differs(free, [](auto& j) { j["steps"][0]["accesses"][0]["end"] = 2; });
  differs(free, [](auto& j) { j["steps"][0]["kernel"]["variant"] = "e4"; });
  differs(free, [](auto& j) { j["operands"][1]["bytes"] = j["operands"][1]["bytes"].template get<int>() + 4096; });
  differs(matmul,
          [](auto& j) { j["operands"].back()["bytes"] = j["operands"].back()["bytes"].template get<int>() + 64; });
  differs(matmul, [](auto& j) { j["operands"].back()["name"] = "other"; });
  differs(free, [](auto& j) { j["problem"]["shape"][1] = 385; });
  differs(free, [](auto& j) { j["id"] = std::string(32, '0'); });
  differs(free, [](auto& j) { j["choice"]["candidate"] = "permute_rows u1 wg256"; });
  differs(explained, [](auto& j) { j["candidates"][0]["cost"] = 1; });
  // Another profile, planner version, pack or choice is refused by name.
  CHECK(refused(free, [](auto&) {}, test::cpu()).find("plan JSON: profile: made-up-gpu") != std::string::npos);
  CHECK(refused(free, [](auto& j) { j["planner_version"] = "1"; }).find("plan JSON: planner version: 1") !=
        std::string::npos);
  CHECK(refused(free, [](auto& j) {
          j["choice"]["kernels"] = "some pack";
        }).starts_with("missing: plan JSON: pack: none given"));
  CHECK(refused(free, [](auto& j) {
          j["choice"] = {{"by", "force"}, {"asked", "permute_copy"}};
        }).find("planned again") != std::string::npos);
  // A trusted plan is not compared, but check_plan still refuses it.
  auto json = nlohmann::json::parse(to_json(free));
  json["steps"][0]["push"].get_ref<std::string&>()[40] = 'f';
  CHECK(plan_from_json(json.dump(), gpu, {.trusted = true}).has_value());
  json["steps"][0]["constants"][0]["value"] = 65536;
  CHECK(error_of(json.dump()).starts_with("invalid_plan: step 0 constant 0: 65536"));
}

// A pack; only its id matters here.
struct NamedKernels : KernelSet {
  std::string named;
  explicit NamedKernels(std::string text) : named(std::move(text)) {}
  bool has(const Step&) const override { return true; }
  std::string nearest(const Step&) const override { return {}; }
  std::string_view id() const noexcept override { return named; }
};

TEST_CASE("a plan that was made with a pack is read with that pack") {
  const NamedKernels one("one"), other("other");
  const Plan plan = test::planned("permute f32 512x512 axes=1,0", test::gpu(), {.kernels = &one});
  CHECK(plan.choice.kernels == "one");
  CHECK(plan_from_json(to_json(plan), test::gpu(), {.kernels = &one}) == plan);
  CHECK(plan_from_json(to_json(plan), test::gpu()).error().message() ==
        "missing: plan JSON: pack: none given (want one)");
  CHECK(plan_from_json(to_json(plan), test::gpu(), {.kernels = &other}).error().message() ==
        "invalid_plan: plan JSON: pack: one (want other)");
  const Plan without = test::planned("permute f32 512x512 axes=1,0");
  CHECK(plan_from_json(to_json(without), test::gpu(), {.kernels = &one}).error().message() ==
        "invalid_plan: plan JSON: pack: none (want one)");
}

TEST_CASE("hostile JSON is refused before it costs") {
  CHECK(error_of(std::string(1'000'000, '[')).starts_with("parse: plan: nested too deeply"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"a":)";
  CHECK(error_of(deep).starts_with("parse: plan: nested too deeply"));
  CHECK(error_of(R"({"id":")" + std::string(100'000, 'x') + "\"}").size() < 300);
  CHECK(changed_json([](auto& j) {
          j["steps"][0]["accesses"] = nlohmann::json::array_t(2000, j["steps"][0]["accesses"][0]);
        }).starts_with("parse: plan.steps.accesses: an array of 2000"));
  CHECK(changed_json([](auto& j) {
          j["steps"][0]["accesses"] = nlohmann::json::array_t(100, j["steps"][0]["accesses"][0]);
        }).starts_with("invalid_plan: step 0 "));
  CHECK(changed_json([](auto& j) { j["id"] = 1e300; }) == "parse: plan.id: 1e+300 (want a string)");
}

TEST_CASE("truncated plan JSON is never a plan") {
  const std::string text = to_json(made_up::two_steps());
  for (std::size_t length = 0; length < text.size(); ++length) CHECK_FALSE(trusted(text.substr(0, length)).has_value());
}

TEST_CASE("hash is xxh3 as xxhsum prints it") {
  CHECK(detail::hash128("") == "99aa06d3014798d86001c324468d497f");
  CHECK(detail::hash128("sectile") != detail::hash128("Sectile"));
}

TEST_CASE("the first digits of a profile's hash leave the canary's outcome out") {
  const DeviceProfile profile = builtin_target("nvidia-hopper").value();
  const std::string hash = profile_hash_of(profile);
  const auto failed = [&](std::size_t shape) {
    return profile_hash_of(with_canary(profile, {{{profile.matrix_shapes[shape], Canary::failed, ""}}}));
  };
  const auto device = [](const std::string& text) { return text.substr(0, kDeviceDigits); };
  for (const std::size_t shape : {std::size_t{0}, profile.matrix_shapes.size() - 1}) {
    CHECK(failed(shape).size() == 32);
    CHECK(failed(shape) != hash);
    CHECK(device(failed(shape)) == device(hash));
  }
  CHECK(failed(0) != failed(1));
  CHECK(device(profile_hash_of(with_canary(profile, {{{profile.matrix_shapes[0], Canary::passed, ""}}}))) ==
        device(hash));
  DeviceProfile other = profile;
  other.multiprocessors = 7;
  CHECK(device(profile_hash_of(other)) != device(hash));
}

TEST_CASE("plan id covers problem profile and candidate") {
  const auto id = [](std::string_view text, const char* target, const PlanOptions& options = {}) {
    return make_plan(parse_problem(text).value(), builtin_target(target).value(), options).value().id;
  };
  const std::string_view text = "permute f32 64x48 axes=1,0";
  const std::string plain = id(text, "nvidia-hopper");
  CHECK(id(text, "nvidia-hopper") == plain);
  CHECK(id(text, "nvidia-hopper", {.explain = true}) == plain);
  CHECK(id("permute f32 64x48 axes=1,0 src.align=8", "nvidia-hopper") != plain);
  CHECK(id(text, "nvidia-ada") != plain);
  CHECK(id(text, "nvidia-hopper", {.force = "permute_rows u1 wg256"}) != plain);
}

TEST_CASE("a plan prints on one line") {
  CHECK(print(Plan{}) == "nothing");
  const std::string text = print(made_up::two_steps());
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.find("permute_tile.e2 tile=32x16 wg=64 grid=8x1x1 shared=2112 push=32") != std::string::npos);
  CHECK(text.find(" | barrier | ") != std::string::npos);
}
