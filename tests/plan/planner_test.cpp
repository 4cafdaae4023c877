#include "helpers.hpp"
#include "plan/permute/nest.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <thread>

using namespace sectile;
using test::planned;

namespace {

std::string stem_of(const Plan& plan) { return plan.steps.empty() ? "" : plan.steps[0].kernel.stem; }

}  // namespace

TEST_CASE("the innermost axis decides the kernel") {
  CHECK(stem_of(planned("permute f32 64x128x256 axes=0,1,2")) == "permute_copy");
  CHECK(stem_of(planned("permute f32 1x128x1x256 axes=2,1,0,3")) == "permute_copy");  // only axes of extent 1 move
  CHECK(stem_of(planned("permute f32 64x128x512 axes=1,0,2")) == "permute_rows");
  CHECK(stem_of(planned("permute f32 8192x8192 axes=1,0")) == "permute_tile");
  CHECK(stem_of(planned("permute f16 3x1024x1024x7 axes=3,1,2,0", test::profile_of_target("nvidia-hopper"))) ==
        "permute_box");
  CHECK(stem_of(planned("permute u8 3x5556013x25 axes=2,1,0")) == "permute_table");
  CHECK(stem_of(planned("permute u8 12347x6421 axes=1,0")) == "permute_ragged");
  CHECK(stem_of(planned("permute u8 16x512x512x3 layout=NHWC:NCHW")) == "permute_interleave");
  CHECK(stem_of(planned("permute u8 16x512x512x3 layout=NHWC:NCHW4c")) == "permute_interleave");
  CHECK(stem_of(planned("permute u8 16x511x511x3 layout=NHWC:NCHW")) !=
        "permute_interleave");  // planes start at odd addresses
  CHECK(stem_of(planned("permute u8 1x16x16x3 layout=NHWC:NCHW")) !=
        "permute_interleave");  // too small for its own pipeline
  CHECK(stem_of(planned("permute f32 32x16x24x20x36x18 axes=5,3,1,0,2,4")) == "permute_box");
  CHECK(stem_of(planned("permute f32 8192x8192 axes=1,0", test::cpu())) == "permute_block");
  CHECK(stem_of(planned("permute i8 100x101 axes=1,0", test::words_only())) == "permute_words");
  CHECK(planned("permute f32 0x5 axes=1,0").steps.empty());
}

TEST_CASE("contiguous short runs get permute_runs") {
  // Transposed images, batched and strided; runs of 3, 5 and 6 bytes, of f16 and of words; odd sizes.
  for (const char* text :
       {"u8 82x427x640x3 axes=0,2,1,3", "u8 7x1431x643x3 axes=0,2,1,3 align=1", "u8 431x31x643x3 axes=2,1,0,3",
        "i8 18x431x643x6 axes=0,2,1,3", "f16 18x431x643x3 axes=0,2,1,3 src.offset=1", "f32 9x431x643x3 axes=0,2,1,3"})
    for (const auto& profile : {test::gpu(), test::cpu()}) {
      CAPTURE(text);
      CHECK(stem_of(planned(std::string("permute ") + text, profile)) == "permute_runs");
    }
  // On a GPU permute_table is as fast for 5 and 7 bytes.
  CHECK(stem_of(planned("permute u8 21x431x643x5 axes=0,2,1,3", test::cpu())) == "permute_runs");
  CHECK(stem_of(planned("permute u8 15x431x643x7 axes=0,2,1,3", test::cpu())) == "permute_runs");
  CHECK(stem_of(planned("permute u8 2x27x40x3 axes=0,2,1,3")) == "permute_rows");  // too small for its own pipeline
  // On a GPU this is too small as well; a CPU takes milliseconds for it.
  CHECK(stem_of(planned("permute u8 20x200x200x3 axes=0,2,1,3")) != "permute_runs");
  CHECK(stem_of(planned("permute u8 20x200x200x3 axes=0,2,1,3", test::cpu())) == "permute_runs");
  CHECK(stem_of(planned("permute u8 82x427x640x3 axes=0,2,1,3", test::words_only())) == "permute_words");
}

TEST_CASE("rows move as widely as alignment allows") {
  CHECK(planned("permute f16 64x128x512 axes=1,0,2").steps[0].kernel.variant == "e16");
  CHECK(planned("permute f16 64x128x510 axes=1,0,2").steps[0].kernel.variant == "e4");
  CHECK(planned("permute f16 64x128x511 axes=1,0,2").steps[0].kernel.variant == "e2");
  CHECK(planned("permute f16 64x128x512 axes=1,0,2 align=4").steps[0].kernel.variant == "e4");
  CHECK(planned("permute f16 64x128x512 axes=1,0,2 src.offset=1").steps[0].kernel.variant == "e2");
}

TEST_CASE("canonical form merges neighbours") {
  // OneFlow's example: (0,3,1,2) keeps axes 1 and 2 together.
  const auto nest = detail::canonical(
      *detail::loop_nest(std::get<PermuteProblem>(*parse_problem("permute f16 1x384x512x128 axes=0,3,1,2"))), 2, 16,
      16);
  REQUIRE(nest.rank == 2);
  CHECK(nest.axis[0].extent == 384 * 512);
  CHECK(nest.axis[0].src_stride == 128);
  CHECK(nest.axis[1].extent == 128);
  CHECK(nest.src_innermost() == 1);
}

TEST_CASE("same plan from same input") {
  for (const char* text : {"permute f16 3x1024x1024x7 axes=3,1,2,0", "permute f32 8192x8192 axes=1,0"}) {
    const auto a = planned(text), b = planned(text);
    CHECK(a == b);
    CHECK(a.id == b.id);
    CHECK(to_json(a) == to_json(b));
    CHECK(plan_from_json(to_json(a), test::gpu()) == a);
  }
  CHECK(planned("permute f32 8192x8192 axes=1,0").id != planned("permute f32 8192x8193 axes=1,0").id);
  CHECK(planned("permute f32 64x64 axes=1,0").id != planned("permute f32 64x64 axes=1,0", test::cpu()).id);
}

TEST_CASE("a shape is pushed and not specialized") {
  const auto a = planned("permute f32 8192x8192 axes=1,0"), b = planned("permute f32 4096x12288 axes=1,0");
  CHECK(a.steps[0].constants == b.steps[0].constants);
  CHECK(a.steps[0].push != b.steps[0].push);
}

TEST_CASE("numbers beyond the push bytes are specialized") {
  const auto plan = planned("permute f32 3x4x5x6x7x3x5x4x3 axes=8,7,6,5,4,3,2,1,0");
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].kernel.variant.ends_with(".long"));
  CHECK(plan.steps[0].push.size() == 128);
}

TEST_CASE("ranks up to sixteen") {
  std::string shape = "2", axes = "15";
  for (int i = 1; i < 16; ++i) shape += "x2", axes += "," + std::to_string(15 - i);
  CHECK(planned("permute i8 " + shape + " axes=" + axes).steps.size() == 1);
  CHECK(planned("permute i8 " + shape + " axes=" + axes, test::words_only()).steps.size() == 1);
  CHECK_FALSE(parse_problem("permute i8 " + shape + "x2 axes=" + axes + ",16").has_value());
}

TEST_CASE("offsets beyond2 to31 take the wide variant") {
  CHECK(planned("permute i8 2147483647x2 axes=1,0").steps[0].kernel.variant == "e1.wide");
  // The last byte is below 2^31. permute_table, which adds up to a tile to an offset, takes .wide there.
  CHECK(planned("permute i8 1073741823x2 axes=1,0", test::gpu(), {.force = "permute_rows"}).steps[0].kernel.variant ==
        "e1");
  CHECK(planned("permute i8 2x1073741824 axes=1,0").steps[0].kernel.variant == "e1.wide");
  // Without 64-bit integers the problem is cut into parts, which write disjoint ranges.
  auto profile = test::gpu();
  profile.int64 = false;
  const auto cut = planned("permute i8 2x1073741825 axes=1,0", profile);
  CHECK(cut.steps.size() >= 2);
  for (const auto& step : cut.steps) CHECK_FALSE(step.kernel.variant.ends_with(".wide"));
  // permute_copy always has 64-bit offsets.
  CHECK(planned("permute i8 2147483649 axes=0").steps.size() == 1);
}

TEST_CASE("grids beyond a limit are folded") {
  const auto plan = planned("permute f32 65536x65536 axes=1,0", test::cpu());
  for (const auto& step : plan.steps)
    for (const auto n : step.grid) CHECK(n <= 65535);
}

TEST_CASE("plans stay within small profiles") {
  auto small = test::gpu();
  small.workgroup_memory_bytes = 2048;
  small.max_workgroup_invocations = 64;
  small.max_workgroup_size = {64, 64, 64};
  const auto plan = planned("permute f32 1000x1000 axes=1,0", small, {.explain = true});
  CHECK(plan.steps[0].workgroup_memory_bytes <= 2048);
  CHECK(plan.steps[0].workgroup[0] <= 64);
  bool named = false;
  for (const auto& c : plan.candidates) named = named || c.refusal.find("workgroup") != std::string::npos;
  CHECK(named);
}

TEST_CASE("every refusal says why") {
  const auto plan = planned("permute f16 64x129x33 axes=2,1,0", test::gpu(), {.explain = true});
  int chosen = 0;
  for (const auto& c : plan.candidates) {
    chosen += c.chosen ? 1 : 0;
    if (c.cost == 0)
      CHECK_MESSAGE(!c.refusal.empty(), c.name);
    else
      CHECK(c.refusal.empty());
  }
  CHECK(chosen == 1);
  CHECK(explain(plan).find(plan.steps[0].kernel.stem) != std::string::npos);
}

TEST_CASE("a forced candidate that is not admissible is refused by name") {
  const auto refused =
      make_plan(*parse_problem("permute f32 64x64x64 axes=1,0,2"), test::gpu(), {.force = "permute_tile"});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind == ErrorKind::unsupported);
  CHECK(refused.error().limit.find("source and destination have the same innermost axis") != std::string::npos);
}

TEST_CASE("planner remembers") {
  Planner planner(test::gpu());
  const auto problem = *parse_problem("permute f32 8192x8192 axes=1,0");
  const auto first = planner.plan(problem), second = planner.plan(problem);
  REQUIRE(first.has_value());
  CHECK(first->get() == second->get());
  CHECK(**first == *make_plan(problem, test::gpu()));
}

TEST_CASE("a planner evicts the least recently used plan") {
  Planner planner(test::gpu(), nullptr, nullptr, 3);
  const auto problem = [](int n) { return *parse_problem("permute f32 " + std::to_string(64 + n) + "x512 axes=1,0"); };
  const auto plan_of = [&](int n) { return planner.plan(problem(n)).value(); };
  const auto first = plan_of(0), second = plan_of(1), third = plan_of(2);
  CHECK(planner.remembered() == 3);
  CHECK(plan_of(0) == first);  // now 1 is the least recently used
  const auto fourth = plan_of(3);
  CHECK(planner.remembered() == 3);
  CHECK(plan_of(0) == first);
  CHECK(plan_of(2) == third);
  CHECK(plan_of(3) == fourth);
  CHECK(plan_of(1) != second);  // planned again, with an equal result
  CHECK(*plan_of(1) == *second);
  CHECK(planner.remembered() == 3);
  for (int n = 0; n < 100; ++n) CHECK(*plan_of(n) == *make_plan(problem(n), test::gpu()));
  CHECK(planner.remembered() == 3);
  Planner one(test::gpu(), nullptr, nullptr, 0);
  CHECK(one.plan(problem(0)).has_value());
  CHECK(one.remembered() == 1);
}

TEST_CASE("a bounded planner serves many threads") {
  Planner planner(test::gpu(), nullptr, nullptr, 4);
  std::vector<Problem> problems;
  problems.reserve(8);
  for (int n = 0; n < 8; ++n)
    problems.push_back(*parse_problem("permute f32 " + std::to_string(32 + n) + "x96 axes=1,0"));
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (unsigned t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (unsigned i = 0; i < 200; ++i) {
          const Problem& problem = problems[(i * 7 + t) % problems.size()];
          const auto plan = planner.plan(problem);
          if (!plan || (*plan)->problem != problem) ++wrong;
        }
      });
  }
  CHECK(wrong == 0);
  CHECK(planner.remembered() == 4);
}

// Regression: a part of a cut problem entirely in padding had an offset past the end of its source.
TEST_CASE("a part that is padding reads nothing") {
  DeviceProfile narrow = test::gpu();
  narrow.int64 = false;
  for (const char* text :
       {"permute f32 3x4 layout=AB:BA1073741824a", "permute f32 1x4x1073741824 layout=AB1073741824a:BA extent=A:3",
        "permute u8 5x7 layout=AB:BA2147483648a scale=A bias=B out=f16", "permute f16 3x4x5 layout=ABC:A1073741824aBC",
        "permute u8 3x4 layout=AB:A1073741824aB4b"}) {
    const auto problem = parse_problem(text);
    REQUIRE_MESSAGE(problem.has_value(), text << ": " << problem.error().message());
    for (const auto& profile : {test::gpu(), narrow, test::cpu()}) {
      const auto plan = make_plan(*problem, profile);
      REQUIRE_MESSAGE(plan.has_value(), text << ": " << plan.error().message());
      CHECK(check_plan(*plan, profile).has_value());
      CHECK(!plan->steps.empty());
    }
  }
}

TEST_CASE("the error of an unsupported problem names in one sentence what the device lacks") {
  const auto refused = [](const char* text, const DeviceProfile& profile, bool explain = false) {
    const auto plan = make_plan(*parse_problem(text), profile, {.explain = explain});
    REQUIRE_FALSE(plan.has_value());
    CHECK(plan.error().kind == ErrorKind::unsupported);
    CHECK_MESSAGE(plan.error().message().size() < 250, plan.error().message());
    return plan.error();
  };
  DeviceProfile target = test::words_only();
  CHECK(refused("matmul f16 nt 100x100x101 epi=bias", target).limit.find("storageBuffer16BitAccess") !=
        std::string::npos);
  CHECK(refused("matmul f16 nt 100x100x101 epi=bias", target).limit.find("which the target lacks") !=
        std::string::npos);
  CHECK(refused("matmul f16 nt 100x100x101 epi=bias", target).detail.empty());
  const Error listed = refused("matmul f16 nt 100x100x101 epi=bias", target, true);
  CHECK(std::ranges::count(listed.detail, '\n') > 50);
  CHECK(listed.detail.find("matmul_simt") != std::string::npos);
  // The profile of a live device: the app may not have enabled the feature.
  target.uuid = std::string(32, '1');
  const auto limit = [&] { return refused("matmul f16 nt 100x100x101 epi=bias", target).limit; };
  CHECK(limit().ends_with(", which the device lacks"));
  target.sources["storage16"] = std::string(kNotEnabled) + "storageBuffer16BitAccess";
  target.sources["storage8"] = std::string(kNotEnabled) + "storageBuffer8BitAccess";
  CHECK(limit().ends_with(", which the application has not enabled"));
  // The features that the sentence names suffice.
  DeviceProfile with_features = target;
  with_features.storage16 = true;
  if (!make_plan(*parse_problem("matmul f16 nt 100x100x101 epi=bias"), with_features)) with_features.storage8 = true;
  CHECK(make_plan(*parse_problem("matmul f16 nt 100x100x101 epi=bias"), with_features).has_value());
  // A limit is named if no feature suffices.
  DeviceProfile tiny = test::gpu();
  tiny.max_workgroup_invocations = 1;
  tiny.max_workgroup_size = {1, 1, 1};
  CHECK(refused("permute f32 64x64 axes=1,0", tiny).limit.find("more than 1 invocations") != std::string::npos);
}

// A fuzzer of the C interface found it: a product without K chooses nothing, so no text was refused.
TEST_CASE("a forced candidate is a name, whether or not there is a choice") {
  for (const char* text : {"matmul f32 nt 92x304x0 epi=bias", "permute f32 64x64 axes=1,0"}) {
    PlanOptions options;
    options.force = "permute_tile\xc3";
    const auto plan = make_plan(*parse_problem(text), builtin_target("nvidia-hopper").value(), options);
    REQUIRE_FALSE(plan.has_value());
    CHECK(plan.error().kind == ErrorKind::missing);
    CHECK(plan.error().what == "candidate");
  }
}

// targets.md, Host: 16. Bytes need more on a GPU: kernels for each width of access, and for rows at any address. Every
// row competes for what has 16 MB or more on a CPU.
TEST_CASE("two hundred random permutes need few pipelines") {
  for (const DType type : {DType::f32, DType::f16, DType::i8}) {
    for (const auto& profile : {test::gpu(), test::cpu()}) {
      std::mt19937 random(7);
      std::set<std::pair<KernelName, std::vector<Constant>>> pipelines;
      for (int i = 0; i < 200; ++i) {
        PermuteProblem p;
        p.type = type;
        const auto rank = 2 + random() % 4;
        for (unsigned a = 0; a < rank; ++a) {
          // Half of the sizes are multiples of 8, as in networks.
          const std::int64_t any = 1 + static_cast<std::int64_t>(random() % 64);
          p.shape.push_back(random() % 2 == 0 ? (any + 7) / 8 * 8 : any);
          p.axes.push_back(static_cast<int>(a));
        }
        std::shuffle(p.axes.begin(), p.axes.end(), random);
        const auto plan = make_plan(p, profile);
        REQUIRE(plan.has_value());
        for (const auto& step : plan->steps) pipelines.insert({step.kernel, step.constants});
      }
      std::string listed;
      for (const auto& [kernel, constants] : pipelines) {
        listed += "\n" + kernel.stem + "." + kernel.variant;
        for (const auto& c : constants) listed += " " + std::to_string(c.id) + ":" + std::to_string(c.value);
      }
      const std::size_t most = profile.kind == DeviceKind::cpu ? 24 : type == DType::i8 ? 20 : 16;
      CHECK_MESSAGE(pipelines.size() <= most, name(type)
                                                  << " on " << profile.name << ": " << pipelines.size() << listed);
    }
  }
}

TEST_CASE("tensor maps where the device has them") {
  DeviceProfile cuda = test::gpu();
  cuda.api = Api::cuda;
  cuda.tensor_maps = true;
  const Plan plan = planned("permute f16 4x4096x8192 axes=0,2,1", cuda, {.force = "permute_tma"});
  REQUIRE(stem_of(plan) == "permute_tma");
  const auto& maps = plan.steps[0].tensor_maps;
  REQUIRE(maps.size() == 2);
  CHECK(maps[0].dims == std::vector<std::uint64_t>{8192, 4096, 4});
  CHECK(maps[0].strides == std::vector<std::uint64_t>{16384, 8192ull * 4096 * 2});
  CHECK(maps[0].box == std::vector<std::uint32_t>{64, 64, 1});
  CHECK(maps[1].dims == std::vector<std::uint64_t>{4096, 8192, 4});
  CHECK(plan.steps[0].grid[0] == 64 * 128 * 4);
  const auto again = plan_from_json(to_json(plan), cuda);
  REQUIRE(again.has_value());
  CHECK(*again == plan);

  const auto no_tma = [](const char* text, const DeviceProfile& profile) {
    return !make_plan(parse_problem(text).value(), profile, {.force = "permute_tma"}).has_value();
  };
  CHECK(no_tma("permute f16 4x4096x8192 axes=0,2,1", test::gpu()));  // no tensor maps
  CHECK(no_tma("permute f16 4095x8191 axes=1,0", cuda));             // strides are not multiples of 16 bytes
  CHECK(!check_plan(plan, test::gpu()).has_value());
  const auto refused = [&](auto&& change) {
    Plan other = plan;
    change(other.steps[0].tensor_maps[1]);
    return !check_plan(other).has_value();
  };
  // Rows that are written have whole 16 bytes; those that are read need not.
  CHECK(refused([](TensorMap& map) { map.dims[0] -= 1; }));
  CHECK_FALSE(refused([](TensorMap& map) { map.dims[0] -= 8; }));
  Plan narrower = plan;
  narrower.steps[0].tensor_maps[0].dims[0] -= 1;
  CHECK(check_plan(narrower).has_value());
  CHECK(refused([](TensorMap& m) { m.dims[1] += 1; }));  // past the operand's end
  CHECK(refused([](TensorMap& m) { m.strides[0] += 8; }));
  CHECK(refused([](TensorMap& m) { m.byte_offset = 4; }));
  CHECK(refused([](TensorMap& m) { m.box[0] = 128; }));  // rows wider than the swizzle
  CHECK(refused([](TensorMap& m) { m.box.pop_back(); }));
  CHECK(refused([](TensorMap& m) { m.operand = 2; }));
  CHECK(refused([](TensorMap& m) { m.swizzle_bytes = 48; }));
  Plan short_of_a_byte = plan;  // of the last element
  for (AccessRange& range : short_of_a_byte.steps[0].accesses) range.end -= range.operand == 1 ? 1 : 0;
  CHECK_FALSE(check_plan(short_of_a_byte).has_value());
  CHECK(refused([](TensorMap& m) { m.strides[0] = ~0ull << 4; }));
}

TEST_CASE("a profile without a workgroup size gets the minimum of every device") {
  DeviceProfile profile = test::gpu();
  profile.max_workgroup_size.reset();
  for (const char* text : {"permute f32 1209x9 axes=1,0", "permute f32 1x64x448x3 layout=NHWC:NCHW4c",
                           "permute f32 64x128x256 axes=0,1,2", "permute f32 64x512x512 axes=1,0,2"})
    CHECK(planned(text, profile).steps[0].workgroup[0] <= 128);
}
