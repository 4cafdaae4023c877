// On a GPU: that what is launched computes, under capture too. Without one each test says that it was skipped.
#include "helpers.hpp"
#include "reference/extra_rows.hpp"

#include "reference/matmul.hpp"
#include "reference/permute.hpp"
#include "support/counted.hpp"

#include <sectile/planner.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

using namespace sectile;
using namespace sectile::test;

namespace {

const cuda::api::Driver& the_driver() { return *must(cuda::driver()); }

cuda::Context current_context() {
  cuda::Context out = nullptr;
  CHECK(the_driver().cuCtxGetCurrent(&out) == cuda::api::kSuccess);
  return out;
}

// What the launches of `body` did, replayed from a graph `times` times.
void replay(cuda::Runtime& runtime, const cuda::LaunchFunction& body, int times) {
  const cuda::api::Driver& driver = the_driver();
  const cuda::ContextScope scope(driver, runtime.context());
  cuda::api::Graph graph = nullptr;
  cuda::api::GraphExec ready = nullptr;
  must(SECTILE_CUDA_CALL(driver, cuStreamBeginCapture_v2, runtime.stream(), cuda::api::kCaptureThreadLocal));
  const auto launched = body(runtime.stream());
  must(SECTILE_CUDA_CALL(driver, cuStreamEndCapture, runtime.stream(), &graph));
  must(launched);
  must(SECTILE_CUDA_CALL(driver, cuGraphInstantiateWithFlags, &ready, graph, 0ull));
  for (int i = 0; i < times; ++i) must(SECTILE_CUDA_CALL(driver, cuGraphLaunch, ready, runtime.stream()));
  must(SECTILE_CUDA_CALL(driver, cuStreamSynchronize, runtime.stream()));
  driver.cuGraphExecDestroy(ready);
  driver.cuGraphDestroy(graph);
}

}  // namespace

TEST_CASE("gpu: the profile is one that the planner takes") {
  on_every_device("gpu: the profile is one that the planner takes", [](cuda::Runtime& runtime) {
    const DeviceProfile& profile = runtime.profile();
    CHECK(must(cuda::profile(static_cast<int>(runtime.entry().index))) == profile);
    CHECK(must(profile_from_json(to_json(profile))) == profile);
    CHECK(cuda_architecture_name(profile) == runtime.entry().architecture);
    CHECK(profile.uuid.size() == 32);
    must(make_plan(must(parse_problem("permute f16 1x384x512x128 axes=0,3,1,2")), profile));
  });
}

TEST_CASE("gpu: the live profile and the built-in target of its architecture do not contradict each other") {
  on_every_device("gpu: the live profile and the built-in target of its architecture do not contradict each other",
                  [](cuda::Runtime& runtime) {
                    auto target = builtin_target("cuda:" + runtime.entry().architecture);
                    if (!target) {
                      MESSAGE("skipped: no built-in target cuda:" << runtime.entry().architecture);
                      return;
                    }
                    // Names differ; supplement() refuses any other field that does.
                    target->name = runtime.profile().name;
                    const auto both = supplement(runtime.profile(), to_json(*target));
                    CHECK_MESSAGE(both.has_value(), both.error().message());
                  });
}

TEST_CASE("gpu: memory comes back as it was sent") {
  on_every_device("gpu: memory comes back as it was sent", [](cuda::Runtime& runtime) {
    const auto words = pattern(100003);
    const auto buffer = must(runtime.make_buffer(words.size() * 4));
    CHECK(buffer.address() % 256 == 0);
    must(runtime.upload(buffer, 0, std::as_bytes(std::span(words))));
    CHECK(read_back(runtime, buffer) == words);
    must(runtime.fill(buffer, 8, 16, 0xA5A5A5A5));
    auto wanted = words;
    std::fill_n(wanted.begin() + 2, 4, 0xA5A5A5A5);
    CHECK(read_back(runtime, buffer) == wanted);
    CHECK(runtime.fill(buffer, 2, 16, 0).error().kind == ErrorKind::misaligned);
    CHECK(runtime.fill(buffer, words.size() * 4, 4, 0).error().kind == ErrorKind::too_small);
  });
}

TEST_CASE("gpu: launch carries out a plan of one step") {
  on_every_device("gpu: launch carries out a plan of one step", [](cuda::Runtime& runtime) {
    for (const std::uint32_t words : {1u, 127u, 128u, 1000003u}) {
      CAPTURE(words);
      const auto src = pattern(words);
      const Pair pair = poisoned_pair(runtime, src);
      const auto executable = must(runtime.device().prepare(add_plan(words, 5)));
      must(
          runtime.run_and_wait([&](cuda::Stream stream) { return cuda::launch(stream, executable, pair.operands()); }));
      CHECK(read_back(runtime, pair.dst) == plus(src, 5));
      CHECK(read_back(runtime, pair.src) == src);
    }
    CHECK(runtime.device().compile_counts().compiled == 1);
  });
}

TEST_CASE("gpu: steps run in order, with scratch between them") {
  on_every_device("gpu: steps run in order, with scratch between them", [](cuda::Runtime& runtime) {
    const auto src = pattern(1 << 20);
    const Pair pair = poisoned_pair(runtime, src);
    const auto scratch = must(runtime.make_buffer(src.size() * 4));
    auto operands = pair.operands();
    operands.push_back({scratch.address(), scratch.size()});
    const auto executable = must(runtime.device().prepare(two_step_plan(1 << 20, 3)));
    must(runtime.run_and_wait([&](cuda::Stream stream) { return cuda::launch(stream, executable, operands); }));
    CHECK(read_back(runtime, pair.dst) == plus(src, 6));
  });
}

TEST_CASE("gpu: a grid in three dimensions covers all groups") {
  on_every_device("gpu: a grid in three dimensions covers all groups", [](cuda::Runtime& runtime) {
    const auto src = pattern(std::size_t{128} * 2 * 3 * 5);
    const Pair pair = poisoned_pair(runtime, src);
    Plan plan = add_plan(static_cast<std::uint32_t>(src.size()), 1);
    plan.steps[0].grid = {2, 3, 5};
    const auto executable = must(runtime.device().prepare(plan));
    must(runtime.run_and_wait([&](cuda::Stream stream) { return cuda::launch(stream, executable, pair.operands()); }));
    CHECK(read_back(runtime, pair.dst) == plus(src, 1));
  });
}

namespace {

bool has_clusters_and_maps(cuda::Runtime& runtime) {
  return runtime.device().profile().cuda_architecture.value_or(0) >= 90;
}

}  // namespace

TEST_CASE("gpu: a grid of clusters covers all groups") {
  on_every_device("gpu: a grid of clusters covers all groups", [](cuda::Runtime& runtime) {
    if (!has_clusters_and_maps(runtime)) return;
    const auto src = pattern(std::size_t{128} * 4 * 6 * 5);
    Plan plan = add_plan(static_cast<std::uint32_t>(src.size()), 1);
    plan.steps[0].grid = {4, 6, 5};
    for (const std::array<std::uint32_t, 3> cluster :
         {std::array{4u, 1u, 1u}, std::array{1u, 6u, 1u}, std::array{2u, 3u, 1u}, std::array{1u, 1u, 5u}}) {
      plan.steps[0].cluster = cluster;
      const Pair pair = poisoned_pair(runtime, src);
      const auto executable = must(runtime.device().prepare(plan));
      must(
          runtime.run_and_wait([&](cuda::Stream stream) { return cuda::launch(stream, executable, pair.operands()); }));
      CHECK(read_back(runtime, pair.dst) == plus(src, 1));
    }
  });
}

// The kernel takes no map: the driver encodes what the checker admits, and launches.
TEST_CASE("gpu: the driver takes tensor maps at the checker's limits") {
  on_every_device("gpu: the driver takes tensor maps at the checker's limits", [](cuda::Runtime& runtime) {
    if (!has_clusters_and_maps(runtime)) return;
    std::vector<TensorMap> maps;
    for (const auto& [rank, end] : {std::pair{3u, 32768}, std::pair{4u, 128}, std::pair{5u, 16}})
      for (const auto& [lower, upper] :
           {std::pair{-end, end - 1}, std::pair{end - 1, end - 1}, std::pair{-end, -end}}) {
        TensorMap map{0, 0, 4, std::vector<std::uint64_t>(rank, 4), {}, {}, 128};
        map.dims[0] = 32;
        for (std::uint64_t stride = 128; map.strides.size() < rank - 1; stride *= 4) map.strides.push_back(stride);
        map.im2col = Im2col{std::vector(rank - 2, lower), std::vector(rank - 2, upper), 32, 1024};
        maps.push_back(map);
      }
    TensorMap narrow = maps.front(), wide = maps.front();
    narrow.im2col = Im2col{{3}, {0}, 4, 1};  // one pixel is left of each row
    wide.element_bytes = 1;
    wide.swizzle_bytes = 0;
    wide.im2col->channels_per_pixel = 256;
    wide.im2col->pixels_per_column = 908;  // 227 KiB
    wide.element_strides = {1, 8, 8};
    TensorMap tiled{0, 0, 2, {32, 16}, {64}, {32, 256}, 64, {1, 8}, {}, TensorFill::nan_bf16};
    maps.insert(maps.end(), {narrow, wide, tiled});
    tiled.fill = TensorFill::nan_f16;
    maps.push_back(tiled);
    tiled.element_bytes = 4;
    tiled.box[0] = 16;
    tiled.fill = TensorFill::nan_f32;
    tiled.strides = {128};
    maps.push_back(tiled);
    const auto src = pattern(1 << 14);
    const Pair pair = poisoned_pair(runtime, src);
    Plan plan = add_plan(1 << 14, 1);
    for (std::size_t i = 0; i < maps.size(); ++i) {
      CAPTURE(i);
      plan.steps[0].tensor_maps = {maps[i]};
      const auto executable = must(runtime.device().prepare(plan));
      const auto ran =
          runtime.run_and_wait([&](cuda::Stream stream) { return cuda::launch(stream, executable, pair.operands()); });
      CHECK_MESSAGE(ran.has_value(), ran.error().message());
    }
  });
}

TEST_CASE("gpu: a captured launch computes at each replay, and not when it is captured") {
  on_every_device(
      "gpu: a captured launch computes at each replay, and not when it is captured", [](cuda::Runtime& runtime) {
        const auto src = pattern(5000);
        const Pair pair = poisoned_pair(runtime, src);
        const auto executable = must(runtime.device().prepare(add_plan(5000, 7)));
        const auto body = [&](cuda::Stream stream) { return cuda::launch(stream, executable, pair.operands()); };
        replay(runtime, body, 0);
        CHECK(read_back(runtime, pair.dst) == std::vector<std::uint32_t>(src.size(), 0xCDCDCDCD));
        replay(runtime, body, 3);
        CHECK(read_back(runtime, pair.dst) == plus(src, 7));
        // The first launch of a kernel may be a captured one.
        const auto fresh = must(runtime.device().prepare(add_plan(5000, 8)));
        replay(runtime, [&](cuda::Stream stream) { return cuda::launch(stream, fresh, pair.operands()); }, 1);
        CHECK(read_back(runtime, pair.dst) == plus(src, 8));
      });
}

TEST_CASE("gpu: the current context is as it was") {
  on_every_device("gpu: the current context is as it was", [](cuda::Runtime& runtime) {
    const Pair pair = poisoned_pair(runtime, pattern(1000));
    CHECK(current_context() == nullptr);
    const auto executable = must(runtime.device().prepare(add_plan(1000, 9)));
    CHECK(current_context() == nullptr);
    must(cuda::launch(runtime.stream(), executable, pair.operands()));
    CHECK(current_context() == nullptr);
    {
      const cuda::ContextScope own(the_driver(), runtime.context());
      must(cuda::launch(runtime.stream(), executable, pair.operands()));
      CHECK(current_context() == runtime.context());
    }
    must(runtime.run_and_wait([](cuda::Stream) { return Result<void>(); }));
    CHECK(current_context() == nullptr);
  });
}

TEST_CASE("gpu: launch allocates nothing on the heap and nothing on the device") {
  on_every_device("gpu: launch allocates nothing on the heap and nothing on the device", [](cuda::Runtime& runtime) {
    const Pair pair = poisoned_pair(runtime, pattern(1000));
    const auto operands = pair.operands();
    const auto executable = must(runtime.device().prepare(add_plan(1000, 2)));
    bool launched = true;
    std::size_t allocations = 99;
    {
      const Counted counted;
      for (int i = 0; i < 10; ++i)
        launched = cuda::launch(runtime.stream(), executable, operands).has_value() && launched;
      allocations = counted.allocations();
    }
    CHECK(launched);
    CHECK(allocations == 0);
    must(runtime.run_and_wait([](cuda::Stream) { return Result<void>(); }));
  });
}

TEST_CASE("gpu: a second start compiles nothing and computes the same") {
  const std::string folder = temporary_folder();
  on_every_device("gpu: a second start compiles nothing and computes the same",
                  [&](cuda::Runtime& first) {
                    const auto src = pattern(3000);
                    must(first.device().prepare(add_plan(3000, 11)));
                    cuda::RuntimeOptions options;
                    options.cubin_folder = folder;
                    options.sources = test_sources();
                    auto second = must(cuda::Runtime::open(first.entry().uuid, options));
                    const auto executable = must(second.device().prepare(add_plan(3000, 11)));
                    CHECK(second.device().compile_counts().compiled == 0);
                    CHECK(second.device().compile_counts().from_folder == 1);
                    const Pair pair = poisoned_pair(second, src);
                    must(second.run_and_wait(
                        [&](cuda::Stream stream) { return cuda::launch(stream, executable, pair.operands()); }));
                    CHECK(read_back(second, pair.dst) == plus(src, 11));
                  },
                  {.cubin_folder = folder});
}

TEST_CASE("gpu: a kernel may use more workgroup memory than it can declare") {
  on_every_device("gpu: a kernel may use more workgroup memory than it can declare", [](cuda::Runtime& runtime) {
    constexpr std::uint32_t kBytes = 60 * 1024;  // all that sm_75 has is 64 KiB
    const auto src = pattern(1 << 16);
    const Pair pair = poisoned_pair(runtime, src);
    Plan plan = add_plan(1 << 16, 4);
    plan.steps[0].kernel.stem = "share_words";
    plan.steps[0].workgroup_memory_bytes = kBytes;
    const auto executable = must(runtime.device().prepare(plan));
    must(runtime.run_and_wait([&](cuda::Stream stream) { return cuda::launch(stream, executable, pair.operands()); }));
    CHECK(read_back(runtime, pair.dst) == plus(src, 4));
  });
}

TEST_CASE("gpu: timing tells a long candidate from a short one, and each run of one from many") {
  on_every_device(
      "gpu: timing tells a long candidate from a short one, and each run of one from many", [](cuda::Runtime& runtime) {
        constexpr std::uint64_t kBig = std::uint64_t{64} << 20;
        const auto src = must(runtime.make_buffer(kBig)), dst = must(runtime.make_buffer(kBig));
        const auto copy = [&](std::uint64_t bytes) {
          return [&, bytes](cuda::Stream stream) {
            return runtime.launch_copy(stream, dst.address(), src.address(), bytes);
          };
        };
        const std::array<cuda::LaunchFunction, 2> candidates = {copy(kBig), copy(kBig / 16)};
        const auto many = must(runtime.time(candidates, {.repeats = 5, .inner = 10, .warmup_seconds = 0.05}));
        const auto few = must(runtime.time(candidates, {.repeats = 5, .inner = 1, .warmup_seconds = 0.05}));
        for (const auto* timings : {&many, &few}) {
          REQUIRE(timings->size() == 2);
          for (const cuda::Timing& timing : *timings) REQUIRE(timing.gpu_ns.size() == 5);
          const auto least = [&](std::size_t c) { return *std::ranges::min_element((*timings)[c].gpu_ns); };
          CHECK(least(0) > 2 * least(1));
        }
        const double per_run = *std::ranges::min_element(many[0].gpu_ns),
                     alone = *std::ranges::min_element(few[0].gpu_ns);
        MESSAGE("copy of 64 MiB: " << per_run / 1e3 << " us of ten, " << alone / 1e3 << " us alone");
        CHECK(per_run < 2 * alone);
      });
}

// The planner's own plans, where their kernels are embedded: against the reference, the output poisoned.
TEST_CASE("gpu: planned permutes match the reference") {
  constexpr const char* kProblems[] = {
      "permute f32 1000000 axes=0",      "permute f16 33x65x7 axes=2,0,1",     "permute f32 128x256 axes=1,0",
      "permute u8 31x17x129 axes=1,2,0", "permute f32 8x3x50x50 axes=0,2,3,1", "permute f16 2x64x12x64 axes=0,2,1,3",
  };
  on_every_device("gpu: planned permutes match the reference", [&](cuda::Runtime& runtime) {
    for (const char* text : kProblems) {
      CAPTURE(text);
      const Problem problem = must(parse_problem(text));
      const Plan plan = must(make_plan(problem, runtime.profile()));
      const reference::PermuteDefinition definition(std::get<PermuteProblem>(problem));
      const auto words = pattern((definition.src_bytes() + 3) / 4);
      const auto src = std::as_bytes(std::span(words)).first(definition.src_bytes());
      std::vector<std::byte> wanted(definition.dst_bytes(), std::byte{0xCD}), got(definition.dst_bytes());
      reference::permute(definition, src, wanted);
      const auto src_buffer = must(runtime.make_buffer(words.size() * 4));
      const auto dst_buffer = must(runtime.make_buffer((wanted.size() + 3) / 4 * 4));
      must(runtime.upload(src_buffer, 0, std::as_bytes(std::span(words))));
      must(runtime.fill(dst_buffer, 0, dst_buffer.size(), 0xCDCDCDCD));
      auto executable = runtime.device().prepare(plan);
      REQUIRE_MESSAGE(executable.has_value(), executable.error().message());
      const std::array operands = {OperandAddress{src_buffer.address(), definition.src_bytes()},
                                   OperandAddress{dst_buffer.address(), definition.dst_bytes()}};
      must(runtime.run_and_wait([&](cuda::Stream stream) { return cuda::launch(stream, *executable, operands); }));
      must(runtime.download(dst_buffer, 0, got));
      const auto mismatch = reference::compare(definition, wanted, got);
      CHECK_MESSAGE(!mismatch.has_value(), (mismatch ? mismatch->message() : std::string()));
    }
  });
}

// Every admissible candidate of a few matmuls, against double precision.
TEST_CASE("gpu: planned matmuls match the reference") {
  constexpr const char* kProblems[] = {
      "matmul f32 nn 130x200x77 epi=bias+gelu",
      "matmul f16 nt 64x96x130 batch=2 beta=0.5 epi=residual",
      "matmul bf16 tn 70x129x40 out=f32",
      "matmul i8 nt 65x68x300",
      "matmul f16 nt 40x64x96 b=q4 epi=bias",
      "matmul f32 nn 16x24x3000 epi=scale.m+silu",
      "matmul f16 nt 1x500x1000 epi=bias+gelu_tanh",
      "matmul f32 nn 9x7x0 c=d beta=2 epi=bias",
  };
  on_every_device("gpu: planned matmuls match the reference", [&](cuda::Runtime& runtime) {
    for (const char* text : kProblems) {
      CAPTURE(text);
      const Problem problem = must(parse_problem(text));
      const reference::MatmulDefinition definition(std::get<MatmulProblem>(problem));
      std::map<std::string, std::vector<std::byte>> held;
      reference::MatmulData data;
      for (const auto& [name, operand] : definition.operands()) {
        auto& bytes = held[name];
        bytes.assign((operand.bytes() + 3) / 4 * 4, std::byte{0xCD});
        definition.fill(name, std::span(bytes).first(operand.bytes()),
                        reference::seed_with(7, reference::DataKind::fine));
        data[name] = std::span(bytes).first(operand.bytes());
      }
      const auto before = data.at("d");
      const auto want = definition.result(data, before);
      const Plan explained = must(reference::plan_with_extra_rows(problem, runtime.profile(), {.explain = true}));
      std::vector<std::string> names;
      for (const Candidate& candidate : explained.candidates)
        if (candidate.refusal.empty()) names.push_back(candidate.name);
      if (names.empty()) names.emplace_back();  // K = 0: there is nothing to choose from
      for (const std::string& name : names) {
        CAPTURE(name);
        const Plan plan = must(reference::plan_with_extra_rows(problem, runtime.profile(), {.force = name}));
        std::vector<cuda::Buffer> buffers;
        std::vector<OperandAddress> operands;
        std::size_t d = 0;
        for (const PlanOperand& operand : plan.operands) {
          buffers.push_back(must(runtime.make_buffer((std::max<std::uint64_t>(operand.bytes, 4) + 3) / 4 * 4)));
          must(runtime.fill(buffers.back(), 0, buffers.back().size(), 0xCDCDCDCD));
          if (operand.role != OperandRole::scratch && operand.bytes != 0)
            must(runtime.upload(buffers.back(), 0, std::span<const std::byte>(held.at(operand.name))));
          if (operand.name == "d") d = buffers.size() - 1;
          operands.push_back({buffers.back().address(), operand.bytes});
        }
        const auto executable = must(runtime.device().prepare(plan));
        must(runtime.run_and_wait([&](cuda::Stream stream) { return cuda::launch(stream, executable, operands); }));
        std::vector<std::byte> got(before.size());
        must(runtime.download(buffers[d], 0, got));
        const auto mismatch = reference::compare(definition, want, before, got);
        CHECK_MESSAGE(!mismatch.has_value(), (mismatch ? mismatch->message : std::string()));
      }
    }
  });
}
