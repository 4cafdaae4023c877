// Operands of gigabytes on a CPU driver: strides whose byte offsets need 64 bits, in every kernel that has them. Pages
// that are never touched cost nothing. lavapipe's buffer addresses are addresses of the process, so a plan is recorded
// with these and needs no buffer of that size.
#include "machine/machine.hpp"
#include "reference/conv2d.hpp"
#include "reference/elementwise.hpp"
#include "reference/extra_rows.hpp"
#include "reference/generate.hpp"
#include "reference/matmul.hpp"
#include "reference/numbers.hpp"
#include "reference/permute.hpp"
#include "reference/random.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <sys/mman.h>

using namespace sectile;

namespace {

class FarMemory final : public tools::Memory {
 public:
  explicit FarMemory(std::uint64_t bytes) : bytes_(bytes + 2 * kPage) {
    base_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(base_ != MAP_FAILED);
  }
  ~FarMemory() override { munmap(base_, bytes_); }
  FarMemory(const FarMemory&) = delete;
  FarMemory& operator=(const FarMemory&) = delete;
  std::uint64_t address() const noexcept override { return reinterpret_cast<std::uintptr_t>(base_); }
  std::uint64_t size() const noexcept override { return bytes_; }
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(base_), bytes_}; }

 private:
  static constexpr std::uint64_t kPage = 4096;
  std::uint64_t bytes_;
  void* base_ = nullptr;
};

// Kernels that have run, for the test of which embedded ones no one runs.
class Ran {
 public:
  ~Ran() {
    const char* path = std::getenv("SECTILE_MODULES_FILE");
    if (path == nullptr) return;
    std::ofstream file(path);
    for (const std::string& name : names_) file << name << "\n";
  }
  void add(const Plan& plan) {
    for (const Step& step : plan.steps) names_.insert(step.kernel.stem + "." + step.kernel.variant);
  }
  bool contains(const std::string& name) const { return names_.contains(name); }

 private:
  std::set<std::string> names_;
};
Ran ran;

// lavapipe; null where it is not here, or where its addresses are not the process' own.
tools::Machine* machine() {
  static const std::unique_ptr<tools::Machine> opened = [] {
    auto made = tools::Machine::open("llvmpipe", {.cache = {}, .any_profile = true});
    return made ? std::move(*made) : nullptr;
  }();
  if (opened == nullptr || opened->import_alignment() == 0) return nullptr;
  static const FarMemory probe(1 << 16);
  const auto imported = opened->import_pages(probe.bytes().data(), 1 << 16);
  REQUIRE(imported.has_value());
  REQUIRE((*imported)->address() == probe.address());
  return opened.get();
}

void run(tools::Machine& on, const Plan& plan, const std::vector<const FarMemory*>& memories) {
  const auto program = on.prepare(plan);
  REQUIRE_MESSAGE(program.has_value(), program.error().message());
  tools::Launch launch{program->get(), {}};
  for (std::size_t i = 0; i < plan.operands.size(); ++i)
    launch.parts.push_back({memories[i], 0, plan.operands[i].bytes});
  const auto done = on.run(launch);
  REQUIRE_MESSAGE(done.has_value(), done.error().message());
  ran.add(plan);
}

// The first candidate of each stem.
std::vector<Plan> plans_of(const Problem& problem, const DeviceProfile& profile) {
  std::vector<Plan> plans;
  const auto all = reference::plan_with_extra_rows(problem, profile, {.explain = true});
  REQUIRE_MESSAGE(all.has_value(), all.error().message());
  std::set<std::string> stems;
  for (const Candidate& c : all->candidates) {
    const std::string stem = c.name.substr(0, c.name.find(' '));
    // Of this one the access widths, and with them the variant, differ from row to row.
    if (!c.refusal.empty() || (!stems.insert(stem).second && stem != "permute_fused_block")) continue;
    auto plan = reference::plan_with_extra_rows(problem, profile, {.force = c.name});
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    plans.push_back(std::move(*plan));
  }
  return plans;
}

template <class Visit>
void each_element(const reference::PermuteDefinition& definition, Visit&& visit) {
  const auto shape = definition.dst_shape();
  std::vector<std::int64_t> coordinate(shape.size(), 0);
  for (std::size_t axis = 0; axis < shape.size();) {
    visit(definition.destination_at(coordinate), definition.source_of(coordinate).value());
    for (axis = 0; axis < shape.size() && ++coordinate[axis] == shape[axis]; ++axis) coordinate[axis] = 0;
  }
}

void check_permute(tools::Machine& on, const PermuteProblem& problem, const DeviceProfile& profile) {
  CAPTURE(print(Problem(problem)));
  const reference::PermuteDefinition definition(problem);
  const std::size_t element = definition.element_bytes();
  const FarMemory src(definition.src_bytes());
  reference::Random random(5);
  const auto at = [&](const FarMemory& memory, std::int64_t index) {
    return memory.bytes().subspan(static_cast<std::size_t>(index) * element, element);
  };
  each_element(definition, [&](std::int64_t, std::int64_t from) {
    for (std::byte& byte : at(src, from)) byte = static_cast<std::byte>(random.next());
  });
  for (const Plan& plan : plans_of(problem, profile)) {
    CAPTURE(plan.choice.candidate);
    CHECK(plan.steps[0].kernel.variant.ends_with(".wide"));
    const FarMemory dst(definition.dst_bytes());
    run(on, plan, {&src, &dst});
    std::size_t wrong = 0;
    each_element(definition, [&](std::int64_t to, std::int64_t from) {
      wrong += std::ranges::equal(at(dst, to), at(src, from)) ? 0 : 1;
    });
    CHECK(wrong == 0);
  }
}

void check_elementwise(tools::Machine& on, const PermuteProblem& problem, const DeviceProfile& profile) {
  CAPTURE(print(Problem(problem)));
  const reference::ElementwiseDefinition definition(problem);
  std::vector<std::unique_ptr<FarMemory>> memories;
  std::vector<const FarMemory*> pointers;
  reference::ElementwiseData data;
  for (const auto& [name, bytes] : definition.operands()) {
    pointers.push_back(memories.emplace_back(std::make_unique<FarMemory>(bytes)).get());
    definition.fill(name, pointers.back()->bytes().first(bytes), 5);
    data[name] = pointers.back()->bytes();
  }
  const auto want = definition.result(data);
  for (const Plan& plan : plans_of(problem, profile)) {
    CAPTURE(plan.choice.candidate);
    CHECK(plan.steps[0].kernel.variant.ends_with(".wide"));
    const FarMemory dst(definition.operands()[1].second);
    pointers[1] = &dst;
    run(on, plan, pointers);
    std::size_t wrong = 0;
    for (const auto& e : want) {
      const double got =
          reference::decode(definition.out(), dst.bytes().data() + static_cast<std::size_t>(e.at) *
                                                                       reference::element_bytes(definition.out()));
      wrong += reference::is_right(e, got) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

struct Shape {
  std::vector<std::int64_t> shape;
  std::vector<int> axes;
};
const Shape kShapes[] = {{{80, 96}, {1, 0}},        // tiles
                         {{9, 20, 7}, {2, 1, 0}},   // a box
                         {{3, 64, 3}, {0, 2, 1}},   // an interleave
                         {{7, 9, 3}, {1, 0, 2}},    // runs
                         {{7, 9, 37}, {1, 0, 2}},   // rows at any address
                         {{5, 4, 64}, {1, 0, 2}}};  // rows

DeviceProfile without_narrow(DeviceProfile profile) {
  profile.storage8 = profile.storage16 = false;
  return profile;
}

}  // namespace

TEST_CASE("permutes of rows beyond 2^31 bytes come out right") {
  tools::Machine* const on = machine();
  if (on == nullptr) return;
  const DeviceProfile words = without_narrow(on->profile());
  for (const DType type : {DType::b8, DType::b16, DType::b32, DType::b64, DType::b128})
    for (const Shape& s : kShapes)
      for (const bool source : {true, false}) {
        check_permute(*on, reference::far_permute(type, s.shape, s.axes, source), on->profile());
        if (size_bytes(type) < 4) check_permute(*on, reference::far_permute(type, s.shape, s.axes, source), words);
      }
}

TEST_CASE("elementwise permutes of rows beyond 2^31 bytes come out right") {
  tools::Machine* const on = machine();
  if (on == nullptr) return;
  const DeviceProfile words = without_narrow(on->profile());
  for (const auto& [type, out] : {std::pair(DType::f32, DType::f32), std::pair(DType::u8, DType::f16),
                                  std::pair(DType::f16, DType::i8), std::pair(DType::i32, DType::bf16)})
    for (const Shape& s : {kShapes[0], kShapes[3]})
      for (const bool source : {true, false}) {
        PermuteProblem problem = reference::far_permute(type, s.shape, s.axes, source);
        if (!source) problem.dst_strides[0] *= 4;  // bytes of the result
        problem.stage.out = out;
        problem.stage.scale = "0";
        problem.stage.add = true;
        check_elementwise(*on, problem, on->profile());
        check_elementwise(*on, problem, words);
      }
}

namespace {

// Every place counts: no data that is mostly zeros.
const std::uint64_t kSeed = reference::seed_with(5, reference::DataKind::coarse);

// `index`: where the result's element i lies, in elements.
template <class Definition, class Index>
void check_product(tools::Machine& on, const Definition& definition, const Index& index, const DeviceProfile& profile,
                   std::size_t steps) {
  const Problem problem(definition.problem());
  CAPTURE(print(problem));
  const std::string name(Definition::kDestination);
  std::vector<std::unique_ptr<FarMemory>> memories;
  std::vector<const FarMemory*> pointers;
  reference::ProductData data;
  const FarMemory* destination = nullptr;
  for (const auto& [operand, described] : definition.operands()) {
    pointers.push_back(memories.emplace_back(std::make_unique<FarMemory>(described.bytes())).get());
    definition.fill(operand, pointers.back()->bytes().first(described.bytes()), kSeed);
    data[operand] = pointers.back()->bytes();
    if (operand == name) destination = pointers.back();
  }
  REQUIRE(destination != nullptr);
  const auto want = definition.result(data, data[name]);
  const auto& d = definition.operand(name);
  std::set<std::string> stems;
  for (const Plan& plan : plans_of(problem, profile)) {
    CAPTURE(plan.choice.candidate);
    if (plan.steps.size() < steps) continue;
    stems.insert(plan.steps[0].kernel.stem);
    definition.fill(name, destination->bytes().first(d.bytes()), kSeed);
    std::unique_ptr<FarMemory> scratch;
    auto all = pointers;
    if (plan.operands.size() > all.size()) {
      scratch = std::make_unique<FarMemory>(plan.operands.back().bytes);
      all.push_back(scratch.get());
    }
    run(on, plan, all);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double got = d.at(destination->bytes(), index(static_cast<std::int64_t>(i)));
      wrong += std::fabs(got - want[i].value) <= want[i].tolerance + std::fabs(want[i].value) * 0x1p-7 ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
  CHECK(!stems.empty());
}

void check_matmul(tools::Machine& on, const MatmulProblem& problem, const DeviceProfile& profile, std::size_t steps) {
  const reference::MatmulDefinition definition(problem);
  const auto& d = definition.operand("d");
  const auto index = [&](std::int64_t at) {
    const std::int64_t mn = problem.m * problem.n;
    return d.index(at / mn, at / problem.n % problem.m, at % problem.n);
  };
  check_product(on, definition, index, profile, steps);
}

void check_conv2d(tools::Machine& on, const char* text, const DeviceProfile& profile) {
  const reference::Conv2dDefinition definition(std::get<Conv2dProblem>(parse_problem(text).value()));
  const auto& y = definition.operand("y");
  const auto index = [&](std::int64_t at) {
    const std::int64_t q = definition.width(), pixels = definition.height() * q, channels = definition.problem().k;
    return y.index(at / (channels * pixels), at / pixels % channels, at / q % definition.height(), at % q);
  };
  check_product(on, definition, index, profile, 1);
}

}  // namespace

// The low words of the strides are small: without the high ones another batch's elements would be read and written.
TEST_CASE("batches beyond 2^32 elements come out right") {
  tools::Machine* const on = machine();
  if (on == nullptr) return;
  DeviceProfile many = on->profile();
  many.multiprocessors = 64;  // K is split
  constexpr std::int64_t kFar = std::int64_t{1} << 32;
  const auto far = [](const char* text) {
    auto p = std::get<MatmulProblem>(parse_problem(text).value());
    p.a_batch = kFar + 64;
    if (p.b_format != WeightFormat::q4) p.b_batch = kFar + 128;
    p.d_batch = kFar + 192;
    if (p.beta != 0 && !p.c_is_d) p.c_batch = kFar + 256;
    if (p.residual) p.r_batch = kFar + 320;
    return p;
  };
  check_matmul(*on, far("matmul i8 nt 20x20x64 batch=3"), on->profile(), 1);
  check_matmul(*on, far("matmul f16 nn 20x24x40 batch=3 beta=0.5 epi=bias+residual"), on->profile(), 1);
  check_matmul(*on, far("matmul f32 nn 3x24x40 batch=2 beta=0.5 epi=scale.m+residual"), on->profile(), 1);
  check_matmul(*on, far("matmul f16 nt 20x24x1600 batch=2 beta=0.5 epi=scale+residual"), many, 2);
  // Rows, too, in a kernel that forms each one's address.
  check_matmul(*on, far("matmul f32 nn 3x3x3 batch=2 lda=2147483647 ldb=2147483647 ldd=2147483647"), on->profile(), 1);
  // 4-bit weights' steps have two k, A's of which are 2^32 bytes apart and more.
  check_matmul(*on, far("matmul f32 tt 2x3x5 batch=2 b=q4 ldb=32 lda=1073741889"), on->profile(), 1);
}

TEST_CASE("images beyond 2^32 elements come out right") {
  tools::Machine* const on = machine();
  if (on == nullptr) return;
  // Pixels, channels of NCHW and images far apart, in X, Y, C and the residual.
  check_conv2d(*on,
               "conv2d f32 nhwc 2x6x5x4 k=4 r=3x3 p=1 g=2 epi=bias+residual x.pitch=120000000 y.pitch=130000000 "
               "r.pitch=140000000",
               on->profile());
  check_conv2d(
      *on, "conv2d f32 nchw 2x3x5x4 k=3 r=2x3 s=2 p=1 beta=0.5 x.pitch=90000000 y.pitch=190000000 c.pitch=200000000",
      on->profile());
  check_conv2d(*on, "conv2d i8 nhwc 2x7x3x3 k=5 r=3x3 p=1 x.pitch=300000000 y.pitch=100000000", on->profile());
}
